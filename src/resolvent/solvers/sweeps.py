"""The compiled sweeps of coordinate descent, for every loss and every kind of kernel matrix.

The names are those of :mod:`resolvent.problem.sums`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from resolvent._jit import axpy, borrowed, compiled, dot, plain, resolvent, unowned
from resolvent.problem.groups import Rows, answer
from resolvent.problem.sums import SHARP, Vector

AGAIN = 4  # visits to a few coordinates, for each visit of a sweep
CALM = 0.5  # to which share of it the force of a sweep is brought down before the next
EDGE = 0.3  # of the force: how far from its next move a coordinate may rest
FARTHER = 30.0  # times that, and it may rest longer
QUIET = 0.01  # of the force: who was off by less is not among the few


class Column(NamedTuple):
    """One problem, as a sweep sees it."""

    y: Vector
    C: Vector
    c: Vector
    diagonal: Vector  # of K
    offset: Vector  # (b, sum of c, rho)


class Rests(NamedTuple):
    """What sweeps leave for those after them: who rests, and how far off each was."""

    counts: NDArray[np.uint8]  # sweeps that a coordinate is left out of
    longest: int  # as a rule; 0 if none rests
    most: int  # visits beyond one for each coordinate
    force: Vector  # the largest in the sweep before, in this one so far, and its number of visits
    forces: Vector  # on each coordinate


@plain
def wake(
    running: NDArray[np.intp],
    used: NDArray[np.bool_],
    rests: NDArray[np.uint8],
    some_rest: NDArray[np.bool_],
    awake: NDArray[np.int64],
) -> int:
    """Begin a sweep: put those that it visits in `awake`, and return how many they are.

    `used` and `rests` have a row for each problem, of which some are `running`; who is awake in one
    of them is visited. Whoever rests is one sweep nearer to being awake.
    """
    asleep = np.ones(len(awake), np.bool_)
    for j in running:
        its_rests, its_used, some = rests[j], used[j], False
        for i in range(len(awake)):
            rest = its_rests[i] > 0
            asleep[i] &= rest | (not its_used[i])
            some |= rest
            its_rests[i] -= np.uint8(rest)
        some_rest[j] = some
    count = 0
    for i in range(len(awake)):
        awake[count] = i
        count += not asleep[i]
    return count


@register_jitable(inline="always")  # a call, with all these arrays, would cost more than it does
def update(
    loss: Any, panel: Any, state: Vector, column: Column, i: int, margin: float
) -> tuple[float, int]:
    """Equation (13) of the paper for one coordinate; return by how much it moved.

    And whether it rests: it would not have moved either had its score been `margin` more or less;
    2 if FARTHER margins would not have moved it.
    """
    y, C, c, diagonal, offset = column
    k = diagonal[i] + offset[2]
    s = dot(panel, state, i) + offset[0] + offset[2] * offset[1]
    a = min(1.0 / (k * C[i]), SHARP)
    v = a * s - c[i] / C[i]
    u = resolvent(loss, y[i], v, a)
    new = -C[i] * u
    h = new - c[i]
    rests = 0
    if h == 0.0 and margin < np.inf:
        beside = a * margin
        while rests < 2 and (
            resolvent(loss, y[i], v - beside, a) == u == resolvent(loss, y[i], v + beside, a)
        ):
            rests += 1
            beside *= FARTHER
    elif h != 0.0:
        axpy(panel, state, i, h)
        c[i] = new  # c[i] + h might miss a bound by rounding
        offset[1] += h
    return h, rests


@compiled
def sweep(
    loss: Any, panel: Any, state: Vector, column: Column, order: NDArray[np.int64], rests: Rests
) -> float:
    """Algorithms 1 and 2 of the paper: update the coordinates in `order`, return max |h_i|.

    `state` is z = Kc or w = X'c, as `panel` has it. The offset adds b + rho sum(c) to each score,
    which is the kernel K + rho 11' and a shift by b.

    Shrinking: the force on a coordinate is the score by which it was off when it was
    visited last in a sweep, k_ii |h_i|. As a rule some hundreds of them have nearly all of it, so
    that those with more than QUIET times the largest are visited first, fewer and fewer of them, by
    AGAIN visits for each of the sweep and `most` in all, until the force is CALM times what it was.
    Then all are. One that is EDGE times the largest force away from its next move, at a bound of
    the dual as a rule, is left out of the next `longest` sweeps, or four times as many if it is
    FARTHER times that away.
    """
    panel, state, C = borrowed(panel), unowned(state), unowned(column.C)
    others = unowned(column.c), unowned(column.diagonal), unowned(column.offset)
    column = Column(unowned(column.y), C, *others)
    counts, longest, most, force, forces = rests
    all_of_them, loud = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    count, some, last = 0, 0, force[0]
    for i in order:
        if counts[i] == 0 and C[i] > 0.0:
            all_of_them[count] = i
            count += 1
            if forces[i] > QUIET * last:
                loud[some] = i
                some += 1
    largest, made, is_last = 0.0, 0, False
    visits = min(AGAIN * count, most) if longest > 0 else 0
    while not is_last:
        is_last = not (0 < some <= visits - made and last > CALM * force[0])
        which, some = (all_of_them, count) if is_last else (loud, some)
        made += some
        margin = EDGE * last if longest > 0 else np.inf
        quiet, last, left = QUIET * last, 0.0, 0
        for p in range(some):
            i = which[p]
            h, calm = update(loss, panel, state, column, i, margin)
            off = abs(h) * column.diagonal[i]
            largest, last = max(largest, abs(h)), max(last, off)
            if is_last:
                forces[i], counts[i] = off, calm * calm * longest
            elif off > quiet:
                loud[left] = i
                left += 1
        some = left
    force[1], force[2] = max(force[1], last), made
    return largest


@compiled
def sweep_groups(
    loss: Any,
    panel: Any,
    states: Rows,
    y: Rows,
    C: Vector,
    c: Rows,
    diagonal: Vector,
    offset: Rows,
    order: NDArray[np.int64],
) -> float:
    """Equation (13) of the paper with a row of coefficients, of one sample, in the place of one.

    `states` has a row for each class; a row of ``offset`` is (b, sum of c, rho) of a class.
    """
    largest = 0.0
    k = len(states)
    s = np.empty(k)
    rho = offset[0, 2]
    for i in order:
        if C[i] == 0.0:
            continue
        for j in range(k):
            s[j] = dot(panel, states[j], i) + offset[j, 0] + rho * offset[j, 1]
        new = answer(loss, y[i], C[i], c[i], s, 1.0 / (diagonal[i] + rho))
        for j in range(k):
            h = new[j] - c[i, j]
            if h != 0.0:
                axpy(panel, states[j], i, h)
                c[i, j] = new[j]
                offset[j, 1] += h
                largest = max(largest, abs(h))
    return largest
