"""What estimators learn of the data before they fit: labels, units of targets, moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent.blocks.block import Block
from resolvent.blocks.reduce import Reducer
from resolvent.losses import Envelope
from resolvent.losses.units import NORMAL_QUARTILES, ROUNDING, has_link, has_unit

__all__ = [
    "Classes",
    "Shape",
    "classes_of",
    "one_target",
    "reweighted",
    "shape_of",
    "spreads",
    "units_of",
]

DIGITS = 16  # bits of a target that a pass of the search for quartiles looks at
SIGN = np.uint64(1 << 63)


class Shape(NamedTuple):
    """Count of rows, features, and columns of targets (0 of a vector), where blocks agree."""

    rows: int
    features: int
    targets: int

    def merge(self, other: Shape) -> Shape:
        """Merge with that of other rows."""
        for name, a, b in (
            ("features", self.features, other.features),
            ("columns of targets", self.targets, other.targets),
        ):
            if a != b:
                raise ValueError(f"Blocks have {a} and {b} {name}.")
        return Shape(self.rows + other.rows, self.features, self.targets)


def shape_of(reducer: Reducer) -> Shape:
    """Count the rows, features and columns of targets of all blocks."""
    found: Shape | None = reducer.sum(shape)
    if found is None or found.features == 0:
        raise ValueError("X has no rows or no columns: nothing is there to fit.")
    return found


def shape(block: Block) -> Shape:
    """Give the shape of a block."""
    if block.y is None:
        raise ValueError("y is not given.")
    return Shape(len(block), int(block.X.shape[1]), block.y.shape[1] if block.y.ndim > 1 else 0)


# ---- classes --------------------------------------------------------------------------------


class Classes(NamedTuple):
    """Labels, sorted, and the sum of the weights of each."""

    labels: np.ndarray
    weight: np.ndarray

    def merge(self, other: Classes) -> Classes:
        """Merge with those of other rows."""
        labels, index = np.unique(np.append(self.labels, other.labels), return_inverse=True)
        return Classes(labels, np.bincount(index, np.append(self.weight, other.weight)))


def classes_of(reducer: Reducer) -> Classes:
    """Find the labels whose weight is not zero, and their weights."""
    found: Classes = reducer.sum(labels)
    return Classes(*(a[found.weight > 0.0] for a in found))


def labels(block: Block) -> Classes:
    """Find the labels of a block."""
    if block.y.ndim == 2 and block.y.shape[1] == 1:
        block = Block(block.X, block.y[:, 0], block.weight)
    if block.y.ndim != 1:
        raise ValueError(f"y has shape {block.y.shape}; one label for each row is needed.")
    if block.y.dtype.kind == "f" and not np.isfinite(block.y).all():
        raise ValueError("y has labels that are NaN or infinite.")
    found, index = np.unique(block.y, return_inverse=True)
    return Classes(found, np.bincount(index, block.weight, len(found)).astype(float))


def reweighted(block: Block, known: np.ndarray, factors: np.ndarray) -> Block:
    """Multiply weights by factors of the classes, and leave out rows of weight zero."""
    y = block.y.reshape(len(block))
    weight = np.ones(len(block)) if block.weight is None else np.asarray(block.weight, float)
    kept = np.flatnonzero(weight > 0.0)
    X = block.X
    if len(kept) < len(y):
        X, y, weight = X[kept], y[kept], weight[kept]
    return Block(X, y, weight * factors[np.searchsorted(known, y)])


# ---- units of targets -----------------------------------------------------------------------


def units_of(reducer: Reducer, loss: Any, columns: int) -> list[float]:
    """Find the unit of each column of targets as :func:`resolvent.losses.units.unit_of` does.

    The quartiles are found to the bit: floating-point numbers in order are whole numbers in order,
    and each pass adds up the weights of 2^16 ranges of them.
    """
    inner = loss.loss if isinstance(loss, Envelope) else loss
    if not has_unit(loss):
        return [1.0] * columns
    found: Moments = reducer.sum(moments)
    mean = found.first / found.weight
    if has_link(inner):
        sizes = mean
    else:
        quartiles = _quartiles(reducer, found.weight, columns)
        sizes = (quartiles[1] - quartiles[0]) / NORMAL_QUARTILES
        if (sizes <= ROUNDING * found.largest).any():
            spread = np.sqrt(reducer.sum(deviations, mean) / found.weight)
            sizes = np.where(sizes > ROUNDING * found.largest, sizes, spread)
    usable = (found.largest > 0.0) & np.isfinite(found.largest) & (sizes > ROUNDING * found.largest)
    return np.where(usable, sizes, 1.0).tolist()


class Moments(NamedTuple):
    """Sums of weights and of weighted targets, and the largest magnitudes, by column."""

    weight: np.ndarray
    first: np.ndarray
    largest: np.ndarray

    def merge(self, other: Moments) -> Moments:
        """Merge with those of other rows."""
        largest = np.maximum(self.largest, other.largest)
        return Moments(self.weight + other.weight, self.first + other.first, largest)


def _targets(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Targets (n, m) and weights (n,) of the rows whose weight is not zero."""
    if block.y.dtype.kind not in "iufb":
        raise ValueError(f"y is of {block.y.dtype}; numbers are needed.")
    y = np.asarray(block.y, float)
    y = y[:, None] if y.ndim == 1 else y
    if block.weight is None:
        return y, np.ones(len(y))
    weight = np.asarray(block.weight, float)
    return y[weight > 0.0], weight[weight > 0.0]


def moments(block: Block) -> Moments:
    """Add up moments of the targets of a block."""
    y, weight = _targets(block)
    largest = np.abs(y).max(axis=0, initial=0.0)
    return Moments(np.full(y.shape[1], weight.sum()), weight @ y, largest)


def deviations(block: Block, mean: np.ndarray) -> np.ndarray:
    """Add up weighted squares of differences from a mean, by column."""
    y, weight = _targets(block)
    return np.asarray(weight @ (y - mean) ** 2)


def _quartiles(reducer: Reducer, total: np.ndarray, columns: int) -> np.ndarray:
    """Find the lower and upper quartiles, (2, columns)."""
    prefixes = np.zeros((2, columns), np.uint64)
    left = np.array([[0.25], [0.75]]) * total - ROUNDING * total
    for shift in range(64 - DIGITS, -1, -DIGITS):
        below = reducer.sum(weights_by_digit, prefixes, shift).cumsum(axis=2)
        for q, j in np.ndindex(2, columns):
            digit = min(int(np.searchsorted(below[q, j], left[q, j])), (1 << DIGITS) - 1)
            left[q, j] -= below[q, j, digit - 1] if digit else 0.0
            prefixes[q, j] = (prefixes[q, j] << np.uint64(DIGITS)) | np.uint64(digit)
    bits = np.where(prefixes & SIGN, prefixes ^ SIGN, ~prefixes)
    return bits.view(np.float64)


def weights_by_digit(block: Block, prefixes: np.ndarray, shift: int) -> np.ndarray:
    """Add up the weights of targets by a digit of their number in order, below given digits."""
    y, weight = _targets(block)
    result = np.zeros((*prefixes.shape, 1 << DIGITS))
    for j in range(y.shape[1]):
        bits = (np.ascontiguousarray(y[:, j]) + 0.0).view(np.uint64)
        number = np.where(bits & SIGN, ~bits, bits | SIGN)
        digit = ((number >> np.uint64(shift)) & np.uint64((1 << DIGITS) - 1)).astype(np.intp)
        top = shift + DIGITS
        for q in range(len(prefixes)):
            inside = slice(None) if top == 64 else (number >> np.uint64(top)) == prefixes[q, j]
            result[q, j] = np.bincount(digit[inside], weight[inside], 1 << DIGITS)
    return result


def one_target(block: Block, column: int) -> Block:
    """Take one column of targets."""
    return Block(block.X, np.ascontiguousarray(block.y[:, column]), block.weight)


def spreads(block: Block, weights: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Add up ones, scores without offset, targets less a shift, and their squares, by column."""
    kept = slice(None) if block.weight is None else np.asarray(block.weight) > 0.0
    y = _targets(block)[0] - shift
    s = block.gram.scores(weights).T[kept]
    sums = [a.sum(axis=0) for a in (s, s**2, y, y**2)]
    return np.array([np.full(len(weights), float(len(y))), *np.broadcast_arrays(*sums)])
