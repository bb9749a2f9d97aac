"""Exact kernel machines on a cluster: a kernel matrix whose tiles are held by the workers.

The paper's fixed point sees K through products with it alone, so that it is the ordinary solver
that runs on the client, with its acceleration, offset, certificate, limits and interrupts. Only the
product is elsewhere: out go the coefficients, 8 bytes for each row, and the scores come back. The
rows of each block have their tile, K of all rows and theirs. Tiles are computed once and stay with
the workers as far as half of their memory goes; what does not fit is computed again for each
product, for the rows whose coefficients are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy import sparse

from resolvent._clock import Clock
from resolvent.blocks import Block
from resolvent.blocks.landmarks import Listed, Rows, counts
from resolvent.blocks.reduce import OutOfTimeError
from resolvent.dask._engine import ClusterError, DaskReducer
from resolvent.dask._tasks import Group
from resolvent.grams import Gram
from resolvent.grams.chunks import add_product
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel

__all__ = ["ClusterGram", "RowsOnCluster", "targets_of"]

SHARE = 0.5  # of the workers' memory that tiles may take
WORKING_SPACE = 1 << 30  # bytes on the client, for Newton steps on free coordinates
WIDE = 2048  # rows with coefficients whose values are computed at a time


# ---- targets, which come to the client, and rows, which do not ----------------------------------


class Targets(NamedTuple):
    """Targets and weights of blocks, one after another."""

    y: np.ndarray
    weight: np.ndarray

    def merge(self, other: Targets) -> Targets:
        """Append those of later blocks."""
        return Targets(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def targets_of(reducer: DaskReducer) -> Targets:
    """Targets and weights of all rows."""
    found: Targets = reducer.sum(targets)
    return found


def targets(block: Block) -> Targets:
    """Targets and weights of a block."""
    weight = np.ones(len(block)) if block.weight is None else np.asarray(block.weight, float)
    return Targets(np.asarray(block.y), weight)


class RowsOnCluster:
    """The rows whose weight is not zero, as an array of which some can be had.

    Parameters
    ----------
    reducer : DaskReducer
        The blocks.
    features : int
        Number of columns.
    """

    def __init__(self, reducer: DaskReducer, features: int) -> None:
        self.reducer = reducer.transformed(used_rows)
        found = self.reducer.sum(counts, each=list(range(reducer.n_blocks))).values
        sizes = np.zeros(reducer.n_blocks, np.intp)
        sizes[found[:, 0]] = found[:, 1]
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.shape = int(sizes.sum()), features

    def __getitem__(self, index: np.ndarray) -> Any:
        """Rows by their numbers, in that order."""
        order = np.argsort(index, kind="stable")
        block = np.searchsorted(self.ends, index[order], side="right")
        each = [index[order][block == i] - start for i, start in enumerate(self.starts.tolist())]
        back = np.empty(len(index), np.intp)
        back[order] = np.arange(len(index))
        return self.reducer.sum(some_rows, each=each).X[back]


def used_rows(block: Block) -> Block:
    """Leave the rows whose weight is not zero, without targets."""
    if block.weight is None:
        return Block(block.X)
    kept = np.flatnonzero(block.weight)
    return Block(block.X[kept], None, np.asarray(block.weight, float)[kept])


def some_rows(block: Block, index: np.ndarray) -> Rows:
    """Take rows of a block."""
    return Rows(block.X[index], index)


def all_rows(groups: Sequence[Group]) -> Any:
    """Put the rows of all groups together."""
    parts = [block.X for group in groups for block in group.blocks if len(block)]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


# ---- the matrix ---------------------------------------------------------------------------------


class ClusterGram(Gram):
    """Kernel matrix of rows on a cluster.

    Parameters
    ----------
    rows : RowsOnCluster
        The rows.
    kernel : Kernel
        The kernel.
    clock : Clock
        Where the time is over before the tiles are computed there is no product: see `is_ready`.
    held : list of DaskReducer
        What is to be released.

    Attributes
    ----------
    error : ClusterError or None
        Why products have ended. Solvers see an interrupt, at which they hand out what they have.
    is_ready : bool
        Whether the tiles were computed in time.
    """

    scores_at_hand = is_elsewhere = True
    working_space = WORKING_SPACE

    def __init__(
        self, rows: RowsOnCluster, kernel: Kernel, clock: Clock, held: list[DaskReducer]
    ) -> None:
        reducer = rows.reducer
        self.kernel, self.starts = kernel, rows.starts
        self.error: ClusterError | None = None
        self.n = self.row_cost = rows.shape[0]
        found = reducer.sum(diagonals, kernel)
        self.diagonal, self.dtype = found.values, found.dtype
        self.noise = float(np.finfo(self.dtype).eps)
        client = reducer.course.client
        key = f"resolvent-rows-{uuid4().hex}"
        self.everything = client.submit(all_rows, reducer.groups, key=key, pure=False)
        self.is_ready = True
        kept = self._kept(reducer, rows)
        each = list(zip(self.starts.tolist(), kept, strict=True))
        try:
            self.reducer = reducer.transformed(
                tiles, kernel, each=each, beside=self.everything, is_over=clock.is_over
            )
        except OutOfTimeError:
            self.reducer, self.is_ready = reducer, False
            return
        held.append(self.reducer)
        if all(kept):
            self.everything = None

    def _kept(self, reducer: DaskReducer, rows: RowsOnCluster) -> list[bool]:
        """Whether the tile of each block is kept: the first ones of each group, if not all."""
        client = reducer.course.client
        limits = [w["memory_limit"] for w in client.scheduler_info()["workers"].values()]
        if not all(limits):
            return [True] * reducer.n_blocks  # workers without a limit
        room = SHARE * float(np.mean(limits)) * len(client.nthreads()) / len(reducer.groups)
        sizes = (float(self.n) * self.dtype.itemsize * (rows.ends - rows.starts)).tolist()
        kept: list[bool] = []
        for g in range(len(reducer.groups)):
            kept += (np.cumsum(reducer.of_group(g, sizes)) <= room).tolist()
        return kept

    def state(self, coef: np.ndarray) -> np.ndarray:
        coef = np.asarray(coef, np.float64)
        support = np.flatnonzero(coef.any(axis=0))
        if len(support) == 0:
            return np.zeros((len(coef), self.n))
        given = (support, np.ascontiguousarray(coef[:, support]))
        return np.ascontiguousarray(self._sum(product, *given).T)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        order = np.argsort(rows, kind="stable")
        result = np.empty((len(rows), len(columns)))
        if result.size:
            result[order] = self._sum(submatrix, rows[order], columns)
        return result

    def _sum(self, function: Any, *args: Any) -> np.ndarray:
        """Apply a function to all blocks; an error of the cluster ends the solver."""
        if self.error is not None:
            raise KeyboardInterrupt
        starts = self.starts.tolist()
        try:
            found: Listed = self.reducer.sum(
                function, self.kernel, *args, each=starts, beside=self.everything
            )
        except ClusterError as error:
            self.error = error
            raise KeyboardInterrupt from error
        return found.values

    def recomputes(self, coef: np.ndarray) -> bool:
        return self.error is not None

    def scores(self, state: np.ndarray) -> np.ndarray:
        return state

    def chunks(self, order: np.ndarray) -> Any:
        raise TypeError("rows of a matrix on a cluster are not at hand: solver='fixed_point'")

    def restricted(self, rows: np.ndarray) -> Gram:
        raise TypeError("a matrix on a cluster is one of all its rows")


class Diagonal(NamedTuple):
    """Values k(x_i, x_i) of blocks, one after another, and the precision of others."""

    values: np.ndarray
    dtype: Any

    def merge(self, other: Diagonal) -> Diagonal:
        """Append those of later blocks."""
        both = np.concatenate([self.values, other.values])
        return Diagonal(both, np.promote_types(self.dtype, other.dtype))


def diagonals(block: Block, kernel: Kernel) -> Diagonal:
    """Diagonal of K on a block."""
    values = values_of(block.X, kernel)
    return Diagonal(values.diagonal, values.dtype)


def tiles(block: Block, kernel: Kernel, where: tuple[int, bool], everything: Any) -> Block:
    """Compute K of all rows and those of a block, if it is to be kept, in the place of targets."""
    start, is_kept = where
    if not is_kept:
        return block
    values = values_of(everything, kernel)
    own = np.arange(start, start + len(block))
    tile = np.empty((values.n, len(own)), values.dtype)

    def put(row: int, part: np.ndarray) -> None:
        tile[row : row + len(part)] = part

    values.each_tile(np.arange(values.n), values.take(own), put, lambda: False)
    tile[own, own - start] = values.diagonal[own]
    return Block(block.X, tile.T, block.weight)


def product(
    block: Block,
    kernel: Kernel,
    support: np.ndarray,
    coef: np.ndarray,
    start: int,
    everything: Any = None,
) -> Listed:
    """Scores (n, m) of a block, of coefficients (m, s) of the rows `support`."""
    result = np.zeros((len(coef), len(block)))
    if block.y is not None:
        add_product(result, coef, block.y.T, support)
        return Listed(result.T)
    for at in range(0, len(support), WIDE):
        here = slice(at, at + WIDE)
        for row, part in _computed(block, kernel, start, support[here], everything):
            result[:, row : row + len(part)] += coef[:, here] @ part.T
    return Listed(result.T)


def submatrix(
    block: Block,
    kernel: Kernel,
    rows: np.ndarray,
    columns: np.ndarray,
    start: int,
    everything: Any = None,
) -> Listed:
    """Values of K of the rows of a block among `rows`, which are in order, and `columns`."""
    inside = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(block))] - start
    if block.y is not None:
        return Listed(block.y[np.ix_(inside, columns)].astype(np.float64))
    found = np.empty((len(block), len(columns)))
    for row, part in _computed(block, kernel, start, columns, everything):
        found[row : row + len(part)] = part
    return Listed(found[inside])


def _computed(
    block: Block, kernel: Kernel, start: int, columns: np.ndarray, everything: Any
) -> list[tuple[int, np.ndarray]]:
    """K of the rows of a block and some columns, by tiles of rows."""
    values = values_of(everything, kernel)
    own = np.arange(start, start + len(block))
    found: list[tuple[int, np.ndarray]] = []

    def keep(row: int, part: np.ndarray) -> None:
        i = np.arange(start + row, start + row + len(part))
        same = np.equal.outer(i, columns)
        part[same] = np.broadcast_to(values.diagonal[i][:, None], part.shape)[same]
        found.append((row, part.copy()))

    values.each_tile(own, values.take(columns), keep, lambda: False)
    return found
