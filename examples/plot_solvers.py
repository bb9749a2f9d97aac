"""
Four ways to the same optimum
=============================

The relative duality gap against time, for each solver on three problems: a support vector machine
with a kernel, one so ill-conditioned that first-order methods stall, and a linear one with many
rows and few columns. What "auto" takes is drawn thick.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from resolvent import gram, solve

rng = np.random.default_rng(0)


def rings(n):
    X = rng.normal(size=(n, 2))
    y = np.where((X**2).sum(axis=1) + 0.3 * rng.normal(size=n) < 1.4, 1.0, -1.0)
    return X, y


def flat(n):
    X = rng.normal(size=(n, 20))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return X, y


X, y = rings(800)
X_flat, y_flat = flat(4000)
problems = {
    "RBF kernel, C = 1": ("hinge", gram(X, gamma=0.5), y, 1.0),
    "RBF kernel, C = 100 000": ("squared_hinge", gram(X[:300], gamma=0.05), y[:300], 1e5),
    "linear kernel, 4000 rows, 20 columns": ("hinge", gram(X_flat, kernel="linear"), y_flat, 1.0),
}
solvers = {
    "fixed point": {"solver": "fixed_point"},
    "permuted coordinates": {"solver": "coordinate_descent", "rule": "permuted"},
    "greedy blocks": {"solver": "coordinate_descent", "rule": "greedy"},
    "Newton": {"solver": "newton"},
}
takes = {"linear kernel, 4000 rows, 20 columns": "Newton"}  # else greedy blocks

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for axis, (title, problem) in zip(axes, problems.items(), strict=True):
    linear = title.startswith("linear")
    for number, (name, settings) in enumerate(solvers.items()):
        if linear and name == "greedy blocks":
            continue  # the linear kernel forms no rows of K
        settings = {"tol": 1e-9, "fit_intercept": True, "time_limit": 1.0, **settings}
        if name != "Newton":
            settings["accelerate"] = False  # without the Newton steps that finish a fit otherwise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solve(*problem, **settings | {"max_iter": 3})  # compiles
            solution = solve(*problem, **settings)
        seconds = [1e3 * record.seconds for record in solution.history]
        gaps = [max(record.gap / abs(record.primal), 1e-16) for record in solution.history]
        chosen = takes.get(title, "greedy blocks") == name
        axis.loglog(seconds, gaps, label=name, color=f"C{number}", linewidth=3 if chosen else 1.3)
        print(f"{title:38} {name:22} {solution.status.name:10} {gaps[-1]:.1e}")
    axis.set(title=title, xlabel="milliseconds")
    axis.grid(alpha=0.3)
axes[0].set_ylabel("relative duality gap")
axes[1].legend(loc="lower left")

if __name__ == "__main__":
    figure.savefig("plot_solvers.png", dpi=100)
