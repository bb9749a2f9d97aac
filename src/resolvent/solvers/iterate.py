"""The one outer loop: tolerance, certificate, history, limits, interrupt, callback, result.

A solver is a generator that advances a `Point`. It yields None after each piece of bounded work, so
that a time limit or Ctrl-C takes effect soon, and the largest change of a coefficient of each
problem when an iteration is complete.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from resolvent.problem import EPS, Array, Certificate, Problem, Record, Solution, Status
from resolvent.solvers import loops, newton

Steps = Generator[Array | None, None, None]

CHEAP = 2e5  # multiply-adds of a product with K that is hardly noticed


@dataclass
class Point:
    """Where a solver is: a row for each problem. Solvers advance it in place."""

    coef: Array
    state: Array  # z = Kc or w = X'c, as the gram has it
    intercept: Array
    running: NDArray[np.intp]  # the problems that have not stopped yet
    work: Array  # multiply-adds that went into each

    @classmethod
    def at(cls, problem: Problem, coef: Array) -> Point:
        """Start every problem at `coef`."""
        zeros = np.zeros(problem.m)
        return cls(coef, problem.gram.state(coef), zeros, np.arange(problem.m), zeros.copy())

    def move(self, problem: Problem, j: int, certificate: Certificate) -> None:
        """Put problem j where `certificate` was given."""
        self.coef[j] = certificate.coef
        self.state[j] = problem.gram.state(self.coef[j : j + 1])[0]
        self.intercept[j] = certificate.intercept


@dataclass
class Best:
    """The lowest primal with its coefficients and, apart, the largest dual of one problem."""

    certificate: Certificate | None = None
    dual: float = -np.inf
    status: Status | None = None
    n_iter: int = 0
    nothing: float = 0.0  # an objective so small is zero up to rounding

    def see(self, new: Certificate) -> None:
        """Keep what is better; a tie to within rounding goes to the newer."""
        self.dual = max(self.dual, new.dual)
        if self.certificate is None or not new.primal > self.certificate.primal + new.floor:
            self.certificate = new

    @property
    def known(self) -> Certificate:
        """The best certificate; there is one from the start."""
        assert self.certificate is not None
        return self.certificate

    @property
    def bound(self) -> float:
        """Best dual; where rounding puts it above the primal, they are equal."""
        return min(self.dual, self.known.primal)

    @property
    def gap(self) -> float:
        """Best primal minus best dual."""
        return self.known.primal - self.bound

    def within(self, tol: float) -> bool:
        """Whether the gap is within the relative tolerance, or nothing is left of the objective."""
        if tol > 0.0 and self.known.primal <= self.nothing:
            return True
        return self.gap <= tol * max(abs(self.known.primal), abs(self.dual)) < np.inf


@dataclass
class Clock:
    """Seconds since the start, against a limit."""

    limit: float
    start: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.start

    def is_over(self) -> bool:
        """Whether the limit has passed."""
        return self.seconds >= self.limit


class Run:
    """The state of the outer loop for all problems at once."""

    def __init__(self, problem: Problem, point: Point, tol: float, clock: Clock) -> None:
        self.problem, self.point, self.tol, self.clock = problem, point, tol, clock
        self.best = [Best(nothing=problem.nothing(j)) for j in range(problem.m)]
        self.history: list[Record] = []
        self.n_iter = 0
        self.finishers = [newton.Finisher(problem, j, clock.is_over) for j in range(problem.m)]
        self.seconds_to_certify = 0.0
        self.certified_at = 0

    def promising(self, tol: float) -> bool:
        """Whether a certificate is worth its product with K.

        It is where that product is a trifle, where the scores as they are kept up to date suggest
        that a problem is within the tolerance, and now and then in any case.
        """
        problem, point, gram = self.problem, self.point, self.problem.gram
        if gram.sweep_cost <= CHEAP or self.n_iter >= 2 * self.certified_at:
            return True
        for j, z in zip(point.running, gram.scores(point.state[point.running]), strict=True):
            b, c = point.intercept[j], point.coef[j]
            sums = loops.fenchel(problem.loss, problem.y[j], problem.C[j], c, z, b)
            losses, conjugates, products, _ = sums
            gap = losses + conjugates + products + b * float(c.sum())
            if gap <= tol * max(losses + 0.5 * products, abs(conjugates + 0.5 * products)):
                return True
        return False

    def certify(self, largest: Array, polish: bool) -> None:
        """Certify the running problems from scratch, finish by Newton where due, and record."""
        began = self.clock.seconds
        self.certified_at = self.n_iter
        problem, point = self.problem, self.point
        running = point.running
        state = problem.gram.state(point.coef[running])
        point.state[running] = state  # incremental updates drift
        scores = problem.gram.scores(state)
        for j, z in zip(running, scores, strict=True):
            current = problem.certify(j, point.coef[j].copy(), z.copy())
            self.best[j].see(current)
            if polish:
                self._finish(j, current)
        self.seconds_to_certify = self.clock.seconds - began
        self._record(largest)

    def _finish(self, j: int, current: Certificate) -> None:
        """Let Newton take problem j on from `current`, as far as it is worth its work."""
        best = self.best[j]
        if not best.within(self.tol):
            current = self._newton(j, current, credit=0.0)
        if best.within(self.tol) and self.problem.gram.sweep_cost <= CHEAP:
            # Good enough, but finished to the limit of rounding where that costs next to nothing,
            # so that the result does not depend on the order of updates.
            self._newton(j, current, credit=newton.TRIFLE)
        elif self.tol == 0.0 and best.gap <= current.floor:
            self._newton(j, current, credit=np.inf)

    def _newton(self, j: int, current: Certificate, credit: float) -> Certificate:
        """Take Newton steps on problem j while they succeed and are affordable."""
        last = current
        for last in self.finishers[j].steps(current, self.point.work[j], credit):
            self.best[j].see(last)
            self.point.move(self.problem, j, last)
        return last

    def verdict(self, j: int, largest: float, stop: str, tol: float) -> Status | None:
        """Why problem j should stop now, if it should."""
        best = self.best[j]
        if stop == "step":
            return Status.STEP if largest < tol else None
        if tol > 0.0 and best.within(tol):
            return Status.CONVERGED
        scale = float(np.abs(self.point.coef[j]).max())
        if best.gap <= best.known.floor or largest <= 4 * EPS * scale:
            return Status.PRECISION_LIMIT
        return None

    def _record(self, largest: Array) -> None:
        best, public = self.best, self.problem.public
        self.history.append(
            Record(
                self.n_iter,
                self.clock.seconds,
                public(np.array([b.known.primal for b in best])),
                public(np.array([b.bound for b in best])),
                public(np.array([b.gap for b in best])),
                public(largest),
            )
        )

    def certifies_within(self, seconds: float) -> bool:
        """Whether a certificate is likely to take no longer than that."""
        return self.seconds_to_certify < seconds

    def stop(self, j: int, status: Status) -> None:
        """Take problem j out of the running."""
        self.best[j].status, self.best[j].n_iter = status, self.n_iter
        self.point.running = self.point.running[self.point.running != j]

    def stop_all(self, status: Status) -> None:
        """Stop everything that still runs."""
        for j in self.point.running:
            self.stop(j, status)

    def solution(self) -> Solution:
        """Gather the best of each problem."""
        best, public = self.best, self.problem.public
        known = [b.known for b in best]
        return Solution(
            coef=public(np.array([k.coef for k in known])),
            fitted=public(np.array([k.scores + k.intercept for k in known])),
            intercept=public(np.array([k.intercept for k in known])),
            primal=public(np.array([k.primal for k in known])),
            dual=public(np.array([b.bound for b in best])),
            gap=public(np.array([b.gap for b in best])),
            n_iter=public(np.array([b.n_iter for b in best])),
            status=max(b.status for b in best if b.status is not None),
            history=self.history,
        )


def iterate(
    problem: Problem,
    steps: Callable[[Point], Steps],
    start: Array,
    *,
    stop: str,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    accelerate: bool,
    callback: Callable[[Record], bool | None] | None,
    on_interrupt: str,
) -> Solution:
    """Advance `steps` until every problem has reached the tolerance or a limit."""
    clock = Clock(np.inf if time_limit is None else time_limit)
    point = Point.at(problem, start)
    run = Run(problem, point, tol if stop == "gap" else np.inf, clock)
    largest = np.full(problem.m, np.inf)
    next_check = 0
    try:
        run.certify(largest, polish=False)
        for progress in steps(point):
            if progress is None and not clock.is_over():
                continue
            if progress is None:
                if run.certifies_within(max(0.2, 0.1 * clock.limit)):
                    run.certify(largest, polish=False)
                run.stop_all(Status.TIME_LIMIT)
                break
            largest = progress
            run.n_iter += 1
            small_step = stop == "step" and (largest[point.running] < tol).any()
            ending = run.n_iter >= max_iter or clock.is_over()
            due = run.n_iter >= next_check
            if due:
                # Checks grow rarer, so that they cost little and overshoot by an eighth at most.
                next_check = run.n_iter + 1 + run.n_iter // 8
            if small_step or ending or (due and run.promising(tol)):
                run.certify(largest, polish=accelerate and stop == "gap")
                for j in point.running:
                    status = run.verdict(j, largest[j], stop, tol)
                    if status is not None:
                        run.stop(j, status)
                if callback is not None and callback(run.history[-1]):
                    run.stop_all(Status.CALLBACK)
            if ending:
                run.stop_all(Status.MAX_ITER if run.n_iter >= max_iter else Status.TIME_LIMIT)
            if len(point.running) == 0:
                break
    except KeyboardInterrupt:
        if on_interrupt == "raise" or not run.history:
            raise
        if run.certifies_within(0.2):
            run.certify(largest, polish=False)
        run.stop_all(Status.INTERRUPTED)
    solution = run.solution()
    _warn(solution, tol, stop)
    return solution


def _warn(solution: Solution, tol: float, stop: str) -> None:
    """Say once what was not reached: the gap asked for, the gap that is there, the remedy."""
    if solution.status <= Status.STEP or (solution.status == Status.PRECISION_LIMIT and tol == 0):
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import, rarely needed

    gap, primal, dual = (np.atleast_1d(x) for x in (solution.gap, solution.primal, solution.dual))
    scale = np.maximum(np.abs(primal), np.abs(dual))
    relative = np.divide(gap, scale, out=np.full(len(gap), np.inf), where=scale > 0)
    asked = f"a largest step below {tol:g}" if stop == "step" else f"tol={tol:g}"
    go_on = "Go on from here: start=solution, or warm_start=True in an estimator."
    remedies = {
        Status.PRECISION_LIMIT: "A smaller gap needs a kernel matrix in float64 or data of a "
        "more even scale; tol=0 asks for just this limit.",
        Status.MAX_ITER: "Raise max_iter, or tol, or lower C.",
        Status.TIME_LIMIT: f"Raise time_limit. {go_on}",
    }
    warnings.warn(
        f"{solution.status.message} Relative duality gap reached: {relative.max():.2e}; asked "
        f"for: {asked}. {remedies.get(solution.status, go_on)}",
        ConvergenceWarning,
        stacklevel=4,
    )
