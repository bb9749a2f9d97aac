"""Kernel matrices of functions of the user: one call for all of it, where there is room."""

from __future__ import annotations

import warnings

import numpy as np

from resolvent.kernels import Kernel, Points

__all__ = ["evaluate_once", "fits"]

ROUNDING = 1e-6  # differences of k(a, b) and k(b, a) of this size, in units of K, are rounding
NOISE = 0.1  # and up to this, as a root mean square, noise: that of 100 shots of a circuit is 0.07


def fits(points: Points, limit: int) -> bool:
    """Whether K, and another matrix of its size to work with, take no more memory than `limit`."""
    return 2 * len(points) ** 2 * points.dtype.itemsize <= limit


def evaluate_once(points: Points, kernel: Kernel) -> np.ndarray:
    """Kernel matrix of the points, by one evaluation with the same object twice.

    That is how scikit-learn calls a function; some only then save half of their work, or repair
    the noise in their matrix.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel.evaluate(points, points)
    if not np.isfinite(K).all():
        raise ValueError(
            f"the kernel {kernel} is not finite in {points.dtype} on these data: scale the data, "
            "or use dtype='float64'."
        )
    difference = K - K.T
    extent = float(np.abs(K).max())
    i, j = np.unravel_index(np.abs(difference).argmax(), K.shape)
    if abs(difference[i, j]) <= ROUNDING * extent:
        return K
    what = (
        f"the kernel {kernel} is not symmetric: for samples {i} and {j} it is {K[i, j]:.9g}, in "
        f"the other order {K[j, i]:.9g}"
    )
    if np.sqrt(np.mean(difference**2)) > NOISE * np.sqrt(np.mean(K**2)):
        raise ValueError(f"{what}.")
    warnings.warn(f"{what}; the mean of both orders is used.", stacklevel=2)
    difference *= 0.5
    K -= difference
    return K
