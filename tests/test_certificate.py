"""What is computed of a certificate, and the bounds of coefficients that do not sum to zero."""

import numpy as np
import pytest
from samples import as_targets

from resolvent import Problem, Status, gram, solve
from resolvent.losses import LOSSES
from resolvent.problem.certificate import bounds, certify, is_solved, is_within, relative_gap

N = 60


def make(loss):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 3))
    return gram(X, "rbf", gamma=0.3), as_targets(loss, X[:, 0] + 0.5 * rng.standard_normal(N))


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_without_a_product_hold_on_the_way(loss):
    K, y = make(loss)
    problem = Problem(loss, K, y, 2.0, fit_intercept=True)
    best = solve(loss, K, y, 2.0, fit_intercept=True, tol=1e-9)
    slack = 1e-9 * abs(best.primal)
    rng = np.random.default_rng(0)
    gaps = []
    for distance in (1.0, 1e-1, 1e-2, 1e-3):
        near = best.coef * (1.0 - distance * rng.random(N))
        coef, _ = Problem(loss, K, y, 2.0).resolvent_step(0, near, K.product(near[None])[0])
        assert abs(coef.sum()) > 1e-12 * np.abs(coef).sum()
        certificate = certify(problem, 0, coef, K.product(coef[None])[0], exact=False)
        np.testing.assert_array_equal(certificate.coef, coef)
        at = problem.primal(coef, certificate.intercept)
        assert certificate.primal == pytest.approx(at, rel=1e-9)
        assert certificate.dual <= best.primal + slack
        assert certificate.primal >= best.dual - slack
        gaps.append(certificate.primal - certificate.dual)
    assert gaps[-1] < 0.1 * gaps[0]


def test_what_is_solved_depends_on_what_was_asked_for():
    assert is_solved(Status.CONVERGED, 1e-5)
    assert is_solved(Status.STEP, 1e-5)
    assert is_solved(Status.PRECISION_LIMIT, 0.0)
    assert not is_solved(Status.PRECISION_LIMIT, 1e-5)
    assert not is_solved(Status.MAX_ITER, 1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_bounds_of_a_point_are_those_of_the_problem(fit_intercept):
    K, y = make("hinge")
    problem = Problem("hinge", K, y, 2.0, fit_intercept=fit_intercept)
    coef = solve("hinge", K, y, 2.0, fit_intercept=fit_intercept, tol=1e-2).coef
    b = 0.3 if fit_intercept else 0.0
    primal, dual = bounds(problem, 0, coef, problem.gram.product(coef[None])[0], b)
    assert primal == pytest.approx(problem.primal(coef, b))
    assert dual == pytest.approx(problem.dual(coef) - b * coef.sum())
    assert relative_gap(primal, dual) == pytest.approx((primal - dual) / max(primal, dual))
    for tol in (0.5, 1.5):
        assert is_within(primal, dual, tol * relative_gap(primal, dual)) is (tol > 1)
