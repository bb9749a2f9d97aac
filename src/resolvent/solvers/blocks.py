"""Compiled loops of the greedy method: how far each coordinate would move, and one block solved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from resolvent._jit import compiled, slope
from resolvent.solvers.loops import SHARP, Vector, answer, find_offset

Matrix = NDArray[np.float64]


@compiled
def moves(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    z: Vector,
    b: float,
    diagonal: Vector,
    h: Vector,
    free: NDArray[np.bool_],
) -> None:
    """Find how far each coordinate would move alone: the residuals of (13); and which are free."""
    for i in range(len(y)):
        h[i], free[i] = 0.0, False
        if C[i] > 0.0:
            alpha = 1.0 / diagonal[i]
            h[i] = answer(loss, y[i], C[i], c[i], z[i] + b, alpha) - c[i]
            a = min(alpha / C[i], SHARP)
            free[i] = slope(loss, y[i], a * (z[i] + b) - c[i] / C[i], a) > 0.0


@register_jitable
def pair_offset(
    loss: Any, y: Vector, C: Vector, c: Vector, s: Vector, i: int, j: int, alpha: float, b: float
) -> float:
    """Find the multiplier at which the best c_i and c_j keep their sum.

    Along e_i - e_j the quadratic form is k_ii + k_jj - 2 k_ij = 2 / alpha, and is as well half of
    that for each of the two: so the pair separates, given the multiplier of the constraint.
    """
    keep = c[i] + c[j]
    lo, hi = b, b
    f_lo, f_hi = np.inf, -np.inf
    trial, stride = b, 0.0
    for _ in range(100):
        f = (
            answer(loss, y[i], C[i], c[i], s[i] + trial, alpha)
            + answer(loss, y[j], C[j], c[j], s[j] + trial, alpha)
            - keep
        )
        if f > 0.0:
            lo, f_lo = trial, f
        elif f < 0.0:
            hi, f_hi = trial, f
        else:
            return trial
        if f_lo == np.inf or f_hi == -np.inf:  # outward: the slope is between 0 and -2 alpha
            stride = f / alpha if stride == 0.0 else 2.0 * stride
            trial += stride
            continue
        following = lo + f_lo * ((hi - lo) / (f_lo - f_hi))
        if not lo < following < hi:
            following = 0.5 * (lo + hi)
        if not lo < following < hi:
            break
        if abs(following - trial) <= 1e-16 * abs(trial):
            break
        trial = following
        f_lo, f_hi = (f_lo, 0.5 * f_hi) if f > 0.0 else (0.5 * f_lo, f_hi)  # Illinois
    return trial


@compiled
def solve_block(
    loss: Any,
    K: Matrix,
    y: Vector,
    C: Vector,
    c: Vector,
    s: Vector,
    b: float,
    paired: bool,
    fraction: float,
    max_updates: int,
) -> float:
    """Greedy updates within a block until its best gain is a fraction of the first; return b.

    `s` are the scores of the block without the offset; `c` and `s` are updated in place. The gain
    of a single update is at least k_ii h_i^2 / 2, whatever the loss. With an offset (`paired`)
    coordinates move in pairs along e_i - e_j, so that their sum stays; the partner is the one with
    the largest gain by the quadratic model (second-order choice).
    """
    n = len(y)
    h = np.empty(n)
    alpha_of = np.empty(n)
    aim, slack, first = 0.0, 0.0, 0.0
    for p in range(n):
        alpha_of[p] = 1.0 / K[p, p]
        aim += c[p]
        # The offset need be no more exact than the moves are large.
        slack += 1e-3 * abs(answer(loss, y[p], C[p], c[p], s[p] + b, alpha_of[p]) - c[p])
    for update in range(max_updates):
        if paired and update % 16 == 0:
            b = find_offset(loss, y, C, c, s, alpha_of, aim, b, slack)
        best, i = 0.0, -1
        for p in range(n):
            h[p] = answer(loss, y[p], C[p], c[p], s[p] + b, alpha_of[p]) - c[p]
            gain = K[p, p] * h[p] * h[p]
            if gain > best:
                best, i = gain, p
        if update == 0:
            first = best
        if i < 0 or best <= fraction * first:
            break
        if not paired:
            c[i] += h[i]
            for p in range(n):
                s[p] += h[i] * K[i, p]
            continue
        best, j = 0.0, -1
        pull = K[i, i] * abs(h[i])
        for p in range(n):
            if h[p] * h[i] < 0.0:
                curvature = max(K[i, i] + K[p, p] - 2.0 * K[i, p], 1e-12 * K[i, i])
                gain = (pull + K[p, p] * abs(h[p])) ** 2 / curvature
                if gain > best:
                    best, j = gain, p
        if j < 0:
            if update % 16 == 0:
                break
            b = find_offset(loss, y, C, c, s, alpha_of, aim, b, slack)
            continue
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12 * K[i, i])
        alpha = 2.0 / curvature
        multiplier = pair_offset(loss, y, C, c, s, i, j, alpha, b)
        new_i = answer(loss, y[i], C[i], c[i], s[i] + multiplier, alpha)
        new_j = answer(loss, y[j], C[j], c[j], s[j] + multiplier, alpha)
        step_i, step_j = new_i - c[i], new_j - c[j]
        c[i], c[j] = new_i, new_j
        for p in range(n):
            s[p] += step_i * K[i, p] + step_j * K[j, p]
    return b
