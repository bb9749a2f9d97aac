"""
Certified gap against rank
==========================

A low-rank fit seeks its function among those that a few landmarks span, and says how good it is:
`dual_gap_` bounds how far it is from the optimum of the exact machine, which is not computed for
that. Here it is computed too, to see how tight the bound is.
"""

# %%
# A checkerboard with noise.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import KernelClassifier

rng = np.random.default_rng(0)
X = rng.uniform(0, 4, (3000, 2))
y = (np.floor(X).sum(axis=1) + (rng.random(len(X)) < 0.1)) % 2
X, X_test, y, y_test = X[:2000], X[2000:], y[:2000], y[2000:]

# %%
# The exact machine, and fits of growing rank. Their gap has two parts: what the solver left, and
# what the rank may cost.

machine = {"loss": "logistic", "gamma": 2.0, "C": 10.0, "tol": 1e-4}
exact = KernelClassifier(**machine | {"tol": 1e-8}).fit(X, y)
ranks = [10, 20, 40, 80, 160, 320]
fits = [KernelClassifier(**machine, rank=rank).fit(X, y) for rank in ranks]
for fit in fits:
    print(
        f"rank {fit.rank_:3d}: {fit.status_.name}, within {fit.dual_gap_ / fit.objective_:.1e} of "
        f"the exact machine's optimum, accuracy {fit.score(X_test, y_test):.3f}"
    )
print(f"exact: {exact.status_.name}, accuracy {exact.score(X_test, y_test):.3f}")

# %%
# The certified gap is above the true one, and soon close to it.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
excess = [fit.objective_ / exact.objective_ - 1 for fit in fits]
left.loglog(ranks, [fit.dual_gap_ / fit.objective_ for fit in fits], "o-", label="certified")
left.loglog(ranks, excess, "s--", label="true")
left.set(xlabel="rank", ylabel="relative gap to the exact optimum", title="How far from exact?")
left.legend()
right.semilogx(ranks, [1 - fit.score(X_test, y_test) for fit in fits], "o-", label="low rank")
right.axhline(1 - exact.score(X_test, y_test), color="0.5", ls="--", label="exact")
right.set(xlabel="rank", ylabel="test error", title="What it costs on new samples")
right.legend()

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_low_rank.png", dpi=120)
    print("Picture: plot_low_rank.png")
