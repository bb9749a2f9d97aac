"""Prediction: from support vectors, in tiles, within bounded memory."""

import tracemalloc

import numpy as np
import pytest
from machines import data

from resolvent import KernelClassifier, KernelRegressor
from resolvent.kernels import RBF


def test_prediction_uses_support_vectors_only():
    X, y = data(200)
    model = KernelClassifier(C=10.0, gamma=1.0, tol=1e-9).fit(X, y)
    assert 0 < len(model.support_) < 150
    seen = []

    def kernel(A, B):
        seen.append(len(B))
        return RBF(1.0)(A, B)

    function = KernelClassifier(C=10.0, kernel=kernel, tol=1e-9).fit(X, y)
    seen.clear()
    scores = function.decision_function(X)
    assert set(seen) == {len(function.support_)}
    naive = RBF(1.0)(X, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), naive[:, 0], atol=1e-10)
    np.testing.assert_allclose(scores, naive[:, 0], atol=1e-4)


def test_prediction_in_tiles():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 3)), rng.integers(0, 3, 1500)
    model = KernelRegressor(gamma=0.3, memory_limit="100MB", tol=1e-3).fit(X, np.eye(3)[y])
    new = rng.standard_normal((1111, 3))  # not a whole number of tiles either way
    naive = RBF(0.3)(new, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(new), naive, atol=1e-10)
    np.testing.assert_allclose(model.predict(new[:1]), naive[:1], atol=1e-10)


def test_memory_of_prediction():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 4)), rng.standard_normal(2000)
    model = KernelRegressor(gamma=0.3, tol=1e-2).fit(X, y)
    assert len(model.support_) > 1500
    new = rng.standard_normal((20_000, 4))
    model.predict(new[:10])
    tracemalloc.start()
    model.predict(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 2000 * 8 / 4  # the kernel matrix would be 320 MB


def test_precomputed_prediction_needs_all_columns():
    X, y = data()
    K = RBF(1.0)(X)
    model = KernelClassifier(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K[:7]),
        KernelClassifier(kernel=RBF(1.0)).fit(X, y).decision_function(X[:7]),
        atol=1e-5,
    )
    with pytest.raises(ValueError, match="features"):
        model.predict(K[:, :-1])


@pytest.mark.parametrize("gamma", [0, 0.0, -1.0])
def test_gamma_of_zero_is_refused(gamma):
    # Not taken for None, which means 1 / n_features in KernelRidge.
    with pytest.raises(ValueError, match="gamma"):
        KernelRegressor(gamma=gamma).fit([[0.0], [1.0]], [0.0, 1.0])
