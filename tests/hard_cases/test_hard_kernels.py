"""Kernels that are none, or that rounding spoils."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from answers import BOTH, OFFSET, data, quiet, sound, targets
from sklearn.exceptions import ConvergenceWarning

from resolvent import Status, gram, solve
from resolvent.kernels import RBF


def test_not_symmetric():
    K = RBF()(data()[0])
    K[3, 5] += 0.1
    with pytest.raises(ValueError, match=r"not symmetric: K\[3, 5\] = .* but K\[5, 3\] = "):
        solve("hinge", K, data()[1])


@BOTH
@OFFSET
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic", "squared_hinge"])
def test_indefinite(loss, solver, fit_intercept):
    X, _ = data()
    K = np.tanh(X @ X.T - 1.0)  # sigmoid
    np.fill_diagonal(K, np.abs(K.diagonal()))
    assert np.linalg.eigvalsh(K)[0] < -0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(
            loss, K, targets(loss), 10.0, fit_intercept=fit_intercept, solver=solver,
            max_iter=300,
        )  # fmt: skip
    assert np.isfinite(s.coef).all()
    assert np.isfinite(s.primal)
    assert s.status == Status.NOT_PSD
    assert (s.dual, s.gap) == (-np.inf, np.inf)  # no bound holds


def test_negative_diagonal():
    with pytest.raises(ValueError, match=r"K\[1, 1\] is -1.*not negative"):
        solve("squared", np.diag([1.0, -1.0]), [1.0, 2.0])


def test_float32_data_far_from_the_origin():
    X, y = data()
    far = (X + 1e4).astype(np.float32)
    s = sound(solve("hinge", gram(far, gamma=0.5), y, tol=1e-6))
    exact = solve("hinge", gram(far.astype(float), gamma=0.5), y, tol=1e-8)
    # Distances computed by |x|^2 + |y|^2 - 2 x'y would be off by 1e8 * 6e-8 = 6.
    assert s.status <= Status.PRECISION_LIMIT
    assert s.primal == pytest.approx(exact.primal, rel=1e-4)


@BOTH
def test_poly_on_data_that_are_not_scaled(solver):
    X, y = data()
    K = gram(1e3 * X, kernel="poly", degree=4, gamma=1.0, coef0=1.0)
    s = quiet("hinge", K, y, solver=solver, max_iter=500, tol=1e-10)
    # Whatever it reached, the bounds hold the optimum, which a long run pins down.
    t = quiet("hinge", K, y, max_iter=20_000, tol=1e-10)
    assert t.dual <= s.primal * (1 + 1e-12)
    assert s.dual <= t.primal * (1 + 1e-12)
