"""Grids of C and gamma."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from resolvent.kernels import KERNELS, Kernel, make_kernel
from resolvent.kernels.rows import as_rows
from resolvent.problem import Array

SMALLEST_C, LARGEST_C = 1e-2, 1e3
SPREAD = 30.0  # the grid of gamma reaches from its centre by this factor on either side


def as_Cs(Cs: Any) -> Array:
    """Values of C, increasing; a number is so many of them from 0.01 to 1000."""
    if is_count(Cs):
        return _geometric("Cs", Cs, SMALLEST_C, LARGEST_C)
    return _values("Cs", Cs)


def as_gammas(gammas: Any, kernel: Any, X: Any, sample_weight: Any) -> Array:
    """Values of gamma, increasing; a number is so many of them around `central_gamma`."""
    if is_count(gammas):
        centre = central_gamma(kernel, X, sample_weight)
        return _geometric("gammas", gammas, centre / SPREAD, centre * SPREAD)
    return _values("gammas", gammas)


def as_kernels(gammas: Any, precomputed: bool, n_samples: int) -> list[Any] | None:
    """Kernels, or matrices of all samples, that are given in the place of gammas; None if none are.

    Raises
    ------
    ValueError
        If they are of several kinds, or not of the kind that the parameter `kernel` asks for.
    """
    if not isinstance(gammas, list | tuple) or not gammas:
        return None
    matrices = [np.ndim(entry) == 2 for entry in gammas]
    kernels = [isinstance(entry, Kernel) or callable(entry) for entry in gammas]
    if not any(matrices) and not any(kernels):
        return None
    if all(matrices) and precomputed:
        found = [np.asarray(K, dtype=float) for K in gammas]
        for i, K in enumerate(found):
            if K.shape != (n_samples, n_samples):
                raise ValueError(
                    f"gammas[{i}] has shape {K.shape}; it must be a kernel matrix of all samples, "
                    f"of shape ({n_samples}, {n_samples})."
                )
        return found
    if all(kernels) and not precomputed:
        return list(gammas)
    raise ValueError(
        "gammas must be values of gamma, or kernels (instances of those in resolvent.kernels, or "
        "functions), or kernel matrices together with kernel='precomputed'."
    )


def has_gamma(kernel: Any) -> bool:
    """Whether gamma is a parameter of the kernel: it is of some that are given by name."""
    if not isinstance(kernel, str) or kernel not in KERNELS:
        return False
    names = {field.name for field in fields(KERNELS[kernel])}  # type: ignore[arg-type]
    return bool(names & {"gamma", "length_scale"})


def central_gamma(kernel: str, X: Any, sample_weight: Any) -> float:
    """Inverse of the median squared distance between samples, or gamma="scale".

    The distance between two samples is taken for sqrt(2) times that of one from the mean, which
    needs no pairs and makes the median that of weighted samples. Kernels that are no functions of
    the Euclidean distance have gamma="scale" instead.
    """
    if kernel in ("rbf", "matern"):
        rows = as_rows(X)
        weight = np.asarray(sample_weight, dtype=float)
        mean = (rows.T @ weight) / weight.sum()
        with np.errstate(over="ignore"):
            if sparse.issparse(rows):
                squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
                distances = squares - 2 * (rows @ mean) + mean @ mean
            else:
                distances = np.square(rows - mean).sum(axis=1)
        order = np.argsort(distances)
        total = np.cumsum(weight[order])
        median = float(distances[order][np.searchsorted(total, 0.5 * total[-1])])
        if 1e-12 * float(distances.max()) < median < np.inf:
            return 0.5 / median
    found = make_kernel(kernel, gamma="scale", X=X, sample_weight=sample_weight)
    if kernel == "matern":
        return float(0.5 / found.length_scale**2)  # type: ignore[attr-defined]
    return float(found.gamma)  # type: ignore[attr-defined]


def is_count(value: Any) -> bool:
    """Whether a grid is given by its number of values."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _geometric(name: str, count: Any, low: float, high: float) -> Array:
    if count < 1:
        raise ValueError(f"{name}={count} must be at least 1, or the values themselves.")
    return np.geomspace(low, high, count) if count > 1 else np.array([np.sqrt(low * high)])


def _values(name: str, values: Any) -> Array:
    try:
        grid = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        grid = np.empty((0, 0))
    if grid.ndim != 1 or grid.size == 0 or not ((grid > 0) & (grid < np.inf)).all():
        raise ValueError(
            f"{name}={values!r} must be a whole number of values, or the values themselves: "
            "positive and finite."
        )
    return np.unique(grid)
