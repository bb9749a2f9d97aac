"""Searches: the scores of a naive loop, whatever is shared, and the rules of folds and weights."""

import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

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
    Status,
)
from resolvent.losses import LOSSES, as_loss
from resolvent.model_selection import closed_form

CS, GAMMAS = [0.3, 3.0], [0.1, 1.0]
SIGNS = [name for name, cls in LOSSES.items() if getattr(cls, "targets", "real") == "sign"]
REALS = [name for name in LOSSES if name not in SIGNS]


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(90, 4, flip_y=0.15, random_state=0)
    return scale(X), y


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (70, 2))
    return X, 2.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(70)


@pytest.fixture
def no_closed_form(monkeypatch):
    monkeypatch.setattr(closed_form, "MOST_SAMPLES", 0)


def naive(plain, X, y, cv, **grid):
    """Scores by scikit-learn's own search: cold fits, a kernel each."""
    search = GridSearchCV(plain, grid, cv=cv, refit=False).fit(X, y)
    return {tuple(sorted(p.items())): s for p, s in _cells(search.cv_results_)}


def _cells(results):
    return zip(results["params"], results["mean_test_score"], strict=True)


def assert_same_scores(model, expected, **tolerance):
    found = {tuple(sorted(p.items())): s for p, s in _cells(model.cv_results_)}
    assert found.keys() == expected.keys()
    for cell, score in expected.items():
        np.testing.assert_allclose(found[cell], score, **tolerance)


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
    y = np.maximum(np.round(y), 0) if loss == "poisson" else y
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


# ---- closed form --------------------------------------------------------------------------------


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
    for params, score in _cells(model.cv_results_):
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


# ---- the coarse mode ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive", "huber", "poisson"])
def test_coarse_predictions_are_within_the_bound_of_their_gap(loss, regression, monkeypatch):
    """|f - f*| <= sqrt(2 gap k(x, x)) at any x, without an offset."""
    X, y = regression
    y = np.maximum(np.round(y), 0) if loss == "poisson" else y
    held = {}
    from resolvent.model_selection.search import Search

    enter = Search._enter

    def spy(self, g, i, k, scores, gap, coef=None):
        held.setdefault((self.exact, g, i, k), (scores, gap))
        enter(self, g, i, k, scores, gap, coef)

    monkeypatch.setattr(Search, "_enter", spy)
    args = {"loss": loss, "Cs": CS, "gammas": GAMMAS, "cv": 3, "fit_intercept": False}
    KernelRegressorCV(**args, search_tol=0.05, refit=False).fit(X, y)
    KernelRegressorCV(**args, search_tol=None, tol=1e-10, refit=False).fit(X, y)
    worst = 0.0
    for (exact, g, i, k), (scores, gap) in held.items():
        if exact:
            continue
        train = np.setdiff1d(np.arange(70), np.array_split(np.arange(70), 3)[k])
        none = KernelRegressor(loss, C=CS[i], gamma=GAMMAS[g], fit_intercept=False)
        objective = none.fit(X[train], y[train]).objective_
        constant = CS[i] * sum(as_loss(loss).value(t, 0.0) for t in y[train])
        scale = max(objective * (1 + 2 * gap), constant)  # the loss held out counts up to that
        bound = np.sqrt(2 * gap * scale) + 1e-4
        error = np.abs(scores - held[True, g, i, k][0]).max()
        assert error <= bound
        worst = max(worst, gap)
    assert 1e-4 < worst <= 0.05  # it was coarse, and as exact as asked


def test_near_ties_are_solved_again(two_classes):
    X, y = two_classes
    model = KernelClassifierCV(cv=3, search_tol=0.05, scoring="roc_auc").fit(X, y)
    gaps = model.cv_results_["max_relative_gap"]
    assert gaps[model.best_index_] <= 0.1 * 0.05
    assert gaps.max() > 0.1 * 0.05
    exact = KernelClassifierCV(cv=3, search_tol=None, scoring="roc_auc").fit(X, y)
    assert model.best_score_ == pytest.approx(exact.best_score_, abs=0.01)
    assert (gaps <= 0.05).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_coarse_search_of_every_loss(loss, two_classes, regression):
    X, y = two_classes if loss in SIGNS else regression
    y = np.maximum(np.round(y), 0) if loss == "poisson" else y
    kind = KernelClassifierCV if loss in SIGNS else KernelRegressorCV
    coarse = kind(loss, Cs=3, gammas=GAMMAS, cv=2).fit(X, y)
    exact = kind(loss, Cs=3, gammas=GAMMAS, cv=2, search_tol=None).fit(X, y)
    assert coarse.best_score_ == pytest.approx(exact.best_score_, abs=0.03)
    assert coarse.best_estimator_.status_ == Status.CONVERGED
    assert (coarse.cv_results_["max_relative_gap"] <= 0.01).all()


# ---- folds, groups, weights ---------------------------------------------------------------------


def test_nothing_leaks_from_held_out_samples(two_classes):
    """Held-out labels are planted wrong: scores would be high if they had been learnt from."""
    X, _ = two_classes
    X = np.vstack([X, X])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    y = np.concatenate([y, 1 - y])  # each sample again, with the other label
    cv = PredefinedSplit(np.repeat([0, 1], 90))
    model = KernelClassifierCV(Cs=[1e3], gammas=[30.0], cv=cv).fit(X, y)
    assert model.best_score_ < 0.05


def test_groups_reach_the_splitter(two_classes):
    X, y = two_classes
    groups = np.arange(90) % 7
    model = KernelClassifierCV(Cs=CS, gammas=GAMMAS, cv=GroupKFold(3), search_tol=None)
    model.fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    again = clone(model).set_params(cv=splits).fit(X, y)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y)


def test_weights_are_repetitions_in_training_and_scores(regression):
    X, y = regression
    weight = np.arange(70) % 3
    cv = list(KFold(3).split(X))
    again = np.repeat(np.arange(70), weight)
    cv_again = [tuple(np.flatnonzero(np.isin(again, part)) for part in split) for split in cv]
    args = {"loss": "huber", "Cs": CS, "gammas": 2, "search_tol": None, "tol": 1e-10}
    weighted = KernelRegressorCV(**args, cv=cv).fit(X, y, sample_weight=weight)
    repeated = KernelRegressorCV(**args, cv=cv_again).fit(X[again], y[again])
    for name in ("mean_test_score", "param_gamma"):
        np.testing.assert_allclose(
            weighted.cv_results_[name], repeated.cv_results_[name], rtol=1e-5
        )
    plain = KernelRegressorCV(**args, cv=cv, weighted_scores=False)
    other = plain.fit(X, y, sample_weight=weight).cv_results_["mean_test_score"]
    assert np.abs(other - weighted.cv_results_["mean_test_score"]).max() > 1e-3


def test_a_fold_without_samples_is_refused(regression):
    X, y = regression
    weight = np.ones(70)
    weight[:24] = 0.0
    with pytest.raises(ValueError, match="fold 0 has no sample of positive weight to be scored on"):
        KernelRegressorCV(cv=3).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1", "balanced_accuracy"])
def test_any_scoring(scoring, two_classes):
    X, y = two_classes
    args = {"loss": "logistic", "tol": 1e-9}
    model = KernelClassifierCV(
        **args, Cs=CS, gammas=GAMMAS, cv=3, scoring=scoring, search_tol=None
    ).fit(X, y)
    search = GridSearchCV(
        KernelClassifier(**args), {"C": CS, "gamma": GAMMAS}, cv=3, scoring=scoring
    ).fit(X, y)
    expected = {tuple(sorted(p.items())): s for p, s in _cells(search.cv_results_)}
    assert_same_scores(model, expected, rtol=1e-5)
    assert model.score(X, y) == pytest.approx(search.score(X, y), rel=1e-5)


def test_scoring_without_weights_and_with_several_numbers(two_classes):
    X, y = two_classes
    seen = []

    def count(estimator, X, y):
        seen.append((estimator.predict(X).shape, X.shape, estimator.classes_.tolist()))
        return 1.0

    KernelClassifierCV(Cs=1, gammas=1, cv=3, scoring=count).fit(X, y, sample_weight=np.ones(90))
    assert seen[0] == ((30,), (30, 4), [0, 1])
    with pytest.raises(ValueError, match="scoring must give one number"):
        KernelClassifierCV(Cs=1, gammas=1, scoring=lambda *_: {"a": 1.0}).fit(X, y)


# ---- the choice and what is left ----------------------------------------------------------------


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


# ---- quantiles ----------------------------------------------------------------------------------


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


# ---- limits, interrupts, progress ---------------------------------------------------------------


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
