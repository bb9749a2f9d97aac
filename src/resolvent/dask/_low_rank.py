"""Kernel machines of landmarks on a cluster, certified for the problem of all rows."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_regressor

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent.approximation import OriginalCertificate
from resolvent.approximation.fitting import SOLVER_SHARE, with_bounds
from resolvent.dask._base import DaskMachine
from resolvent.dask._certificate import Models, certify
from resolvent.dask._engine import DaskReducer
from resolvent.dask._landmarks import Basis, Features, basis_of, features, kernel_of
from resolvent.dask._problems import Asked, columns_of
from resolvent.dask._reading import Shape
from resolvent.estimators.base import KernelMachine
from resolvent.estimators.expansion import Expansion
from resolvent.grams.nystroem import checked_rank
from resolvent.problem import Solution

__all__ = ["DaskKernelMachine"]

CERTIFICATES = ("auto", "exact", "subspace")


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
        if self.rank is None or self.rank == "auto":
            raise ValueError(
                f"rank={self.rank!r}: on a cluster kernel machines are of landmarks; give their "
                "number, such as rank=1000. Exact machines are for one machine."
            )
        checked_rank(self.rank)

    def _fit_blocks(self, held: list[DaskReducer], shape: Shape, clock: Clock) -> None:
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
