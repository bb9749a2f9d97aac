"""Compiled loops over rows of K that know nothing of a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._jit import plain

__all__ = ["add_rows_part", "gather"]


@plain
def add_rows_part(
    rows: Any, where: Any, coef: np.ndarray, z: np.ndarray, start: int, stop: int
) -> None:
    """Add coef @ rows[where] to the part of z from `start` to `stop`.

    Four rows at a time, so that z is read and written a quarter as often.
    """
    count = len(where)
    for p in range(0, count - 3, 4):
        a, b, c, d = rows[where[p]], rows[where[p + 1]], rows[where[p + 2]], rows[where[p + 3]]
        h, i, j, k = coef[p], coef[p + 1], coef[p + 2], coef[p + 3]
        for q in range(start, stop):
            z[q] += h * a[q] + i * b[q] + j * c[q] + k * d[q]
    for p in range(count - count % 4, count):
        h, a = coef[p], rows[where[p]]
        for q in range(start, stop):
            z[q] += h * a[q]


@plain
def gather(rows: Any, where: Any, columns: Any, out: np.ndarray) -> None:
    """Copy a block of K so that it lies together in the cache."""
    for p in range(len(where)):
        row = rows[where[p]]
        for q in range(len(columns)):
            out[p, q] = row[columns[q]]
