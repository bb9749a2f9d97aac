"""Text parsed by pyarrow, ten times as fast as by Python, where pyarrow is installed.

Each function returns None for what it does not read exactly as the package's own parser does, which
then reads it, or says what is wrong and where.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from resolvent.io.growing import Growing

__all__ = ["parse_pairs", "parse_table"]

LABEL = -1  # takes the place of an index before the label of a row


@cache
def _pyarrow() -> ModuleType | None:
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow


def parse_table(
    stream: BinaryIO, delimiter: str, columns: dict[str, bool], missing: frozenset[str]
) -> list[Any] | None:
    """Parse a table whose header is its first line.

    Parameters
    ----------
    stream : binary file
        The text, from its start.
    delimiter : str
        What is between columns.
    columns : dict
        Whether each column is of words.
    missing : frozenset of str
        What stands for a missing number, in lower case.

    Returns
    -------
    list or None
        For each column its numbers, NaN where missing, or codes and list of words as they are
        spelled. None unless each row is one line.
    """
    pa = _pyarrow()
    if pa is None:
        return None
    text = _LineCounter(stream)
    coded = pa.dictionary(pa.int32(), pa.string())
    names = [str(k) for k in range(len(columns))]
    parts = [Growing() for _ in columns]
    codes: list[dict[str, int]] = [{} for _ in columns]
    try:
        batches = pa.csv.open_csv(
            text,
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows=1),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types={
                    name: coded if words else pa.float64()
                    for name, words in zip(names, columns.values(), strict=True)
                },
                null_values=_spellings(missing),
            ),
        )
        for batch in batches:
            for column, words, part, code in zip(
                batch.columns, columns.values(), parts, codes, strict=True
            ):
                values = _codes(column, code) if words else _numbers(column)
                if values is None:
                    return None
                part.add(values)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if parts[0].size + 1 != text.lines:
        return None
    return [
        (part.finish(), list(code)) if words else part.finish()
        for words, part, code in zip(columns.values(), parts, codes, strict=True)
    ]


def parse_pairs(block: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Parse lines of ``label index:value index:value ...``.

    Parameters
    ----------
    block : bytes
        Whole lines.

    Returns
    -------
    tuple or None
        Labels, number of pairs in each row, indices and values.
    """
    pa = _pyarrow()
    if pa is None or any(sign in block for sign in (b"#", b"x", b"X", b'"')):
        return None
    block = block.replace(b"\r\n", b"\n").removesuffix(b"\n")
    # One pair a line. A row begins with its label, which becomes the pair LABEL:label.
    mark = b"\n%d:" % LABEL
    lines = (mark[1:] + block.replace(b"\n", mark)).translate(bytes.maketrans(b" \t", b"\n\n"))
    try:
        pairs = pa.csv.read_csv(
            pa.BufferReader(lines),
            read_options=pa.csv.ReadOptions(column_names=["index", "value"], block_size=1 << 22),
            parse_options=pa.csv.ParseOptions(delimiter=":", quote_char=False),
            convert_options=pa.csv.ConvertOptions(
                column_types={"index": pa.int64(), "value": pa.float64()}, null_values=[]
            ),
        )
    except pa.ArrowException:
        return None
    index, value = pairs["index"].to_numpy(), pairs["value"].to_numpy()
    rows = np.flatnonzero(index == LABEL)
    if len(rows) != block.count(b"\n") + 1 or index.min() < LABEL or not np.isfinite(value).all():
        return None
    of_features = index != LABEL
    counts = np.diff(rows, append=len(index)) - 1
    narrow = np.int32 if index.max() < 2**31 else np.int64
    return value[rows], counts, index[of_features].astype(narrow), value[of_features]


class _LineCounter(io.RawIOBase):
    """Counts the lines that pyarrow reads, empty ones at the end left out."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.ended, self.content = stream, 0, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self.stream.read(size)
        if text := block.rstrip(b"\r\n"):
            self.content = self.ended + text.count(b"\n") + 1
        self.ended += block.count(b"\n")
        return block

    @property
    def lines(self) -> int:
        """Number of lines up to the last that is not empty."""
        return self.content


@cache
def _spellings(words: frozenset[str]) -> list[str]:
    """Give all the ways to mix small and capital letters."""
    mix: Callable[[str], Any] = lambda word: product(*({c, c.upper()} for c in word))  # noqa: E731
    return ["".join(letters) for word in words for letters in mix(word)]


def _numbers(column: Any) -> np.ndarray | None:
    values = np.array(column.to_numpy(zero_copy_only=False), dtype=float)
    # Other spellings of NaN, and what is infinite, are refused with their place.
    odd = ~np.isfinite(values)
    return None if odd.sum() != column.null_count else values


def _codes(column: Any, code: dict[str, int]) -> np.ndarray:
    meaning = [code.setdefault(word, len(code)) for word in column.dictionary.to_pylist()]
    indices = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*meaning, -1], dtype=np.int32)[indices]
