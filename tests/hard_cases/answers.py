"""Hard cases: each gets the right answer or a sentence that says what is wrong and what to do.

None may hang, return NaN, or warn of anything but convergence: pytest turns warnings into errors.
Here is what their tests share: small data, and what must hold of every answer.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from samples import losses_for
from sklearn.exceptions import ConvergenceWarning

from resolvent import solve
from resolvent.losses import LOSSES

SOLVERS = ("coordinate_descent", "fixed_point", "newton")
BOTH = pytest.mark.parametrize("solver", SOLVERS)
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])
ALL = pytest.mark.parametrize("loss", LOSSES)
SIGNS = losses_for("sign")
REALS = losses_for("real")


def data(n=20):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def targets(loss):
    X, y = data()
    kind = getattr(LOSSES[loss], "targets", "real")
    counts = np.floor(3 + X[:, 1])
    of = {"sign": y, "nonnegative": counts, "positive": np.maximum(counts, 0.1), "real": X[:, 1]}
    return of[kind]


def sound(solution):
    """A solution that may be trusted: finite, with bounds in order."""
    for part in (solution.coef, solution.fitted, solution.primal, solution.dual, solution.gap):
        assert np.isfinite(part).all()
    assert np.isfinite(solution.intercept).all()
    assert np.all(solution.gap >= 0)
    assert np.all(solution.dual <= solution.primal)
    return solution


def quiet(*args, **options):
    """Solve, letting only the warning that it did not converge pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return sound(solve(*args, **options))
