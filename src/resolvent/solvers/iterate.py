"""The one outer loop: tolerance, certificate, history, limits, interrupt, callback, result.

A solver is a generator that advances a `Point`. It yields None after each piece of bounded work, so
that a time limit or Ctrl-C takes effect soon, and the largest change of a coefficient of each
problem when an iteration is complete.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent._clock import Clock
from resolvent._costs import TRIFLE, TRIFLING_PRODUCT
from resolvent._numeric import EPS
from resolvent.problem import Array, Problem, Record, Solution, Status, sums
from resolvent.problem.certificate import (
    Best,
    Certificate,
    bounds,
    certify,
    is_solved,
    is_within,
    relative_gaps,
    returned,
)
from resolvent.problem.risk import Coupled
from resolvent.solvers import newton

Steps = Generator[Array | None, None, None]
EXACTING = 1e-5  # who asks for a larger tolerance wants to be quick
GRACE = 0.25  # seconds beyond a time limit in which the first iteration may come to its end
FIRST_SHARE = 0.1  # of a time limit that may go into offsets before the first iteration
SILENCE = 0.5  # seconds until the next record, where it is cheap
ROUGH = 1e-2  # of the tolerance: how far from the best an offset may be on the way
STALLED = 3000.0  # sweeps' work without progress; the work before the last progress too, if longer
LOOKS = 8  # certificates in which there was none
ROUNDED = 1e-6  # relative gaps that rounding may leave where nothing improves any more
UNROUNDED = 0.5  # those that it does not leave where nothing moves any more
BETWEEN = 2.0  # sweeps' work from one certificate to the next, where that takes a product with K


@dataclass
class Point:
    """Where a solver is: a row for each problem. Solvers advance it in place."""

    coef: Array
    state: Array  # z = Kc or w = X'c, as the gram has it
    intercept: Array
    running: NDArray[np.intp]  # the problems that have not stopped yet
    work: Array  # multiply-adds that went into each
    # What a solver knows of a problem: the certificate of where it stands, with an exact offset,
    # and before it that of a point with a lower primal, which it came across.
    found: dict[int, tuple[Certificate, Certificate]] = field(default_factory=dict)

    @classmethod
    def at(cls, problem: Problem, coef: Array) -> Point:
        """Start every problem at `coef`."""
        columns = problem.risk.n_columns
        offsets = np.zeros(problem.m if columns == 1 else (problem.m, columns))
        state, work = problem.gram.state(coef), np.zeros(problem.m)
        return cls(coef, state, offsets, np.arange(problem.m), work)

    def move(self, j: int, certificate: Certificate) -> None:
        """Put problem j where `certificate` was given."""
        self.coef[j] = certificate.coef
        self.state[j] = certificate.state
        self.intercept[j] = certificate.intercept
        self.found.pop(j, None)


@dataclass
class Progress:
    """What one problem had reached, and after how much work, when it last got on."""

    primal: float = np.inf
    dual: float = -np.inf
    work: float = 0.0
    looks: int = 0  # certificates since then

    def note(self, best: Best, work: float) -> None:
        """See whether a bound has improved by more than rounding."""
        primal, dual, floor = best.known.primal, best.dual, best.known.floor
        if primal < self.primal - floor or dual > self.dual + floor:
            self.primal, self.dual, self.work, self.looks = primal, dual, work, 0
        else:
            self.looks += 1

    def is_overdue(self, work: float, sweep: float) -> bool:
        """Whether nothing is known to have come of much work, as much as all that was before."""
        return work - self.work >= max(STALLED * sweep, self.work)


class Run:
    """The state of the outer loop for all problems at once."""

    def __init__(
        self,
        problem: Problem,
        point: Point,
        tol: float,
        by_step: bool,
        assist: bool,
        clock: Clock,
    ) -> None:
        self.problem, self.point, self.clock = problem, point, clock
        self.tol, self.by_step, self.assist = tol, by_step, assist
        self.is_small = problem.gram.n * problem.gram.row_cost <= TRIFLE
        self.best = [Best(problem.nothing(j)) for j in range(problem.m)]
        self.outcome: dict[int, tuple[Status, int]] = {}  # why each stopped, and when
        self.progress = [Progress() for _ in range(problem.m)]
        self.history: list[Record] = []
        self.n_iter = self.certified_at = 0
        self.certified_work = 0.0
        self.finishers = [newton.Finisher(problem, j, clock.is_over) for j in range(problem.m)]
        self.seconds_afresh = 1e-9 * problem.gram.n * problem.gram.row_cost  # until it is known
        self.last: dict[int, tuple[Array, Array]] = {}  # coefficients and scores certified last
        self.met_negative_curvature = self.falls = False

    def is_time_to_look(self) -> bool:
        """Whether a certificate is due however far the solver is.

        Without an offset to search for it costs little; otherwise now and then, as people watch.
        """
        now_and_then = self.n_iter >= 4 * self.certified_at or self.is_silent()
        return not self.problem.fit_intercept or now_and_then

    def has_worked(self) -> bool:
        """Whether enough was done since the last certificate for the next to be worth its while.

        Where most coordinates rest a sweep may well cost less than that.
        """
        between = BETWEEN * self.problem.gram.sweep_cost
        return float(self.point.work.max()) - self.certified_work >= between

    def is_out_of_time(self) -> bool:
        """Whether to end now: the limit has passed, and there was an iteration if time allows one.

        Who gives no time at all wants to stay at the start.
        """
        limit = self.clock.limit
        if limit and self.n_iter == 0:
            return self.clock.seconds >= limit + GRACE
        return self.clock.is_over()

    def has_searched_enough(self) -> bool:
        """Whether offsets are to be left where they are, for want of time.

        Before the first iteration hardly anything depends on them.
        """
        share = FIRST_SHARE if self.n_iter == 0 else 1.0
        return self.clock.limit is not None and self.clock.seconds >= share * self.clock.limit

    def is_silent(self) -> bool:
        """Whether the last record was long ago."""
        return self.clock.seconds - self.history[-1].seconds > SILENCE

    def needed(self) -> int:
        """Estimate the iterations that are left, if gaps go on falling as fast as on the whole.

        As a rule they slow down, so that there is nothing to be certified before.
        """
        running = [self.best[j] for j in self.point.running]
        gap = min((best.gap / (best.scale or 1.0) for best in running), default=1.0)
        if self.by_step or not 0.0 < self.tol < gap < 1.0:
            return 0
        return int(self.n_iter * (np.log(gap) - np.log(self.tol)) / -np.log(gap))

    def looks_done(self) -> bool:
        """Whether the scores suggest, with the solver's own offset, that a problem is done.

        Where they are at hand that costs less than the certificate and its best offset. Otherwise
        only the certificate can tell.
        """
        problem, point = self.problem, self.point
        if not problem.gram.scores_at_hand:
            return True
        for j in point.running:
            b, c, z = point.intercept[j], point.coef[j], point.state[j]
            if is_within(*bounds(problem, j, c, z, b), self.tol):
                return True
        return False

    def certify(self, largest: Array, polish: bool, afresh: bool = False) -> None:
        """Certify the running problems, finish by Newton where due, and record.

        On the way the state will do as the solver has kept it up to date, and an offset that is
        nearly the best. Before a problem counts as done its offset is found exactly, and its scores
        computed `afresh` from the coefficients unless rows of K would have to be computed again.
        """
        began, self.certified_at = self.clock.seconds, self.n_iter
        self.certified_work = float(self.point.work.max())
        running = self.point.running
        self.falls = False
        self._see(running, afresh, afresh, polish)
        if afresh:
            self.seconds_afresh = self.clock.seconds - began
        done = running[[self.verdict(j, largest[j]) is not None for j in running]]
        if len(done):
            at_hand = not self.problem.gram.recomputes(self.point.coef[done])
            if not afresh:
                self._see(done, at_hand, True, polish=False)
            self.settle(done)
            if at_hand and not afresh:
                self.refresh(j for j in done if self.verdict(j, largest[j]) is None)
        for j in running:
            self.progress[j].note(self.best[j], float(self.point.work[j]))
        self._record(largest)

    def refresh(self, which: Iterable[np.intp]) -> None:
        """Compute states from the coefficients, from which they may differ by rounding."""
        index = list(which)
        if index:
            self.point.state[index] = self.problem.gram.state(self.point.coef[index])

    def _see(self, which: NDArray[np.intp], afresh: bool, exact_offset: bool, polish: bool) -> None:
        problem, point = self.problem, self.point
        unknown = np.array([j for j in which if j not in point.found], np.intp)
        if afresh:
            # Where coefficients are balanced first, it is the scores of the result that are needed.
            self.refresh(j for j in unknown if problem.is_balanced(point.coef[j]))
        scores = dict(zip(unknown, problem.gram.scores(point.state[unknown]), strict=True))
        rough = 0.0 if exact_offset or self.by_step else ROUGH * self.tol
        for j in which:
            best = self.best[j]
            lowest = best.lowest
            if j in point.found:
                lower, current = point.found[j]
                best.see(lower)
                self._look_at_curvature(j, current.coef, current.scores)
            else:
                where = point.coef[j].copy(), scores[j].copy()
                self._look_at_curvature(j, *where)
                state = None if problem.gram.scores_at_hand else point.state[j].copy()
                current = certify(
                    *(problem, j, *where, point.intercept[j], afresh, rough * best.scale, state)
                )._replace(fresh=afresh)
            self.falls |= lowest is None or 0.0 <= current.primal < lowest.primal
            best.see(current)
            if polish:
                self._finish(j, current)

    def settle(self, which: Iterable[Any]) -> None:
        """Compute the best certificates again from scratch where they were kept up to date.

        What counts is what the coefficients give, not what sums over many steps have become. Where
        rows of K would have to be computed again it stays as it is.
        """
        problem = self.problem
        for j in which:
            old, new = self.best[j], Best(self.best[j].nothing)
            for at in (old.highest, old.lowest):
                if at is not None and not at.fresh:
                    if problem.gram.recomputes(at.coef[None]):
                        return
                    state = problem.gram.state(at.coef[None])
                    scores = problem.gram.scores(state)[0]
                    at = certify(
                        *(problem, j, at.coef, scores, at.intercept), exact=False, state=state[0]
                    )
                if at is not None:
                    new.see(at)
            self.best[j] = new

    def _look_at_curvature(self, j: int, coef: Array, scores: Array) -> None:
        """Note where c'Kc < 0, of the coefficients or of their change: then K is no kernel matrix.

        Rounding can make it so too: of K by n ulps of its diagonal at most, and of scores by n ulps
        of the sum that they are, which counts where the coefficients have hardly changed.
        """
        gram = self.problem.gram
        if gram.factored:
            return
        before, self.last[j] = self.last.get(j), (coef, scores)
        of_kernel = 8 * gram.n * (float(np.finfo(gram.dtype).eps) + gram.noise)
        of_scores = 8 * gram.n * EPS * gram.diagonal.max() * np.abs(coef).sum()
        points = [(coef, scores, 0.0)]
        if before is not None:
            points.append((coef - before[0], scores - before[1], of_scores))
        for c, z, rounded in points:
            self.met_negative_curvature |= sums.bends_down(c, z, gram.diagonal, of_kernel, rounded)

    def _finish(self, j: int, current: Certificate) -> None:
        """Let Newton take problem j on from `current`, as far as it is worth its work."""
        best = self.best[j]
        if self.met_negative_curvature:
            return  # there may be no minimum
        if not self.is_small and self.problem.gram.recomputes(current.coef[None]):
            return  # each of its products would cost as much as all blocks before
        if self.assist and not best.within(self.tol):
            current = self._newton(j, current, credit=0.0)
        cheap = self.problem.gram.sweep_cost <= TRIFLING_PRODUCT
        if best.within(self.tol) and cheap and self.tol <= EXACTING:
            # Good enough, but finished to the limit of rounding where that costs next to nothing,
            # so that the result does not depend on the order of updates.
            self._newton(j, current, credit=TRIFLE)
        elif self.tol == 0.0 and best.is_rounding:
            self._newton(j, current, credit=np.inf)

    def _newton(self, j: int, current: Certificate, credit: float) -> Certificate:
        """Take Newton steps on problem j while they succeed and are affordable."""
        last = current
        for last in self.finishers[j].steps(current, self.point.work[j], credit):
            self.best[j].see(last)
            self.point.move(j, last)
        return last

    def verdict(self, j: int, largest: float) -> Status | None:
        """Why problem j should stop now, if it should."""
        best = self.best[j]
        if self.by_step:
            return Status.STEP if largest < self.tol else None
        if self.tol > 0.0 and best.within(self.tol):
            return Status.CONVERGED
        scale = float(np.abs(self.point.coef[j]).max())
        if best.is_rounding:
            return Status.PRECISION_LIMIT
        if largest <= 4 * EPS * scale:
            return Status.PRECISION_LIMIT if best.within(UNROUNDED) else Status.NO_PROGRESS
        if self.is_overdue(j) and self.progress[j].looks >= LOOKS:
            return Status.PRECISION_LIMIT if best.within(ROUNDED) else Status.NO_PROGRESS
        return None

    def is_overdue(self, j: int | np.intp) -> bool:
        """Whether problem j has not got on for long, as far as is known."""
        sweep = self.problem.gram.sweep_cost
        return self.progress[j].is_overdue(float(self.point.work[j]), sweep)

    def _record(self, largest: Array) -> None:
        best, public = self.best, self.problem.public
        self.history.append(
            Record(
                self.n_iter,
                self.clock.seconds,
                public(np.array([b.known.primal for b in best])),
                *self._proved(),
                public(largest),
                public(np.array([np.count_nonzero(b.known.coef) for b in best])),
            )
        )

    def _proved(self) -> tuple[Any, Any]:
        """Bounds and gaps; where K is not positive semidefinite nothing is proved."""
        bounds = np.array([b.bound for b in self.best])
        gaps = np.array([b.gap for b in self.best])
        if self.met_negative_curvature:
            bounds, gaps = np.full_like(bounds, -np.inf), np.full_like(gaps, np.inf)
        return self.problem.public(bounds), self.problem.public(gaps)

    def stop(self, j: int, status: Status) -> None:
        """Take problem j out of the running."""
        self.outcome[j] = status, self.n_iter
        self.point.running = self.point.running[self.point.running != j]

    def stop_all(self, status: Status) -> None:
        """Stop everything that still runs."""
        for j in self.point.running:
            self.stop(j, status)

    def interrupt(self) -> None:
        """Stop everything; an interrupt after all have stopped is one for the caller, still."""
        for j in self.point.running if len(self.point.running) else range(self.problem.m):
            self.stop(int(j), Status.INTERRUPTED)

    def conclude(self) -> Solution:
        """Gather the best of each problem, certified as it is handed out."""
        problem, public = self.problem, self.problem.public
        for j, best in enumerate(self.best):
            best.lowest = returned(problem, j, best.known)
            status, n_iter = self.outcome[j]
            if status == Status.CONVERGED and not best.within(self.tol):
                self.outcome[j] = Status.PRECISION_LIMIT, n_iter
        known = [b.known for b in self.best]
        outcomes = [self.outcome[j] for j in range(problem.m)]
        primal = public(np.array([k.primal for k in known]))
        dual, gap = self._proved()
        self.history[-1] = self.history[-1]._replace(primal=primal, dual=dual, gap=gap)
        return Solution(
            coef=public(np.array([k.coef for k in known])),
            fitted=public(np.array([k.scores + problem.risk.spread(k.intercept) for k in known])),
            intercept=problem.public_offset([k.intercept for k in known]),
            primal=primal,
            dual=dual,
            gap=gap,
            n_iter=public(np.array([n_iter for _, n_iter in outcomes])),
            status=Status.NOT_PSD
            if self.met_negative_curvature
            else max(status for status, _ in outcomes),
            history=self.history,
            weights=problem.public_weights([k.state for k in known]),
        )


def iterate(
    problem: Problem,
    steps: Callable[[Point], Steps],
    start: Array,
    *,
    stop: str,
    tol: float,
    max_iter: int,
    clock: Clock,
    accelerate: bool,
    assist: bool,
    callback: Callable[[Record], bool | None] | None,
    on_interrupt: str,
) -> Solution:
    """Advance `steps` until every problem has reached the tolerance or a limit.

    With `accelerate` what has reached the tolerance may be finished by Newton steps, and if they
    are to `assist` they help on the way there too.
    """
    point = Point.at(problem, start)
    run = Run(problem, point, tol, stop == "step", assist, clock)
    if isinstance(problem.risk, Coupled):  # whose offsets take many passes over the scores
        problem.risk.is_over = run.has_searched_enough
    largest = np.full(problem.m, np.inf)
    next_check, at_hand = 0, problem.gram.scores_at_hand
    polish = accelerate and stop == "gap"
    course = steps(point)
    try:
        run.certify(largest, polish=False)
        for progress in course:
            if progress is None and not run.is_out_of_time():
                continue
            if progress is None:
                run.certify(largest, polish=False)
                run.stop_all(Status.TIME_LIMIT)
                break
            largest = progress
            run.n_iter += 1
            small_step = stop == "step" and (largest[point.running] < tol).any()
            ending = run.n_iter >= max_iter or clock.is_over()
            due = run.n_iter >= next_check and (at_hand or run.has_worked())
            due |= bool(point.found)
            due |= not at_hand and run.is_silent()
            if due:
                # Checks grow rarer, so that they cost little and overshoot by little.
                next_check = run.n_iter + 1 + run.n_iter // (32 if at_hand else 8)
            near = due and run.looks_done()
            due_anyway = due and (run.is_time_to_look() or any(map(run.is_overdue, point.running)))
            if small_step or ending or near or due_anyway:
                run.certify(largest, polish, afresh=near and at_hand and run.is_small)
                for j in point.running:
                    status = run.verdict(j, largest[j])
                    if status is not None:
                        run.stop(j, status)
                if run.met_negative_curvature and not run.falls:
                    run.stop_all(Status.NOT_PSD)  # there may be no minimum to go to
                if callback is not None and callback(run.history[-1]):
                    run.stop_all(Status.CALLBACK)
                if not at_hand:  # then a certificate costs about a pass over the data
                    next_check = max(next_check, run.n_iter + min(run.needed(), run.n_iter + 1))
            if ending:
                run.stop_all(Status.MAX_ITER if run.n_iter >= max_iter else Status.TIME_LIMIT)
            if len(point.running) == 0:
                break
        course.close()  # here: Python ignores an interrupt while it disposes of a generator
    except KeyboardInterrupt:
        if on_interrupt == "raise" or not run.history:
            raise
        if run.seconds_afresh < 0.2:  # the state may be halfway through an update
            run.refresh(j for j in point.running if not problem.is_balanced(point.coef[j]))
            run.certify(largest, polish=False, afresh=True)
            run.settle(range(problem.m))
        run.interrupt()
    else:
        run.settle(range(problem.m))
    return run.conclude()


def warn_of(solution: Solution, tol: float, stop: str) -> None:
    """Say once what was not reached: the gap asked for, the gap that is there, the remedy."""
    if is_solved(solution.status, tol):
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import, rarely needed

    relative = float(relative_gaps(solution.gap, solution.primal, solution.dual).max())
    reached = f"{relative:.2e}" if np.isfinite(relative) else "unknown"
    asked = f"a largest step below {tol:g}" if stop == "step" else f"tol={tol:g}"
    go_on = "Go on from here: start=solution, or warm_start=True in an estimator."
    remedies = {
        Status.PRECISION_LIMIT: "A smaller gap needs a kernel matrix in float64 or data of a "
        "more even scale; tol=0 asks for just this limit.",
        Status.MAX_ITER: "Raise max_iter, or tol, or lower C.",
        Status.TIME_LIMIT: f"Raise time_limit. {go_on}",
        Status.NO_PROGRESS: "No progress: is the loss convex? Run check_loss(loss). If it is, the "
        "data are large: scale them, or lower C.",
        Status.NOT_PSD: "The result is a stationary point at best. Use another kernel or other "
        "parameters of it, or make the matrix positive semidefinite: resolvent.repair(K).",
    }
    warnings.warn(
        f"{solution.status.message} Relative duality gap reached: {reached}; asked "
        f"for: {asked}. {remedies.get(solution.status, go_on)}",
        ConvergenceWarning,
        stacklevel=3,
    )
