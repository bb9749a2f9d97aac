"""Kernel machines on a cluster, of landmarks or exact, certified for the problem of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import validate_data

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent.approximation import OriginalCertificate
from resolvent.approximation.fitting import SOLVER_SHARE, with_bounds
from resolvent.dask._base import DaskMachine
from resolvent.dask._certificate import Models, certify
from resolvent.dask._engine import DaskReducer
from resolvent.dask._exact import ClusterGram, RowsOnCluster, targets_of
from resolvent.dask._landmarks import Basis, Features, basis_of, features, kernel_of
from resolvent.dask._problems import Asked, columns_of
from resolvent.dask._reading import Shape
from resolvent.estimators.base import Data, KernelMachine, checked_C
from resolvent.estimators.expansion import Expansion
from resolvent.grams.nystroem import checked_rank
from resolvent.problem import Solution

__all__ = ["DaskKernelMachine"]

CERTIFICATES = ("auto", "exact", "subspace")
EXACT = "exact"  # among the points of the last fit: coefficients of all rows


class DaskKernelMachine(DaskMachine, KernelMachine):
    """Base of the kernel estimators on a cluster."""

    def _asked(self, held: list[DaskReducer], shape: Shape) -> list[Asked]:
        raise NotImplementedError

    def _check_rank(self) -> None:
        if self.certificate not in CERTIFICATES:
            raise ValueError(
                f"certificate={self.certificate!r} is unknown on a cluster; choose one of "
                f"{', '.join(CERTIFICATES)}."
            )
        if self.rank == "auto":
            raise ValueError(
                "rank='auto' is for one machine: on a cluster give the number of landmarks, such "
                "as rank=1000, or rank=None for the exact machine."
            )
        if self.rank is not None:
            checked_rank(self.rank)

    def _fit_blocks(self, held: list[DaskReducer], shape: Shape, clock: Clock) -> None:
        fit = self._fit_landmarks if self.has_landmarks() else self._fit_exactly
        fit(held, shape, clock)

    # ---- exact machines ----------------------------------------------------------------------

    def _fit_exactly(self, held: list[DaskReducer], shape: Shape, clock: Clock) -> None:
        """Fit to all rows, as one machine does with a matrix that gives products alone."""
        rows = RowsOnCluster(held[-1], shape.features)
        held.append(rows.reducer)
        data = self._read(rows, *targets_of(held[0]))
        kernel = kernel_of(self, rows.reducer, shape.features)
        losses, targets, weights = self._columns(data, data.weight)
        K = ClusterGram(rows, kernel, clock, held)
        fit = self._solve(
            K,
            losses,
            targets,
            weights,
            C=checked_C(self.C),
            start=self._points.get(EXACT) if K.is_ready else None,
            fit_intercept=self.fit_intercept,
            solver="fixed_point",
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=clock.left if K.is_ready else 0.0,
        )
        self._points[EXACT] = fit.coef
        if K.error is not None:
            raise K.error
        self._expand(data, kernel, fit)
        self._set_rank(None, None, "exact", np.zeros(np.size(self.dual_gap_)))
        self._take(kernel, {})
        self._examine(data, kernel, fit)

    def _read_data(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Data:
        """Validate targets and weights; the rows, which those of weight zero have left, stay."""
        names = getattr(self, "feature_names_in_", None)
        y = validate_data(self, y=y, **checks)
        if names is not None:
            self.feature_names_in_ = names
        weight = self._read_weight(sample_weight, y)
        kept = np.flatnonzero(weight)
        return Data(X, y[kept], weight[kept], kept)

    # ---- machines of landmarks ---------------------------------------------------------------

    def _fit_landmarks(self, held: list[DaskReducer], shape: Shape, clock: Clock) -> None:
        kernel = kernel_of(self, held[0], shape.features)
        rng = as_generator(self.random_state)
        basis = basis_of(self, held[0], kernel, rng, clock.is_over)
        problems = self._asked(held, shape)
        data = held[-1]
        of = Features(kernel, basis.rows, basis.gram.root)
        held.append(data.transformed(features, of))
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
            bounds = certify(data, basis, models, self.fit_intercept, optimization, clock, held)
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
        unknown = np.full(len(intercept), np.nan)
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
