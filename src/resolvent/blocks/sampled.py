"""A bound on c'Kc from a sample of the support vectors, by sums over blocks.

See :mod:`resolvent.approximation.forms`, which has the bound. What a sample needs of other rows is
a sum over blocks: the products of sampled rows with c, and Z'c = L^-1 K_Sn c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from resolvent.approximation.forms import DELTA, DRAWS, bernstein
from resolvent.blocks.block import Block
from resolvent.blocks.engine import Engine
from resolvent.blocks.landmarks import Basis, Features, Listed, Rows, model_scores
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel

__all__ = ["sampled_squares"]

COEF, ROOT = range(2)


class Drawn(NamedTuple):
    """Rows that were drawn, and of each its column, its coefficient and the root of e_i."""

    rows: Rows
    which: np.ndarray

    def merge(self, other: Drawn) -> Drawn:
        """Append those of later blocks."""
        return Drawn(self.rows.merge(other.rows), np.concatenate([self.which, other.which]))


def sampled_squares(
    supported: Engine,
    basis: Basis,
    rng: np.random.Generator,
    is_over: Callable[[], bool],
    held: list[Any],
) -> np.ndarray:
    """Bound c'Kc of each column, with probability 1 - DELTA for all."""
    of = Features(basis.kernel, basis.rows, basis.gram.root)
    rooted = supported.transformed(residual_roots, of)
    held.append(rooted)
    every = list(range(supported.n_blocks))
    found = rooted.sum(shares, each=every, is_over=is_over)
    share = np.zeros((supported.n_blocks, found.values.shape[1] - 1))
    share[found.values[:, 0].astype(int)] = found.values[:, 1:]
    total = share.sum(axis=0)
    counts = np.stack([_counts(rng, column) for column in share.T], axis=1)
    seeds = rng.integers(2**63, size=len(counts)).tolist()
    drawn: Drawn | None = rooted.sum(
        draw, each=list(zip(counts.tolist(), seeds, strict=True)), is_over=is_over
    )
    samples = np.zeros((0, 1)) if drawn is None else drawn.rows.X
    products, of_landmarks = supported.sum(
        with_samples, basis.kernel, samples, basis.rows, is_over=is_over
    )
    low = basis.gram.root.T @ of_landmarks
    bound = np.einsum("ij,ij->j", low, low)
    if drawn is None:  # nothing is left of E
        return bound
    products -= model_scores(samples, basis.kernel, basis.rows, basis.gram.root @ low)
    column, coef, root = drawn.which.T
    for j in np.unique(column.astype(int)).tolist():
        here = column == j
        X = total[j] * np.sign(coef[here]) * products[here, j] / root[here]
        bound[j] += min(total[j] ** 2, bernstein(X, total[j], DELTA / len(total)))
    return bound


def _counts(rng: np.random.Generator, share: np.ndarray) -> np.ndarray:
    """How many draws are of each block."""
    total = share.sum()
    return rng.multinomial(DRAWS, share / total) if total > 0.0 else np.zeros(len(share), np.intp)


def residual_roots(block: Block, of: Features) -> Block:
    """Put the roots of the diagonal of E beside the coefficients: (n, m, 2)."""
    values = values_of(block.X, of.kernel)
    Z = of(block).X
    squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    e = np.maximum(values.diagonal - squares, 0.0) + 8.0 * values.noise * values.diagonal
    roots = np.broadcast_to(np.sqrt(e)[:, None], block.y.shape)
    return Block(block.X, np.stack([block.y, roots], axis=2))


def _weights(block: Block) -> np.ndarray:
    """Numerators |c_i| sqrt(e_i) of the chances of rows, by column."""
    return np.asarray(np.abs(block.y[:, :, COEF]) * block.y[:, :, ROOT])


def shares(block: Block, number: int) -> Listed:
    """Sum the chances of a block."""
    return Listed(np.append(number, _weights(block).sum(axis=0))[None])


def draw(block: Block, what: tuple[list[int], int]) -> Drawn | None:
    """Draw rows of a block, so many for each column."""
    counts, seed = what
    if not any(counts):
        return None
    rng, chance = np.random.default_rng(seed), _weights(block)
    index, which = [], []
    for j, count in enumerate(counts):
        if count:
            some = rng.choice(len(block), count, p=chance[:, j] / chance[:, j].sum())
            index.append(some)
            which.append(np.column_stack([np.full(count, j), block.y[some, j]]))
    chosen = np.concatenate(index)
    return Drawn(Rows(block.X[chosen], chosen), np.concatenate(which))


def with_samples(
    block: Block, kernel: Kernel, samples: Any, landmarks: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Products of the kernel between samples, and landmarks, and the rows of a block, with c."""
    c = np.ascontiguousarray(block.y)
    found = (
        model_scores(rows, kernel, block.X, c) if rows.shape[0] else np.zeros((0, c.shape[1]))
        for rows in (samples, landmarks)
    )
    first, second = found
    return first, second
