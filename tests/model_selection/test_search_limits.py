"""Searches that end early, by a limit, an interrupt or a mistake, and their progress."""

import logging

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from resolvent import KernelClassifierCV, Status


def test_time_limit_keeps_the_best_so_far(two_classes, monkeypatch):
    X, y = two_classes
    from resolvent.model_selection.search import Search, StoppedError

    def pause(self):
        if np.isfinite(self.table.gaps[1]).all():
            raise StoppedError

    monkeypatch.setattr(Search, "pause", pause)
    model = KernelClassifierCV(Cs=3, gammas=[0.01, 0.1, 1.0], cv=3, time_limit=60.0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="6 of 9 pairs of gamma and C missing"):
        model.fit(X, y)
    assert model.best_params_["gamma"] == 0.1  # the middle of the grid is searched first
    assert model.best_estimator_.status_ == Status.CONVERGED
    assert np.isnan(model.cv_results_["mean_test_score"][[0, -1]]).all()


def test_max_iter_is_honoured_and_told_of():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 4)), rng.integers(0, 2, 1000)  # noise: tens of iterations
    search = KernelClassifierCV(Cs=[1e3], gammas=[1.0], search_tol=1e-9, max_iter=1, refit=False)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ended the search of"):
        search.fit(X, y)


def test_no_time_at_all_takes_the_middle(two_classes):
    X, y = two_classes
    model = KernelClassifierCV(Cs=[1.0, 2.0, 4.0], gammas=[0.1, 0.2, 0.4], time_limit=1e-9)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.best_params_ == {"C": 2.0, "gamma": 0.2}
    assert np.isnan(model.best_score_)
    assert model.predict(X).shape == (90,)


def test_gap_that_is_not_known_is_not_a_problem_left_out(two_classes):
    """A kernel matrix that is not positive semidefinite gives no bound; all is searched even so."""
    X, y = two_classes
    args = {"Cs": [10.0], "gammas": [2.0], "search_tol": None, "refit": False}
    model = KernelClassifierCV(kernel="sigmoid", cv=3, **args)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert model.cv_results_["max_relative_gap"][0] == np.inf
    assert np.isfinite(model.best_score_)
    assert not any("missing" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_keeps_the_best_so_far(n_jobs, two_classes):
    X, y = two_classes
    calls = []

    def interrupt(estimator, X, y):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return 0.5

    model = KernelClassifierCV(Cs=3, gammas=3, cv=3, scoring=interrupt, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isnan(model.cv_results_["mean_test_score"]).any()
    assert model.best_score_ == 0.5
    assert model.status_ == model.search_status_ == Status.INTERRUPTED
    assert model.best_estimator_.predict(X).shape == (90,)


def test_an_error_in_a_scorer_comes_through(two_classes):
    X, y = two_classes

    def bad(estimator, X, y):
        raise RuntimeError("no score today")

    with pytest.raises(RuntimeError, match="no score today"):
        KernelClassifierCV(Cs=2, gammas=2, scoring=bad).fit(X, y)


def test_progress_is_logged(two_classes, caplog):
    X, y = two_classes
    with caplog.at_level(logging.INFO, logger="resolvent"):
        KernelClassifierCV(Cs=2, gammas=2, cv=3, verbose=1).fit(X, y)
    assert "12 of 12 problems" in caplog.text
    assert "best mean score" in caplog.text


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"rule": "worst"}, "rule='worst' must be"),
        ({"search_tol": 2.0}, "search_tol=2.0 must be a relative gap"),
        ({"n_jobs": 0}, "n_jobs=0 must be a number of threads"),
        ({"gammas": [0.0]}, "gammas=.* must be a whole number of values"),
        ({"gammas": -1}, "gammas=-1 must be at least 1"),
        ({"Cs": "x"}, "Cs='x' must be a whole number of values"),
        ({"loss": "squared"}, "is not a loss for classification"),
    ],
)
def test_bad_parameters(parameter, message, two_classes):
    with pytest.raises(ValueError, match=message):
        KernelClassifierCV(**parameter).fit(*two_classes)


def test_status_is_that_of_the_search(two_classes, monkeypatch):
    """A search that ended early is not CONVERGED, however well its winner was solved."""
    X, y = two_classes
    from resolvent.model_selection.search import Search, StoppedError

    def pause(self):
        if self.table.reached[0].all():
            raise StoppedError

    args = {"Cs": 2, "gammas": [0.1, 1.0], "cv": 3, "n_jobs": 1}
    complete = KernelClassifierCV(**args).fit(X, y)
    assert complete.status_ == complete.search_status_ == Status.CONVERGED
    monkeypatch.setattr(Search, "pause", pause)
    model = KernelClassifierCV(time_limit=60.0, **args)
    with pytest.warns(ConvergenceWarning, match="time_limit=60 s ended the search"):
        model.fit(X, y)
    assert model.status_ == model.search_status_ == Status.TIME_LIMIT
    assert model.best_estimator_.status_ == Status.CONVERGED


def test_interrupt_before_anything_was_compared(two_classes):
    X, y = two_classes

    def interrupt(estimator, X, y):
        raise KeyboardInterrupt

    model = KernelClassifierCV(Cs=3, gammas=3, cv=3, scoring=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
