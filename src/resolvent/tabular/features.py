"""From columns of a table, or a matrix, to features; learned once, then applied to any data."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse

from resolvent.tabular.dates import days_of
from resolvent.tabular.errors import DataFileError
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = ["SCALES", "Column", "Features"]

SCALES = ("standard", "minmax", "none")
MOST_CATEGORIES = 1000
MANY_WORDS = 20  # from which on a column is looked at for words that occur once
# One-hot columns are mostly zeros: where there are many of them only the others are kept.
SPARSE_FROM = 2


@dataclass(frozen=True)
class Column:
    """A column of a table: its name and, if it is of words, the words that became features.

    One of dates is read as words and becomes a number of days.
    """

    name: str
    categories: tuple[str, ...] | None = None
    is_date: bool = False

    @property
    def width(self) -> int:
        """How many features it makes."""
        return 1 if self.categories is None else len(self.categories)


@dataclass(frozen=True)
class Features:
    """What is done to data before a model sees it: choice of columns, one-hot encoding, scaling.

    Attributes
    ----------
    width : int
        Number of features.
    columns : tuple of Column or None
        The columns of a table; None for a matrix without names.
    base : int
        The first index of svmlight files.
    method : str
        How features were scaled, one of `SCALES`.
    shift, factor : ndarray of shape (width,) or None
        A feature x becomes (x - shift) * factor.
    fill : ndarray of shape (len(columns),) or None
        What stands for missing numbers, where they are allowed.
    """

    width: int
    columns: tuple[Column, ...] | None = None
    base: int = 1
    method: str = "none"
    shift: np.ndarray | None = None
    factor: np.ndarray | None = None
    fill: np.ndarray | None = None

    # ---- learning ---------------------------------------------------------------------------

    @classmethod
    def learn(
        cls,
        raw: Matrix | Table,
        *,
        without: Collection[str] = (),
        scale: str = "none",
        impute: bool = False,
        categorical: Collection[str] = (),
        note: Callable[[str], None] = lambda _: None,
    ) -> Features:
        """Learn from training data.

        Parameters
        ----------
        raw : Matrix or Table
            The data.
        without : collection of str
            Columns that are not features: the target, weights, those to drop.
        scale : {"standard", "minmax", "none"}
            Numbers to mean 0 and variance 1, or to the interval from 0 to 1. In sparse data zeros
            stay zeros: features are divided by their standard deviation or largest size.
        impute : bool
            Whether missing numbers become the median, and missing words a category.
        categorical : collection of str
            Columns whose words are categories, also if they are dates.
        note : callable, optional
            Is told, in a sentence, of columns that may not be what they seem.
        """
        if isinstance(raw, Matrix):
            plain = cls(raw.X.shape[1], base=raw.base)
            return plain._scaled(raw.X, scale, np.ones(plain.width, dtype=bool))
        columns, fill = [], []
        for name, values in raw.columns.items():
            if name in without:
                continue
            fill.append(0.0)
            days = None
            if isinstance(values, TextColumn):
                days = None if name in categorical else _days(values)
                if days is None:
                    _note_many_words(name, values, note)
                    columns.append(Column(name, _categories(raw, name, values, impute)))
                    continue
                note(f"column {name!r} has dates; they are taken as numbers of days.")
            columns.append(Column(name, None, days is not None))
            numbers: Any = values if days is None else days
            known = numbers[~np.isnan(numbers)]
            fill[-1] = float(np.median(known)) if known.size else 0.0
        if not columns:
            raise DataFileError("no column is left to learn from.", raw.source)
        plain = cls(
            sum(column.width for column in columns),
            tuple(columns),
            fill=np.array(fill) if impute else None,
        )
        numeric = [column.categories is None for column in columns for _ in range(column.width)]
        return plain._scaled(plain(raw), scale, np.array(numeric))

    def _scaled(self, X: Any, method: str, numeric: np.ndarray) -> Features:
        if method == "none":
            return self
        d = X.shape[1]
        shift, spread = np.zeros(d), np.ones(d)
        if issparse(X) and self.columns is None:
            if method == "standard":
                mean = np.asarray(X.mean(axis=0)).ravel()
                squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
                spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
            else:
                spread = abs(X).max(axis=0).toarray().ravel()
        else:
            X = X.toarray() if issparse(X) else X
            if method == "standard":
                shift, spread = X.mean(axis=0, dtype=float), X.std(axis=0, dtype=float)
                spread[spread <= 1e-14 * np.abs(shift)] = 0.0  # constant but for rounding
            else:
                shift = X.min(axis=0).astype(float)
                spread = X.max(axis=0) - shift
        factor = np.divide(1.0, spread, out=np.ones(d), where=(spread > 0) & np.isfinite(spread))
        shift[~numeric], factor[~numeric] = 0.0, 1.0  # one-hot features stay 0 and 1
        return Features(
            self.width, self.columns, self.base, method, shift if shift.any() else None, factor,
            self.fill,
        )  # fmt: skip

    # ---- applying ---------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of the features; indices as files have them, if there are no names."""
        if self.columns is None:
            return [str(k + self.base) for k in range(self.width)]
        return [
            name
            for column in self.columns
            for name in (
                [column.name]
                if column.categories is None
                else [f"{column.name}={category or '(missing)'}" for category in column.categories]
            )
        ]

    @property
    def words(self) -> set[str]:
        """Columns that are read as words."""
        return {
            column.name
            for column in self.columns or ()
            if column.categories is not None or column.is_date
        }

    @property
    def numbers(self) -> set[str]:
        """Columns that are read as numbers."""
        return {column.name for column in self.columns or ()} - self.words

    def __call__(self, raw: Matrix | Table, note: Callable[[str], None] | None = None) -> Any:
        """Turn data into the rows that the model takes.

        Parameters
        ----------
        raw : Matrix or Table
            Data of the kind that was learned from.
        note : callable, optional
            Is told, in a sentence, of anything that was not there in training.
        """
        note = note or (lambda _: None)
        if self.columns is None:
            X = self._matrix(raw, note)
        elif isinstance(raw, Table):
            X = self._table(raw, note)
        else:
            raise DataFileError(
                "the model was fitted on a table with named columns "
                f"({_some(column.name for column in self.columns)}); this file has none.",
                raw.source,
            )
        if self.shift is not None:
            X = X.toarray() if issparse(X) and self.columns is None else X
        with np.errstate(over="ignore", invalid="ignore"):
            X = self._rescale(X)
        if not np.isfinite(X.data if issparse(X) else X).all():
            raise DataFileError("has numbers that are too large to be scaled.", raw.source)
        return X

    def _rescale(self, X: Any) -> Any:
        if self.factor is None:
            return X
        if not issparse(X):
            return (X - (0.0 if self.shift is None else self.shift)) * self.factor
        if self.shift is not None:  # all rows hold all numbers, zeros included
            X = csr_matrix((X.data - self.shift[X.indices], X.indices, X.indptr), X.shape)
        return (X @ diags(self.factor)).tocsr()

    def _matrix(self, raw: Matrix | Table, note: Callable[[str], None]) -> Any:
        if isinstance(raw, Table):
            raise DataFileError(
                f"the model was fitted on {self.width} features without names, but this is a "
                "table with named columns.",
                raw.source,
            )
        X, d = raw.X, raw.X.shape[1]
        if not issparse(X):
            if d != self.width:
                raise DataFileError(
                    f"expected {self.width} features as in training, found {d}.", raw.source
                )
            return X
        if d > self.width:
            extra = X.nnz - X[:, : self.width].nnz
            note(
                f"{raw.source}: {extra} values of features after {self.width - 1 + self.base}, the "
                "last one in training, are left out."
            )
            return X[:, : self.width]
        return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], self.width))

    def _table(self, raw: Table, note: Callable[[str], None]) -> Any:
        assert self.columns is not None
        absent = [column.name for column in self.columns if column.name not in raw.columns]
        if absent:
            raise DataFileError(
                f"the model needs the columns {_some(absent)}, which are not there; found "
                f"{_some(raw.columns)}.",
                raw.source,
            )
        n, k, at = len(raw), len(self.columns), 0
        if self.width <= SPARSE_FROM * k:
            X, every = np.zeros((n, self.width)), np.arange(n)
            for j, column in enumerate(self.columns):
                values = raw.columns[column.name]
                if column.categories is None:
                    X[:, at] = self._numbers(raw, column, values, j)
                else:
                    codes = self._codes(raw, column, values, note)
                    X[every[codes >= 0], at + codes[codes >= 0]] = 1.0
                at += column.width
            return X
        # Each row has one entry in each column of the table: which feature, and its value.
        place, value = np.zeros((n, k), dtype=np.int32), np.ones((n, k))
        known = np.ones((n, k), dtype=bool)
        for j, column in enumerate(self.columns):
            values = raw.columns[column.name]
            if column.categories is not None:
                codes = self._codes(raw, column, values, note)
                place[:, j], known[:, j] = at + codes, codes >= 0
            else:
                place[:, j], value[:, j] = at, self._numbers(raw, column, values, j)
            at += column.width
        starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        return csr_matrix((value[known], place[known], starts), shape=(n, self.width))

    def _numbers(self, raw: Table, column: Column, values: Any, j: int) -> np.ndarray:
        if column.is_date:
            values = _days(values) if isinstance(values, TextColumn) else None
            if values is None:
                raise DataFileError(
                    f"column {column.name!r} has values that are no dates, where the model was "
                    "fitted on dates such as 2024-12-31.",
                    raw.source,
                )
        if isinstance(values, TextColumn):
            raise DataFileError(
                f"column {column.name!r} has words where the model was fitted on numbers.",
                raw.source,
            )
        missing = np.isnan(values)
        if not missing.any():
            return values
        if self.fill is None:
            raise _missing(raw, column.name, missing)
        return np.where(missing, self.fill[j], values)

    def _codes(
        self, raw: Table, column: Column, values: Any, note: Callable[[str], None]
    ) -> np.ndarray:
        """Index of each row's category, -1 for one that was not there in training."""
        if not isinstance(values, TextColumn):
            raise DataFileError(
                f"column {column.name!r} has numbers where the model was fitted on words.",
                raw.source,
            )
        assert column.categories is not None
        if self.fill is None and (values.codes < 0).any():
            raise _missing(raw, column.name, values.codes < 0)
        index = {category: k for k, category in enumerate(column.categories)}
        codes = np.array([index.get(word, -1) for word in [*values.categories, ""]])[values.codes]
        new = (codes < 0) & (values.codes >= 0)
        if new.any():
            word = values.categories[values.codes[np.flatnonzero(new)[0]]]
            note(
                f"{raw.source}: {new.sum()} rows have a value of {column.name!r} that training did "
                f"not have, such as {word[:40]!r}; it counts as none of the known ones."
            )
        return codes


def _days(values: TextColumn) -> np.ndarray | None:
    """Days of each row, NaN where the date is missing; None if the words are no dates."""
    days = days_of(values.categories)
    return None if days is None else np.append(days, np.nan)[values.codes]


def _note_many_words(name: str, values: TextColumn, note: Callable[[str], None]) -> None:
    many = len(values.categories)
    if many > MANY_WORDS and many > 0.5 * np.count_nonzero(values.codes >= 0):
        note(
            f"column {name!r} has {many:,} different words, most of them once: each becomes a "
            f"feature that says little about other rows. Leave it out: --drop {name}."
        )


def _categories(raw: Table, name: str, values: TextColumn, impute: bool) -> tuple[str, ...]:
    found = sorted(values.categories)
    if len(found) > MOST_CATEGORIES:
        raise DataFileError(
            f"column {name!r} has {len(found)} different words, such as {found[0][:40]!r}; more "
            f"than {MOST_CATEGORIES} are no categories. Leave it out: --drop {name}.",
            raw.source,
        )
    if impute and (values.codes < 0).any():
        found = ["", *found]
    return tuple(found)


def _missing(raw: Table, name: str, missing: np.ndarray) -> DataFileError:
    return DataFileError(
        f"column {name!r} has no value here, nor in {missing.sum() - 1} other rows. Fill it in, "
        f"say --missing impute when fitting, or leave the column out: --drop {name}.",
        **raw.place(int(np.flatnonzero(missing)[0]), name),
    )


def _some(names: Any) -> str:
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
