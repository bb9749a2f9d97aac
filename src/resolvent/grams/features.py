"""Rows of data, dense or sparse, and the compiled loops over them that know nothing of a loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent._jit import any_order, borrowed, compiled, dot, generic, plain, unowned

__all__ = [
    "DenseFeatures",
    "SparseFeatures",
    "add_rows",
    "add_squares",
    "fill_norms",
    "fill_scores",
    "product",
    "scaled_rows",
]


@any_order
def product(row: np.ndarray, vector: np.ndarray) -> Any:
    """Inner product; that terms may be summed in any order makes it four times as fast."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * np.float64(vector[j])
    return total


@any_order
def _sparse_inner(data: Any, indices: Any, indptr: Any, vector: np.ndarray, i: int) -> Any:
    """Inner product of a row with a vector; unsigned places need no test for negative ones."""
    total = 0.0
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total += data[k] * vector[np.uint32(indices[k])]
    return total


class DenseFeatures(NamedTuple):
    """Rows x_i of dense data; the state is w = X'c."""

    X: np.ndarray

    def dot(self, state: Any, i: int) -> Any:
        return product(self.X[i], state)

    def axpy(self, state: Any, i: int, h: float) -> None:
        row = self.X[i]
        for j in range(row.size):
            state[j] += h * row[j]

    def borrowed(self) -> Any:
        return DenseFeatures(unowned(self.X))

    def norm(self, i: int) -> Any:
        return product(self.X[i], self.X[i])

    def gather(self, coef: Any, state: Any, start: int, stop: int) -> None:
        for i in range(start, stop):
            h, row = coef[i], self.X[i]
            if h != 0.0:
                for j in range(row.size):
                    state[j] += h * row[j]


class SparseFeatures(NamedTuple):
    """Rows x_i of data in the CSR format; the state is w = X'c."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    def dot(self, state: Any, i: int) -> Any:
        return _sparse_inner(self.data, self.indices, self.indptr, state, i)

    def axpy(self, state: Any, i: int, h: float) -> None:
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
            state[np.uint32(self.indices[k])] += h * self.data[k]

    def borrowed(self) -> Any:
        return SparseFeatures(unowned(self.data), unowned(self.indices), unowned(self.indptr))

    def norm(self, i: int) -> Any:
        row = self.data[self.indptr[i] : self.indptr[i + 1]]
        return product(row, row)

    def gather(self, coef: Any, state: Any, start: int, stop: int) -> None:
        for i in range(start, stop):
            h = coef[i]
            if h != 0.0:
                for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
                    state[np.uint32(self.indices[k])] += h * self.data[k]


norm = generic("norm")
# A loop over axpy would count references to the data at each row, which several threads do at one
# place in memory: four times slower.
gather = generic("gather")


@compiled
def fill_norms(panel: Any, out: np.ndarray, start: int, stop: int) -> None:
    """Squared norms of the rows from `start` to `stop`."""
    for i in range(start, stop):
        out[i] = norm(panel, i)


@compiled
def fill_scores(panel: Any, state: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
    """Scores of the rows from `start` to `stop`."""
    panel, state = borrowed(panel), unowned(state)
    for i in range(start, stop):
        out[i] = dot(panel, state, i)


@compiled
def add_rows(panel: Any, coef: np.ndarray, state: np.ndarray, start: int, stop: int) -> None:
    """Add what the rows from `start` to `stop` contribute to the state."""
    gather(panel, coef, state, start, stop)


@plain
def scaled_rows(X: Any, rows: Any, factor: np.ndarray, out: np.ndarray) -> None:
    """Copy some rows of dense data, each times its factor, in float64."""
    for p in range(len(rows)):
        row = X[rows[p]]
        for j in range(row.size):
            out[p, j] = factor[p] * row[j]


@plain
def add_squares(
    data: Any, indices: Any, indptr: Any, rows: Any, weight: np.ndarray, out: np.ndarray
) -> None:
    """Add weight_i x_i x_i' for some rows of CSR data to the lower triangle of a matrix."""
    for p in range(len(rows)):
        start, stop = np.uint64(indptr[rows[p]]), np.uint64(indptr[rows[p] + 1])
        for k in range(start, stop):
            value, line = weight[p] * data[k], out[np.uint32(indices[k])]
            for j in range(start, k + np.uint64(1)):
                line[np.uint32(indices[j])] += value * data[j]
