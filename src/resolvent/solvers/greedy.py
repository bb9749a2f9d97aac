"""Greedy coordinate descent in blocks: the choice where rows of K are at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent.grams import RowGram
from resolvent.grams.chunks import add_rows
from resolvent.problem import Array, Problem
from resolvent.solvers import blocks, loops
from resolvent.solvers.iterate import Point, Steps

BLOCK = 1024  # coordinates
FIRST_BLOCK = 256  # blocks double in size while they find many coefficients that are not zero
KEEP = 4  # blocks whose rows stay at hand: memory touched for more costs more than it saves
FRACTION = 1e-1  # a block is done when its best gain has fallen by this factor
UPDATE = 8.0  # multiply-adds that an update costs for each coordinate of a block, or more
UNKEPT = 0.2  # how much a gain counts where the row is not at hand


def greedy(problem: Problem) -> Callable[[Point], Steps]:
    """Update the coordinates of the largest gain, a block of them at a time.

    Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F.
    Iteration: take the coordinates with the largest k_ii h_i^2 / 2, a lower bound of the fall of Q
    for any loss (Theorem 4, corrected), fetch their rows of K, solve for them within the block by
    greedy updates, then bring all scores up to date with one product.
    Stopping: `iterate`, by the duality gap or by max |h_i| < tol.

    With an offset the coordinates of a block move in pairs, so that sum(c) = 0 throughout.
    """
    gram = problem.gram
    if not isinstance(gram, RowGram):
        raise ValueError(
            "rule='greedy' needs rows of the kernel matrix, which the linear kernel does not form; "
            "use rule='permuted'."
        )
    diagonal = np.maximum(gram.diagonal, 1e-200)
    size = max(2, min(BLOCK, gram.capacity // 2))

    def steps(point: Point) -> Steps:
        if problem.fit_intercept:
            _start_balanced(problem, point)
        h, free = np.empty(problem.n), np.empty(problem.n, dtype=bool)
        block = [np.empty(0, dtype=np.intp) for _ in range(problem.m)]
        largest = problem.C.sum(axis=1)
        room = np.empty(min(size, problem.n) ** 2, gram.dtype)
        sizes = np.full(problem.m, min(size, FIRST_BLOCK))
        while True:
            last, largest = largest, np.zeros(problem.m)
            for j in point.running:
                args = problem.loss, problem.y[j], problem.C[j], point.coef[j], point.state[j]
                b = 0.0
                if problem.fit_intercept:
                    # The offset need be no more exact than the moves are large.
                    slack = 1e-3 * last[j]
                    b = loops.balance(*args, 1.0 / diagonal, 0.0, point.intercept[j], slack, 0.0)
                blocks.moves(*args, b, diagonal, h, free)
                largest[j] = np.abs(h).max()
                # Those that were just moved may have to answer the moves of others: without them
                # blocks would undo each other's work.
                gain = diagonal * h * h
                stay = block[j][free[block[j]]]
                stay = stay[np.argsort(-gain[stay], kind="stable")][: sizes[j] // 2]
                gain[stay] = 0.0
                come = _choose(gain, h, gram.kept, sizes[j] - len(stay), problem.fit_intercept)
                block[j] = np.sort(np.concatenate([come, stay]))
                point.intercept[j] = _solve_block(problem, point, j, block[j], b, room)
                if 2 * np.count_nonzero(point.coef[j, block[j]]) > len(block[j]):
                    sizes[j] = min(size, 2 * sizes[j])
                yield None
            yield largest

    return steps


def _start_balanced(problem: Problem, point: Point) -> None:
    """Make the coefficients sum to zero, which pairs then keep."""
    for j in range(problem.m):
        if abs(point.coef[j].sum()) > 1e-12 * np.abs(point.coef[j]).sum():
            scores = problem.gram.scores(point.state[j : j + 1])[0]
            point.coef[j], point.intercept[j] = problem.resolvent_step(j, point.coef[j], scores)
            point.state[j] = problem.gram.state(point.coef[j : j + 1])[0]


def _choose(
    gain: Array, h: Array, kept: NDArray[np.bool_], room: int, paired: bool
) -> NDArray[np.intp]:
    """Take the coordinates of the largest gain; with pairs as many upwards as downwards.

    Rows are computed only where those at hand promise little, and then many at a time, which is
    much faster than few.
    """
    sides = [h > 0.0, h < 0.0] if paired else [h != 0.0]
    at_hand = [np.where(kept & side, gain, 0.0) for side in sides]
    if min(side.max() for side in at_hand) < UNKEPT * gain.max():
        at_hand = [np.where(side, gain, 0.0) for side in sides]
    return np.concatenate([_best(side, room // len(sides)) for side in at_hand])


def _best(gain: Array, room: int) -> NDArray[np.intp]:
    """Find the largest positive elements, at most `room` of them."""
    which = np.flatnonzero(gain)
    if len(which) <= room:
        return which
    return which[np.argpartition(gain[which], -room)[-room:]]


def _solve_block(
    problem: Problem, point: Point, j: int, block: NDArray[np.intp], b: float, room: NDArray[Any]
) -> float:
    """Solve within a block and bring all scores up to date; return the offset found in it.

    `room` is memory for the block's part of K: to touch fresh memory each time takes as long.
    """
    if len(block) == 0:
        return b
    gram, loss = problem.gram, problem.loss
    assert isinstance(gram, RowGram)
    rows, slot = gram.fetch(block, KEEP * BLOCK * problem.m)
    where = slot[block]
    room = room[: len(block) ** 2].reshape(len(block), -1)
    z, before = point.state[j], point.coef[j, block]
    coef, scores = before.copy(), z[block]
    b, updates = blocks.solve_block(
        loss,
        room,
        rows,
        where,
        block,
        gram.diagonal,
        problem.y[j, block],
        problem.C[j, block],
        coef,
        scores,
        b,
        problem.fit_intercept,
        4.0 * float(np.finfo(gram.dtype).eps),
        FRACTION,
        20 * len(block),
    )
    point.work[j] += float(len(block)) * (gram.row_cost + UPDATE * updates)
    change = coef - before
    point.coef[j, block] = coef
    moved = np.flatnonzero(change)
    add_rows(z, change[moved], rows, where[moved])
    return b
