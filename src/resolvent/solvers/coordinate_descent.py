"""Coordinate descent, the non-linear Gauss-Seidel method (paper, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resolvent._costs import STRETCH, worth_threads
from resolvent._random import as_generator
from resolvent._threads import run
from resolvent.grams.base import Chunk
from resolvent.problem import Array, Problem
from resolvent.solvers import sweeps
from resolvent.solvers.iterate import Iteration, Point, Steps

Order = NDArray[np.int64]
RULES = ("permuted", "cyclic", "aitken")
REST = 4  # sweeps, and four times as many where a coordinate is far from its next move
GROUP = 16  # rows that lie together in memory
GROUPED_FROM = 10_000  # rows
OFFSET_STEP = 0.1  # rho, in units of the mean of k_ii


def coordinate_descent(
    problem: Problem, rule: Any = "permuted", random_state: Any = None, shrink: bool = False
) -> Callable[[Point], Steps]:
    """Minimise the dual exactly over one coefficient at a time.

    Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F.
    Iteration: c_i <- S_i(k_i'c / k_ii - c_i), S_i = -J_{1/k_ii}, equation (13) and Algorithms 1
    (state z = Kc) and 2 (state w = X'c), for i in the order that `rule` gives.
    Stopping: `iterate`, by the duality gap or by max |h_i| < tol.
    Convergence: Theorem 4, for every essentially cyclic rule.

    With an unpenalised offset b the constraint sum(c) = 0 is met by proximal-point steps on b: the
    kernel is K + rho 11', and after each sweep b <- b + rho sum(c).

    Where the loss couples the columns of a sample, their coefficients are updated together, which
    is still exact: the rows of K are the same for all of them.

    With `shrink`, coordinates that rest are visited less often, each at least once in 4 REST + 1
    sweeps, so that the rule stays essentially cyclic, and those that move more often.
    Several problems on one kernel are swept in threads.
    """
    if problem.couples == "samples":
        raise ValueError(
            f"The loss {type(problem.loss).__name__} couples all samples, so that there is no "
            "coefficient that could be updated alone: use solver='fixed_point'."
        )
    gram, risk = problem.kernel, problem.risk
    # Rows that lie together in memory are fetched together: twice as fast where there are many,
    # and so is the permutation.
    group = GROUP if gram.n > GROUPED_FROM else 1
    orders = _orders(rule, gram.n, as_generator(random_state), group)

    def steps(point: Point) -> Steps:
        offset = np.zeros((problem.m, risk.n_columns, 3))  # b, sum of c, rho
        if problem.fit_intercept:
            offset[:, :, 2] = OFFSET_STEP * (gram.trace / gram.n or 1.0)
        used, rests = problem.C > 0.0, np.zeros((problem.m, gram.n), np.uint8)
        awake, some_rest = np.empty(gram.n, np.int64), np.zeros(problem.m, np.bool_)
        longest = REST if shrink else 0
        # Largest force of the sweep before, of this one, and visits; force on each coordinate.
        force, forces = np.full((problem.m, 3), np.inf), np.zeros((problem.m, gram.n))
        largest = np.zeros(problem.m)

        def sweep(j: int, chunk: Chunk, states: Array) -> None:
            most = STRETCH // gram.row_cost
            moved: float
            if problem.couples:  # a row hardly ever rests as a whole
                shape = -1, risk.n_columns
                y, c = problem.y[j].reshape(shape), point.coef[j].reshape(shape)
                data = states.reshape(risk.n_columns, -1), y, problem.C[0], c, gram.diagonal
                moved = sweeps.sweep_groups(problem.loss, chunk.panel, *data, offset[j], chunk.part)
                force[j, 2] = len(chunk.part)
            else:
                data = problem.y[j], problem.C[j], point.coef[j], gram.diagonal, offset[j, 0]
                column = sweeps.Column(*data)
                resting = sweeps.Rests(rests[j], longest, most, force[j], forces[j])
                where = problem.loss, chunk.panel, states
                moved = sweeps.sweep(*where, column, chunk.part, resting)
            largest[j] = max(largest[j], moved)
            left = len(chunk.part) * (gram.row_cost - chunk.visit)  # to when the chunk ends
            point.work[j] += force[j, 2] * chunk.visit + left

        iteration = 0
        while True:
            running = point.running
            count = sweeps.wake(running, used, rests, some_rest, awake)
            force[:, 0], force[:, 1], largest[:] = force[:, 1], 0.0, 0.0
            for j in range(problem.m if problem.fit_intercept else 0):
                offset[j, :, 0], offset[j, :, 1] = point.intercept[j], risk.totals(point.coef[j])
            coef = risk.columns(point.coef)
            states = point.state.reshape(len(coef), -1)
            for chunk in gram.chunks(orders(iteration, awake[:count])):
                here = chunk.enter(coef, states).reshape(problem.m, -1)
                items = [(j, chunk, here[j]) for j in running]
                run(sweep, items, parallel=worth_threads(len(chunk.part) * chunk.visit))
                chunk.leave(coef, states)
                yield None
            change = offset[:, :, 2] * offset[:, :, 1]
            point.intercept += change.reshape(point.intercept.shape)
            iteration += 1
            # Nothing has moved, but were all asked? Next time they are.
            size = np.maximum(point.coef.max(axis=1), -point.coef.min(axis=1))
            asleep = some_rest & (largest <= 1e-12 * size)
            rests[asleep], largest[asleep] = 0, np.inf
            # Coefficients may rest at their bounds while the offset still moves.
            drift = np.abs(offset[:, :, 1]).max(axis=1)
            yield Iteration(np.maximum(largest, drift if problem.fit_intercept else 0.0))

    return steps


def _orders(
    rule: Any, n: int, rng: np.random.Generator, group: int = 1
) -> Callable[[int, Order], Order]:
    """Turn a rule into a function from the number of the sweep and those awake to their order.

    The permuted rule leaves `group` consecutive ones of them together.
    """
    if isinstance(rule, str) and rule == "permuted":

        def permuted(_: int, awake: Order) -> Order:
            left = len(awake) % group
            groups = awake[left:].reshape(-1, group)
            return np.concatenate([awake[:left], groups[rng.permutation(len(groups))].ravel()])

        return permuted
    of_sweep = _fixed_orders(rule, n)

    def order(sweep: int, awake: Order) -> Order:
        everyone = of_sweep(sweep)
        return everyone if len(awake) == n else everyone[np.isin(everyone, awake)]

    return order


def _fixed_orders(rule: Any, n: int) -> Callable[[int], Order]:
    """Turn a rule without chance into a function from the number of the sweep to its order."""
    natural = np.arange(n, dtype=np.int64)
    if isinstance(rule, str):
        if rule == "cyclic":
            return lambda _: natural
        if rule == "aitken":
            there_and_back = np.concatenate([natural, natural[-2::-1]])
            return lambda _: there_and_back
        raise ValueError(
            f"rule={rule!r} is unknown; choose one of {', '.join(RULES)}, or give an order: an "
            "array of indices, or a function from the number of the sweep to one."
        )
    if callable(rule):
        return lambda sweep: _checked(rule(sweep), n)
    given = _checked(rule, n)
    return lambda _: given


def _checked(order: ArrayLike, n: int) -> Order:
    """Check that an order is essentially cyclic: each sweep visits every coordinate."""
    given = np.asarray(order)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(
            f"rule must give a one-dimensional array of indices; got shape {given.shape} of "
            f"type {given.dtype}."
        )
    if given.size and (given.min() < 0 or given.max() >= n):
        raise ValueError(f"rule gives indices outside 0..{n - 1}.")
    missing = np.setdiff1d(np.arange(n), given)
    if missing.size:
        raise ValueError(
            f"rule is not essentially cyclic: a sweep leaves out {missing.size} of {n} "
            f"coordinates, the first being {missing[0]}; every sweep must visit each one."
        )
    return given.astype(np.int64)
