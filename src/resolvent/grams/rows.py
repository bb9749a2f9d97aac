"""Kernel matrices that give rows: stored (`DenseGram`) or computed on demand (`ComputedGram`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from threading import local
from typing import Any

import numpy as np

from resolvent._costs import STRETCH
from resolvent._threads import one_blas_thread, run
from resolvent.grams.base import Chunk, Gram, checked_diagonal, read_only
from resolvent.grams.cache import RowCache
from resolvent.grams.chunks import CHUNK, HeldRows, RowChunk, add_product, square
from resolvent.grams.memory import parse_memory
from resolvent.kernels import Kernel
from resolvent.kernels.points import Points
from resolvent.kernels.rows import check_dtype, split

__all__ = ["ComputedGram", "DenseGram", "RowGram", "StoredGram"]

# Work on K goes by tiles of so many rows and columns: large enough for BLAS to be at its best,
# small enough that the passes over a tile find it in the cache and Ctrl-C need not wait.
TILE_ROWS = 256
TILE_COLUMNS = 2048
NARROW = 128  # columns of data up to which values cost less than to read them from afar
WIDE = 256  # columns of data from which products are dear: see `tile_rows`
LONG = 1 << 20  # elements of data in the rows of a tile that has more of them for that

# Rows that a gram must be able to hold for its computation to make sense.
LEAST_ROWS = 16

# Bytes beside rows: for tiles of threads and vectors, if an eighth of the limit is not less, and
# for matrices of solvers in any case.
WORKING_BYTES = 16_000_000
LEAST_WORKING_BYTES = 8_000_000


class RowGram(Gram):
    """What is common to matrices that give rows.

    A subclass sets the attributes of `Gram` and

    ``_part`` : int
        How many rows may be fetched at a time.
    """

    scores_at_hand = True
    _part: int

    @property
    def rows(self) -> RowGram:
        return self

    @property
    @abstractmethod
    def capacity(self) -> int:
        """How many rows can be at hand at a time."""

    @property
    @abstractmethod
    def at_hand(self) -> int:
        """How many rows are at hand."""

    @abstractmethod
    def fetch(self, index: np.ndarray, most: int = 0) -> HeldRows:
        """Hold rows of K: those of `index`.

        They are good for as long as the result, or a view of it, is referenced, whatever other
        threads do. If `most` is given, other rows that are at hand are held too, and beyond so many
        rows those used longest ago make room for new ones.
        """

    def fill(self, index: np.ndarray, room: np.ndarray) -> bool:
        """Put K on some coordinates into the first elements of `room`, and return True.

        That is where it costs less than to read their rows, which are far apart; if not, False.
        """
        return False

    def matrix_of_rows(self) -> np.ndarray:
        """All of K, where all rows can be at hand; not copied if they lie in order."""
        rows, slot = self.fetch(np.arange(self.n))
        return rows if (slot == np.arange(self.n)).all() else rows[slot]

    @abstractmethod
    def _where(self, index: np.ndarray) -> np.ndarray:
        """Where rows lie in memory at the moment, -1 if they are not at hand."""

    def state(self, coef: np.ndarray) -> np.ndarray:
        coef = np.asarray(coef, np.float64)
        result = np.zeros((len(coef), self.n))
        support = np.flatnonzero(coef.any(axis=0))
        # Rows that are kept are taken in the order in which they lie in memory.
        support = support[np.argsort(self._where(support), kind="stable")]
        with one_blas_thread():
            for part in split(support, min(4 * TILE_ROWS, self._part)):
                held = self.fetch(part)
                add_product(result, coef[:, part], held.values, held.slot[part])
                del held  # before others are fetched
        return result

    def scores(self, state: np.ndarray) -> np.ndarray:
        return state

    def dense(self, most: int) -> np.ndarray | None:
        if self.n > most or self.capacity < self.n:
            return None
        everything = np.arange(self.n)
        rows, slot = self.fetch(everything)
        if not np.array_equal(slot, everything):
            rows = rows[slot]
        return read_only(rows[: self.n].astype(np.float64, copy=False))

    def chunks(self, order: np.ndarray) -> Iterator[Chunk]:
        place = np.zeros(self.n, np.int64)
        for fetched in split(np.asarray(order, np.int64), self._part):
            held = self.fetch(fetched)
            for part in split(fetched, CHUNK):
                chunk = RowChunk(part, held, place)
                yield chunk
                chunk.release()
            del held  # before others are fetched


class StoredGram(RowGram):
    """A contiguous matrix that lies in memory and is known to be a kernel matrix."""

    def __init__(self, matrix: np.ndarray, diagonal: np.ndarray) -> None:
        self.matrix, self.diagonal = read_only(matrix), diagonal
        self.n = self.row_cost = len(matrix)
        self.dtype = matrix.dtype
        self._held = HeldRows(self.matrix, np.arange(self.n))
        self._part = max(1, STRETCH // self.n)

    @property
    def capacity(self) -> int:
        return self.n

    @property
    def at_hand(self) -> int:
        return self.n

    def fetch(self, index: np.ndarray, most: int = 0) -> HeldRows:
        return self._held

    def _where(self, index: np.ndarray) -> np.ndarray:
        return index

    def dense(self, most: int) -> np.ndarray | None:
        if self.n > most:
            return None
        same = self.dtype == np.float64
        return self.matrix if same else read_only(self.matrix.astype(np.float64))

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.matrix[np.ix_(rows, columns)].astype(np.float64, copy=False)

    def restricted(self, rows: np.ndarray) -> Gram:
        return StoredGram(self.matrix[np.ix_(rows, rows)], self.diagonal[rows])


def evaluate_now(points: Points, kernel: Kernel) -> StoredGram:
    """Kernel matrix of few points, by one evaluation; as exact as one whose rows are computed."""
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        matrix = kernel.evaluate(points, points)
        diagonal = checked_diagonal(kernel.diagonal(points).astype(points.dtype))
        finite = kernel.bounded or np.isfinite(matrix.sum()) or np.isfinite(matrix).all()
    if not finite:
        raise ValueError(
            f"the kernel {kernel} is not finite in {points.dtype} on these data: "
            "scale the data, or use dtype='float64'."
        )
    np.fill_diagonal(matrix, diagonal)
    result = StoredGram(matrix, diagonal)
    result.noise = float(np.finfo(points.dtype).eps)
    return result


class DenseGram(StoredGram):
    """A kernel matrix that is given, in memory or in a memory-mapped file.

    The matrix is not copied if it is contiguous and of float32 or float64. All of it is read once,
    to check that it is finite and symmetric.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric positive semidefinite matrix.
    dtype : {None, "float32", "float64"}
        Precision to convert to. None: float32 stays float32, all else becomes float64.
    """

    def __init__(self, K: Any, dtype: Any = None) -> None:
        matrix = np.asarray(K)
        if matrix.dtype.kind not in "biufO":
            raise ValueError(f"K of dtype {matrix.dtype} is not a matrix of real numbers.")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise ValueError(
                f"K has shape {matrix.shape}, but a kernel matrix is square with at least one row: "
                "for data X rather than K, build gram(X, kernel=...)."
            )
        if dtype is None:
            dtype = np.float32 if matrix.dtype == np.float32 else np.float64
        matrix = matrix.astype(check_dtype(dtype), copy=False)
        diagonal = checked_diagonal(matrix.diagonal())
        _check_symmetric(matrix, float(diagonal.max()))
        if matrix.flags.f_contiguous:
            matrix = matrix.T  # K is symmetric
        super().__init__(np.ascontiguousarray(matrix), diagonal)


def _check_symmetric(K: np.ndarray, largest: float) -> None:
    """Refuse a matrix that is not finite, or not symmetric up to rounding.

    In double precision the tolerance admits matrices that were computed in single precision.
    """
    tol = 1e-5 if K.dtype == np.float32 else 1e-6
    size = 512  # two tiles fit the cache
    for top in range(0, len(K), size):
        for left in range(0, top + 1, size):
            lower = K[top : top + size, left : left + size]
            upper = K[left : left + size, top : top + size].T
            with np.errstate(invalid="ignore", over="ignore"):
                difference = np.abs(lower - upper)
            extent = max(largest, float(lower.max()), -float(lower.min()))
            if difference.max() <= tol * extent < np.inf:
                continue
            for tile, offset in ((lower, (top, left)), (upper.T, (left, top))):
                for i, j in np.argwhere(~np.isfinite(tile))[:1] + offset:
                    raise ValueError(f"K[{i}, {j}] is {K[i, j]}: all of K must be finite.")
            i, j = np.argwhere(difference == difference.max())[0] + (top, left)
            raise ValueError(
                f"K is not symmetric: K[{i}, {j}] = {K[i, j]:.9g} but K[{j}, {i}] = {K[j, i]:.9g}. "
                "If the difference is harmless, pass (K + K.T) / 2."
            )


def tile_rows(points: Points, least: int, most: int) -> int:
    """Rows of a tile: more where data are wide, since BLAS packs the columns anew for each tile."""
    return least if points.width <= WIDE else max(least, min(most, LONG // points.width))


_memory = local()


def scratch(rows: int, columns: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Give this thread its array for one tile: memory that is used again stays in the cache.

    It is good until the next call.
    """
    size = rows * columns * dtype.itemsize
    if size > getattr(_memory, "size", 0):
        _memory.buffer, _memory.size = np.empty(size, np.uint8), size
    return _memory.buffer[:size].view(dtype).reshape(rows, columns)


class ComputedGram(RowGram):
    """A kernel matrix whose rows are computed from the data when they are needed.

    As many rows as the memory limit allows are kept. Beyond that it depends on who asks. Sweeps
    over all coordinates visit all other rows before they return to one, so that keeping the latest
    rows would never find one: those that came first stay, and the others are computed again at each
    visit, many at a time. The greedy method returns to rows that it used of late, so that the row
    that was used longest ago makes room.

    It may be used by several threads at once.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d), sequence of n objects, or Points
        Data, one sample a row.
    kernel : Kernel
        The kernel.
    memory_limit : int, str or None
        Bytes, or a string such as "1GB", for rows of K and what is computed from them. What is
        derived from X (about its size) and some megabytes of working space for each thread come
        on top: with two threads and a small X a fifth more, at most, of limits from 50 MB on.
        None: a quarter of the free memory.
    dtype : {None, "float32", "float64"}
        Precision of K. None: float32 if X is, otherwise float64.
    """

    def __init__(self, X: Any, kernel: Kernel, memory_limit: Any = None, dtype: Any = None) -> None:
        self.kernel = kernel
        self.points = X if isinstance(X, Points) else Points(X, dtype, numeric=kernel.numeric)
        self.n = self.row_cost = n = len(self.points)
        self.dtype = self.points.dtype
        limit = parse_memory(memory_limit, n * n * self.dtype.itemsize)
        with np.errstate(over="ignore", invalid="ignore"):
            # rounded as the rows are, so that it is the diagonal of the matrix solved with
            self.diagonal = checked_diagonal(kernel.diagonal(self.points).astype(self.dtype))
        self.noise = float(np.finfo(self.dtype).eps)

        row_bytes = n * self.dtype.itemsize
        afford, least = limit // row_bytes, min(n, LEAST_ROWS)
        if afford < least:
            raise ValueError(
                f"memory_limit={memory_limit!r} is too small: {least} rows of the kernel matrix of "
                f"{n} samples take {least * row_bytes} bytes; give at least that."
            )
        self._part = max(1, STRETCH // n)
        slots, spare = n, 0
        if afford < n:  # then a quarter of the memory, at most, is for rows in passing
            afford = max(least, (limit - min(limit // 8, WORKING_BYTES)) // row_bytes)
            self._part = min(self._part, 4 * TILE_ROWS, max(least // 2, afford // 4))
            slots, spare = afford, self._part
        self._cache = RowCache(slots, n, self.dtype, spare)
        self.working_space = max(limit - slots * row_bytes, limit // 8, LEAST_WORKING_BYTES)
        self._limit = limit
        self._tiles = self._cut(np.arange(n))
        if not kernel.symmetric:
            self._check_symmetric()

    def __reduce__(self) -> tuple[Any, ...]:
        return ComputedGram, (self.points.values, self.kernel, self._limit, self.dtype)

    @property
    def capacity(self) -> int:
        return self._cache.capacity

    @property
    def at_hand(self) -> int:
        return self._cache.count

    def fetch(self, index: np.ndarray, most: int = 0) -> HeldRows:
        return HeldRows(*self._cache.fetch(index, most, self._compute))

    def _where(self, index: np.ndarray) -> np.ndarray:
        return self._cache.where(index)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        rows, columns = np.asarray(rows), np.asarray(columns)
        result = np.empty((len(rows), len(columns)))
        held, where = self._cache.hold(rows)
        kept = where >= 0
        result[kept] = square(held, where[kept], columns)
        if not kept.all():
            self._evaluate(rows[~kept], self._cut(columns), result, np.flatnonzero(~kept))
        same = rows[:, None] == columns
        result[same] = np.broadcast_to(self.diagonal[columns], same.shape)[same]
        return result

    def fill(self, index: np.ndarray, room: np.ndarray) -> bool:
        if not (self.kernel.at_once and 0 < self.points.width <= NARROW):
            return False
        m = len(index)
        out, where = room[: m * m].reshape(m, m), np.arange(m)
        self._evaluate(index, self._cut(index), out, where)
        out[where, where] = self.diagonal[index]
        return True

    def has_room_for(self, matrices: int, n: int) -> bool:
        return matrices * n**2 * self.dtype.itemsize <= self._limit

    def restricted(self, rows: np.ndarray) -> Gram:
        return ComputedGram(self.points.take(rows), self.kernel, self._limit)

    def recomputes(self, coef: np.ndarray) -> bool:
        return bool((self._where(np.flatnonzero(coef.any(axis=0))) < 0).any())

    def _compute(self, index: np.ndarray, out: np.ndarray, where: np.ndarray) -> None:
        """Compute rows of K, into out[where]."""
        self._evaluate(index, self._tiles, out, where)
        out[where, index] = self.diagonal[index]

    def _cut(self, columns: np.ndarray) -> list[Points]:
        """Cut the points of these columns into tiles."""
        if len(columns) == self.n:  # a slice is a view
            starts = range(0, self.n, TILE_COLUMNS)
            return [self.points.take(slice(s, s + TILE_COLUMNS)) for s in starts]
        return [self.points.take(part) for part in split(columns, TILE_COLUMNS)]

    def _evaluate(
        self, index: np.ndarray, tiles: list[Points], out: np.ndarray, where: np.ndarray
    ) -> None:
        """Kernel values between some points and those of the tiles, into out[where], in order."""
        items, step = [], tile_rows(self.points, TILE_ROWS, 4 * TILE_ROWS)
        for start in range(0, len(index), step):
            part = slice(start, start + step)
            a = self.points.take(index[part])
            left = 0
            for b in tiles:
                items.append((a, b, out, where[part], left))
                left += len(b)
        run(self._evaluate_tile, items, self.kernel.parallel)

    def _evaluate_tile(
        self, a: Points, b: Points, out: np.ndarray, where: np.ndarray, left: int
    ) -> None:
        from resolvent.grams.panels import put  # here, because it imports Numba

        if out.dtype == self.dtype and self.kernel.put(a, b, out, where, left):
            return
        first, last = int(where[0]), int(where[-1])
        in_place = len(b) == out.shape[1] and last - first < len(where) and out.dtype == self.dtype
        tile = out[first : last + 1] if in_place else scratch(len(a), len(b), self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel.evaluate(a, b, tile)
            finite = self.kernel.bounded or np.isfinite(tile.sum()) or np.isfinite(tile).all()
        if not finite:
            raise ValueError(
                f"the kernel {self.kernel} is not finite in {self.dtype} on these data: "
                "scale the data, or use dtype='float64'."
            )
        if not in_place:
            put(tile, out, where, left)

    def _check_symmetric(self) -> None:
        """Compare a few values k(a, b) and k(b, a)."""
        index = np.unique(np.linspace(0, self.n - 1, 8).astype(np.int64))
        K = np.empty((len(index), len(index)), self.dtype)
        self._evaluate(index, self._cut(index), K, np.arange(len(index)))
        difference = np.abs(K - K.T)
        i, j = np.unravel_index(difference.argmax(), K.shape)
        if difference[i, j] > 1e-4 * np.abs(K).max():
            raise ValueError(
                f"the kernel {self.kernel} is not symmetric: for samples {index[i]} and {index[j]} "
                f"it is {K[i, j]:.9g}, in the other order {K[j, i]:.9g}."
            )
