"""Sums over blocks, in a tree whose shape depends on the number of blocks alone.

A leaf is what a function gives for a block; the two children of a node are added left to right. So
every engine, whatever its threads or workers and whichever ends first, arrives at the same bits,
and any aligned range of 2^k blocks may be added up where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np

from resolvent._threads import one_blas_thread, run
from resolvent.blocks.block import Source

__all__ = ["Local", "OutOfTimeError", "Reducer", "Tree", "add", "apply"]


class OutOfTimeError(Exception):
    """A pass was given up because the time was over."""


class Reducer(Protocol):
    """Applies a function to every block and adds up the results."""

    @property
    def workers(self) -> int:
        """How many blocks are worked on at the same time."""
        ...

    def sum(
        self,
        function: Callable[..., Any],
        *args: Any,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Sum of ``function(block, *args)`` over all blocks.

        The function can be pickled, and gives numbers, arrays of fixed shape, None, and tuples of
        them; `add` says how they are added. `OutOfTimeError` is raised where `is_over` becomes true
        before the last block; Ctrl-C ends a pass too.
        """
        ...


def add(left: Any, right: Any) -> Any:
    """Add what two blocks gave, entry by entry; arrays in the place of the left one.

    A value with a method `merge`, such as the least and largest of something, is merged; None is
    what a block without rows gives.
    """
    if left is None or right is None:
        return right if left is None else left
    if hasattr(left, "merge"):
        return left.merge(right)
    if isinstance(left, tuple):
        parts = [add(a, b) for a, b in zip(left, right, strict=True)]
        return type(left)(*parts) if hasattr(left, "_fields") else tuple(parts)
    if isinstance(left, np.ndarray):
        if left.shape != right.shape:
            raise ValueError(
                "Blocks do not belong together: some have more features, or more columns of "
                f"targets, than others ({left.shape}, {right.shape})."
            )
        left += right
        return left
    return left + right


def apply(function: Callable[..., Any], source: Source, i: int, args: tuple[Any, ...]) -> Any:
    """Load a block and apply a function to it; what is wrong with its data is said with its place.

    Errors of reading have their place already. A block without rows gives None.
    """
    block = source.load(i)
    if not len(block):
        return None
    try:
        return function(block, *args)
    except ValueError as error:
        raise ValueError(f"{source.place(i)}: {error}") from None


class Tree:
    """A sum of numbered leaves, or of aligned ranges of 2^level leaves, in any order of arrival.

    At most about one value for each level, and one for each worker, waits for its sibling.
    """

    def __init__(self, leaves: int) -> None:
        self.leaves = leaves
        self.waiting: dict[tuple[int, int], Any] = {}
        self.result: Any = None
        self.lock = Lock()

    def put(self, place: int, value: Any, level: int = 0) -> None:
        """Put in the sum of the leaves from ``place * 2**level`` on."""
        while 1 << level < self.leaves:
            sibling = place ^ 1
            if sibling << level < self.leaves:  # the last nodes of a level may have no sibling
                with self.lock:
                    other = self.waiting.pop((level, sibling), None)
                    if other is None:
                        self.waiting[level, place] = value
                        return
                value = add(value, other) if place < sibling else add(other, value)
            level, place = level + 1, place >> 1
        self.result = value


class Local:
    """Sums over blocks in this process, by its threads: one block is loaded for each of them.

    Parameters
    ----------
    source : Source
        The blocks.
    workers : int, optional
        Number of threads; if not given as many as BLAS would use.
    """

    def __init__(self, source: Source, workers: int | None = None) -> None:
        self.source = source
        with one_blas_thread() as threads:
            self.workers = min(workers or threads, source.n_blocks)

    def sum(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Sequence[Any] | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Sum of ``function(block, *args)``; with `each` one more argument, its entry for each."""
        tree = Tree(self.source.n_blocks)

        def work(i: int) -> None:
            if is_over():
                raise OutOfTimeError
            own = args if each is None else (*args, each[i])
            tree.put(i, apply(function, self.source, i, own))

        run(work, [(i,) for i in range(self.source.n_blocks)], True, self.workers)
        return tree.result
