"""Where blocks come from: arrays in memory, memory maps, and files of NumPy."""

from __future__ import annotations

import zipfile
from mmap import mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from resolvent.blocks.block import Block, Source
from resolvent.grams.memory import parse_memory
from resolvent.kernels.rows import as_rows
from resolvent.tabular.errors import DataFileError

__all__ = ["ArraySource", "MappedArray", "as_source", "paths_of", "rows_per_block"]

LARGEST = 1 << 25  # bytes of a block, which the caches and an impatient user like
SHARE = 64  # of the memory limit, at most
FEW = 16  # blocks, at least, so that there are some for each thread
FEWEST_ROWS = 1024


def rows_per_block(n: int, row_bytes: float, memory_limit: Any = None) -> int:
    """How many rows of that size make a block."""
    size = LARGEST if memory_limit is None else min(LARGEST, parse_memory(memory_limit) // SHARE)
    fit = max(1, int(size / max(row_bytes, 1.0)))
    return min(fit, max(FEWEST_ROWS, -(-n // FEW)))


class MappedArray(NamedTuple):
    """An array in a file, opened when it is read: a name, where there are others processes too."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    fortran: bool = False

    def open(self) -> np.ndarray:
        """Open the memory map."""
        order: Any = "F" if self.fortran else "C"
        dtype = np.dtype(self.dtype)
        return np.memmap(self.path, dtype, "r", self.offset, self.shape, order)


def _in_file(array: Any) -> Any:
    """Of a memory map of a whole array, its place in the file; other arrays as they are."""
    if array is None or sparse.issparse(array) or isinstance(array, MappedArray):
        return array
    base: Any = getattr(array, "base", None)
    if isinstance(array, np.memmap) and isinstance(base, mmap) and array.mode != "c":
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        path = str(array.filename)
        return MappedArray(path, array.dtype.str, array.shape, array.offset, fortran)
    return np.asarray(array)


class ArraySource(Source):
    """Blocks of arrays of equal length: in memory, memory maps, or in CSR format.

    Parameters
    ----------
    X : ndarray, CSR matrix or MappedArray of shape (n, d)
        Features.
    y, weight : ndarray or MappedArray, optional
        Targets and weights.
    rows : int
        Rows of a block.
    name : str
        What messages call the data.
    """

    def __init__(
        self, X: Any, y: Any = None, weight: Any = None, rows: int = 1 << 16, name: str = "X"
    ) -> None:
        self.X, self.y, self.weight, self.name = X, y, weight, name
        self.n = int(X.shape[0])
        self.n_blocks = max(1, -(-self.n // rows))
        self.rows = max(1, -(-self.n // self.n_blocks))
        self.n_blocks = max(1, -(-self.n // self.rows))
        floats = np.dtype(X.dtype) in (np.float32, np.float64)
        self.is_at_hand = not sparse.issparse(X) and floats

    def load(self, i: int) -> Block:
        """Take the rows of block i."""
        part = slice(i * self.rows, min((i + 1) * self.rows, self.n))
        return Block(
            *(None if a is None else _opened(a)[part] for a in (self.X, self.y, self.weight))
        )

    def n_rows(self, i: int) -> int:
        """How many rows block i has."""
        return min((i + 1) * self.rows, self.n) - i * self.rows

    def place(self, i: int) -> str:
        """Where block i is from."""
        return f"{self.name}, rows {i * self.rows} to {min((i + 1) * self.rows, self.n) - 1}"


def _opened(array: Any) -> Any:
    return array.open() if isinstance(array, MappedArray) else array


def as_source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    memory_limit: Any = None,
    columns: Any = None,
) -> Source:
    """Make blocks of rows of data in memory or in files.

    Parameters
    ----------
    X : array-like, memory map, sparse matrix, Source, path or list of paths
        Features. A path names a file of NumPy, NPY or NPZ with arrays X, y and sample_weight, whose
        arrays are mapped where they are not compressed; or Parquet files, of which there may be
        several, a folder or a pattern such as ``"data/*.parquet"``.
    y, sample_weight : array-like, path, or str, optional
        Targets and weights; names of columns in Parquet files.
    memory_limit : int, str or None
        Bytes that fits to them may take, where they have no limit of their own, of which a block
        is at most a 64th; None is blocks of 32 MB.
    columns : sequence of str, optional
        Features among the columns of Parquet files; if not given all others.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.blocks import as_source
    >>> source = as_source(np.zeros((5000, 3)), np.zeros(5000))
    >>> source.n_blocks, len(source.load(0))
    (5, 1000)
    """
    if isinstance(X, Source):
        return X
    name = "X"
    if isinstance(X, str | Path | list) and _names_files(X):
        paths = paths_of(X)
        name = str(paths[0])
        if Path(name).suffix not in (".npy", ".npz"):
            from resolvent.blocks.parquet import ParquetSource

            return ParquetSource(paths, y, sample_weight, columns, memory_limit)
        if len(paths) > 1:
            raise DataFileError("files of NumPy are read one at a time.", name)
        X, y, sample_weight = _numpy_file(paths[0], y, sample_weight)
    elif not sparse.issparse(X) and not isinstance(X, np.ndarray):
        X = as_rows(X)
    X = X.tocsr() if sparse.issparse(X) else X
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}; rows and columns are needed.")
    X, y, sample_weight = map(_in_file, (X, y, sample_weight))
    for what, a in (("y", y), ("sample_weight", sample_weight)):
        if a is not None and (not a.shape or a.shape[0] != X.shape[0]):
            raise ValueError(f"{what} has shape {a.shape}, and {name} has {X.shape[0]} rows.")
    n, d = X.shape
    size = 4.0 if np.dtype(X.dtype) == np.float32 else 8.0  # others become float64
    row = (size + 4.0) * X.nnz / n if sparse.issparse(X) else size * d
    source = ArraySource(X, y, sample_weight, rows_per_block(n, row, memory_limit), name)
    source.memory_limit = memory_limit
    return source


def _names_files(X: Any) -> bool:
    return not isinstance(X, list) or (bool(X) and isinstance(X[0], str | Path))


def paths_of(X: Any) -> list[Path]:
    """All files that are meant, in order of their names."""
    given = X if isinstance(X, list) else [X]
    paths: list[Path] = []
    for entry in given:
        path = Path(entry)
        if path.is_dir():
            paths += sorted(path.rglob("*.parquet"))
        elif any(sign in path.name for sign in "*?["):
            paths += sorted(path.parent.glob(path.name))
        else:
            paths.append(path)
    if not paths:
        folder = isinstance(X, str | Path) and Path(X).is_dir()
        words = "is a directory in which there is" if folder else "there is"
        raise DataFileError(f"{words} no Parquet file.", str(X))
    for path in paths:
        if not path.is_file():
            raise DataFileError("there is no such file.", str(path))
    return paths


def _numpy_file(path: Path, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Find the arrays of an NPY or NPZ file, and others given beside them."""
    if path.suffix == ".npz":
        found = _members(path)
        if "X" not in found:
            raise DataFileError(
                f"expected an array X, found {', '.join(found) or 'none'}.", str(path)
            )
        X = found["X"]
        y = found.get("y") if y is None else y
        sample_weight = found.get("sample_weight") if sample_weight is None else sample_weight
    else:
        X = _mapped(path)
    others = (_mapped(Path(a)) if isinstance(a, str | Path) else a for a in (y, sample_weight))
    return X, *others


def _mapped(path: Path) -> MappedArray:
    """Find the array of an NPY file."""
    try:
        with path.open("rb") as file:
            return _header(file, str(path), 0)
    except OSError as error:
        raise DataFileError(f"cannot be read: {error.strerror}.", str(path)) from None


def _members(path: Path) -> dict[str, Any]:
    """Find the arrays of an NPZ file: mapped, or read where they are compressed."""
    found: dict[str, Any] = {}
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if info.compress_type != zipfile.ZIP_STORED:
                    with archive.open(info) as member:
                        found[name] = np.lib.format.read_array(member, allow_pickle=False)
                    continue
                file.seek(info.header_offset + 26)
                lengths = file.read(4)
                start = info.header_offset + 30
                start += int.from_bytes(lengths[:2], "little") + int.from_bytes(
                    lengths[2:], "little"
                )
                file.seek(start)
                found[name] = _header(file, str(path), start)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"cannot be read as NPZ: {error}", str(path)) from None
    return found


def _header(file: Any, path: str, start: int) -> MappedArray:
    """Read the header of an NPY array, after which its values are."""
    try:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
    except ValueError as error:
        raise DataFileError(f"cannot be read as NPY: {error}", path) from None
    if dtype.hasobject:
        raise DataFileError("holds Python objects, which could run code.", path)
    offset = file.tell()
    file.seek(0, 2)
    size = int(np.prod(shape)) * dtype.itemsize
    if offset + size > file.tell():
        raise DataFileError(f"announces {size} bytes and has {file.tell() - offset}.", path)
    return MappedArray(path, dtype.str, tuple(shape), offset, fortran)
