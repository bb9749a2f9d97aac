"""The arrays of a model file: their shapes are checked against one another before any is read."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse

from resolvent.grams.memory import fits_in_memory
from resolvent.io.errors import ModelFileError

__all__ = ["INTEGERS", "Array", "Reader", "check_width", "rows_as_arrays", "safetensors"]

FLOATS, INTEGERS = ("F64", "F32"), ("I64", "I32")
MOST_FEATURES = 2**31 - 1
Size = int | str


class Array(NamedTuple):
    """What an array of a file must be like."""

    shape: tuple[Size, ...]  # of numbers and of names, see `Reader`
    types: tuple[str, ...] = FLOATS
    finite: bool = True
    least: float = -math.inf
    below: Size = ""  # what all values are below, where there is such a bound


def safetensors() -> Any:
    """Import the library of the format."""
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            "Model files need the package safetensors: pip install safetensors."
        ) from error
    return safetensors


class Reader:
    """Reads arrays from an open file.

    A size of a shape is a number or a name. A name stands for the same number in all arrays: the
    first array that has it tells which.

    Parameters
    ----------
    file : safe_open
        The file; safetensors has checked that every array lies within it.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        self.names = set(file.keys())
        self.sizes: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def size(self, name: str, value: Any, least: int = 0, most: int = 2**53) -> int:
        """Tell what a name stands for."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ModelFileError(
                f"The file is damaged: {name} is {str(value)[:40]!r}, not a count from {least} to "
                f"{most}."
            )
        self.sizes[name] = value
        return value

    def read(self, name: str, array: Array) -> np.ndarray:
        """Read an array that is as described."""
        if name not in self.names:
            raise ModelFileError(f"The file is damaged: its array {name!r} is missing.")
        view = self.file.get_slice(name)
        dtype, found = view.get_dtype(), tuple(view.get_shape())
        if dtype not in array.types:
            raise ModelFileError(
                f"The file is damaged: its array {name!r} is of type {dtype}, not "
                f"{' or '.join(array.types)}."
            )
        wanted = tuple(self._known(x) for x in array.shape)
        fits = len(found) == len(wanted) and all(
            isinstance(want, str) or have == want for have, want in zip(found, wanted, strict=True)
        )
        if not fits:
            raise ModelFileError(
                f"The file is damaged: its array {name!r} has shape {found}, where the others ask "
                f"for {wanted}."
            )
        for want, have in zip(wanted, found, strict=True):
            if isinstance(want, str):
                self.sizes[want] = have
        values = self.file.get_tensor(name)
        self._check(name, array, values)
        return values

    def _known(self, size: Size) -> Size:
        return self.sizes.get(size, size) if isinstance(size, str) else size

    def _check(self, name: str, array: Array, values: np.ndarray) -> None:
        if array.finite and values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ModelFileError(
                f"The file is damaged: its array {name!r} has values that are not finite."
            )
        below = self._known(array.below) if array.below else math.inf
        bounded = array.least > -math.inf or array.below
        if bounded and values.size and not (values.min() >= array.least and values.max() < below):
            raise ModelFileError(
                f"The file is damaged: its array {name!r} has a value that is not from "
                f"{array.least:g} on and below {below}."
            )

    def rows(self, name: str, n: Size, d: int) -> Any:
        """Read a dense or a CSR matrix of n rows and d columns."""
        if name in self:
            return self.read(name, Array((n, d)))
        starts = self.read(f"{name}.starts", Array((f"{name} + 1",), INTEGERS))
        count = self.sizes.get(n) if isinstance(n, str) else n
        data = self.read(f"{name}.data", Array((f"{name} nonzeros",)))
        columns = self.read(
            f"{name}.columns", Array((f"{name} nonzeros",), INTEGERS, least=0, below=d)
        )
        check_width(d)
        rising = len(starts) > 0 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        if not rising or starts[-1] != len(data) or count not in (None, len(starts) - 1):
            raise ModelFileError(f"The file is damaged: the rows of its matrix {name!r} overlap.")
        if isinstance(n, str):
            self.sizes[n] = len(starts) - 1
        return csr_matrix((data, columns, starts), shape=(len(starts) - 1, d))


def check_width(d: int) -> None:
    """Refuse sparse rows so wide that there is no memory to multiply with them."""
    if not fits_in_memory(8 * d):
        raise ModelFileError(
            f"The model has {d:,} features, for which there is not enough free memory."
        )


def rows_as_arrays(name: str, rows: Any) -> dict[str, np.ndarray]:
    """Name the arrays of a dense or a CSR matrix, as `Reader.rows` reads them."""
    if not issparse(rows):
        return {name: np.ascontiguousarray(rows)}
    rows = rows.tocsr()
    index = np.int64 if max(rows.nnz, math.prod(rows.shape[1:])) >= 2**31 else np.int32
    return {
        f"{name}.data": rows.data,
        f"{name}.columns": rows.indices.astype(index),
        f"{name}.starts": rows.indptr.astype(index),
    }
