"""The problems of one fold, followed along C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from resolvent._solve import solve
from resolvent.grams import Gram
from resolvent.losses import as_loss
from resolvent.model_selection.measure import ByGap
from resolvent.model_selection.splitting import Splitting
from resolvent.problem import Array, Problem, Status, sums, times_weight
from resolvent.problem.certificate import bounds, relative_gap, relative_gaps
from resolvent.solvers.choose import choose, facts_of, steps_of
from resolvent.solvers.iterate import Point, iterate

TRIALS = 6  # ways to scale a solution to the next C
WORK_GROWTH = 2.0  # of the work from one C to the next, where it grows
ROUNDED = 1e-3  # how far, relatively, the rounding of scores may put a dual above a primal
MAX_BLOCKS = 2000  # then `solve`, which has Newton steps, takes over


class Stage(NamedTuple):
    """Where a fold is at one C: arrays of a row for each sample and a column for each problem."""

    coef: Array
    fitted: Array  # scores of all samples, those held out included
    gap: Array  # relative duality gap of each problem

    def is_finite(self) -> bool:
        """Whether no number has overflowed."""
        return bool(np.isfinite(self.coef).all() and np.isfinite(self.fitted).all())


def follow(
    losses: Any,
    gram: Gram,
    targets: Array,
    weights: Array,
    Cs: Array,
    start: Array | None,
    pause: Callable[[], None],
    *,
    tol: float,
    exact: bool,
    budget: Callable[[float], float] | None = None,
    hand_over: Callable[[list[Any]], None] | None = None,
    **settings: Any,
) -> Iterator[Stage]:
    """Yield the solution at each C, each started from the one before.

    Samples that are held out have weight zero; their scores come out with the others'. `losses` is
    one loss for all columns, or a list of one for each. Unless `exact`, and where rows of the
    kernel matrix are at hand, the gap is taken from the scores as they are kept up to date, and the
    last scores, scaled, are the next to start from: no product with the kernel matrix is needed.
    `pause` is called often; what it raises ends the work.

    Where a problem at C takes more than ``budget(C)`` multiply-adds, the walkers are handed over,
    to go on from C with those of other folds, and nothing more is yielded.
    """
    walkers: list[Walker] = []
    coupled = not isinstance(losses, list) and bool(getattr(as_loss(losses), "couples", ""))
    kind = Coarse if not exact and not coupled and _is_greedy(gram, settings) else Exact
    groups = range(targets.shape[1]) if isinstance(losses, list) else [slice(None)]
    for part in groups:
        columns = slice(part, part + 1) if isinstance(part, int) else part
        loss = losses[part] if isinstance(losses, list) else losses
        first = None if start is None else start[:, columns]
        own = weights[:, columns] if weights.ndim == 2 else weights
        walkers.append(kind(loss, gram, targets[:, columns], own, first, tol, pause, settings))
    for C in Cs:
        most = np.inf if budget is None else budget(C)
        stages = []
        for walker in walkers:
            stage = walker.go(C, most)
            if stage is None:
                assert hand_over is not None
                hand_over(walkers)
                return
            stages.append(stage)
        yield join(stages)


def join(stages: list[Stage]) -> Stage:
    """Put the columns of several stages side by side."""
    return Stage(*map(np.hstack, zip(*stages, strict=True)))


def together(splitting: Splitting, walkers: list[Coarse], C: float) -> list[Stage]:
    """Solve at C the problems of walkers, of any folds, by splitting."""
    problems = [walker.problem(C) for walker in walkers]
    columns = [(problem, j) for problem in problems for j in range(problem.m)]
    owner = [(walker, j) for walker in walkers for j in range(walker.targets.shape[1])]
    starts = [walker.at_hand() for walker in walkers]

    def measure(p: int, primal: float, dual: float, scores: Array) -> float:
        walker, j = owner[p]
        return walker.relative(j, primal, dual, scores, C)

    coef, scores = (np.vstack(rows) for rows in zip(*starts, strict=True))
    coef, scores, gaps = splitting.solve(columns, coef, scores, measure, walkers[0].tol)
    parts = np.cumsum([problem.m for problem in problems])[:-1]
    return [
        walker.arrive(C, *found)
        for walker, *found in zip(
            walkers, *(np.split(rows, parts) for rows in (coef, scores, gaps)), strict=True
        )
    ]


def _is_greedy(gram: Gram, settings: dict[str, Any]) -> bool:
    return gram.rows is not None and settings["solver"] == "auto"


class Walker(ABC):
    """Columns with one loss that go from C to C."""

    def __init__(
        self,
        loss: Any,
        gram: Gram,
        targets: Array,
        weights: Array,
        start: Array | None,
        tol: float,
        pause: Callable[[], None],
        settings: dict[str, Any],
    ) -> None:
        self.loss, self.gram, self.targets, self.weights = loss, gram, targets, weights
        self.coef: Any = start
        self.tol, self.pause, self.settings = tol, pause, settings
        self.C = 0.0  # the one that `coef` is for; 0 if it is to be taken as it is
        self.fitted: Array | None = None  # scores of the last solution of `solve`

    @abstractmethod
    def go(self, C: float, most: float = np.inf) -> Stage | None:
        """Solve at C; None if a problem took more than `most` multiply-adds and is not solved."""

    def _solve(self, C: float) -> Stage:
        """Solve by `solve`, with a certificate from scratch."""

        def look(_: Any) -> None:
            self.pause()

        if self.coef is not None and self.C:
            with np.errstate(over="ignore"):  # of weights near the largest number
                self.coef = self.coef * (C / self.C)
            self.coef = self.coef if np.isfinite(self.coef).all() else None
        solution = solve(
            self.loss,
            self.gram,
            self.targets,
            times_weight(C, self.weights),
            start=self.coef,
            tol=self.tol,
            callback=look,
            **self.settings,
        )
        self.C, self.coef, self.fitted = C, solution.coef, solution.fitted
        gaps = relative_gaps(solution.gap, solution.primal, solution.dual)
        if solution.status == Status.CONVERGED:  # an objective may be zero up to rounding
            gaps = np.minimum(gaps, self.tol)
        return Stage(solution.coef, solution.fitted, gaps)


class Exact(Walker):
    """Each solution has its certificate from scratch."""

    def go(self, C: float, most: float = np.inf) -> Stage:
        """Solve at C, whatever it takes."""
        return self._solve(C)


class Coarse(Walker):
    """Each solution has the gap that its scores, as they are kept up to date, suggest.

    It is relative to the objective or, if that is more, to what the loss would be if that of the
    samples held out were that of all: where C is large and hardly any loss is left in training, no
    score can tell what is left of it exactly. That of a constant is the most that counts.
    """

    point: Point | None = None
    nulls: Array = np.empty(0)  # loss of the best constant for each problem, with C = 1
    held: Array = np.empty(0)  # weights of the samples held out, in all those of the others

    def problem(self, C: float) -> Problem:
        """Make the problem at C."""
        problem = Problem(
            self.loss,
            self.gram,
            self.targets,
            times_weight(C, self.weights),
            fit_intercept=self.settings["fit_intercept"],
        )
        if len(self.nulls) == 0:
            self.nulls = _nulls(problem) / C
            self.held = _held(problem) / C
        return problem

    def go(self, C: float, most: float = np.inf) -> Stage | None:
        """Solve at C by blocks, unless a problem takes more than `most` multiply-adds."""
        if self.point is not None and WORK_GROWTH * self.point.work.max() > most:
            return None  # as it would be after much work
        problem = self.problem(C)
        point, same = self._start(problem, C)
        most_blocks = self.settings["max_iter"] or np.inf
        watch = ByGap(
            point,
            lambda j, _: self._gap(problem, point, j, C),
            self.tol,
            self.pause,
            at_once=same,  # other starts have yet to find their offset
            most_iterations=min(most_blocks, MAX_BLOCKS),
            most_work=most,
        )
        iterate(steps_of(choose(facts_of(problem)), problem, self.tol), point, watch)
        if watch.status == Status.NOT_PSD:
            return self._in_full(C, np.zeros_like(point.coef))
        if watch.status == Status.TIME_LIMIT:
            self.C, self.point = C, point
            return None
        if watch.status == Status.MAX_ITER and most_blocks > MAX_BLOCKS:
            return self._in_full(C, point.coef)
        return self._stage(C, point, watch.gaps)

    def _stage(self, C: float, point: Point, gaps: Array) -> Stage:
        """Keep where blocks have led to at C; if numbers have overflowed, solve it in full."""
        offset = point.intercept if self.settings["fit_intercept"] else 0.0
        stage = Stage(point.coef.T.copy(), (point.state.T + offset).copy(), gaps)
        if not stage.is_finite():
            return self._in_full(C, np.zeros_like(point.coef))
        self.C, self.point = C, point
        return stage

    def _in_full(self, C: float, coef: Array) -> Stage:
        self.coef, self.point, self.C = coef.T, None, 0.0
        return self._solve(C)

    def at_hand(self) -> tuple[Array, Array]:
        """Coefficients and scores to start from."""
        if self.point is None and self.fitted is not None:  # after `_in_full`
            return np.ascontiguousarray(self.coef.T), np.ascontiguousarray(self.fitted.T)
        if self.point is None:
            none = np.zeros((self.targets.shape[1], self.gram.n))
            return none, none
        offset = self.point.intercept[:, None] if self.settings["fit_intercept"] else 0.0
        return self.point.coef, self.point.state + offset

    def arrive(self, C: float, coef: Array, scores: Array, gaps: Array) -> Stage:
        """Take what was found elsewhere for C, if it is good enough; otherwise solve it here."""
        if not (gaps <= self.tol).all():
            return self._in_full(C, coef)
        m = len(coef)
        self.C = C
        self.point = Point(coef, scores, np.zeros(m), np.arange(m), np.zeros(m))
        return Stage(coef.T.copy(), scores.T.copy(), gaps)

    def _gap(self, problem: Problem, point: Point, j: int, C: float) -> float:
        """Relative gap of problem j with the scores as they are kept up to date.

        NaN if the dual is above the objective of a constant: K, as it is rounded, is indefinite.
        """
        b = float(point.intercept[j]) if problem.fit_intercept else 0.0
        z = point.state[j]
        primal, dual = bounds(problem, j, point.coef[j], z, b)
        if not dual <= (1.0 + ROUNDED) * C * self.nulls[j]:
            return np.nan
        return self.relative(j, primal, dual, z + b, C)

    def relative(self, j: int, primal: float, dual: float, scores: Array, C: float) -> float:
        """Gap of problem j in units of what the score can tell."""
        y = np.ascontiguousarray(self.targets[:, j])
        none = np.zeros_like(scores)  # targets with offsets are complex
        held_out = sums.fenchel(self.loss, y, self.held[j], none, scores, 0.0)[0]
        least = C * min(held_out, self.nulls[j])
        return relative_gap(primal, dual, max(least, 1e-200))

    def _start(self, problem: Problem, C: float) -> tuple[Point, Any]:
        """Where to start at C, and for which problems that is the solution of before."""
        same = np.zeros(problem.m, bool)
        if self.point is None:
            if self.coef is None:
                return _first(problem), same
            coef = problem.rows(self.coef) * (C / self.C if self.C else 1.0)
            return Point.at(problem, np.where(problem.C > 0.0, coef, 0.0)), same
        # Coefficients at their bounds go along with C, free ones hardly do: the best of some ways
        # between, all of them in the domain of the conjugates.
        for j in range(problem.m):
            factors = np.geomspace(min(1.0, C / self.C), C / self.C, TRIALS)
            duals = [_dual(problem, self.point, j, factor) for factor in factors]
            best = factors[int(np.argmax(duals))]
            self.point.coef[j] *= best
            self.point.state[j] *= best
            same[j] = best == 1.0
        m = problem.m
        last = self.point.coef, self.point.state, self.point.intercept
        return Point(*last, np.arange(m), np.zeros(m)), same


def _first(problem: Problem) -> Point:
    """Where each coefficient is as if it were alone, if that puts most of them at their bounds.

    So it is at a small C. Otherwise zero, from where only those move that have to.
    """
    n, loss = problem.n, problem.loss
    none, alpha = np.zeros(n), 1.0 / np.maximum(problem.gram.diagonal, 1e-200)
    coef, slopes = np.zeros((problem.m, n)), np.empty(n)
    for j in range(problem.m):
        b = problem.risk.balance(j, none, none, alpha, 0.0) if problem.fit_intercept else 0.0
        args = loss, problem.y[j], problem.C[j], none, none + b, float(alpha.mean())
        sums.proximal(*args, coef[j], slopes)
        free = np.count_nonzero(slopes[problem.C[j] > 0.0])
        coef[j] = coef[j] if 2 * free < n else none
    point = Point.at(problem, coef)
    for j in range(problem.m):
        if _dual(problem, point, j, 0.5) > _dual(problem, point, j, 1.0):
            point.coef[j] = point.state[j] = 0.0
    return point


def _dual(problem: Problem, point: Point, j: int, factor: float) -> float:
    """Dual objective of problem j where all coefficients are multiplied by a factor."""
    c, z = factor * point.coef[j], factor * point.state[j]
    return bounds(problem, j, c, z, 0.0)[1]


def _nulls(problem: Problem) -> Array:
    """Objective of the best constant for each problem; zero is the constant without an offset."""
    none = np.zeros(problem.n)
    offsets = [
        problem.risk.best_offset(j, none, none) if problem.fit_intercept else 0.0
        for j in range(problem.m)
    ]
    return np.array([problem.risk.fenchel(j, none, none, b)[0] for j, b in enumerate(offsets)])


def _held(problem: Problem) -> Array:
    """Weights of samples that are held out, equal and with the sum of the others' weights."""
    out = problem.C == 0.0
    return out * (problem.C.sum(axis=1) / np.maximum(out.sum(axis=1), 1))[:, None]
