"""The gap where rounding is all that is left of it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from resolvent import Problem, Status, gram, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.sign(X[:, 0] + RNG.standard_normal(30))


@pytest.mark.parametrize("tol", [1e-320, 1e-300])
def test_tolerances_far_below_rounding(tol):
    with pytest.warns(ConvergenceWarning, match="as small as rounding allows"):
        s = solve("hinge", gram(X, "linear"), Y, solver="coordinate_descent", tol=tol)
    assert s.status == Status.PRECISION_LIMIT
    assert 1e-16 * s.primal < s.gap < 1e-12 * s.primal


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_gap_is_smaller_than_rounding(kernel):
    s = solve("squared", gram(X, kernel), Y, tol=0)
    assert s.gap >= np.finfo(float).eps * s.primal
    assert s.primal - s.gap == pytest.approx(s.dual, rel=1e-15)


def test_coefficients_sum_to_zero_where_offsets_are_too_far_apart():
    # A kernel so small that neighbouring offsets move a coefficient by more than its rounding.
    small, y = gram(1e-8 * X, "linear"), 1e-3 * Y + 0.5
    problem = Problem("absolute", small, y, 1e-4, fit_intercept=True)
    coef, _ = problem.resolvent_step(0, np.zeros(30), np.zeros(30), 0.5)
    assert abs(coef.sum()) <= 1e-12 * np.abs(coef).sum()
    assert (np.abs(coef) <= 1e-4 * (1 + 1e-12)).all()
