"""What a fit leaves for prediction: f(x) = sum_j c_j k(x_j, x) + b over the support vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from resolvent._costs import worth_threads
from resolvent._threads import run
from resolvent.grams.linear import LinearGram
from resolvent.grams.panels import add_scores
from resolvent.grams.rows import WIDE, scratch, tile_rows
from resolvent.kernels import Kernel, Linear, Points

TILE, WIDE_TILE = (512, 1024), (1280, 2048)  # rows, at most, and columns
PARTS = 4  # into a multiple of which rows are cut, so that threads have the same work
KEPT = 1 << 18  # elements of support vectors that stay prepared from one prediction to the next


def as_samples(X: Any) -> Any:
    """Return samples for a function kernel: an array or a sparse matrix as it is, else a list.

    What has labels, such as a Series of strings, becomes an array: samples are taken by position.
    """
    if hasattr(X, "iloc"):
        return X.to_numpy()
    return X if hasattr(X, "shape") else list(X)


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Take some samples of an array, a CSR matrix or a list of objects."""
    return [X[i] for i in index] if isinstance(X, list) else X[index]


class Expansion:
    """Kernel expansion with m outputs.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; None if it is precomputed.
    rows : array, CSR matrix or list
        The support vectors, or for a precomputed kernel their indices.
    coef : ndarray of shape (n_support, m)
        Their coefficients.
    intercept : ndarray of shape (m,)
        The offsets.
    weights : ndarray of shape (m, d), optional
        For the linear kernel the weights of the features and, last, of its constant one if there is
        a bias: what a fit has certified. If they are not given they are the sum over `rows`.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        rows: Any,
        coef: np.ndarray,
        intercept: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        self.kernel, self.rows = kernel, rows
        self.coef, self.intercept = coef, intercept
        self.weights = weights
        self._prepared: tuple[Any, ...] = None, None
        if weights is None and isinstance(kernel, Linear):
            self.weights = np.zeros((len(intercept), rows.shape[1] + bool(kernel.bias)))
            if len(coef):
                self.weights = LinearGram(rows, bias=kernel.bias).state(coef.T)

    def __call__(self, X: Any) -> np.ndarray:
        """Scores of the rows of X, of shape (n, m), computed in tiles on all cores."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        scores = np.tile(self.intercept, (n, 1))
        if self.weights is not None:
            bias = self.kernel.bias if isinstance(self.kernel, Linear) else 0.0
            return linear_scores(X, *split_bias(self.weights, self.intercept, bias))
        if len(self.coef) == 0:
            return scores
        if self.kernel is None:
            everything = np.zeros((X.shape[1], len(self.intercept)))  # instead of a copy of X
            everything[self.rows] = self.coef
            scores += X @ everything
            return scores
        reference, support = self._support()
        points = reference.like(X)
        most_rows = tile_rows(reference, TILE[0], WIDE_TILE[0])
        kernel = self.kernel
        work = n * len(reference) * max(reference.width, 1)
        parallel = kernel.parallel and worth_threads(work)
        parts = PARTS if parallel else 1
        count = parts * math.ceil(n / (parts * most_rows))
        step = math.ceil(n / count)

        def add(start: int) -> None:
            rows = slice(start, start + step)
            a = points.take(rows)
            for b, here, coef in support:
                tile = scratch(len(a), len(b), reference.dtype)
                kernel.evaluate(a, b, tile)
                if len(here) == 1:
                    add_scores(tile, coef[:, 0], scores, start, here[0])
                else:  # then a copy of the tile in the precision of the coefficients is worth it
                    scores[rows, here] += tile @ coef

        run(add, [(start,) for start in range(0, n, step)], parallel)
        return scores

    def _support(self) -> tuple[Points, list[tuple[Points, np.ndarray, np.ndarray]]]:
        """Support vectors, and tiles of them with the outputs in which they have coefficients."""
        rows, coef, *prepared = self._prepared
        if rows is self.rows and coef is self.coef:
            return prepared[0], prepared[1]
        assert self.kernel is not None
        reference = Points(self.rows, numeric=self.kernel.numeric)
        most = (WIDE_TILE if reference.width > WIDE else TILE)[1]
        tiles = [slice(start, start + most) for start in range(0, len(reference), most)]
        # Of one-vs-one problems each support vector is in few: class by class, most of a tile's
        # columns are zero.
        columns = [np.flatnonzero(self.coef[tile].any(axis=0)) for tile in tiles]
        support = [
            (reference.take(tile), here, self.coef[tile][:, here])
            for tile, here in zip(tiles, columns, strict=True)
        ]
        if 0 < len(reference) * reference.width <= KEPT:
            self._prepared = self.rows, self.coef, reference, support
        return reference, support

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_prepared": (None, None)}


def split_bias(
    weights: np.ndarray, intercept: np.ndarray, bias: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m, d) of the features and offsets (m,) that a constant last feature is part of."""
    if not bias:
        return weights, intercept
    return weights[:, :-1], intercept + bias * weights[:, -1]


def linear_scores(X: Any, weights: np.ndarray, intercept: Any) -> np.ndarray:
    """Scores x'w + b of shape (n, m); the weights may be sparse."""
    if not sparse.issparse(weights):
        weights = np.atleast_2d(weights)
    return safe_sparse_dot(X, weights.T, dense_output=True) + intercept
