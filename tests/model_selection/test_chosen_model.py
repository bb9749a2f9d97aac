"""What a search chooses and leaves behind, on any kernel, data and number of threads."""

import numpy as np
import pytest
from searches import CS, GAMMAS
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from resolvent import KernelClassifier, KernelClassifierCV, KernelRegressorCV, LinearRegressorCV


def test_results_are_like_those_of_grid_search(two_classes):
    X, y = two_classes
    model = KernelClassifierCV(Cs=3, gammas=2, cv=3).fit(X, y)
    results = model.cv_results_
    folds = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], folds.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], folds.std(axis=0))
    assert results["rank_test_score"][model.best_index_] == 1
    assert model.best_params_ == results["params"][model.best_index_]
    assert model.best_score_ == results["mean_test_score"].max()
    assert model.n_splits_ == 3
    best = KernelClassifier(**model.best_params_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=1e-4)
    assert model.best_estimator_.dual_gap_ <= 1e-5 * model.best_estimator_.objective_


def test_ties_go_to_the_smallest_C_and_gamma(two_classes):
    X, y = two_classes
    model = KernelClassifierCV(Cs=CS, gammas=GAMMAS, scoring=lambda *_: 0.5).fit(X, y)
    assert model.best_params_ == {"C": CS[0], "gamma": GAMMAS[0]}


def test_one_standard_error(two_classes):
    X, y = two_classes
    best = KernelClassifierCV(gammas=5, cv=5).fit(X, y)
    simple = KernelClassifierCV(gammas=5, cv=5, rule="one_standard_error").fit(X, y)
    folds = [best.cv_results_[f"split{k}_test_score"][best.best_index_] for k in range(5)]
    bar = best.best_score_ - np.std(folds, ddof=1) / np.sqrt(5)
    assert bar <= simple.best_score_ <= best.best_score_
    within = best.cv_results_["mean_test_score"] >= bar
    assert simple.best_params_["C"] == best.cv_results_["param_C"][within].min()


def test_without_refit(two_classes):
    X, y = two_classes
    model = KernelClassifierCV(Cs=2, gammas=2, refit=False).fit(X, y)
    assert set(model.best_params_) == {"C", "gamma"}
    with pytest.raises(AttributeError, match="refit=False"):
        model.predict(X)


def test_kernels_without_gamma(two_classes):
    X, y = two_classes
    given = KernelClassifierCV(kernel="precomputed", Cs=CS, cv=3, search_tol=None).fit(X @ X.T, y)
    named = KernelClassifierCV(kernel="linear", Cs=CS, cv=3, search_tol=None).fit(X, y)
    own = KernelClassifierCV(kernel=lambda A, B: A @ B.T, Cs=CS, cv=3, search_tol=None).fit(X, y)
    for model in (given, named, own):
        assert list(model.best_params_) == ["C"]
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
        )


def test_shared_distances_make_no_difference(two_classes):
    X, y = two_classes
    args = {"loss": "logistic", "Cs": CS, "gammas": 3, "scoring": "neg_log_loss"}
    shared = KernelClassifierCV(**args, search_tol=None).fit(X, y)
    alone = KernelClassifierCV(**args, search_tol=None, memory_limit="60kB").fit(X, y)
    np.testing.assert_allclose(
        shared.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-4
    )


@pytest.mark.parametrize("n_jobs", [1, 3, -1])
def test_threads_make_no_difference(n_jobs, two_classes):
    X, y = two_classes
    one = KernelClassifierCV(Cs=3, gammas=3, cv=3, n_jobs=1).fit(X, y)
    other = KernelClassifierCV(Cs=3, gammas=3, cv=3, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )


def test_in_a_pipeline_and_a_search(two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), KernelClassifierCV(Cs=2, gammas=2, cv=2))
    assert cross_val_score(model, 5 * X, y, cv=2).mean() > 0.6


def test_multioutput_and_sparse_and_diabetes():
    from scipy.sparse import csr_array

    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80] * 20, np.column_stack([scale(y[:80]), X[:80, 2] * 10])
    dense = KernelRegressorCV("absolute", Cs=CS, gammas=2, cv=3).fit(X, y)
    thin = KernelRegressorCV("absolute", Cs=CS, gammas=2, cv=3).fit(csr_array(X), y)
    assert dense.predict(X).shape == (80, 2)
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], thin.cv_results_["mean_test_score"], atol=0.02
    )
    linear = LinearRegressorCV(Cs=CS, cv=3).fit(X, y)
    assert linear.coef_.shape == (2, 10)
    assert linear.intercept_.shape == (2,)
