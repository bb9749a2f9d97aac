"""Estimators that are copied, saved, put into pipelines, or fitted several at once."""

import copy
import pickle
import threading

import joblib
import numpy as np
import pytest
from machines import EVERY, data
from samples import assert_same_predictions
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from resolvent import KernelClassifier
from resolvent.svm import SVC


@EVERY
def test_pickle_copy_clone_joblib(model, tmp_path):
    X, y = data()
    model = clone(model).fit(X, y)
    expected = model.predict(X)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ):
        assert_same_predictions(other.predict(X), expected)
    fresh = clone(model)
    assert repr(fresh) == repr(model)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert_same_predictions(fresh.fit(X, y).predict(X), expected, atol=1e-4)  # within the gap


@EVERY
def test_parameters(model):
    X, y = data()
    model = clone(model)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y)
    assert before == {name: repr(value) for name, value in model.get_params().items()}
    model.set_params(tol=1e-3)
    assert model.fit(X, y).tol == 1e-3
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nonsense=1)


def test_pipeline():
    X, y = data()
    X = X * [1e-3, 1e5]
    pipe = make_pipeline(StandardScaler(), KernelClassifier())
    pipe.set_params(kernelclassifier__C=10.0)
    assert pipe.fit(X, y).score(X, y) > 0.85
    assert pipe[-1].C == 10.0


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_grid_search_in_parallel(backend):
    X, y = data(80)
    grid = {"C": [0.1, 10.0], "gamma": [0.5, "scale"]}
    alone = GridSearchCV(KernelClassifier("logistic"), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    with joblib.parallel_config(backend, n_jobs=2):
        both = GridSearchCV(KernelClassifier("logistic"), grid, cv=2, scoring="neg_log_loss")
        both.fit(X, y)
    np.testing.assert_allclose(
        both.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert both.best_params_ == alone.best_params_


def test_threads_give_the_same_as_alone():
    problems = [data(150, seed) for seed in range(6)]
    alone = [SVC(C=10.0).fit(X, y).decision_function(X) for X, y in problems]
    results = [None] * 6
    gate = threading.Barrier(6)

    def fit(i):
        gate.wait()
        X, y = problems[i]
        results[i] = SVC(C=10.0).fit(X, y).decision_function(X)

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)  # each within its gap
