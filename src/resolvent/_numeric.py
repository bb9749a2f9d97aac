"""What a loss that gives only `value` and `derivative` gets numerically.

The functions here are plain Python that Numba can compile. They find the root of an increasing
function by regula falsi that falls back on bisection, so they always end, at two neighbouring
floating-point numbers, whatever the scale of the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Scalar = Callable[..., float]
Root = Callable[..., tuple[float, float]]

EPS = 2.220446049250313e-16
ULPS = 8.0 * EPS  # a subgradient this far outside its domain counts as on the border
FAR = 1e300


def bisect(lo: float, hi: float) -> float:
    """Halve [lo, hi]; over many orders of magnitude halve the exponent, not the interval."""
    if lo > 1.0 and hi > 1e3 * lo:
        return math.sqrt(lo) * math.sqrt(hi)
    if hi < -1.0 and lo < 1e3 * hi:
        return -math.sqrt(-lo) * math.sqrt(-hi)
    if lo == 0.0 and hi > 1e-290:
        return hi * 1e-6
    if hi == 0.0 and lo < -1e-290:
        return lo * 1e-6
    if 0.0 < lo < 1e-3 * hi:
        return math.sqrt(lo) * math.sqrt(hi)
    if 0.0 > hi > 1e-3 * lo:
        return -math.sqrt(-lo) * math.sqrt(-hi)
    return 0.5 * lo + 0.5 * hi


def root_from(derivative: Scalar, bisect: Scalar) -> Root:
    """Make the solver of L'(y, z) + a z = v for z, given L'."""

    def root(loss: Any, y: float, v: float, a: float) -> tuple[float, float]:
        """Return neighbours lo <= hi around the root; lo = -FAR or hi = FAR where there is none."""
        lo, hi = 0.0, 0.0
        g_lo = derivative(loss, y, 0.0) - v
        g_hi = g_lo
        step = 1.0
        while g_hi < 0.0 and hi < FAR:
            lo, g_lo = hi, g_hi
            hi = min(step, FAR)
            step *= 8.0
            g_hi = derivative(loss, y, hi) + a * hi - v
        step = 1.0
        while g_lo > 0.0 and lo > -FAR:
            hi, g_hi = lo, g_lo
            lo = max(-step, -FAR)
            step *= 8.0
            g_lo = derivative(loss, y, lo) + a * lo - v
        halve = False
        while g_lo < 0.0 < g_hi:
            width = hi - lo
            z = lo - g_lo * (width / (g_hi - g_lo))
            if halve or not lo < z < hi:
                z = bisect(lo, hi)
            if not lo < z < hi:
                break
            g = derivative(loss, y, z) + a * z - v
            if g < 0.0:
                lo, g_lo = z, g
            elif g > 0.0:
                hi, g_hi = z, g
            else:
                return z, z
            halve = hi - lo > 0.5 * width
        if g_lo == 0.0:
            return lo, lo
        if g_hi == 0.0:
            return hi, hi
        return lo, hi

    return root


def resolvent_from(derivative: Scalar, root: Root) -> Scalar:
    """Make the resolvent: the u = L'(z) at the z with L'(z) + a z = v."""

    def resolvent(loss: Any, y: float, v: float, a: float) -> float:
        lo, hi = root(loss, y, v, a)
        # At a kink u is between the two one-sided slopes; elsewhere they hem it in to rounding.
        u = v - a * (0.5 * lo + 0.5 * hi)
        return min(max(u, derivative(loss, y, lo)), derivative(loss, y, hi))

    return resolvent


def conjugate_from(value: Scalar, derivative: Scalar, root: Root) -> Scalar:
    """Make the conjugate: sup over z of u z - L(y, z)."""

    def conjugate(loss: Any, y: float, u: float) -> float:
        # Aim a few ulps towards the slope at 0, so that the border of the domain is reached.
        inward = derivative(loss, y, 0.0)
        room = ULPS * abs(u)
        aim = max(u - room, inward) if u > inward else min(u + room, inward)
        lo, hi = root(loss, y, aim, 0.0)
        if derivative(loss, y, hi) < aim or derivative(loss, y, lo) > aim:
            return math.inf
        best = max(u * lo - value(loss, y, lo), u * hi - value(loss, y, hi))
        return math.inf if math.isnan(best) else best  # both terms overflow: so does the result

    return conjugate


def slope_from(resolvent: Scalar) -> Scalar:
    """Make the derivative of the resolvent with respect to v, by central differences."""

    def slope(loss: Any, y: float, v: float, a: float) -> float:
        h = 1e-6 * max(abs(v), abs(resolvent(loss, y, v, a)), 1e-280)
        rise = resolvent(loss, y, v + h, a) - resolvent(loss, y, v - h, a)
        return min(max(rise / ((v + h) - (v - h)), 0.0), 1.0)

    return slope


def response_from(resolvent: Scalar, slope: Scalar) -> Callable[..., tuple[float, float]]:
    """Make the resolvent with its slope; a loss may have both for the price of one."""

    def response(loss: Any, y: float, v: float, a: float) -> tuple[float, float]:
        return resolvent(loss, y, v, a), slope(loss, y, v, a)

    return response
