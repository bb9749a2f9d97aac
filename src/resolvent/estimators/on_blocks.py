"""Fits by sums over blocks of rows: what is larger than memory, or on a cluster.

An engine adds up functions of the blocks (see :mod:`resolvent.blocks.engine`); the estimators here
know no more of where the blocks are.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent._solve import unwatched
from resolvent.approximation import OriginalCertificate
from resolvent.approximation.certificate import check_certificate
from resolvent.approximation.fitting import SOLVER_SHARE, now_and_then, with_bounds
from resolvent.blocks import Source, Split, solve_blocks
from resolvent.blocks.certificate import How, Models, certify
from resolvent.blocks.engine import Engine, LocalEngine
from resolvent.blocks.landmarks import Basis, Features, basis_of, features, kernel_of
from resolvent.blocks.reading import Shape, one_target, shape_of, spreads
from resolvent.blocks.sources import rows_per_block
from resolvent.estimators.base import KernelMachine, Machine
from resolvent.estimators.block_problems import (
    Asked,
    class_problems,
    columns_of,
    target_problems,
)
from resolvent.estimators.diagnosis import FEWEST, NEARLY_CONSTANT
from resolvent.estimators.expansion import Expansion
from resolvent.grams.memory import parse_memory
from resolvent.grams.nystroem import checked_rank
from resolvent.losses.units import has_link
from resolvent.problem import Solution, Status
from resolvent.problem.outlook import Outlook

__all__ = ["LandmarksOnBlocks", "OnBlocks", "WeightsOnBlocks"]


class OnBlocks(Machine):
    """Base of the estimators that fit blocks of rows as well as arrays."""

    C: float
    fit_intercept: bool
    max_iter: int | None
    time_limit: float | None
    tol: float
    warm_start: bool
    _calibration: Any
    _points: dict[Any, Any]  # where the last fit ended: by part and column, see `solve_blocks`

    # ---- blocks of this process ------------------------------------------------------------

    def _fit_source(self, source: Source, y: Any, sample_weight: Any, offset: Any) -> Any:
        """Fit to the blocks of a source, by the threads of this process."""
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(
                    f"{name} is not None, but X is a source of blocks, which have their targets "
                    "and weights: give them to as_source(X, y, sample_weight)."
                )
        if offset is not None:
            raise ValueError("offset= is for arrays: blocks of rows have none.")
        if getattr(self, "solver", "auto") not in ("auto", "newton"):
            raise ValueError(
                f"solver={self.solver!r} is for arrays: blocks of rows are solved by "
                "solver='newton'."
            )
        clock = Clock(self.time_limit)
        if not self.warm_start or not hasattr(self, "_points"):
            self._points = {}
        limit = parse_memory(self._memory_for(source))
        held: list[Any] = [LocalEngine(self._cut(source), limit)]
        try:
            shape = shape_of(held[0])
            self.n_features_in_, self._n_given = shape.features, shape.rows
            self.__dict__.pop("feature_names_in_", None)
            self._calibration = None
            self._read_blocks(held, shape)
            self._fit_blocks(held, shape, clock)
        finally:
            for engine in reversed(held):
                engine.release()
        self.fit_time_ = clock.seconds
        return self

    def _memory_for(self, source: Source) -> Any:
        own = getattr(self, "memory_limit", "auto")
        return source.memory_limit if own in ("auto", None) else own

    def _cut(self, source: Source) -> Source:
        """Cut blocks into pieces where that is needed."""
        return source

    def _read_blocks(self, held: list[Any], shape: Shape) -> None:
        """Check the parameters before anything slow begins."""
        if is_classifier(self):
            self._margin_loss(self.loss)
            if getattr(self, "multi_class", "ovr") != "ovr":
                raise ValueError("multi_class='ovo' is for arrays: blocks of rows take 'ovr'.")
        else:
            self._target_loss(self.loss)

    # ---- by any engine ---------------------------------------------------------------------

    def _fit_blocks(self, held: list[Any], shape: Shape, clock: Clock) -> None:
        """Fit to the last of `held`; what else is made of it is put there, to be released."""
        raise NotImplementedError

    def _asked(self, held: list[Any], shape: Shape) -> list[Asked]:
        """Give the problems that parameters and targets make."""
        if is_classifier(self):
            return class_problems(self, held)
        return target_problems(self, held, shape)

    def _solve_all(
        self, held: list[Any], problems: list[Asked], clock: Clock, share: float = 1.0
    ) -> list[Solution]:
        """Solve on the last of `held`, reporting as ordinary estimators do."""
        settings: dict[str, Any] = {} if self.max_iter is None else {"max_iter": self.max_iter}
        engine, solutions = held[-1], []
        left = None if clock.left is None else share * clock.left
        for part, (task, column) in enumerate(problems):
            if column is not None:
                held.append(engine.transformed(one_target, column))
            solutions.append(
                solve_blocks(
                    task.loss,
                    engine if column is None else held[-1],
                    task.C,
                    classes=task.classes,
                    fit_intercept=self.fit_intercept,
                    tol=self.tol,
                    time_limit=left if left is None else min(left, clock.left or 0.0),
                    memory_limit=engine.memory_limit,
                    callback=partial(self._log, outlook=Outlook(self.tol))
                    if getattr(self, "verbose", 0)
                    else unwatched,
                    on_interrupt="return",
                    points=self._points.setdefault(part, {}),
                    **settings,
                )
            )
            if column is not None:
                held.pop().release()
            if solutions[-1].status == Status.INTERRUPTED and part + 1 < len(problems):
                raise KeyboardInterrupt  # there is no model of all targets
        return solutions

    def _warn_if_constant(self, engine: Engine, solutions: list[Solution]) -> None:
        """Warn of predictions that are nearly constant, as fits to arrays do."""
        if has_link(getattr(self, "_loss", None)):
            return
        weights, intercept = columns_of(solutions)
        n, s, ss, y, yy = engine.sum(spreads, weights, intercept)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = float(np.max(np.sqrt((ss - s**2 / n) / (yy - y**2 / n))))
        if n[0] >= FEWEST and share < NEARLY_CONSTANT:
            warnings.warn(
                f"Predictions are nearly constant (their spread is {share:.1%} of the target's): "
                "the penalty outweighs the loss, or the features say little about the target. "
                f"Raise C={self.C:g}, or choose C on a part of the rows.",
                UserWarning,
                stacklevel=5,
            )


class WeightsOnBlocks(OnBlocks):
    """Base of the linear estimators."""

    coef_: np.ndarray
    intercept_: Any

    def _fit_blocks(self, held: list[Any], shape: Shape, clock: Clock) -> None:
        solutions = self._solve_all(held, self._asked(held, shape), clock)
        self.coef_, self.intercept_ = columns_of(solutions)
        if is_regressor(self):
            self._warn_if_constant(held[-1], solutions)
            if self._vector:
                self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0].item()
        self._describe(solutions, clock.seconds)


class LandmarksOnBlocks(OnBlocks, KernelMachine):
    """Base of the kernel estimators: on blocks they are fits of landmarks."""

    rank: Any
    certificate: str

    def _cut(self, source: Source) -> Source:
        """Cut blocks so that their features are no larger than blocks should be."""
        if self.rank is None and isinstance(self.landmarks, str):
            raise ValueError(
                "rank=None is the exact machine, which needs all rows in memory: for blocks of "
                "rows give a number of landmarks, such as rank=1000."
            )
        if self.rank == "auto":
            raise ValueError(
                "rank='auto' is for arrays: for blocks of rows give the number of landmarks, such "
                "as rank=1000, look at dual_gap_, and double it."
            )
        check_certificate(self.certificate)
        rank = len(self.landmarks) if self.rank is None else checked_rank(self.rank)
        size = 4 if source.load(0).X.dtype == np.float32 else 8
        return Split(source, max(256, rows_per_block(2**62, rank * size, self._memory_for(source))))

    def _fit_blocks(self, held: list[Any], shape: Shape, clock: Clock) -> None:
        if self.certificate != "subspace" and self._couples_columns():
            raise ValueError(
                f"loss={self.loss!r} is one of all classes together, whose distance from the exact "
                "machine is not computed for blocks of rows: certificate='subspace' is that from "
                "the best model of these landmarks."
            )
        kernel = kernel_of(self, held[0], shape.features)
        rng = as_generator(self.random_state)
        basis = basis_of(self, held[0], kernel, rng, clock.is_over)
        problems = self._asked(held, shape)
        data = held[-1]
        held.append(data.transformed(features, Features(kernel, basis.rows, basis.gram.root)))
        solutions = self._solve_all(held, problems, clock, SOLVER_SHARE)
        if is_regressor(self):
            self._warn_if_constant(held[-1], solutions)
        held.pop().release()
        weights, intercept = columns_of(solutions)
        beta = basis.gram.expansion(weights.T)
        bounds = None
        if self.certificate != "subspace":
            models = self._models(problems, solutions, basis, beta, intercept)
            optimization = np.concatenate([np.atleast_1d(s.gap) for s in solutions])
            stopped = max(s.status for s in solutions) == Status.INTERRUPTED
            left = Clock(0.0) if stopped else clock  # then no pass over pairs
            how = How(left, self.certificate, rng, now_and_then(self._log_certificate))
            bounds = certify(data, basis, models, self.fit_intercept, optimization, how, held)
        self._keep(solutions, bounds, basis, beta, intercept, clock)

    def _models(
        self,
        problems: list[Asked],
        solutions: list[Solution],
        basis: Basis,
        beta: np.ndarray,
        intercept: np.ndarray,
    ) -> Models:
        """Gather the models of all columns, and where Newton's method ended."""
        tasks, sigma = [], []
        for part, ((task, column), solution) in enumerate(zip(problems, solutions, strict=True)):
            for j in range(np.size(solution.gap)):
                at = self._points[part].get(j)
                tasks.append((task, j if column is None else column))
                sigma.append(1.0 if at is None else at.sigma)
        squares = basis.gram.model_squares(beta)
        return Models(tasks, beta, intercept, np.array(sigma), squares)

    def _keep(
        self,
        solutions: list[Solution],
        bounds: OriginalCertificate | None,
        basis: Basis,
        beta: np.ndarray,
        intercept: np.ndarray,
        clock: Clock,
    ) -> None:
        """Set the attributes of a fitted model."""
        unknown = np.full(sum(np.size(s.gap) for s in solutions), np.nan)
        method, approximation, first = "subspace", unknown, 0
        if bounds is None:
            primal, dual, gap = (
                np.concatenate([np.atleast_1d(getattr(s, name)) for s in solutions])
                for name in ("primal", "dual", "gap")
            )
            gaps = OriginalCertificate(primal, dual, gap, gap, unknown, "subspace")
        else:
            gaps, method, approximation = bounds, bounds.method, bounds.approximation
        certified = []
        for solution in solutions:
            here = slice(first, first + np.size(solution.gap))
            certified.append(with_bounds(solution, gaps, here, self.tol, clock.seconds))
            first = here.stop
        self.kernel_, self.support_ = basis.kernel, basis.indices
        self._expansion = Expansion(basis.kernel, basis.rows, beta, intercept)
        self.dual_coef_, self.intercept_ = beta.T, intercept
        self._describe(certified, clock.seconds)
        self._set_rank(basis.gram.rank, basis.indices, method, approximation)
