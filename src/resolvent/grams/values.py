"""Values of a kernel matrix by tiles, none of which is kept: computed, or read from a matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from resolvent._threads import run
from resolvent.grams.base import checked_diagonal
from resolvent.grams.rows import scratch
from resolvent.kernels import Kernel
from resolvent.kernels.points import Points
from resolvent.kernels.rows import check_dtype

__all__ = ["ComputedValues", "StoredColumns", "StoredValues", "Values", "values_of"]

TILE_ROWS = 512  # of a tile: as in prediction

IsOver = Callable[[], bool]


class Values(ABC):
    """Access to values k(x_i, x_j), to be computed or read again whenever they are needed.

    Samples are taken by `take`, whose results go to `fill` and to nothing else.

    Attributes
    ----------
    n : int
        Number of samples.
    dtype : numpy dtype
        Precision of the values.
    diagonal : ndarray of shape (n,)
        Values k(x_i, x_i), float64.
    parallel : bool
        Whether several threads may fill tiles at a time.
    cost : int
        Multiply-adds of a value, about.
    """

    n: int
    dtype: np.dtype[Any]
    diagonal: np.ndarray
    parallel: bool
    cost: int

    @property
    def noise(self) -> float:
        """Relative error of a value."""
        return float(np.finfo(self.dtype).eps)

    @abstractmethod
    def take(self, index: Any) -> Any:
        """Take some samples, given by a slice or indices."""

    @abstractmethod
    def given(self, rows: Any) -> Any:
        """Read samples that are not among these."""

    @abstractmethod
    def fill(self, a: Any, b: Any, out: np.ndarray) -> None:
        """Values between two sets of samples, into a contiguous array."""

    @abstractmethod
    def square(self, a: Any) -> np.ndarray:
        """Values of some samples among themselves, computed in float64."""

    def each_tile(
        self, rows: np.ndarray, b: Any, use: Callable[[int, np.ndarray], None], is_over: IsOver
    ) -> bool:
        """Call ``use(start, tile)`` with the values of consecutive `rows` and the samples b.

        Calls run in threads. Returns False if `is_over` has ended them before the last tile.
        """
        ended = False

        def work(start: int) -> None:
            nonlocal ended
            ended = ended or is_over()
            if not ended:
                a = self.take(rows[start : start + TILE_ROWS])
                tile = scratch(len(a), len(b), self.dtype)
                self.fill(a, b, tile)
                use(start, tile)

        run(work, [(start,) for start in range(0, len(rows), TILE_ROWS)], self.parallel)
        return not ended


class ComputedValues(Values):
    """Values of a kernel function of data.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d), or sequence of n objects
        Data, one sample a row.
    kernel : Kernel
        The kernel.
    dtype : {None, "float32", "float64"}
        Precision. None: float32 if X is, otherwise float64.
    """

    def __init__(self, X: Any, kernel: Kernel, dtype: Any = None) -> None:
        self.kernel, self.points = kernel, Points(X, dtype, numeric=kernel.numeric)
        self.n, self.dtype, self.parallel = len(self.points), self.points.dtype, kernel.parallel
        self.cost = self.points.width + 30  # an exponential costs as much as some 30 columns
        with np.errstate(over="ignore", invalid="ignore"):
            self.diagonal = checked_diagonal(kernel.diagonal(self.points))

    def take(self, index: Any) -> Points:
        return self.points.take(index)

    def given(self, rows: Any) -> Points:
        return self.points.like(rows)

    def fill(self, a: Points, b: Points, out: np.ndarray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel.evaluate(a, b, out)
            finite = self.kernel.bounded or np.isfinite(out.sum()) or np.isfinite(out).all()
        if not finite:
            raise ValueError(
                f"the kernel {self.kernel} is not finite in {self.dtype} on these data: "
                "scale the data, or use dtype='float64'."
            )

    def square(self, a: Points) -> np.ndarray:
        double = Points(a.values, np.float64, numeric=self.kernel.numeric)
        result = np.empty((len(double), len(double)))
        for start in range(0, len(double), TILE_ROWS):
            rows = slice(start, start + TILE_ROWS)
            self.fill(double.take(rows), double, result[rows])
        np.fill_diagonal(result, self.kernel.diagonal(double))
        return 0.5 * (result + result.T)  # a function of the user need not be exactly symmetric


class StoredValues(Values):
    """Values of a kernel matrix that is given, in memory or in a memory-mapped file.

    Only what is asked for is read, and nothing is checked but the diagonal and what is read.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric positive semidefinite matrix.
    dtype : {None, "float32", "float64"}
        Precision. None: float32 if K is, otherwise float64.
    """

    parallel, cost = True, 1

    def __init__(self, K: Any, dtype: Any = None) -> None:
        if sparse.issparse(K):
            raise TypeError("K is a sparse matrix, and kernel matrices must be dense.")
        self.matrix = np.asarray(K)
        if self.matrix.ndim != 2 or len(set(self.matrix.shape)) != 1 or self.matrix.size == 0:
            raise ValueError(
                f"K has shape {self.matrix.shape}, but a kernel matrix is square with at least one "
                "row: for data X rather than K name the kernel."
            )
        single = self.matrix.dtype == np.float32
        self.dtype = check_dtype(dtype or (np.float32 if single else np.float64))
        self.n = len(self.matrix)
        self.diagonal = checked_diagonal(self.matrix.diagonal())

    def take(self, index: Any) -> np.ndarray:
        return np.arange(self.n)[index]

    def given(self, rows: Any) -> np.ndarray:
        raise ValueError(
            "landmarks of a precomputed kernel matrix are columns of it: give their indices."
        )

    def fill(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        out[...] = self.matrix[np.ix_(a, b)]
        if not np.isfinite(out.sum()) and not np.isfinite(out).all():
            raise ValueError("K contains NaN or infinity: all of K must be finite.")

    def square(self, a: np.ndarray) -> np.ndarray:
        result = self.matrix[np.ix_(a, a)].astype(np.float64)
        return 0.5 * (result + result.T)


class StoredColumns(Values):
    """Values between all samples and some of them, computed once for the many who need them.

    Parameters
    ----------
    values : Values
        Where they come from.
    columns : ndarray
        Indices of those samples.
    is_over : callable
        Called for each tile; values are zero from where it is true.
    """

    parallel, cost = True, 1

    def __init__(self, values: Values, columns: np.ndarray, is_over: IsOver) -> None:
        self.n, self.dtype, self.diagonal = values.n, values.dtype, values.diagonal
        self.position = np.full(self.n, -1)
        self.position[columns] = np.arange(len(columns))
        self.matrix = np.zeros((self.n, len(columns)), self.dtype)
        samples = values.take(columns)

        def put(start: int, tile: np.ndarray) -> None:
            self.matrix[start : start + len(tile)] = tile

        values.each_tile(np.arange(self.n), samples, put, is_over)
        self._square = values.square(samples)

    def take(self, index: Any) -> np.ndarray:
        return np.arange(self.n)[index]

    def given(self, rows: Any) -> np.ndarray:
        raise TypeError("of samples that are not among these no values are stored")

    def fill(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        out[...] = self.matrix[np.ix_(a, self.position[b])]

    def square(self, a: np.ndarray) -> np.ndarray:
        return self._square[np.ix_(self.position[a], self.position[a])]


def values_of(X: Any, kernel: Kernel | None, dtype: Any = None) -> Values:
    """Values of a kernel on data; of a matrix where the kernel is None."""
    return StoredValues(X, dtype) if kernel is None else ComputedValues(X, kernel, dtype)
