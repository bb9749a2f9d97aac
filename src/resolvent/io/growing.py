"""Vectors that grow as a file is read, without a second copy of them at any time."""

from __future__ import annotations

import numpy as np

__all__ = ["Growing"]

ROOM = 1.25  # factor of growth


class Growing:
    """A vector to which parts are added.

    Large vectors are moved by the operating system, which copies nothing; many small ones, to be
    put together at the end, would be there twice, and leave gaps that are not given back.
    """

    def __init__(self) -> None:
        self.values, self.size = np.empty(0), 0

    def add(self, part: np.ndarray) -> None:
        """Add a part, of a type that has room for its numbers or is made wider."""
        if not self.size:
            self.values = np.empty(0, dtype=part.dtype)
        elif part.dtype != self.values.dtype:
            self.values = self.values.astype(np.result_type(part, self.values))
        end = self.size + len(part)
        if end > len(self.values):
            self.values.resize(max(end, int(ROOM * len(self.values))), refcheck=False)
        self.values[self.size : end] = part
        self.size = end

    def finish(self) -> np.ndarray:
        """Return the vector."""
        self.values.resize(self.size, refcheck=False)
        return self.values
