"""Rows of K at work: chunks of coordinates to sweep, and the products that update scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent._costs import worth_threads
from resolvent._threads import run
from resolvent.grams.base import Chunk, read_only

__all__ = ["CHUNK", "HeldRows", "RowChunk", "RowPanel", "add_product", "add_rows", "square"]

CHUNK = 256  # coordinates whose updates go to all scores together
TILE = 1 << 19  # elements of rows that one thread takes at a time
GATHERED = 1 << 15  # elements that it gathers at a time: it waits for memory at each line of them


class HeldRows(NamedTuple):
    """Rows of K, which stay as they are while `values` or a view of it is referenced.

    In compiled loops see `row_of` and `has_row` of :mod:`resolvent.grams.panels`.
    """

    values: np.ndarray
    slot: np.ndarray  # where in them the row of a coordinate is, -1 if it is not held

    def has(self, index: Any) -> Any:
        """Whether the rows of some coordinates are held."""
        return self.slot[index] >= 0

    def square(self, index: np.ndarray) -> np.ndarray:
        """K on some coordinates, whose rows are held, as a new array."""
        return square(self.values, self.slot[index], index)

    def add_to(self, z: np.ndarray, coef: np.ndarray, index: np.ndarray) -> None:
        """Add to scores z what coefficients of some coordinates, whose rows are held, make."""
        add_rows(z, coef, self.values, self.slot[index])


class RowPanel(NamedTuple):
    """K on some coordinates; the state is z = K c on the same.

    Parameters
    ----------
    K : ndarray of shape (r, r)
        The matrix, float32 or float64.
    place : ndarray of shape (n,), int64
        Where in it a coordinate is.
    """

    K: np.ndarray
    place: np.ndarray

    def dot(self, state: Any, i: int) -> Any:
        return state[self.place[i]]

    def axpy(self, state: Any, i: int, h: float) -> None:
        row = self.K[self.place[i]]
        for j in range(row.size):
            state[j] += h * row[j]


class RowChunk(Chunk):
    """Some coordinates, whose own scores are brought up to date at once and all others at the end.

    The updates are the same, but most of the work is one product, on all cores, that goes through
    the scores once for many rows.
    """

    def __init__(self, part: np.ndarray, held: HeldRows, place: np.ndarray) -> None:
        self.which = np.unique(part)  # an order may visit a coordinate twice
        self.rows, self.where = held.values, held.slot[self.which]
        K = held.square(self.which)
        place[self.which] = np.arange(len(self.which))
        super().__init__(part, RowPanel(read_only(K), read_only(place)), len(K))

    def enter(self, coef: np.ndarray, states: np.ndarray) -> np.ndarray:
        self.before = coef[:, self.which]
        return states[:, self.which]

    def leave(self, coef: np.ndarray, states: np.ndarray) -> None:
        moves = coef[:, self.which] - self.before
        moved = np.flatnonzero(moves.any(axis=0))
        if len(moved):
            add_product(states, moves[:, moved], self.rows, self.where[moved])

    def release(self) -> None:
        """Give up the rows, now that others are to come."""
        del self.rows


def square(rows: np.ndarray, where: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K on some coordinates, from its rows."""
    from resolvent.grams.panels import gather  # here, because it imports Numba

    result = np.empty((len(where), len(columns)), rows.dtype)
    step = max(1, GATHERED // max(1, len(columns)))
    parts = (slice(s, s + step) for s in range(0, len(where), step))
    run(gather, [(rows, where[p], columns, result[p]) for p in parts], parallel=True)
    return result


def add_product(result: np.ndarray, coef: np.ndarray, rows: np.ndarray, where: np.ndarray) -> None:
    """Add coef @ rows[where] to the result, in float64, by tiles."""
    if len(coef) == 1:
        add_rows(result[0], coef[0], rows, where)
        return
    low, high = int(where.min()), int(where.max()) + 1
    consecutive = high - low <= 2 * len(where)
    index: Any = where
    if consecutive:
        # Nearly so: zeros for the rows between cost less than a copy of the others.
        spread = np.zeros((len(coef), high - low))
        spread[:, where - low] = coef
        coef, index = spread, slice(low, high)

    def add(start: int, stop: int) -> None:
        result[:, start:stop] += coef @ rows[index, start:stop].astype(np.float64, copy=False)

    step = max(64, TILE // (high - low if consecutive else len(where)))
    run(add, [(s, s + step) for s in range(0, rows.shape[1], step)], parallel=True)


def add_rows(z: np.ndarray, coef: np.ndarray, rows: np.ndarray, where: np.ndarray) -> None:
    """Add coef @ rows[where] to the vector z, in float64, without a copy of the rows.

    Each thread has a part of the columns, so that the result does not depend on their number.
    """
    from resolvent.grams.panels import add_rows_part  # here, because it imports Numba

    if not worth_threads(len(coef) * len(z)):
        add_rows_part(rows, where, coef, z, 0, len(z))
        return
    step = max(1024, -(-len(z) // 4))
    parts = [(rows, where, coef, z, s, min(s + step, len(z))) for s in range(0, len(z), step)]
    run(add_rows_part, parts, parallel=True)
