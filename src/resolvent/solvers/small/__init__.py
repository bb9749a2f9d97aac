"""Small problems: from the data to a certified solution in one compiled call.

What such a fit costs in the loop of `iterate` is the work of the interpreter. Here a compiled call
solves all columns and certifies them, with no limit of time and no callback but a budget of work.
What has not reached its tolerance then goes on in that loop, from where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent.grams.base import read_only
from resolvent.problem import Array, Problem, Record, Solution, Status
from resolvent.problem.certificate import within
from resolvent.solvers.small import kernel, linear
from resolvent.solvers.small.bounds import AT, DUAL, FIELDS, FLOOR, PRIMAL, STEP, WORK

LARGEST = 2000  # rows of a kernel matrix
COLUMNS = 130  # of a linear kernel,
ELEMENTS = 115_000  # and elements of X
BUDGET = 4e7  # visits of coordinates, some 50 ms,
LINEAR_BUDGET = 1e9  # or multiply-adds, some 100 ms
SOON = 0.2  # seconds: who gives less time, or
FEW = 100  # fewer iterations, wants to see each of them


def solve_small(
    problem: Problem, coef: Array, tol: float, max_iter: int | None, clock: Clock
) -> Solution | Array:
    """Solve a small problem from `coef` on; coefficients to go on from where that is not enough."""
    some_time = clock.limit is None or clock.limit >= SOON
    asked = tol <= 0.0 or not some_time or (max_iter is not None and max_iter < FEW)
    if problem.couples or asked or np.iscomplexobj(problem.y):  # offsets of rows
        return coef
    X = problem.gram.features(ELEMENTS, COLUMNS) if problem.gram is problem.given else None
    K = None
    if X is None and not getattr(problem.loss, "iterative", False):
        K = problem.gram.dense(LARGEST)
    if X is None and K is None:
        return coef
    start = coef
    coef, scores, bounds = coef.copy(), np.zeros(coef.shape), np.zeros((2, problem.m, FIELDS))
    weights = None
    if X is not None:
        weights = _solve_weights(problem, X, tol, coef, scores, bounds)
    else:
        _solve_kernel(problem, K, tol, coef, scores, bounds)
    found = conclude(problem, tol, clock, coef, weights, scores, bounds)
    if isinstance(found, Solution):
        return found
    # Where K is not positive semidefinite coefficients may have run to where squares overflow.
    return np.where(np.isfinite(bounds[1, :, PRIMAL])[:, None], found, start)


def _solve_kernel(
    problem: Problem, K: Any, tol: float, coef: Array, scores: Array, bounds: Array
) -> None:
    gram = problem.gram
    alpha = 1.0 / np.maximum(gram.diagonal, 1e-12 * gram.trace / gram.n + 1e-200)
    limits = kernel.Limits(tol, BUDGET, float(np.finfo(gram.dtype).eps) + gram.noise)
    count = np.count_nonzero(problem.C, axis=1)
    space = np.empty(int(count[count < gram.n].max(initial=0)) ** 2)  # for rows of a part of K
    memory, paired = (space, read_only(space)), problem.fit_intercept
    data = problem.loss, K, alpha, problem.y, problem.C
    kernel.solve_columns(*data, memory, paired, limits, coef, scores, bounds)


def _solve_weights(
    problem: Problem, X: Array, tol: float, coef: Array, scores: Array, bounds: Array
) -> Array:
    weights, left, paired = np.zeros((problem.m, X.shape[1])), LINEAR_BUDGET, problem.fit_intercept
    for j, (c, w, s) in enumerate(zip(coef, weights, scores, strict=True)):
        data = problem.loss, X, problem.y[j], problem.C[j], paired
        if c.any():
            w[:] = X.T @ c
        linear.certify(*data, c, w, X @ w, 0.0, bounds[0, j])
        b, work, last, smooth = linear.descend(*data, (tol, left), c, w, s)
        left -= work
        if paired and not smooth:
            b = problem.risk.best_offset(j, c, s, b)
        linear.certify(*data, c, w, s, b, bounds[1, j])
        bounds[1, j, WORK], bounds[1, j, STEP] = work / (X.size * X.shape[1]), last
    return weights


def conclude(
    problem: Problem,
    tol: float,
    clock: Clock,
    coef: Array,
    weights: Array | None,
    scores: Array,
    bounds: Array,
) -> Solution | Array:
    """Gather the result, or where not all problems are solved the coefficients."""
    primal = bounds[:, :, PRIMAL]
    dual = np.minimum(bounds[:, :, DUAL], primal) - bounds[:, :, FLOOR]
    gap = primal - dual
    solved = within(gap[1], primal[1], bounds[1, :, DUAL], tol)
    vanishing = (primal[1, j] <= problem.nothing(int(j)) for j in np.flatnonzero(~solved))
    if not ((bounds[1, :, WORK] >= 0.0) & (gap[1] < np.inf)).all() or not all(vanishing):
        return coef
    public, end = problem.public, bounds[1]
    n_iter, support = np.ceil(end[:, WORK]).astype(int), np.count_nonzero(coef, axis=1)
    none, far = np.zeros_like(support), np.full(problem.m, np.inf)
    history = [
        Record(0, 0.0, *map(public, (primal[0], dual[0], gap[0], far, none))),
        Record(
            int(n_iter.max()),
            clock.seconds,
            *map(public, (primal[1], dual[1], gap[1], end[:, STEP], support)),
        ),
    ]
    return Solution(
        coef=public(coef),
        fitted=public(scores + end[:, AT, None]),
        intercept=public(end[:, AT]),
        primal=public(primal[1]),
        dual=public(dual[1]),
        gap=public(gap[1]),
        n_iter=public(n_iter),
        status=Status.CONVERGED,
        history=history,
        weights=None if weights is None else problem.public(weights),
        solver="greedy" if weights is None else "newton",
    )
