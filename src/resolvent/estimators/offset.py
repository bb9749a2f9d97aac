"""Offsets: parts of the scores that are known for each row, at a fit and at a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.blocks.block import Source
from resolvent.estimators.fit_method import fit_method

__all__ = ["WithOffset"]


class WithOffset:
    """Estimators whose rows may have an offset, which is added to their scores."""

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Any:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), list of objects or Source
            Training samples; for a precomputed kernel, its matrix. Linear and low-rank fits take
            blocks of rows too, of :func:`resolvent.blocks.as_source`, with targets and weights.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several columns for those regressors that take them. None of a
            source.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        self
        """
        estimator: Any = self
        if isinstance(X, Source):
            return estimator._fit_source(X, y, sample_weight, offset)
        return estimator._fit_data(estimator._read(X, y, sample_weight, offset))

    def _read_offset(self, offset: Any, n: int, m: int) -> np.ndarray:
        """Validate the offsets of n rows, of which each has m scores."""
        known = numbers_of(offset)
        if known.shape == (n,):
            known = known[:, None]
        if known.shape not in ((n, 1), (n, m)):
            of_all = f" or ({n}, {m}), one for each column of scores" if m > 1 else ""
            raise ValueError(f"offset has shape {np.shape(offset)}; it must be ({n},){of_all}.")
        return np.broadcast_to(known, (n, m))

    def _with_offset(self, scores: np.ndarray, offset: Any) -> np.ndarray:
        """Scores (n, m) of rows, their offsets included; None is no offset."""
        return scores if offset is None else scores + self._read_offset(offset, *scores.shape)


def numbers_of(offset: Any) -> np.ndarray:
    """Return offsets as finite floats, or say what is wrong with them."""
    try:
        known = np.asarray(offset, dtype=float)
    except (TypeError, ValueError):
        raise TypeError("offset must be numbers, one for each row.") from None
    if not np.isfinite(known).all():
        raise ValueError(
            "offset contains NaN or infinity; of an exposure it is the logarithm, and the exposure "
            "must be above zero."
        )
    return known
