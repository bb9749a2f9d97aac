"""Two coordinates moved together, for any loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._jit import inner
from resolvent._numeric import EPS
from resolvent.problem.sums import Vector, answer

TURNS = 40  # evaluations of a pair at most; two to five are common
ROUNDING = 4 * EPS
TOL = 1e-2  # of a move of a pair that need not sum to anything


@inner
def pair_along(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    s: Vector,
    i: int,
    j: int,
    curvature: float,
    b: float,
) -> tuple[float, float]:
    """Minimise the dual along e_i - e_j, so that c_i + c_j stays.

    The quadratic form k_ii + k_jj - 2 k_ij is as well half of it for each of the two: so the pair
    separates, given the multiplier of the constraint, which is sought from b on.
    """
    alpha = 2.0 / curvature
    keep = c[i] + c[j]
    lo, hi = b, b
    f_lo, f_hi = np.inf, -np.inf
    trial, stride = b, 0.0
    for _ in range(TURNS):
        new_i = answer(loss, y[i], C[i], c[i], s[i] + trial, alpha)
        new_j = answer(loss, y[j], C[j], c[j], s[j] + trial, alpha)
        f = new_i + new_j - keep
        if abs(f) <= ROUNDING * (abs(new_i) + abs(new_j)):
            return new_i, new_j
        if f > 0.0:
            lo, f_lo = trial, f
        else:
            hi, f_hi = trial, f
        if f_lo == np.inf or f_hi == -np.inf:  # outward: the slope is between 0 and -2 alpha
            stride = f / alpha if stride == 0.0 else 4.0 * stride
            trial += stride
            continue
        following = lo + f_lo * ((hi - lo) / (f_lo - f_hi))
        if not lo < following < hi:
            following = 0.5 * (lo + hi)
        if not lo < following < hi:
            break
        trial = following
        f_lo, f_hi = (f_lo, 0.5 * f_hi) if f > 0.0 else (0.5 * f_lo, f_hi)  # Illinois
    if f_lo == np.inf or f_hi == -np.inf:
        return c[i], c[j]
    # Between the ends of what is left of the bracket, where the sum is exact.
    i_lo = answer(loss, y[i], C[i], c[i], s[i] + lo, alpha)
    j_lo = answer(loss, y[j], C[j], c[j], s[j] + lo, alpha)
    i_hi = answer(loss, y[i], C[i], c[i], s[i] + hi, alpha)
    j_hi = answer(loss, y[j], C[j], c[j], s[j] + hi, alpha)
    over, under = i_lo + j_lo - keep, keep - i_hi - j_hi
    t = over / (over + under) if over + under > 0.0 else 0.0
    return i_lo + t * (i_hi - i_lo), j_lo + t * (j_hi - j_lo)


@inner
def pair_apart(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    s: Vector,
    i: int,
    j: int,
    k_i: float,
    k_j: float,
    k_ij: float,
) -> tuple[float, float]:
    """Minimise the dual over c_i and c_j.

    Each answers the other in turn. The reply to t as c_i grows with t, by a factor between 0 and
    r^2 = k_ij^2 / (k_ii k_jj), so that its fixed point is one to 1 / (1 - r^2) turns away.
    """
    most = 1.0 / max(1.0 - k_ij * k_ij / (k_i * k_j), 1e-6)
    lo, hi = -np.inf, np.inf
    f_lo, f_hi, turns = 0.0, 0.0, 1.0
    t = answer(loss, y[i], C[i], c[i], s[i], 1.0 / k_i)
    new_i, new_j = t, c[j]
    for _ in range(TURNS):
        new_j = answer(loss, y[j], C[j], c[j], s[j] + (t - c[i]) * k_ij, 1.0 / k_j)
        new_i = answer(loss, y[i], C[i], c[i], s[i] + (new_j - c[j]) * k_ij, 1.0 / k_i)
        f = new_i - t
        if most * abs(f) <= TOL * abs(new_i - c[i]):
            break
        if f > 0.0:
            lo, f_lo, f_hi = t, f, 0.5 * f_hi  # Illinois
        else:
            hi, f_hi, f_lo = t, f, 0.5 * f_lo
        if lo == -np.inf or hi == np.inf:  # outward
            t += min(turns, most) * f
            turns *= 4.0
            continue
        t = lo + f_lo * ((hi - lo) / (f_lo - f_hi))
        if not lo < t < hi:
            break
    return new_i, new_j
