"""What the command line has to know of a table on a cluster before it fits."""

from __future__ import annotations

from typing import Any

from resolvent.blocks import Source, tables
from resolvent.dask._data import groups_of, parts_of
from resolvent.dask._engine import Course, client_of

__all__ = ["look_at"]


def look_at(
    source: Source, names: list[str], scale: str, client: Any, timeout: float
) -> tables.Seen:
    """Learn how to scale the columns of a table, and what its target is.

    Parameters
    ----------
    source : Source
        The table, which workers can read.
    names : list of str
        Names of its columns.
    scale : {"standard", "minmax", "none"}
        How to scale them.
    client : distributed.Client
        The cluster.
    timeout : float
        Seconds without a worker, or without progress, after which to give up.
    """
    reducer = groups_of(Course(client_of(client), timeout), parts_of(source))
    try:
        return tables.look_at(reducer, names, scale)
    finally:
        reducer.release()
