"""Read data of any of the formats."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import PurePath

from resolvent.io.binary import read_npz, read_parquet
from resolvent.io.delimited import read_delimited
from resolvent.io.errors import DataFileError
from resolvent.io.streams import open_data
from resolvent.io.svmlight import looks_like_svmlight, read_svmlight
from resolvent.tabular.raw import Matrix, Table

__all__ = ["FORMATS", "read"]

FORMATS = ("auto", "svmlight", "csv", "tsv", "parquet", "npz")
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}


def read(
    path: str,
    format: str = "auto",
    *,
    words: Collection[str] = (),
    numbers: Collection[str] = (),
    base: int | None = None,
    wanted: Callable[[str], bool] = lambda name: True,
) -> Matrix | Table:
    """Read a file of data.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    format : str
        One of `FORMATS`; "auto" goes by the first bytes, the ending and the first row.
    words, numbers : collection of str
        Columns of a table that are categories, and those that must be numbers.
    base : int or None
        The first index of an svmlight file; None finds out.
    wanted : callable
        Whether a column of a table is going to be used, by its name; others may hold anything.

    Returns
    -------
    Matrix or Table
    """
    source = "standard input" if path == "-" else path
    with open_data(path) as stream:
        if format == "auto":
            format = _guess(stream.read(1 << 16), path, source)
            stream.seek(0)
        match format:
            case "svmlight":
                return read_svmlight(stream, source, base)
            case "parquet":
                return read_parquet(stream, source, words, wanted)
            case "npz":
                return read_npz(stream, source)
        tab = "\t" if format == "tsv" else None
        return read_delimited(
            stream, source, delimiter=tab, words=words, numbers=numbers, wanted=wanted
        )


def _guess(start: bytes, path: str, source: str) -> str:
    if not start.strip():
        raise DataFileError("the file is empty.", source)
    for magic, format in MAGIC.items():
        if start.startswith(magic):
            return format
    for ending in reversed(PurePath(path).suffixes):  # the last may be .gz
        if ending.lower() in ENDINGS:
            return ENDINGS[ending.lower()]
    lines = (line for line in start.splitlines() if line.partition(b"#")[0].strip())
    first = next(lines, b"")
    if b"\0" in start:
        raise DataFileError(
            "is a binary file of a kind that is not known; expected svmlight text, CSV, TSV, "
            "Parquet or NPZ.",
            source,
        )
    if looks_like_svmlight(first) or not any(c in first for c in b",;\t|"):
        return "svmlight"
    return "csv"
