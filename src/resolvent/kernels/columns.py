"""Kernels of some columns of a table, and of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resolvent.kernels.base import Kernel, is_number
from resolvent.kernels.points import Points
from resolvent.kernels.rows import as_rows, column_moments

__all__ = ["ColumnKernel", "Overlap"]


@dataclass(frozen=True)
class Overlap(Kernel):
    """The share of columns in which a and b are equal: for categories.

    Examples
    --------
    >>> from resolvent.kernels import Overlap
    >>> Overlap()([[1, 7, 3, 3]], [[1, 7, 2, 3]]).tolist()
    [[0.75]]
    """

    @property
    def nominal(self) -> bool:
        return True

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.shares_that_differ(b, out)
        np.subtract(1, K, out=K)
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))


@dataclass(frozen=True)
class ColumnKernel(Kernel):
    """A kernel of some columns, by name in data frames or by position in arrays.

    Sums and products of such kernels make a kernel of a table, in which each column has the kernel
    that suits it::

        ColumnKernel(["area", "age"], "rbf") * ColumnKernel("city", Overlap() + Constant(0.5))

    Estimators, searches and `gram` take it with a data frame of any library; columns that it does
    not name are not read, and columns of words are compared, not encoded. A word that no sample of
    the fit has equals none; a missing one is a category of its own.

    Parameters
    ----------
    columns : str, int, or list of them
        Which columns.
    kernel : Kernel or str
        The kernel of these columns. "rbf" is ``RBF(1 / d)`` and "laplacian" ``Laplacian(1 / d)``
        for d columns; "overlap" is ``Overlap()``; other names have their default parameters.
    scale : {"standard", None} or sequence of float, default="standard"
        What columns of numbers are divided by: their standard deviation in the samples of the fit,
        nothing, or these numbers. `Overlap` compares columns as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from resolvent.kernels import RBF, ColumnKernel, Overlap
    >>> frame = pd.DataFrame({"area": [40.0, 60.0, 80.0], "city": ["Bern", "Bern", "Basel"]})
    >>> kernel = ColumnKernel("area", RBF(0.5), scale=None) * ColumnKernel("city", Overlap())
    >>> kernel(frame, frame).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> kernel = ColumnKernel("area", "rbf") + ColumnKernel("city", "overlap")
    >>> kernel(frame, frame).round(3).tolist()
    [[2.0, 1.223, 0.002], [1.223, 2.0, 0.223], [0.002, 0.223, 2.0]]
    """

    columns: tuple[str | int, ...]
    kernel: Kernel
    scale: Any = "standard"

    def __post_init__(self) -> None:
        columns: Any = self.columns
        columns = (columns,) if isinstance(columns, str | int) else tuple(columns)
        positions = all(type(c) is int or isinstance(c, np.integer) for c in columns)
        if not columns or not (positions or all(isinstance(c, str) for c in columns)):
            raise ValueError(
                f"columns={columns!r} of ColumnKernel must be names of columns, or positions."
            )
        if len(set(columns)) < len(columns) or (positions and min(columns) < 0):
            raise ValueError(
                f"columns={columns!r} of ColumnKernel must differ, and positions count from 0."
            )
        columns = tuple(int(c) for c in columns) if positions else columns
        object.__setattr__(self, "columns", columns)
        self._check_kernel()
        self._check_scale()

    def _check_kernel(self) -> None:
        kernel: Any = self.kernel
        if isinstance(kernel, str):
            from resolvent.kernels import make_kernel  # here, because it imports this module

            kernel = Overlap() if kernel == "overlap" else make_kernel(
                kernel, gamma=1 / len(self.columns)
            )  # fmt: skip
            object.__setattr__(self, "kernel", kernel)
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel={kernel!r} of ColumnKernel must be a kernel such as RBF(gamma=0.5), or "
                "the name of one."
            )
        if not kernel.symmetric:
            raise ValueError(
                f"kernel={kernel!r} of ColumnKernel has a function in it, which takes whole "
                "samples: let the function pick its columns."
            )
        if _has_columns(kernel):
            raise ValueError("the kernel of a ColumnKernel cannot have columns of its own.")

    def _check_scale(self) -> None:
        scale = self.scale
        if isinstance(scale, str) and scale == "standard":
            if self.kernel.nominal:  # nothing to scale
                object.__setattr__(self, "scale", None)
            return
        if scale is None:
            return
        numbers = tuple(scale) if isinstance(scale, Sequence | np.ndarray) else ()
        good = len(numbers) == len(self.columns) and not isinstance(scale, str)
        if not good or not all(is_number(x) and x > 0 for x in numbers):
            raise ValueError(
                f"scale={scale!r} of ColumnKernel must be 'standard', None, or {len(self.columns)} "
                "positive finite numbers, one for each column."
            )
        object.__setattr__(self, "scale", tuple(float(x) for x in numbers))

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    @property
    def named(self) -> dict[str, bool]:
        return {name: self.kernel.nominal for name in self.columns if isinstance(name, str)}

    @property
    def takes_all_columns(self) -> bool:
        return False

    def resolved(self, X: Any, names: Sequence[str] | None, weight: Any) -> Kernel:
        columns = self.columns
        if self.named:
            missing = [name for name in columns if name not in (names or ())]
            if missing:
                raise ValueError(
                    f"The kernel has the column {missing[0]!r}, which X does not; it has "
                    f"{', '.join(map(repr, names or ())) or 'no names'}."
                )
            columns = tuple(list(names or ()).index(str(name)) for name in columns)
        X = as_rows(X)
        if max(int(c) for c in columns) >= X.shape[1]:
            raise ValueError(f"columns={columns!r} of ColumnKernel: X has {X.shape[1]} columns.")
        scale = self.scale
        if scale == "standard":
            spread = np.sqrt(column_moments(X[:, list(columns)], weight)[1])
            scale = tuple(np.where(spread > 0, spread, 1.0).tolist())
        return replace(self, columns=columns, scale=scale)

    def _points(self, points: Points) -> Points:
        if self.named or isinstance(self.scale, str):
            raise ValueError(
                f"{self} has not seen data: make_kernel(kernel, X=X) finds columns and scales."
            )
        return points.columns(tuple(int(c) for c in self.columns), self.scale)

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        return self.kernel.evaluate(self._points(a), self._points(b), out)

    def diagonal(self, points: Points) -> np.ndarray:
        return self.kernel.diagonal(self._points(points))


def _has_columns(kernel: Kernel) -> bool:
    return isinstance(kernel, ColumnKernel) or any(map(_has_columns, kernel.parts))
