"""Searches to a coarse gap: as exact as asked, and with the same choice."""

import numpy as np
import pytest
from searches import CS, GAMMAS, SIGNS, allowed
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

from resolvent import KernelClassifierCV, KernelRegressor, KernelRegressorCV, Status
from resolvent.losses import LOSSES, as_loss


@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive", "huber", "poisson"])
def test_coarse_predictions_are_within_the_bound_of_their_gap(loss, regression, monkeypatch):
    """|f - f*| <= sqrt(2 gap k(x, x)) at any x, without an offset."""
    X, y = regression
    y = allowed(loss, y)
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
    y = allowed(loss, y)
    kind = KernelClassifierCV if loss in SIGNS else KernelRegressorCV
    coarse = kind(loss, Cs=3, gammas=GAMMAS, cv=2).fit(X, y)
    exact = kind(loss, Cs=3, gammas=GAMMAS, cv=2, search_tol=None).fit(X, y)
    assert coarse.best_score_ == pytest.approx(exact.best_score_, abs=0.03)
    assert coarse.best_estimator_.status_ == Status.CONVERGED
    assert (coarse.cv_results_["max_relative_gap"] <= 0.01).all()


def test_coarse_scores_have_the_offset_of_exact_ones():
    # At a small C nearly all coefficients are at their bounds, and offsets over a wide range are
    # nearly as good for the objective, but not for the score: some predict one class only.
    X, y = make_classification(400, 6, flip_y=0.2, weights=[0.53], random_state=2)
    gammas = np.geomspace(0.05, 3.0, 6)
    grid = {"Cs": [0.03, 0.1, 0.3], "gammas": gammas, "cv": 3, "refit": False}
    coarse = KernelClassifierCV(**grid).fit(scale(X), y)
    exact = KernelClassifierCV(**grid, search_tol=None).fit(scale(X), y)
    scores = exact.cv_results_["mean_test_score"]
    assert scores.min() < 0.52
    assert scores.max() > 0.8
    np.testing.assert_allclose(coarse.cv_results_["mean_test_score"], scores, atol=0.01)
