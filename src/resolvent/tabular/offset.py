"""A column of a table that holds offsets of scores, or exposures, whose logarithms these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from resolvent.tabular.errors import DataFileError
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = ["OffsetColumn"]


class OffsetColumn(NamedTuple):
    """The column, or array, with the offset of each row.

    Attributes
    ----------
    name : str
        Its name.
    is_exposure : bool
        Whether it holds exposures.
    """

    name: str
    is_exposure: bool

    def read(self, raw: Matrix | Table, note: Callable[[str], None] | None = None) -> Any:
        """Offsets of the rows of data; None, which a note says, where there is no such column."""
        columns = raw.columns if isinstance(raw, Table) else raw.arrays
        values: Any = columns.get(self.name)
        what = "exposure" if self.is_exposure else "offset"
        if values is None:
            if note is not None:
                one = "an exposure of 1" if self.is_exposure else "an offset of 0"
                note(f"no column {self.name!r} with the {what}; predictions are for {one}.")
            return None
        is_numbers = not isinstance(values, TextColumn) and values.dtype.kind in "iuf"
        known = values.astype(float) if is_numbers else np.full(len(raw), np.nan)
        wrong = ~np.isfinite(known) | (known <= 0.0 if self.is_exposure else False)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            place = raw.place(row, self.name) if isinstance(raw, Table) else {"source": raw.source}
            size = " above zero" if self.is_exposure else ""
            raise DataFileError(f"the {what} {self.name!r} must be a number{size}.", **place)
        return np.log(known) if self.is_exposure else known
