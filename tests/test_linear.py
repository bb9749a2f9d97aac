"""LinearClassifier and LinearRegressor: weights, never a kernel matrix."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.preprocessing import scale

from resolvent import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    Status,
    gram,
    solve,
)
from resolvent.losses import LOSSES


def cancer(n=200):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n, :10], y[:n]


def diabetes(n=101):
    X, y = load_diabetes(return_X_y=True)
    return 20 * X[:n], y[:n] / 50


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "CSR"])
def test_logistic_is_logistic_regression(fit_intercept, as_sparse):
    X, y = cancer()
    X = sparse.csr_matrix(X) if as_sparse else X
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    for options in ({}, {"class_weight": {0: 2.0}, "C": 0.1}):
        a = LinearClassifier("logistic", tol=1e-10, fit_intercept=fit_intercept, **options)
        b = LogisticRegression(tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept, **options)
        a.fit(X, y, weight)
        b.fit(X, y, weight)
        assert a.coef_.shape == b.coef_.shape
        assert a.intercept_.shape == b.intercept_.shape
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-5)


def test_hinge_is_the_linear_support_vector_machine():
    X, y = cancer()
    a = LinearClassifier(tol=1e-9).fit(X, y)
    b = sklearn.svm.SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-4)


def test_squared_is_ridge():
    X, y = diabetes()
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    Y = np.column_stack([y, -2 * y])
    for target in (y, Y):
        a = LinearRegressor(C=4.0, tol=1e-12).fit(X, target, weight)
        b = Ridge(alpha=0.25).fit(X, target, weight)
        assert a.coef_.shape == b.coef_.shape
        assert np.shape(a.intercept_) == np.shape(b.intercept_)
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)


def test_absolute_is_the_median_regression_without_a_penalty():
    # With C large the penalty is |w|^2 / 2C; QuantileRegressor's is l1, so alpha=0 there.
    X, y = diabetes()
    X = X[:, 2:5]
    a = LinearRegressor("absolute", C=1e4, tol=1e-9).fit(X, y)
    b = QuantileRegressor(quantile=0.5, alpha=0.0).fit(X, y)
    mine, best = (mean_absolute_error(y, m.predict(X)) for m in (a, b))
    assert best - 1e-9 <= mine <= best + (b.coef_ @ b.coef_) / (2 * 1e4 * len(y)) + 1e-7
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-3)


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("loss", LOSSES)
def test_is_the_linear_kernel(loss, as_sparse):
    if getattr(LOSSES[loss], "targets", "real") == "sign":
        X, y = cancer(60)
        linear, kernel = LinearClassifier, KernelClassifier
    else:
        X, y = diabetes(60)
        y = np.floor(y) + (loss == "gamma")  # of amounts above zero
        linear, kernel = LinearRegressor, KernelRegressor
    X = X[:, :4]
    S = sparse.csr_matrix(X) if as_sparse else X
    a = linear(loss, C=0.5, tol=1e-9).fit(S, y)
    b = kernel(loss, "precomputed", C=0.5, tol=1e-9).fit(X @ X.T, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-7)
    np.testing.assert_allclose(a.predict(S), b.predict(X @ X.T), atol=1e-3)
    assert a.coef_.shape[-1] == 4
    assert isinstance(a.coef_, np.ndarray)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = LinearClassifier("logistic", class_weight="balanced").fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == model.dual_gap_.shape == model.n_iter_.shape == (3,)
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-12
    )
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    assert not hasattr(LinearClassifier().fit(X, y), "predict_proba")


def test_weights_are_repetitions():
    X, y = cancer(60)
    weight = np.arange(60) % 3
    for loss in ("hinge", "logistic"):
        model = LinearClassifier(loss, class_weight="balanced", tol=1e-11)
        a = model.fit(X, y, weight).decision_function(X)
        b = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).decision_function(X)
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_never_forms_the_kernel_matrix():
    rng = np.random.default_rng(0)
    X = sparse.random(6000, 2000, 0.002, format="csr", random_state=0)
    y = (X @ rng.standard_normal(2000) > 0).astype(int)
    LinearClassifier("squared_hinge", C=0.01).fit(X[:50], y[:50])  # compiled
    tracemalloc.start()
    model = LinearClassifier("squared_hinge", C=0.01).fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 2000 * 8 / 4  # neither K (288 MB) nor a dense X (96 MB)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_certificates_come_when_they_may_be_the_last(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 400))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(300))
    s = solve(loss, gram(X, kernel="linear"), y, solver="coordinate_descent", tol=1e-6)
    assert s.status == Status.CONVERGED
    seen = [record.iteration for record in s.history]
    early = [record.iteration for record in s.history if record.gap > 1e-4 * record.primal]
    assert all(new >= 2 * old for old, new in pairwise(early))  # not one for each of these sweeps
    assert all(new <= 2 * old + 2 for old, new in pairwise(seen))


def test_scores_of_nothing():
    K = gram(sparse.csr_array(np.eye(3)), kernel="linear")
    first, second = K.scores(np.zeros((2, 3))), K.scores(np.zeros((2, 3)))
    first += 1.0  # its own memory
    assert (second == 0.0).all()
