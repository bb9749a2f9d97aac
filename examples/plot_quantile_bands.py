"""
Quantile bands that never cross
===============================

In a crash test the acceleration of the dummy's head is quiet before the impact and wild after it.
A mean and one standard deviation would describe that badly; the conditional quantiles describe it
as it is. `KernelQuantileRegressor` fits several of them on one kernel, each to a certified optimum,
and its predictions are in order everywhere.

The data are made here in the image of the well-known motorcycle data: 133 points, a flat start, a
sharp fall, a rebound, and noise that changes along the way.
"""

# %%
# The data: a smooth curve with noise whose size depends on the time.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import KernelQuantileRegressor

rng = np.random.default_rng(1)
t = np.sort(np.concatenate([rng.uniform(2, 14, 25), rng.uniform(14, 58, 108)]))
fall = -115 * np.exp(-(((t - 21.5) / 4.5) ** 2))
rebound = 45 * np.exp(-(((t - 33) / 5.0) ** 2))
noise = 1.5 + 24 / (1 + np.exp(-(t - 15.5))) * np.exp(-(np.maximum(t - 34, 0) / 22))
y = fall + rebound + noise * rng.standard_normal(len(t))

# %%
# Three quantiles in one fit. A tuple gives a column each, a number would give a vector.

quantiles = (0.1, 0.5, 0.9)
model = KernelQuantileRegressor(quantiles, C=200.0, gamma=0.02).fit(t[:, None], y)
print("status:", model.status_, "- relative gaps:", model.dual_gap_ / model.objective_)

grid = np.linspace(t[0], t[-1], 500)
low, median, high = model.predict(grid[:, None]).T
assert (low <= median).all()
assert (median <= high).all()

at_data = model.predict(t[:, None])
inside = np.mean((at_data[:, 0] <= y) & (y <= at_data[:, 2]))
print(f"{inside:.0%} of the points are in the band from the 10 % to the 90 % quantile")

# %%
# The band is narrow where the data are quiet, and wide where they are not.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.fill_between(grid, low, high, color="tab:blue", alpha=0.2, lw=0, label="10 % to 90 %")
ax.plot(grid, median, color="tab:blue", lw=2, label="median")
ax.plot(t, y, "o", ms=3.5, color="0.25", label="data")
ax.set(xlabel="milliseconds after impact", ylabel="acceleration (g)")
ax.set_title(f"Kernel quantile regression: {inside:.0%} of the points are in the band")
ax.legend(loc="lower right")

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_quantile_bands.png", dpi=120)
    print("Picture: plot_quantile_bands.png")
