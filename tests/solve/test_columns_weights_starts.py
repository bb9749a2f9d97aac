"""Several problems at once, weights, starting points."""

from __future__ import annotations

import numpy as np
import pytest
from problems import ALL, BOTH, OFFSET, N, points, rbf, targets, weights
from sklearn.exceptions import ConvergenceWarning

from resolvent import Status, solve


@pytest.mark.parametrize("loss", ["hinge", "logistic", "pinball", "squared"])
@BOTH
@OFFSET
def test_columns_are_separate_problems(loss, solver, fit_intercept):
    K = rbf()
    Y = np.stack([targets(loss, seed=seed) for seed in range(3)], axis=1)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 1e-9, "rule": "cyclic"}
    C = np.array([0.1, 1.0, 10.0])
    together = solve(loss, K, Y, C, **options)
    assert together.coef.shape == together.fitted.shape == (N, 3)
    assert together.status == Status.CONVERGED
    full = solve(loss, K, Y, np.broadcast_to(C, (N, 3)), **options)
    assert np.array_equal(full.coef, together.coef)
    for j in range(3):
        alone = solve(loss, K, Y[:, j], C[j], **options)
        assert alone.status == Status.CONVERGED
        # Products of one column and of three are summed in another order, and one column that may
        # be done has all of them looked at, so the two are equal to within their tolerances only:
        # by the bound on predictions, k(x, x) = 1.
        assert alone.primal == pytest.approx(together.primal[j], rel=1e-9)
        if not fit_intercept:  # the bound is for the part that the penalty sees
            bound = np.sqrt(2 * alone.gap) + np.sqrt(2 * together.gap[j]) + 1e-7
            assert np.abs(alone.fitted - together.fitted[:, j]).max() <= bound
        assert together.gap[j] <= 1e-9 * abs(together.primal[j])


def test_one_column_is_not_a_vector():
    y = targets("hinge")
    s = solve("hinge", rbf(), y[:, None])
    flat = solve("hinge", rbf(), y)
    assert s.coef.shape == (N, 1)
    assert s.gap.shape == s.primal.shape == s.n_iter.shape == (1,)
    assert np.array_equal(s.coef[:, 0], flat.coef)
    assert isinstance(flat.gap, float)
    assert isinstance(flat.n_iter, int)


def test_status_of_several_is_the_worst():
    Y = np.stack([np.ones(N), targets("hinge")], axis=1)
    settings = {"tol": 1e-10, "max_iter": 2, "rule": "cyclic", "accelerate": False}
    with pytest.warns(ConvergenceWarning):
        s = solve("hinge", rbf(), Y, [1e-6, 1e4], **settings)
    assert s.status == Status.MAX_ITER
    assert s.gap[0] <= 1e-10 * s.primal[0]


def test_vector_of_C_is_C_times_weights():
    y, w = targets("huber"), weights()
    a = solve("huber", rbf(), y, 3.0 * w, tol=0)
    b = solve("huber", rbf(), y, 3.0, sample_weight=w, tol=0)
    assert np.array_equal(a.coef, b.coef)


@OFFSET
@ALL
def test_weight_two_is_the_row_twice_and_zero_its_absence(loss, fit_intercept):
    X, y = points(), targets(loss)
    w = np.resize([1, 2, 0, 3], N)
    index = np.repeat(np.arange(N), w)
    assert 0 < len(index) != N
    options = {"C": 1.5, "fit_intercept": fit_intercept, "tol": 0}
    weighted = solve(loss, rbf(X), y, sample_weight=w, **options)
    repeated = solve(loss, rbf(X[index]), y[index], **options)
    fresh = np.random.default_rng(3).standard_normal((10, 3))
    # At the limit of rounding the gap is about 1e-14 F, and sqrt(2 gap) bounds the error.
    assert np.allclose(
        rbf(fresh, X) @ weighted.coef + weighted.intercept,
        rbf(fresh, X[index]) @ repeated.coef + repeated.intercept,
        atol=1e-7,
    )
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "poisson", "epsilon_insensitive"])
@BOTH
@OFFSET
def test_warm_start(loss, solver, fit_intercept):
    K, y = rbf(), targets(loss)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 1e-9}
    cold = solve(loss, K, y, 1.0, **options)
    again = solve(loss, K, y, 1.0, start=cold, **options)
    assert again.n_iter <= 1  # one iteration to see that nothing is left to do
    near = solve(loss, K, y, 0.7, **options)  # coefficients beyond the bounds for C = 0.7
    from_other = solve(loss, K, y, 0.7, start=cold, **options)
    assert from_other.primal == pytest.approx(near.primal, rel=2e-9)
    as_array = solve(loss, K, y, 0.7, start=cold.coef, **options)
    assert np.array_equal(as_array.coef, from_other.coef)


@ALL
@BOTH
def test_start_far_outside_the_domain(loss, solver):
    K, y = rbf(), targets(loss)
    wild = 1e3 * np.random.default_rng(0).standard_normal(N)
    far = solve(loss, K, y, start=wild, solver=solver, tol=1e-9)
    near = solve(loss, K, y, solver=solver, tol=1e-9)
    assert far.status == Status.CONVERGED
    assert far.primal == pytest.approx(near.primal, rel=2e-9)
    assert (wild == 1e3 * np.random.default_rng(0).standard_normal(N)).all()  # not written to
