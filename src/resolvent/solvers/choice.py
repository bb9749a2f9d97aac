"""Which coordinates the greedy method moves next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import inner, slope
from resolvent.grams.panels import has_row
from resolvent.problem.sums import SHARP, Vector, answer, find_offset

Index = NDArray[np.int64]


class Column(NamedTuple):
    """One problem, as the compiled loops of the greedy method see it."""

    y: Vector
    C: Vector
    c: Vector
    z: Vector  # scores, without the offset
    alpha: Vector  # 1 / k_ii


UNKEPT = 0.2  # how much a gain counts where the row is not at hand
OUT = -1.0
OFFSET = 1e-3  # of the moves: the offset need be no more exact than they are large


@inner
def least_of_best(values: Vector, room: int) -> float:
    """Find the least of the `room` largest values, which are brought out of order."""
    lo, hi, k = 0, len(values) - 1, len(values) - room
    while lo < hi:  # quickselect
        pivot = values[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return values[k]


@inner
def take_best(gain: Vector, room: int, inside: NDArray[np.bool_]) -> int:
    """Mark those of the largest gain, at most `room`; OUT is not a gain.

    Returns how many.
    """
    values, count = np.empty(len(gain)), 0
    for i in range(len(gain)):
        if gain[i] > OUT:
            values[count] = gain[i]
            count += 1
    least, ties = OUT, 0
    if count > room:
        least, ties = (least_of_best(values[:count], room), room) if room > 0 else (np.inf, 0)
        for p in range(count):
            ties -= values[p] > least
    for i in range(len(gain)):
        if gain[i] > least:
            inside[i] = True
        elif gain[i] == least and ties > 0:
            inside[i] = True
            ties -= 1
    return min(room, count)


@inner
def places(inside: NDArray[np.bool_]) -> Index:
    """Give the indices of those that are marked."""
    result, count = np.empty(len(inside), np.int64), 0
    for i in range(len(inside)):
        if inside[i]:
            result[count] = i
            count += 1
    return result[:count]


@inner
def choose(
    loss: Any,
    column: Column,
    b: float,
    held: Any,
    before: Index,
    size: int,
    paired: bool,
    last: float,
) -> tuple[Index, float, float]:
    """Choose the coordinates of the next block, as many upwards as downwards if they are `paired`.

    Returns them in order, the offset, and the largest move, that before being `last`.

    The gain of a move h alone is at least k_ii h^2 / 2. Half of the block at most is of the one
    `before`: those that were just moved may have to answer the moves of others, and without them
    blocks would undo each other's work. Rows that are not `held` are asked for only where those at
    hand promise little, and then many at a time, which is much faster than few.
    """
    y, C, c, z, alpha = column
    n = len(y)
    if paired:
        b = find_offset(loss, y, C, c, z, alpha, 0.0, b, OFFSET * last, 0.0, 0.0)
    up, down, free = np.empty(n), np.empty(n), np.empty(n)
    inside = np.zeros(n, np.bool_)
    largest = 0.0
    for i in range(n):
        up[i] = down[i] = free[i] = OUT
        if C[i] > 0.0:
            h = answer(loss, y[i], C[i], c[i], z[i] + b, alpha[i]) - c[i]
            largest = max(largest, abs(h))
            if h > 0.0 or not paired:
                up[i] = h * h / alpha[i]
            else:
                down[i] = h * h / alpha[i]
    for i in before:
        a = min(alpha[i] / C[i], SHARP)
        if slope(loss, y[i], a * (z[i] + b) - c[i] / C[i], a) > 0.0:
            free[i] = max(up[i], down[i])
    room = size - take_best(free, size // 2, inside)
    most, most_up, most_down = 0.0, 0.0, 0.0  # of all, and of those at hand
    for i in range(n):
        if inside[i] or max(up[i], down[i]) <= 0.0:
            up[i] = down[i] = OUT
        most = max(most, up[i], down[i])
        if has_row(held, i):
            most_up, most_down = max(most_up, up[i]), max(most_down, down[i])
    if most_up >= UNKEPT * most and (most_down >= UNKEPT * most or not paired):
        for i in range(n):
            if not has_row(held, i):
                up[i] = down[i] = OUT
    if paired:
        room //= 2
    take_best(up, room, inside)
    take_best(down, room, inside)
    return places(inside), b, largest
