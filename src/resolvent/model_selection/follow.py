"""The problems of one fold, followed along C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from resolvent._solve import solve
from resolvent.grams import Gram, RowGram
from resolvent.losses import as_loss
from resolvent.problem import Array, Problem
from resolvent.solvers import loops
from resolvent.solvers.by_rows import by_rows
from resolvent.solvers.iterate import Point

TRIALS = 6  # ways to scale a solution to the next C
MAX_BLOCKS = 2000  # then `solve`, which has Newton steps, takes over


class Stage(NamedTuple):
    """Where a fold is at one C: arrays of a row for each sample and a column for each problem."""

    coef: Array
    fitted: Array  # scores of all samples, those held out included
    gap: Array  # relative duality gap of each problem


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
    **settings: Any,
) -> Iterator[Stage]:
    """Yield the solution at each C, each started from the one before.

    Samples that are held out have weight zero; their scores come out with the others'. `losses` is
    one loss for all columns, or a list of one for each. Unless `exact`, and where rows of the
    kernel matrix are at hand, the gap is taken from the scores as they are kept up to date, and the
    last scores, scaled, are the next to start from: no product with the kernel matrix is needed.
    `pause` is called often; what it raises ends the work.
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
        yield Stage(*map(np.hstack, zip(*(walker.go(C) for walker in walkers), strict=True)))


def _is_greedy(gram: Gram, settings: dict[str, Any]) -> bool:
    return isinstance(gram, RowGram) and settings["solver"] == "auto"


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
        self.coef, self.tol, self.pause, self.settings = start, tol, pause, settings
        self.C = 0.0  # the one that `coef` is for; 0 if it is to be taken as it is

    @abstractmethod
    def go(self, C: float) -> Stage:
        """Solve at C."""

    def _solve(self, C: float) -> Stage:
        """Solve by `solve`, with a certificate from scratch."""

        def look(_: Any) -> None:
            self.pause()

        if self.coef is not None and self.C:
            self.coef = self.coef * (C / self.C)
        solution = solve(
            self.loss,
            self.gram,
            self.targets,
            C * self.weights,
            start=self.coef,
            tol=self.tol,
            callback=look,
            **self.settings,
        )
        self.C, self.coef = C, solution.coef
        return Stage(solution.coef, solution.fitted, _relative(solution))


class Exact(Walker):
    """Each solution has its certificate from scratch."""

    def go(self, C: float) -> Stage:
        """Solve at C."""
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

    def go(self, C: float) -> Stage:
        """Solve at C."""
        problem = Problem(
            self.loss,
            self.gram,
            self.targets,
            C * self.weights,
            fit_intercept=self.settings["fit_intercept"],
        )
        if len(self.nulls) == 0:
            self.nulls = _nulls(problem) / C
            self.held = _held(problem) / C
        point = self._start(problem, C)
        gaps = np.empty(problem.m)
        most = self.settings["max_iter"] or np.inf
        blocks = 0
        for largest in by_rows(problem, self.tol)(point):
            self.pause()
            if largest is None:
                continue
            blocks += 1
            for j in point.running:
                gaps[j] = self._gap(problem, point, j, C)
            # a problem that does not move any more is as exact as its scores are
            point.running = point.running[
                (gaps[point.running] > self.tol) & (largest[point.running] > 0.0)
            ]
            if len(point.running) == 0 or blocks >= most:
                self.C, self.point = C, point
                offset = point.intercept if problem.fit_intercept else 0.0
                return Stage(point.coef.T.copy(), (point.state.T + offset).copy(), gaps)
            if blocks == MAX_BLOCKS:
                break
        self.coef, self.point, self.C = point.coef.T, None, 0.0
        stage = self._solve(C)
        self.coef = stage.coef
        return stage

    def _gap(self, problem: Problem, point: Point, j: int, C: float) -> float:
        """Relative gap of problem j with the scores as they are kept up to date."""
        b = float(point.intercept[j]) if problem.fit_intercept else 0.0
        loss, y, c, z = problem.loss, problem.y[j], point.coef[j], point.state[j]
        losses, conjugates, products, _ = loops.fenchel(loss, y, problem.C[j], c, z, b)
        primal = losses + 0.5 * products
        dual = -conjugates - 0.5 * products - b * float(c.sum())
        held_out = loops.fenchel(loss, y, self.held[j], np.zeros_like(c), z, b)[0]
        least = C * min(held_out, self.nulls[j])
        return (primal - dual) / max(abs(primal), abs(dual), least, 1e-200)

    def _start(self, problem: Problem, C: float) -> Point:
        if self.point is None:
            coef = np.zeros((problem.m, problem.n))
            if self.coef is not None:
                coef = problem.rows(self.coef) * (C / self.C if self.C else 1.0)
                coef = np.where(problem.C > 0.0, coef, 0.0)
                scores = problem.gram.product(coef)
                for j in range(problem.m):
                    coef[j] = problem.resolvent_step(j, coef[j], scores[j])[0]
            return Point.at(problem, coef)
        # Coefficients at their bounds go along with C, free ones hardly do: the best of some ways
        # between, all of them in the domain of the conjugates.
        for j in range(problem.m):
            factors = np.geomspace(min(1.0, C / self.C), C / self.C, TRIALS)
            duals = [_dual(problem, self.point, j, factor) for factor in factors]
            best = factors[int(np.argmax(duals))]
            self.point.coef[j] *= best
            self.point.state[j] *= best
        return Point(
            self.point.coef,
            self.point.state,
            self.point.intercept,
            np.arange(problem.m),
            np.zeros(problem.m),
        )


def _dual(problem: Problem, point: Point, j: int, factor: float) -> float:
    """Dual objective of problem j where all coefficients are multiplied by a factor."""
    c, z = factor * point.coef[j], factor * point.state[j]
    args = problem.loss, problem.y[j], problem.C[j], c, z, 0.0
    _, conjugates, products, _ = loops.fenchel(*args)
    return -conjugates - 0.5 * products


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


def _relative(solution: Any) -> Array:
    gap, primal, dual = map(np.atleast_1d, (solution.gap, solution.primal, solution.dual))
    scale = np.maximum(np.abs(primal), np.abs(dual))
    return np.divide(gap, scale, out=np.zeros_like(scale), where=scale > 0)
