"""The arrays of a model file: their shapes are checked against one another before any is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from resolvent.io.errors import ModelFileError

__all__ = ["Reader", "rows_as_arrays", "safetensors"]

FLOATS, INTEGERS = ("F64", "F32"), ("I64", "I32")
Size = int | str


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

    def size(self, name: str, value: Any, least: int = 0) -> int:
        """Tell what a name stands for."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**62:
            raise ModelFileError(
                f"The file is damaged: {name} is {str(value)[:40]!r}, not a count of at least "
                f"{least}."
            )
        self.sizes[name] = value
        return value

    def read(
        self,
        name: str,
        shape: tuple[Size, ...],
        dtypes: tuple[str, ...] = FLOATS,
        *,
        finite: bool = True,
    ) -> np.ndarray:
        """Read an array of this shape and one of these types."""
        if name not in self.names:
            raise ModelFileError(f"The file is damaged: its array {name!r} is missing.")
        view = self.file.get_slice(name)
        dtype, found = view.get_dtype(), tuple(view.get_shape())
        if dtype not in dtypes:
            raise ModelFileError(
                f"The file is damaged: its array {name!r} is of type {dtype}, not "
                f"{' or '.join(dtypes)}."
            )
        wanted = tuple(self.sizes.get(x, x) if isinstance(x, str) else x for x in shape)
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
        array = self.file.get_tensor(name)
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(
                f"The file is damaged: its array {name!r} has values that are not finite."
            )
        return array

    def indices(self, name: str, shape: tuple[Size, ...], below: int) -> np.ndarray:
        """Read indices, all of at least 0 and below a bound."""
        array = self.read(name, shape, INTEGERS)
        if array.size and not (array.min() >= 0 and array.max() < below):
            raise ModelFileError(
                f"The file is damaged: its array {name!r} has an index outside 0 .. {below - 1}."
            )
        return array

    def rows(self, name: str, n: Size, d: int) -> Any:
        """Read a dense or a CSR matrix of n rows and d columns."""
        if name in self:
            return self.read(name, (n, d))
        starts = self.read(f"{name}.starts", (f"{name} + 1",), INTEGERS)
        count = self.sizes.get(n) if isinstance(n, str) else n
        data = self.read(f"{name}.data", (f"{name} nonzeros",))
        columns = self.indices(f"{name}.columns", (f"{name} nonzeros",), d)
        rising = len(starts) > 0 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        if not rising or starts[-1] != len(data) or count not in (None, len(starts) - 1):
            raise ModelFileError(f"The file is damaged: the rows of its matrix {name!r} overlap.")
        if isinstance(n, str):
            self.sizes[n] = len(starts) - 1
        return csr_matrix((data, columns, starts), shape=(len(starts) - 1, d))


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
