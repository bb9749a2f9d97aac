"""The problems of one fold, followed along C."""

import numpy as np
import pytest

from resolvent import KernelClassifierCV, Problem, gram
from resolvent.kernels import RBF
from resolvent.losses import Absolute, Hinge
from resolvent.model_selection import search
from resolvent.model_selection.follow import Coarse
from resolvent.problem.certificate import certify

N, TRAIN = 70, np.arange(70) < 50


@pytest.mark.parametrize("C", [0.01, 1e4])
def test_gaps_are_relative_to_the_objective_or_the_loss_held_out(C):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    y = 2.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(N)
    K, loss, weights = RBF(1.0)(X), Absolute(), TRAIN[:, None] * 1.0
    settings = {"fit_intercept": False, "solver": "auto", "max_iter": None}
    walker = Coarse(
        loss, gram(K, "precomputed"), y[:, None], weights, None, 1e-3, lambda: None, settings
    )
    stage = walker.go(C)
    coef, scores = stage.coef[:, 0], stage.fitted[:, 0]
    assert (coef[~TRAIN] == 0.0).all()
    np.testing.assert_allclose(scores, K @ coef, atol=1e-8)
    problem = Problem(loss, K[np.ix_(TRAIN, TRAIN)], y[TRAIN], C)
    certificate = certify(problem, 0, coef[TRAIN], scores[TRAIN])
    held_out = C * 50 * np.abs(y - scores)[~TRAIN].mean()
    of_a_constant = C * np.abs(y[TRAIN]).sum()
    # At a large C hardly any loss is left in training, and no score can tell how much exactly.
    assert (certificate.primal < 0.2 * held_out) == (C > 1.0)
    scale = max(certificate.primal, min(held_out, of_a_constant))
    expected = (certificate.primal - certificate.dual) / scale
    assert stage.gap[0] == pytest.approx(expected, rel=1e-6)
    assert stage.gap[0] <= 1e-3


def test_a_solution_that_is_still_good_at_the_next_C_stays():
    X = np.random.default_rng(0).standard_normal((N, 2))
    y, K = np.sign(X[:, 0]), gram(X, "rbf", gamma=20.0)
    settings = {"fit_intercept": True, "solver": "auto", "max_iter": None}
    weights = TRAIN[:, None] * 1.0
    walker = Coarse(Hinge(), K, y[:, None], weights, None, 1e-2, lambda: None, settings)
    before = walker.go(1e3)
    assert np.abs(before.coef).max() < 1e3  # no coefficient is at its bound
    after = walker.go(1e4)
    np.testing.assert_array_equal(after.coef, before.coef)
    assert after.gap[0] <= 1e-2


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_folds_start_from_the_gamma_beside(n_jobs, monkeypatch):
    X = np.random.default_rng(0).standard_normal((N, 2))
    y = np.sign(X[:, 0] + 0.5 * np.sin(20.0 * X[:, 1]))
    gammas, follow = np.array([0.1, 0.2, 0.4, 0.8, 1.6]), search.follow
    starts, firsts = {}, {}

    def watched(losses, K, targets, weights, Cs, start, *args, **settings):
        g = np.abs(np.exp(-gammas * ((X[0] - X[1]) ** 2).sum()) - K.matrix[0, 1]).argmin()
        fold = g, int(np.argmin(weights[:, 0]))
        for stage in follow(losses, K, targets, weights, Cs, start, *args, **settings):
            starts.setdefault(fold, start)
            firsts.setdefault(fold, stage.coef)
            yield stage

    monkeypatch.setattr(search, "follow", watched)
    KernelClassifierCV(Cs=3, gammas=gammas, cv=3, n_jobs=n_jobs, refit=False).fit(X, y)
    assert len(starts) == 15
    beside = {0: 1, 1: 2, 3: 2, 4: 3}
    for (g, fold), start in starts.items():
        if g == 2:  # where the search begins
            assert start is None
        else:
            np.testing.assert_array_equal(start, firsts[beside[g], fold])
