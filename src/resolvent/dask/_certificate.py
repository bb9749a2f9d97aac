"""The certificate of the original problem on a cluster, for models of landmarks.

See :mod:`resolvent.approximation.certificate`. The scores of a model, K_nS beta, are computed where
the rows are, and stay there. Coefficients are those of a point (beta, b, sigma), c_i =
-J_sigma(sigma (s_i + b)); where there is an offset, those of two offsets between which the sum of
c changes its sign are combined to sum to zero. They are in the domain of the dual, and c'Kc is
summed over pairs of groups of support vectors, none of which comes to the client.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from resolvent._clock import Clock
from resolvent._numeric import EPS
from resolvent._threads import one_blas_thread
from resolvent.approximation import OriginalCertificate
from resolvent.blocks import Block
from resolvent.blocks.reduce import OutOfTimeError
from resolvent.blocks.sums import Task
from resolvent.dask._engine import DaskReducer
from resolvent.dask._landmarks import Basis, kernel_values
from resolvent.dask._tasks import Group
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel
from resolvent.problem import sums

__all__ = ["Models", "certify"]

MULTIPLES = np.linspace(0.0, 1.0, 101)  # t of dual points t c that are tried
TRIALS = 64  # offsets that are tried in a pass
ROUNDS = 3
WIDE = 2048  # support vectors of a tile
TARGET, WEIGHT, SCORE = range(3)


class Models(NamedTuple):
    """Models of m columns, and the problems that they are of.

    Attributes
    ----------
    tasks : list of (Task, int)
        For each column its problem, and which column of that it is.
    beta : ndarray of shape (rank, m)
        Coefficients of the landmarks.
    intercept, sigma : ndarray of shape (m,)
        Offsets, and the parameters of the envelopes.
    squares : ndarray of shape (m,)
        Squared norms of the functions.
    """

    tasks: list[tuple[Task, int]]
    beta: np.ndarray
    intercept: np.ndarray
    sigma: np.ndarray
    squares: np.ndarray


def certify(
    reducer: DaskReducer,
    basis: Basis,
    models: Models,
    fit_intercept: bool,
    optimization: np.ndarray,
    clock: Clock,
    held: list[DaskReducer],
) -> OriginalCertificate:
    """Certify models by passes over the blocks, and one over pairs of groups of them.

    Parameters
    ----------
    reducer : DaskReducer
        The rows, with targets and weights.
    basis : Basis
        Kernel and landmarks.
    models : Models
        The models.
    fit_intercept : bool
        Whether there are offsets.
    optimization : ndarray of shape (m,)
        Gaps of the low-rank problems.
    clock : Clock
        Against the time limit.
    held : list of DaskReducer
        What is to be released.
    """
    kernel, rows = basis.kernel, basis.rows
    scored = reducer.transformed(scores, kernel, rows, models)
    held.append(scored)
    losses = [task.loss for task, _ in models.tasks]
    low, high, theta = _balance(scored, models, losses) if fit_intercept else _as_they_are(models)
    point = losses, models.sigma, low, high, theta
    supported = scored.transformed(support, point)
    held.append(supported)
    primal, size, conjugates = scored.sum(bounds, losses, models.intercept, point)
    noise = (0.5 * EPS + 1.0 * np.finfo(values_of(rows, kernel).dtype).eps) * supported.sum(
        diagonal, kernel
    )
    square, method, interrupted = _square(supported, kernel, len(losses), clock)
    primal = primal + 0.5 * models.squares
    floor = 64 * EPS * size + noise
    with np.errstate(over="ignore", invalid="ignore"):
        tried = -conjugates - 0.5 * np.outer(square, MULTIPLES**2)
    tried = np.where(np.isfinite(tried), tried, -np.inf)
    dual = np.minimum(tried.max(axis=1), primal) - floor
    gap = primal - dual
    optimization = np.minimum(np.maximum(optimization, floor), gap)
    return OriginalCertificate(
        primal, dual, gap, optimization, gap - optimization, method, 1.0, interrupted
    )


def scores(block: Block, kernel: Kernel, rows: Any, models: Models) -> Block:
    """Compute the scores of models; targets, weights and scores are in the place of targets."""
    s = np.concatenate([tile @ models.beta for _, tile in kernel_values(block.X, kernel, rows)])
    columns = [task.targets(block, j) for task, j in models.tasks]
    y, C = (np.stack([column[k] for column in columns], axis=1) for k in (0, 1))
    return Block(block.X, np.stack([y, C, s], axis=2))


def _as_they_are(models: Models) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return models.intercept, models.intercept, np.ones(len(models.sigma))


Point = tuple[list[Any], np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _coefficients(loss: Any, data: np.ndarray, b: float, sigma: float) -> np.ndarray:
    """Coefficients of one column at an offset."""
    y, C, s = (np.ascontiguousarray(data[:, k]) for k in (TARGET, WEIGHT, SCORE))
    c, slopes = np.empty((2, len(s)))
    sums.proximal(loss, y, C, np.zeros(len(s)), s + b, sigma, c, slopes)
    return c


def totals(block: Block, losses: list[Any], sigma: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """Sum the coefficients at offsets `trial`, a row of them for each column."""
    return np.array(
        [
            [_coefficients(loss, block.y[:, j], b, sigma[j]).sum() for b in trial[j].tolist()]
            for j, loss in enumerate(losses)
        ]
    )


def _balance(
    scored: DaskReducer, models: Models, losses: list[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets on either side of where coefficients sum to zero, and how to combine them.

    The sum falls as the offset rises.
    """
    m = len(losses)
    size = np.maximum(1.0, np.abs(models.intercept))
    steps = np.append(0.0, 2.0 ** np.linspace(-30.0, 10.0, TRIALS // 2))
    low, high = models.intercept.copy(), models.intercept.copy()
    theta = np.ones(m)
    trial = models.intercept[:, None] + size[:, None] * np.concatenate([-steps[:0:-1], steps])
    for _ in range(ROUNDS):
        found = scored.sum(totals, losses, models.sigma, trial)
        for j in range(m):
            above = np.flatnonzero(found[j] >= 0.0)
            below = np.flatnonzero(found[j] <= 0.0)
            if not len(above) or not len(below):
                theta[j] = np.nan  # no dual point but zero is known
                continue
            left, right = int(above[-1]), int(below[0])
            left, right = min(left, right), max(left, right)
            low[j], high[j] = trial[j, left], trial[j, right]
            first, last = found[j, left], found[j, right]
            theta[j] = 1.0 if first == last else last / (last - first)
        trial = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, TRIALS)
    return low, high, theta


def _dual_point(block: Block, point: Point) -> np.ndarray:
    """Coefficients (n, m) of the dual points."""
    losses, sigma, low, high, theta = point
    c = np.empty((len(block), len(losses)))
    for j, loss in enumerate(losses):
        data, t = block.y[:, j], theta[j]
        if not np.isfinite(t):
            c[:, j] = 0.0
            continue
        c[:, j] = t * _coefficients(loss, data, low[j], sigma[j])
        if t != 1.0:
            c[:, j] += (1.0 - t) * _coefficients(loss, data, high[j], sigma[j])
    return c


def support(block: Block, point: Point) -> Block:
    """Keep the rows whose coefficients are not all zero, and these, in the place of targets."""
    c = _dual_point(block, point)
    inside = np.flatnonzero(c.any(axis=1))
    return Block(block.X[inside], c[inside])


def bounds(
    block: Block, losses: list[Any], intercept: np.ndarray, point: Point
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, their size, and conjugates at all multiples of the dual points, by column."""
    c, m = _dual_point(block, point), len(losses)
    primal, size, conjugates = np.empty(m), np.empty(m), np.empty((m, len(MULTIPLES)))
    for j, loss in enumerate(losses):
        y, C, s = (np.ascontiguousarray(block.y[:, j, k]) for k in (TARGET, WEIGHT, SCORE))
        none = np.zeros(len(y))
        primal[j], _, _, size[j] = sums.fenchel(loss, y, C, none, s, float(intercept[j]))
        for i, t in enumerate(MULTIPLES.tolist()):
            conjugates[j, i] = sums.fenchel(loss, y, C, t * c[:, j], none, 0.0)[1]
    return primal, size, conjugates


def diagonal(block: Block, kernel: Kernel) -> np.ndarray:
    """Sum c_i^2 k(x_i, x_i), by column."""
    return np.asarray((block.y**2).T @ values_of(block.X, kernel).diagonal)


# ---- pairs of groups ---------------------------------------------------------------------------


def pair(a: Group, b: Group, same: bool, kernel: Kernel) -> np.ndarray:
    """c_a'K c_b of all pairs of blocks of two groups: (blocks of a, blocks of b, m)."""
    m = max(block.y.shape[1] for block in a.blocks)
    result = np.zeros((a.n_blocks, b.n_blocks, m))
    with one_blas_thread():
        for i, first in enumerate(a.blocks):
            for j, second in enumerate(b.blocks):
                if len(first) and len(second) and (not same or i <= j):
                    twice = 1.0 if same and i == j else 2.0
                    result[i, j] = twice * _form(first, second, kernel, same and i == j)
    return result


def _form(first: Block, second: Block, kernel: Kernel, same: bool) -> np.ndarray:
    values = values_of(first.X, kernel)
    every = np.arange(values.n)
    products = np.zeros((values.n, second.y.shape[1]))
    for start in range(0, len(second), WIDE):
        here = slice(start, start + WIDE)
        c = second.y[here]

        def add(row: int, tile: np.ndarray, start: int = start, c: np.ndarray = c) -> None:
            if same:
                inside = np.arange(max(row, start), min(row + len(tile), start + len(c)))
                tile[inside - row, inside - start] = values.diagonal[inside]
            products[row : row + len(tile)] += tile @ c

        values.each_tile(every, values.given(second.X[here]), add, lambda: False)
    return np.einsum("ij,ij->j", first.y, products)


class Sizes(NamedTuple):
    """Sizes of blocks, by their numbers."""

    number: np.ndarray
    values: np.ndarray

    def merge(self, other: Sizes) -> Sizes:
        """Append those of later blocks."""
        return Sizes(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def sizes(block: Block, kernel: Kernel, number: int) -> Sizes:
    """Sum |c_i| sqrt(k(x_i, x_i)), by column: c_a'K c_b is at most the product of two of them."""
    found = np.abs(block.y).T @ np.sqrt(values_of(block.X, kernel).diagonal)
    return Sizes(np.array([number]), found[None])


def _square(
    supported: DaskReducer, kernel: Kernel, m: int, clock: Clock
) -> tuple[np.ndarray, str, bool]:
    """Bound c'Kc of each column, and how: a task for each pair of groups.

    The values of pairs of blocks are added without rounding, so that the sum does not depend on
    their groups. Where the time is over, or at Ctrl-C, pairs that are missing are bounded by their
    sizes.
    """
    count = len(supported.groups)
    pairs = [(a, b) for a in range(count) for b in range(a, count)]
    found: list[Any] = [None] * len(pairs)
    method, interrupted = "exact", False
    try:
        supported.on_pairs(pair, pairs, found, kernel, is_over=clock.is_over)
    except (OutOfTimeError, KeyboardInterrupt) as error:
        method, interrupted = "incomplete", isinstance(error, KeyboardInterrupt)
        each = supported.sum(sizes, kernel, each=list(range(supported.n_blocks)))
        size = [np.zeros(m)] * count
        for i, values in zip(each.number, each.values, strict=True):
            size[i >> supported.level] = size[i >> supported.level] + values
        for k, (a, b) in enumerate(pairs):
            if found[k] is None:
                found[k] = (1.0 if a == b else 2.0) * size[a] * size[b]
    every = np.concatenate([values.reshape(-1, m) for values in found])
    return np.maximum([math.fsum(column) for column in every.T.tolist()], 0.0), method, interrupted
