"""What the command line has to know of a table in blocks before it fits: some looks at all rows.

The columns of such a table are numbers, so that there is nothing to encode:
features are scaled, and the target is seen for labels or for numbers. The model is tried
on a sample of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from resolvent.blocks.block import Block
from resolvent.blocks.reduce import Reducer
from resolvent.tabular import Column, Features

__all__ = ["Seen", "look_at", "rescaled"]

SAMPLE = 20_000  # rows that the model is tried on, about
MOST = 1001  # different values of a target that are looked at


class Values(NamedTuple):
    """Different values of a target, the first `MOST`; one that is not whole if there is any."""

    values: np.ndarray

    def merge(self, other: Values) -> Values:
        """Merge with those of other rows."""
        if (self.values.dtype.kind in "iufb") != (other.values.dtype.kind in "iufb"):
            raise ValueError("The target has words in some blocks and numbers in others.")
        return few(np.concatenate([self.values, other.values]))


def few(y: np.ndarray) -> Values:
    """Choose the values that are looked at."""
    values = np.unique(y)
    if len(values) <= MOST or values.dtype.kind != "f":
        return Values(values[:MOST])
    broken = values[values != np.round(values)][:1]
    return Values(np.unique(np.append(values[: MOST - len(broken)], broken)))


class Seen(NamedTuple):
    """What was seen of a table.

    Attributes
    ----------
    features : Features
        What is to be done to rows.
    rows : int
        How many there are.
    target : ndarray
        Different values of the target: at least one that is not whole if there is any.
    sample : Block
        Some of the rows, all where there are few.
    """

    features: Features
    rows: int
    target: np.ndarray
    sample: Block


def rescaled(block: Block, features: Features, are_labels: bool = False) -> Block:
    """Scale the rows of a block, in their precision; targets are integers if they are labels."""
    X, y = block.X, block.y
    if features.factor is not None:
        shift = 0.0 if features.shift is None else features.shift
        X = ((X - shift) * features.factor).astype(X.dtype)
    return Block(X, y.astype(np.int64) if are_labels else y, block.weight)


class Rows(NamedTuple):
    """Rows of blocks with their targets, one after another."""

    X: np.ndarray
    y: np.ndarray

    def merge(self, other: Rows) -> Rows:
        """Append those of later blocks."""
        return Rows(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Ends(NamedTuple):
    """Least and largest entries of columns."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: Ends) -> Ends:
        """Give those of both."""
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def look_at(reducer: Reducer, names: list[str], scale: str) -> Seen:
    """Learn how to scale the columns of a table, and what its target is.

    Parameters
    ----------
    reducer : Reducer
        The table.
    names : list of str
        Names of its columns.
    scale : {"standard", "minmax", "none"}
        How to scale them.
    """
    rows, first = reducer.sum(totals)
    features = _scaled(reducer, Features(len(names), tuple(map(Column, names))), scale, first)
    target = reducer.sum(target_values).values
    sample = reducer.sum(every, max(1, -(-int(rows) // SAMPLE)))
    return Seen(features, int(rows), target, Block(*sample))


def _scaled(reducer: Reducer, plain: Features, scale: str, first: np.ndarray) -> Features:
    """Features with shifts and factors, from further looks at the blocks."""
    if scale == "none":
        return plain
    if scale == "standard":
        rows = first[0]
        shift = first[1:] / rows
        spread = np.sqrt(reducer.sum(squares, shift) / rows)
        spread[spread <= 1e-14 * np.abs(shift)] = 0.0  # constant but for rounding
    else:
        found = reducer.sum(ends)
        shift, spread = found.low, found.high - found.low
    usable = (spread > 0.0) & np.isfinite(spread)
    factor = np.divide(1.0, spread, out=np.ones(plain.width), where=usable)
    return Features(plain.width, plain.columns, plain.base, scale, shift, factor)


def totals(block: Block) -> tuple[float, np.ndarray]:
    """Count the rows; that, and sums of the columns."""
    n = float(len(block))
    return n, np.append(n, block.gram.X.sum(axis=0, dtype=np.float64))


def squares(block: Block, mean: np.ndarray) -> np.ndarray:
    """Add up squares of the differences from a mean, by column."""
    shifted = block.X - mean
    return np.einsum("ij,ij->j", shifted, shifted)


def ends(block: Block) -> Ends:
    """Find the least and the largest entry of each column."""
    return Ends(block.X.min(axis=0).astype(float), block.X.max(axis=0).astype(float))


def target_values(block: Block) -> Values:
    """Look at the targets of a block."""
    y = block.y
    if y.dtype.kind not in "iufb":
        return few(y.astype(str))
    if not np.isfinite(y).all():
        raise ValueError("the target is missing, or infinite, in a row; remove such rows.")
    return few(y)


def every(block: Block, step: int) -> Rows:
    """Take every so many-th row."""
    return Rows(np.asarray(block.X[::step]), np.asarray(block.y[::step]))
