"""Hard data: huge, constant, not finite, of one class, of one row."""

from __future__ import annotations

import numpy as np
import pytest
from answers import ALL, BOTH, OFFSET, REALS, SIGNS, data, quiet, sound
from reference import minimum
from scipy import sparse

from resolvent import Status, gram, solve
from resolvent.kernels import RBF
from resolvent.losses import LOSSES


@BOTH
def test_features_of_wildly_different_scale(solver):
    X, y = data()
    X = X * [1e-8, 1.0, 1e8]
    for kernel in ("rbf", "linear", "laplacian"):
        s = quiet("hinge", gram(X, kernel=kernel), y, solver=solver)
        assert s.gap <= s.primal


@pytest.mark.parametrize("size", [1e30, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "poly", "cosine"])
def test_huge_values(kernel, size):
    # Squares overflow from 1e154 on: an answer or a refusal that says so, never NaN.
    X, y = data()
    if size >= 1e160 and kernel != "cosine":
        with pytest.raises(ValueError, match=r"scale the data|finite"):
            quiet("hinge", gram(X * size, kernel=kernel), y, max_iter=200)
        return
    s = quiet("hinge", gram(X * size, kernel=kernel), y, max_iter=200)
    # Separable, and the larger the data, the less the margin costs: nothing is left but rounding.
    assert s.gap <= s.primal + 1e-12 * len(y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["X", "X csr", "K", "y", "C", "sample_weight", "start"])
def test_not_finite(bad, where):
    X, y = data()
    K, C, w, start = RBF()(X), np.ones(20), np.ones(20), np.zeros(20)
    if where.startswith("X"):
        X[3, 1] = bad
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            solve("hinge", gram(sparse.csr_array(X) if "csr" in where else X, gamma=1.0), y)
        return
    {"K": K[3], "y": y, "C": C, "sample_weight": w, "start": start}[where][4] = bad
    K[4, 3] = K[3, 4]
    with pytest.raises(ValueError, match=rf"{where if where != 'start' else 'coef|start'}.*"):
        solve("hinge", K, y, C, sample_weight=w, start=start)


def test_constant_column_and_constant_data():
    X, y = data()
    X[:, 1] = 7.0
    assert solve("hinge", gram(X), y).status == Status.CONVERGED
    s = sound(solve("hinge", gram(np.full((20, 3), 7.0)), y, tol=1e-8))  # K is all ones
    best, _ = minimum("hinge", np.ones((20, 20)), y, 1.0)
    assert s.primal == pytest.approx(best, rel=1e-6)


@OFFSET
@BOTH
@pytest.mark.parametrize("loss", REALS)
@pytest.mark.parametrize("level", [0.0, 5.0, 1e6])
def test_constant_target(loss, level, solver, fit_intercept):
    X, _ = data()
    y = np.full(20, level)
    # With an offset (or level 0) the optimum is the constant and F = 0: no relative gap exists
    # there, and no warning is due either.
    s = sound(solve(loss, RBF()(X), y, fit_intercept=fit_intercept, solver=solver))
    assert s.status <= Status.PRECISION_LIMIT
    if fit_intercept or level == 0.0:
        assert np.allclose(s.fitted, level, atol=0.11, rtol=1e-9)  # 0.1 is the width of the tube
        assert s.primal <= 1e-12 * (1 + level)


@BOTH
@pytest.mark.parametrize("loss", SIGNS)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_only(loss, label, solver):
    X, _ = data()
    K, y = RBF()(X), np.full(20, label)
    s = sound(solve(loss, K, y, solver=solver))
    assert s.status == Status.CONVERGED
    assert (s.fitted * label > 0).all()
    if loss == "logistic":
        with pytest.raises(ValueError, match=r"no solution.*single class.*fit_intercept=False"):
            solve(loss, K, y, fit_intercept=True, solver=solver)
    else:
        s = sound(solve(loss, K, y, fit_intercept=True, solver=solver))  # without a warning
        assert np.allclose(s.fitted, label, atol=1e-6)
        assert s.primal <= 1e-10


def test_poisson_of_zeros_alone_has_no_offset():
    with pytest.raises(ValueError, match=r"no solution.*all zero.*fit_intercept=False"):
        solve("poisson", np.eye(3), np.zeros(3), fit_intercept=True)
    s = sound(solve("poisson", np.eye(3), np.zeros(3), tol=1e-8))
    z = -0.5671432904097838  # exp(z) = -z
    assert np.allclose(s.fitted, z, atol=1e-4)


@BOTH
@ALL
def test_one_row(loss, solver):
    y = np.ones(1)
    s = sound(solve(loss, [[2.0]], y, solver=solver, tol=1e-9))
    best, _ = minimum(loss, np.array([[2.0]]), y, 1.0)
    assert s.primal == pytest.approx(best, rel=1e-6, abs=1e-9)
    if loss != "logistic":
        s = sound(solve(loss, [[2.0]], y, fit_intercept=True, solver=solver))
        assert s.coef[0] == 0.0  # it sums to zero
        assert s.primal <= 1e-12


@BOTH
@OFFSET
@ALL
def test_two_rows(loss, solver, fit_intercept):
    y = {
        "sign": [1.0, -1.0],
        "nonnegative": [0.0, 4.0],
        "positive": [0.5, 4.0],
        "real": [-2.0, 3.0],
    }[getattr(LOSSES[loss], "targets", "real")]
    K = np.array([[1.0, 0.3], [0.3, 2.0]])
    s = sound(solve(loss, K, y, fit_intercept=fit_intercept, solver=solver, tol=1e-9))
    best, _ = minimum(loss, K, np.array(y), 1.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@BOTH
@OFFSET
@pytest.mark.parametrize("loss", SIGNS)
def test_duplicated_rows_with_opposite_labels(loss, solver, fit_intercept):
    X, y = data(10)
    X, y = np.concatenate([X, X]), np.concatenate([y, -y])
    s = sound(solve(loss, RBF()(X), y, 10.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8))
    assert s.status == Status.CONVERGED
    assert np.allclose(s.fitted, 0.0, atol=1e-3)  # by symmetry
    best, _ = minimum(loss, RBF()(X), y, 10.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)
