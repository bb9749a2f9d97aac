"""Kernel quantile and expectile regression."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from resolvent.blocks.reading import Shape, units_of
from resolvent.blocks.sums import Task
from resolvent.estimators.base import Data, checked_C
from resolvent.estimators.block_problems import Asked
from resolvent.estimators.descriptions import MODELS, described
from resolvent.estimators.intervals import IntervalMixin
from resolvent.estimators.on_blocks import LandmarksOnBlocks
from resolvent.estimators.regressor import MachineRegressor
from resolvent.losses import LOSSES
from resolvent.losses.units import in_units

KINDS = {"quantile": LOSSES["pinball"], "expectile": LOSSES["expectile"]}


@described(MODELS)
class KernelQuantileRegressor(IntervalMixin, MachineRegressor, LandmarksOnBlocks):
    """Quantiles of a target given features, by kernel regression with the pinball loss.

    Several quantiles are fitted on one kernel and never cross: where the curves would, their values
    are put in order (rearrangement), which never makes the fit worse.

    Parameters
    ----------
    quantile : float or sequence of float
        Strictly between 0 and 1. A number gives a vector of predictions, a sequence a column each.
    kind : {"quantile", "expectile"}
        Quantiles (pinball loss), or expectiles (asymmetric squared loss).
    kernel : str, Kernel or callable
        As in :class:`resolvent.KernelRegressor`.
    gamma : {"scale", "auto"} or float
        Kernel coefficient.

    Attributes
    ----------
    support_, dual_coef_, intercept_, kernel_
        As in :class:`resolvent.KernelRegressor`, one row for each quantile.
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelRegressor`; arrays of one for each quantile.
    target_unit_ : float
        The unit that C and the parameters of the loss were taken in, 1 if that of the data.
    rank_, landmarks_, certificate_, optimization_gap_, approximation_gap_
        Of a low-rank fit, as in :class:`resolvent.KernelRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 5, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(200)
    >>> band = KernelQuantileRegressor((0.1, 0.9), C=10.0).fit(X, y).predict(X)
    >>> inside = np.mean((band[:, 0] <= y) & (y <= band[:, 1]))
    >>> bool(0.7 < inside < 0.9)
    True
    """

    def __init__(
        self,
        quantile: Any = 0.5,
        *,
        kind: str = "quantile",
        kernel: Any = "rbf",
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        normalize_y: bool = True,
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory_limit: Any = "auto",
        rank: Any = None,
        landmarks: Any = "rpcholesky",
        certificate: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.quantile = quantile
        self.kind = kind
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.rank = rank
        self.landmarks = landmarks
        self.certificate = certificate
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _losses(self) -> list[Any]:
        """One loss for each quantile."""
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} must be one of {', '.join(KINDS)}.")
        taus = list(self.quantile) if np.ndim(self.quantile) == 1 else [self.quantile]
        if not taus or not all(isinstance(tau, Real) and 0 < float(tau) < 1 for tau in taus):
            raise ValueError(
                f"quantile={self.quantile!r} must be a number, or numbers, strictly between 0 and "
                "1, such as 0.9 or (0.1, 0.5, 0.9)."
            )
        return [KINDS[self.kind](float(tau)) for tau in taus]

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Data:
        losses = self._losses()
        data = self._read_targets(X, y, sample_weight, multi_output=False)
        if offset is not None:
            data.offset = self._read_offset(offset, self._n_given, len(losses))[data.kept]
        self.target_unit_ = self._units(self._without_offset(losses, data, data.weight))[0]
        self._calibration = None
        return data

    def _read_blocks(self, held: list[Any], shape: Shape) -> None:
        self._losses()

    def _asked(self, held: list[Any], shape: Shape) -> list[Asked]:
        if shape.targets > 1:
            raise ValueError(f"y has {shape.targets} columns; quantiles are of one target.")
        self._vector, losses, C = True, self._losses(), checked_C(self.C)
        self.target_unit_ = units_of(held[-1], losses[0], 1)[0] if self.normalize_y else 1.0
        scaled = [in_units(loss, self.target_unit_) for loss in losses]
        column = 0 if shape.targets else None
        return [Asked(Task(loss, C * factor), column) for loss, factor in scaled]

    def _columns(self, data: Data, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        return self._problems(self._losses(), data, weight)

    def _n_problems(self) -> int | None:
        return len(self._losses())

    def _band(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scores.min(axis=1), scores.max(axis=1)

    def _centre(self, scores: np.ndarray) -> np.ndarray:
        taus = np.sort(np.atleast_1d(np.asarray(self.quantile, dtype=float)))
        return np.sort(scores, axis=1)[:, np.abs(taus - 0.5).argmin()]

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Quantiles for samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            In the order of `quantile`; larger quantiles are never below smaller ones.
        """
        scores = self._with_offset(self._scores(X), offset)
        if isinstance(self.quantile, Real):
            return scores[:, 0]
        ranks = np.argsort(np.argsort(np.asarray(self.quantile), kind="stable"))
        return np.sort(scores, axis=1)[:, ranks]

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Minus the mean loss (pinball, or that of expectiles), averaged over the quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        float
            Larger is better; 0 is perfect.
        """
        y = column_or_1d(y, dtype=float)[:, None]
        residuals = y - self.predict(X, offset).reshape(len(y), -1)
        taus = np.atleast_1d(np.asarray(self.quantile, dtype=float))
        slopes = np.where(residuals > 0, taus, 1 - taus)
        size = np.abs(residuals) if self.kind == "quantile" else 0.5 * residuals**2
        return -float(np.average((slopes * size).mean(axis=1), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # minus a loss is never above zero
        return tags
