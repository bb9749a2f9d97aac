"""Kernels: functions k(a, b) that are symmetric and, but for `Sigmoid`, positive semidefinite.

A kernel is a small immutable object. Called with data it gives the kernel matrix; kernels add and
multiply::

    kernel = RBF(gamma=0.5) + 0.1 * Linear()
    K = kernel(X)

Inside the library a kernel sees the data as `Points`, which know inner products and distances for
dense and sparse rows, so that each kernel is its formula and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from resolvent.kernels.base import (
    Constant,
    Kernel,
    Product,
    Scaled,
    Sum,
    is_number,
)
from resolvent.kernels.columns import ColumnKernel, Overlap
from resolvent.kernels.function import FunctionKernel, pairwise
from resolvent.kernels.histograms import AdditiveChi2, Chi2, Tanimoto
from resolvent.kernels.points import Points
from resolvent.kernels.rows import as_rows, column_moments, variance
from resolvent.kernels.vectors import RBF, Cosine, Laplacian, Linear, Matern, Polynomial, Sigmoid

__all__ = [
    "KERNELS",
    "RBF",
    "AdditiveChi2",
    "Chi2",
    "ColumnKernel",
    "Constant",
    "Cosine",
    "FunctionKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Overlap",
    "Points",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "Tanimoto",
    "make_kernel",
    "pairwise",
]

KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "laplacian": Laplacian,
    "matern": Matern,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "chi2": Chi2,
    "tanimoto": Tanimoto,
    "jaccard": Tanimoto,
    "linear": Linear,
}


def make_kernel(
    kernel: Any,
    *,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    X: Any = None,
    sample_weight: Any = None,
    names: Sequence[str] | None = None,
) -> Kernel:
    """Turn a name, an instance or a callable into a kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A key of `KERNELS`, a kernel, or a function ``(A, B) -> matrix``.
    gamma : {"scale", "auto"}, float or None
        Parameter of the named kernels that have it: "scale" is 1 / (d var(X)), "auto" is 1 / d.
        "matern" has the length scale 1 / sqrt(2 gamma), as "rbf" does. For "chi2" see
        :class:`Chi2`. None is the default of scikit-learn's functions: 1 for "chi2", else 1 / d.
    degree : int
        Degree of "poly".
    coef0 : float
        Parameter of "poly" and "sigmoid".
    X : array-like or sparse matrix of shape (n, d)
        The data that gamma is found from.
    sample_weight : array-like of shape (n,), optional
        Weights in var(X): weight 2 counts as the row given twice, weight 0 as its absence.
    names : sequence of str, optional
        Names of the columns of X, for kernels of columns by name.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from resolvent.kernels import make_kernel
    >>> make_kernel("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel if X is None else kernel.resolved(X, names, sample_weight)
    if isinstance(kernel, str) and kernel in KERNELS:
        family = KERNELS[kernel]
        own = {field.name for field in fields(family)}  # type: ignore[arg-type]
        given: dict[str, Any] = {"degree": degree, "coef0": coef0}
        if own & {"gamma", "length_scale"}:
            given["gamma"] = _gamma(gamma, X, sample_weight, chi2=family is Chi2)
            given["length_scale"] = 1 / math.sqrt(2 * given["gamma"])
        return family(**{name: value for name, value in given.items() if name in own})
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    known = ", ".join(map(repr, KERNELS))
    raise ValueError(
        f"kernel={kernel!r} is not known: use one of {known}, a Kernel such as RBF(gamma=0.5), "
        "or a function (A, B) -> matrix."
    )


def _gamma(gamma: Any, X: Any, sample_weight: Any, chi2: bool) -> float:
    if gamma is None:
        gamma = 1.0 if chi2 else "auto"
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        rows = as_rows(X)
        if gamma == "auto":
            return 1 / rows.shape[1]
        if chi2:
            mean, square = column_moments(rows, sample_weight)
            spread = float((square[mean > 0] / mean[mean > 0]).sum())
        else:
            spread = rows.shape[1] * variance(rows, sample_weight)
        gamma = 1 / spread if spread > 0 else 1.0
        if not 0 < gamma < math.inf:
            raise ValueError(
                f"gamma='scale' is {gamma} because the variance of X is "
                f"{spread / rows.shape[1]}: scale the data."
            )
        return float(gamma)
    if is_number(gamma) and gamma > 0:
        return float(gamma)
    raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a positive finite number.")
