"""Fits that are solved and useless: what a user should know, with the likely cause."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from resolvent.estimators.expansion import take_rows
from resolvent.kernels import Kernel

__all__ = ["warn_if_useless"]

NEARLY_CONSTANT = 0.05  # spread of the fitted values, in that of the targets
FEWEST = 10  # rows from which a spread says something
SAMPLE = 100  # rows whose similarity to each other is looked at
DISSIMILAR = 1e-6  # kernel between different rows, in that of a row with itself


def warn_if_useless(model: Any, data: Any, kernel: Kernel | None, fitted: np.ndarray) -> None:
    """Warn where predictions are nearly constant, or rows are similar to themselves only.

    Parameters
    ----------
    model : estimator
        The model, fitted.
    data : Data
        What it was fitted to, with targets (n, m).
    kernel : Kernel or None
        Its kernel; None if it is precomputed.
    fitted : ndarray of shape (n, m)
        Scores of the rows.
    """
    if len(data) < FEWEST:
        return
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shares = np.std(fitted, axis=0) / np.std(data.y, axis=0)
    share = float(np.max(shares))  # NaN or infinite where a target is constant
    cause = None
    if share > 0.0 and has_width(kernel) and _are_dissimilar(kernel, data.X):
        cause = (
            "Each row is similar to itself only, so that predictions for others are constant: the "
            "kernel is too narrow for the scale of the features. Scale them, or lower gamma"
        )
    elif share < NEARLY_CONSTANT:
        cause = (
            f"Predictions are nearly constant (their spread is {share:.1%} of the target's): the "
            f"penalty outweighs the loss, or the features say little about the target. Raise "
            f"C={model.C:g}"
        )
    if cause is not None:
        warnings.warn(
            f"{cause}, or choose C and gamma by {type(model).__name__}CV.",
            UserWarning,
            stacklevel=6,
        )


def has_width(kernel: Any) -> bool:
    """Whether a kernel is a function of distances in units of its width."""
    return hasattr(kernel, "gamma") or hasattr(kernel, "length_scale")


def _are_dissimilar(kernel: Any, X: Any) -> bool:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = take_rows(X, np.unique(np.linspace(0, n - 1, SAMPLE).astype(int)))
    K = np.abs(kernel(rows, rows))
    own = np.diag(K).copy()
    np.fill_diagonal(K, 0.0)
    return bool(K.max() <= DISSIMILAR * own.min())
