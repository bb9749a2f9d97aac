"""Appendix A: the Moreau-Yosida regularization, its properties, and the hinge's closed form."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive import every_loss, targets

from resolvent.losses import Absolute, Hinge, Huber, SmoothedHinge, envelope

numbers = st.floats(-30.0, 30.0)
every_alpha = pytest.mark.parametrize("alpha", [0.05, 1.0, 8.0])


def by_definition(loss, alpha, y, x):
    """min over t of L(y, t) + alpha/2 (t - x)^2, and where it is, by golden-section search."""

    def objective(t):
        return loss.value(y, t) + alpha / 2 * (t - x) ** 2

    lo, hi = x - 1.0, x + 1.0
    while objective(lo) < objective(0.5 * (lo + x)):
        lo = x - 2.0 * (x - lo)
    while objective(hi) < objective(0.5 * (hi + x)):
        hi = x + 2.0 * (hi - x)
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    while hi - lo > 1e-12 * (1.0 + abs(lo) + abs(hi)):
        left, right = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        if objective(left) <= objective(right):
            hi = right
        else:
            lo = left
    return objective((lo + hi) / 2), (lo + hi) / 2


@every_loss
@every_alpha
def test_it_is_the_minimum_and_its_gradient_is_the_resolvent(loss, alpha):
    smooth = envelope(loss, alpha)
    for y in targets(loss, 6):
        for x in np.linspace(-4.0, 4.0, 9):
            value, proximal = by_definition(loss, alpha, y, x)
            # The search ends within 1e-12 of a kink.
            assert smooth.value(y, x) == pytest.approx(value, rel=1e-11, abs=1e-11)
            # Corrected: alpha (x - p) = J_alpha(alpha x); the paper prints alpha J_alpha(x).
            gradient = smooth.derivative(y, x)
            assert gradient == loss.resolvent(y, alpha * x, alpha)
            # The search by values finds p to 1e-8 times its condition.
            scale = 1.0 + abs(x) + abs(proximal)
            assert gradient == pytest.approx(alpha * (x - proximal), abs=1e-6 * alpha * scale)
            h = 1e-5
            rise = (smooth.value(y, x + h) - smooth.value(y, x - h)) / (2 * h)
            # Central differences: alpha h at a kink of the gradient, rounding of the values / h.
            assert gradient == pytest.approx(rise, abs=(alpha + value * 1e-10 + 1e-6) * h * 2)


def test_printed_gradient_is_wrong():
    loss, alpha, y, x = Hinge(), 0.3, 1.0, -0.5
    gradient = envelope(loss, alpha).derivative(y, x)
    h = 1e-6
    ends = [envelope(loss, alpha).value(y, t) for t in (x - h, x + h)]
    assert gradient == pytest.approx((ends[1] - ends[0]) / (2 * h), abs=1e-9)
    assert abs(gradient - alpha * loss.resolvent(y, x, alpha)) > 0.1


@every_loss
@settings(max_examples=30)
@given(
    y=numbers,
    x=numbers,
    other=numbers,
    alpha=st.floats(1e-2, 1e2),
)
def test_gradient_is_lipschitz_with_modulus_alpha(loss, y, x, other, alpha):
    y = {
        "sign": math.copysign(1.0, y),
        "nonnegative": abs(y),
        "positive": abs(y) + 0.1,
    }.get(getattr(loss, "targets", ""), y)
    smooth = envelope(loss, alpha)
    noise = 1e-14 * (1.0 + alpha) * (1.0 + abs(x) + abs(other) + abs(y))
    rise = smooth.derivative(y, x) - smooth.derivative(y, other)
    assert (rise if x >= other else -rise) >= -noise
    assert abs(rise) <= alpha * abs(x - other) + noise
    # Below the loss, and closer to it for a larger alpha.
    values = [envelope(loss, t).value(y, x) for t in (alpha, 3.0 * alpha)] + [loss.value(y, x)]
    assert values == pytest.approx(sorted(values), rel=1e-13, abs=1e-13)


@every_loss
def test_minimisers_are_the_same(loss):
    """Where the loss has its minimum, and there alone, the derivative of each envelope is zero."""
    for y in targets(loss, 5):
        for x in np.linspace(-3.0, 3.0, 25):
            lowest = 1e-15 * (1.0 + abs(y))  # exp(log(y)) - y is zero up to rounding
            at_minimum = abs(loss.resolvent(y, 1e200 * x, 1e200)) <= lowest
            for alpha in (0.1, 1.0, 10.0):
                assert (abs(envelope(loss, alpha).derivative(y, x)) <= lowest) == at_minimum


@given(y=st.sampled_from([-1.0, 1.0]), z=numbers)
@example(y=1.0, z=0.0)
@example(y=-1.0, z=-1.0)
def test_hinge_at_alpha_1_is_the_papers(y, z):
    """Section 5: 1/2 - y z for y z <= 0, (1 - y z)+^2 / 2 above; equal to the last bit."""
    m = y * z
    printed = 0.5 - m if m <= 0.0 else max(1.0 - m, 0.0) ** 2 / 2
    assert envelope("hinge", 1.0).value(y, z) == pytest.approx(printed, rel=4e-16, abs=5e-17)


def test_hinge_at_alpha_1_on_quarters():
    """... and without any rounding where the numbers have few bits."""
    smooth = envelope("hinge", 1.0)
    for m in np.arange(-8.0, 8.0, 0.25).tolist():
        printed = 0.5 - m if m <= 0.0 else max(1.0 - m, 0.0) ** 2 / 2
        assert smooth.value(1.0, m) == smooth.value(-1.0, -m) == printed


@pytest.mark.parametrize(
    ("smooth", "closed"),
    [
        (envelope("hinge", 4.0), SmoothedHinge(0.25)),
        (envelope("hinge", 1.0), SmoothedHinge(1.0)),
        (envelope(Absolute(), 1.0), Huber(1.0)),
    ],
    ids=repr,
)
@settings(max_examples=60)
@given(s=st.sampled_from([-1.0, 1.0]), z=numbers, v=numbers, a=st.floats(1e-2, 1e2))
def test_known_envelopes(smooth, closed, s, z, v, a):
    noise = 1e-14 * (1.0 + a) * (1.0 + abs(v))
    u = closed.resolvent(s, v, a)
    assert smooth.value(s, z) == pytest.approx(closed.value(s, z), rel=1e-13, abs=1e-14)
    assert smooth.resolvent(s, v, a) == pytest.approx(u, abs=noise)
    assert smooth.conjugate(s, u) == pytest.approx(closed.conjugate(s, u), rel=1e-13, abs=1e-14)
