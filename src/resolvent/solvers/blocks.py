"""Compiled loops of the greedy method: a block solved, and those that follow at little cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._costs import BLOCK_PASS, ITERATION, THREADS_FROM, UPDATE
from resolvent._jit import bits_of, compiled, inner, resolvent, slope
from resolvent.grams.panels import add_held_rows, has_row, row_of
from resolvent.problem.certificate import dual_of, is_within, primal_of
from resolvent.problem.sums import SHARP, Vector, answer, find_offset, sums
from resolvent.solvers.choice import Column, Index, choose
from resolvent.solvers.pairs import pair_along, pair_apart

Matrix = NDArray[Any]  # float32 or float64

FRACTION = 1e-1  # a block is done when its best gain has fallen by this factor,
SOFTER = 0.4  # or by more: plus so much of what the slopes of free resolvents lack of 1
MAX_UPDATES = 8  # for each coordinate of a block
OFFSET_EVERY = 64  # updates: the choice of pairs needs the offset only roughly
STUCK = 1e-9  # a partner that can move by so little of what is wanted is at its bound
INDEX_BITS = np.int64(0xFFF)


class Rules(NamedTuple):
    """How blocks are solved."""

    paired: bool  # whether there is an offset, so that coordinates move along e_i - e_j
    noise: float  # curvatures below this, relative to k_ii, are rounding
    filled: bool  # whether the caller has put all of a block's matrix into the room for it
    tol: float  # relative gap at which there is no next block


class Blocks(NamedTuple):
    """Where the choice of blocks is."""

    before: Index  # solved last
    block: Index  # to be solved; empty before the first is chosen
    size: int  # of the next,
    most: int  # and of any


@inner
def largest(x: Vector) -> int:
    """Return where the largest of at most 4096 elements is, none of which is negative.

    Such numbers are ordered as their bits are, of which the last are spare for the index: so it is
    a maximum of integers, which compilers vectorise, six times as fast.
    """
    best = np.int64(0)
    for p in range(x.size):
        best = max(best, (bits_of(x[p]) & ~INDEX_BITS) | p)
    return int(best & INDEX_BITS)


@inner
def row_within(K: Matrix, here: NDArray[np.bool_], held: Any, block: Index, i: int) -> Any:
    """Row i of the kernel matrix of a block, copied from that of K when first asked for."""
    row = K[i]
    if not here[i]:
        source = row_of(held, block[i])
        for p in range(row.size):
            row[p] = source[block[p]]
        here[i] = True
    return row


@inner
def solve_block(
    loss: Any, column: Column, b: float, held: Any, room: Matrix, block: Index, rules: Rules
) -> tuple[float, int, Index, Vector]:
    """Greedy updates within a block until its best gain is a fraction of the first.

    Where the loss itself is curved, coordinates answer each other less: a block is left sooner.

    Returns the offset, the number of updates, and which coordinates moved by how much. Their
    coefficients are updated in place; the scores, without the offset, are left to the caller.

    Rows of the kernel matrix are those `held`; `room` is for the entries of the block's own matrix
    that are needed, unless it is filled with all of them. The gain of a single update is at least
    k_ii h_i^2 / 2, whatever the loss.
    Coordinates move in pairs: the first by that gain, its partner by the largest gain of both
    together in the quadratic model (second-order choice). With an offset they move along e_i - e_j,
    so that their sum stays.
    """
    all_y, all_C, all_c, all_z, all_alpha = column
    paired, noise, filled, _ = rules
    n, max_updates = len(block), MAX_UPDATES * len(block)
    K = room[: n * n].reshape(n, n)
    y = np.empty(n, all_y.dtype)  # complex where rows have offsets
    C, c, s, k = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    h, gain, alpha, a, u = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    here = np.full(n, filled)
    aim, slack, first = 0.0, 0.0, -1.0
    free, slopes = 0, 0.0
    for p in range(n):
        i = block[p]
        y[p], C[p], c[p], s[p], alpha[p] = all_y[i], all_C[i], all_c[i], all_z[i], all_alpha[i]
        k[p], u[p], aim = 1.0 / alpha[p], c[p] / C[p], aim + c[p]
        a[p] = min(alpha[p] / C[p], SHARP)
        # The offset need be no more exact than the moves are large.
        slack += 1e-3 * abs(answer(loss, y[p], C[p], c[p], s[p] + b, alpha[p]) - c[p])
        d = slope(loss, y[p], a[p] * (s[p] + b) - u[p], a[p])
        free, slopes = free + (d > 0.0), slopes + d
    fraction = FRACTION + SOFTER * (1.0 - slopes / free if free > 0 else 0.0)
    fresh = 0  # updates until the offset is found anew
    updates = 0
    while updates < max_updates:
        if paired and fresh == 0:
            b = find_offset(loss, y, C, c, s, alpha, aim, b, slack, 0.0, 0.0)
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
        k_i, h_i, row_i = k[i], h[i], row_within(K, here, held, block, i)
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
        row_j = row_within(K, here, held, block, j)
        step_i, step_j = new_i - c[i], new_j - c[j]
        c[i], c[j], u[i], u[j] = new_i, new_j, new_i / C[i], new_j / C[j]
        for p in range(n):
            s[p] += step_i * row_i[p] + step_j * row_j[p]
        fresh -= 1
    count = 0
    moved, change = np.empty(n, np.int64), np.empty(n)
    for p in range(n):
        i = block[p]
        if c[p] != all_c[i]:
            moved[count], change[count] = i, c[p] - all_c[i]
            all_c[i] = c[p]
            count += 1
    return b, updates, moved[:count], change[:count]


@compiled
def advance(
    loss: Any,
    column: Column,
    b: float,
    held: Any,
    room: Matrix,
    blocks: Blocks,
    rules: Rules,
    last: float,
    out: Index,
    out_change: Vector,
) -> tuple[int, int, int, float, float, int, float, float]:
    """Solve a block and choose the next; go on so while they are small and their rows at hand.

    It ends after a bounded time, or where the gap is within the tolerance with the offset at hand,
    or with the next block if the caller fills them. Blocks double in size, as far as they may,
    while most of their coefficients are not zero.

    In the rows of `out` are then the block solved last, the next, and which coordinates moved, by
    how much (`out_change`), where the scores have not followed: that is left to the caller, and the
    next block is empty. Returns the lengths of the three, the offset, the largest move before the
    next block, its size, the multiply-adds within blocks, and those for the scores of all. (No
    arrays: for those Numba calls Python functions, where an interrupt would become an error.)
    """
    y, C, c, z, _ = column
    before, block, size, most = blocks
    n, within, beyond, overhead = len(y), 0.0, 0.0, 0.0
    while True:
        if len(block) > 0:
            b, updates, moved, change = solve_block(loss, column, b, held, room, block, rules)
            within += UPDATE * len(block) * updates
            beyond += len(block) * n
            overhead += BLOCK_PASS
            nonzero = 0
            for i in block:
                nonzero += 1 if c[i] != 0.0 else 0
            if 2 * nonzero > len(block):
                size = min(most, 2 * size)
            if len(moved) * n > THREADS_FROM:
                counts = put(block, out[0]), 0, put(moved, out[2])
                put(change, out_change)
                return *counts, b, last, size, within, beyond
            add_held_rows(held, moved, change, z)
            before = block
        block, b, last = choose(loss, column, b, held, before, size, rules.paired, last)
        enough = within + beyond + overhead > ITERATION
        ended = enough or rules.filled or not at_hand(held, block)
        if ended or is_done(rules.tol, loss, y, C, c, z, b):
            counts = put(before, out[0]), put(block, out[1]), 0
            return *counts, b, last, size, within, beyond


@inner
def put(values: Any, out: Any) -> int:
    """Copy values to the head of an array; return how many."""
    for p in range(len(values)):
        out[p] = values[p]
    return len(values)


@inner
def at_hand(held: Any, block: Index) -> bool:
    """Whether all rows of a block are there, and it is not empty."""
    for i in block:
        if not has_row(held, i):
            return False
    return len(block) > 0


@inner
def is_done(tol: float, loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float) -> bool:
    """Whether the gap with offset b is within the tolerance, where scores are exact."""
    losses, conjugates, products, _ = sums(loss, y, C, c, z, b)
    left_over = 0.0
    for i in range(len(c)):
        left_over += b * c[i]
    primal, dual = primal_of(losses, products), dual_of(conjugates, products, left_over)
    return is_within(primal, dual, tol)
