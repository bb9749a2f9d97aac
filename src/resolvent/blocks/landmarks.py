"""Kernel, landmarks and features of a low-rank fit, from blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from resolvent.blocks.block import Block
from resolvent.blocks.engine import Engine
from resolvent.blocks.reduce import Reducer
from resolvent.grams.landmarks import SUBSAMPLE, choose_landmarks, read_landmarks
from resolvent.grams.nystroem import NystroemGram, checked_rank, fill_features, nystroem
from resolvent.grams.panels import add_products
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel, make_kernel

__all__ = ["Basis", "Features", "basis_of", "kernel_of", "model_scores"]


class Basis(NamedTuple):
    """Landmarks, with all that the features of other rows need."""

    kernel: Kernel
    rows: Any
    indices: np.ndarray  # of all rows, -1 where landmarks were given
    gram: NystroemGram  # of the landmarks alone


class Features(NamedTuple):
    """Features Z = K_nS L^-T of the rows of a block, in the place of its columns."""

    kernel: Kernel
    rows: Any
    root: np.ndarray

    def __call__(self, block: Block) -> Block:
        """Compute the features."""
        values = values_of(block.X, self.kernel)
        Z = np.empty((values.n, len(self.root)), values.dtype)
        root = self.root.astype(values.dtype, copy=False)
        fill_features(values, values.given(self.rows), root, Z)
        return Block(Z, block.y, block.weight)


def features(block: Block, of: Features) -> Block:
    """Compute features of a block."""
    return of(block)


def model_scores(X: Any, kernel: Kernel, rows: Any, beta: np.ndarray) -> np.ndarray:
    """Scores of expansions at rows: (n, m)."""
    values = values_of(X, kernel)
    scores = np.zeros((values.n, beta.shape[1]))

    def put(start: int, tile: np.ndarray) -> None:
        add_products(tile, beta, scores, start)

    values.each_tile(np.arange(values.n), values.given(rows), put, lambda: False)
    return scores


# ---- kernel -----------------------------------------------------------------------------------


def kernel_of(model: Any, reducer: Reducer, features: int) -> Kernel:
    """Build the kernel of an estimator's parameters; gamma from all rows."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise ValueError("kernel='precomputed' is a matrix: for blocks of rows name a kernel.")
    gamma = model.gamma
    if isinstance(gamma, str) and gamma == "scale" and model.kernel != "chi2":
        total, first = reducer.sum(entries)
        mean = first / (total * features)
        variance = reducer.sum(entry_squares, mean) / (total * features)
        gamma = 1.0 / (features * variance) if variance > 0.0 else 1.0
    elif isinstance(gamma, str) and gamma == "scale":
        raise ValueError("gamma='scale' of kernel='chi2' is not found by blocks: give a number.")
    row = np.zeros((1, features))
    if isinstance(model.kernel, Kernel) and model.kernel.resolved(row, None, None) != model.kernel:
        raise ValueError(
            f"kernel={model.kernel!r} depends on the columns of a table, or learns from the data: "
            "for blocks of rows use one whose parameters are numbers."
        )
    return make_kernel(model.kernel, gamma=gamma, degree=model.degree, coef0=model.coef0, X=row)


def _weight(block: Block) -> np.ndarray:
    return np.ones(len(block)) if block.weight is None else np.asarray(block.weight, float)


def entries(block: Block) -> tuple[float, float]:
    """Add up weights, and weighted entries of the rows."""
    weight = _weight(block)
    sums = np.asarray(block.X.sum(axis=1, dtype=np.float64)).ravel()
    return float(weight.sum()), float(weight @ sums)


def entry_squares(block: Block, mean: float) -> float:
    """Add up weighted squares of the entries less their mean."""
    weight, X = _weight(block), block.X
    if hasattr(X, "indptr"):
        each = np.repeat(weight, np.diff(X.indptr))
        absent = weight.sum() * X.shape[1] - each.sum()
        return float(each @ (X.data.astype(float) - mean) ** 2 + absent * mean**2)
    shifted = np.subtract(X, mean, dtype=np.float64)
    return float(weight @ np.einsum("ij,ij->i", shifted, shifted))


# ---- landmarks --------------------------------------------------------------------------------


class Listed(NamedTuple):
    """Numbers of each block, one after another."""

    values: np.ndarray

    def merge(self, other: Listed) -> Listed:
        """Append those of later blocks."""
        return Listed(np.concatenate([self.values, other.values]))


class Rows(NamedTuple):
    """Rows of blocks, one after another, with their numbers among all rows."""

    X: Any
    number: np.ndarray

    def merge(self, other: Rows) -> Rows:
        """Append those of later blocks."""
        is_sparse = hasattr(self.X, "indptr")
        both = [self.X, other.X]
        X = sparse.vstack(both, format="csr") if is_sparse else np.concatenate(both)
        return Rows(X, np.append(self.number, other.number))


def counts(block: Block, number: int) -> Listed:
    """Count the rows of a block, and those whose weight is not zero."""
    kept = len(block) if block.weight is None else np.count_nonzero(_weight(block))
    return Listed(np.array([[number, len(block), kept]]))


def take(block: Block, index: np.ndarray) -> Rows:
    """Take rows by their positions among those with a weight, after the number of the first row."""
    start, index = int(index[0]), index[1:]
    kept = np.arange(len(block)) if block.weight is None else np.flatnonzero(_weight(block))
    return Rows(block.X[kept[index]], start + kept[index])


def basis_of(
    model: Any,
    reducer: Engine,
    kernel: Kernel,
    rng: np.random.Generator,
    is_over: Callable[[], bool],
) -> Basis:
    """Choose landmarks: from a sample of all rows, which comes to this process, or as given."""
    number = reducer.sum(counts, each=list(range(reducer.n_blocks))).values
    sizes = np.zeros((reducer.n_blocks, 2), np.intp)
    sizes[number[:, 0]] = number[:, 1:]
    total = int(sizes[:, 1].sum())
    kind, given = read_landmarks(model.landmarks, total)
    if kind == "rows":
        gram = nystroem(values_of(given, kernel), None, np.arange(len(given)), rng)
        return Basis(kernel, gram.points.values, np.full(gram.rank, -1), gram)
    if kind == "indices":
        raise ValueError(
            "landmarks as indices are for arrays: for blocks of rows give them as rows, or choose "
            "'rpcholesky' or 'uniform'."
        )
    rank = min(checked_rank(model.rank), total)
    wanted = min(total, SUBSAMPLE * rank if kind == "rpcholesky" else rank)
    index = np.sort(rng.choice(total, wanted, replace=False))
    every, starts = np.cumsum(sizes, axis=0).T - sizes.T
    block = np.searchsorted(starts + sizes[:, 1], index, side="right")
    each = [np.append(every[i], index[block == i] - starts[i]) for i in range(reducer.n_blocks)]
    rows, number = reducer.sum(take, each=each)
    values = values_of(rows, kernel)
    chosen = choose_landmarks(values, kind, rank, rng, is_over)
    gram = nystroem(values_of(rows[chosen], kernel), None, np.arange(len(chosen)), rng)
    chosen = chosen[gram.landmarks]
    return Basis(kernel, rows[chosen], number[chosen], gram)
