"""Kernel matrices that are not positive semidefinite: noticed, reported, repaired."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelRegressor, Status, gram, repair, solve

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = np.sign(X[:, 0] + 0.2 * rng.standard_normal(40))
SIGMOID = np.tanh(X @ X.T - 1.0)
np.fill_diagonal(SIGMOID, np.abs(SIGMOID.diagonal()))


@pytest.mark.parametrize("solver", ["auto", "coordinate_descent", "fixed_point"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_negative_curvature_is_reported(loss, fit_intercept, solver):
    assert np.linalg.eigvalsh(SIGMOID)[0] < -0.1
    told = r"not positive semidefinite.*gap reached: unknown.*repair\(K\)"
    with pytest.warns(ConvergenceWarning, match=told):
        s = solve(loss, SIGMOID, Y, 10.0, fit_intercept=fit_intercept, solver=solver, max_iter=300)
    assert s.status == Status.NOT_PSD
    assert np.isfinite(s.coef).all()
    assert (s.dual, s.gap) == (-np.inf, np.inf)  # no bound holds
    assert s.history[-1].gap == np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_negative_curvature(dtype):
    """Nearly singular matrices in single precision have negative eigenvalues that mean nothing."""
    K = np.exp(-0.001 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for K_or_gram in (K, gram(X.astype(dtype), gamma=0.001)):
            s = solve("hinge", K_or_gram, Y, 1e4, fit_intercept=True, time_limit=5, max_iter=500)
            assert s.status != Status.NOT_PSD


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_repaired(how):
    values = np.linalg.eigvalsh(SIGMOID)
    wanted = {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - values[0]}
    K = repair(SIGMOID, how)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.sort(wanted[how]), atol=1e-12)
    assert solve("hinge", K, Y, 10.0).status == Status.CONVERGED
    # New samples: those of training must have the values that they have in the repaired matrix.
    again, new = repair(SIGMOID, how, new=SIGMOID[:7])
    np.testing.assert_array_equal(again, K)
    if how == "shift":
        np.testing.assert_array_equal(new, SIGMOID[:7])
    else:
        np.testing.assert_allclose(new, K[:7], atol=1e-12)
        model = KernelRegressor(kernel="precomputed").fit(K, Y)
        np.testing.assert_allclose(model.predict(new), model.predict(K)[:7], atol=1e-10)


def test_a_good_matrix_stays():
    K = X @ X.T + np.eye(40)
    for how in ("clip", "flip", "shift"):
        np.testing.assert_allclose(repair(K, how), K, atol=1e-13 * np.abs(K).max())


@pytest.mark.parametrize(
    ("K", "how", "message"),
    [
        (np.eye(2), "mend", "how='mend' is unknown; choose one of clip, flip, shift"),
        (np.ones((2, 3)), "clip", r"shape \(2, 3\) must be a square matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], "clip", "finite"),
        ([[1.0, 2.0], [0.0, 1.0]], "clip", "not symmetric"),
    ],
)
def test_refused(K, how, message):
    with pytest.raises(ValueError, match=message):
        repair(K, how)
