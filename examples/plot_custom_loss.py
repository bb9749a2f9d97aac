"""
A loss of your own in ten lines
===============================

A loss is a `NamedTuple` of its parameters with methods of plain numbers. If you know only its value
and its derivative, give these two: the rest is found numerically, and the fit has the same
certificate as with the library's losses.

The example is a loss for predictions that are dear when they are too low and cheap when they are
too high, such as a stock that must not run out: LINEX, exponential on one side and about linear on
the other.
"""

# %%
# The loss. The methods are compiled; they may use arithmetic, `if`, `while` and `math`.

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from resolvent import KernelRegressor, check_loss


class Linex(NamedTuple):
    """exp(a r) - a r - 1 with r = y - z: too low costs exponentially, too high linearly."""

    a: float = 1.0

    def value(self, y, z):
        return math.exp(min(self.a * (y - z), 700.0)) - self.a * (y - z) - 1.0

    def derivative(self, y, z):
        return self.a - self.a * math.exp(min(self.a * (y - z), 700.0))


# %%
# `check_loss` tries convexity and whether the functions belong together, on a grid of arguments.
# It returns quietly, or raises with a sentence for each thing that is wrong.

check_loss(Linex(a=2.0))

# %%
# Then it is a loss like any other.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 150))
demand = 3 + np.sin(x) + 0.4 * rng.standard_normal(len(x))
grid = np.linspace(0, 10, 300)

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.plot(x, demand, "o", ms=3.5, color="0.35", label="demand")
for loss, colour in (("squared", "tab:red"), (Linex(a=2.0), "tab:blue"), (Linex(a=5.0), "navy")):
    model = KernelRegressor(loss, C=10.0, gamma=0.3).fit(x[:, None], demand)
    short = np.mean(model.predict(x[:, None]) < demand)
    name = loss if isinstance(loss, str) else f"LINEX, a = {loss.a:g}"
    print(f"{name:<14} short on {short:.0%} of the days   {model.status_}")
    ax.plot(
        grid, model.predict(grid[:, None]), color=colour, lw=2, label=f"{name}: short {short:.0%}"
    )
ax.set(xlabel="day", ylabel="amount", title="Stock by a loss of one's own")
ax.set_ylim(1.2, 5.9)
ax.legend(loc="upper center", ncols=2)

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_custom_loss.png", dpi=120)
    print("Picture: plot_custom_loss.png")
