"""The scores of a search are those of a naive loop, whatever is shared."""

import numpy as np
import pytest
from searches import CS, GAMMAS, REALS, SIGNS, allowed, assert_same_scores, cells, naive
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from resolvent import (
    KernelClassifier,
    KernelClassifierCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    KernelRegressor,
    KernelRegressorCV,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
)
from resolvent.losses import as_loss
from resolvent.model_selection import closed_form


@pytest.fixture
def no_closed_form(monkeypatch):
    monkeypatch.setattr(closed_form, "MOST_SAMPLES", 0)


@pytest.mark.parametrize("loss", SIGNS)
def test_scores_of_classifiers_are_those_of_cold_fits(loss, two_classes):
    X, y = two_classes
    args = {"loss": loss, "tol": 1e-8}
    model = KernelClassifierCV(**args, Cs=CS, gammas=GAMMAS, cv=3, search_tol=None).fit(X, y)
    assert_same_scores(model, naive(KernelClassifier(**args), X, y, 3, C=CS, gamma=GAMMAS))


@pytest.mark.usefixtures("no_closed_form")
@pytest.mark.parametrize("loss", REALS)
def test_scores_of_regressors_are_those_of_cold_fits(loss, regression):
    X, y = regression
    args = {"loss": loss, "tol": 1e-9}
    y = allowed(loss, y)
    model = KernelRegressorCV(**args, Cs=CS, gammas=GAMMAS, cv=3, search_tol=None).fit(X, y)
    expected = naive(KernelRegressor(**args), X, y, 3, C=CS, gamma=GAMMAS)
    assert_same_scores(model, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "plain", "data"),
    [
        (LinearClassifierCV("logistic"), LinearClassifier("logistic"), "two_classes"),
        (LinearRegressorCV("absolute"), LinearRegressor("absolute"), "regression"),
        (LinearRegressorCV(), LinearRegressor(), "regression"),
        (KernelClassifierCV(kernel="linear"), KernelClassifier(kernel="linear"), "two_classes"),
    ],
    ids=["logistic", "absolute", "squared", "kernel"],
)
def test_linear_scores_are_those_of_cold_fits(model, plain, data, request):
    X, y = request.getfixturevalue(data)
    model = clone(model).set_params(Cs=CS, cv=3, search_tol=None, tol=1e-9).fit(X, y)
    expected = naive(clone(plain).set_params(tol=1e-9), X, y, 3, C=CS)
    assert_same_scores(model, expected, atol=1e-4)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_with_balanced_weights(multi_class):
    X, y = load_iris(return_X_y=True)
    X, y = X[:130], y[:130]
    args = {"multi_class": multi_class, "class_weight": "balanced", "tol": 1e-8}
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    model = KernelClassifierCV(**args, Cs=CS, gammas=GAMMAS, cv=cv, search_tol=None).fit(X, y)
    assert_same_scores(model, naive(KernelClassifier(**args), X, y, cv, C=CS, gamma=GAMMAS))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_class_that_a_fold_does_not_learn_is_never_predicted_there(multi_class):
    X, y = load_iris(return_X_y=True)
    args = {"loss": "logistic", "multi_class": multi_class, "tol": 1e-8}
    cv = PredefinedSplit(np.repeat([0, 1, 2], [50, 60, 40]))  # fold 0 holds all of class 0 out
    model = KernelClassifierCV(**args, Cs=CS, gammas=[0.5], cv=cv, search_tol=None).fit(X, y)
    assert_same_scores(model, naive(KernelClassifier(**args), X, y, cv, C=CS, gamma=[0.5]))
    assert model.cv_results_["split0_test_score"].max() == 0.0


@pytest.mark.parametrize("loss", ["multinomial", "crammer_singer"])
def test_losses_that_couple_classes(loss):
    X, y = load_iris(return_X_y=True)
    args = {"loss": loss, "tol": 1e-7}
    cv = PredefinedSplit(np.tile([0, 1, 2], 50))
    model = KernelClassifierCV(**args, Cs=CS, gammas=[0.5], cv=cv, search_tol=None).fit(X, y)
    assert_same_scores(model, naive(KernelClassifier(**args), X, y, cv, C=CS, gamma=[0.5]))
    cv = PredefinedSplit(np.repeat([0, 1, 2], [50, 60, 40]))  # fold 0 holds all of class 0 out
    model = KernelClassifierCV(loss, Cs=CS, gammas=[0.5], cv=cv).fit(X, y)
    assert model.cv_results_["split0_test_score"].max() == 0.0


def test_a_loss_that_couples_samples(regression):
    X, y = regression
    args = {"loss": "root_squared", "tol": 1e-8}
    model = KernelRegressorCV(**args, Cs=CS, gammas=[0.5], cv=3, search_tol=None).fit(X, y)
    expected = naive(KernelRegressor(**args), X, y, 3, C=CS, gamma=[0.5])
    assert_same_scores(model, expected, atol=1e-3)


def test_a_fold_of_one_class_is_refused(two_classes):
    X, y = two_classes
    cv = [(np.flatnonzero(y == 1), np.flatnonzero(y == 0))]
    with pytest.raises(ValueError, match="Fold 0 of cv learns from samples of one class only"):
        KernelClassifierCV(cv=cv).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "cv",
    [LeaveOneOut(), KFold(4), ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)],
    ids=["loo", "kfold", "shuffle", "series"],
)
def test_closed_form_is_the_naive_loop(cv, fit_intercept, regression):
    X, y = regression[0][:40], regression[1][:40]
    weight = 1.0 + np.arange(40) % 3
    args = {"fit_intercept": fit_intercept, "tol": 1e-12}
    model = KernelRegressorCV(
        Cs=CS, gammas=GAMMAS, cv=cv, scoring=make_scorer(mean_absolute_error), **args
    ).fit(X, y, sample_weight=weight)
    for params, score in cells(model.cv_results_):
        errors = []
        for train, test in cv.split(X):
            plain = KernelRegressor(**params, **args).fit(X[train], y[train], weight[train])
            errors.append(
                np.average(np.abs(y[test] - plain.predict(X[test])), weights=weight[test])
            )
        assert score == pytest.approx(np.mean(errors), rel=1e-6)


def test_r2_of_single_samples_is_refused(regression):
    X, y = regression
    with (
        pytest.warns(UserWarning, match="R\\^2 score is not well-defined"),
        pytest.raises(ValueError, match="choose another, such as 'neg_mean_squared_error'"),
    ):
        KernelRegressorCV(Cs=1, gammas=1, cv=LeaveOneOut()).fit(X[:10], y[:10])


def test_quantiles_are_tuned_by_pinball_loss(regression):
    X, y = regression
    taus = (0.8, 0.2)
    model = KernelQuantileRegressorCV(taus, Cs=CS, gammas=GAMMAS, cv=3, search_tol=None).fit(X, y)
    plain = KernelQuantileRegressor(taus)
    assert_same_scores(model, naive(plain, X, y, 3, C=CS, gamma=GAMMAS), atol=1e-4)


def test_coverage_is_that_of_held_out_samples(regression):
    X, y = regression
    taus = (0.8, 0.2)
    model = KernelQuantileRegressorCV(taus, Cs=CS, gammas=GAMMAS, cv=3, search_tol=None).fit(X, y)
    below, inside = np.zeros(2), 0.0
    for train, test in KFold(3).split(X):
        plain = KernelQuantileRegressor(taus, **model.best_params_).fit(X[train], y[train])
        high, low = plain.predict(X[test]).T
        below += [np.sum(y[test] <= high), np.sum(y[test] <= low)]
        inside += np.sum((low <= y[test]) & (y[test] <= high))
    np.testing.assert_allclose(model.coverage_, below / 70, atol=0.03)
    assert model.band_coverage_ == pytest.approx(inside / 70, abs=0.03)
    assert model.cv_results_["coverage_0.8"][model.best_index_] == model.coverage_[0]
    one = KernelQuantileRegressorCV(0.5, Cs=CS, gammas=1, cv=3).fit(X, y)
    assert np.isnan(one.band_coverage_)
    assert one.predict(X).shape == (70,)


def test_closed_form_that_overflows_is_replaced(regression, monkeypatch):
    X, y = regression
    args = {"tol": 1e-9}
    expected = naive(KernelRegressor(**args), X, y, 3, C=CS, gamma=GAMMAS)
    solve = np.linalg.solve
    calls = []

    def overflows(a, b):
        calls.append(a)
        return np.full_like(b, np.inf) if len(calls) % 4 == 0 else solve(a, b)

    monkeypatch.setattr(closed_form.np.linalg, "solve", overflows)
    model = KernelRegressorCV(**args, Cs=CS, gammas=GAMMAS, cv=3, search_tol=1e-6, refit=False)
    assert_same_scores(model.fit(X, y), expected, rtol=1e-3)
    assert len(calls) >= 4


def test_no_closed_form_for_weights_beyond_rounding():
    squared, even = as_loss("squared"), np.full(20, 1e300)
    assert closed_form.has_closed_form(squared, even, 5, None)
    assert not closed_form.has_closed_form(squared, np.append(even, 1.0), 5, None)
