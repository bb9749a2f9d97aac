"""The text format of LIBSVM and svmlight: ``label index:value index:value ... # comment``."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from resolvent.grams.memory import fits_in_memory
from resolvent.io.arrow import parse_pairs
from resolvent.io.errors import DataFileError
from resolvent.io.growing import Growing
from resolvent.tabular.raw import Matrix

__all__ = ["looks_like_svmlight", "read_svmlight"]

# Atomic groups and possessive repeats: a line is read once, whatever is in it.
NUMBER = rb"[+-]?(?>\d++(?>\.\d*+)?|\.\d++)(?>[eE][+-]?\d++)?"
PAIR = rb"\d{1,10}+:" + NUMBER
ROW = re.compile(rb"\s*+" + NUMBER + rb"(?>\s++" + PAIR + rb")*+\s*+")
LARGEST_INDEX = 2**31 - 2
BYTES_AT_ONCE = 1 << 22


def looks_like_svmlight(line: bytes) -> bool:
    """Whether a line is a row with at least one feature."""
    line = line.partition(b"#")[0]
    return b":" in line and ROW.fullmatch(line) is not None


def read_svmlight(stream: BinaryIO, source: str, base: int | None = None) -> Matrix:
    """Read a file.

    Comments, empty lines, trailing spaces, Windows line ends, unsorted indices and a missing final
    newline are fine. Anything else is refused with its place.

    Parameters
    ----------
    stream : binary file
        The text.
    source : str
        Its name, for messages.
    base : int or None
        The index of the first feature, 0 or 1; None is 0 if that index occurs, else 1.

    Returns
    -------
    Matrix
    """
    fields, above = [Growing() for _ in Block._fields], 0
    for text in _blocks(stream):
        for field, part in zip(fields, _parsed(text, source, above), strict=True):
            field.add(part)
        above += text.count(b"\n")
    if not fields[-1].size:
        raise DataFileError("the file has no rows.", source)
    y, counts, index, data, at = (field.finish() for field in fields)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    if not np.isfinite(y).all():
        bad = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataFileError("the label is too large for a number.", source, int(at[bad]))
    base = _checked_base(index, indptr, at, base, source)

    def refuse(k: int, why: str) -> DataFileError:
        """Point to the k-th value of the file."""
        row = int(np.searchsorted(indptr, k, side="right")) - 1
        return DataFileError(f"feature {index[k]} {why}.", source, int(at[row]))

    if not np.isfinite(data).all():
        raise refuse(int(np.flatnonzero(~np.isfinite(data))[0]), "has a value that is too large")
    if index.size and index.max() > LARGEST_INDEX:
        raise refuse(int(index.argmax()), f"is above {LARGEST_INDEX}, the largest index")
    d = int(index.max()) + 1 - base if index.size else 0
    if not fits_in_memory(8 * d):
        raise refuse(int(index.argmax()), "makes more features than there is free memory for")
    narrow = np.int32 if len(index) < 2**31 else np.int64
    index -= base
    X = csr_matrix(
        (data, index.astype(narrow, copy=False), indptr.astype(narrow)), shape=(len(y), d)
    )
    if not X.has_sorted_indices:
        X.sort_indices()
    _refuse_duplicates(X, base, at, source)
    return Matrix(source, X, y, base)


class Block(NamedTuple):
    """What some lines of a file hold."""

    labels: np.ndarray
    counts: np.ndarray  # of features, in each row
    features: np.ndarray  # their indices
    values: np.ndarray
    lines: np.ndarray  # the line of each row


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Whole lines, some million bytes at a time."""
    first = stream.read(3)
    rest = b"" if first == b"\xef\xbb\xbf" else first
    while text := stream.read(BYTES_AT_ONCE):
        whole, end, part = text.rpartition(b"\n")
        if end:
            yield rest + whole + end
            rest = part
        else:
            rest += text
    if rest:
        yield rest


def _parsed(text: bytes, source: str, above: int) -> Block:
    """Parse lines, of which there are `above` before them in the file."""
    found = parse_pairs(text)
    if found is not None:
        return Block(*found, np.arange(above + 1, above + 1 + len(found[0])))
    labels, counts, values = array("d"), array("q"), array("d")
    columns, lines = array("q"), array("q")
    for number, line in enumerate(text.split(b"\n"), above + 1):
        if b"#" in line:
            line = line.partition(b"#")[0]
        if ROW.fullmatch(line) is None:
            if not line.strip():
                continue
            raise _complaint(line, source, number)
        first, *pairs = line.replace(b":", b" ").split()
        labels.append(float(first))
        columns.extend(map(int, pairs[::2]))
        values.extend(map(float, pairs[1::2]))
        counts.append(len(pairs) // 2)
        lines.append(number)
    return Block(*(np.array(x) for x in (labels, counts, columns, values, lines)))


def _checked_base(
    index: np.ndarray, indptr: np.ndarray, at: np.ndarray, base: int | None, source: str
) -> int:
    has_zero = index.size > 0 and index.min() == 0
    if base is None:
        return 0 if has_zero else 1
    if base == 1 and has_zero:
        row = int(np.searchsorted(indptr, int(index.argmin()), side="right")) - 1
        raise DataFileError(
            "expected indices from 1 on, found the index 0. If this file counts from 0, say "
            "--first-index 0, here and where the model was fitted.",
            source,
            int(at[row]),
        )
    return base


def _refuse_duplicates(X: csr_matrix, base: int, at: np.ndarray, source: str) -> None:
    same = np.flatnonzero(np.diff(X.indices) == 0) + 1
    same = same[~np.isin(same, X.indptr)]  # the last of a row and the first of the next may agree
    if same.size:
        row = int(np.searchsorted(X.indptr, same[0], side="right")) - 1
        raise DataFileError(
            f"feature {X.indices[same[0]] + base} is there twice; each may have one value in a "
            "row.",
            source,
            int(at[row]),
        )


def _complaint(line: bytes, source: str, number: int) -> DataFileError:
    """Say what is wrong with a line that is not a row, and where."""
    for k, token in enumerate(re.finditer(rb"\S+", line)):
        text, column = token[0], token.start() + 1
        shown = repr(text[:40].decode("utf-8", errors="replace"))
        if k == 0:
            if re.fullmatch(NUMBER, text):
                continue
            remark = ""
            if b":" in text:
                remark = "; rows without a label get any number in its place, such as 0"
            elif b"," in text:
                remark = "; several labels in a row are not supported, and CSV needs a header"
            message = f"expected a label (a number), found {shown}{remark}."
        elif re.fullmatch(PAIR, text):
            continue
        elif text.startswith(b"qid:"):
            message = "qid is for ranking, which is not supported; remove it from all rows."
        elif re.fullmatch(rb"\d{1,10}:[+-]?(nan|inf|infinity)?", text, re.IGNORECASE):
            message = (
                f"expected a finite number after the colon, found {shown}; leave a feature that is "
                "zero or unknown out of the row."
            )
        elif re.fullmatch(rb"\d+", text):
            message = f"expected index:value, such as 3:0.5, found {shown}; is there a space in it?"
        else:
            message = f"expected index:value, such as 3:0.5, found {shown}."
        return DataFileError(message, source, number, column)
    return DataFileError("cannot be read as label index:value ...", source, number)
