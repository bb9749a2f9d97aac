"""Losses of a real target y and a score z; r = y - z is the residual.

Each is three scalar functions (see :mod:`resolvent.losses`). Products that may overflow are written
so that an infinite intermediate still has the right sign and is then clipped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from resolvent._jit import inner
from resolvent._numeric import ULPS

INF = math.inf


@inner
def clip(x: float, lo: float, hi: float) -> float:
    """Project x on [lo, hi]."""
    return min(max(x, lo), hi)


@inner
def outside_tube(y: float, v: float, a: float, epsilon: float) -> float:
    """Soft-threshold v - a y at a epsilon, without subtracting infinities."""
    return max(v - a * (y + epsilon), 0.0) + min(v - a * (y - epsilon), 0.0)


@inner
def shrink(y: float, v: float, a: float, w: float) -> float:
    """Compute (v - a y) / (1 + a / w) for a up to 1e300."""
    return v / (1.0 + a / w) - y * (w / (1.0 + w / a))


class Squared(NamedTuple):
    """Squared loss r^2 / 2: kernel ridge regression, the paper's RLS.

    Examples
    --------
    >>> from resolvent.losses import Squared
    >>> Squared().value(1.0, 3.0)
    2.0
    """

    degree = 2
    of_residual = True

    def value(self, y: float, z: float) -> float:
        return 0.5 * (y - z) * (y - z)

    def conjugate(self, y: float, u: float) -> float:
        return u * (y + 0.5 * u)

    def resolvent(self, y: float, v: float, a: float) -> float:
        return shrink(y, v, a, 1.0)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 / (1.0 + a)


class Absolute(NamedTuple):
    """Absolute loss |r|: least absolute deviations, the paper's RLA.

    Examples
    --------
    >>> from resolvent.losses import Absolute
    >>> Absolute().value(1.0, 3.0)
    2.0
    """

    degree = 1
    of_residual = True

    def value(self, y: float, z: float) -> float:
        return abs(y - z)

    def conjugate(self, y: float, u: float) -> float:
        return u * y if abs(u) <= 1.0 + ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return clip(v - a * y, -1.0, 1.0)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 if abs(v - a * y) < 1.0 else 0.0


class EpsilonInsensitive(NamedTuple):
    """Epsilon-insensitive loss (|r| - epsilon)+: support vector regression, the paper's SVR.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to this size cost nothing.

    Examples
    --------
    >>> from resolvent.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(1.0, 3.0)
    1.5
    """

    epsilon: float = 0.1
    limits = {"epsilon": "[0, inf)"}
    degree = 1
    of_residual = True
    units = ("epsilon",)

    def value(self, y: float, z: float) -> float:
        return max(abs(y - z) - self.epsilon, 0.0)

    def conjugate(self, y: float, u: float) -> float:
        return u * y + self.epsilon * abs(u) if abs(u) <= 1.0 + ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return clip(outside_tube(y, v, a, self.epsilon), -1.0, 1.0)

    def slope(self, y: float, v: float, a: float) -> float:
        above, below = v - a * (y + self.epsilon), v - a * (y - self.epsilon)
        return 1.0 if 0.0 <= above < 1.0 or -1.0 < below <= 0.0 else 0.0


class SquaredEpsilonInsensitive(NamedTuple):
    """Squared epsilon-insensitive loss (|r| - epsilon)+^2, not halved, as in LIBLINEAR.

    Parameters
    ----------
    epsilon : float, default=0.1
        Residuals up to this size cost nothing.

    Examples
    --------
    >>> from resolvent.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(1.0, 3.0)
    2.25
    """

    epsilon: float = 0.1
    limits = {"epsilon": "[0, inf)"}
    degree = 2
    of_residual = True
    units = ("epsilon",)

    def value(self, y: float, z: float) -> float:
        r = max(abs(y - z) - self.epsilon, 0.0)
        return r * r

    def conjugate(self, y: float, u: float) -> float:
        return u * (y + math.copysign(self.epsilon, u) + 0.25 * u)

    def resolvent(self, y: float, v: float, a: float) -> float:
        above = shrink(y + self.epsilon, v, a, 2.0)
        below = shrink(y - self.epsilon, v, a, 2.0)
        return max(above, 0.0) + min(below, 0.0)

    def slope(self, y: float, v: float, a: float) -> float:
        outside = v - a * (y + self.epsilon) >= 0.0 or v - a * (y - self.epsilon) <= 0.0
        return 1.0 / (1.0 + 0.5 * a) if outside else 0.0


class Huber(NamedTuple):
    """Huber loss: r^2 / 2 for |r| <= delta, delta |r| - delta^2 / 2 beyond.

    Parameters
    ----------
    delta : float, default=1.0
        Where the loss turns from quadratic to linear.

    Examples
    --------
    >>> from resolvent.losses import Huber
    >>> Huber(delta=1.0).value(1.0, 4.0)
    2.5
    """

    delta: float = 1.0
    limits = {"delta": "(0, inf)"}
    degree = 2
    of_residual = True
    units = ("delta",)

    def value(self, y: float, z: float) -> float:
        r = abs(y - z)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def conjugate(self, y: float, u: float) -> float:
        return u * (y + 0.5 * u) if abs(u) <= self.delta * (1.0 + ULPS) else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return clip(shrink(y, v, a, 1.0), -self.delta, self.delta)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 / (1.0 + a) if abs(shrink(y, v, a, 1.0)) < self.delta else 0.0


class Pinball(NamedTuple):
    """Pinball loss tau r+ + (1 - tau) (-r)+: the minimiser is the tau-quantile.

    Parameters
    ----------
    tau : float, default=0.5
        The quantile, strictly between 0 and 1.

    Examples
    --------
    >>> from resolvent.losses import Pinball
    >>> Pinball(tau=0.75).value(3.0, 1.0)
    1.5
    """

    tau: float = 0.5
    limits = {"tau": "(0, 1)"}
    degree = 1
    of_residual = True

    def value(self, y: float, z: float) -> float:
        r = y - z
        return self.tau * r if r > 0.0 else (self.tau - 1.0) * r

    def conjugate(self, y: float, u: float) -> float:
        return u * y if -self.tau - ULPS <= u <= 1.0 - self.tau + ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return clip(v - a * y, -self.tau, 1.0 - self.tau)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 if -self.tau < v - a * y < 1.0 - self.tau else 0.0


class PinballOfLevels(NamedTuple):
    """Pinball loss of the residual -z at a level of the row's own, its target in [0, 1].

    Coefficients of a weight C are in [-C y, C (1 - y)]. Not one of `LOSSES`: the one-class machine
    has it, with offsets of the rows.

    Examples
    --------
    >>> from resolvent.losses.regression import PinballOfLevels
    >>> PinballOfLevels().value(0.25, 2.0), PinballOfLevels().value(0.25, -2.0)
    (0.5, 1.5)
    """

    def value(self, y: float, z: float) -> float:
        return y * z if z > 0.0 else (y - 1.0) * z

    def conjugate(self, y: float, u: float) -> float:
        return 0.0 if y - 1.0 - ULPS <= u <= y + ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return clip(v, y - 1.0, y)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 if y - 1.0 < v < y else 0.0


class Expectile(NamedTuple):
    """Asymmetric squared loss w r^2 / 2, w = tau for r > 0 and 1 - tau otherwise.

    Parameters
    ----------
    tau : float, default=0.5
        The expectile, strictly between 0 and 1.

    Examples
    --------
    >>> from resolvent.losses import Expectile
    >>> Expectile(tau=0.75).value(3.0, 1.0)
    1.5
    """

    tau: float = 0.5
    limits = {"tau": "(0, 1)"}
    degree = 2
    of_residual = True

    def value(self, y: float, z: float) -> float:
        w = self.tau if y > z else 1.0 - self.tau
        return 0.5 * w * (y - z) * (y - z)

    def conjugate(self, y: float, u: float) -> float:
        w = self.tau if u < 0.0 else 1.0 - self.tau
        return u * (y + 0.5 * u / w)

    def resolvent(self, y: float, v: float, a: float) -> float:
        w = self.tau if v < a * y else 1.0 - self.tau
        return shrink(y, v, a, w)

    def slope(self, y: float, v: float, a: float) -> float:
        w = self.tau if v < a * y else 1.0 - self.tau
        return 1.0 / (1.0 + a / w)
