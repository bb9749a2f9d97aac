"""Fit a linear model to blocks of rows, with the same certificate as everywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent._solve import unwatched
from resolvent.blocks.block import Kept, Source
from resolvent.blocks.coupled import Together, survey_together
from resolvent.blocks.engine import KEPT
from resolvent.blocks.newton import Column
from resolvent.blocks.reduce import Local, OutOfTimeError, Reducer
from resolvent.blocks.sums import Along, At, LineSums, PointSums, Survey, Task, survey
from resolvent.grams.memory import parse_memory
from resolvent.losses import as_loss
from resolvent.problem import Record, Solution, Status
from resolvent.problem.certificate import Best
from resolvent.problem.warning import warn_of

__all__ = ["as_reducer", "solve_blocks"]

logger = logging.getLogger("resolvent")

MAX_ITER = 500  # passes
PATIENCE = 60  # passes without progress
ROUNDED = 1e-6  # relative gaps that rounding may leave where nothing improves any more
HUGE = 1e140  # sums of weights from which on products of coefficients may overflow
SYSTEMS = 0.5  # of the memory limit, for second derivatives


def solve_blocks(
    loss: Any,
    blocks: Source | Reducer,
    C: float = 1.0,
    *,
    classes: Sequence[Any] = (),
    fit_intercept: bool = True,
    tol: float = 1e-5,
    max_iter: int = MAX_ITER,
    time_limit: float | None = None,
    memory_limit: Any = None,
    callback: Callable[[Record], bool | None] = unwatched,
    on_interrupt: str = "raise",
    warn: bool = True,
    points: dict[int, At] | None = None,
) -> Solution:
    """Minimise sum_i C_i L(y_i, x_i'w + b) + |w|^2 / 2 over blocks of rows, to a certified optimum.

    Newton's method on w, each of whose steps is a pass or two over the blocks; see
    :mod:`resolvent.blocks.newton`. The result does not depend on the number of threads, to the bit.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance, also of a class of your own, of
        one score.
    blocks : Source or Reducer
        Blocks of rows, see :func:`as_source`, or an engine that adds up functions of them.
    C : float, default=1.0
        Weight of the loss against the penalty, a factor of the weights of the samples.
    classes : sequence, optional
        Labels of the classes, where targets are labels: for two of them one problem, +1 where y is
        the second; for more one of each class against the rest, solved together.
    fit_intercept : bool, default=True
        Whether to add an unpenalised offset to the scores.
    tol : float, default=1e-5
        Stop when the duality gap is at most ``tol * max(|primal|, |dual|)``.
    max_iter : int, default=500
        Largest number of passes over the blocks.
    time_limit : float, optional
        Seconds after which the best result so far is returned; one pass, which looks at the data,
        is made in any case.
    memory_limit : int, str or None, default=None
        Bytes for blocks that stay in memory and for second derivatives; see :func:`resolvent.gram`.
    callback : callable, optional
        Called with a `Record` after each pass; a true result stops the solver.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt, or return the best result so far.
    warn : bool, default=True
        Whether to warn where the tolerance was not reached.
    points : dict of int to At, optional
        Where to start each column, by its number; kept up to date, so that whatever ends a fit, the
        next one goes on from there.

    Returns
    -------
    Solution
        As of :func:`resolvent.solve`, with `weights` the model; `coef` and `fitted` are empty,
        since what has an entry for each row stays with the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.blocks import as_source, solve_blocks
    >>> X = np.arange(12.0).reshape(6, 2) % 5
    >>> solution = solve_blocks("absolute", as_source(X, X[:, 0] - 1.0), C=100.0)
    >>> solution.weights.round(3).tolist(), solution.status.name
    ([1.0, 0.0], 'CONVERGED')
    """
    clock = Clock(time_limit)
    task = Task(as_loss(loss), float(C), tuple(classes))
    together = _is_coupled(task)
    run = _Run(task, as_reducer(blocks, memory_limit), clock, max_iter, callback)
    known = run.reducer.sum(survey_together if together else survey, task)
    _check(known)
    d = len(known.squares)
    if together:
        run.columns = [Together(task, known, fit_intercept, tol)]
        d = len(classes) * (d + 1)
    else:
        run.columns = [Column(j, task, known, fit_intercept, tol) for j in range(len(known.C))]
    run.points = {} if points is None else points
    room = SYSTEMS * parse_memory(memory_limit)
    run.at_once = int(room / (8.0 * d * d * (run.reducer.workers + 3)))
    if run.at_once < 1:
        raise ValueError(
            f"The second derivatives of {d} features take {8e-9 * d * d:.2g} GB for each of "
            f"{run.reducer.workers + 3} matrices, more than half of memory_limit, {room / 1e9:.2g} "
            "GB: use fewer features, fewer threads or a larger memory_limit."
        )
    try:
        run.go()
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        run.stop_all(Status.INTERRUPTED)
    solution = run.conclude(is_vector=bool(known.is_vector.low))
    if warn:
        warn_of(solution, tol, "gap")
    return solution


def as_reducer(blocks: Source | Reducer, memory_limit: Any = None) -> Reducer:
    """Sum over blocks by the threads of this process, unless it is an engine already."""
    if not isinstance(blocks, Source):
        return blocks
    limit = 2**63 if blocks.is_at_hand else int(KEPT * parse_memory(memory_limit))
    return Local(blocks if isinstance(blocks, Kept) else Kept(blocks, limit))


def _is_coupled(task: Task) -> bool:
    """Whether the loss is of all classes at once; refuse what blocks are not solved for."""
    loss = task.loss
    if not getattr(loss, "couples", ""):
        return False
    if loss.couples != "columns" or not hasattr(loss, "inverse_link"):
        raise ValueError(
            f"The loss {type(loss).__name__} couples several scores and has kinks, which blocks of "
            "rows are not solved for: use 'multinomial', a loss of one score, or a fit in memory."
        )
    if not task.classes:
        raise ValueError(f"The loss {type(loss).__name__} on blocks of rows needs classes=.")
    return True


def _check(known: Survey) -> None:
    """Refuse weights that leave nothing to fit, and data that overflow."""
    if not (known.C > 0.0).all():
        raise ValueError("All weights (C times sample_weight) are zero: nothing is left to fit.")
    heaviest = float(known.C.max())
    if heaviest > HUGE:
        raise ValueError(
            f"The objective overflows, where C times sample_weight is {heaviest:g} in all; scale "
            "them down."
        )
    if not np.isfinite(known.squares).all() or not np.isfinite(known.at_zero).all():
        raise ValueError("The data are so large that the objective overflows: scale them down.")


class _Run:
    """All columns on their way, each pass for as many of them as memory allows."""

    def __init__(
        self,
        task: Task,
        reducer: Reducer,
        clock: Clock,
        max_iter: int,
        callback: Callable[[Record], bool | None],
    ) -> None:
        self.task, self.reducer, self.clock = task, reducer, clock
        self.max_iter, self.callback = max_iter, callback
        self.columns: Sequence[Any] = ()  # of Column, or one Together
        self.points: dict[int, At] = {}
        self.at_once = 1
        self.n_iter = 0
        self.outcome: dict[int, tuple[Status, int]] = {}
        self.history: list[Record] = []
        self.lowest_gap: dict[int, tuple[float, int]] = {}  # and when it was reached

    def go(self) -> None:
        """Advance every column until all have stopped."""
        self._record()
        courses = [column.course(self.points.get(column.j)) for column in self.columns]
        asked = {j: next(course) for j, course in enumerate(courses)}
        try:
            while asked:
                self.n_iter += 1
                results = self._pass(asked)
                for j in list(asked):
                    asked[j] = courses[j].send(results[j])
                    self.points[j] = self.columns[j].here
                self._record()
                self._judge(asked)
                for j in self.outcome:
                    asked.pop(j, None)
        except OutOfTimeError:
            self.stop_all(Status.TIME_LIMIT)

    def _pass(self, asked: dict[int, list[At | Along]]) -> dict[int, list[PointSums | LineSums]]:
        """Get what all columns ask for."""
        results: dict[int, list[PointSums | LineSums]] = {}
        names = list(asked)
        for start in range(0, len(names), self.at_once):
            some = names[start : start + self.at_once]
            asks = tuple(ask for j in some for ask in asked[j])
            sums = iter(
                self.reducer.sum(
                    self.columns[0].measure, self.task, asks, is_over=self.clock.is_over
                )
            )
            for j in some:
                results[j] = [next(sums) for _ in asked[j]]
        return results

    def _judge(self, asked: dict[int, list[At | Along]]) -> None:
        """Stop the columns that are done, or all at a limit."""
        for j in asked:
            best = self.columns[j].best
            status = self._verdict(j, best)
            if status is not None:
                self.outcome[j] = status, self.n_iter
        if self.callback(self.history[-1]):
            self.stop_all(Status.CALLBACK)
        elif self.n_iter >= self.max_iter:
            self.stop_all(Status.MAX_ITER)
        elif self.clock.is_over():
            self.stop_all(Status.TIME_LIMIT)

    def _verdict(self, j: int, best: Best) -> Status | None:
        tol = self.columns[j].tol
        if tol > 0.0 and best.within(tol):
            return Status.CONVERGED
        if best.is_rounding:
            return Status.PRECISION_LIMIT
        lowest, since = self.lowest_gap.get(j, (np.inf, 0))
        if best.gap < lowest or not np.isfinite(lowest):
            self.lowest_gap[j] = best.gap, self.n_iter
        elif self.n_iter - since >= PATIENCE:
            return Status.PRECISION_LIMIT if best.within(ROUNDED) else Status.NO_PROGRESS
        return None

    def stop_all(self, status: Status) -> None:
        """Stop what is still running."""
        for j in range(len(self.columns)):
            self.outcome.setdefault(j, (status, self.n_iter))

    def _record(self) -> None:
        bests = [column.best for column in self.columns]
        self.history.append(
            Record(
                self.n_iter,
                self.clock.seconds,
                np.array([best.known.primal for best in bests]),
                np.array([best.bound for best in bests]),
                np.array([best.gap for best in bests]),
                np.array([column.largest for column in self.columns]),
                np.array([column.support for column in self.columns]),
            )
        )

    def conclude(self, is_vector: bool) -> Solution:
        """Give the model of the lowest primal of each column, with its bounds."""
        known = [column.best.known for column in self.columns]

        def public(values: Any) -> Any:
            array = np.array(values)
            if array.ndim == 3:  # weights of all classes of one problem
                return array[0].T
            if is_vector:
                return array[0] if array.ndim == 2 else array[0].item()
            return array.T

        n_iter = [self.outcome[j][1] for j in range(len(known))]
        return Solution(
            coef=np.empty(0) if is_vector else np.empty((0, len(known))),
            fitted=np.empty(0) if is_vector else np.empty((0, len(known))),
            intercept=public([at.intercept for at in known]),
            primal=public([at.primal for at in known]),
            dual=public([column.best.bound for column in self.columns]),
            gap=public([column.best.gap for column in self.columns]),
            n_iter=public(n_iter),
            status=max(status for status, _ in self.outcome.values()),
            history=self.history,
            weights=public([at.state for at in known]),
            solver="newton",
        )
