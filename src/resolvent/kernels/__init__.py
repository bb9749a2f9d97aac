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
from dataclasses import fields
from typing import Any

from resolvent.kernels.base import Constant, Kernel, Product, Scaled, Sum, is_number
from resolvent.kernels.function import FunctionKernel, pairwise
from resolvent.kernels.points import Points, as_rows, variance
from resolvent.kernels.vectors import RBF, Cosine, Laplacian, Linear, Matern, Polynomial, Sigmoid

__all__ = [
    "KERNELS",
    "RBF",
    "Constant",
    "Cosine",
    "FunctionKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Points",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
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
) -> Kernel:
    """Turn a name, an instance or a callable into a kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A key of `KERNELS`, a kernel, or a function ``(A, B) -> matrix``.
    gamma : {"scale", "auto"} or float
        Parameter of the named kernels that have it: "scale" is 1 / (d var(X)), "auto" is 1 / d.
        "matern" has the length scale 1 / sqrt(2 gamma), as "rbf" does.
    degree : int
        Degree of "poly".
    coef0 : float
        Parameter of "poly" and "sigmoid".
    X : array-like or sparse matrix of shape (n, d)
        The data that gamma is found from.
    sample_weight : array-like of shape (n,), optional
        Weights in var(X): weight 2 counts as the row given twice, weight 0 as its absence.

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
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        family = KERNELS[kernel]
        names = {field.name for field in fields(family)}  # type: ignore[arg-type]
        given: dict[str, Any] = {"degree": degree, "coef0": coef0}
        if names & {"gamma", "length_scale"}:
            given["gamma"] = _gamma(gamma, X, sample_weight)
            given["length_scale"] = 1 / math.sqrt(2 * given["gamma"])
        return family(**{name: value for name, value in given.items() if name in names})
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    known = ", ".join(map(repr, KERNELS))
    raise ValueError(
        f"kernel={kernel!r} is not known: use one of {known}, a Kernel such as RBF(gamma=0.5), "
        "or a function (A, B) -> matrix."
    )


def _gamma(gamma: Any, X: Any, sample_weight: Any) -> float:
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        rows = as_rows(X)
        if gamma == "auto":
            return 1 / rows.shape[1]
        spread = variance(rows, sample_weight)
        gamma = 1 / (rows.shape[1] * spread) if spread > 0 else 1.0
        if not 0 < gamma < math.inf:
            raise ValueError(
                f"gamma='scale' is {gamma} because the variance of X is {spread}: scale the data."
            )
        return float(gamma)
    if is_number(gamma) and gamma > 0:
        return float(gamma)
    raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a positive finite number.")
