"""The search for the size of a machine with nu: a secant method on the mass, see `_nu`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent.estimators._nu import SAME, Array, NuProblem, Trial, mean
from resolvent.problem import Record, Solution, Status
from resolvent.problem.certificate import within
from resolvent.problem.warning import warn_of

INNER = 0.1  # of the tolerance: how exact the solutions for given sizes are
WIDEN = 4.0  # first factor between sizes until there is a bracket
COLLAPSED = 1e-9  # relative width of a bracket in which solutions differ by their errors alone
NEAR = 1e-4  # relative width of the bracket that is looked for with more exact solutions
RIGHT = 1e-4  # relative miss of a mass that is nearly right,
PATIENCE = 3  # and solutions with it, and a small gap that does not halve: they are too rough
FEW = 2000  # samples whose solutions, in one compiled call, cost too little to be rough
ROUGH = 1e-3  # how exact solutions far from the right mass are at least,
OF_MISS = 1e-2  # and how exact in units of the square of what the mass is off by
STOPS = (Status.CALLBACK, Status.MAX_ITER, Status.TIME_LIMIT, Status.INTERRUPTED)
SMALLEST = 1e-3  # of the first tube: smaller ones are tried as none


class Search:
    """The search for the size of one problem.

    Parameters
    ----------
    problem : NuProblem
        The problem.
    settings : dict
        Of :func:`resolvent.solve`; `tol` is the relative duality gap to reach, and `max_iter` is
        for all solutions for given sizes together.
    violation : float
        Largest violation of the optimality conditions to reach.
    report : callable
        Called with each record; a true result stops.

    Attributes
    ----------
    best : Certificate
        The mean of the last bracket.
    solution : Solution
        What was found; coefficients and scores of nu-SVC are in units of the margin, as LIBSVM's.
    """

    def __init__(
        self,
        problem: NuProblem,
        settings: dict[str, Any],
        violation: float,
        report: Callable[[Record], bool],
    ) -> None:
        self.problem, self.settings, self.violation = problem, settings, violation
        self.tol, self.max_iter, self.report = settings["tol"], settings["max_iter"], report
        self.clock, self.n_iter = Clock(), 0
        self.worst = Status.CONVERGED  # of the solutions for given sizes
        self.history: list[Record] = []
        self.miss = 1.0  # of the mass, by the last trial
        # Whether solutions far from the right mass may be less exact.
        self.rough = problem.K.n > FEW
        self._open()
        self.best = problem.certificate(self.few)

    def _open(self) -> None:
        """Forget the bracket."""
        self.few: Trial = self.problem.zero()
        self.many: Trial | None = None
        # What the secant method takes the masses to be off by, and that of the last trial.
        self.lack, self.excess, self.last = self.problem.target, 0.0, 0.0

    def run(self) -> None:
        """Search until the certificate is good, or as good as it gets."""
        first = self.problem.first_size()
        status = self._search([first], INNER * self.tol)
        for inner in (1e-2 * INNER * self.tol, 0.0):
            if status is not None or self.worst == Status.NOT_PSD:
                break
            # Solutions were not exact enough to tell their masses apart: once more from here.
            size, self.rough = self.best.trial.size, False
            self._open()
            status = self._search([size * (1.0 - NEAR), size * (1.0 + NEAR)], inner)
        self.conclude(Status.PRECISION_LIMIT if status is None else status)

    def _search(self, sizes: list[float], inner: float) -> Status | None:
        """Try the sizes, then those that close the bracket; None where that is not enough."""
        problem, factor, least, idle = self.problem, WIDEN, np.inf, 0
        first = size = sizes.pop()
        start: Array | None = self.best.trial.coef
        while True:
            status = self._try(size, start, inner)
            if status is not None:
                return status
            if sizes:
                size, start = sizes.pop(), self.best.trial.coef
            elif self.many is None:
                if size == 0.0:  # no tube: there is no more mass to have
                    return None
                size, factor, start = size * factor**problem.sign, factor**2, self.few.coef
                if problem.sign < 0 and size < SMALLEST * first:
                    size = 0.0
            else:
                nearly = abs(self.miss) <= RIGHT and self._is_close()
                idle = idle + 1 if nearly and self.best.gap >= 0.5 * least else 0
                least = min(least, self.best.gap)
                collapsed = abs(self.many.size - self.few.size) <= COLLAPSED * self.many.size
                if collapsed or idle == PATIENCE:
                    return None
                between = mean(self.few, self.many, self.lack / (self.lack + self.excess))
                size, start = between.size, between.coef

    def _share(self) -> float:
        """Share of the trial of more mass in the mean that has the right one."""
        few, many = self.few.mass, self.many.mass if self.many is not None else 0.0
        return (self.problem.target - few) / (many - few) if many > few else 0.0

    def _try(self, size: float, start: Array | None, inner: float) -> Status | None:
        """Solve for a given size and certify; return why to stop, if so."""
        left = None if self.max_iter is None else self.max_iter - self.n_iter
        value = self.best.trial.value
        share = min(1.0, abs(self.best.primal) / value) if value > 0.0 else 1.0
        if self.rough and size != 0.0:  # where there is a tube its size may be far off still
            inner = max(inner, min(ROUGH, OF_MISS * self.miss**2))
        options = {"tol": inner * share, "max_iter": left, "on_interrupt": "return", "warn": False}
        trial, s = self.problem.solve(size, start, **(self.settings | options))
        self.n_iter += int(s.n_iter)
        self.worst = max(self.worst, s.status)
        self._place(trial)
        between = trial if self.many is None else mean(self.few, self.many, self._share())
        self.best = self.problem.certificate(between)
        self.problem.check(self.best.trial)
        if self._record(s):
            return Status.CALLBACK
        if self._is_good():
            return Status.CONVERGED
        if s.status in STOPS:
            return s.status
        return Status.MAX_ITER if left is not None and s.n_iter >= left else None

    def _place(self, trial: Trial) -> None:
        """Let a trial take the place of the one on its side.

        By the rule of Anderson and Bjoerck what the other one is off by is made smaller if the side
        is that of the last trial, so that the secant method moves both ends.
        """
        off = trial.mass - self.problem.target
        ratio = 1.0 - off / self.last if off * self.last > 0.0 else 1.0
        damping = ratio if ratio > 0.0 else 0.5
        if off < -SAME * self.problem.target:
            self.few, self.lack, self.excess = trial, -off, self.excess * damping
        else:
            self.many, self.excess, self.lack = trial, off, self.lack * damping
        self.last, self.miss = off, off / self.problem.target

    def _record(self, s: Solution) -> bool:
        """Add a line to the history and report it; return whether to stop."""
        best = self.best
        values = (best.primal, best.dual, best.gap, float(s.history[-1].largest_step))
        support = np.count_nonzero(best.trial.coef)
        line = [np.array([x]) for x in (*values, support)]
        self.history.append(Record(self.n_iter, self.clock.seconds, *line))
        return self.report(self.history[-1])

    def _is_close(self) -> bool:
        best = self.best
        close = within(best.gap, best.primal, best.dual, self.tol)
        return bool(close or best.gap <= 2.0 * best.rounding < np.inf)

    def _is_good(self) -> bool:
        return self._is_close() and self.problem.violation(self.best.trial) <= self.violation

    def conclude(self, status: Status) -> None:
        """Set the solution: the best trial with its certificate."""
        best, trial = self.best, self.best.trial
        dual, gap = best.dual, best.gap
        if self.worst == Status.NOT_PSD:
            dual, gap = -np.inf, np.inf
        if self.worst == Status.NOT_PSD or status == Status.PRECISION_LIMIT:
            status = max(status, self.worst)
        unit = self.problem.unit(best.size)
        self.solution = Solution(
            coef=trial.coef / unit,
            fitted=(trial.scores + best.offset) / unit,
            intercept=np.array([best.offset / unit]),
            primal=np.array([best.primal]),
            dual=np.array([dual]),
            gap=np.array([gap]),
            n_iter=np.array([self.n_iter]),
            status=status,
            history=self.history,
            weights=None if trial.weights is None else trial.weights / unit,
        )
        warn_of(self.solution, self.tol, "gap")
