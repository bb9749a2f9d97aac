"""Compiled loops of the greedy method: how far each coordinate would move, and one block solved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from resolvent._jit import compiled, resolvent, slope
from resolvent.problem import EPS
from resolvent.solvers.loops import SHARP, Vector, answer, find_offset

Matrix = NDArray[Any]  # float32 or float64
Index = NDArray[np.int64]

OFFSET_EVERY = 64  # updates: the choice of pairs needs the offset only roughly
PAIR_TURNS = 40  # evaluations of a pair at most; two to five are common
ROUNDING = 4 * EPS
PAIR_TOL = 1e-2  # of a move of a pair that need not sum to anything
STUCK = 1e-9  # a partner that can move by so little of what is wanted is at its bound
INDEX_BITS = np.int64(0xFFF)


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
    for _ in range(PAIR_TURNS):
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


@register_jitable
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
    for _ in range(PAIR_TURNS):
        new_j = answer(loss, y[j], C[j], c[j], s[j] + (t - c[i]) * k_ij, 1.0 / k_j)
        new_i = answer(loss, y[i], C[i], c[i], s[i] + (new_j - c[j]) * k_ij, 1.0 / k_i)
        f = new_i - t
        if most * abs(f) <= PAIR_TOL * abs(new_i - c[i]):
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


@register_jitable
def largest(x: Vector) -> int:
    """Return where the largest of at most 4096 elements is, none of which is negative.

    Such numbers are ordered as their bits are, of which the last are spare for the index: so it is
    a maximum of integers, which compilers vectorise, six times as fast.
    """
    bits = x.view(np.int64)
    best = np.int64(0)
    for p in range(x.size):
        best = max(best, (bits[p] & ~INDEX_BITS) | p)
    return int(best & INDEX_BITS)


@register_jitable
def row_within(
    K: Matrix, here: NDArray[np.bool_], rows: Matrix, where: Index, columns: Index, i: int
) -> Any:
    """Row i of the kernel matrix of a block, copied from that of K when first asked for."""
    row = K[i]
    if not here[i]:
        source = rows[where[i]]
        for p in range(row.size):
            row[p] = source[columns[p]]
        here[i] = True
    return row


@compiled
def solve_block(
    loss: Any,
    K: Matrix,
    rows: Matrix,
    where: Index,
    columns: Index,
    diagonal: Vector,
    y: Vector,
    C: Vector,
    c: Vector,
    s: Vector,
    b: float,
    paired: bool,
    noise: float,
    fraction: float,
    max_updates: int,
) -> tuple[float, int]:
    """Greedy updates within a block until its best gain is a fraction of the first.

    Returns b and the number of updates.

    The block is of the coordinates `columns`, whose rows of the kernel matrix are rows[where]; `K`
    is room for those of its entries that are needed.
    `s` are the scores of the block without the offset; `c` and `s` are updated in place. The gain
    of a single update is at least k_ii h_i^2 / 2, whatever the loss. Coordinates move in pairs: the
    first by that gain, its partner by the largest gain of both together in the quadratic model
    (second-order choice). With an offset (`paired`) they move along e_i - e_j, so that their sum
    stays. Curvatures of less than `noise`, relative to k_ii, are rounding.
    """
    n = len(y)
    h, gain = np.empty(n), np.empty(n)
    k, alpha, a, u = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    here = np.zeros(n, np.bool_)
    aim, slack, first = 0.0, 0.0, -1.0
    for p in range(n):
        k[p], u[p], aim = diagonal[columns[p]], c[p] / C[p], aim + c[p]
        alpha[p] = 1.0 / k[p]
        a[p] = min(alpha[p] / C[p], SHARP)
        # The offset need be no more exact than the moves are large.
        slack += 1e-3 * abs(answer(loss, y[p], C[p], c[p], s[p] + b, alpha[p]) - c[p])
    fresh = 0  # updates until the offset is found anew
    updates = 0
    while updates < max_updates:
        if paired and fresh == 0:
            b = find_offset(loss, y, C, c, s, alpha, aim, b, slack, 0.0)
            fresh = OFFSET_EVERY
        for p in range(n):  # answer(), without its divisions
            h[p] = -C[p] * (resolvent(loss, y[p], a[p] * (s[p] + b) - u[p], a[p]) + u[p])
            gain[p] = k[p] * h[p] * h[p]
        i = largest(gain)
        if first < 0.0:
            first = gain[i]
        done = gain[i] <= fraction * first
        updates += 1
        if done and (not paired or fresh == OFFSET_EVERY):
            break
        k_i, h_i, row_i = k[i], h[i], row_within(K, here, rows, where, columns, i)
        if paired:
            for p in range(n):
                pull = k_i * h_i - k[p] * h[p]
                curvature = max(k_i + k[p] - 2.0 * row_i[p], noise * k_i)
                gain[p] = (h[p] * h_i < -STUCK * h_i * h_i) * (pull * pull / curvature)
            j = largest(gain)
            if done or gain[j] <= 0.0:
                if fresh == OFFSET_EVERY:
                    break
                fresh = 0  # with an offset of before there may seem to be nothing left
                continue
            curvature = max(k_i + k[j] - 2.0 * row_i[j], noise * k_i)
            new_i, new_j = pair_along(loss, y, C, c, s, i, j, curvature, b)
        else:
            # What is left for each once i has moved, and more where i can answer.
            answers = slope(loss, y[i], a[i] * s[i] - u[i], a[i]) / k_i
            for p in range(n):
                v = a[p] * (s[p] + h_i * row_i[p]) - u[p]
                h[p] = C[p] * (resolvent(loss, y[p], v, a[p]) + u[p])
                apart = max(k[p] - answers * row_i[p] * row_i[p], noise * k[p])
                gain[p] = k[p] * h[p] * h[p] * (k[p] / apart)
            gain[i] = 0.0
            j = largest(gain)
            new_i, new_j = c[i] + h_i, c[j]
            # Where K is not positive on the two, there may be no minimum over both.
            if gain[j] > 0.0 and row_i[j] * row_i[j] <= (1.0 + noise) * k_i * k[j]:
                new_i, new_j = pair_apart(loss, y, C, c, s, i, j, k_i, k[j], row_i[j])
        row_j = row_within(K, here, rows, where, columns, j)
        step_i, step_j = new_i - c[i], new_j - c[j]
        c[i], c[j], u[i], u[j] = new_i, new_j, new_i / C[i], new_j / C[j]
        for p in range(n):
            s[p] += step_i * row_i[p] + step_j * row_j[p]
        fresh -= 1
    return b, updates
