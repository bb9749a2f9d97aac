"""The certificate of the original problem by sums over blocks, for models of landmarks.

See :mod:`resolvent.approximation.certificate`. The scores of a model, K_nS beta, are computed where
the rows are, and stay there. Coefficients are those of a point (beta, b, sigma), c_i =
-J_sigma(sigma (s_i + b)); where there is an offset, those of two offsets between which the sum of
c changes its sign are combined to sum to zero. They are in the domain of the dual, and c'Kc is
summed over pairs of groups of support vectors, none of which is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from resolvent._clock import Clock
from resolvent._numeric import EPS
from resolvent._threads import one_blas_thread
from resolvent.approximation import OriginalCertificate
from resolvent.approximation.forms import DELTA, is_affordable
from resolvent.blocks.block import Block
from resolvent.blocks.engine import Engine
from resolvent.blocks.landmarks import Basis, model_scores
from resolvent.blocks.reduce import OutOfTimeError
from resolvent.blocks.sampled import sampled_squares
from resolvent.blocks.sums import Task
from resolvent.grams.panels import add_products
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel
from resolvent.problem import sums

__all__ = ["How", "Models", "certify"]

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


class How(NamedTuple):
    """How to certify: see :func:`resolvent.certify_original`.

    Attributes
    ----------
    clock : Clock
        Against the time limit.
    certificate : {"auto", "exact", "sampled"}
        The way.
    rng : Generator, optional
        For the sample.
    notify : callable
        Called now and then with the share of pairs that is done, or -1.
    """

    clock: Clock
    certificate: str = "auto"
    rng: np.random.Generator | None = None
    notify: Callable[[float], None] = lambda share: None


def certify(
    reducer: Engine,
    basis: Basis,
    models: Models,
    fit_intercept: bool,
    optimization: np.ndarray,
    how: How,
    held: list[Any],
) -> OriginalCertificate:
    """Certify models by passes over the blocks, and one over pairs of groups of them.

    Parameters
    ----------
    reducer : Engine
        The rows, with targets and weights.
    basis : Basis
        Kernel and landmarks.
    models : Models
        The models.
    fit_intercept : bool
        Whether there are offsets.
    optimization : ndarray of shape (m,)
        Gaps of the low-rank problems.
    how : How
        The way to certify, and the time for it.
    held : list of Engine
        What is to be released.
    """
    scored = reducer.transformed(scores, basis.kernel, basis.rows, models)
    held.append(scored)
    losses = [task.loss for task, _ in models.tasks]
    low, high, theta = _balance(scored, models, losses) if fit_intercept else _as_they_are(models)
    point = losses, models.sigma, low, high, theta
    primal, size, conjugates, *counts = scored.sum(bounds, losses, models.intercept, point)
    square, noise, method, interrupted = np.zeros(len(losses)), 0.0, "exact", False
    if counts[1]:
        supported = scored.transformed(support, point)
        held.append(supported)
        eps = np.finfo(values_of(basis.rows, basis.kernel).dtype).eps
        noise = (0.5 * EPS + eps) * supported.sum(diagonal, basis.kernel)
        square, method, interrupted = _square(supported, basis, models, counts, how, held)
    primal = primal + 0.5 * models.squares
    floor = 64 * EPS * size + noise
    with np.errstate(over="ignore", invalid="ignore"):
        tried = -conjugates - 0.5 * np.outer(square, MULTIPLES**2)
    tried = np.where(np.isfinite(tried), tried, -np.inf)
    dual = np.minimum(tried.max(axis=1), primal) - floor
    gap = primal - dual
    optimization = np.minimum(np.maximum(optimization, floor), gap)
    return OriginalCertificate(
        primal,
        dual,
        gap,
        optimization,
        gap - optimization,
        method,
        1.0 - DELTA if method == "sampled" else 1.0,
        interrupted,
    )


def _square(
    supported: Engine,
    basis: Basis,
    models: Models,
    counts: list[int],
    how: How,
    held: list[Any],
) -> tuple[np.ndarray, str, bool]:
    """Bound c'Kc of each column: how, and whether Ctrl-C ended it.

    Where the time is over, or at Ctrl-C, pairs that are missing are bounded by their sizes.
    """
    (n, count), m = counts, len(models.sigma)
    certificate, cost = how.certificate, values_of(basis.rows, basis.kernel).cost
    if certificate == "auto":
        affordable = is_affordable(count, n, cost, m, basis.gram.rank)
        certificate = "exact" if affordable else "sampled"
    if certificate == "exact":
        return _of_pairs(supported, basis.kernel, m, how)
    rng = np.random.default_rng(0) if how.rng is None else how.rng
    try:
        return sampled_squares(supported, basis, rng, how.clock.is_over, held), "sampled", False
    except (OutOfTimeError, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
    each = supported.sum(sizes, basis.kernel, each=list(range(supported.n_blocks)))
    return each.values.sum(axis=0) ** 2, "incomplete", interrupted


def scores(block: Block, kernel: Kernel, rows: Any, models: Models) -> Block:
    """Compute the scores of models; targets, weights and scores are in the place of targets."""
    s = model_scores(block.X, kernel, rows, models.beta)
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
    scored: Engine, models: Models, losses: list[Any]
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
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Losses, their size, and conjugates at all multiples of the dual points, by column.

    And the number of rows, and of those with a coefficient that is not zero.
    """
    c, m = _dual_point(block, point), len(losses)
    primal, size, conjugates = np.empty(m), np.empty(m), np.empty((m, len(MULTIPLES)))
    for j, loss in enumerate(losses):
        y, C, s = (np.ascontiguousarray(block.y[:, j, k]) for k in (TARGET, WEIGHT, SCORE))
        none = np.zeros(len(y))
        primal[j], _, _, size[j] = sums.fenchel(loss, y, C, none, s, float(intercept[j]))
        for i, t in enumerate(MULTIPLES.tolist()):
            conjugates[j, i] = sums.fenchel(loss, y, C, t * c[:, j], none, 0.0)[1]
    return primal, size, conjugates, len(block), int(np.count_nonzero(c.any(axis=1)))


def diagonal(block: Block, kernel: Kernel) -> np.ndarray:
    """Sum c_i^2 k(x_i, x_i), by column."""
    return np.asarray((block.y**2).T @ values_of(block.X, kernel).diagonal)


# ---- pairs of groups ---------------------------------------------------------------------------


def pair(a: Sequence[Block], b: Sequence[Block], same: bool, kernel: Kernel) -> np.ndarray:
    """c_a'K c_b of all pairs of blocks of two groups: (blocks of a, blocks of b, m)."""
    m = max(block.y.shape[1] for block in a)
    result = np.zeros((len(a), len(b), m))
    with one_blas_thread():
        for i, first in enumerate(a):
            for j, second in enumerate(b):
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
            add_products(tile, c, products, row)

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


def _of_pairs(supported: Engine, kernel: Kernel, m: int, how: How) -> tuple[np.ndarray, str, bool]:
    """Bound c'Kc of each column, and how: a task for each pair of groups.

    The values of pairs of blocks are added without rounding, so that the sum does not depend on
    their groups. Where the time is over, or at Ctrl-C, pairs that are missing are bounded by their
    sizes.
    """
    count = supported.n_groups
    pairs = [(a, b) for a in range(count) for b in range(a, count)]
    found: list[Any] = [None] * len(pairs)
    method, interrupted, asked = "exact", False, 0

    def is_over() -> bool:
        nonlocal asked
        asked += 1
        how.notify(min(asked / len(pairs), 1.0) if asked % 16 == 0 else -1.0)
        return how.clock.is_over()

    try:
        supported.on_pairs(pair, pairs, found, kernel, is_over=is_over)
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
