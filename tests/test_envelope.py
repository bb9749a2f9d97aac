"""The Moreau envelope of a loss is a loss: it fits, compiles, and knows what is inside it."""

import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from reference import minimum
from sklearn.base import clone

from resolvent import KernelClassifier, KernelRegressor, check_loss, solve
from resolvent.losses import LOSSES, Absolute, Envelope, Hinge, Huber, Squared, as_loss, envelope

N = 25
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 2))
K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
NOISE = rng.standard_normal(N)


def targets(loss):
    y = X[:, 0] + 0.5 * NOISE
    kind = getattr(LOSSES[loss], "targets", "real")
    makers = {"sign": np.sign, "nonnegative": lambda y: np.round(np.exp(y)), "positive": np.exp}
    return makers.get(kind, np.array)(y)


@pytest.mark.parametrize("name", LOSSES)
def test_it_is_a_valid_loss(name):
    for alpha in (0.2, 30.0):
        check_loss(envelope(name, alpha))


@pytest.mark.parametrize(
    ("name", "solver"),
    [("hinge", "auto"), ("hinge", "fixed_point"), ("pinball", "auto"), ("poisson", "auto")],
)
def test_fit_against_an_interior_point_solver(name, solver):
    y, smooth = targets(name), envelope(name, 0.7)
    best, _ = minimum(smooth, K, y, 2.0)
    solution = solve(smooth, K, y, 2.0, solver=solver, tol=1e-8)
    assert solution.primal == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert solution.gap <= 1e-8 * solution.primal


def test_equal_tuples_of_different_losses_are_told_apart():
    """Hinge() == Squared() in Python, as both are empty tuples: compiled code must not mix them."""
    y = targets("hinge")
    primal = {}
    for inner in (Hinge(), Squared(), Absolute(), Hinge()):
        smooth = envelope(inner, 2.0)
        assert solve(smooth, K, y, 3.0, tol=1e-9).primal == pytest.approx(
            minimum(smooth, K, y, 3.0)[0], rel=1e-7
        )
        primal[type(inner)] = solve(smooth, K, y, 3.0).primal
    assert len(set(primal.values())) == 3


def test_envelope_of_an_envelope():
    twice, once = envelope(envelope("absolute", 4.0), 4.0), envelope("absolute", 2.0)
    for z in np.linspace(-3.0, 3.0, 25).tolist():
        assert twice.value(0.5, z) == pytest.approx(once.value(0.5, z), rel=1e-14, abs=1e-15)
        assert twice.resolvent(0.5, z, 3.0) == pytest.approx(once.resolvent(0.5, z, 3.0), abs=1e-15)


class LogCosh(NamedTuple):
    scale: float = 1.0

    def value(self, y, z):
        r = abs(y - z) / self.scale
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)

    def derivative(self, y, z):
        return math.tanh((z - y) / self.scale) / self.scale


def test_of_a_loss_of_ones_own():
    check_loss(envelope(LogCosh(0.5), 3.0))


def test_an_edited_inner_loss_is_compiled_again():
    def define(factor):
        class Own(NamedTuple):
            def value(self, y, z):
                return factor * abs(y - z)

            def conjugate(self, y, u):
                return u * y if abs(u) <= factor else math.inf

            def resolvent(self, y, v, a):
                return min(max(v - a * y, -factor), factor)

        return Own()

    y = targets("absolute")
    primal = [
        solve(envelope(define(f), 5.0), K, y, tol=1e-9, solver="fixed_point").primal
        for f in (1.0, 2.0)
    ]
    twice = envelope("absolute", 2.5)  # (2 L)_5 = 2 L_{5 / 2}
    assert primal[0] == pytest.approx(minimum(envelope("absolute", 5.0), K, y, 1.0)[0], rel=1e-7)
    assert primal[1] == pytest.approx(minimum(twice, K, y, 2.0)[0], rel=1e-7)


def test_estimators_take_it():
    labels = np.where(targets("hinge") > 0, "yes", "no")
    classifier = KernelClassifier(envelope("hinge", 2.0)).fit(X, labels)
    same = KernelClassifier("smoothed_hinge").set_params(loss=LOSSES["smoothed_hinge"](0.5))
    np.testing.assert_allclose(
        classifier.decision_function(X), same.fit(X, labels).decision_function(X), atol=1e-3
    )
    assert not hasattr(classifier, "predict_proba")
    with pytest.raises(ValueError, match="not a loss for classification"):
        KernelClassifier(envelope("absolute", 2.0)).fit(X, labels)
    regressor = clone(KernelRegressor(envelope("absolute", 2.0))).fit(X, NOISE)
    copy = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_allclose(copy.predict(X), regressor.predict(X), atol=1e-12)


def test_arguments():
    assert envelope(Huber(2), 3) == Envelope(Huber(2.0), 3.0)
    assert repr(as_loss(Envelope(Hinge(), 1))) == "Envelope(loss=Hinge(), alpha=1.0)"
    for alpha in (0, -1.0, math.inf):
        with pytest.raises(ValueError, match=r"alpha=.* must be in \(0, inf\)"):
            envelope("hinge", alpha)
    with pytest.raises(ValueError, match="'hing' is unknown"):
        envelope("hing", 1.0)
    with pytest.raises(TypeError, match="without a default"):
        as_loss(Envelope)
