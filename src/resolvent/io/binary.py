"""Binary files of data: Parquet, through pyarrow, and NumPy's NPZ."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from resolvent.grams.memory import fits_in_memory
from resolvent.io.errors import DataFileError
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = ["parquet_parts", "read_npz", "read_parquet"]


def read_parquet(
    stream: BinaryIO,
    source: str,
    words: Collection[str] = (),
    wanted: Callable[[str], bool] = lambda name: True,
) -> Table:
    """Read a table from Parquet; the columns in `words` are words, also if they are numbers.

    Columns that are not `wanted` may be of any type; nothing is known of them but their names.
    """
    with _parquet(source):
        file, names = _opened(stream, source)
        rows = file.metadata.num_rows
        # One column at a time, so that no more than one is there twice.
        return _table(lambda name: file.read([name]), rows, names, source, words, wanted)


def parquet_parts(
    path: str, words: Collection[str] = (), wanted: Callable[[str], bool] = lambda name: True
) -> Iterator[Table]:
    """Read a table from Parquet, row group by row group; arguments as of `read_parquet`."""
    with _parquet(path):
        file, names = _opened(path, path)
        count = file.num_row_groups
    for group in range(count):
        source = f"{path}, row group {group}"
        with _parquet(source):
            rows = file.metadata.row_group(group).num_rows
            if rows:
                read = partial(_of_group, file, group)
                table = _table(read, rows, names, source, words, wanted)
        if rows:
            yield table


def _of_group(file: Any, group: int, name: str) -> Any:
    return file.read_row_group(group, columns=[name])


def _opened(stream: Any, source: str) -> tuple[Any, list[str]]:
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(stream)
    names = file.schema_arrow.names
    if len(set(names)) < len(names) or not names or not file.metadata.num_rows:
        raise DataFileError("the table has no rows, no columns, or two of one name.", source)
    return file, names


def _table(
    read: Callable[[str], Any],
    rows: int,
    names: list[str],
    source: str,
    words: Collection[str],
    wanted: Callable[[str], bool],
) -> Table:
    columns = {
        name: _parquet_column(read(name)[name], name, source, name in words)
        if wanted(name)
        else TextColumn(np.full(rows, -1, dtype=np.int32), [])
        for name in names
    }
    return Table(source, columns)


@contextmanager
def _parquet(source: str) -> Iterator[None]:
    """Say what is wrong with a file of Parquet, or that it cannot be read here."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataFileError(
            "Parquet needs the package pyarrow, which is not installed: pip install "
            "'resolvent[parquet]'.",
            source,
        ) from None
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"has names of columns that are not text in UTF-8 ({error.reason}).", source
        ) from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataFileError(f"cannot be read as Parquet: {error}", source) from None


def _parquet_column(column: Any, name: str, source: str, words: bool) -> np.ndarray | TextColumn:
    import pyarrow

    kind = pyarrow.types
    if kind.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_text = kind.is_string(column.type) or kind.is_large_string(column.type)
    is_number = (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_decimal(column.type)
        or kind.is_boolean(column.type)
        or kind.is_null(column.type)
    )
    if not is_text and not is_number:
        raise DataFileError(
            f"column {name!r} is of type {column.type}, which is neither a number nor text; turn "
            f"it into one of them, or leave it out (--drop {name}).",
            source,
        )
    if is_number and not words:
        integers = column.cast(pyarrow.int8()) if kind.is_boolean(column.type) else column
        values = integers.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise DataFileError(
                f"column {name!r}: expected a finite number, found {values[row]}.",
                f"{source}: row {row + 1}",
            )
        return np.array(values, dtype=float)
    if kind.is_null(column.type):
        return TextColumn(np.full(len(column), -1, dtype=np.int32), [])
    coded = column.cast(pyarrow.string()).combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    try:
        return TextColumn(codes, coded.dictionary.to_pylist())
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"column {name!r} is not text in UTF-8: byte {error.object[error.start]:#04x} "
            f"({error.reason}).",
            source,
        ) from None


def read_npz(stream: BinaryIO, source: str) -> Matrix:
    """Read the arrays X and, if it is there, y of an NPZ file; its other vectors come along."""
    try:
        _check_sizes(stream, source)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except DataFileError:
        raise
    except Exception as error:  # NumPy and zipfile raise whatever they meet in a damaged file
        raise DataFileError(f"cannot be read as NPZ: {error}", source) from None
    if "X" not in found:
        raise DataFileError(
            f"expected an array X, found {', '.join(found) or 'nothing'}; make the file by "
            "numpy.savez(path, X=X, y=y).",
            source,
        )
    X = found.pop("X")
    if X.ndim != 2 or X.size == 0 or X.dtype.kind not in "iufb":
        raise DataFileError(
            f"expected X to be a matrix of numbers, found shape {X.shape} of {X.dtype}.", source
        )
    X = X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    if not np.isfinite(X).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
        raise DataFileError(
            f"expected finite numbers, found {X[row, column]} in X[{row}, {column}]; fill or drop "
            "what is missing.",
            source,
        )
    for name, array in found.items():
        if array.shape == (len(X), 1):
            found[name] = array = array[:, 0]
        if name == "y" and array.shape != (len(X),):
            raise DataFileError(
                f"y has shape {array.shape}; expected ({len(X)},), one for each row of X.", source
            )
    return Matrix(source, X, found.pop("y", None), arrays=found)


def _check_sizes(stream: BinaryIO, source: str) -> None:
    """Compare what headers announce with what there is, before anything is allocated."""
    total = 0
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                version = np.lib.format.read_magic(member)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(member)
                if dtype.hasobject:
                    raise DataFileError(
                        f"the array {info.filename!r} holds Python objects, which could run code; "
                        "save it as numbers or strings.",
                        source,
                    )
                size = math.prod(shape) * dtype.itemsize
                if size + member.tell() != info.file_size:
                    raise DataFileError(
                        f"the array {info.filename!r} announces {size} bytes and has "
                        f"{info.file_size - member.tell()}.",
                        source,
                    )
                total += size
    if not fits_in_memory(total):
        raise DataFileError(f"its arrays take {total:,} bytes, more than the free memory.", source)
