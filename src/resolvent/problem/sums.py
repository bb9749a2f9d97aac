"""The compiled loops over samples of every loss: sums, resolvent steps and offsets.

Throughout, ``y`` are targets, ``C`` weights C_i = w_i C (a coordinate with C_i = 0 takes no part),
``c`` coefficients, ``s`` scores with the offset included. The resolvent of C_i L at (v, alpha) is
C_i times the resolvent of L at (v / C_i, alpha / C_i): weights are applied here and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import (
    any_order,
    compiled,
    conjugate,
    inner,
    inverse_link,
    plain,
    resolvent,
    response,
    value,
)
from resolvent._numeric import EPS

Vector = NDArray[np.float64]

# alpha / C_i at which a resolvent is a subgradient at the score itself: z = (v - u) / a.
SHARP = 1e200
FAR = 1e99  # offsets beyond which there is none
PATIENCE = 3  # turns of regula falsi before a bisection


@inner
def answer(loss: Any, y: float, C: float, c: float, s: float, alpha: float) -> float:
    """Equation (8) of the paper: -J_alpha(alpha s - c) for the loss C L."""
    a = min(alpha / C, SHARP)
    return -C * resolvent(loss, y, a * s - c / C, a)


@any_order
def total(loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float, alpha: Vector) -> float:
    """Sum of the fixed-point step at offset b; in any order, so that it is vectorised."""
    result = 0.0
    for i in range(len(y)):
        if C[i] > 0.0:
            result += answer(loss, y[i], C[i], c[i], z[i] + b, alpha[i])
    return result


@compiled
def step(
    loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float, alpha: Vector, out: Vector
) -> tuple[float, float]:
    """Do steps 2 and 3 of the fixed-point iteration; return the sum and the largest change."""
    total, largest = 0.0, 0.0
    for i in range(len(y)):
        out[i] = answer(loss, y[i], C[i], c[i], z[i] + b, alpha[i]) if C[i] > 0.0 else 0.0
        total += out[i]
        largest = max(largest, abs(out[i] - c[i]))
    return total, largest


@inner
def find_offset(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    z: Vector,
    alpha: Vector,
    aim: float,
    b: float,
    slack: float,
    width: float,
    rough: float,
) -> float:
    """Find the offset at which the fixed-point step sums to `aim`, starting the search from `b`.

    `width` is how far from there it is expected; 0 if that is not known.

    The sum falls as the offset grows: bracket, then regula falsi in Illinois' way, with a bisection
    wherever that does not halve the bracket in PATIENCE turns, down to two neighbouring numbers, to
    a sum within `slack` of the aim, or to where what the sum is the slope of can change by no more
    than `rough`. Where no offset reaches the aim the search ends at +-1e100.
    """
    lo, hi = b, b
    first = f_lo = f_hi = total(loss, y, C, c, z, b, alpha) - aim
    side = 1.0 if f_lo > 0.0 else -1.0
    if width == 0.0:
        width = 1e-3 * max(abs(b), 1e-3)
    while abs(first) > slack:  # outward, a little farther than where a line would be at the aim
        trial = b + side * width
        f = total(loss, y, C, c, z, trial, alpha) - aim
        width *= min(max(4.0, 1.5 * first / (first - f)), 64.0) if f != first else 64.0
        if f > 0.0:
            lo, f_lo = trial, f
        else:
            hi, f_hi = trial, f
        if side * f <= slack:
            break
        if abs(trial) >= 1e100:
            return trial
    w_lo, w_hi, last = f_lo, f_hi, 0.0
    turns, width = 0, hi - lo
    while f_lo > slack and f_hi < -slack and min(f_lo, -f_hi) * (hi - lo) > rough:
        trial = lo + w_lo * ((hi - lo) / (w_lo - w_hi))
        if turns == PATIENCE or not lo < trial < hi:
            trial = lo + 0.5 * (hi - lo)
            if not lo < trial < hi:
                break
        f = total(loss, y, C, c, z, trial, alpha) - aim
        if f > 0.0:
            lo, f_lo, w_lo, w_hi = trial, f, f, 0.5 * w_hi if last > 0.0 else w_hi
        else:
            hi, f_hi, w_hi, w_lo = trial, f, f, 0.5 * w_lo if last < 0.0 else w_lo
        last = f
        turns += 1
        if turns > PATIENCE or hi - lo <= 0.5 * width:
            turns, width = 0, hi - lo
    return lo if abs(f_lo) <= abs(f_hi) else hi


balance = compiled(find_offset)


@inner
def find_best_offset(loss: Any, y: Vector, C: Vector, z: Vector, b: float, rough: float) -> float:
    """Argmin of the sum of C L(y, z + b), from b on; the midpoint where that is an interval.

    To within a change of that sum by `rough`, where it is above zero.
    """
    none, sharp = np.empty(len(y)), np.empty(len(y))
    size, weight = 0.0, 0.0
    for i in range(len(y)):
        none[i], sharp[i] = 0.0, np.inf
        weight += C[i]
        if C[i] > 0.0:
            size += abs(answer(loss, y[i], C[i], 0.0, z[i], np.inf))
    slack = 1e-12 * size if size > 0.0 else 1e-150 * weight  # then the scores are minimisers
    ends, width = np.empty(2), 0.0
    for k in range(2):
        aim = slack if k == 0 else -slack
        ends[k] = find_offset(loss, y, C, none, z, sharp, aim, b, 0.1 * slack, width, rough)
        # As a rule the other end is the same number, or one of the next.
        b, width = (
            (ends[k], 4.0 * EPS * abs(ends[k]) + 1e-100) if abs(ends[k]) < FAR else (0.0, 0.0)
        )
        if rough > 0.0 and abs(ends[k]) < FAR:
            return b
    lo, hi = ends
    if abs(lo) >= FAR:
        return hi if abs(hi) < FAR else 0.0
    if abs(hi) >= FAR:
        return lo
    return 0.5 * (lo + hi) if abs(lo + hi) > 1e-9 * (hi - lo) else 0.0  # to rounding they cancel


best_offset = compiled(find_best_offset)


@inner
def sums(
    loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float
) -> tuple[float, float, float, float]:
    """Sum C L, C L*, c z, of which primal and dual are made, and all their magnitudes."""
    losses, conjugates, products, size = 0.0, 0.0, 0.0, 0.0
    for i in range(len(y)):
        if C[i] > 0.0:
            at_score = C[i] * value(loss, y[i], z[i] + b)
            at_coef = C[i] * conjugate(loss, y[i], -c[i] / C[i])
            losses += at_score
            conjugates += at_coef
            products += c[i] * z[i]
            size += abs(at_score) + abs(at_coef) + abs(c[i] * z[i])
    return losses, conjugates, products, size


fenchel = compiled(sums)


@plain
def bends_down(c: Vector, z: Vector, diagonal: Vector, of_kernel: float, of_scores: float) -> bool:
    """Whether c'Kc = c'z < 0 beyond errors of K, relative to its diagonal, and of the scores z."""
    size = 0.0
    for i in range(len(c)):
        size = max(size, abs(c[i]))  # out of the squares, which might overflow
    product, slack = 0.0, 0.0
    for i in range(len(c) if size > 0.0 else 0):
        u = c[i] / size
        product += u * (z[i] / size)
        slack += of_kernel * u * u * diagonal[i] + abs(u) * (of_scores / size)
    return product < -slack


@compiled
def proximal(
    loss: Any,
    y: Vector,
    C: Vector,
    centre: Vector,
    s: Vector,
    sigma: float,
    c: Vector,
    slopes: Vector,
) -> None:
    """Fixed-point step around `centre`, equation (8), and the slopes of the resolvents."""
    for i in range(len(y)):
        c[i], slopes[i] = 0.0, 0.0
        if C[i] > 0.0:
            a = min(sigma / C[i], SHARP)
            v = a * s[i] - centre[i] / C[i]
            u, slopes[i] = response(loss, y[i], v, a)
            c[i] = -C[i] * u


@compiled
def _apply_link(loss: Any, scores: Vector) -> None:
    for i in range(len(scores)):
        scores[i] = inverse_link(loss, scores[i])


def apply_link(loss: Any, scores: Vector) -> Vector:
    """Predictions of a loss whose scores are transformed ones, such as probabilities."""
    result = np.array(scores, dtype=float, order="C")
    _apply_link(loss, result.reshape(-1))
    return result
