"""
Hourly load: bands that hold what they promise
==============================================

Electric load has the hour of the day, the day of the week and the temperature in it, and noise that
is larger in the evening. Rows follow each other in time, so that the folds of the search do too
(``TimeSeriesSplit``): each model is scored on the days after those that it has seen. Quantiles by
kernel regression follow the noise, and the same folds calibrate intervals for any coverage. Two
weeks that come later show what these are worth. The data are simulated here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import TimeSeriesSplit
from sklearn.preprocessing import StandardScaler

from resolvent import KernelQuantileRegressorCV

rng = np.random.default_rng(0)
hours = np.arange(24 * 7 * 7)
clock, weekend = hours % 24, (hours // 24) % 7 >= 5
days = np.repeat(np.cumsum(rng.normal(0.0, 1.5, len(hours) // 24)), 24)
temperature = 12 + 0.3 * days + 5 * np.sin(2 * np.pi * (clock - 9) / 24)
load = 900 - 130 * weekend + 160 * np.sin(2 * np.pi * (clock - 8) / 24) - 9 * (temperature - 15)
load += 120 * np.exp(-((clock - 19) ** 2) / 6)
load += (15 + 35 * np.exp(-((clock - 19) ** 2) / 20)) * rng.standard_normal(len(hours))

turn = 2 * np.pi * clock / 24
X = np.column_stack([np.sin(turn), np.cos(turn), np.sin(2 * turn), weekend, temperature])
seen = hours < 24 * 7 * 5
X = StandardScaler().fit(X[seen]).transform(X)

# %%
# The search chooses C and gamma by folds in time, beyond the grid if need be. The load is in
# megawatts: the model does not depend on its unit.

model = KernelQuantileRegressorCV(
    (0.1, 0.5, 0.9),
    Cs=[10, 100, 1000],
    gammas=[0.01, 0.03, 0.1],
    extend=True,
    cv=TimeSeriesSplit(4),
    conformal=True,
).fit(X[seen], load[seen])
print(f"chosen: {model.best_params_}")
worst = np.max(model.dual_gap_ / model.best_estimator_.objective_)
print(f"{model.status_.name}: the quantiles are within {worst:.1e} of the optimum (relative)")

# %%
# Two weeks that the model has not seen, and the share of each hour's loads inside the intervals.

later = ~seen
low, high = model.predict_interval(X[later], coverage=0.9).T
inside = (low <= load[later]) & (load[later] <= high)
print(f"inside the intervals of 0.9, two weeks later: {inside.mean():.0%}")

figure, (band, by_hour) = plt.subplots(
    2, 1, figsize=(9, 6), height_ratios=(3, 1.4), layout="constrained"
)
week = slice(0, 24 * 7)
at = np.arange(24 * 7) / 24
band.fill_between(at, low[week], high[week], color="#9ecae1", label="interval of 0.9")
band.plot(at, model.predict(X[later])[week, 1], color="#08519c", lw=1.2, label="median")
band.plot(at, load[later][week], ".", color="black", ms=3, label="load")
band.set(xlabel="day of the first week that was not seen", ylabel="load (MW)", xlim=(0, 7))
band.legend(loc="upper right", ncols=3, frameon=False)
share = [inside[clock[later] == hour].mean() for hour in range(24)]
by_hour.bar(range(24), share, color="#6baed6")
by_hour.axhline(0.9, color="black", lw=1, ls="--")
by_hour.set(xlabel="hour of the day", ylabel="share inside", ylim=(0.5, 1.02))
figure.suptitle(f"Hourly load: {inside.mean():.0%} of two later weeks are in intervals of 0.9")

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_hourly_load.png", dpi=110)
