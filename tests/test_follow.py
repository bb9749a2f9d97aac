"""The problems of one fold, followed along C."""

import numpy as np
import pytest

from resolvent import Problem, gram
from resolvent.kernels import RBF
from resolvent.losses import Absolute
from resolvent.model_selection.follow import Coarse

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
    certificate = problem.certify(0, coef[TRAIN], scores[TRAIN])
    held_out = C * 50 * np.abs(y - scores)[~TRAIN].mean()
    of_a_constant = C * np.abs(y[TRAIN]).sum()
    # At a large C hardly any loss is left in training, and no score can tell how much exactly.
    assert (certificate.primal < 0.2 * held_out) == (C > 1.0)
    scale = max(certificate.primal, min(held_out, of_a_constant))
    expected = (certificate.primal - certificate.dual) / scale
    assert stage.gap[0] == pytest.approx(expected, rel=1e-6)
    assert stage.gap[0] <= 1e-3
