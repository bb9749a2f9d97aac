"""Blocks of rows: what every sum over a large set of data is taken over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from resolvent.grams.linear import LinearGram

__all__ = ["Block", "Kept", "Source", "Split", "Transform", "Transformed"]


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
        X = self.X
        parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
        parts += [part for part in (self.y, self.weight) if part is not None]
        return sum(part.nbytes for part in parts if not _is_mapped(part))

    def rows(self, some: slice) -> Block:
        """Take consecutive rows, without a copy of dense ones."""
        return Block(*(None if a is None else a[some] for a in (self.X, self.y, self.weight)))


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
    memory_limit : int, str or None
        What was asked for when it was made; a fit that has no limit of its own takes it.
    """

    n_blocks: int
    is_at_hand: bool = False
    memory_limit: Any = None

    @abstractmethod
    def load(self, i: int) -> Block:
        """Load block i, the same rows each time."""

    @abstractmethod
    def place(self, i: int) -> str:
        """Where block i is from, for messages."""

    def n_rows(self, i: int) -> int:
        """How many rows block i has; those that know need not load it."""
        return len(self.load(i))


Transform = Callable[[Block], Block]


class Transformed(Source):
    """The blocks of a source, each passed through a function when it is loaded.

    The function is at the top level of a module, or a NamedTuple with `__call__`, so that it can be
    pickled: it scales rows, say, or computes features of landmarks.
    """

    def __init__(self, source: Source, transform: Transform) -> None:
        self.source, self.transform = source, transform
        self.n_blocks, self.memory_limit = source.n_blocks, source.memory_limit

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
        self.lock = Lock()
        self.forget()

    def forget(self, keep: bool = True) -> None:
        """Let go of the blocks, and keep others, or none, from now on."""
        self.held: dict[int, Block] = {}
        self.room = self.limit if keep else -1

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


class Split(Source):
    """The blocks of a source in pieces of few rows each, for functions that make much of a row.

    A row group of a file may be the least that can be read, and features of it larger than memory.
    The blocks that pieces were last taken from are held, as many as there are threads; a piece that
    another thread reads for is waited for.

    Parameters
    ----------
    source : Source
        The blocks.
    rows : int
        Rows of a piece, at most.
    held : int
        Blocks that are held.
    """

    def __init__(self, source: Source, rows: int, held: int = 2) -> None:
        self.source, self.most = source, held
        self.is_at_hand, self.memory_limit = source.is_at_hand, source.memory_limit
        self.pieces: list[tuple[int, int, int]] = []
        for i in range(source.n_blocks):
            n = source.n_rows(i)
            count = max(1, -(-n // rows))
            ends = [n * k // count for k in range(count + 1)]
            self.pieces += [(i, *pair) for pair in pairwise(ends)]
        self.n_blocks = len(self.pieces)
        self._empty()

    def _empty(self) -> None:
        self.lock = Lock()
        self.loaded: dict[int, tuple[Lock, list[Block]]] = {}

    def load(self, i: int) -> Block:
        """Load the block that piece i is of, unless it is held, and take the piece."""
        whole, start, stop = self.pieces[i]
        with self.lock:
            entry = self.loaded.pop(whole, None) or (Lock(), [])
            self.loaded[whole] = entry  # the last one used is last
            for old in list(self.loaded)[: -self.most]:
                del self.loaded[old]
        lock, block = entry
        with lock:
            if not block:
                block.append(self.source.load(whole))
        return block[0].rows(slice(start, stop))

    def place(self, i: int) -> str:
        """Where piece i is from."""
        whole, start, stop = self.pieces[i]
        return f"{self.source.place(whole)}, rows {start} to {stop - 1} of it"

    def n_rows(self, i: int) -> int:
        """How many rows piece i has."""
        _, start, stop = self.pieces[i]
        return stop - start

    def __getstate__(self) -> Any:
        return {k: v for k, v in vars(self).items() if k not in ("lock", "loaded")}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self._empty()
