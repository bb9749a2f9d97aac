"""Kernel machines on a cluster, of landmarks or exact, certified for the problem of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from resolvent._clock import Clock
from resolvent.approximation.certificate import check_certificate
from resolvent.blocks.landmarks import kernel_of
from resolvent.blocks.reading import Shape
from resolvent.dask._base import DaskMachine
from resolvent.dask._engine import DaskReducer
from resolvent.dask._exact import ClusterGram, RowsOnCluster, targets_of
from resolvent.estimators.base import Data, checked_C
from resolvent.estimators.on_blocks import LandmarksOnBlocks
from resolvent.grams.nystroem import checked_rank

__all__ = ["DaskKernelMachine"]

EXACT = "exact"  # among the points of the last fit: coefficients of all rows


class DaskKernelMachine(DaskMachine, LandmarksOnBlocks):
    """Base of the kernel estimators on a cluster."""

    def _check_rank(self) -> None:
        check_certificate(self.certificate)
        if self.rank == "auto":
            raise ValueError(
                "rank='auto' is for one machine: on a cluster give the number of landmarks, such "
                "as rank=1000, or rank=None for the exact machine."
            )
        if self.rank is not None:
            checked_rank(self.rank)

    def _fit_blocks(self, held: list[DaskReducer], shape: Shape, clock: Clock) -> None:
        if self.has_landmarks():
            super()._fit_blocks(held, shape, clock)
        else:
            self._fit_exactly(held, shape, clock)

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
