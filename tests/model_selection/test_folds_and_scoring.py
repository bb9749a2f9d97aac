"""The rules of folds, groups, weights and scorers."""

import numpy as np
import pytest
from searches import CS, GAMMAS, assert_same_scores, cells
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit

from resolvent import KernelClassifier, KernelClassifierCV, KernelRegressorCV


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
    expected = {tuple(sorted(p.items())): s for p, s in cells(search.cv_results_)}
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
