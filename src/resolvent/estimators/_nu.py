"""The machines with nu, whose margin or tube is found together with the function.

    nu-SVC   minimise |f|^2 / 2 + sum_i w_i (rho - y_i s_i)+       - nu W rho,   rho >= 0
    nu-SVR   minimise |f|^2 / 2 + sum_i w_i (|y_i - s_i| - eps)+   + nu W eps,   eps >= 0

over the function f, an offset b and the *size*, rho or eps, with s_i = f(x_i) + b and W the sum of
the weights. In the dual problem the coefficients have, beside a sum of zero and the bounds w_i, the
*mass* sum_i |c_i| = nu W (nu-SVC), or at most that (nu-SVR).

For a given size these are the hinge and the epsilon-insensitive loss, and the mass of the solution
is a monotone, piecewise linear function of the size. The size is right where it is nu W: it is
searched for by the secant method between two solutions, one of less mass and one of more. The mean
of the two that has the mass nu W is feasible in the dual problem, and on one linear piece it is the
solution. For a given f the best offset and size are two quantiles. That gives the duality gap of
the problem with nu itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._clock import Clock
from resolvent._numeric import EPS
from resolvent._solve import solve
from resolvent.grams import Gram
from resolvent.losses import LOSSES
from resolvent.problem import Record, Solution, Status
from resolvent.solvers.iterate import warn_of

Array = NDArray[np.float64]

SAME = 1e-12  # relative difference of masses that is rounding
INNER = 0.1  # of the tolerance: how exact the solutions for given sizes are
WIDEN = 4.0  # first factor between sizes until there is a bracket
SMALLEST = 1e-3  # of the first tube: smaller ones are tried as none
COLLAPSED = 1e-9  # relative width of a bracket in which solutions differ by their errors alone
NEAR = 1e-4  # relative width of the bracket that is looked for with more exact solutions
NO_MARGIN = 1e-13  # squared norms, in units of the largest of such a mass, that are zero
STOPS = (Status.CALLBACK, Status.MAX_ITER, Status.TIME_LIMIT, Status.INTERRUPTED)


class Trial(NamedTuple):
    """A solution for a given size, or a mean of two."""

    size: float
    coef: Array
    scores: Array  # without the offset
    weights: Array | None  # of a linear kernel
    value: float = 0.0  # objective for this size

    @property
    def mass(self) -> float:
        """Sum of the sizes of the coefficients."""
        return float(np.abs(self.coef).sum())


class Certificate(NamedTuple):
    """A trial with the size and the offset that are best for it, and what they prove."""

    trial: Trial
    size: float
    offset: float
    primal: float
    dual: float
    rounding: float

    @property
    def gap(self) -> float:
        """Bound on how far the objective is above its minimum, rounding included."""
        return max(self.primal - self.dual, 0.0) + self.rounding


class Side(NamedTuple):
    """The samples that one of the two quantiles is of, and their multipliers in [0, weight]."""

    values: Array
    weight: Array
    multipliers: Array

    def quantile(self, mass: float) -> tuple[float, float]:
        """Minimise sum_i w_i (t - v_i)+ - mass t; return t, a midpoint if several are, and that."""
        order = np.argsort(self.values)
        v, total = self.values[order], np.cumsum(self.weight[order])
        k = min(int(np.searchsorted(total, mass * (1.0 - SAME))), len(v) - 1)
        t = v[k]
        if k + 1 < len(v) and total[k] <= mass * (1.0 + SAME):
            t = 0.5 * (v[k] + v[k + 1])
        return float(t), float(self.weight @ np.maximum(t - self.values, 0.0) - mass * t)

    def violation(self) -> float:
        """By how much a sample that should be below the quantile is above one that should not."""
        room = 1e-10 * self.weight
        inside, below = self.multipliers < self.weight - room, self.multipliers > room
        if not inside.any() or not below.any():
            return 0.0
        return float(self.values[below].max() - self.values[inside].min())


@dataclass
class NuProblem:
    """A problem with nu: `target` is the mass nu W."""

    K: Gram
    y: Array
    weight: Array
    target: float
    sign = 1  # of the change of mass as the size grows

    @abstractmethod
    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve the problem of a given size."""

    @abstractmethod
    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give the samples of the two quantiles, which are sign * size -+ offset."""

    @abstractmethod
    def first_size(self) -> float:
        """Guess the size."""

    @abstractmethod
    def largest_size(self) -> float:
        """Give the size from which on the tube holds all samples, or 0 for a margin."""

    def linear(self, coef: Array) -> float:
        """Linear part of the dual objective."""
        return 0.0

    def certificate(self, trial: Trial) -> Certificate:
        """Find the size and the offset that are best for a trial's scores, and the bounds."""
        (a, below), (b, above) = (
            side.quantile(0.5 * self.target) for side in self.sides(trial.coef, trial.scores)
        )
        penalty = own = float(trial.coef @ trial.scores)
        if trial.weights is not None:
            penalty = float(trial.weights @ trial.weights)
            own = float(trial.coef @ self.K.product(trial.coef[None])[0])
        primal = 0.5 * penalty + below + above
        dual = self.linear(trial.coef) - 0.5 * own if self.is_feasible(trial) else -np.inf
        magnitude = penalty + own + self.target * (abs(a) + abs(b)) + abs(self.linear(trial.coef))
        size, offset = 0.5 * self.sign * (a + b), 0.5 * self.sign * (b - a)
        return Certificate(trial, size, offset, primal, dual, 4.0 * EPS * magnitude)

    def is_feasible(self, trial: Trial) -> bool:
        """Whether the mass is that of the dual problem."""
        return abs(trial.mass - self.target) <= 1e3 * SAME * self.target

    def check(self, trial: Trial) -> None:
        """Refuse a nu for which there is no solution."""

    def unit(self, size: float) -> float:
        """Give what the scores of the machine are in units of."""
        return 1.0

    def violation(self, trial: Trial) -> float:
        """Largest violation of the optimality conditions, in LIBSVM's measure."""
        return max(side.violation() for side in self.sides(trial.coef, trial.scores))

    def zero(self) -> Trial:
        """Return the solution of no mass."""
        weights = np.zeros(self.K.state(np.zeros((1, self.K.n))).shape[1])
        none = np.zeros(self.K.n)
        return Trial(self.largest_size(), none, none, weights if self.K.factored else None)


class Margin(NuProblem):
    """nu-SVC of the signs y: the hinge loss at the margin rho."""

    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve with the hinge loss, in units of rho."""
        begin = None if start is None else start / size
        s = solve("hinge", self.K, self.y, self.weight / size, start=begin, **settings)
        weights = None if s.weights is None else s.weights * size
        scores = (s.fitted - s.intercept) * size
        return Trial(size, s.coef * size, scores, weights, s.primal * size**2), s

    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give each class, with its scores towards it."""
        plus, minus = self.y > 0, self.y < 0
        return (
            Side(scores[plus], self.weight[plus], coef[plus]),
            Side(-scores[minus], self.weight[minus], -coef[minus]),
        )

    def first_size(self) -> float:
        """Guess rho = 1 / C: the scores that the coefficients of a few samples make."""
        return self.K.centred().trace / self.K.n

    def largest_size(self) -> float:
        """Return 0: there the coefficients are zero."""
        return 0.0

    def check(self, trial: Trial) -> None:
        """Refuse a nu so small that the classes have no margin."""
        mass = trial.mass
        if mass >= self.target * (1.0 - 1e3 * SAME):
            largest = mass**2 * float(self.K.diagonal.max())
            if float(trial.coef @ trial.scores) <= NO_MARGIN * largest:
                raise ValueError(
                    "nu is too small for these data: the classes overlap so much that the margin "
                    "is zero. Increase nu, or use another kernel or other parameters of it."
                )

    def unit(self, size: float) -> float:
        """Give the margin: LIBSVM's scores are 1 there."""
        return size if size > 0.0 else 1.0


class Tube(NuProblem):
    """nu-SVR of the targets y: the epsilon-insensitive loss."""

    sign = -1

    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve with the epsilon-insensitive loss."""
        loss = LOSSES["epsilon_insensitive"](size)
        s = solve(loss, self.K, self.y, self.weight, start=start, **settings)
        return Trial(size, s.coef, s.fitted - s.intercept, s.weights, s.primal), s

    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give the residuals, from below and from above."""
        r = self.y - scores
        return Side(r, self.weight, np.maximum(-coef, 0)), Side(
            -r, self.weight, np.maximum(coef, 0)
        )

    def first_size(self) -> float:
        """Guess that the function takes three quarters of the tube that f = 0 has."""
        return 0.25 * self.certificate(self.zero()).size

    def largest_size(self) -> float:
        """Return half of the range of the targets."""
        return 0.5 * float(self.y.max() - self.y.min())

    def linear(self, coef: Array) -> float:
        """Return y'c."""
        return float(self.y @ coef)

    def is_feasible(self, trial: Trial) -> bool:
        """Whether the mass is at most that of the dual problem."""
        return trial.mass <= self.target * (1.0 + 1e3 * SAME)


def mean(a: Trial, b: Trial, share: float) -> Trial:
    """Return a trial between two."""

    def mix(x: Any, y: Any) -> Any:
        return (1.0 - share) * x + share * y

    weights = None if a.weights is None else mix(a.weights, b.weights)
    return Trial(mix(a.size, b.size), mix(a.coef, b.coef), mix(a.scores, b.scores), weights)


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
            size = self.best.trial.size
            self._open()
            status = self._search([size * (1.0 - NEAR), size * (1.0 + NEAR)], inner)
        self.conclude(Status.PRECISION_LIMIT if status is None else status)

    def _search(self, sizes: list[float], inner: float) -> Status | None:
        """Try the sizes, then those that close the bracket; None where that is not enough."""
        problem, factor = self.problem, WIDEN
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
                if abs(self.many.size - self.few.size) <= COLLAPSED * self.many.size:
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
        self.last = off

    def _record(self, s: Solution) -> bool:
        """Add a line to the history and report it; return whether to stop."""
        best = self.best
        values = (best.primal, best.dual, best.gap, float(s.history[-1].largest_step))
        support = np.count_nonzero(best.trial.coef)
        line = [np.array([x]) for x in (*values, support)]
        self.history.append(Record(self.n_iter, self.clock.seconds, *line))
        return self.report(self.history[-1])

    def _is_good(self) -> bool:
        best = self.best
        scale = max(abs(best.primal), abs(best.dual))
        within = best.gap <= max(self.tol * scale, 2.0 * best.rounding)
        return (
            within
            and np.isfinite(best.gap)
            and self.problem.violation(best.trial) <= self.violation
        )

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
