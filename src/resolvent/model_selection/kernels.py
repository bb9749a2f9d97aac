"""Kernel matrices of a search: one for each gamma, for all folds, classes and C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from resolvent._threads import others_wait, run
from resolvent.grams import Gram, gram
from resolvent.grams.memory import parse_memory
from resolvent.grams.rows import TILE_COLUMNS, TILE_ROWS, StoredGram
from resolvent.kernels import RBF, Kernel, Linear, Points
from resolvent.kernels.exponential import exp_not_positive
from resolvent.kernels.rows import split


class Shared(ABC):
    """Makes what is shared at each gamma once, and drops it after its last use.

    Attributes
    ----------
    gammas : list
        The values, or what is in their place.
    workers : int
        How many threads may solve problems at a time.
    """

    def __init__(self, gammas: list[Any], workers: int) -> None:
        self.gammas, self.workers = gammas, workers
        self.left = [0] * len(gammas)
        self.made: dict[int, Any] = {}
        self.lock = Lock()

    @abstractmethod
    def _make(self, g: int, pause: Callable[[], None]) -> Any:
        """Make what is shared at gamma number g."""

    def _drop(self, g: int) -> None:
        """Forget what is shared at gamma number g."""
        self.made.pop(g, None)

    def of_fold(self, shared: Any, k: int, pause: Callable[[], None]) -> Gram:
        """Kernel matrix of all samples for fold number k."""
        return shared

    def have_room(self, size: int) -> bool:
        """Whether so many bytes more for each matrix in use are within the limit."""
        return False

    def expect(self, g: int, uses: int) -> None:
        """Say how often what is shared at gamma number g will be taken."""
        self.left[g] = uses

    def take(self, g: int, pause: Callable[[], None]) -> Any:
        """Take what is shared at gamma number g for one use.

        `pause` is called while it is made; what it raises ends that.
        """
        with self.lock:
            if g not in self.made:
                with others_wait():
                    self.made[g] = self._make(g, pause)
            return self.made[g]

    def give_back(self, g: int) -> None:
        """Say that one use of it is over."""
        with self.lock:
            self.left[g] -= 1
            if self.left[g] == 0:
                self._drop(g)


class SharedGrams(Shared):
    """Makes the kernel matrix of each gamma once and drops it after its last use.

    In the place of values of gamma there may be kernels, or the matrices themselves.

    Threads share them only where all of each matrix that is in use fits into memory. It is then
    computed at once, so that results do not depend on which thread needs a row first. Otherwise
    threads would take each other's rows away: problems are solved one at a time (`workers` is 1),
    and all threads compute the rows of each.

    Parameters
    ----------
    X : array-like
        The samples; the matrix itself if the kernel is precomputed.
    make_kernel : callable
        The kernel of a gamma; None if it is precomputed.
    gammas : list
        The values, or kernels, or kernel matrices of X.
    memory_limit : int, str or None
        For kernel matrices, and for the squared distances that they have in common if these fit.
    dtype : {None, "float32", "float64"}
        Precision; None is that of X.
    workers : int
        How many threads there are.
    """

    def __init__(
        self,
        X: Any,
        make_kernel: Callable[[Any], Kernel | None],
        gammas: list[Any],
        memory_limit: Any,
        dtype: Any,
        workers: int,
    ) -> None:
        super().__init__(gammas, workers)
        self.X, self.make_kernel, self.dtype = X, make_kernel, dtype
        # Memory of matrices that were made, and that of those dropped, which the next ones fill
        # again: the first touch of fresh memory takes many times as long as they do.
        self.rooms: dict[int, np.ndarray] = {}
        self.spare: list[np.ndarray] = []
        self.limit = parse_memory(memory_limit)
        self.largest = max(gammas) if isinstance(gammas[0], float) else gammas[0]
        self.distances: np.ndarray | None = None
        self.live = min(workers, len(gammas))
        kernel: Kernel | None = make_kernel(self.largest)
        if kernel is not None and not isinstance(kernel, Linear):
            self._plan(kernel)

    def _drop(self, g: int) -> None:
        super()._drop(g)
        if g in self.rooms:
            self.spare.append(self.rooms.pop(g))

    def have_room(self, size: int) -> bool:
        """Whether so many bytes more for each matrix in use are within the limit."""
        return self.distances is not None and (
            (1 + self.live) * self.distances.nbytes + self.live * size <= self.limit
        )

    def _make(self, g: int, pause: Callable[[], None]) -> Gram:
        kernel = self.make_kernel(self.gammas[g])
        if self.distances is not None:
            self.rooms[g] = self.spare.pop() if self.spare else np.empty_like(self.distances)
            return _exponential(self.distances, self.gammas[g] / self.largest, self.rooms[g])
        made = gram(
            self.gammas[g] if isinstance(self.gammas[g], np.ndarray) else self.X,
            "precomputed" if kernel is None else kernel,
            memory_limit=max(1, self.limit // self.live),
            dtype=None if kernel is None else self.dtype,
        )
        if made.rows is not None and made.rows.capacity == made.n:
            for rows in split(np.arange(made.n), TILE_COLUMNS):
                pause()
                made.rows.fetch(rows)
        return made

    def _plan(self, kernel: Kernel) -> None:
        """Decide what is kept of matrices and, by what fits, how many threads share them.

        What is kept is the same for any number of threads.
        """
        points = Points(self.X, self.dtype, numeric=kernel.numeric)
        matrix = len(points) ** 2 * points.dtype.itemsize
        shares = len(self.gammas) > 1 and isinstance(self.largest, float)
        shares = shares and isinstance(kernel, RBF) and 2 * matrix <= self.limit
        if (self.live + shares) * matrix > self.limit:
            self.workers = self.live = 1
        if shares:
            self._share_distances(points)

    def _share_distances(self, points: Points) -> None:
        """Compute all squared distances, times the largest gamma."""
        n = len(points)
        self.distances = np.empty((n, n), points.dtype)

        def fill(rows: slice, columns: slice) -> None:
            assert self.distances is not None
            with np.errstate(over="ignore", invalid="ignore"):
                tile = points.take(rows).sq_distances(points.take(columns), scale=self.largest)
            self.distances[rows, columns] = tile
            if rows != columns:
                self.distances[columns, rows] = tile.T

        run(fill, _tiles(n, TILE_COLUMNS // 4, lower=True), parallel=True)
        np.fill_diagonal(self.distances, 0.0)
        if not np.isfinite(self.distances).all():
            self.distances = None  # the kernel's own way says what is wrong


def _exponential(distances: np.ndarray, factor: float, matrix: np.ndarray) -> StoredGram:
    """Make the matrix exp(-factor D) of given distances, in memory that is given too."""

    def fill(start: int) -> None:
        rows = matrix[start : start + TILE_ROWS]
        np.multiply(distances[start : start + TILE_ROWS], -factor, out=rows)
        exp_not_positive(rows)

    run(fill, [(start,) for start in range(0, len(matrix), TILE_ROWS)], parallel=True)
    return StoredGram(matrix, np.ones(len(matrix)))


def _tiles(n: int, size: int, lower: bool = False) -> list[tuple[slice, slice]]:
    """Cut an n x n matrix into tiles; of a symmetric one only those on and below the diagonal."""
    starts = range(0, n, size)
    return [
        (slice(r, r + size), slice(c, c + size))
        for r in starts
        for c in starts
        if not lower or c <= r
    ]
