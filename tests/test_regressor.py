"""KernelRegressor: any loss, several targets, weights, links."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import PoissonRegressor

from resolvent import KernelRegressor, solve
from resolvent.kernels import RBF
from resolvent.losses import LOSSES, EpsilonInsensitive, Huber
from resolvent.losses.units import has_link

TARGET_LOSSES = [n for n, loss in LOSSES.items() if getattr(loss, "targets", "real") != "sign"]


def data(n=50, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = 3 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + 0.2 * rng.standard_normal(n)
    return X, y if targets is None else np.column_stack([y**k for k in range(1, targets + 1)])


def test_squared_is_kernel_ridge():
    X, y = data()
    a = KernelRegressor(gamma=0.5, C=4.0, fit_intercept=False, tol=1e-12).fit(X, y)
    b = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)


def test_epsilon_insensitive_is_support_vector_regression():
    X, y = data()
    a = KernelRegressor(EpsilonInsensitive(0.05), gamma=0.5, C=2.0, normalize_y=False, tol=1e-9)
    a.fit(X, y)
    b = sklearn.svm.SVR(epsilon=0.05, gamma=0.5, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-4)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-4)


@pytest.mark.parametrize("loss", TARGET_LOSSES)
def test_is_the_solver_with_an_offset(loss):
    X, y = data()
    y = np.floor(y) if loss == "poisson" else y
    model = KernelRegressor(loss, gamma=0.5, C=2.0, normalize_y=False, tol=1e-9).fit(X, y)
    s = solve(loss, RBF(0.5)(X), y, 2.0, fit_intercept=True, tol=1e-9)
    assert model.objective_ == pytest.approx(s.primal, rel=1e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * model.objective_
    scores = np.exp(s.fitted) if has_link(LOSSES[loss]()) else s.fitted
    np.testing.assert_allclose(model.predict(X), scores, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_several_targets_are_each_alone(loss):
    X, Y = data(targets=3)
    Y = np.floor(Y)
    together = KernelRegressor(loss, gamma=0.5, tol=1e-9).fit(X, Y)
    assert together.predict(X).shape == Y.shape
    assert together.dual_gap_.shape == together.n_iter_.shape == (3,)
    for k in range(3):
        alone = KernelRegressor(loss, gamma=0.5, tol=1e-9).fit(X, Y[:, k])
        assert together.objective_[k] == pytest.approx(alone.objective_, rel=1e-8)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-3)


def test_one_column_stays_a_column():
    X, Y = data(targets=1)
    assert KernelRegressor("absolute").fit(X, Y).predict(X).shape == (50, 1)


def test_poisson_predicts_means():
    X, y = data(80)
    y = np.random.default_rng(0).poisson(y)
    a = KernelRegressor("poisson", "linear", C=2.0, tol=1e-10).fit(X, y)
    b = PoissonRegressor(alpha=1 / (2.0 * 80), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-5)
    assert a.predict(X).mean() == pytest.approx(y.mean())  # what the offset is for
    with pytest.raises(ValueError, match=">= 0"):
        a.fit(X, y - 10)


def test_robust_losses_ignore_an_outlier():
    X, y = data(60)
    bad = y.copy()
    bad[7] += 1e6
    for loss in ("absolute", Huber(0.1), "pinball"):
        model = KernelRegressor(loss, gamma=0.5)
        clean, spoilt = model.fit(X, y).predict(X), model.fit(X, bad).predict(X)
        assert np.abs(clean - spoilt).max() < 1.0
    model = KernelRegressor("squared", gamma=0.5)
    assert np.abs(model.fit(X, y).predict(X) - model.fit(X, bad).predict(X)).max() > 1e4


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "poisson", "expectile"])
def test_weights_are_repetitions(loss):
    X, Y = data(targets=2)
    Y = np.floor(Y)
    weight = np.arange(50) % 3
    model = KernelRegressor(loss, gamma="scale", tol=1e-11)
    a = model.fit(X, Y, weight).predict(X)
    b = model.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)).predict(X)
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_refused():
    X, y = data()
    with pytest.raises(ValueError, match="classification"):
        KernelRegressor("hinge").fit(X, y)
    with pytest.raises(ValueError, match="unknown"):
        KernelRegressor("squard").fit(X, y)
    with pytest.raises(ValueError, match="unknown"):
        KernelRegressor(solver="newton-cg").fit(X, y)
    for name in ("tol", "time_limit", "max_iter"):
        with pytest.raises(ValueError, match=name):
            KernelRegressor(**{name: -1}).fit(X, y)
    with pytest.raises(ValueError, match="memory"):
        KernelRegressor(memory_limit="lots").fit(X, y)


def test_constant_target_and_one_sample():
    X, _ = data()
    for loss in TARGET_LOSSES:
        model = KernelRegressor(loss).fit(X, np.full(50, 3.0))
        np.testing.assert_allclose(model.predict(X), 3.0, atol=0.11)  # epsilon is 0.1
        one = KernelRegressor(loss).fit(X[:1], [2.0])
        np.testing.assert_allclose(one.predict(X[:1]), 2.0, atol=0.11)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern", "poly", "cosine", "linear"])
def test_sparse_is_dense(kernel):
    X, y = data()
    X[np.abs(X) < 0.7] = 0
    S = sparse.csr_matrix(X)
    a = KernelRegressor("absolute", kernel, gamma=0.3, coef0=1.0, tol=1e-9).fit(X, y).predict(X)
    b = KernelRegressor("absolute", kernel, gamma=0.3, coef0=1.0, tol=1e-9).fit(S, y).predict(S)
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_solvers_and_memory_give_the_same():
    X, y = data()
    reference = KernelRegressor("huber", gamma=0.5, tol=1e-10).fit(X, y).predict(X)
    for options in ({"solver": "fixed_point"}, {"memory_limit": 6400}, {"random_state": 5}):
        model = KernelRegressor("huber", gamma=0.5, tol=1e-10, **options).fit(X, y)
        np.testing.assert_allclose(model.predict(X), reference, atol=1e-6)
