"""Data frames of any library, seen through narwhals: pandas, polars, pyarrow and others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["ColumnEncoding", "as_frame", "refuse_what_is_no_number", "series_as_floats"]


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
        _refuse_no_numbers(column)


def _refuse_no_numbers(column: nw.Series[Any], words: str = "") -> None:
    """Refuse one column; `words` is what else may be done with words."""
    name = column.name
    if why := _why_no_numbers(column, words):
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


def _why_no_numbers(column: nw.Series[Any], words: str = "") -> str:
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
                + (
                    words
                    or "encode it, for instance by sklearn.preprocessing.OneHotEncoder in a "
                    "pipeline, or leave it out."
                )
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


Category = str | float | None


@dataclass(frozen=True)
class ColumnEncoding:
    """How columns of a frame become columns of numbers: as they are, or as codes of categories.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    categories : tuple
        For each column None if it is of numbers, or the categories whose positions are the codes:
        words, numbers, or None for a missing value. The code of what is none of them is -1.
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Category, ...] | None, ...]

    @classmethod
    def learn(cls, X: Any, nominal: dict[str, bool]) -> ColumnEncoding:
        """Learn the categories of the columns of a frame that are compared only.

        Parameters
        ----------
        X : data frame
            The samples.
        nominal : dict
            The columns by name, and whether they are of categories.
        """
        frame = _checked_frame(X, tuple(nominal))
        return cls(
            tuple(nominal),
            tuple(
                tuple(dict.fromkeys(_categories(frame[name]))) if compared else None
                for name, compared in nominal.items()
            ),
        )

    def __call__(self, X: Any) -> np.ndarray:
        """Columns of a frame as numbers, of shape (n, number of names)."""
        frame = _checked_frame(X, self.names)
        rows = np.empty((len(frame), len(self.names)))
        for j, (name, categories) in enumerate(zip(self.names, self.categories, strict=True)):
            column = frame[name]
            if categories is None:
                _refuse_no_numbers(
                    column, "give it a kernel that compares, such as Overlap(), or leave it out."
                )
                rows[:, j] = series_as_floats(column)
                if not np.isfinite(rows[:, j]).all():
                    raise ValueError(f"Column {name!r} of X contains infinity.")
            else:
                codes = {category: code for code, category in enumerate(categories)}
                rows[:, j] = [codes.get(value, -1) for value in _categories(column)]
        return rows


def _checked_frame(X: Any, names: tuple[str, ...]) -> nw.DataFrame[Any]:
    frame = as_frame(X)
    if frame is None:
        raise TypeError(
            f"The kernel has columns by name, {', '.join(map(repr, names))}, and X is a "
            f"{type(X).__name__}: give a data frame, or name columns by their positions."
        )
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The kernel has the column {missing[0]!r}, which X does not: it has "
            f"{', '.join(map(repr, frame.columns))}."
        )
    if len(frame) == 0:
        raise ValueError("Found array with 0 sample(s), a data frame without rows, in X.")
    return frame


def _categories(column: nw.Series[Any]) -> list[Category]:
    """Values of a column: numbers as floats, what is missing as None, all else as text."""
    missing = column.is_null().to_list()
    return [
        None if gone else _category(value)
        for gone, value in zip(missing, column.to_list(), strict=True)
    ]


def _category(value: Any) -> Category:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return str(value)
    return None if math.isnan(value) else float(value)
