"""What runs on the workers: tasks load groups of blocks, and add up functions of them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from resolvent._threads import one_blas_thread
from resolvent.blocks import Block, Local, Source
from resolvent.blocks.reduce import Tree, apply

__all__ = [
    "Call",
    "Group",
    "as_block",
    "combine",
    "load",
    "on_pair",
    "read",
    "same",
    "sum_group",
    "transform",
]


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
KEPT_FREE = 1 << 26  # bytes that a worker keeps for the next arrays,
LARGE_ARRAY = 1 << 23  # and from which on an array is not from those


@cache
def keep_free_memory() -> None:
    """Let a worker use memory again that it has just given back.

    Dask has workers return all of it to the system at once, with the effect that every array of
    more than 128 kB is of new pages, which the system fills with zeros: that takes as long as the
    sums that the arrays are for.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    with suppress(OSError, AttributeError):  # where the C library is not glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT_FREE)
        mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)


class Call:
    """A function with arguments, which Dask takes as it is: nothing in it is looked into."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args


def same(call: Call) -> Call:
    """Hold a large call, which workers then have from each other."""
    return call


class Group(Source):
    """Consecutive blocks in the memory of a worker, with the places that they are from.

    It is pickled, when it is spilled to disk or sent, without what is derived from its arrays.
    """

    is_at_hand = True

    def __init__(self, blocks: Sequence[Block], places: Sequence[str]) -> None:
        self.blocks, self.places = list(blocks), list(places)
        self.n_blocks = len(self.blocks)

    def load(self, i: int) -> Block:
        """Give block i."""
        return self.blocks[i]

    def place(self, i: int) -> str:
        """Where block i is from."""
        return self.places[i]

    def __sizeof__(self) -> int:
        """Bytes of the arrays, by which Dask decides what to spill."""
        return sum(_bytes(a) for b in self.blocks for a in (b.X, b.y, b.weight))

    def __reduce__(self) -> Any:
        return _group, ([(b.X, b.y, b.weight) for b in self.blocks], self.places)


def _group(blocks: list[tuple[Any, Any, Any]], places: list[str]) -> Group:
    return Group([Block(*block) for block in blocks], places)


def _bytes(array: Any) -> int:
    parts = (array.data, array.indices, array.indptr) if hasattr(array, "indptr") else (array,)
    return sum(getattr(part, "nbytes", 0) for part in parts)


def load(
    Xs: Sequence[Any], ys: Sequence[Any], weights: Sequence[Any], places: Sequence[str]
) -> Group:
    """Make a group of what other tasks have computed: arrays, CSR matrices or pandas objects."""
    given = zip(Xs, ys, weights, places, strict=True)
    return Group([as_block(*one) for one in given], places)


def read(source: Source, indices: Sequence[int]) -> Group:
    """Read a group of blocks of a source, such as files that the worker can open."""
    blocks = []
    for i in indices:
        block = source.load(i)
        blocks.append(as_block(block.X, block.y, block.weight, source.place(i)))
    return Group(blocks, [source.place(i) for i in indices])


def as_block(X: Any, y: Any, weight: Any, place: str) -> Block:
    """Check what there is of some rows, and make arrays of it."""
    from resolvent._frames import as_frame, refuse_what_is_no_number

    try:
        frame = as_frame(X)
        if frame is not None:
            refuse_what_is_no_number(X)
            X = np.column_stack([column.to_numpy() for column in frame.iter_columns()])
        elif not hasattr(X, "indptr"):
            X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X has shape {X.shape}; rows and columns are needed.")
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        y, weight = (None if a is None else np.asarray(a) for a in (y, weight))
        for name, a in (("y", y), ("sample_weight", weight)):
            if a is not None and (not a.shape or len(a) != X.shape[0]):
                raise ValueError(
                    f"X has {X.shape[0]} rows and {name} {len(a) if a.shape else 'none'}: they "
                    "must be split alike."
                )
        if weight is not None and not _are_weights(weight):
            raise ValueError("sample_weight has a value that is negative or not finite.")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None
    return Block(X, y, weight)


def _are_weights(weight: np.ndarray) -> bool:
    usable = weight.dtype.kind in "iufb" and np.isfinite(weight).all() and (weight >= 0).all()
    return bool(usable)


def transform(
    group: Group, call: Call, each: Sequence[Any] | None = None, beside: Any = None
) -> Group:
    """Pass the blocks of a group through a function, with arguments as in `sum_group`."""
    keep_free_memory()
    with one_blas_thread():
        found = [
            apply(call.function, group, i, _arguments(call, each, i, beside))
            for i in range(group.n_blocks)
        ]
    blocks = [old if new is None else new for new, old in zip(found, group.blocks, strict=True)]
    return Group(blocks, group.places)


def _arguments(call: Call, each: Sequence[Any] | None, i: int, beside: Any) -> tuple[Any, ...]:
    """Arguments of a call for block i: one more if there is one for `each`, one if for all."""
    own = () if each is None else (each[i],)
    return (*call.args, *own) if beside is None else (*call.args, *own, beside)


def on_pair(first: Group, second: Group, call: Call, same: bool) -> Any:
    """Apply a call to two groups, which may be the same."""
    keep_free_memory()
    return call.function(first.blocks, second.blocks, same, *call.args)


def sum_group(
    group: Group, call: Call, each: Sequence[Any] | None = None, beside: Any = None
) -> Any:
    """Sum of a call over the blocks of a group.

    There is one more argument for each block in `each`, and a last one `beside`, if they are given.
    """
    keep_free_memory()
    if each is None and beside is None:
        return Local(group, workers=1).sum(call.function, *call.args)
    tree = Tree(group.n_blocks)
    with one_blas_thread():
        for i in range(group.n_blocks):
            tree.put(i, apply(call.function, group, i, _arguments(call, each, i, beside)))
    return tree.result


def combine(values: Sequence[Any], level: int, leaves: int) -> Any:
    """Add the sums of consecutive ranges of ``2**level`` leaves, of which there are `leaves`.

    They are results of other tasks, which may be needed again: they are not changed.
    """
    tree = Tree(leaves)
    for i, value in enumerate(values):
        tree.put(i, own(value), level)
    return tree.result


def own(value: Any) -> Any:
    """Copy the arrays of what was summed, which may be shared or read-only."""
    if isinstance(value, tuple):
        parts = [own(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copy() if isinstance(value, np.ndarray) else value
