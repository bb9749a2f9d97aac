"""Compiled loops over rows of K that know nothing of a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._jit import inner, plain
from resolvent.grams.features import product

__all__ = [
    "add_held_rows",
    "add_products",
    "add_rows_part",
    "add_scores",
    "gather",
    "has_row",
    "put",
    "row_of",
]


@inner
def has_row(held: Any, i: int) -> bool:
    """Whether the row of a coordinate is held."""
    return held.slot[i] >= 0


@inner
def row_of(held: Any, i: int) -> Any:
    """Row of a coordinate, which is held."""
    return held.values[held.slot[i]]


@inner
def add_held_rows(held: Any, index: Any, coef: np.ndarray, z: np.ndarray) -> None:
    """Add to scores z what coefficients of some coordinates, whose rows are held, make."""
    add_rows_part(held.values, held.slot[index], coef, z, 0, len(z))


@plain
def add_rows_part(
    rows: Any, where: Any, coef: np.ndarray, z: np.ndarray, start: int, stop: int
) -> None:
    """Add coef @ rows[where] to the part of z from `start` to `stop`.

    Four rows at a time, so that z is read and written a quarter as often.
    """
    count, part = len(where), z[start:stop]
    for p in range(0, count - 3, 4):
        # Slices from 0 on: of other ranges the compiler would not know that they are not negative.
        a, b = rows[where[p]][start:stop], rows[where[p + 1]][start:stop]
        c, d = rows[where[p + 2]][start:stop], rows[where[p + 3]][start:stop]
        h, i, j, k = coef[p], coef[p + 1], coef[p + 2], coef[p + 3]
        for q in range(part.size):
            part[q] += h * a[q] + i * b[q] + j * c[q] + k * d[q]
    for p in range(count - count % 4, count):
        h, a = coef[p], rows[where[p]][start:stop]
        for q in range(part.size):
            part[q] += h * a[q]


@plain
def gather(rows: Any, where: Any, columns: Any, out: Any) -> None:
    """Copy the columns of the rows `where`."""
    for p in range(len(where)):
        source, target = rows[where[p]], out[p]
        for q in range(len(columns)):
            target[q] = source[columns[q]]


@plain
def put(tile: Any, out: Any, where: Any, left: int) -> None:
    """Write the rows of a tile to the rows `where` of `out`, from the column `left` on."""
    for p in range(len(where)):
        source, target = tile[p], out[where[p]][left : left + tile.shape[1]]
        for q in range(target.size):
            target[q] = source[q]


@plain
def add_scores(tile: Any, coef: np.ndarray, scores: np.ndarray, start: int, column: int) -> None:
    """Add tile @ coef to a column of scores, from the row `start` on, without a copy in float64."""
    for p in range(len(tile)):
        scores[start + p, column] += product(tile[p], coef)


def add_products(tile: np.ndarray, coef: np.ndarray, scores: np.ndarray, start: int) -> None:
    """Add tile @ coef to scores of shape (n, m), from the row `start` on.

    Of one column without a copy of the tile in double precision; for several that is worth it.
    """
    if coef.shape[1] == 1:
        add_scores(tile, np.ascontiguousarray(coef[:, 0]), scores, start, 0)
    else:
        scores[start : start + len(tile)] += tile @ coef
