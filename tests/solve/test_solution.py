"""What a Solution says is consistent, and its gap bounds the error."""

from __future__ import annotations

import numpy as np
import pytest
from problems import ALL, OFFSET, points, rbf, targets, weights

from resolvent import Problem, solve


@OFFSET
@ALL
def test_fields_are_consistent(loss, fit_intercept):
    K, y, w = rbf(), targets(loss), weights()
    problem = Problem(loss, K, y, 2.0, w, fit_intercept)
    s = solve(loss, K, y, 2.0, sample_weight=w, fit_intercept=fit_intercept, tol=1e-4)
    assert s.gap == s.primal - s.dual
    assert problem.primal(s.coef, s.intercept) == pytest.approx(s.primal, rel=1e-12)
    assert problem.primal(s.coef) == pytest.approx(s.primal, rel=1e-12)  # s.intercept is the best
    assert problem.dual(s.coef) <= s.dual * (1 + 1e-12)  # the best dual may be another's
    assert problem.gap(s.coef, s.intercept) >= s.gap - 1e-12 * s.primal
    assert problem.gap(s.coef) == pytest.approx(
        problem.primal(s.coef) - problem.dual(s.coef), abs=1e-12 * s.primal
    )
    assert np.allclose(s.fitted, K @ s.coef + s.intercept, rtol=1e-12, atol=1e-12)
    assert s.n_iter == s.history[-1].iteration


@ALL
def test_the_gap_bounds_the_error_of_predictions(loss):
    X, y = points(), targets(loss)
    K = rbf(X)
    exact = solve(loss, K, y, 2.0, tol=0)
    fresh = np.random.default_rng(3).standard_normal((50, 3))
    rows = rbf(fresh, X)
    for tol in (1e-1, 1e-3, 1e-6):
        rough = solve(loss, K, y, 2.0, tol=tol, accelerate=False)
        error = np.abs(rows @ (rough.coef - exact.coef))
        assert error.max() <= np.sqrt(2 * rough.gap) + 1e-7  # k(x, x) = 1
        assert rough.primal - exact.primal <= rough.gap * (1 + 1e-9) + 1e-12 * exact.primal
