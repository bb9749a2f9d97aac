"""KernelRidge against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge as Theirs

from resolvent import KernelRegressor, KernelRidge

KERNELS = [
    {},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf"},
    {"kernel": "poly", "degree": 2},
    {"kernel": "polynomial", "degree": 2, "gamma": 0.3},
    {"kernel": "laplacian", "gamma": 0.2},
    {"kernel": "cosine"},
]


def data(n=60, targets=None):
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X[:n, :5], y[:n] / 50
    return X, y if targets is None else np.column_stack([y, y**2, -y])[:, :targets]


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_agrees(options):
    weight = np.random.default_rng(0).uniform(0.2, 2.0, 60)
    for targets in (None, 1, 3):
        X, y = data(targets=targets)
        a = KernelRidge(0.7, **options).fit(X, y, weight)
        b = Theirs(0.7, **options).fit(X, y, weight)
        assert a.dual_coef_.shape == b.dual_coef_.shape
        assert a.predict(X).shape == b.predict(X).shape
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-7)
        np.testing.assert_allclose(a.dual_coef_, b.dual_coef_, atol=1e-6)


def test_one_penalty_for_each_target():
    X, y = data(targets=2)
    a, b = KernelRidge([0.1, 3.0]).fit(X, y), Theirs([0.1, 3.0]).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)
    assert a.dual_gap_.shape == a.n_iter_.shape == (2,)
    for wrong in ([0.1, 1.0, 2.0], -1.0, [1.0, np.inf]):
        with pytest.raises(ValueError, match="alpha"):
            KernelRidge(wrong).fit(X, y)


def test_sparse_precomputed_and_zero_weights():
    X, y = data()
    X[np.abs(X) < 0.5] = 0
    weight = np.arange(60.0) % 3
    a = KernelRidge(0.5, kernel="rbf", gamma=0.1).fit(sparse.csr_matrix(X), y, weight)
    b = Theirs(0.5, kernel="rbf", gamma=0.1).fit(X, y, weight)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-7)
    assert (a.dual_coef_[weight == 0] == 0).all()
    K = X @ X.T
    c = KernelRidge(0.5, kernel="precomputed").fit(K, y, weight)
    d = Theirs(0.5).fit(X, y, weight)
    np.testing.assert_allclose(c.predict(K[:8]), d.predict(X[:8]), atol=1e-7)
    np.testing.assert_allclose(c.dual_coef_ @ K, c.predict(K), atol=1e-9)


def test_offset():
    # scikit-learn issue 21840: an offset that is not penalised, the same as centring.
    X, y = data()
    Z = X - X.mean(axis=0)
    a = KernelRidge(0.5, fit_intercept=True).fit(X, y)
    b = Theirs(0.5).fit(Z, y - y.mean())
    np.testing.assert_allclose(a.predict(X), b.predict(Z) + y.mean(), atol=1e-7)
    assert isinstance(a.intercept_, float)
    assert KernelRidge().fit(X, y).intercept_ == 0.0
    shifted = KernelRidge(0.5, fit_intercept=True).fit(X, y + 1000.0)
    np.testing.assert_allclose(shifted.predict(X) - 1000.0, a.predict(X), atol=1e-6)


def test_is_the_regressor_with_C_one_over_alpha():
    X, y = data()
    a = KernelRidge(0.25, kernel="rbf", gamma=0.1, fit_intercept=True).fit(X, y)
    b = KernelRegressor(gamma=0.1, C=4.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-7)


def test_no_penalty_is_least_squares():
    X, y = data()
    exact = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(KernelRidge(0.0).fit(X, y).predict(X), exact, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_function_of_two_samples_as_scikit_learn_has_it(width):
    X, y = data(30)
    X = X[:, :width]

    def kernel(a, b, scale=1.0):
        return np.exp(-scale * np.abs(a - b).sum())

    for parameters in (None, {"scale": 0.3}):
        a = KernelRidge(kernel=kernel, kernel_params=parameters).fit(X, y)
        b = Theirs(kernel=kernel, kernel_params=parameters).fit(X, y)
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)
    a = KernelRidge(kernel=np.dot).fit(X, y)
    np.testing.assert_allclose(a.predict(X), Theirs().fit(X, y).predict(X), atol=1e-6)
    sets = KernelRidge(kernel=lambda A, B: A @ B.T).fit(X, y)
    np.testing.assert_allclose(sets.predict(X), a.predict(X), atol=1e-6)


def test_takes_their_parameters():
    X, y = data(30)
    ours = KernelRidge(**Theirs(alpha=0.5, kernel="rbf").get_params()).fit(X, y)
    theirs = Theirs(alpha=0.5, kernel="rbf").fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
