"""Searches over kernels, or over kernel matrices, in the place of values of gamma."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from resolvent import (
    KernelClassifier,
    KernelClassifierCV,
    KernelQuantileRegressorCV,
    KernelRegressorCV,
)
from resolvent.kernels import RBF, Linear, Matern, pairwise

X, y = load_iris(return_X_y=True)
CV = StratifiedKFold(3, shuffle=True, random_state=0)
CS = [0.1, 1.0, 10.0]
KERNELS = [RBF(0.01), RBF(0.3), Linear(), Matern(1.5, 1.0)]


def test_kernels():
    model = KernelClassifierCV(Cs=CS, gammas=KERNELS, cv=CV, search_tol=None).fit(X, y)
    assert model.best_params_["kernel"] in KERNELS
    assert model.best_estimator_.kernel_ == model.best_params_["kernel"]
    plain = KernelClassifier()
    search = GridSearchCV(plain, {"kernel": KERNELS, "C": CS}, cv=CV).fit(X, y)
    ours = {(repr(p["kernel"]), p["C"]): i for i, p in enumerate(model.cv_results_["params"])}
    for p, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        i = ours[repr(p["kernel"]), p["C"]]
        np.testing.assert_allclose(model.cv_results_["mean_test_score"][i], score)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("search_tol", [None, 0.01])
def test_matrices(weighted, search_tol):
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, 1.0) if weighted else None
    options = {"Cs": CS, "cv": CV, "search_tol": search_tol}
    matrices = [k(X, X) for k in KERNELS]
    a = KernelClassifierCV(kernel="precomputed", gammas=matrices, **options)
    a.fit(matrices[0], y, sample_weight=weight)
    b = KernelClassifierCV(gammas=KERNELS, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], atol=0.02
    )
    chosen = KERNELS[a.best_params_["matrix"]]
    model = KernelClassifier(kernel=chosen, C=a.best_params_["C"]).fit(X, y, weight)
    np.testing.assert_allclose(
        a.decision_function(chosen(X[:9], X)), model.decision_function(X[:9]), atol=1e-3
    )
    assert a.status_.name == "CONVERGED"
    clone(a)


def test_one_expensive_matrix_every_loss():
    K = RBF(0.3)(X, X)
    for loss in ("hinge", "logistic"):
        model = KernelClassifierCV(loss, kernel="precomputed", Cs=CS, cv=CV).fit(K, y)
        assert set(model.best_params_) == {"C"}
        assert model.score(K, y) > 0.9
    regressors = (KernelRegressorCV("huber"), KernelQuantileRegressorCV(0.9))
    for regressor in regressors:
        regressor.set_params(kernel="precomputed", gammas=[K, K + 1.0], Cs=CS, cv=3)
        assert regressor.fit(K, X[:, 0]).best_params_["matrix"] in (0, 1)


def test_function_kernels_of_objects():
    words = ["kitten", "sitting", "kit", "mitten"] * 4 + ["orange", "grape", "pear", "fig"] * 4
    kinds = ["cat"] * 16 + ["fruit"] * 16
    kernels = [pairwise(shared), pairwise(lambda a, b: float(a == b))]
    model = KernelClassifierCV(Cs=[1.0, 10.0], gammas=kernels, cv=3).fit(words, kinds)
    assert model.best_params_["kernel"] is kernels[0]
    assert model.predict(["mitt"])[0] == "cat"


def shared(a, b):
    return float(len(set(a) & set(b)))


def test_series_of_strings():
    """Samples are taken by position, whatever the labels of the series."""
    words = ["kitten", "sitting", "kit", "mitten"] * 3 + ["orange", "grape", "pear", "fig"] * 3
    series = pd.Series(words, index=[f"row {i}" for i in range(24)])
    kinds = pd.Series(["cat"] * 12 + ["fruit"] * 12, index=series.index)
    model = KernelClassifier(kernel=pairwise(shared), C=10.0)
    assert cross_val_score(model, series, kinds, cv=3).mean() > 0.8


@pytest.mark.parametrize(
    ("kernel", "gammas", "message"),
    [
        ("rbf", [np.eye(150)], "kernel='precomputed'"),
        ("precomputed", [RBF(1.0)], "kernel='precomputed'"),
        ("rbf", [RBF(1.0), 0.5], "gammas must be values of gamma, or kernels"),
        ("precomputed", [np.eye(150), np.eye(149)], r"gammas\[1\] has shape \(149, 149\)"),
    ],
)
def test_what_does_not_go_together(kernel, gammas, message):
    data = X if kernel == "rbf" else X @ X.T
    with pytest.raises(ValueError, match=message):
        KernelClassifierCV(kernel=kernel, gammas=gammas).fit(data, y)
