"""Data frames of any library, seen through narwhals: pandas, polars, pyarrow and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["as_frame", "refuse_what_is_no_number", "series_as_floats"]


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Wrap a frame; None for what is none."""
    if isinstance(X, np.ndarray | list | tuple) or issparse(X):
        return None  # narwhals need not be imported for these
    import narwhals as nw

    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.NarwhalsError:  # two columns of one name: scikit-learn says so
        return None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame, which has no values yet: pass X.collect().")
    return frame if isinstance(frame, nw.DataFrame) else None


def refuse_what_is_no_number(X: Any) -> None:
    """Refuse a frame with words, dates or missing values, naming the column and a remedy.

    Parameters
    ----------
    X : object
        What was given to an estimator; what is no frame is left to scikit-learn's checks.
    """
    frame = as_frame(X)
    for column in () if frame is None else frame.iter_columns():
        name = column.name
        if why := _why_no_numbers(column):
            raise ValueError(f"Column {name!r} of X {why}")
        missing = int(column.is_null().sum())
        if column.dtype.is_float():
            missing += int(column.drop_nulls().is_nan().sum())
        if missing:
            raise ValueError(
                f"Input X contains NaN: column {name!r} has no value in {missing} of {len(column)} "
                "rows. Fill them in (sklearn.impute.SimpleImputer, in a pipeline), or leave out "
                "the column or these rows."
            )


def _why_no_numbers(column: nw.Series[Any]) -> str:
    """Say what a column holds if scikit-learn cannot or should not take it for numbers."""
    import narwhals as nw

    dtype = column.dtype
    if dtype.is_temporal():
        return (
            f"holds dates or times ({dtype}): turn it into the numbers that matter, such as days "
            "since a start, month or weekday, or leave it out."
        )
    if dtype.is_nested() or dtype == nw.Binary:
        return f"holds {dtype}: give each number a column of its own, or leave it out."
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        known = column.drop_nulls().head(1).to_list()
        if known and not _is_number(known[0]):
            return (
                f"holds words (the first is {str(known[0])[:40]!r}), where numbers are needed: "
                "encode it, for instance by sklearn.preprocessing.OneHotEncoder in a pipeline, or "
                "leave it out."
            )
    return ""


def series_as_floats(column: nw.Series[Any]) -> np.ndarray:
    """Numbers of a column, NaN where they are missing; ValueError if it holds others."""
    if why := _why_no_numbers(column):
        raise ValueError(f"{column.name!r} {why}")
    if column.dtype.is_numeric() or column.dtype.is_float():
        import narwhals as nw

        return np.array(column.cast(nw.Float64).to_numpy(), dtype=float)
    missing = column.is_null().to_list()
    return np.array(
        [
            np.nan if gone else float(value)
            for gone, value in zip(missing, column.to_list(), strict=True)
        ]
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
