"""From data and settings to solutions: several problems on one kernel, threads, one time limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent._solve import Continued, solve, unwatched
from resolvent._threads import one_blas_thread, run
from resolvent.grams import Gram
from resolvent.problem import Record, Solution, Status, times_weight
from resolvent.problem.warning import warn_of
from resolvent.solvers.small import LARGEST

__all__ = ["Fit", "solve_columns"]

# Rows from which problems are solved several at a time: the work on smaller ones is mostly that of
# the interpreter, which threads do not share.
THREADED_ROWS = 1000


class Fit(NamedTuple):
    """What was solved for: coefficients (n, m), offsets (m,), and weights (m, d) if K has them."""

    coef: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray | None
    solutions: list[Solution]
    seconds: float


def solve_columns(
    K: Gram,
    losses: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    C: float = 1.0,
    start: np.ndarray | None = None,
    random_state: Any = None,
    report: Callable[[Record], bool] = unwatched,
    accept: Callable[..., bool] | None = None,
    **settings: Any,
) -> Fit:
    """Solve for all columns of `targets`.

    Columns that leave out most rows, as one-vs-one problems do, are solved on the kernel matrix of
    their own rows, some at a time if they are large. So are those of a kernel matrix that gives no
    rows, since there is nothing of it that they could share. Where K is small all are solved in one
    call.

    Parameters
    ----------
    K : Gram
        The kernel matrix of the samples.
    losses : loss or list of loss
        One for all columns, or one for each.
    targets : ndarray of shape (n, m)
        Targets.
    weights : ndarray of shape (n, m) or (n,)
        Weights of the losses; a vector for a loss that couples the columns.
    C : float
        A factor of all weights.
    start : ndarray of shape (n, m), optional
        Coefficients to start from; left out where they are of another shape.
    random_state : int, RandomState, Generator or None
        Seed of the solver.
    report : callable, optional
        Called with each record, by one thread at a time; a true result stops the solver.
    accept : callable, optional
        A function of a solution, its targets and its weights, which may ask for a tighter
        tolerance.
    **settings
        Further arguments of `solve`; the time limit is that of all problems together.
    """
    clock, one_at_a_time, stopped = Clock(settings.pop("time_limit", None)), Lock(), Event()

    def callback(record: Record) -> bool:
        with one_at_a_time:
            return report(record) or stopped.is_set()

    if start is not None and start.shape != targets.shape:
        start = None
    watched = report is not unwatched
    several = weights.ndim == 2 and weights.shape[1] > 1
    apart = several and (K.n > LARGEST or watched) and _leave_out_most(weights)
    alone = several and not apart and not K.scores_at_hand and K.n > THREADED_ROWS
    each = isinstance(losses, list) or apart or alone
    parallel = alone or (apart and _is_for_threads(K, weights))
    jobs = [[j] for j in range(targets.shape[1])] if each else [list(range(targets.shape[1]))]
    solutions: list[Any] = [None] * len(jobs)
    coef = np.zeros(targets.shape, order="F")
    if random_state is not None and len(jobs) > 1:  # drawn here: threads have no order
        random_state = as_generator(random_state).integers(2**31, size=len(jobs))

    def work(k: int) -> None:
        rows = np.flatnonzero(weights[:, k]) if apart else np.arange(len(targets))
        part = np.ix_(rows, np.array(jobs[k]))
        data = (
            losses[k] if isinstance(losses, list) else losses,
            K.restricted(rows) if apart else K,
            targets[part],
            times_weight(C, weights if weights.ndim == 1 else weights[part]),
        )
        options = {
            **settings,
            "callback": callback if parallel or watched else unwatched,
            "on_interrupt": "return",
            # once stopped, the others stay where they start
            "time_limit": 0.0 if stopped.is_set() else clock.left,
            "random_state": random_state[k] if np.ndim(random_state) else random_state,
        }
        solution = solve(*data, start=None if start is None else start[part], **options)
        if accept is not None:
            solution = _refined(solution, accept, data, options)
        if solution.status == Status.INTERRUPTED:
            stopped.set()
        solutions[k] = solution
        coef[part] = solution.coef

    if len(jobs) == 1:  # BLAS may have its threads, until they are in the way
        work(0)
    else:
        run(work, [(k,) for k in range(len(jobs))], parallel)
    offsets = np.concatenate([s.intercept for s in solutions])
    found = solutions[0].weights is not None
    in_features = np.vstack([s.weights.T for s in solutions]) if found else None
    return Fit(coef, offsets, in_features, solutions, clock.seconds)


def _is_for_threads(K: Gram, weights: np.ndarray) -> bool:
    """Whether columns on rows of their own are large, and their matrices fit beside each other."""
    sizes = np.count_nonzero(weights, axis=0)
    with one_blas_thread() as threads:
        return bool(sizes.mean() > THREADED_ROWS) and K.has_room_for(threads, int(sizes.max()))


def _refined(
    solution: Solution, accept: Callable[..., bool], data: Any, options: dict[str, Any]
) -> Solution:
    """Go on from a solution at tighter tolerances until it is accepted."""
    for tol in (1e-2 * options["tol"], 0.0):
        if solution.status != Status.CONVERGED or accept(solution, *data[2:]):
            break
        last = solution.history[-1]
        further = solve(*data, start=Continued(solution), warn=False, **(options | {"tol": tol}))
        if further.status > Status.PRECISION_LIMIT:  # not of a tolerance that nobody asked for
            warn_of(further, tol, "gap")
        history = [
            record._replace(
                iteration=last.iteration + record.iteration, seconds=last.seconds + record.seconds
            )
            for record in further.history
        ]
        n_iter = solution.n_iter + further.n_iter
        solution = replace(further, n_iter=n_iter, history=solution.history + history)
    return solution


def _leave_out_most(weights: np.ndarray) -> bool:
    """Whether every column has weights on less than half of the rows."""
    return bool((np.count_nonzero(weights, axis=0) < 0.5 * len(weights)).all())
