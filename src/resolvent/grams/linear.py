"""The linear kernel K = X X', which is never formed: the state is w = X'c (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy import sparse

from resolvent.grams.base import CHUNK_WORK, Gram, checked_diagonal, read_only
from resolvent.kernels.points import PIECE, as_dense, as_rows, check_dtype, split

__all__ = ["DenseFeatures", "LinearGram", "SparseFeatures"]


@numba.njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _inner(row: np.ndarray, vector: np.ndarray) -> Any:
    """Inner product; that terms may be summed in any order makes it four times as fast."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * vector[j]
    return total


class DenseFeatures(NamedTuple):
    """Rows x_i of dense data; the state is w = X'c."""

    X: np.ndarray

    def dot(self, state: Any, i: int) -> Any:
        return _inner(self.X[i], state)

    def axpy(self, state: Any, i: int, h: float) -> None:
        row = self.X[i]
        for j in range(row.size):
            state[j] += h * row[j]


class SparseFeatures(NamedTuple):
    """Rows x_i of data in the CSR format; the state is w = X'c."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    def dot(self, state: Any, i: int) -> Any:
        total = 0.0
        for k in range(self.indptr[i], self.indptr[i + 1]):
            total += self.data[k] * state[self.indices[k]]
        return total

    def axpy(self, state: Any, i: int, h: float) -> None:
        for k in range(self.indptr[i], self.indptr[i + 1]):
            state[self.indices[k]] += h * self.data[k]


class LinearGram(Gram):
    """The kernel matrix X X' + bias^2 of the linear kernel, held as X.

    X is not copied if it is a contiguous array, or a CSR matrix in order, of float32 or float64,
    and there is no bias.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d)
        Data, one sample a row.
    bias : float
        If not zero, a constant feature of this value is appended, whose coefficient is a penalised
        offset.
    dtype : {None, "float32", "float64"}
        Precision of X. None: float32 stays float32, all else becomes float64.
    """

    def __init__(self, X: Any, bias: float = 0.0, dtype: Any = None) -> None:
        rows = as_rows(X)
        self.dtype = rows.dtype if dtype is None else check_dtype(dtype)
        rows = rows.astype(self.dtype, copy=False)
        self.n = rows.shape[0]
        constant = np.full((self.n, 1), bias, self.dtype)
        self.panel: DenseFeatures | SparseFeatures
        if sparse.issparse(rows):
            self.X = sparse.hstack([rows, constant], format="csr") if bias else rows
            parts = (self.X.data, self.X.indices, self.X.indptr)
            self.panel = SparseFeatures(*map(read_only, parts))
            self.row_cost = max(1, self.X.nnz // self.n)
        else:
            self.X = np.ascontiguousarray(np.hstack([rows, constant]) if bias else rows)
            self.panel = DenseFeatures(read_only(self.X))
            self.row_cost = self.X.shape[1]
        norms = [_squares(part) for _, part in self._parts(1)]
        self.diagonal = checked_diagonal(np.concatenate(norms))

    def _parts(self, width: int) -> Iterator[tuple[slice, Any]]:
        """Rows of X, some at a time, in float64, for products with `width` vectors."""
        step = max(1, PIECE // (self.row_cost * max(1, width)))
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            yield rows, self.X[rows].astype(np.float64, copy=False)

    def state(self, coef: np.ndarray) -> np.ndarray:
        coef = np.asarray(coef, np.float64)
        result = np.zeros((len(coef), self.X.shape[1]))
        for rows, part in self._parts(len(coef)):
            here = coef[:, rows]
            if here.any():
                result += (part.T @ here.T).T
        return result

    def scores(self, state: np.ndarray) -> np.ndarray:
        result = np.empty((len(state), self.n))
        for rows, part in self._parts(len(state)):
            result[:, rows] = (part @ state.T).T
        return result

    def chunks(self, order: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        for part in split(np.asarray(order, np.int64), max(1, CHUNK_WORK // self.row_cost)):
            yield part, self.panel

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        right = self.X[columns].astype(np.float64, copy=False).T
        step = max(1, CHUNK_WORK * 16 // (self.row_cost * max(1, len(columns))))
        parts = [self.X[part].astype(np.float64, copy=False) for part in split(rows, step)]
        blocks = [as_dense(part @ right) for part in parts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(columns)))


def _squares(rows: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        if sparse.issparse(rows):
            return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", rows, rows)
