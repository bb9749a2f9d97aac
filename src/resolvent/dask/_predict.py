"""Predictions of a model for rows that are elsewhere: computed where they are, when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._threads import one_blas_thread
from resolvent.dask._data import parts_of
from resolvent.dask._tasks import as_block

__all__ = ["lazily", "predict_rows"]


def predict_rows(X: Any, model: Any, method: str) -> np.ndarray:
    """Predict the rows of one block, of which there may be none."""
    if not hasattr(X, "columns"):
        X = as_block(X, None, None, "a block of X").X
    none = X.shape[0] == 0
    if none:
        X = X.reindex([0]).fillna(0.0) if hasattr(X, "columns") else np.zeros((1, X.shape[1]))
    with one_blas_thread():
        result: np.ndarray = getattr(model, method)(X)
    return result[:0] if none else result


def predict_frame(X: Any, model: Any, method: str, columns: list[Any] | None) -> Any:
    """Predict the rows of a pandas frame: a series, or a frame with these columns."""
    import pandas as pd

    result = predict_rows(X, model, method)
    if columns is None:
        return pd.Series(result, index=X.index)
    return pd.DataFrame(result, index=X.index, columns=columns)


def predict_block(source: Any, i: int, model: Any, method: str) -> np.ndarray:
    """Predict the rows of a block of a source."""
    return predict_rows(source.load(i).X, model, method)


def lazily(model: Any, method: str, X: Any, like: np.ndarray, columns: list[Any]) -> Any:
    """Ask for predictions: a collection of the kind of X that computes them.

    Parameters
    ----------
    model : estimator
        An ordinary one, fitted.
    method : str
        Its method.
    X : as `parts_of` takes it
        Rows.
    like : ndarray
        Predictions of no rows, for their type and width.
    columns : list
        Names of the columns of predictions, where those of a frame are a frame.
    """
    import dask
    import dask.array as da

    held = dask.delayed(model, pure=False)
    many = like.ndim == 2
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        import pandas as pd

        names = columns if many else None
        meta = pd.DataFrame(like, columns=names) if many else pd.Series(like)
        return X.map_partitions(predict_frame, held, method, names, meta=meta)
    if isinstance(X, da.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        width = {"chunks": (X.chunks[0], (like.shape[1],))} if many else {"drop_axis": 1}
        return X.map_blocks(predict_rows, held, method, dtype=like.dtype, meta=like, **width)
    parts = parts_of(X)
    if parts.source is None:
        one = dask.delayed(predict_rows, pure=False)
        return [one(part, held, method) for part in parts.X]
    one, source = dask.delayed(predict_block, pure=False), dask.delayed(parts.source, pure=False)
    pieces = [one(source, i, held, method) for i in range(parts.source.n_blocks)]
    shape = (np.nan, *like.shape[1:])
    return da.concatenate([da.from_delayed(p, shape, dtype=like.dtype, meta=like) for p in pieces])
