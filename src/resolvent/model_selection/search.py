"""The search: every gamma, fold and C, with what they share computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent._clock import Clock
from resolvent._threads import one_blas_thread, run
from resolvent.estimators.base import Data, Machine
from resolvent.grams import Gram
from resolvent.model_selection.closed_form import SquaredFolds
from resolvent.model_selection.folds import Fold
from resolvent.model_selection.follow import Coarse, Stage, follow, join, together
from resolvent.model_selection.kernels import Shared
from resolvent.model_selection.scoring import HeldOutScorer
from resolvent.model_selection.splitting import BYTES, Splitting, cost
from resolvent.problem import Array, Status

REFINE_BY = 0.1  # near-ties are solved again to this fraction of the tolerance
MOST_REFINED = 12  # cells that are solved again, at most


class StoppedError(Exception):
    """The search is to end: its time is over, or it was interrupted."""


@dataclass
class Table:
    """What a search has found: a row for each gamma, a column for each C, then one for each fold.

    What was not reached is NaN; a score may be NaN too, where it is not defined.
    """

    scores: Array
    gaps: Array  # relative duality gaps, the largest of a fold's problems
    reached: NDArray[np.bool_]  # whether the problems of a fold were solved
    starts: dict[tuple[int, int], Array] = field(default_factory=dict)  # sums of coefficients

    @classmethod
    def empty(cls, *shape: int) -> Table:
        """Nothing is known yet."""
        return cls(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, bool))

    @property
    def means(self) -> Array:
        """Mean score of each cell; NaN where a fold is missing."""
        return self.scores.mean(axis=2)

    @property
    def complete(self) -> Any:
        """Which cells have a score from every fold."""
        return self.reached.all(axis=2)


class Search:
    """All problems of a search over gamma and C.

    Parameters
    ----------
    estimator : Machine
        The estimator to tune, which has read the data.
    data : Data
        The samples that take part.
    folds : list of Fold
        Which of them each fold learns from and is scored on.
    score : HeldOutScorer
        Scores of held-out samples.
    grams : Shared
        The kernel matrices, or what they are made of in each fold.
    Cs : ndarray
        Values of C, increasing.
    tol : float
        Relative gap of each problem.
    exact : bool
        Whether each problem is certified from scratch.
    closed : bool
        Whether the folds are solved in closed form.
    settings : dict
        Passed on to :func:`resolvent.solve`.
    watch : callable
        Called as ``watch(table)`` when a fold has reached a C; a true result ends the search.
    see : callable or None
        Called as ``see(g, i, k, scores)`` with the held-out scores themselves.
    """

    def __init__(
        self,
        estimator: Machine,
        data: Data,
        folds: list[Fold],
        score: HeldOutScorer,
        grams: Shared,
        Cs: Array,
        *,
        tol: float,
        exact: bool,
        closed: bool,
        settings: dict[str, Any],
        time_limit: float | None,
        watch: Callable[[Table], bool],
        see: Callable[[int, int, int, Array], None] | None = None,
    ) -> None:
        self.estimator, self.data, self.folds, self.score = estimator, data, folds, score
        self.grams, self.Cs, self.settings = grams, Cs, settings
        self.tol, self.exact = tol, exact
        self.watch, self.see = watch, see
        self.table = Table.empty(len(grams.gammas), len(Cs), len(folds))
        self.clock = Clock(time_limit)
        self.status = Status.CONVERGED  # or why the search ended before
        self.lock = Lock()
        self.closed, self.slowest = closed, 0.0  # seconds of an eigendecomposition
        # Of each gamma, how many folds are under way, and those handed over: from which C, and who.
        self.under_way = [len(folds)] * len(grams.gammas)
        self.handed: list[dict[int, tuple[int, list[Coarse]]]] = [{} for _ in grams.gammas]
        # From the middle of the grid outwards: if the time is short, the best is likely there.
        n = len(grams.gammas)
        self.order = sorted(range(n), key=lambda g: abs(g - (n - 1) / 2))
        self.firsts: dict[tuple[int, int], Array | None] = {}  # coefficients at the first C
        self.begun = Condition()  # for those of a gamma and a fold to be there

    def run(self) -> Table:
        """Search all cells, then solve again those that may be the best."""
        parts = [None] if self.closed else list(range(len(self.folds)))
        tasks = [(g, k) for g in self.order for k in parts]
        for g in self.order:
            self.grams.expect(g, len(parts))
        self._run(self._task, tasks)
        if not self.exact and not self.closed:
            self._refine()
        return self.table

    def _run(self, function: Callable[..., None], tasks: list[Any]) -> None:
        def guarded(*task: Any) -> None:
            if self.stopped:
                return
            try:
                function(*task)
            except StoppedError:
                if not self.stopped:
                    self.status = Status.TIME_LIMIT
            except BaseException:
                self.status = Status.INTERRUPTED  # the other threads end at their next pause
                raise

        try:
            with one_blas_thread():
                run(guarded, tasks, parallel=self.grams.workers != 1, most=self.grams.workers)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED

    @property
    def stopped(self) -> bool:
        """Whether the search is to end before it is complete."""
        return self.status != Status.CONVERGED

    def pause(self) -> None:
        """Let a stop take effect."""
        if self.stopped or self.clock.is_over():
            raise StoppedError

    # ---- one fold at a time -----------------------------------------------------------------

    def _task(self, g: int, k: int | None) -> None:
        gram = self.grams.take(g, self.pause)
        try:
            if k is None:
                try:
                    self._all_folds(g, gram)
                except np.linalg.LinAlgError:  # as with weights of very different sizes
                    for fold in range(len(self.folds)):
                        self._one_fold(g, fold, gram)
            else:
                self._one_fold(g, k, gram)
        finally:
            self.grams.give_back(g)

    def _one_fold(self, g: int, k: int, gram: Any) -> None:
        i, start = 0, self._beside(g, k)

        def hand_over(walkers: list[Coarse]) -> None:
            self.handed[g][k] = i, walkers

        for stage in self._stages(gram, k, self.Cs, start, hand_over=hand_over):
            self._begin(g, k, stage.coef)
            self._note(g, i, k, stage)
            i += 1
        self._begin(g, k, None)  # if it was handed over before
        with self.lock:
            self.under_way[g] -= 1
            last = self.under_way[g] == 0
        if last and self.handed[g]:
            self._together(g, gram)

    def _begin(self, g: int, k: int, coef: Array | None) -> None:
        """Note the coefficients of a fold at its first C, for those of the gammas next to g."""
        with self.begun:
            self.firsts.setdefault((g, k), coef)
            self.begun.notify_all()

    def _beside(self, g: int, k: int) -> Array | None:
        """Coefficients of a fold at the first C for the nearest gamma that comes before g.

        Tasks are begun in order, so that the one waited for is under way.
        """
        earlier = self.order[: self.order.index(g)]
        if not earlier or self.closed:
            return None
        beside = min(earlier, key=lambda other: abs(other - g))
        with self.begun:
            while (beside, k) not in self.firsts:
                self.pause()
                self.begun.wait(0.1)
            coef = self.firsts[beside, k]
            if beside != self.order[0]:  # which has a neighbour on either side
                self.firsts[beside, k] = None
            return coef

    def _together(self, g: int, gram: Gram) -> None:
        """Go on, by splitting, with the folds of a gamma for which blocks took too long."""
        assert gram.rows is not None  # or nothing would have been handed over
        splitting = Splitting(gram.rows, self.settings["fit_intercept"], self.pause)
        handed = dict(sorted(self.handed[g].items()))  # whichever thread was the first
        for i, C in enumerate(self.Cs):
            here = {k: walkers for k, (first, walkers) in handed.items() if first <= i}
            if not here:
                continue
            stages = iter(together(splitting, [w for walkers in here.values() for w in walkers], C))
            for k, walkers in here.items():
                self._note(g, i, k, join([next(stages) for _ in walkers]))
        self.handed[g].clear()

    def _budget(self, n: int, m: int) -> Callable[[float], float] | None:
        """Multiply-adds of a problem at C, beyond which splitting is likely to be faster."""
        if self.settings["max_iter"] is not None or not self.grams.have_room(BYTES * n * n):
            return None

        def budget(C: float) -> float:
            return cost(n, m * len(self.folds) * int(np.count_nonzero(self.Cs >= C)))

        return budget

    def _stages(
        self,
        shared: Any,
        k: int,
        Cs: Array,
        start: Array | None = None,
        tol: float | None = None,
        hand_over: Callable[[list[Coarse]], None] | None = None,
    ) -> Iterator[Stage]:
        """Solutions of a fold along C; problems that have one class only are constants."""
        losses, targets, weights = self.estimator._columns(
            self.data, self.folds[k].weights(self.data)
        )
        alive, constant = self._alive(k, targets, weights)
        several, kept = isinstance(losses, list), targets[:, alive]
        if weights.ndim == 1:  # held-out samples of a class that is left out count for nothing
            kept[kept.real.sum(axis=1) == 0.0, 0] = 1.0
        stages = follow(
            [loss for loss, yes in zip(losses, alive, strict=True) if yes] if several else losses,
            self.grams.of_fold(shared, k, self.pause),
            kept,
            weights[:, alive] if weights.ndim == 2 else weights,
            Cs,
            None if start is None else start[:, alive],
            self.pause,
            tol=self.tol if tol is None else tol,
            exact=self.exact,
            budget=self._budget(*kept.shape) if hand_over and alive.all() else None,
            hand_over=hand_over,
            **self.settings,
        )
        for stage in stages:
            if alive.all():
                yield stage
                continue
            coef, fitted = np.zeros(targets.shape), np.empty(targets.shape)
            coef[:, alive], fitted[:, alive] = stage.coef, stage.fitted
            # beyond what any class that the fold has seen can reach
            fitted[:, ~alive] = constant[~alive] * (1.0 + np.abs(stage.fitted).max())
            yield Stage(coef, fitted, stage.gap)

    def _alive(self, k: int, targets: Array, weights: Array) -> tuple[Any, Any]:
        """Which problems of a fold are problems, and the side that the others are on."""
        m = targets.shape[1]
        if self.data.codes is None:
            return np.ones(m, dtype=bool), np.zeros(m)
        inside = (weights > 0).reshape(len(weights), -1)  # one column for classes that are coupled
        if weights.ndim == 1:
            targets = 2.0 * targets - 1.0
        positive = targets.real > 0.0
        up, down = (inside & positive).any(axis=0), (inside & ~positive).any(axis=0)
        alive = up & down
        if not alive.any():
            raise ValueError(
                f"Fold {k} of cv learns from samples of one class only; use stratified folds, or "
                "fewer of them."
            )
        return alive, up * 1.0 - down * 1.0

    def _note(self, g: int, i: int, k: int, stage: Stage) -> None:
        test = self.folds[k].test
        self._enter(g, i, k, stage.fitted[test], float(stage.gap.max()), stage.coef)

    def _enter(
        self, g: int, i: int, k: int, held: Array, gap: float, coef: Array | None = None
    ) -> None:
        """Score held-out samples and write it down; one thread at a time."""
        if self.data.offset is not None:
            held = held + self.data.offset[self.folds[k].test]
        with self.lock:
            if self.see is not None:
                self.see(g, i, k, held)
            self.table.scores[g, i, k] = self.score(self.folds[k].test, held)
            self.table.gaps[g, i, k], self.table.reached[g, i, k] = gap, True
            if coef is not None:
                self._keep_start(g, i, k, coef)
            if self.watch(self.table) and not self.stopped:
                self.status = Status.CALLBACK

    def _keep_start(self, g: int, i: int, k: int, coef: Array) -> None:
        """Add to the sum over folds, from which the cell can be solved again."""
        starts = self.table.starts
        with np.errstate(over="ignore"):  # of weights near the largest number
            total = starts.get((g, i), 0.0) + coef / max(1, len(self.folds) - 1)
        starts[g, i] = np.where(np.isfinite(total), total, 0.0)
        done = [j for j in range(len(self.Cs)) if self.table.complete[g, j]]
        # Only the best three of each gamma may be needed again.
        for j in sorted(done, key=lambda j: -self.table.means[g, j])[3:]:
            starts.pop((g, j), None)

    # ---- closed form --------------------------------------------------------------------------

    def _all_folds(self, g: int, gram: Gram) -> None:
        folds = []
        for fold in self.folds:
            out = np.setdiff1d(np.arange(len(self.data)), fold.train)
            folds.append((out, np.searchsorted(out, fold.test)))
        _, targets, _ = self.estimator._columns(self.data, self.data.weight)
        self.pause()
        if self.clock.left is not None and self.clock.left < self.slowest:
            raise StoppedError  # the next would not be done in time
        began = self.clock.seconds
        squared = SquaredFolds(gram, targets, self.data.weight, self.settings["fit_intercept"])
        self.slowest = max(self.slowest, self.clock.seconds - began)
        for i, C in enumerate(self.Cs):
            for k, held in enumerate(squared.held_out(C, folds)):
                self.pause()
                self._enter(g, i, k, held, 0.0)

    # ---- near-ties ------------------------------------------------------------------------------

    def _refine(self) -> None:
        """Solve cells again, more exactly, until none that was not can be the best.

        That is judged by how much the scores of those that were solved again have changed.
        """
        refined: set[tuple[int, int]] = set()
        change = 0.0
        while not self.stopped and len(refined) < MOST_REFINED:
            means = np.where(self.table.complete, self.table.means, -np.inf)
            near = np.argwhere(means >= means.max() - change)
            todo = [(int(g), int(i)) for g, i in near if (g, i) in self.table.starts]
            todo = sorted(set(todo) - refined, key=lambda cell: -means[cell])
            if not np.isfinite(means.max()) or not todo:
                return
            cell = todo[0]
            self.grams.expect(cell[0], len(self.folds))
            tasks = [(*cell, k, self.table.starts[cell]) for k in range(len(self.folds))]
            self._run(self._again, tasks)
            refined.add(cell)
            if not self.stopped:
                change = max(change, abs(self.table.means[cell] - means[cell]))

    def _again(self, g: int, i: int, k: int, start: Array) -> None:
        gram = self.grams.take(g, self.pause)
        try:
            Cs = self.Cs[i : i + 1]
            for stage in self._stages(gram, k, Cs, start, REFINE_BY * self.tol):
                test = self.folds[k].test
                self._enter(g, i, k, stage.fitted[test], float(stage.gap.max()))
        finally:
            self.grams.give_back(g)
