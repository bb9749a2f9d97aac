"""Data as files have it, before it is turned into features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Matrix", "Table", "TextColumn"]


@dataclass
class Matrix:
    """Rows of numbers without names: svmlight text and NPZ."""

    source: str
    X: Any  # array or CSR matrix
    y: np.ndarray | None
    base: int = 1  # the index that files call the first feature
    arrays: dict[str, np.ndarray] = field(default_factory=dict)  # further ones of an NPZ file

    def __len__(self) -> int:
        return self.X.shape[0]


@dataclass
class TextColumn:
    """A column of words: for each row the index of its category, or -1 where it is missing."""

    codes: np.ndarray
    categories: list[str]


@dataclass
class Table:
    """Columns with names: CSV, TSV and Parquet. Numbers are float64, NaN where missing."""

    source: str
    columns: dict[str, np.ndarray | TextColumn]
    lines: np.ndarray | None = None  # the line of each row in its file, where it has lines

    def __len__(self) -> int:
        first = next(iter(self.columns.values()))
        return len(first.codes if isinstance(first, TextColumn) else first)

    def place(self, row: int, name: str) -> dict[str, Any]:
        """Where a cell is, for DataFileError."""
        if self.lines is None:
            return {"source": f"{self.source}: row {row + 1}"}
        column = list(self.columns).index(name) + 1
        return {"source": self.source, "line": int(self.lines[row]), "column": column}
