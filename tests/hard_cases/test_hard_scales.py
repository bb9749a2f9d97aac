"""Weights, C and kernels of every size, zero among them."""

from __future__ import annotations

import numpy as np
import pytest
from answers import ALL, BOTH, OFFSET, data, quiet, sound, targets
from reference import minimum

from resolvent import Status, gram, solve
from resolvent.kernels import RBF


@OFFSET
@BOTH
@ALL
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_C(loss, C, solver, fit_intercept):
    K, y = RBF(gamma=2.0)(data()[0]), targets(loss)
    s = sound(solve(loss, K, y, C, fit_intercept=fit_intercept, solver=solver, tol=1e-5))
    assert s.status == Status.CONVERGED


@OFFSET
@BOTH
@ALL
@pytest.mark.parametrize("gamma", [1e6, 1e-12])
def test_identity_and_all_ones(loss, gamma, solver, fit_intercept):
    X, _ = data()
    K = gram(X, gamma=gamma)
    expected = np.eye(20) if gamma > 1 else np.ones((20, 20))
    s = sound(
        solve(loss, K, targets(loss), 3.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8)
    )
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, expected, targets(loss), 3.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@BOTH
@OFFSET
def test_weights_of_zero(solver, fit_intercept):
    X, y = data()
    w = np.resize([0.0, 1.0, 1.0], 20)
    K = RBF()(X)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 0}
    s = sound(solve("hinge", K, y, sample_weight=w, **options))
    there = w > 0
    t = sound(solve("hinge", K[np.ix_(there, there)], y[there], **options))
    assert (s.coef[~there] == 0).all()
    assert np.allclose(s.fitted[there], t.fitted, atol=1e-7)
    # A class whose rows all have no weight is not there.
    s = sound(solve("hinge", K, y, sample_weight=(y > 0).astype(float), **options))
    assert (s.fitted[y > 0] > 0).all()
    if fit_intercept:
        with pytest.raises(ValueError, match="no solution"):
            solve("logistic", K, y, sample_weight=(y > 0).astype(float), **options)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "absolute"])
@OFFSET
def test_weights_of_every_size(loss, fit_intercept):
    w = 10.0 ** np.linspace(-12, 12, 20)
    s = quiet(
        loss, RBF(gamma=5.0)(data()[0]), targets(loss), sample_weight=w,
        fit_intercept=fit_intercept, tol=1e-6,
    )  # fmt: skip
    # A score is a floating-point number: the heaviest loss is known to an ulp of it, no better.
    ulp = np.finfo(float).eps * w.max() * np.abs(s.fitted).max()
    assert s.gap <= 1e-5 * s.primal + 2.0 * ulp


@OFFSET
@pytest.mark.parametrize("loss", ["hinge", "squared", "absolute"])
def test_weights_of_which_no_number_is_left(loss, fit_intercept):
    """A fit that cannot be computed is refused; before, it ended after max_iter with nothing."""
    K, y = RBF(gamma=5.0)(data()[0]), targets(loss)
    options = {"fit_intercept": fit_intercept}
    with pytest.raises(ValueError, match=r"C times sample_weight is 1e-298 at most, .*underflows"):
        solve(loss, K, y, C=1e-298, **options)
    if loss != "hinge":
        with pytest.raises(ValueError, match=r"The objective overflows, .* 1e\+300 at most"):
            solve(loss, K, 1e10 * y, C=1e300, **options)
    w = np.resize([1e-300, 1.0], 20)  # some of them may be as small as they like
    assert sound(solve(loss, K, y, sample_weight=w, **options)).status == Status.CONVERGED


@OFFSET
@BOTH
@ALL
def test_kernel_of_zeros(loss, solver, fit_intercept):
    K, y = np.zeros((20, 20)), targets(loss)
    s = sound(solve(loss, K, y, 2.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8))
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, K, y, 2.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)
    assert np.allclose(s.fitted, s.intercept)


@OFFSET
@BOTH
@ALL
def test_zeros_on_the_diagonal(loss, solver, fit_intercept):
    X, _ = data()
    X[::3] = 0.0  # rows of zeros: k_ii = 0
    y = targets(loss)
    s = sound(
        solve(
            loss, gram(X, kernel="linear"), y, 2.0, fit_intercept=fit_intercept, solver=solver,
            tol=1e-8,
        )
    )  # fmt: skip
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, X @ X.T, y, 2.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@OFFSET
def test_kernel_of_any_scale(loss, factor, fit_intercept):
    # K and C enter as K C, and c as c K: the solution is that of a problem of scale one.
    K, y = RBF()(data()[0]), targets(loss)
    plain = solve(loss, K, y, 1.0, fit_intercept=fit_intercept, tol=1e-9)
    scaled = sound(solve(loss, factor * K, y, 1.0 / factor, fit_intercept=fit_intercept, tol=1e-9))
    assert scaled.status == Status.CONVERGED
    assert factor * scaled.primal == pytest.approx(plain.primal, rel=1e-8)
