"""The measure of `solve`: tolerance, certificate, history, limits, interrupt, callback, result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._clock import Clock
from resolvent._costs import TRIFLE, TRIFLING_PRODUCT
from resolvent._numeric import EPS
from resolvent.problem import Array, Problem, Record, Solution, Status
from resolvent.problem.certificate import (
    Best,
    Certificate,
    bounds,
    certify,
    is_within,
    returned,
)
from resolvent.problem.risk import Coupled
from resolvent.solvers import newton
from resolvent.solvers.evidence import Curvature, Progress
from resolvent.solvers.iterate import Iteration, Point, Steps, Watch, iterate

EXACTING = 1e-5  # who asks for a larger tolerance wants to be quick
GRACE = 0.25  # seconds beyond a time limit in which the first iteration may come to its end
FIRST_SHARE = 0.1  # of a time limit that may go into offsets before the first iteration
SILENCE = 0.5  # seconds until the next record, where it is cheap
ROUGH = 1e-2  # of the tolerance: how far from the best an offset may be on the way
LOOKS = 8  # certificates in which there was none
ROUNDED = 1e-6  # relative gaps that rounding may leave where nothing improves any more
UNROUNDED = 0.5  # those that it does not leave where nothing moves any more
BETWEEN = 2.0  # sweeps' work from one certificate to the next, where that takes a product with K


class Stopping(NamedTuple):
    """When to stop, and who is to be told."""

    tol: float
    stop: str  # "gap" or "step"
    max_iter: int
    clock: Clock
    accelerate: bool  # whether Newton steps may finish what has reached the tolerance,
    assist: bool  # and help on the way there too
    callback: Callable[[Record], bool | None] | None
    on_interrupt: str  # "raise" or "return"


class Certified(Watch):
    """Stops problems by their certificates."""

    def __init__(self, problem: Problem, point: Point, stopping: Stopping) -> None:
        self.problem, self.point, self.stopping = problem, point, stopping
        self.tol, self.clock = stopping.tol, stopping.clock
        self.by_step = stopping.stop == "step"
        self.polish = stopping.accelerate and not self.by_step
        self.at_hand = problem.gram.scores_at_hand
        self.largest = np.full(problem.m, np.inf)
        self.known: dict[int, tuple[Certificate, Certificate]] = {}  # see `Iteration`
        self.next_check = 0
        self.is_small = problem.gram.n * problem.gram.row_cost <= TRIFLE
        self.best = [Best(problem.nothing(j)) for j in range(problem.m)]
        self.outcome: dict[int, tuple[Status, int]] = {}  # why each stopped, and when
        self.progress = [Progress() for _ in range(problem.m)]
        self.history: list[Record] = []
        self.n_iter = self.certified_at = 0
        self.certified_work = 0.0
        self.finishers = [newton.Finisher(problem, j, self.clock.is_over) for j in range(problem.m)]
        self.seconds_afresh = 1e-9 * problem.gram.n * problem.gram.row_cost  # until it is known
        self.curvature, self.falls = Curvature(problem.gram), False

    def begin(self) -> None:
        """Certify the start."""
        if isinstance(self.problem.risk, Coupled):  # whose offsets take many passes over the scores
            self.problem.risk.is_over = self.has_searched_enough
        self.certify(polish=False)

    def pause(self) -> None:
        """End where the time is over."""
        self.known.clear()
        if self.is_out_of_time():
            self.certify(polish=False)
            self.stop_all(Status.TIME_LIMIT)

    def look(self, iteration: Iteration) -> None:
        """Certify the running problems where that is due, and stop those that are done."""
        at_hand, running = self.at_hand, self.point.running
        self.largest, self.known = iteration.largest, dict(iteration.known)
        self.n_iter += 1
        small_step = self.by_step and (self.largest[running] < self.tol).any()
        ending = self.n_iter >= self.stopping.max_iter or self.clock.is_over()
        due = self.n_iter >= self.next_check and (at_hand or self.has_worked())
        due |= bool(self.known)
        due |= not at_hand and self.is_silent()
        if due:
            # Checks grow rarer, so that they cost little and overshoot by little.
            self.next_check = self.n_iter + 1 + self.n_iter // (32 if at_hand else 8)
        near = due and self.looks_done()
        due_anyway = due and (self.is_time_to_look() or any(map(self.is_overdue, running)))
        if small_step or ending or near or due_anyway:
            self.certify(self.polish, afresh=near and at_hand and self.is_small)
            self._stop_some()
        if ending:
            late = self.n_iter < self.stopping.max_iter
            self.stop_all(Status.TIME_LIMIT if late else Status.MAX_ITER)

    def _stop_some(self) -> None:
        """Stop what the certificates or the callback say is to be stopped."""
        for j in self.point.running:
            status = self.verdict(j)
            if status is not None:
                self.stop(j, status)
        if self.curvature.is_negative and not self.falls:
            self.stop_all(Status.NOT_PSD)  # there may be no minimum to go to
        callback = self.stopping.callback
        if callback is not None and callback(self.history[-1]):
            self.stop_all(Status.CALLBACK)
        if not self.at_hand:  # then a certificate costs about a pass over the data
            left = min(self.needed(), self.n_iter + 1)
            self.next_check = max(self.next_check, self.n_iter + left)

    def is_time_to_look(self) -> bool:
        """Whether a certificate is due however far the solver is.

        Without an offset to search for it costs little; otherwise now and then, as people watch.
        """
        if not self.problem.fit_intercept or self.problem.gram.is_elsewhere:
            return True
        return self.n_iter >= 4 * self.certified_at or self.is_silent()

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

    def certify(self, polish: bool, afresh: bool = False) -> None:
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
        done = running[[self.verdict(j) is not None for j in running]]
        if len(done):
            at_hand = not self.problem.gram.recomputes(self.point.coef[done])
            if not afresh:
                self._see(done, at_hand, True, polish=False)
            self.settle(done)
            if at_hand and not afresh:
                self.refresh(j for j in done if self.verdict(j) is None)
        for j in running:
            self.progress[j].note(self.best[j], float(self.point.work[j]))
        self._record()

    def refresh(self, which: Iterable[np.intp]) -> None:
        """Compute states from the coefficients, from which they may differ by rounding."""
        index = list(which)
        if index:
            self.point.state[index] = self.problem.gram.state(self.point.coef[index])

    def _see(self, which: NDArray[np.intp], afresh: bool, exact_offset: bool, polish: bool) -> None:
        problem, point = self.problem, self.point
        unknown = np.array([j for j in which if j not in self.known], np.intp)
        if afresh:
            # Where coefficients are balanced first, it is the scores of the result that are needed.
            self.refresh(j for j in unknown if problem.is_balanced(point.coef[j]))
        scores = dict(zip(unknown, problem.gram.scores(point.state[unknown]), strict=True))
        rough = 0.0 if exact_offset or self.by_step else ROUGH * self.tol
        for j in which:
            best = self.best[j]
            lowest = best.lowest
            if j in self.known:
                lower, current = self.known[j]
                best.see(lower)
                self.curvature.look(j, current.coef, current.scores)
            else:
                where = point.coef[j].copy(), scores[j].copy()
                self.curvature.look(j, *where)
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

    def _finish(self, j: int, current: Certificate) -> None:
        """Let Newton take problem j on from `current`, as far as it is worth its work."""
        best = self.best[j]
        if self.curvature.is_negative:
            return  # there may be no minimum
        if not self.is_small and self.problem.gram.recomputes(current.coef[None]):
            return  # each of its products would cost as much as all blocks before
        if self.stopping.assist and not best.within(self.tol):
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
            self.best[j].see(self.finishers[j].method.lower)
            self.best[j].see(last)
            self.point.move(j, last)
            self.known.pop(j, None)
        return last

    def verdict(self, j: int) -> Status | None:
        """Why problem j should stop now, if it should."""
        best, largest = self.best[j], self.largest[j]
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

    def _record(self) -> None:
        best, public = self.best, self.problem.public
        self.history.append(
            Record(
                self.n_iter,
                self.clock.seconds,
                public(np.array([b.known.primal for b in best])),
                *self._proved(),
                public(self.largest),
                public(np.array([np.count_nonzero(b.known.coef) for b in best])),
            )
        )

    def _proved(self) -> tuple[Any, Any]:
        """Bounds and gaps; where K is not positive semidefinite nothing is proved."""
        bounds = np.array([b.bound for b in self.best])
        gaps = np.array([b.gap for b in self.best])
        if self.curvature.is_negative:
            bounds, gaps = np.full_like(bounds, -np.inf), np.full_like(gaps, np.inf)
        return self.problem.public(bounds), self.problem.public(gaps)

    def stop(self, j: int, status: Status) -> None:
        """Take problem j out of the running."""
        self.outcome[j] = status, self.n_iter
        self.point.stop(j)

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
            if self.curvature.is_negative
            else max(status for status, _ in outcomes),
            history=self.history,
            weights=problem.public_weights([k.state for k in known]),
        )


def solve_certified(
    problem: Problem,
    steps: Callable[[Point], Steps],
    start: Array,
    stopping: Stopping,
    state: Array | None = None,
) -> Solution:
    """Advance `steps` until every problem has reached the tolerance or a limit.

    The state of the start is computed unless it is given.
    """
    point = Point.at(problem, start, state)
    run = Certified(problem, point, stopping)
    try:
        iterate(steps, point, run)
    except KeyboardInterrupt:
        if stopping.on_interrupt == "raise" or not run.history:
            raise
        run.known.clear()
        lost = problem.gram.recomputes(point.coef)
        if run.seconds_afresh < 0.2 and not lost:  # the state may be halfway through an update
            run.refresh(j for j in point.running if not problem.is_balanced(point.coef[j]))
            run.certify(polish=False, afresh=True)
            run.settle(range(problem.m))
        run.interrupt()
    else:
        run.settle(range(problem.m))
    return run.conclude()
