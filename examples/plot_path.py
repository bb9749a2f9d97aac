"""
A path along C
==============

How much should a kernel machine trust its data? `path` solves for a whole grid of C, each solution
started from the one before it, from the smoothest function to the most faithful one. Each has its
own certificate, so the curves below are those of exact solutions.
"""

# %%
# A noisy curve, with samples put aside to judge by.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import path
from resolvent.kernels import RBF
from resolvent.plotting import PathDisplay

rng = np.random.default_rng(0)
X = rng.uniform(0, 6, (300, 1))
y = np.sin(X[:, 0] ** 2 / 4) + 0.3 * rng.standard_normal(300)
X, X_valid, y, y_valid = X[:200], X[200:], y[:200], y[200:]

# %%
# Twenty values of C. Only the coefficients that are not zero are kept.

kernel = RBF(gamma=2.0)
result = path("epsilon_insensitive", kernel(X), y, np.geomspace(1e-2, 1e3, 20), fit_intercept=True)
best = result.validation_loss(kernel(X_valid, X), y_valid).argmin()
print("status:", max(result.status), "- largest relative gap:", (result.gap / result.primal).max())
print(f"best C: {result.Cs[best]:.3g}, with {result.n_support[best]} support vectors")

# %%
# The objective, the gap, the number of support vectors, and the loss on the samples put aside.

display = PathDisplay.from_path(result, K=kernel(X_valid, X), y=y_valid)
display.axes_[3].axvline(result.Cs[best], color="0.6", lw=1)
figure = display.figure_

# %%
# Too small a C, the best one, and too large a one.

grid = np.linspace(0, 6, 400)[:, None]
curves = result.scores(kernel(grid, X))
figure_2, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(X, y, ".", color="0.7")
for i in (2, best, len(result.Cs) - 1):
    ax.plot(grid, curves[:, i], lw=2, label=f"C = {result.Cs[i]:.3g}")
ax.legend()

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_path.png", dpi=120)
    print("Picture: plot_path.png")
