"""Greedy coordinate descent in blocks: the choice where rows of K are at hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from resolvent._costs import THREADS_FROM
from resolvent.problem import Problem
from resolvent.solvers import blocks
from resolvent.solvers.choice import Column
from resolvent.solvers.free import FreeStep
from resolvent.solvers.iterate import Iteration, Point, Steps

BLOCK = 2048  # coordinates, at most
SHARE = 8  # of a small problem a block is this part: the copy of its own K grows as its square
FIRST_BLOCK = 256  # blocks double in size while they find many coefficients that are not zero
KEEP = 2  # blocks whose rows stay at hand: fresh memory for more costs more than it saves


def greedy(problem: Problem, tol: float = 0.0, accelerate: bool = True) -> Callable[[Point], Steps]:
    """Update the coordinates of the largest gain, a block of them at a time.

    Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F.
    Iteration: take the coordinates with the largest k_ii h_i^2 / 2, a lower bound of the fall of Q
    for any loss (Theorem 4, corrected), fetch their rows of K, solve for them within the block by
    greedy updates, then bring all scores up to date with one product. Where that is a trifle, as
    many blocks as make up about a millisecond are one iteration.
    Stopping: `iterate`, by the duality gap or by max |h_i| < tol. An iteration of several blocks
    also ends where the gap seems to be within `tol`.

    With an offset the coordinates of a block move in pairs, so that sum(c) = 0 throughout. With
    `accelerate` all free coordinates move at once, by a Newton step, where blocks get on slowly.
    """
    if problem.couples:
        raise ValueError(
            f"rule='greedy' is for losses of one score, which {type(problem.loss).__name__} is "
            "not: use solver='auto' and leave the rule at its default."
        )
    gram = problem.gram.rows
    if gram is None:
        raise ValueError(
            "rule='greedy' needs rows of the kernel matrix, which the linear kernel does not form; "
            "use rule='permuted'."
        )
    # A row of zeros answers the offset by a jump, which no float may be on; so it is a steep slope.
    alpha = 1.0 / np.maximum(gram.diagonal, 1e-12 * gram.trace / gram.n + 1e-200)
    share = max(2 * FIRST_BLOCK, problem.n // SHARE)
    size = max(2, min(BLOCK, share, gram.capacity // 2))
    room = np.empty(min(size, problem.n) ** 2, gram.dtype)
    none, noise = np.empty(0, np.int64), 4.0 * float(np.finfo(gram.dtype).eps)
    out, change = np.empty((3, size), np.int64), np.empty(size)

    def steps(point: Point) -> Steps:
        if problem.fit_intercept:
            _start_balanced(problem, point)
        before, block = [none] * problem.m, [none] * problem.m  # solved last, and to be solved
        sizes = np.full(problem.m, min(size, FIRST_BLOCK))
        largest = problem.C.sum(axis=1)
        free = [FreeStep(problem, j, gram.capacity) for j in range(problem.m)]

        def rows_to_keep(j: int) -> int:
            """Rows of the last blocks, or of all free coordinates if that is more."""
            last = KEEP * BLOCK * problem.m
            there, new = gram.at_hand, len(block[j])
            if new == 0 or there == gram.n or there + new <= last:
                return last
            count = free[j].count(point.coef[j], point.state[j] + point.intercept[j])
            return max(last, count + BLOCK)

        def go(j: int) -> bool:
            """Solve the block that waits and choose the next; false if that was put off."""
            held = gram.fetch(block[j], rows_to_keep(j))
            fills = problem.n * size > THREADS_FROM and gram.fill(block[j], room)
            *counts, b, largest[j], sizes[j], within, beyond = blocks.advance(
                problem.loss,
                Column(problem.y[j], problem.C[j], point.coef[j], point.state[j], alpha),
                point.intercept[j],
                held,
                room,
                blocks.Blocks(before[j], block[j], sizes[j], size),
                blocks.Rules(problem.fit_intercept, noise, bool(fills), float(tol)),
                largest[j],
                out,
                change,
            )
            before[j], block[j], moved = (out[k, : counts[k]].copy() for k in range(3))
            point.intercept[j] = b
            point.work[j] += within + beyond
            free[j].work += within
            if len(moved):
                held.add_to(point.state[j], change[: len(moved)], moved)
            return len(moved) == 0

        def go_free(j: int) -> None:
            """Move all free coordinates at once, where that is worth it."""
            if not free[j].is_due:
                return
            held = gram.fetch(none, gram.capacity)  # all that are at hand
            c, z, b = point.coef[j], point.state[j], float(point.intercept[j])
            step = free[j].take(c, z, b, held)
            if step is not None:
                which, new, point.intercept[j] = step
                held.add_to(z, new - c[which], which)
                c[which] = new
                block[j] = none  # was chosen before

        for j in point.running:
            go(j)
        while True:
            for j in point.running:
                go(j) or go(j)
                yield None
                if accelerate:
                    go_free(j)
            yield Iteration(largest.copy())

    return steps


def _start_balanced(problem: Problem, point: Point) -> None:
    """Make the coefficients sum to zero, which pairs then keep."""
    for j in range(problem.m):
        if abs(point.coef[j].sum()) > 1e-12 * np.abs(point.coef[j]).sum():
            scores = problem.gram.scores(point.state[j : j + 1])[0]
            point.coef[j], point.intercept[j] = problem.resolvent_step(j, point.coef[j], scores)
            point.state[j] = problem.gram.state(point.coef[j : j + 1])[0]
