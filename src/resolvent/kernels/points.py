"""Rows of data as kernels see them: their inner products and distances, dense or sparse.

Everything that depends on how the data are stored is here, so that a kernel is a formula.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from resolvent.kernels.exponential import exp_not_positive
from resolvent.kernels.rows import PIECE, as_rows, check_dtype, split, sq_norms
from resolvent.kernels.sparse_sums import absolute, chi2, differ, sparse_sums
from resolvent.kernels.tiles import Panels, pack, room, sq_distances

__all__ = ["TOLERANCE", "Points", "deliver"]

# |a|^2 + |b|^2 - 2 a'b loses about `eps * (|a|^2 + |b|^2)`. A kernel function of that distance is
# off by as much, so where the loss would exceed this bound the next higher precision is used.
TOLERANCE = 1e-5
# And this, where results are in double precision. Coefficients of samples that are the same may be
# as large as C, with opposite signs, so that errors of K between them count times C^2.
TOLERANCE_IN_DOUBLE = 1e-10


@dataclass(frozen=True, eq=False)
class _Frame:
    """What points that are compared must have in common."""

    dtype: np.dtype[Any]
    numeric: bool
    centre: Any  # mean row of the reference; None for sparse rows and for objects
    of_columns: dict[Any, _Frame] = field(default_factory=dict)  # the same, for some columns


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

    def columns(self, columns: tuple[int, ...], scale: tuple[float, ...] | None) -> Points:
        """Points of some columns, divided by `scale` if it is given; made once."""
        key = columns, scale
        known: dict[Any, Points] = self.__dict__.setdefault("_of_columns", {})
        if key in known:
            return known[key]
        if self._part_of is not None:  # then once for all parts
            whole, rows = self._part_of
            found = whole.columns(columns, scale).take(rows)
        else:
            factor = 1.0 if scale is None else 1.0 / np.array(scale)
            values = self.values[:, list(columns)]
            if scale is not None:
                values = (values @ sparse.diags_array(factor)).tocsr() if self._sparse else (
                    values * factor
                )  # fmt: skip
            frame = self._frame
            centre = None if frame.centre is None else frame.centre[list(columns)] * factor
            own = frame.of_columns.setdefault(key, _Frame(frame.dtype, frame.numeric, centre))
            found = self._within(values)
            found._frame = own
        return known.setdefault(key, found)

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
        return sq_norms(self.values)

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
        rows /= np.sqrt(np.where(self.nonzero, sq_norms(rows), 1))[:, None]
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
        exponential: bool = False,
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
        exponential : bool
            Whether each t is replaced by exp(min(t, 0)), while it is at hand.

        Returns
        -------
        ndarray of shape (len(self), len(other))
            Rounding may put a distance of nearly zero on the wrong side of it.
        """
        if out is None:
            out = np.empty((len(self), len(other)), self.dtype)
        where = np.arange(len(self))
        self.put_sq_distances(other, scale, tol, exponential, out, where, 0)
        return out

    def put_sq_distances(
        self,
        other: Points,
        scale: float,
        tol: float,
        exponential: bool,
        out: np.ndarray,
        where: np.ndarray,
        left: int,
    ) -> None:
        """Write `sq_distances` to the rows `where` of `out`, from the column `left` on."""
        self._check(other)
        columns = slice(left, left + len(other))
        if self._sparse:
            result = (self.values @ other._transposed).toarray()
            result *= -2
            result += self.sq_norms[:, None]
            result += other.sq_norms
            result *= scale
            out[where, columns] = exp_not_positive(result) if exponential else result
            return
        if self.dtype == np.float64:
            tol = min(tol, TOLERANCE_IN_DOUBLE)
        far = _far(self._panels, other._panels, len(self), scale, tol)
        count = np.count_nonzero(far)
        if 2 * count <= len(far):
            _put_from(self._panels, other._panels, scale, exponential, out, where, columns)
        if count:  # most of them: then all
            far = np.ones(len(far), bool) if 2 * count > len(far) else far
            result = self.take(far)._sq_distances_in_double(other, scale, tol)
            out[where[far], columns] = exp_not_positive(result) if exponential else result

    def _sq_distances_in_double(self, other: Points, scale: float, tol: float) -> np.ndarray:
        a, b = self._panels_double, other._panels_double
        if _far(a, b, len(self), scale, tol).any():
            return scale * self._pairs("sqeuclidean", other)
        result = np.empty((len(self), len(other)))
        _put_from(a, b, scale, False, result, np.arange(len(self)), slice(0, len(other)))
        return result

    @cached_property
    def _panels(self) -> Panels:
        return self._pack(self.dtype)

    @cached_property
    def _panels_double(self) -> Panels:
        return self._panels if self.dtype == np.float64 else self._pack(np.dtype(np.float64))

    def _pack(self, dtype: np.dtype[Any]) -> Panels:
        """Centre the rows and put them in the order that compiled loops want."""
        rows = np.empty(self.values.shape, dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(self.values, self._frame.centre, out=rows)  # in float64
            return pack(rows)

    def l1_distances(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Return the sums of absolute differences between rows."""
        self._check(other)
        if self._sparse:
            result = sparse_sums(self.values, other.values, absolute)
        else:
            result = self._pairs("cityblock", other)
        return deliver(result, self.dtype, out)

    def chi2_distances(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Return sums of (a_j - b_j)^2 / (a_j + b_j) of rows without negative elements."""
        self._check(other)
        for points in (self, other):
            if points.least < 0:
                raise ValueError(
                    f"X contains {points.least:g}: chi-squared kernels are of vectors without "
                    "negative elements, such as counts and histograms."
                )
        if self._sparse:
            return deliver(sparse_sums(self.values, other.values, chi2), self.dtype, out)
        from resolvent.kernels.chi2 import chi2_distances  # here, because it imports Numba

        result = np.empty((len(self), len(other)), self.dtype) if out is None else out
        chi2_distances(self._operand, other._operand, result)
        return result

    def shares_that_differ(self, other: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Return the shares of columns in which rows are not equal."""
        self._check(other)
        if self._sparse:
            result = sparse_sums(self.values, other.values, differ) / self.values.shape[1]
        else:
            result = self._pairs("hamming", other)
        return deliver(result, self.dtype, out)

    @cached_property
    def least(self) -> float:
        """The smallest element."""
        return self._part_of[0].least if self._part_of is not None else float(self.values.min())

    @cached_property
    def sums(self) -> np.ndarray:
        """Sums of the elements of rows, float64."""
        return np.asarray(self.values.sum(axis=1, dtype=np.float64)).ravel()

    def _pairs(self, metric: Any, other: Points) -> np.ndarray:
        """Distances by explicit differences in float64, in steps that let Ctrl-C through."""
        from scipy.spatial.distance import cdist

        step = max(1, PIECE * 16 // max(1, other.values.size))
        return np.concatenate(
            [cdist(rows, other.values, metric) for rows in split(self.values, step)]
        )


def _far(a: Panels, b: Panels, count: int, scale: float, tol: float) -> np.ndarray:
    """Which rows are so far from the centre that their distances need a higher precision.

    The error is about eps (|a|^2 + |b|^2), but only what both have in common counts: where one
    is much larger than the other, their distance is so large that an error is of no account.
    """
    limits = np.finfo(a.squares.dtype)
    largest = max(a.largest, b.largest)
    if not (largest < float(limits.max) and abs(scale) > float(limits.tiny)):  # also for NaN
        return np.ones(count, bool)
    return 8 * float(limits.eps) * abs(scale) * a.squares[:count] > tol


def _put_from(
    a: Panels,
    b: Panels,
    scale: float,
    exponential: bool,
    out: np.ndarray,
    where: np.ndarray,
    columns: slice,
) -> None:
    """Write squared distances times `scale`, in pieces that let Ctrl-C through."""
    factor, tile = a.squares.dtype.type(scale), room(a.squares.dtype)
    sq_distances(a, b, factor, exponential, out, where, columns.start, columns.stop, tile)


def deliver(result: np.ndarray, dtype: np.dtype[Any], out: np.ndarray | None) -> np.ndarray:
    """Copy a result to where it is wanted, in the precision that is wanted."""
    if out is None:
        return result.astype(dtype)
    np.copyto(out, result, casting="same_kind")
    return out
