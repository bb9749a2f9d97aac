"""Kernel regression with any loss of a real target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from resolvent.estimators.base import Data, Machine
from resolvent.estimators.descriptions import MODELS, described
from resolvent.estimators.diagnosis import warn_if_useless
from resolvent.estimators.intervals import IntervalMixin
from resolvent.estimators.on_blocks import LandmarksOnBlocks
from resolvent.fitting import Fit
from resolvent.kernels import Kernel
from resolvent.losses import as_loss, is_for_labels
from resolvent.losses.offset import with_offset
from resolvent.losses.units import has_link, in_units, unit_of
from resolvent.problem import check_sample_weight
from resolvent.problem.sums import apply_link


class MachineRegressor(RegressorMixin, Machine):
    """What all regressors share."""

    def _read_targets(self, X: Any, y: Any, sample_weight: Any, multi_output: bool) -> Data:
        """Validate the arguments of fit; the targets become columns."""
        data = self._read_data(X, y, sample_weight, multi_output=multi_output, y_numeric=True)
        single = not self.__sklearn_tags__().target_tags.multi_output
        if single and data.y.shape[1:] == (1,):
            data.y = column_or_1d(data.y, warn=True)
        self._vector = data.y.ndim == 1
        data.y = np.asarray(data.y, dtype=float).reshape(len(data), -1)
        return data

    def _target_loss(self, loss: Any) -> Any:
        """Check that a loss is for regression, and keep it for `predict`."""
        found = as_loss(loss)
        if is_for_labels(found):
            raise ValueError(
                f"loss={loss!r} is a loss for classification; use 'squared', 'absolute', 'huber', "
                "'pinball', 'epsilon_insensitive', 'poisson', 'gamma' or another one, or a "
                "classifier."
            )
        self._loss = found
        return found

    def _problems(
        self, losses: list[Any], data: Data, weight: np.ndarray
    ) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Losses, targets (n, m) and weights (n, m) of problems, one for each column of targets.

        Offsets of the scores are in them, and C and the loss are in units of the target, which are
        learned from the samples with a weight.
        """
        parts = self._without_offset(losses, data, weight)
        scaled = [
            in_units(part[0], unit) for part, unit in zip(parts, self._units(parts), strict=True)
        ]
        weights = [part[2] * factor for part, (_, factor) in zip(parts, scaled, strict=True)]
        targets = np.column_stack([part[1] for part in parts])
        return [loss for loss, _ in scaled], targets, np.column_stack(weights)

    def _n_problems(self) -> int | None:
        return 1 if self._vector else None

    def _without_offset(self, losses: list[Any], data: Data, weight: np.ndarray) -> list[Any]:
        """Loss, targets and weights of each column, with offsets in them if there are any."""
        columns = np.broadcast_to(data.y, (len(data), len(losses))).T
        if data.offset is None:
            return [(loss, y, weight) for loss, y in zip(losses, columns, strict=True)]
        offsets = data.offset.T
        return [
            with_offset(loss, y, weight, known)
            for loss, y, known in zip(losses, columns, offsets, strict=True)
        ]

    def _units(self, parts: list[Any]) -> list[float]:
        """Find the unit of each column of targets; 1 if it is that of the data."""
        if not self.normalize_y:
            return [1.0] * len(parts)
        return [unit_of(loss, y.real[w > 0.0], w[w > 0.0]) for loss, y, w in parts]

    def _examine(self, data: Data, kernel: Kernel | None, fit: Fit) -> None:
        if not has_link(getattr(self, "_loss", None)):
            warn_if_useless(self, data, kernel, np.hstack([s.fitted for s in fit.solutions]))

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        predicted = self._linked(self._scores(X))
        return predicted[:, 0] if self._vector else predicted

    def _linked(self, scores: np.ndarray) -> np.ndarray:
        return apply_link(self._loss, scores) if has_link(self._loss) else scores


class AnyLossRegressor(IntervalMixin, MachineRegressor):
    """Regressors with a parameter `loss`, whose tags depend on it."""

    loss: Any

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Predictions for samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        predicted = self._linked(self._with_offset(self._scores(X), offset))
        return predicted[:, 0] if self._vector else predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """R2 of predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        float
        """
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Data:
        self._target_loss(self.loss)
        data = self._read_targets(X, y, sample_weight, multi_output=True)
        check_sample_weight(self._loss, data.weight)
        m = data.y.shape[1]
        if offset is not None:
            data.offset = self._read_offset(offset, self._n_given, m)[data.kept]
        units = self._units(self._without_offset([self._loss] * m, data, data.weight))
        self.target_unit_ = units[0] if self._vector else np.array(units)
        self._calibration = None
        return data

    def _band(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        predicted = self._centre(scores)
        return predicted, predicted

    def _centre(self, scores: np.ndarray) -> np.ndarray:
        return self._linked(scores)[:, 0]

    def _columns(self, data: Data, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        losses, *columns = self._problems([self._loss] * data.y.shape[1], data, weight)
        together = all(loss == losses[0] for loss in losses)
        return losses[0] if together else losses, columns[0], columns[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        positive = positive_targets(self.loss)
        tags.target_tags.positive_only = positive
        # It works for both, but scikit-learn's check of several targets makes negative ones.
        tags.target_tags.multi_output = not positive
        return tags


@described(MODELS)
class KernelRegressor(AnyLossRegressor, LandmarksOnBlocks):
    """Kernel regressor with any convex loss, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, f(x_i)) + |f|^2 / 2`` over functions f with an intercept, where L
    is the loss: squared (kernel ridge regression), absolute, Huber, pinball (quantiles), epsilon-
    insensitive (support vector regression), Poisson and others.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance such as ``Huber(delta=0.5)``, also
        of a class of your own.
    gamma : {"scale", "auto"} or float
        Kernel coefficient, as in scikit-learn's SVR.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the samples with a coefficient that is not zero.
    dual_coef_ : ndarray of shape (n_targets, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    kernel_
    dual_gap_ : float or ndarray of shape (n_targets,)
        Duality gap: how far the objective can be above its minimum.
    objective_ : float or ndarray of shape (n_targets,)
        Value of the objective.
    status_ : Status
        Why the solver stopped; the worst of several targets.
    solver_
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of iterations.
    history_
    fit_time_
    target_unit_
    rank_
    landmarks_
    optimization_gap_, approximation_gap_
    certificate_

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelRegressor
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[::10] += 5.0  # outliers
    >>> model = KernelRegressor(loss="absolute", C=10.0).fit(X, y)
    >>> bool(np.median(np.abs(model.predict(X) - np.sin(X[:, 0]))) < 0.05)
    True
    """

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
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
        self.loss = loss
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


def positive_targets(loss: Any) -> bool:
    """Whether a loss takes targets that are not negative only; False for what is not a loss."""
    try:
        return getattr(as_loss(loss), "targets", "real") in ("nonnegative", "positive")
    except (TypeError, ValueError):
        return False
