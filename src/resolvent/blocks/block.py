"""Blocks of rows: what every sum over a large set of data is taken over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from resolvent.grams.linear import LinearGram

__all__ = ["Block", "Kept", "Source", "Transform", "Transformed"]


@dataclass(frozen=True)
class Block:
    """Some rows of the data, with their targets and weights.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        Features.
    y : ndarray of shape (n,) or (n, m), or None
        Targets, or labels; None where there are only rows to predict.
    weight : ndarray of shape (n,) or (n, m), optional
        Weights of the samples; None is 1 for each.
    """

    X: Any
    y: Any = None
    weight: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def gram(self) -> LinearGram:
        """Products with X, which is checked to be finite when they are first asked for."""
        return LinearGram(self.X)

    @property
    def nbytes(self) -> int:
        """Memory that it takes; rows of a mapped file take none."""
        X = self.gram.X
        parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
        parts += [part for part in (self.y, self.weight) if part is not None]
        return sum(part.nbytes for part in parts if not _is_mapped(part))


def _is_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory map."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


class Source(ABC):
    """Blocks of rows that can be loaded one by one, again at any time, by several threads at once.

    A source can be pickled, and is small then if its data are in files.

    Attributes
    ----------
    n_blocks : int
        How many there are.
    is_at_hand : bool
        Whether blocks are views of what is in memory or mapped, so that to keep them costs nothing.
    """

    n_blocks: int
    is_at_hand: bool = False

    @abstractmethod
    def load(self, i: int) -> Block:
        """Load block i, the same rows each time."""

    @abstractmethod
    def place(self, i: int) -> str:
        """Where block i is from, for messages."""


Transform = Callable[[Block], Block]


class Transformed(Source):
    """The blocks of a source, each passed through a function when it is loaded.

    The function is at the top level of a module, or a NamedTuple with `__call__`, so that it can be
    pickled: it scales rows, say, or computes features of landmarks.
    """

    def __init__(self, source: Source, transform: Transform) -> None:
        self.source, self.transform = source, transform
        self.n_blocks = source.n_blocks

    def load(self, i: int) -> Block:
        """Load block i and transform it."""
        return self.transform(self.source.load(i))

    def place(self, i: int) -> str:
        """Where block i is from."""
        return self.source.place(i)


class Kept(Source):
    """The blocks of a source, of which as many as fit stay in memory once they are loaded.

    They are those that are loaded first: since every pass is over all blocks, to drop one for
    another would gain nothing.
    """

    def __init__(self, source: Source, limit: int) -> None:
        self.source, self.limit, self.n_blocks = source, limit, source.n_blocks
        self._forget()

    def _forget(self) -> None:
        self.held: dict[int, Block] = {}
        self.room = self.limit
        self.lock = Lock()

    def load(self, i: int) -> Block:
        """Load block i unless it was kept."""
        block = self.held.get(i)
        if block is None:
            block = self.source.load(i)
            size = 0 if self.source.is_at_hand else block.nbytes
            with self.lock:
                if i not in self.held and size <= self.room:
                    self.room -= size
                    self.held[i] = block
        return block

    def place(self, i: int) -> str:
        """Where block i is from."""
        return self.source.place(i)

    def __getstate__(self) -> Any:
        return self.source, self.limit

    def __setstate__(self, state: Any) -> None:
        self.source, self.limit = state
        self.n_blocks = self.source.n_blocks
        self._forget()
