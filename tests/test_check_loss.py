"""check_loss: good losses pass, and what is wrong with a bad one is said in words."""

import math
import statistics
import types
from typing import NamedTuple

import numpy as np
import pytest
from reference_losses import CASES
from test_user_loss import LogCosh, PlainAbsolute, PlainLogistic, PseudoHuber

from resolvent import check_loss
from resolvent.losses import LOSSES, Hinge


@pytest.mark.parametrize("loss", CASES, ids=repr)
def test_own_losses_pass(loss):
    check_loss(loss)


@pytest.mark.parametrize("loss", [LogCosh(), PseudoHuber(2), PlainLogistic(), PlainAbsolute()])
def test_derivative_is_enough(loss):
    check_loss(loss)


def test_names_and_targets():
    check_loss("poisson", targets=[0, 2, np.int64(5)])
    with pytest.raises(ValueError, match="unknown"):
        check_loss("poison")
    with pytest.raises(TypeError, match="not a loss"):
        check_loss(math.cos)


class HalvedSquared(NamedTuple):
    """A good loss, of which each bad one below spoils a part."""

    def value(self, y, z):
        return 0.5 * (y - z) ** 2

    def derivative(self, y, z):
        return z - y

    def conjugate(self, y, u):
        return u * y + 0.5 * u * u

    def resolvent(self, y, v, a):
        return (v - a * y) / (1.0 + a)

    def slope(self, y, v, a):
        return 1.0 / (1.0 + a)


def test_the_good_one_passes():
    check_loss(HalvedSquared())


def spoilt(base=HalvedSquared, **methods):
    """A loss with the methods of another, some of them replaced (None removes one)."""
    names = ("value", "derivative", "conjugate", "resolvent", "slope", "targets")
    body = {name: vars(base)[name] for name in names if name in vars(base)} | methods
    body = {name: method for name, method in body.items() if method is not None}
    body["__module__"] = __name__
    return types.new_class("Spoilt", (NamedTuple,), exec_body=lambda space: space.update(body))()


WAVE = {
    "value": lambda self, y, z: math.cos(z - y) + 1.0,
    "derivative": lambda self, y, z: -math.sin(z - y),
    "conjugate": None,
    "resolvent": None,
    "slope": None,
}


def printed_table_1(self, y, v, a):
    """As in the paper: y min(1 / alpha, (1 - y v)+), the operator for alpha = 1 only."""
    return -y * min(1.0 / a, max(1.0 - y * v, 0.0))


def in_words(self, y, z):
    return float(f"{0.5 * (y - z) ** 2:.17g}")


def by_statistics(self, y, z):
    squares = [(y - z) ** 2, 0.0]
    return statistics.fmean(squares)


def raising(self, y, z):
    return 1.0 / (z - y) + abs(z)


BROKEN = {
    "not convex": (spoilt(**WAVE), ["value is not convex: at y="]),
    "saturating": (
        spoilt(value=lambda self, y, z: min((y - z) ** 2, 1.0)),
        ["value is not convex", "above the mean"],
    ),
    "value nan": (
        spoilt(value=lambda self, y, z: math.nan),
        ["value is not finite: value(-3, -50) = nan"],
    ),
    "value infinite": (
        spoilt(value=lambda self, y, z: 0.5 * (y - z) ** 2 if z > -20.0 else math.inf),
        ["value is not finite: value(-3, -50) = inf"],
    ),
    "value raises": (
        spoilt(value=raising),
        ["value(-3, -3) raised ZeroDivisionError: float division by zero"],
    ),
    "derivative of the wrong sign": (
        spoilt(derivative=lambda self, y, z: y - z),
        ["derivative has the wrong sign: at y=-3, z=-50 it is 47, differences of value give -47."],
    ),
    "derivative off by a factor": (
        spoilt(derivative=lambda self, y, z: 2.0 * (z - y)),
        ["derivative is not that of value, but 2 times as large: at y=-3, z=-50 it is -94, "],
    ),
    "derivative shifted": (
        spoilt(derivative=lambda self, y, z: z - y + 1.0, conjugate=None, resolvent=None),
        ["derivative is not that of value"],
    ),
    "derivative wrong far away": (
        spoilt(
            derivative=lambda self, y, z: z - y if abs(z) < 60.0 else y - z,
            conjugate=None,
            resolvent=None,
            slope=None,
        ),
        ["derivative has the wrong sign: at y=-3, z="],
    ),
    "derivative nan": (
        spoilt(
            derivative=lambda self, y, z: math.nan if z == y else z - y,
            conjugate=None,
            resolvent=None,
            slope=None,
        ),
        ["derivative is not finite: derivative(-3, -3) = nan"],
    ),
    "response without the slope": (
        spoilt(response=lambda self, y, v, a: ((v - a * y) / (1.0 + a), 1.0)),
        ["response is not resolvent and slope: response(-3, -30, "],
    ),
    "conjugate of the wrong sign": (
        spoilt(conjugate=lambda self, y, u: u * y - 0.5 * u * u),
        ["conjugate is too small: Fenchel-Young says"],
    ),
    "conjugate too large": (
        spoilt(conjugate=lambda self, y, u: u * y + u * u),
        ["value + conjugate = u z should hold", "conjugate or resolvent is wrong"],
    ),
    "conjugate nan": (
        spoilt(conjugate=lambda self, y, u: math.nan),
        ["conjugate(-3, ", ") = nan, though "],
    ),
    "conjugate of a smaller domain": (
        spoilt(base=Hinge, conjugate=lambda self, y, u: y * u if -0.5 <= y * u <= 0 else math.inf),
        [") = inf, though 1 = resolvent(-1, "],
    ),
    "resolvent of the printed table 1": (
        spoilt(base=Hinge, resolvent=printed_table_1),
        ["by brute force it is"],
    ),
    "resolvent off by a factor": (
        spoilt(resolvent=lambda self, y, v, a: 0.5 * (v - a * y) / (1.0 + a), slope=None),
        ["resolvent(-3, -30, 0.001) = ", "is wrong: by brute force it is"],
    ),
    "resolvent of the wrong sign": (
        spoilt(resolvent=lambda self, y, v, a: -(v - a * y) / (1.0 + a), slope=None),
        ["is wrong: by brute force it is"],
    ),
    "resolvent nan": (
        spoilt(resolvent=lambda self, y, v, a: math.nan, slope=None),
        ["resolvent is not finite: resolvent(-3, -30, 0.001) = nan"],
    ),
    "slope": (
        spoilt(slope=lambda self, y, v, a: 1.0 / (1.0 + 2.0 * a)),
        ["slope is not the derivative of resolvent in v: slope(-3, "],
    ),
    "slope nan": (
        spoilt(slope=lambda self, y, v, a: math.nan),
        ["slope is not the derivative of resolvent in v"],
    ),
    "formatting": (
        spoilt(value=in_words),
        ["it runs in Python but does not compile with Numba (format spec in f-strings"],
    ),
    "another module": (
        spoilt(value=by_statistics),
        ["does not compile with Numba, at `return statistics.fmean(squares)` (", "arithmetic"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_losses_are_told_apart(name):
    loss, sentences = BROKEN[name]
    with pytest.raises(ValueError, match=r"^Spoilt\(\) is not a valid loss\.\n- ") as caught:
        check_loss(loss)
    for sentence in sentences:
        assert sentence in str(caught.value)
    (fault,) = str(caught.value).splitlines()[1:]  # what follows from it is left out
    assert fault.startswith("- ")
    assert len(fault) < 300
    unwritten = [m for m in ("resolvent", "conjugate", "slope") if m not in vars(type(loss))]
    assert not any(method in fault for method in unwritten)


def test_expansive_resolvent():
    """Where nothing else is tried: a value so flat that brute force cannot tell."""
    loss = spoilt(
        value=lambda self, y, z: 0.0 * z,
        derivative=None,
        conjugate=lambda self, y, u: 0.0,
        resolvent=lambda self, y, v, a: 3.0 * v,
        slope=None,
    )
    with pytest.raises(ValueError, match="resolvent"):
        check_loss(loss)


def test_wrong_parameter_is_refused_first():
    with pytest.raises(ValueError, match="tau=2 must be in"):
        check_loss(LOSSES["pinball"](2))
