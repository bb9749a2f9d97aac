"""Kernels given by a function, of arrays or of any objects: strings, graphs, trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from resolvent.kernels.base import Kernel
from resolvent.kernels.points import Points, deliver
from resolvent.kernels.rows import as_dense

__all__ = ["FunctionKernel", "pairwise"]


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A kernel given by a function of two sets of samples.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` returns the matrix of k(a, b) for a in A and b in B. It gets samples as
        they were given: an array, a CSR matrix, or a list of any objects, or parts of them; in a
        fit whose matrix fits the memory limit, once, all samples as the same object twice. See
        `pairwise` for a function of two samples. To be saved, the function must be one that pickle
        can find by name.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.kernels import FunctionKernel
    >>> kernel = FunctionKernel(
    ...     lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A])
    ... )
    >>> kernel(["ab", "c"]).tolist()
    [[4.0, 2.0], [2.0, 1.0]]
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r} of the kernel is not callable.")

    @property
    def numeric(self) -> bool:
        return False

    @property
    def parallel(self) -> bool:
        return False  # the function may have a memory of its own

    @property
    def symmetric(self) -> bool:
        return False  # it may be anything

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = as_dense(self.function(a.values, b.values))
        if K.shape != (len(a), len(b)):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {len(a)} and {len(b)} samples: "
                "it must return one row for each of the first and one column for each of the "
                "second; pairwise(f) makes such a function of a scalar f(a, b)."
            )
        return deliver(K, a.dtype, out)  # a copy: the array may be the caller's

    def diagonal(self, points: Points) -> np.ndarray:
        # One by one: a function of objects can be dear, and a block has unneeded pairs.
        singles = (points.take(slice(i, i + 1)) for i in range(len(points)))
        return np.array([self.evaluate(x, x)[0, 0] for x in singles], np.float64)


@dataclass(frozen=True)
class _Pairwise:
    function: Callable[[Any, Any], float]

    def __call__(self, A: Any, B: Any = None) -> np.ndarray:
        columns = list(A if B is None else B)
        return np.array([[self.function(a, b) for b in columns] for a in A], np.float64)


def pairwise(function: Callable[[Any, Any], float]) -> Callable[..., np.ndarray]:
    """Turn a kernel function of two samples into one of two sets of samples.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` returns the number k(a, b).

    Returns
    -------
    callable
        ``(A, B) -> matrix``, which every ``kernel`` argument takes; B is A if it is not given.

    Examples
    --------
    >>> from resolvent.kernels import pairwise
    >>> common = pairwise(lambda a, b: float(len(set(a) & set(b))))
    >>> common(["ab", "c"], ["abc"]).tolist()
    [[2.0], [1.0]]
    """
    return _Pairwise(function)
