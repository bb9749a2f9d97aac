"""Searches that go on beyond the edges of their grids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent.model_selection.search import Table
from resolvent.problem import Array

__all__ = ["Beyond", "beyond", "join"]

STEPS = 3  # values beyond an edge at a time, as far apart as those at the edge
MOST = 30  # values beyond an edge in all
FEWEST = 3  # values from which on a grid has more than edges
LEAST = 1e-4  # gain of the edge over the value next to it, relative to the score, to go on for


class Beyond(NamedTuple):
    """What lies beyond an edge of a grid, along gamma (axis 0) or C (axis 1)."""

    axis: int
    below: bool
    gammas: list[Any]
    Cs: Array


def beyond(
    cell: tuple[int, int], means: Array, gammas: list[Any], Cs: Array, room: dict[int, int]
) -> Any:
    """Give the part of the plane beyond the edge that a cell is at; None if there is none.

    Parameters
    ----------
    cell : tuple of int
        Numbers of the gamma and the C that are chosen.
    means : ndarray
        Mean score of each pair.
    gammas, Cs : list and ndarray
        The grid, increasing.
    room : dict
        How many values more either axis may get; it is counted down.
    """
    for axis, grid in ((0, gammas), (1, Cs)):
        at, last = cell[axis], len(grid) - 1
        if at not in (0, last) or last + 1 < FEWEST or not isinstance(grid[0], float):
            continue
        inside = list(cell)
        inside[axis] += 1 if at == 0 else -1
        best, other = means[cell], means[tuple(inside)]
        if room[axis] <= 0 or best - other <= LEAST * abs(best):
            continue
        room[axis] -= STEPS
        edge, next_to_it = (grid[0], grid[1]) if at == 0 else (grid[-1], grid[-2])
        new = edge * (edge / next_to_it) ** np.arange(1.0, STEPS + 1.0)
        new = np.sort(new[(new > 0.0) & np.isfinite(new)])
        if len(new):
            return Beyond(axis, at == 0, *((gammas, new) if axis == 1 else (new.tolist(), Cs)))
    return None


def join(table: Table, part: Table, where: Beyond) -> Table:
    """Put the cells of a part beside those that are known."""
    first, second = (part, table) if where.below else (table, part)

    def both(one: Any, other: Any) -> Any:
        return np.concatenate([one, other], axis=where.axis)

    shift = first.scores.shape[where.axis]
    moved = {
        (g + shift * (where.axis == 0), i + shift * (where.axis == 1)): start
        for (g, i), start in second.starts.items()
    }
    return Table(
        both(first.scores, second.scores),
        both(first.gaps, second.gaps),
        both(first.reached, second.reached),
        first.starts | moved,
    )
