"""Rows of data as kernels see them: their inner products and distances, dense or sparse.

Everything that depends on how the data are stored is here, so that a kernel is a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["Points", "as_dense", "as_rows", "check_dtype", "deliver", "split", "variance"]

# |a|^2 + |b|^2 - 2 a'b loses about `eps * (|a|^2 + |b|^2)`. A kernel function of that distance is
# off by as much, so where the loss would exceed this bound the next higher precision is used.
TOLERANCE = 1e-5
# And this, where results are in double precision. Coefficients of samples that are the same may be
# as large as C, with opposite signs, so that errors of K between them count times C^2.
TOLERANCE_IN_DOUBLE = 1e-10

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


@dataclass(frozen=True, eq=False)
class _Frame:
    """What points that are compared must have in common."""

    dtype: np.dtype[Any]
    numeric: bool
    centre: Any  # mean row of the reference; None for sparse rows and for objects


class Points:
    """Rows of X with what kernels need of them, each computed once, when first asked for.

    ``Points(X)`` is a reference: ``reference.like(A)`` and ``reference.take(rows)`` are points
    that can be compared with it, and no others can.

    Squared distances are computed as ``|a|^2 + |b|^2 - 2 a'b``, which is one matrix product. That
    cancels for points far from the origin, so dense rows are first centred at the mean row of the
    reference, in double precision; where even then the result would be poor (see `sq_distances`)
    the precision is raised. Sparse rows are not centred and are always worked on in float64.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d), or sequence of n objects
        Data, one sample a row.
    dtype : {None, "float32", "float64"}
        Precision of the results. None: that of X if it is float32, otherwise float64.
    numeric : bool
        Whether X must be numbers. If not, a list, an array or a CSR matrix is kept as it is.

    Attributes
    ----------
    values : ndarray, csr_array or list
        The rows.
    dtype : numpy dtype
        Precision of the results.
    """

    def __init__(self, X: Any, dtype: Any = None, *, numeric: bool = True) -> None:
        self.values = self._read(X, numeric, "X")
        if dtype is None:
            single = getattr(X, "dtype", None) == np.float32
            dtype = np.float32 if single else np.float64
        centre = None
        if numeric and not self._sparse:
            with np.errstate(over="ignore", invalid="ignore"):
                centre = self.values.mean(axis=0, dtype=np.float64)
        self._frame = _Frame(check_dtype(dtype), numeric, centre)
        self._part_of: tuple[Points, Any] | None = None  # the points these were taken from

    @staticmethod
    def _read(X: Any, numeric: bool, name: str) -> Any:
        if numeric:
            rows = as_rows(X, name)
            return rows.astype(np.float64, copy=False) if sparse.issparse(rows) else rows
        if sparse.issparse(X):
            return X.tocsr()
        values = list(X) if isinstance(X, (list, tuple)) else np.asarray(X)
        if np.ndim(values) == 0 and not isinstance(values, list):
            raise ValueError(f"{name}={X!r} is not a sequence of samples.")
        if len(values) == 0:
            raise ValueError(f"{name} is empty: at least one sample is needed.")
        return values

    def _within(self, values: Any, part_of: tuple[Points, Any] | None = None) -> Points:
        points = object.__new__(Points)
        points.values = values
        points._frame = self._frame
        points._part_of = part_of
        return points

    def like(self, A: Any) -> Points:
        """Points of the rows of A, to be compared with these."""
        points = self._within(self._read(A, self._frame.numeric, "X"))
        if self._frame.numeric and points.values.shape[1] != self.values.shape[1]:
            raise ValueError(
                f"X has {points.values.shape[1]} features, but the kernel was built on "
                f"{self.values.shape[1]} features: pass the same columns."
            )
        # Dense rows next to sparse ones, or the reverse, take the reference's form.
        if self._frame.numeric and points._sparse != self._sparse:
            dense = points.values.toarray() if points._sparse else points.values
            points.values = sparse.csr_array(dense, dtype=np.float64) if self._sparse else dense
        return points

    def take(self, rows: Any) -> Points:
        """Points of some of these rows, given by a slice (which copies nothing) or indices."""
        if isinstance(self.values, list) and not isinstance(rows, slice):
            return self._within([self.values[i] for i in rows])
        return self._within(self.values[rows], (self, rows))

    def __len__(self) -> int:
        return len(self.values) if isinstance(self.values, list) else self.values.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._frame.dtype

    @property
    def width(self) -> int:
        """Columns of dense rows, which is what a product of them costs; 0 for others."""
        return 0 if self._frame.centre is None else int(self.values.shape[1])

    @property
    def _sparse(self) -> bool:
        return bool(sparse.issparse(self.values))

    def _check(self, other: Points) -> None:
        if self._frame is not other._frame:
            raise ValueError("points of different references: build one by the other's like().")

    # ---- inner products -------------------------------------------------------------------

    @cached_property
    def sq_norms(self) -> np.ndarray:
        """Squared norms of the rows, float64."""
        return _sq_norms(self.values)

    @cached_property
    def _transposed(self) -> Any:
        # SciPy would make this conversion, of all rows, at every product.
        return self.values.T.tocsr()

    @cached_property
    def _operand(self) -> np.ndarray:
        return self.values.astype(self.dtype, copy=False)

    def dots(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Inner products a'b of the rows of both, of shape (len(self), len(other))."""
        self._check(other)
        if self._sparse:
            return deliver((self.values @ other._transposed).toarray(), self.dtype, out)
        return np.matmul(self._operand, other._operand.T, out=out)

    @cached_property
    def nonzero(self) -> np.ndarray:
        """Whether a row has an element that is not zero."""
        return self.sq_norms > 0 if self._sparse else self.values.any(axis=1)

    @cached_property
    def _directions(self) -> Points:
        """The rows scaled to norm 1; rows of zeros stay."""
        if self._sparse:
            norms = np.sqrt(self.sq_norms)
            norms[norms == 0] = 1
            return self._within((sparse.diags_array(1 / norms) @ self.values).tocsr())
        # Scaled by the largest element first, so that squares neither overflow nor vanish.
        rows = self.values.astype(np.float64)
        rows /= np.where(self.nonzero, abs(rows).max(axis=1), 1)[:, None]
        rows /= np.sqrt(np.where(self.nonzero, _sq_norms(rows), 1))[:, None]
        return self._within(rows)

    def cosines(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Cosines of the angles between rows; 0 for a row of zeros."""
        self._check(other)
        return self._directions.dots(other._directions, out)

    # ---- distances ------------------------------------------------------------------------

    def sq_distances(
        self,
        other: Points,
        scale: float = 1.0,
        tol: float = TOLERANCE,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Squared Euclidean distances between rows, times `scale`.

        Parameters
        ----------
        other : Points
            Points of the same reference.
        scale : float
            Factor, not zero.
        tol : float
            Absolute error of a function of the result that may come from cancellation; in float64
            at most 1e-10. Single precision gives way to double precision, and that to a sum of
            squared differences, for the rows where a bound on the error is above.
        out : ndarray of shape (len(self), len(other)), optional
            Where to write the result.

        Returns
        -------
        ndarray of shape (len(self), len(other))
            Rounding may put a distance of nearly zero on the wrong side of it.
        """
        self._check(other)
        if self._sparse:
            result = (self.values @ other._transposed).toarray()
            result *= -2
            result += self.sq_norms[:, None]
            result += other.sq_norms
            result *= scale
            return deliver(result, self.dtype, out)
        if self.dtype == np.float64:
            tol = min(tol, TOLERANCE_IN_DOUBLE)
        far = self._far(self._lifted, scale, tol)
        count = np.count_nonzero(far)
        if 2 * count > len(far):  # most of them: then all
            return deliver(self._sq_distances_in_double(other, scale, tol), self.dtype, out)
        result = _product_of_lifted(self._lifted[0], other._lifted[0], scale, out)
        if count:
            result[far] = self.take(far)._sq_distances_in_double(other, scale, tol)
        return result

    def _sq_distances_in_double(self, other: Points, scale: float, tol: float) -> np.ndarray:
        if self._far(self._lifted_double, scale, tol).any():
            return scale * self._pairs("sqeuclidean", other)
        return _product_of_lifted(self._lifted_double[0], other._lifted_double[0], scale)

    @staticmethod
    def _far(lifted: tuple[np.ndarray, float], scale: float, tol: float) -> np.ndarray:
        """Which rows are so far from the centre that their distances need a higher precision.

        The error is about eps (|a|^2 + |b|^2), but only what both have in common counts: where one
        is much larger than the other, their distance is so large that an error is of no account.
        """
        rows, radius = lifted
        limits = np.finfo(rows.dtype)
        if not (radius < float(limits.max) and abs(scale) > float(limits.tiny)):  # also for NaN
            return np.ones(len(rows), bool)
        return 8 * float(limits.eps) * abs(scale) * rows[:, -2] > tol

    def l1_distances(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Return the sums of absolute differences between rows."""
        self._check(other)
        result = self._sparse_l1(other) if self._sparse else self._pairs("cityblock", other)
        return deliver(result, self.dtype, out)

    @cached_property
    def _lifted(self) -> tuple[np.ndarray, float]:
        return self._lift(self.dtype)

    @cached_property
    def _lifted_double(self) -> tuple[np.ndarray, float]:
        return self._lifted if self.dtype == np.float64 else self._lift(np.dtype(np.float64))

    def _lift(self, dtype: np.dtype[Any]) -> tuple[np.ndarray, float]:
        """Rows (b, |b|^2, 1) of centred b, and the largest |b|^2."""
        if self._part_of is not None:  # then once for all parts
            whole, rows = self._part_of
            lifted, radius = whole._lifted if dtype == self.dtype else whole._lifted_double
            return lifted[rows], radius
        n, d = self.values.shape
        rows = np.empty((n, d + 2), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(self.values, self._frame.centre, out=rows[:, :d])  # in float64
            sq_norms = _sq_norms(rows[:, :d])  # of the rounded rows: a distance to itself is 0
            rows[:, d] = sq_norms
        rows[:, d + 1] = 1
        return rows, float(sq_norms.max())

    def _pairs(self, metric: Any, other: Points) -> np.ndarray:
        """Distances by explicit differences in float64, in steps that let Ctrl-C through."""
        from scipy.spatial.distance import cdist

        step = max(1, PIECE * 16 // max(1, other.values.size))
        return np.concatenate(
            [cdist(rows, other.values, metric) for rows in split(self.values, step)]
        )

    def _sparse_l1(self, other: Points) -> np.ndarray:
        """Compute |a - b|_1 = |a|_1 + sum over the nonzero b_j of |a_j - b_j| - |a_j|."""
        result = np.empty((len(self), len(other)))
        row = np.zeros(self.values.shape[1])
        b = other.values
        terms = sparse.csr_array((np.empty_like(b.data), b.indices, b.indptr), shape=b.shape)
        ones = np.ones(b.shape[1])
        for i in range(len(self)):
            here = slice(self.values.indptr[i], self.values.indptr[i + 1])
            columns, data = self.values.indices[here], self.values.data[here]
            row[columns] = data
            at_b = row[b.indices]
            terms.data = np.abs(at_b - b.data) - np.abs(at_b)
            result[i] = terms @ ones + np.abs(data).sum()
            row[columns] = 0
        return np.maximum(result, 0, out=result)


def _product_of_lifted(
    a: np.ndarray, b: np.ndarray, scale: float, out: np.ndarray | None = None
) -> np.ndarray:
    """(-2a, 1, |a|^2)'(b, |b|^2, 1) times `scale`: the sum of three terms in one product."""
    left = np.empty_like(a)
    np.multiply(a[:, :-2], -2 * scale, out=left[:, :-2])
    left[:, -2] = scale
    left[:, -1] = scale * a[:, -2]
    return np.matmul(left, b.T, out=out)


def deliver(result: np.ndarray, dtype: np.dtype[Any], out: np.ndarray | None) -> np.ndarray:
    """Copy a result to where it is wanted, in the precision that is wanted."""
    if out is None:
        return result.astype(dtype)
    np.copyto(out, result, casting="same_kind")
    return out


def _sq_norms(rows: Any) -> np.ndarray:
    if sparse.issparse(rows):
        squares = sparse.csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(squares.sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def as_dense(matrix: Any) -> np.ndarray:
    """Return a matrix, sparse or not, as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


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
        squares = [_sq_norms(np.subtract(r, mean, dtype=np.float64)) for r in split(rows, step)]
        return float(weight @ np.concatenate(squares) / total)
