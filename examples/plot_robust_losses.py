"""
Robust losses against outliers
==============================

The squared loss lets one wild point pull the whole curve; the absolute loss and Huber's do not,
because the force with which a point pulls is bounded. With `KernelRegressor` the loss is one
argument: everything else, the certificate included, stays the same.
"""

# %%
# A sine with little noise, of which every eighth point went wrong.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import KernelRegressor
from resolvent.losses import Huber

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))
truth = np.sin(x)
y = truth + 0.15 * rng.standard_normal(len(x))
wrong = np.arange(len(x)) % 8 == 3
y[wrong] += rng.uniform(2.0, 5.0, wrong.sum())

# %%
# One estimator, three losses.

losses = {
    "squared": "squared",
    "Huber, delta = 0.2": Huber(delta=0.2),
    "absolute": "absolute",
}
grid = np.linspace(0, 10, 400)
curves = {}
for name, loss in losses.items():
    model = KernelRegressor(loss, C=5.0, gamma=0.5).fit(x[:, None], y)
    curves[name] = model.predict(grid[:, None])
    error = np.sqrt(np.mean((curves[name] - np.sin(grid)) ** 2))
    gap = model.dual_gap_ / model.objective_
    print(f"{name:<20} error {error:.3f}   relative gap {gap:.0e}   {model.status_}")

# %%
# Left, the losses; right, what they do.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.2), width_ratios=(1, 2.2), layout="constrained"
)
residual = np.linspace(-3, 3, 301)
values = {
    "squared": residual**2 / 2,
    "Huber, delta = 0.2": [Huber(0.2).value(r, 0.0) for r in residual],
    "absolute": np.abs(residual),
}
styles = dict(zip(losses, (("tab:red", "-"), ("tab:green", "-"), ("tab:blue", "--")), strict=True))
for name, (colour, dashes) in styles.items():
    left.plot(residual, values[name], color=colour, ls=dashes, lw=2)
    right.plot(grid, curves[name], color=colour, ls=dashes, lw=2, label=name)
left.set(xlabel="residual", ylabel="loss", ylim=(-0.1, 3.2), title="The losses")
right.plot(grid, np.sin(grid), color="0.6", lw=5, alpha=0.5, zorder=0, label="truth")
right.plot(x[~wrong], y[~wrong], "o", ms=3.5, color="0.25")
right.plot(x[wrong], y[wrong], "x", ms=5, color="0.25", label="outliers")
right.set(xlabel="x", ylabel="y", title="The fits")
right.legend(ncols=3, fontsize=9, loc="upper center")
right.set_ylim(-1.7, 7.8)

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_robust_losses.png", dpi=120)
    print("Picture: plot_robust_losses.png")
