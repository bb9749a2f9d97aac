"""CSV and TSV with a header: numbers where a column has numbers only, words elsewhere."""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

import numpy as np

from resolvent.io.arrow import parse_table
from resolvent.io.errors import DataFileError
from resolvent.tabular.raw import Table, TextColumn

__all__ = ["MISSING", "read_delimited"]

MISSING = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])
ROWS_AT_ONCE = 4096


def read_delimited(
    stream: BinaryIO,
    source: str,
    *,
    delimiter: str | None = None,
    words: Collection[str] = (),
    numbers: Collection[str] = (),
    wanted: Callable[[str], bool] = lambda name: True,
) -> Table:
    """Read a table.

    Parameters
    ----------
    stream : binary file
        The text, in UTF-8.
    source : str
        Its name, for messages.
    delimiter : str or None
        What is between columns; None is that of comma, semicolon, tab and bar which the header has
        most of.
    words : collection of str
        Columns to read as words, also if they are numbers.
    numbers : collection of str
        Columns that must be numbers.
    wanted : callable
        Whether a column is going to be used, by its name; others may hold anything.

    Returns
    -------
    Table
    """
    table, late = _read(stream, source, delimiter, set(words), most=ROWS_AT_ONCE)
    if len(table) == ROWS_AT_ONCE and not _read_rest(stream, table, delimiter):
        table, late = _read(stream, source, delimiter, set(words))
        if late:  # again, as words from the start: numbers forget how they were spelled
            table, _ = _read(stream, source, delimiter, late.union(words))
    for name, column in table.columns.items():
        checked = wanted(name) and (name in numbers or name not in words)
        if isinstance(column, TextColumn) and checked:
            _refuse_typos(table, name, column, must=name in numbers)
    return table


def _read_rest(stream: BinaryIO, table: Table, delimiter: str | None) -> bool:
    """Read all rows in the place of the first ones, by pyarrow; False if it does not read them."""
    assert table.lines is not None
    if table.lines[0] != 2:
        return False
    stream.seek(0)
    delimiter = delimiter or _guess_delimiter(stream.readline().decode())
    stream.seek(0)
    of_words = {name: isinstance(x, TextColumn) for name, x in table.columns.items()}
    found = parse_table(stream, delimiter, of_words, MISSING)
    if found is None:
        return False
    for name, values in zip(of_words, found, strict=True):
        table.columns[name] = _tidied(*values) if of_words[name] else values
    table.lines = np.arange(2, len(table) + 2)
    return True


def _tidied(codes: np.ndarray, cells: list[str]) -> TextColumn:
    """Leave out spaces around words, and words for missing ones."""
    column = _Column("", words=True)
    meaning = column.encoded(cells)
    return TextColumn(np.append(meaning, np.int32(-1))[codes], list(column.codes))


def _read(
    stream: BinaryIO, source: str, delimiter: str | None, words: set[str], most: int | None = None
) -> tuple[Table, set[str]]:
    """Read the table, and which of its columns have words only after many rows of numbers.

    At most the first `most` rows of it.
    """
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        rows = _rows(text, source, delimiter)
        _, header = next(rows)
        rows = islice(rows, most)
        columns = [_Column(name, name in words) for name in header]
        lines = array("q")
        while block := list(islice(rows, ROWS_AT_ONCE)):
            lines.extend(line for line, _ in block)
            for column, cells in zip(
                columns, zip(*(row for _, row in block), strict=True), strict=True
            ):
                column.add(cells, source, lines[-len(block) :])
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"is not text in UTF-8: byte {error.object[error.start]:#04x} "
            f"({error.reason}). Save the table as CSV in UTF-8; binary formats are read by "
            "their ending (.parquet, .npz).",
            source,
        ) from None
    finally:
        text.detach()
    if not lines:
        raise DataFileError("the table has a header but no rows.", source)
    found = {column.name: column.finish() for column in columns}
    late = {column.name for column in columns if column.late}
    return Table(source, found, np.frombuffer(lines, dtype=np.int64).copy()), late


def _rows(
    text: io.TextIOWrapper, source: str, delimiter: str | None
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not empty, the header first."""
    if delimiter is None:
        first = next((line for line in text if line.strip()), "")
        delimiter = _guess_delimiter(first)
        text.seek(0)
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip() and len(header) != 1):
                continue
            if header and len(cells) != len(header):
                raise DataFileError(
                    f"expected {len(header)} columns as in the header, found {len(cells)}.",
                    source,
                    reader.line_num,
                )
            if not header:
                header = _checked_header([cell.strip() for cell in cells], source, reader.line_num)
                cells = header
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataFileError(f"cannot be read as CSV: {error}.", source, reader.line_num) from None
    if not header:
        raise DataFileError("the file is empty; expected a header with names of columns.", source)


def _guess_delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)  # a comma if there is none of them


def _checked_header(names: list[str], source: str, line: int) -> list[str]:
    if len(names) > 1 and names[-1] == "":
        raise DataFileError(
            "the header ends with a delimiter; remove it there and in all rows.", source, line
        )
    seen: set[str] = set()
    for k, name in enumerate(names):
        if not name:
            raise DataFileError("this column has no name in the header.", source, line, k + 1)
        if name in seen:
            raise DataFileError(
                f"the header has two columns {name!r}; names must differ.", source, line, k + 1
            )
        seen.add(name)
    if all(map(_is_number, names)):
        raise DataFileError(
            f"expected a header with names of columns, found the numbers {', '.join(names[:4])}"
            "; add a first line with names. For LIBSVM's format say --format svmlight.",
            source,
            line,
        )
    return names


class _Column:
    """A column as it is read: blocks of numbers, or codes of words.

    It is of words if those in its first block are. If words come only later it is `late`: how the
    numbers before them were spelled is lost, and nothing more of it is kept.
    """

    def __init__(self, name: str, words: bool) -> None:
        self.name, self.words, self.late = name, words, False
        self.blocks: list[np.ndarray] = []
        self.codes: dict[str, int] = {}

    def add(self, cells: tuple[str, ...], source: str, lines: array[int]) -> None:
        if self.late:
            return
        values = None if self.words else _as_numbers(cells)
        if values is None:
            self.late = bool(self.blocks) and not self.words
            self.words = True
            values = self.encoded(cells)
        elif np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise DataFileError(
                f"column {self.name!r}: expected a finite number, found {cells[row]!r}.",
                source,
                lines[row],
            )
        self.blocks.append(values)

    def encoded(self, cells: Sequence[str]) -> np.ndarray:
        codes = self.codes
        found = (cell.strip() for cell in cells)
        block = [-1 if x.lower() in MISSING else codes.setdefault(x, len(codes)) for x in found]
        return np.array(block, dtype=np.int32)

    def finish(self) -> np.ndarray | TextColumn:
        values = np.concatenate(self.blocks)
        return TextColumn(values, list(self.codes)) if self.words else values


def _as_numbers(cells: tuple[str, ...]) -> np.ndarray | None:
    """Numbers, NaN where they are missing; None if there are words."""
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        pass
    try:
        return np.array(
            [math.nan if cell.strip().lower() in MISSING else float(cell) for cell in cells]
        )
    except ValueError:
        return None


def _refuse_typos(table: Table, name: str, column: TextColumn, must: bool) -> None:
    """Complain of a word in a column that is of numbers, or mostly."""
    numeric = np.array([_is_number(category) for category in column.categories], dtype=bool)
    present = column.codes >= 0
    is_number = present & numeric[column.codes]
    if not must and 2 * is_number.sum() < present.sum():
        return
    bad = np.flatnonzero(present & ~is_number)
    if not bad.size:
        table.columns[name] = np.where(
            present, np.array([*map(float, column.categories)])[column.codes], np.nan
        )
        return
    word = column.categories[column.codes[bad[0]]]
    remedy = "" if must else f", or say --categorical {name} if its values are categories"
    raise DataFileError(
        f"column {name!r}: expected a number as in other rows, found {word[:40]!r}. Correct "
        f"it{remedy}.",
        **table.place(int(bad[0]), name),
    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
