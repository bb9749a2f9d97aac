"""From Dask collections, delayed objects and files to groups of blocks on the workers."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from resolvent.blocks import Source, as_source
from resolvent.dask._engine import GROUPS, Course, DaskReducer, workers_of
from resolvent.dask._tasks import load, read

__all__ = ["Parts", "groups_of", "is_lazy", "parts_of"]

LARGE_SOURCE = 1 << 20  # bytes of a source that is sent with each task


class Parts(NamedTuple):
    """Blocks before they are loaded: delayed parts of X, y and weights, or a source."""

    X: list[Any]
    y: list[Any]
    weight: list[Any]
    places: list[str]
    names: Any = None  # of features
    source: Source | None = None


def is_lazy(X: Any) -> bool:
    """Whether X is of Dask, a source, or the name of files."""
    from dask import is_dask_collection

    if isinstance(X, list):
        return bool(X) and (is_dask_collection(X[0]) or isinstance(X[0], str | Path))
    return isinstance(X, Source | str | Path) or is_dask_collection(X)


def parts_of(X: Any, y: Any = None, sample_weight: Any = None) -> Parts:
    """Split the arguments of fit by rows.

    Parameters
    ----------
    X : dask array, dask dataframe, list of delayed objects, Source, path or list of paths
        Features.
    y, sample_weight : as X, or names of columns of Parquet files, or None
        Targets and weights, split as X is.
    """
    if not is_lazy(X):
        raise TypeError(
            f"X is of type {type(X).__name__}, which is in this process: pass a dask array "
            "(dask.array.from_array(X, chunks=(rows, -1))), a dask dataframe, a list of delayed "
            "objects, Parquet files or a resolvent.blocks.Source, or use the estimator without "
            "Dask in its name."
        )
    if isinstance(X, Source | str | Path) or (isinstance(X, list) and isinstance(X[0], str | Path)):
        return _of_source(as_source(X, y, sample_weight))
    names = np.asarray(X.columns, dtype=object) if hasattr(X, "columns") else None
    rows = _row_chunks(X)
    parts = _split(X, rows, "X")
    others = []
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        split = [None] * len(parts) if given is None else _split(given, rows, name)
        if len(split) != len(parts):
            raise ValueError(
                f"X has {len(parts)} blocks of rows and {name} {len(split)}: split them alike "
                "(rechunk or repartition), or call compute_chunk_sizes() so that lengths are known."
            )
        others.append(split)
    if not parts:
        raise ValueError("X has no blocks.")
    if rows is None:
        places = [f"block {i} of X" for i in range(len(parts))]
    else:
        ends = np.cumsum([0, *rows]).tolist()
        places = [f"block {i} of X, rows {ends[i]} to {ends[i + 1] - 1}" for i in range(len(parts))]
    return Parts(parts, others[0], others[1], places, names)


def _of_source(source: Source) -> Parts:
    if len(pickle.dumps(source)) > LARGE_SOURCE:
        raise TypeError(
            "X is a source whose data are in this process: workers need one that they can read, "
            "such as Parquet files, or a dask array."
        )
    places = [source.place(i) for i in range(source.n_blocks)]
    return Parts([], [], [], places, getattr(source, "names", None), source)


def _row_chunks(X: Any) -> tuple[int, ...] | None:
    """Lengths of the blocks of an array, if they are known."""
    chunks = getattr(X, "chunks", None)
    if chunks is None or any(np.isnan(n) for n in chunks[0]):
        return None
    return tuple(int(n) for n in chunks[0])


def _split(X: Any, rows: tuple[int, ...] | None, name: str) -> list[Any]:
    """Delayed parts of a collection, by rows."""
    from dask import is_dask_collection

    if isinstance(X, list | tuple):
        return list(X)
    if not is_dask_collection(X):
        raise TypeError(
            f"{name} is of type {type(X).__name__} where X is of Dask: pass both as Dask "
            "collections, split by rows alike."
        )
    if hasattr(X, "rechunk"):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        known = _row_chunks(X)
        if rows is not None and known is not None and known != rows:
            if sum(known) != sum(rows):
                raise ValueError(f"X has {sum(rows)} rows and {name} {sum(known)}.")
            X = X.rechunk({0: rows})
    elif not hasattr(X, "npartitions"):
        return [X]  # one delayed object
    return list(np.ravel(X.to_delayed()))


def groups_of(course: Course, parts: Parts) -> DaskReducer:
    """Load blocks on the workers: a task for each group of them."""
    import dask

    start, client = perf_counter(), course.client
    threads = workers_of(client, course.timeout)
    n, level = len(parts.places), 0
    while n >> (level + 1) >= GROUPS * sum(threads):
        level += 1
    ranges = [range(i, min(i + (1 << level), n)) for i in range(0, n, 1 << level)]
    token = uuid4().hex
    keys = [(f"resolvent-load-{token}", g) for g in range(len(ranges))]
    if parts.source is not None:
        count = len(ranges)
        futures = client.map(read, [parts.source] * count, ranges, key=keys, pure=False)
    else:
        make = dask.delayed(load, pure=False, traverse=True)
        tasks = [
            make(
                *(_some(column, here) for column in (parts.X, parts.y, parts.weight, parts.places)),
                dask_key_name=key,
            )
            for here, key in zip(ranges, keys, strict=True)
        ]
        futures = client.compute(tasks)
    reducer = DaskReducer(course, list(futures), level, parts.places, max(threads))
    reducer.wait(reducer.groups)
    stage = course.stage("load")
    stage.passes, stage.tasks, stage.seconds = 1, len(ranges), perf_counter() - start
    return reducer


def _some(column: Sequence[Any], here: range) -> list[Any]:
    return [column[i] for i in here]
