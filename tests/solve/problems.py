"""Small problems of every loss, with weights, for the tests of `solve`."""

from __future__ import annotations

import numpy as np
import pytest

from resolvent.kernels import RBF
from resolvent.losses import LOSSES

N = 24
SOLVERS = ("auto", "coordinate_descent", "fixed_point", "newton")  # "auto" is greedy on rows of K
ALL = pytest.mark.parametrize("loss", LOSSES)
BOTH = pytest.mark.parametrize("solver", SOLVERS)
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])


def points(n=N):
    return np.random.default_rng(7).standard_normal((n, 3))


def targets(loss, n=N, seed=8):
    rng = np.random.default_rng(seed)
    kind = getattr(LOSSES[loss], "targets", "real")
    if kind == "sign":
        return np.where(points(n)[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if kind == "nonnegative":
        return rng.poisson(np.exp(0.5 + 0.5 * points(n)[:, 0])).astype(float)
    if kind == "positive":
        return np.exp(points(n)[:, 0] + 0.5 * rng.standard_normal(n))
    return points(n)[:, 0] + 0.5 * rng.standard_normal(n)


def weights():
    return np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], N)


def rbf(X=None, Z=None):
    return RBF(gamma=0.4)(points() if X is None else X, Z)


def scale(solution):
    return np.maximum(np.abs(solution.primal), np.abs(solution.dual))
