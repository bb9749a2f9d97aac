"""Losses of a target that is not negative and a score z whose exponential is the mean.

With mean mu = exp(z) each is half a deviance of the Tweedie family, of variance mu^p:

    L(y, z) = exp(q z) / q + y exp(-r z) / r - y^q / (q r),    q = 2 - p, r = p - 1,

with its limits for p = 1 (Poisson) and p = 2 (gamma). Its slope in z is

    exp(q z) - y exp(-r z),

which increases, so that resolvents are roots of increasing functions of z.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from resolvent._jit import inner, resolvent, response, value
from resolvent._numeric import ULPS

INF = math.inf
NEAR = 1e-5  # a step of Newton's method after which one more is the last
LAST = 1e-9  # a step whose square is rounding


@inner
def exp(z: float) -> float:
    """Exponential that overflows to infinity, in Python as when compiled."""
    return math.exp(z) if z < 709.78 else INF


@inner
def log_lambert(x: float) -> float:
    """Solve exp(t) + t = x: t is the logarithm of Wright's omega function of x.

    Newton's iteration on a convex increasing function, started to the right of the root, falls
    monotonically; it has arrived when it no longer falls.
    """
    t = x if x <= 1.0 else math.log(x)
    while True:
        e = math.exp(t)
        lower = t - (e + t - x) / (e + 1.0)
        if not lower < t:
            return t
        t = lower


class Poisson(NamedTuple):
    """Halved Poisson deviance exp(z) - y z - y + y log y for counts y >= 0; predict exp(z).

    Examples
    --------
    >>> from resolvent.losses import Poisson
    >>> Poisson().value(1.0, 0.0)
    0.0
    """

    targets = "nonnegative"
    iterative = True
    degree = 1
    of_counts = True

    def inverse_link(self, z: float) -> float:
        """Mean of y."""
        return exp(z)

    def value(self, y: float, z: float) -> float:
        mean = exp(z)
        if y == 0.0 or mean == INF:
            return mean
        distance = z - math.log(y)
        if abs(distance) < 1.0:
            return y * (math.expm1(distance) - distance)
        return mean - y - y * distance

    def conjugate(self, y: float, u: float) -> float:
        mean = u + y
        if mean < -ULPS * y:
            return INF
        if abs(u) < 0.5 * y:  # then the difference below would cancel
            return u * math.log(mean) + y * (math.log1p(u / y) - u / y)
        here = mean * math.log(mean) if mean > 0.0 else 0.0
        there = y * math.log(y) if y > 0.0 else 0.0
        return here - there - u

    def resolvent(self, y: float, v: float, a: float) -> float:
        # u = exp(z) - y where exp(z) + a z = s; with omega = exp(z) / a that is
        # omega + log(omega) = s / a - log(a).
        s = v + y
        ratio = s / a
        if ratio < -800.0 - abs(math.log(a)):
            return -y  # exp(z) underflows
        if ratio > 1e17:
            z = math.log(s)  # a z is nothing beside s
        else:
            t = log_lambert(ratio - math.log(a))
            # Of two equal forms of z the one that does not cancel.
            z = ratio - math.exp(t) if t < 0.0 else t + math.log(a)
        # One Newton step on the equation itself; z + step would round away the step.
        mean = math.exp(z)
        step = (s - a * z - mean) / (a + mean)
        mean += mean * step
        u = mean - y if mean + y <= abs(v) + abs(a * z) else v - a * z - a * step
        return max(u, -y)

    def response(self, y: float, v: float, a: float) -> tuple[float, float]:
        u = resolvent(self, y, v, a)
        mean = max(u + y, 0.0)
        return u, mean / (mean + a)

    def slope(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[1]


@inner
def excess(x: float) -> float:
    """Compute exp(x) - 1 - x without cancellation."""
    if abs(x) >= 0.5:
        return exp(x) - 1.0 - x
    total, term, k = 0.0, 0.5 * x * x, 3.0
    while total + term != total:
        total += term
        term *= x / k
        k += 1.0
    return total


@inner
def terms(y: float, z: float, p: float) -> tuple[float, float]:
    """Compute the terms exp(q z) and y exp(-r z) of the slope."""
    root = exp(-0.5 * (p - 1.0) * z)  # y exp(-r z) may be ordinary where its factors are not
    return exp((2.0 - p) * z), (float(y) * root) * root


@inner
def is_nearly_linear(y: float, v: float, a: float, p: float) -> bool:
    """Whether z = v / a is close to the root: where a is much larger than the slope."""
    up, down = terms(y, v / a, p)
    return up + down <= LAST * a


@inner
def refined(y: float, v: float, a: float, z: float, p: float) -> tuple[float, float]:
    """Find the resolvent, and the slope of the loss's derivative, from z close to the root.

    One Newton step on u(z) + a z = v; z + step would round away the step. Of equal forms of u one
    that does not cancel.
    """
    q, r = 2.0 - p, p - 1.0
    up, down = terms(y, z, p)
    above = z - math.log(y)
    u = up - down
    if abs(above) < 0.5:
        u = y**q * (math.expm1(q * above) - math.expm1(-r * above))
    rise = q * up + r * down
    step = (v - a * z - u) / (a + rise)
    # The exponentials have errors in proportion to |z|.
    if (up + down) * (1.0 + abs(z)) <= abs(v) + abs(a * z):
        return u + rise * step, rise
    return v - a * z - a * step, rise


class Gamma(NamedTuple):
    """Halved gamma deviance z - log y + y exp(-z) - 1 for targets y > 0; predict exp(z).

    It is the same for y and z as for s y and z + log s: errors count relative to the mean.

    Examples
    --------
    >>> from resolvent.losses import Gamma
    >>> Gamma().value(1.0, 0.0)
    0.0
    """

    targets = "positive"
    iterative = True
    degree = 0

    def inverse_link(self, z: float) -> float:
        """Mean of y."""
        return exp(z)

    def value(self, y: float, z: float) -> float:
        below = math.log(y) - z
        if abs(below) < 1.0:
            return excess(below)
        root = exp(-0.5 * z)
        return (y * root) * root - 1.0 - below

    def conjugate(self, y: float, u: float) -> float:
        rest = 1.0 - u  # y exp(-z) where u is the derivative at z
        if rest < -ULPS:
            return INF
        if rest <= 0.0:
            return math.log(y) + 1.0
        ratio = y / rest
        z = math.log(ratio) if 1e-300 < ratio < 1e300 else math.log(y) - math.log(rest)
        return u * z + math.log1p(-u) + u

    def resolvent(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[0]

    def response(self, y: float, v: float, a: float) -> tuple[float, float]:
        if is_nearly_linear(y, v, a, 2.0):
            u, rise = refined(y, v, a, v / a, 2.0)
            return min(u, 1.0), rise / (rise + a)
        # With omega = y exp(-z) / a the equation is omega + log(omega) = log y + ratio - log a.
        ratio = (1.0 - v) / a
        level = math.log(y)
        if level + ratio < -800.0 - abs(math.log(a)):
            return 1.0, 0.0  # y exp(-z) underflows
        if ratio > 1e17:
            z = level - math.log(1.0 - v)  # a z is nothing beside 1 - v
        else:
            t = log_lambert(level + ratio - math.log(a))
            z = math.exp(t) - ratio if t < 0.0 else level - t - math.log(a)
        u, rise = refined(y, v, a, z, 2.0)
        return min(u, 1.0), rise / (rise + a)

    def slope(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[1]


@inner
def tweedie_root(y: float, v: float, a: float, p: float) -> float:
    """Solve exp((2 - p) z) - y exp(-(p - 1) z) + a z = v for z, roughly; y > 0 and a >= 0."""
    qa, qb = 2.0 - p, p - 1.0
    level = math.log(y)
    size = y**qa
    excess_at = v - a * level  # v less the left side at z = log y, where the derivative is 0
    if excess_at == 0.0:
        return level
    lo = hi = level
    if excess_at > 0.0:
        hi = math.log(size + excess_at) / qa
        hi = min(hi, v / a) if a > 0.0 else hi
        z = hi
    else:
        lo = (level - math.log(size - excess_at)) / qb
        lo = max(lo, v / a) if a > 0.0 else lo
        z = lo
    while True:
        up, down = terms(y, z, p)
        f = up - down + a * z - v
        if f > 0.0:
            hi = z
        else:
            lo = z
        step = -f / (qa * up + qb * down + a)
        if abs(step) <= NEAR:
            return z + step
        middle = 0.5 * (lo + hi)
        if not lo < middle < hi:
            return z
        z += step
        if not lo < z < hi:
            z = middle


class Tweedie(NamedTuple):
    """Halved Tweedie deviance for targets y >= 0, of variance mean^p; predict exp(z).

    For sums of a random number of amounts, such as rain or insurance claims: zero with a
    probability above zero, continuous otherwise. p = 1 is Poisson, p = 2 gamma.

    Parameters
    ----------
    p : float, default=1.5
        The power, strictly between 1 and 2.

    Examples
    --------
    >>> from resolvent.losses import Tweedie
    >>> Tweedie(p=1.5).value(0.0, 0.0)
    2.0
    """

    p: float = 1.5
    limits = {"p": "(1, 2)"}
    targets = "nonnegative"
    iterative = True

    @property
    def degree(self) -> float:
        """How the loss grows with the unit of the target."""
        return 2.0 - self.p

    def inverse_link(self, z: float) -> float:
        """Mean of y."""
        return exp(z)

    def value(self, y: float, z: float) -> float:
        qa, qb = 2.0 - self.p, self.p - 1.0
        up, down = terms(y, z, self.p)
        if y == 0.0 or up == INF or down == INF:
            return max(up / qa, down)
        size, above = y**qa, z - math.log(y)
        # size (exp(x) - 1 - x) / q for either exponential exp(x), of terms that are not negative
        x = qa * above
        first = size * excess(x) if abs(x) < 1.0 else up - size - size * x
        x = -qb * above
        second = size * excess(x) if abs(x) < 1.0 else down - size - size * x
        return first / qa + second / qb

    def conjugate(self, y: float, u: float) -> float:
        qa = 2.0 - self.p
        if y == 0.0:
            if u <= 0.0:
                return 0.0 if u > -ULPS else INF
            return u * ((math.log(u) - 1.0) / qa)
        z, level = tweedie_root(y, u, 0.0, self.p), math.log(y)
        t, qb, size = z - level, self.p - 1.0, y**qa
        if abs(t) > 0.5:
            return u * z - value(self, y, z)
        t = u / size if abs(t) < 1e-3 else t
        for _ in range(2):  # of what z differs from log y all digits are needed
            rise = size * (qa * math.exp(qa * t) + qb * math.exp(-qb * t))
            t += (u - size * (math.expm1(qa * t) - math.expm1(-qb * t))) / rise
        return u * level + (u * t - size * (excess(qa * t) / qa + excess(-qb * t) / qb))

    def resolvent(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[0]

    def response(self, y: float, v: float, a: float) -> tuple[float, float]:
        if y == 0.0:  # with x = (2 - p) z it is the equation of Poisson's for zero counts
            b = min(a / (2.0 - self.p), 1e305)
            u = resolvent(Poisson(), 0.0, v, b)  # type: ignore[call-arg]
            return u, u / (u + b)
        z = v / a if is_nearly_linear(y, v, a, self.p) else tweedie_root(y, v, a, self.p)
        u, rise = refined(y, v, a, z, self.p)
        return u, rise / (rise + a)

    def slope(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[1]
