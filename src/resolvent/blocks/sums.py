"""What is computed of a block: losses, conjugates and products with its rows, whose sums are small.

With centre 0 the coefficients of a point (w, b) are c_i = -J_sigma(sigma (x_i'w + b)), the slopes
of the losses made smooth (their envelope of parameter sigma). They are in the domain of the dual,
and never leave the block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent.blocks.block import Block
from resolvent.problem import Array, check_sample_weight, sums, times_weight
from resolvent.problem.problem import check_targets

__all__ = [
    "Along",
    "At",
    "Extent",
    "LineSums",
    "PointSums",
    "Survey",
    "Task",
    "check_weight",
    "measure",
    "survey",
]


class Task(NamedTuple):
    """What is minimised: sum_i C_i L(y_i, x_i'w + b) + |w|^2 / 2, for each column of targets.

    With `classes` the y of a block are labels: two classes make one column, +1 where y is the
    second of them; of more there is a column for each.
    """

    loss: Any
    C: float
    classes: tuple[Any, ...] = ()

    def n_columns(self, block: Block) -> int:
        """Give the number of columns."""
        if self.classes:
            return 1 if len(self.classes) == 2 else len(self.classes)
        return 1 if block.y.ndim == 1 else int(block.y.shape[1])

    def targets(self, block: Block, j: int) -> tuple[Array, Array]:
        """Targets of column j, and C times the weights."""
        y, weight = block.y, block.weight
        if self.classes:
            positive = self.classes[j + (len(self.classes) == 2)]
            y = np.where(y == positive, 1.0, -1.0)
        elif y.ndim == 2:
            y = y[:, j]
        if weight is None:
            C = np.full(len(block), self.C)
        else:
            C = self.C * np.asarray(weight[:, j] if weight.ndim == 2 else weight, float)
        return np.ascontiguousarray(y, dtype=float), np.ascontiguousarray(C)


class Extent(NamedTuple):
    """The least and the largest of something."""

    low: Any
    high: Any

    def merge(self, other: Extent) -> Extent:
        """Give that of both."""
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Survey(NamedTuple):
    """What is asked of the data before the first step; arrays have an entry for each column."""

    rows: int
    is_vector: Extent  # whether they are one column, and no matrix
    entries: int  # of X that are stored
    squares: Array  # sum of x_ij^2, for each feature
    C: Array  # sum of C_i
    y: Array  # sum of C_i y_i
    y_squares: Array  # sum of C_i y_i^2
    extent: Extent  # of the targets whose weight is not zero
    at_zero: Array  # sum of C_i L(y_i, 0)
    slopes: Array  # sum of the |C_i L'(y_i, 0)|


class At(NamedTuple):
    """Ask for the sums at a point of column `column`."""

    column: int
    w: Array
    b: float
    sigma: float
    curved: bool = True  # second derivatives too


class PointSums(NamedTuple):
    """Sums at a point, of s_i = x_i'w + b, c_i and D_i, minus the derivative of c_i."""

    losses: float  # C_i L(y_i, s_i)
    conjugates: float  # C_i L*(y_i, -c_i / C_i)
    products: float  # c_i s_i
    size: float  # the magnitudes of these three
    total: float  # c_i
    absolute: float  # |c_i|
    square: float  # c_i^2
    support: int  # c_i that are not zero
    state: Array  # X'c
    second: SecondSums | None


class SecondSums(NamedTuple):
    """Sums of second derivatives at a point."""

    hessian: Array  # X'DX
    border: Array  # X'D 1
    corner: float  # D_i
    pull: Array  # X'Dc
    pulled: float  # D_i c_i


class Along(NamedTuple):
    """Ask for the sums at points (w, b) + t (dw, db)."""

    column: int
    w: Array
    b: float
    sigma: float
    dw: Array
    db: float
    steps: Array


class LineSums(NamedTuple):
    """Sums at points on a line, an entry for each step."""

    along: Array  # c_i (x_i'dw + db)
    total: Array  # c_i


def survey(block: Block, task: Task) -> Survey:
    """Look at the data, and refuse what is no problem."""
    gram, y = block.gram, block.y
    if y is None or len(y) != len(block):
        raise ValueError(
            f"X has {len(block)} rows, and y {'is not given' if y is None else len(y)}."
        )
    if task.classes and not np.isin(y, task.classes).all():
        raise ValueError(f"y has the label {y[~np.isin(y, task.classes)][0]!r}, which is no class.")
    if not task.classes and not (y.dtype.kind in "iufb" and np.isfinite(y).all()):
        raise ValueError("y must be finite numbers.")
    if block.weight is not None:
        check_weight(task, block)
    columns = [task.targets(block, j) for j in range(task.n_columns(block))]
    rows = []
    for target, C in columns:
        check_targets(task.loss, target)
        none, sharp, used = np.zeros(len(target)), np.full(len(target), np.inf), target[C > 0.0]
        ends = (used.min(), used.max()) if len(used) else (np.inf, -np.inf)
        at_zero = sums.fenchel(task.loss, target, C, none, none, 0.0)[0]
        out = np.empty(len(target))
        sums.step(task.loss, target, C, none, none, 0.0, sharp, out)
        slopes = np.abs(out).sum()
        rows.append([C.sum(), C @ target, C @ target**2, *ends, at_zero, slopes])
    total, first, second, low, high, at_zero, slopes = np.array(rows, float).T.copy()
    is_vector = len(rows) == 1 and y.ndim == 1
    return Survey(
        rows=len(block),
        is_vector=Extent(is_vector, is_vector),
        entries=len(block) * gram.row_cost,
        squares=gram.column_squares.copy(),
        C=total,
        y=first,
        y_squares=second,
        extent=Extent(low, high),
        at_zero=at_zero,
        slopes=slopes,
    )


def check_weight(task: Task, block: Block) -> None:
    """Refuse weights that are none, or have no meaning for the loss."""
    weight = block.weight
    if len(weight) != len(block) or weight.dtype.kind not in "iufb":
        raise ValueError(f"sample_weight must be {len(block)} numbers, one for each row.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight has a value that is negative or not finite.")
    check_sample_weight(task.loss, weight)
    times_weight(task.C, weight)


def measure(
    block: Block, task: Task, asks: tuple[At | Along, ...]
) -> tuple[PointSums | LineSums, ...]:
    """Compute all that is asked of a block, with one product for all scores."""
    gram = block.gram
    vectors = [v for ask in asks for v in ((ask.w,) if isinstance(ask, At) else (ask.w, ask.dw))]
    scores = iter(gram.scores(np.array(vectors)))
    data: dict[int, tuple[Array, Array]] = {}
    results: list[PointSums | LineSums] = []
    for ask in asks:
        y, C = data.setdefault(ask.column, task.targets(block, ask.column))
        z = next(scores)
        if isinstance(ask, At):
            results.append(_at(block, task, ask, y, C, z + ask.b))
        else:
            results.append(_along(task, ask, y, C, z + ask.b, next(scores) + ask.db))
    return tuple(results)


def _respond(task: Task, y: Array, C: Array, s: Array, sigma: float) -> tuple[Array, Array]:
    """C and D at scores s."""
    c, slopes = np.empty((2, len(s)))
    sums.proximal(task.loss, y, C, np.zeros(len(s)), s, sigma, c, slopes)
    return c, sigma * slopes


def _at(block: Block, task: Task, ask: At, y: Array, C: Array, s: Array) -> PointSums:
    gram = block.gram
    c, D = _respond(task, y, C, s, ask.sigma)
    state, *others = gram.state(np.array([c, D, D * c] if ask.curved else [c]))
    second = None
    if ask.curved:
        hessian = gram.squares(D, parts=1)
        second = SecondSums(hessian, others[0], float(D.sum()), others[1], float(D @ c))
    losses, conjugates, products, size = sums.fenchel(task.loss, y, C, c, s, 0.0)
    return PointSums(
        losses,
        conjugates,
        products,
        size,
        total=float(c.sum()),
        absolute=float(np.abs(c).sum()),
        square=float(c @ c),
        support=int(np.count_nonzero(c)),
        state=state,
        second=second,
    )


def _along(task: Task, ask: Along, y: Array, C: Array, s: Array, move: Array) -> LineSums:
    rows = []
    for t in ask.steps.tolist():
        c, _ = _respond(task, y, C, s + t * move, ask.sigma)
        rows.append((float(c @ move), float(c.sum())))
    return LineSums(*np.array(rows).T.copy())
