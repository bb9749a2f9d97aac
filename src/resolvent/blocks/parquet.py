"""Blocks of Parquet files: row groups, read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resolvent.blocks.block import Block, Source
from resolvent.blocks.sources import rows_per_block
from resolvent.tabular.errors import DataFileError

__all__ = ["ParquetSource", "column_types", "size_in_memory"]


class Part(NamedTuple):
    """Consecutive row groups of one file that make a block."""

    path: str
    groups: tuple[int, ...]
    rows: int


class ParquetSource(Source):
    """Blocks of Parquet files: a few row groups of one file each, at least one.

    Their columns are numbers without missing values. Where all features fit float32, they are.

    Parameters
    ----------
    paths : sequence of paths
        The files, whose features have the same names.
    target, weight : str, optional
        Columns of targets and weights.
    columns : sequence of str, optional
        Features; if not given all other columns, in the order of the first file.
    memory_limit : int, str or None
        See :func:`resolvent.blocks.as_source`.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        memory_limit: Any = None,
    ) -> None:
        files = [(str(path), _opened(str(path))) for path in paths]
        first, schema = files[0][0], files[0][1].schema_arrow
        for name in (target, weight):
            if name is not None and not isinstance(name, str):
                raise TypeError(
                    f"{name!r}: targets and weights of Parquet files are named columns."
                )
        special = [name for name in (target, weight) if name is not None]
        if columns is None:
            columns = [name for name in schema.names if name not in special]
        self.columns, self.target, self.weight = tuple(columns), target, weight
        for path, file in files:
            _check_columns(path, file.schema_arrow, [*self.columns, *special], target)
        fits = (
            _fits_single(file.schema_arrow.field(c).type) for _, file in files for c in self.columns
        )
        self.dtype = np.dtype(np.float32 if all(fits) else np.float64)
        total = sum(file.metadata.num_rows for _, file in files)
        if not total or not self.columns:
            raise DataFileError("there are no rows, or no columns for features.", first)
        rows = rows_per_block(total, self.dtype.itemsize * len(self.columns), memory_limit)
        self.parts = [part for path, file in files for part in _parts(path, file.metadata, rows)]
        self.n_blocks, self.memory_limit = len(self.parts), memory_limit

    def load(self, i: int) -> Block:
        """Read the row groups of block i."""
        path, groups, rows = self.parts[i]
        X = np.empty((rows, len(self.columns)), self.dtype)
        file, start = _opened(path), 0
        found: dict[str, list[np.ndarray]] = {n: [] for n in (self.target, self.weight) if n}
        for group in groups:
            stop = start + file.metadata.row_group(group).num_rows
            for k, name in enumerate(self.columns):
                X[start:stop, k] = _column(file, path, group, name)
            for name, pieces in found.items():
                pieces.append(_column(file, path, group, name))
            start = stop
        others = {name: np.concatenate(pieces) for name, pieces in found.items()}
        return Block(X, *(others[n] if n else None for n in (self.target, self.weight)))

    def n_rows(self, i: int) -> int:
        """How many rows block i has."""
        return self.parts[i].rows

    def place(self, i: int) -> str:
        """Where block i is from."""
        path, groups, _ = self.parts[i]
        several = f"s {groups[0]} to {groups[-1]}" if len(groups) > 1 else f" {groups[0]}"
        return f"{path}, row group{several}"


def _opened(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataFileError(
            "Parquet needs the package pyarrow, which is not installed: pip install "
            "'resolvent[parquet]'.",
            path,
        ) from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataFileError(f"cannot be read as Parquet: {error}", path) from None


def column_types(path: str | Path) -> dict[str, np.dtype[Any]]:
    """Names of the columns of a file, and the types of their values."""
    schema = _opened(str(path)).schema_arrow
    return {field.name: _dtype(field.type) for field in schema}


def size_in_memory(path: str | Path) -> int:
    """Bytes of all values of a file as numbers in double precision."""
    metadata = _opened(str(path)).metadata
    return 8 * int(metadata.num_rows) * int(metadata.num_columns)


def _check_columns(path: str, schema: Any, names: Sequence[str], labels: str | None) -> None:
    """Refuse columns that are absent, or no numbers; labels may be text."""
    for name in names:
        if schema.get_field_index(name) < 0:
            raise DataFileError(f"has no column {name!r}, or two of that name.", path)
        of = schema.field(name).type
        if _dtype(of).kind not in "iufb" and name != labels:
            raise DataFileError(f"column {name!r} is of type {of}, which is no number.", path)


def _dtype(of: Any) -> np.dtype[Any]:
    """Give the type of the values in NumPy."""
    try:
        return np.dtype(of.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        return np.dtype(object)


def _fits_single(of: Any) -> bool:
    """Whether all values of that type are numbers of float32."""
    dtype = _dtype(of)
    return dtype.itemsize <= (4 if dtype.kind == "f" else 2)


def _parts(path: str, metadata: Any, most: int) -> list[Part]:
    """Group row groups until the next would make a block larger than that many rows."""
    parts: list[Part] = []
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if groups and rows + size > most:
            parts.append(Part(path, tuple(groups), rows))
            groups, rows = [], 0
        if size:
            groups.append(group)
            rows += size
    return [*parts, Part(path, tuple(groups), rows)] if groups else parts


def _column(file: Any, path: str, group: int, name: str) -> np.ndarray:
    """One column of a row group."""
    import pyarrow

    place = f"{path}, row group {group}"
    try:
        table = file.read_row_group(group, columns=[name], use_threads=False)
        column = table.column(0)
        if column.null_count:
            raise DataFileError(f"column {name!r} has missing values: fill or drop them.", place)
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        return np.asarray(column.to_numpy(zero_copy_only=False))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataFileError(f"column {name!r} cannot be read: {error}", place) from None
