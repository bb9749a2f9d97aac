"""Problems on which an earlier version failed, found by random search."""

from __future__ import annotations

import numpy as np
import pytest
from problems import BOTH, OFFSET, points, rbf, targets
from reference import minimum

from resolvent import Problem, Status, solve


def test_infinite_objective_is_no_success():
    # The fixed point overshoots to scores beyond 709, where exp overflows: F = inf there.
    rng = np.random.default_rng(0)
    X = 2.0 * rng.standard_normal((22, 3))
    y = rng.poisson(100, 22).astype(float)
    s = solve("poisson", X @ X.T, y, 10.0, solver="fixed_point", tol=1e-6)
    assert np.isfinite(s.primal)
    assert s.gap <= 1e-6 * s.primal


@BOTH
def test_coefficients_at_rest_while_the_offset_moves(solver):
    # After one sweep all coefficients are at their bounds, but their sum is not zero.
    y = np.repeat([1.0, -1.0], [15, 5])
    K = np.eye(20)
    s = solve("hinge", K, y, 1e-3, fit_intercept=True, solver=solver, tol=1e-8)
    assert s.status == Status.CONVERGED
    best, _ = minimum("hinge", K, y, 1e-3, True)
    assert s.primal == pytest.approx(best, rel=1e-6)


def test_extrapolated_step_back_to_the_same_point_proves_nothing():
    for seed in range(20):
        y = np.random.default_rng(seed).standard_normal(13) * 1e-3
        s = solve("pinball", np.ones((13, 13)), y, 3e-3, solver="fixed_point", tol=1e-6)
        assert s.status == Status.CONVERGED, seed


@OFFSET
def test_gap_is_not_negative_far_from_zero(fit_intercept):
    # Targets near 1000: b sum(c) is not nothing even where sum(c) is 1e-15.
    y = 1e3 + targets("squared")
    for loss in ("squared_epsilon_insensitive", "absolute", "huber", "pinball"):
        s = solve(loss, rbf(), y, 0.5, fit_intercept=fit_intercept, tol=0)
        # That of the solution is cut off at zero, so it is computed afresh.
        gap = Problem(loss, rbf(), y, 0.5, fit_intercept=fit_intercept).gap(s.coef, s.intercept)
        assert gap >= -1e-9 * s.primal
        # An offset takes the 1000 up, and the reference is more exact without it.
        best, _ = minimum(loss, rbf(), y - 1e3 * fit_intercept, 0.5, fit_intercept)
        assert s.primal == pytest.approx(best, rel=1e-6)
        assert s.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("C", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge", "absolute", "huber", "modified_huber"])
def test_low_rank_kernel_and_large_C(loss, C):
    # 20 rows of rank 2: single coordinates crawl, so the Newton steps must find the way.
    X = points(20)[:, :2]
    s = solve(loss, X @ X.T, targets(loss, 20), C, tol=1e-6)
    assert s.status == Status.CONVERGED
