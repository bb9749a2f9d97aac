"""Kernel matrices that are symmetric but not positive semidefinite, made so."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

HOW = ("clip", "flip", "shift")


def repair(K: Any, how: str = "clip", new: Any = None) -> Any:
    """Make a symmetric matrix of kernel values positive semidefinite.

    With the eigenvalues l_i of K: "clip" makes the negative ones zero (the nearest such matrix),
    "flip" makes them positive, "shift" adds the least that is needed to the diagonal.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric matrix of kernel values of the training samples.
    how : {"clip", "flip", "shift"}, default="clip"
        What to do.
    new : array-like of shape (m, n), optional
        Kernel values of new samples against the training samples. "clip" and "flip" are linear maps
        of the training samples' kernel functions, and the values of new samples must go through the
        same map before `predict`; "shift" leaves them as they are.

    Returns
    -------
    ndarray of shape (n, n), or of (n, n) and (m, n) if `new` is given
        The repaired matrices.

    Examples
    --------
    >>> from resolvent import repair
    >>> repair([[1.0, 2.0], [2.0, 1.0]], "shift").tolist()  # eigenvalues -1 and 3
    [[2.0, 2.0], [2.0, 2.0]]
    """
    if how not in HOW:
        raise ValueError(f"how={how!r} is unknown; choose one of {', '.join(HOW)}.")
    K = np.array(K, dtype=float)
    if K.ndim != 2 or len(K) != K.shape[-1] or not np.isfinite(K).all():
        raise ValueError(f"K of shape {K.shape} must be a square matrix of finite numbers.")
    if np.abs(K - K.T).max() > 1e-5 * np.abs(K).max():
        raise ValueError("K is not symmetric: no repair makes a kernel of it.")
    values, vectors = eigh(0.5 * (K + K.T))
    if how == "shift":
        K[np.diag_indices_from(K)] += max(-values[0], 0.0)
        return K if new is None else (K, np.array(new, dtype=float))
    signs = np.sign(values) if how == "flip" else (values > 0.0).astype(float)
    repaired = (vectors * (signs * values)) @ vectors.T
    repaired = 0.5 * (repaired + repaired.T)
    if new is None:
        return repaired
    return repaired, ((np.asarray(new, dtype=float) @ vectors) * signs) @ vectors.T
