"""Sums over blocks, blocks made of others, and pairs of them: what estimators need of an engine.

There are two: `LocalEngine` here, by the threads of this process, and that of `resolvent.dask`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from resolvent._threads import run
from resolvent.blocks.block import Block, Kept, Source
from resolvent.blocks.reduce import Local, OutOfTimeError, apply

__all__ = ["KEPT", "Engine", "LocalEngine"]

KEPT = 0.5  # of the memory limit, for blocks


class Engine(Protocol):
    """A `Reducer` that makes others of it; blocks are in groups of ``2**level``."""

    level: int
    memory_limit: int | None  # of fits; None is what this machine has

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        ...

    @property
    def n_groups(self) -> int:
        """Number of groups of blocks."""
        ...

    @property
    def workers(self) -> int:
        """How many blocks are worked on at the same time."""
        ...

    def sum(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Sequence[Any] | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Sum of ``function(block, *args)``; with `each` one more argument, its entry for each."""
        ...

    def transformed(self, function: Callable[..., Any], *args: Any) -> Any:
        """Blocks passed through a function."""
        ...

    def on_pairs(
        self,
        function: Callable[..., Any],
        pairs: Sequence[tuple[int, int]],
        found: list[Any],
        *args: Any,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Put ``function(blocks, blocks, same, *args)`` of pairs of groups into `found`.

        What is known is there too where the time is over, or an interrupt has come.
        """
        ...

    def release(self) -> None:
        """Let go of the blocks."""
        ...


class _Made(Source):
    """Blocks passed through a function with arguments; what is wrong is said with its place."""

    def __init__(self, source: Source, function: Callable[..., Block], args: Any) -> None:
        self.source, self.function, self.args = source, function, args
        self.n_blocks = source.n_blocks

    def load(self, i: int) -> Block:
        """Load block i and pass it through."""
        made: Block | None = apply(self.function, self.source, i, self.args)
        return self.source.load(i) if made is None else made

    def place(self, i: int) -> str:
        """Where block i is from."""
        return self.source.place(i)


class LocalEngine(Local):
    """Sums over blocks by the threads of this process.

    Blocks are kept as far as there is room, and loaded or made again where they are not. While
    blocks are made of others, the latter are not kept: the room is for those that are in use.

    Parameters
    ----------
    source : Source
        The blocks.
    memory_limit : int
        Bytes, of which blocks that are kept may take half.
    parent : LocalEngine, optional
        Whose blocks these are made of.
    """

    level = 0

    def __init__(
        self, source: Source, memory_limit: int, parent: LocalEngine | None = None
    ) -> None:
        self.kept = Kept(source, int(KEPT * memory_limit))
        self.memory_limit, self.parent, self.children = memory_limit, parent, 0
        super().__init__(self.kept)
        if parent is not None:
            parent.children += 1
            parent.kept.forget(keep=False)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.kept.n_blocks

    @property
    def n_groups(self) -> int:
        """Number of groups, each of which is a block."""
        return self.kept.n_blocks

    def transformed(self, function: Callable[..., Any], *args: Any) -> LocalEngine:
        """Blocks passed through a function, when they are needed."""
        return LocalEngine(_Made(self.kept, function, args), self.memory_limit, self)

    def on_pairs(
        self,
        function: Callable[..., Any],
        pairs: Sequence[tuple[int, int]],
        found: list[Any],
        *args: Any,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Put ``function([block], [block], same, *args)`` of pairs of blocks into `found`."""

        def work(k: int) -> None:
            if is_over():
                raise OutOfTimeError
            a, b = pairs[k]
            first = self.kept.load(a)
            second = first if a == b else self.kept.load(b)
            found[k] = function([first], [second], a == b, *args)

        run(work, [(k,) for k in range(len(pairs))], True, self.workers)

    def release(self) -> None:
        """Let go of the blocks; those that they were made of may be kept again."""
        self.kept.forget(keep=False)
        if self.parent is not None:
            self.parent.children -= 1
            if not self.parent.children:
                self.parent.kept.forget()
