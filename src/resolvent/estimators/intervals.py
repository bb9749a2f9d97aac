"""Intervals and sets of labels of fitted models; see :mod:`resolvent.conformal`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from resolvent.conformal import Calibration, checked_coverage, holding, label_sets, misses
from resolvent.estimators.offset import WithOffset

__all__ = ["IntervalMixin", "LabelSetMixin"]


class Calibrated(WithOffset):
    """Models that can be calibrated on rows that they have not seen."""

    _calibration: Calibration | None = None

    def _miss(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """By how much scores (n, m) of a model miss what is true."""
        raise NotImplementedError

    def _read_truth(self, y: Any) -> np.ndarray:
        """Validate the targets of calibration rows."""
        raise NotImplementedError

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Calibrate on rows that the model was not fitted to, in place of any calibration before.

        Intervals and sets then hold what is true with the probability asked for, whatever the
        model, as far as these rows and new ones are exchangeable. A new fit needs a new one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        y : array-like of shape (n_samples,)
            What is true of them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        estimator
            The estimator itself.
        """
        check_is_fitted(self)
        scores, truth = self._scores(X), self._read_truth(y)  # type: ignore[attr-defined]
        check_consistent_length(scores, truth, sample_weight)
        scores = self._with_offset(scores, offset)
        weight = np.ones(len(truth))
        if sample_weight is not None:
            weight = self._read_weight(sample_weight, truth)  # type: ignore[attr-defined]
        inside = weight > 0.0
        missed = self._miss(scores, truth)[inside]
        fold = np.zeros(len(missed), dtype=np.int64)
        self._calibration = Calibration(missed, weight[inside], fold)
        return self

    def _calibrated(self) -> Calibration:
        check_is_fitted(self)
        if self._calibration is None:
            raise ValueError(
                f"This {type(self).__name__} is not calibrated: call calibrate(X, y) with rows "
                "that it was not fitted to, or choose it by a search with conformal=True."
            )
        return self._calibration

    def _scores_of_models(self, X: Any, offset: Any) -> list[np.ndarray]:
        """Scores (n, m) of new rows by each model that calibration was of."""
        models = self._calibrated().models
        if models is None:
            return [self._with_offset(self._scores(X), offset)]  # type: ignore[attr-defined]
        scores = models(self._read_new(X))  # type: ignore[attr-defined]
        m = self._n_scores()
        columns = [scores[:, k : k + m] for k in range(0, scores.shape[1], m)]
        return [self._with_offset(part, offset) for part in columns]

    def _n_scores(self) -> int:
        return len(np.atleast_1d(self.intercept_))  # type: ignore[attr-defined]


class IntervalMixin(Calibrated):
    """Prediction intervals of regressors."""

    def _band(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper curve that scores make."""
        raise NotImplementedError

    def _centre(self, scores: np.ndarray) -> np.ndarray:
        """Prediction that every interval holds."""
        raise NotImplementedError

    def _read_truth(self, y: Any) -> np.ndarray:
        if not self._vector:  # type: ignore[attr-defined]
            raise ValueError("Intervals are for one target; fit a model for each.")
        y = column_or_1d(y, dtype=float)
        if not np.isfinite(y).all():
            raise ValueError("y has values that are missing or infinite.")
        return y

    def _miss(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return misses(self._band(scores), y)

    def predict_interval(self, X: Any, coverage: float = 0.9, offset: Any = None) -> np.ndarray:
        """Intervals that hold the target with a probability that is asked for.

        Calibrated on rows of their own (`calibrate`), they hold a new target with probability
        `coverage` at least. Calibrated by the folds of a search (CV+), with at least
        1 - 2 (1 - coverage), less what vanishes with the number of rows, and in practice about
        `coverage`. Both are averages over training data and new rows that are exchangeable, not
        promises for each row; see :mod:`resolvent.conformal`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        coverage : float, default=0.9
            Strictly between 0 and 1; any, at any time.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends. They hold the prediction, widen with the coverage, and are
            infinite where there are too few rows for it.
        """
        coverage, calibration = checked_coverage(coverage), self._calibrated()
        of_models = self._scores_of_models(X, offset)
        bands = [self._band(scores) for scores in of_models]
        scores = of_models[0]
        if calibration.models is not None:
            scores = self._with_offset(self._scores(X), offset)  # type: ignore[attr-defined]
        centre = self._centre(scores)
        return holding(calibration.interval(bands, coverage), centre)


class LabelSetMixin(Calibrated):
    """Prediction sets of classifiers."""

    def _read_truth(self, y: Any) -> np.ndarray:
        classes: np.ndarray = self.classes_  # type: ignore[attr-defined]
        y = column_or_1d(y)
        codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        unknown = classes[codes] != y
        if unknown.any():
            found = str(y[unknown][0])
            raise ValueError(f"y has the label {found!r}, which training did not have.")
        return codes

    def _strangeness(self, scores: np.ndarray) -> np.ndarray:
        """Best decision value of the other classes less that of each class, (n, k)."""
        decision = self._decide(scores)  # type: ignore[attr-defined]
        if decision.ndim == 1:
            decision = np.column_stack([-decision, decision])
        order = np.sort(decision, axis=1)
        best, second = order[:, -1:], order[:, -2:-1]
        return np.where(decision == best, second, best) - decision

    def _miss(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self._strangeness(scores), codes[:, None], axis=1)[:, 0]

    def predict_set(self, X: Any, coverage: float = 0.9, offset: Any = None) -> np.ndarray:
        """Labels, in sets that hold the true one with a probability that is asked for.

        The guarantees are those of `predict_interval` of regressors: `coverage` at least after
        `calibrate`, 1 - 2 (1 - coverage) in theory and about `coverage` in practice by the folds of
        a search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        coverage : float, default=0.9
            Strictly between 0 and 1; any, at any time.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Which of `classes_` are in the set of each sample; that of `predict` always is.
        """
        coverage, calibration = checked_coverage(coverage), self._calibrated()
        strange = [self._strangeness(scores) for scores in self._scores_of_models(X, offset)]
        fold, weight = calibration.fold, calibration.weight
        inside = label_sets(calibration.scores, fold, weight, strange.__getitem__, coverage)
        scores = self._with_offset(self._scores(X), offset)  # type: ignore[attr-defined]
        predicted = self._strangeness(scores).argmin(axis=1)
        inside[np.arange(len(inside)), predicted] = True
        return inside
