"""A fit with a loss that is not one ends within bounded work, and says what is wrong."""

import math
import types
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelClassifier, KernelRegressor, Status, gram, solve
from resolvent.losses import check, envelope
from resolvent.solvers.certified import LOOKS
from resolvent.solvers.evidence import STALLED, Progress

X = np.random.default_rng(0).standard_normal((30, 2))
K = gram(X, kernel="linear")
Y = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(30)


CALLS = []


class Counted(NamedTuple):
    """The squared loss, halved, that counts how often it is asked in Python."""

    def value(self, y, z):
        CALLS.append(z)
        return 0.5 * (y - z) ** 2

    def conjugate(self, y, u):
        return u * y + 0.5 * u * u

    def resolvent(self, y, v, a):
        return (v - a * y) / (1.0 + a)


def loss_of(value, derivative, **others):
    body = {"value": value, "derivative": derivative, "__module__": __name__} | others
    return types.new_class("Wrong", (NamedTuple,), exec_body=lambda space: space.update(body))()


def square(self, y, z):
    return 0.5 * (y - z) ** 2


def logistic(self, y, z):
    return math.log1p(math.exp(-abs(y * z))) + max(-y * z, 0.0)


WRONG = {
    "wave": (
        lambda self, y, z: math.cos(z - y) + 1.0,
        lambda self, y, z: -math.sin(z - y),
        "value is not convex",
    ),
    "saturating": (
        lambda self, y, z: (y - z) ** 2 / (1.0 + (y - z) ** 2),
        lambda self, y, z: 2.0 * (z - y) / (1.0 + (y - z) ** 2) ** 2,
        "value is not convex",
    ),
    "concave": (
        lambda self, y, z: -0.5 * (y - z) ** 2,
        lambda self, y, z: y - z,
        "value is not convex",
    ),
    "jump": (
        lambda self, y, z: 0.5 * (y - z) ** 2 + (50.0 if z > y else 0.0),
        lambda self, y, z: z - y,
        "value is not convex",
    ),
    "nan": (
        lambda self, y, z: 0.5 * (y - z) ** 2 if z > y - 1.0 else math.nan,
        lambda self, y, z: z - y,
        r"value is not finite: value\(.*\) = nan",
    ),
    "wrong sign": (square, lambda self, y, z: y - z, "derivative has the wrong sign"),
    "factor": (square, lambda self, y, z: 2.0 * (z - y), "but 2 times as large"),
    "half": (square, lambda self, y, z: 0.5 * (z - y), "but 0.5 times as large"),
    "shifted": (square, lambda self, y, z: z - y + 1.0, "derivative is not that of value"),
    "constant": (square, lambda self, y, z: 1.0, "derivative "),
    "falling": (square, lambda self, y, z: -math.tanh(z - y), "derivative "),
    "in y": (square, lambda self, y, z: y, "derivative "),
    "derivative nan": (
        square,
        lambda self, y, z: z - y if z > y else math.nan,
        r"derivative is not finite: derivative\(.*\) = nan",
    ),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_is_refused_with_the_cause_before_anything_is_compiled(name, fit_intercept):
    value, derivative, cause = WRONG[name]
    with pytest.raises(ValueError, match=cause) as caught:
        solve(loss_of(value, derivative), K, Y, fit_intercept=fit_intercept)
    assert str(caught.value).startswith("Wrong() is not a valid loss: ")
    assert str(caught.value).endswith(". Run check_loss(loss).")


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_whatever_the_units(scale):
    with pytest.raises(ValueError, match="wrong sign"):
        solve(loss_of(square, WRONG["wrong sign"][1]), K, scale * Y)
    with pytest.raises(ValueError, match="times as large"):
        solve(loss_of(square, WRONG["factor"][1]), K, scale * (Y + 5.0))


def test_of_labels_and_in_estimators():
    wrong = loss_of(logistic, lambda self, y, z: y / (1.0 + math.exp(y * z)), targets="sign")
    for fit_intercept in (False, True):
        with pytest.raises(ValueError, match="derivative has the wrong sign"):
            KernelClassifier(wrong, fit_intercept=fit_intercept).fit(X, Y > 0)
    with pytest.raises(ValueError, match="value is not convex"):
        KernelRegressor(loss_of(*WRONG["wave"][:2])).fit(X, Y)


@pytest.mark.parametrize("which", ["conjugate", "resolvent"])
def test_conjugate_and_resolvent(which):
    methods = {name: vars(Counted)[name] for name in ("conjugate", "resolvent")}
    methods[which] = {
        "conjugate": lambda self, y, u: u * y,
        "resolvent": lambda self, y, v, a: 0.3,
    }[which]
    with pytest.raises(ValueError, match="conjugate"):
        solve(loss_of(square, WRONG["jump"][1], **methods), K, Y)


def test_costs_little_and_is_done_once():
    check.check_before_fit(Counted(), Y)
    first = len(CALLS)
    assert 0 < first < 3000
    check.check_before_fit(Counted(), Y)
    assert len(CALLS) == first
    check.check_before_fit(envelope(Counted(), 1.0), Y)  # another loss, of which it is a part
    assert len(CALLS) > first


def test_what_overflows_far_away_is_not_refused():
    class Exponential(NamedTuple):
        """In Python exp raises, compiled it is infinite."""

        def value(self, y, z):
            return math.exp(z - y) - (z - y)

        def derivative(self, y, z):
            return math.exp(z - y) - 1.0

    check.check_before_fit(Exponential(), 1e4 * Y)


def test_no_fit_goes_on_for_ever(monkeypatch):
    """Were it not refused: its bound is never finite, and it ends by itself."""
    monkeypatch.setattr("resolvent.problem.problem.check_before_fit", lambda loss, y: None)

    class Bottomless(NamedTuple):
        def value(self, y, z):
            return 0.5 * (y - z) ** 2

        def conjugate(self, y, u):
            return math.inf

        def resolvent(self, y, v, a):
            return v / (1.0 + a) + math.sin(1e4 * v)

    with pytest.warns(ConvergenceWarning, match=r"is the loss convex\? Run check_loss\(loss\)"):
        solution = solve(Bottomless(), K, Y, 1e3, solver="coordinate_descent", max_iter=10**7)
    assert solution.status == Status.NO_PROGRESS
    assert solution.gap == np.inf


class Seen(NamedTuple):
    primal: float
    floor: float = 1e-12


def stalls(primals, duals, works):
    """Whether progress is missed in a course of bounds; a sweep is a unit of work."""
    progress = Progress()
    for primal, dual, work in zip(primals, duals, works, strict=True):
        progress.note(types.SimpleNamespace(known=Seen(primal), dual=dual), work)
        if progress.is_overdue(work, 1.0) and progress.looks >= LOOKS:
            return True
    return False


def test_slow_progress_is_progress():
    works = np.arange(1.0, 100 * STALLED, STALLED / 10)
    same = np.ones_like(works)
    assert stalls(same, -np.inf * same, works)
    assert stalls(same, 0.0 * same, works)
    assert not stalls(1.0 + 1.0 / works, 0.0 * same, works)
    assert not stalls(same, 1e-6 * np.log(works), works)
    # A plateau that is shorter than all the work before it.
    flat = np.where((works > 20 * STALLED) & (works < 39 * STALLED), 20 * STALLED, works)
    assert not stalls(same, -1.0 / flat, works)
