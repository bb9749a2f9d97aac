"""Rows as they are given: checked, dense or CSR, in pieces, and their moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

# Entries of a temporary: what makes passes over data bounded in memory and in time.
PIECE = 1 << 22


def split(index: Any, size: int) -> Iterator[Any]:
    """Cut a sequence into consecutive pieces of at most `size` elements."""
    for start in range(0, len(index), size):
        yield index[start : start + size]


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64 as a NumPy dtype, or say what else was given."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} is not a precision of kernels: use float32 or float64.")
    return found


def as_rows(X: Any, name: str = "X") -> Any:
    """Return X as a finite two-dimensional array or CSR matrix of float32 or float64.

    The data are not copied where they are of that kind already, and never changed: a CSR matrix
    with unsorted or repeated indices is put in order in a copy.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d)
        Data, one sample a row.
    name : str
        What error messages call it.

    Returns
    -------
    ndarray or csr_array of shape (n, d)
    """
    if sparse.issparse(X):
        rows, numbers = _as_csr(X, name)
    else:
        rows = numbers = _as_dense(X, name)
    if 0 in rows.shape:
        raise ValueError(
            f"{name} has shape {rows.shape}: at least one sample and one feature are needed."
        )
    for piece in split(numbers, max(1, PIECE // max(1, numbers[:1].size))):
        if not np.isfinite(piece).all():
            bad = piece[~np.isfinite(piece)][0]
            raise ValueError(
                f"{name} contains {bad}: kernels need finite numbers; impute or drop such samples."
            )
    return rows


def _as_dense(X: Any, name: str) -> np.ndarray:
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex: kernels need real numbers; pass X.real or X.imag.")
    if array.ndim != 2:
        raise ValueError(
            f"{name} has shape {array.shape} where two dimensions, (samples, features), are "
            "needed: reshape(-1, 1) makes one feature of a vector, reshape(1, -1) one sample."
        )
    if array.dtype in (np.float32, np.float64):
        return array
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} of dtype {array.dtype} cannot be read as numbers, which this kernel needs: "
            "encode the features, or use a function kernel, which takes any objects."
        ) from None


def _as_csr(X: Any, name: str) -> tuple[Any, np.ndarray]:
    if X.dtype.kind == "c":
        raise ValueError(f"{name} is complex: kernels need real numbers; pass X.real or X.imag.")
    if X.ndim != 2:
        raise ValueError(f"{name} has shape {X.shape} where (samples, features) is needed.")
    X = X.tocsr()
    data = X.data if X.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
    # 64-bit indices only where 32 bits do not do: one compiled loop serves both, and faster.
    small = max(X.nnz, *X.shape) <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    indices, indptr = (part.astype(index, copy=False) for part in (X.indices, X.indptr))
    # An own object around the caller's arrays: SciPy notes in it what it finds out about them.
    rows = sparse.csr_array((data, indices, indptr), shape=X.shape)
    rows.check_format(full_check=True)  # indices out of range would crash compiled code
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows, rows.data


def sq_norms(rows: Any) -> np.ndarray:
    """Squared norms of rows, in float64."""
    if sparse.issparse(rows):
        squares = sparse.csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(squares.sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def as_dense(matrix: Any) -> np.ndarray:
    """Return a matrix, sparse or not, as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def column_moments(rows: Any, weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns of a matrix, its rows weighted, in two passes."""
    weight = np.ones(rows.shape[0]) if weight is None else np.asarray(weight, np.float64)
    weight = weight / weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(rows):
            columns = rows.tocsc()
            mean = np.asarray(columns.T @ weight).ravel()
            stored = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
            share = weight[columns.indices]
            squares = share * (columns.data - mean[stored]) ** 2
            absent = 1.0 - np.bincount(stored, share, columns.shape[1])
            return mean, np.bincount(stored, squares, columns.shape[1]) + absent * mean**2
        mean = weight @ rows
        return mean, weight @ np.square(np.subtract(rows, mean, dtype=np.float64))


def variance(rows: Any, weight: Any = None) -> float:
    """Variance of all elements of a matrix, its rows weighted, in two passes of float64."""
    n, d = rows.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, np.float64)
    total = weight.sum() * d
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(rows):
            weight = np.repeat(weight, np.diff(rows.indptr))
            data = rows.data.astype(np.float64)
            mean = weight @ data / total
            absent = total - weight.sum()  # elements that are not stored are zeros
            return float((weight @ (data - mean) ** 2 + absent * mean**2) / total)
        mean = weight @ rows.mean(axis=1, dtype=np.float64) * d / total
        step = max(1, PIECE // d)
        squares = [sq_norms(np.subtract(r, mean, dtype=np.float64)) for r in split(rows, step)]
        return float(weight @ np.concatenate(squares) / total)
