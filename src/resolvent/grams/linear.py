"""The linear kernel K = X X', which is never formed: the state is w = X'c (paper, Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from resolvent._costs import STRETCH, worth_threads
from resolvent._threads import run
from resolvent.grams import features
from resolvent.grams.base import Chunk, Gram, checked_diagonal, read_only
from resolvent.grams.features import DenseFeatures, SparseFeatures
from resolvent.grams.sampled import ROWS, is_worth_sampling, sample_of, solve_by_sample
from resolvent.grams.systems import (
    EPS,
    Curvature,
    Direction,
    RootCurvature,
    bordered,
    by_orthogonal_factor,
    inverse,
)
from resolvent.kernels.rows import as_dense, as_rows, check_dtype, split

__all__ = ["DenseFeatures", "LinearGram", "SparseFeatures"]

PARTS = 4  # into which rows are cut for threads; fixed, so that results do not depend on those
SAMPLE = 1000  # rows that tell how far the data are from the origin
FAR = 30.0  # standard deviations of a column, at which its mean takes digits from the rest
TILE = 1 << 16  # elements of a tile of rows in float64, which fits the second-level cache
STEEP = 0.5  # weights in units of sigma, below which they are the curvature of a smooth loss
MAX_COLUMNS = 2000  # a matrix of this size squared, one for each part, takes little memory


class LinearGram(Gram):
    """The kernel matrix X X' + bias^2 of the linear kernel, held as X.

    X is not copied if it is a contiguous array, or a CSR matrix in order, of float32 or float64,
    and there is no bias.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d)
        Data, one sample a row.
    bias : float
        If not zero, a constant feature of this value is appended, whose coefficient is a penalised
        offset.
    dtype : {None, "float32", "float64"}
        Precision of X. None: float32 stays float32, all else becomes float64.
    """

    _mean: np.ndarray | None = None  # of the rows before they were centred

    def __init__(self, X: Any, bias: float = 0.0, dtype: Any = None) -> None:
        rows = as_rows(X)
        self.dtype = rows.dtype if dtype is None else check_dtype(dtype)
        rows = rows.astype(self.dtype, copy=False)
        self.n = rows.shape[0]
        constant = np.full((self.n, 1), bias, self.dtype)
        self.panel: DenseFeatures | SparseFeatures
        if sparse.issparse(rows):
            self.X = sparse.hstack([rows, constant], format="csr") if bias else rows
            parts = (self.X.data, self.X.indices, self.X.indptr)
            self.panel = SparseFeatures(*map(read_only, parts))
            self.row_cost = max(1, self.X.nnz // self.n)
        else:
            self.X = np.ascontiguousarray(np.hstack([rows, constant]) if bias else rows)
            self.panel = DenseFeatures(read_only(self.X))
            self.row_cost = self.X.shape[1]

    @cached_property
    def diagonal(self) -> np.ndarray:  # type: ignore[override]  # computed when it is asked for
        norms = np.empty(self.n)
        self._run(features.fill_norms, [(self.panel, norms, *p) for p in self._parts(self.n)], 1)
        return checked_diagonal(norms)

    @property
    def factor(self) -> LinearGram:
        return self

    @property
    def columns(self) -> int:
        """Number of columns of X, which bounds the rank of K."""
        return int(self.X.shape[1])

    def features(self, elements: int, columns: int) -> np.ndarray | None:
        if self.columns > columns or self.n * self.columns > elements:
            return None
        return read_only(as_dense(self.X).astype(np.float64, copy=False))

    def _parts(self, count: int, parts: int = PARTS) -> list[tuple[int, int]]:
        """Cut that many rows into parts for threads."""
        step = max(1, -(-count // parts))
        return [(start, min(start + step, count)) for start in range(0, count, step)]

    def _run(self, function: Callable[..., None], items: list[Any], width: int) -> None:
        run(function, items, parallel=worth_threads(self.n * self.row_cost * width))

    def state(self, coef: np.ndarray) -> np.ndarray:
        coef = np.ascontiguousarray(coef, np.float64)
        if not coef.any():  # where a fit begins
            return np.zeros((len(coef), self.columns))
        parts = self._parts(self.n)
        sums = np.zeros((len(coef), len(parts), self.columns))
        items = [
            (self.panel, c, sums[j, p], *part)
            for j, c in enumerate(coef)
            for p, part in enumerate(parts)
        ]
        self._run(features.add_rows, items, len(coef))
        return sums.sum(axis=1)

    def scores(self, state: np.ndarray) -> np.ndarray:
        state = np.ascontiguousarray(state, np.float64)
        if not state.any():
            return np.zeros((len(state), self.n))
        result = np.empty((len(state), self.n))
        items = [
            (self.panel, w, result[j], *part)
            for part in self._parts(self.n)
            for j, w in enumerate(state)
        ]
        self._run(features.fill_scores, items, len(state))
        return result

    def chunks(self, order: np.ndarray) -> Iterator[Chunk]:
        for part in split(np.asarray(order, np.int64), max(1, STRETCH // self.row_cost)):
            yield Chunk(part, self.panel, self.row_cost)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        right = self.X[columns].astype(np.float64, copy=False).T
        step = max(1, STRETCH * 16 // (self.row_cost * max(1, len(columns))))
        parts = [self.X[part].astype(np.float64, copy=False) for part in split(rows, step)]
        blocks = [as_dense(part @ right) for part in parts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(columns)))

    def restricted(self, rows: np.ndarray) -> Gram:
        return LinearGram(self.X[rows])

    def inner(self, coef: np.ndarray, state: np.ndarray, other: np.ndarray) -> float:
        return float(state @ other)

    def residual(self, coef: np.ndarray, state: np.ndarray, aim: np.ndarray) -> np.ndarray:
        """X'aim - w, where w may differ from X'coef by the rounding of its sums."""
        return self.state(aim[None])[0] - state

    def rounding(self, coef: np.ndarray, state: np.ndarray) -> float:
        """How far the rounding of scores x_i'w may move the sum of c_i x_i'w.

        The terms of that sum are at most |c| |X_j| |w_j| for column j of X.
        """
        return product_rounding(coef @ coef, state, self.column_squares, self.row_cost)

    def score_errors(self, coef: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Errors of sums x_i'w that rounding may make, by the magnitudes of their terms."""
        sizes, w = np.empty(self.n), np.abs(state)
        step = max(1, TILE // self.row_cost)
        for start in range(0, self.n, step):
            sizes[start : start + step] = abs(self.X[start : start + step]) @ w
        return EPS * math.sqrt(self.row_cost) * sizes

    @cached_property
    def column_squares(self) -> np.ndarray:
        """Sum of the squares of each column of X."""
        if sparse.issparse(self.X):
            squares = self.X.multiply(self.X).sum(axis=0, dtype=np.float64)
        else:
            squares = np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64)
        return np.asarray(squares).ravel()

    def centred(self) -> Gram:
        """Move the origin to the mean of the rows if they are far from it.

        Their inner products are then mostly those of their mean, and what they differ in is lost.
        """
        return self._centred

    @cached_property
    def _centred(self) -> Gram:
        if sparse.issparse(self.X):
            return self  # the mean would fill it
        some = self.X[:: max(1, self.n // SAMPLE)].astype(np.float64)
        spread = some.std(axis=0)
        if not ((np.abs(some.mean(axis=0)) > FAR * spread) & (spread > 0.0)).any():
            return self
        mean = self.X.mean(axis=0, dtype=np.float64)
        result = LinearGram(self.X - mean)
        result._mean = mean
        return result

    def shift(self, state: np.ndarray) -> float:
        return 0.0 if self._mean is None else float(self._mean @ state)

    def linearised(
        self,
        coef: np.ndarray,
        aim: np.ndarray,
        ahead: np.ndarray,
        curvature: Curvature,
        balanced: bool,
    ) -> Direction:
        """Solve for the change of w: (I + X'DX) dw + X'D1 b = X'aim - w, with D the weights.

        The change of the coefficients, aim - coef - D (X dw + b), follows. The system has as many
        rows as X has columns. Where fewer coordinates are free, theirs is the smaller one: for
        u = D (X dw + b) it is (K + 1/D) u - b = X (X'aim - w), and dw = X'(aim - u) - w.
        """
        weight = curvature.weight
        free = np.flatnonzero(weight)
        if curvature.bend is not None:
            if curvature.size == self.n and len(free) and self.columns <= MAX_COLUMNS:
                return self._bent_move(aim - coef, ahead, curvature, float(aim.sum()), balanced)
            return super().linearised(coef, aim, ahead, curvature, balanced)
        shift = 0.0
        found = None
        if weight.max() < STEEP * curvature.scale and self._is_sampled(len(free)):
            found = self._by_sample(free, weight, ahead, aim.sum() if balanced else None)
        if found is not None:
            change, scores, shift = found
            return Direction(aim - coef - weight * (scores + shift), change, scores, shift)
        if self._by_columns(len(free)):
            system = self._squares(free, weight[free])
            system[np.diag_indices_from(system)] += 1.0
            solve = inverse(system)
            if balanced:
                border = self.state(weight[None])[0]
                change, shift = bordered(solve, ahead, border, weight.sum(), aim.sum())
            else:
                change = solve(ahead)
        else:
            u = np.zeros(self.n)
            if len(free):
                u[free], shift = self._on_free(free, ahead, weight, aim.sum(), balanced)
            change = ahead - self.state(u[None])[0]
        scores = self.scores(change[None])[0]
        return Direction(aim - coef - weight * (scores + shift), change, scores, shift)

    def _bent_move(
        self,
        move: np.ndarray,
        ahead: np.ndarray,
        curvature: Curvature,
        total: float,
        balanced: bool,
    ) -> Direction:
        """Solve for the change of w where one group of all samples is coupled.

        Its weights are D = FF', so that the system is that of the root F'X. A change of the
        coefficients, of the size of C, would leave no digits for that of w.
        """
        F = RootCurvature(curvature)
        rows = self.X[F.free]
        root = F.transposed_times(rows.toarray() if sparse.issparse(rows) else rows)
        border = F.transposed_times(np.ones((len(F.free), int(balanced))))
        least = curvature.scale * self.n
        change, shift = by_orthogonal_factor(root, border, ahead, total, least)
        scores = self.scores(change[None])[0]
        bent = curvature.times((scores + shift)[:, None])[:, 0]
        return Direction(move - bent, change, scores, shift)

    def _is_sampled(self, free: int) -> bool:
        return not sparse.issparse(self.X) and is_worth_sampling(free, self.columns)

    def _by_sample(
        self, free: np.ndarray, weight: np.ndarray, ahead: np.ndarray, total: float | None
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Solve for dw and b by conjugate gradients; None where all rows are to be taken."""
        d, paired = self.columns, total is not None
        some, share = sample_of(free, weight[free], self.diagonal[free], ROWS * d)
        system = np.zeros((d + paired, d + paired))
        system[:d, :d] = self._squares(some, share)
        system[np.arange(d), np.arange(d)] += 1.0
        if paired:
            system[d, :d] = system[:d, d] = share @ self.X[some]
            system[d, d] = share.sum()
        parts = self._parts(self.n)
        sums = np.zeros((len(parts), d + paired))

        def times(x: np.ndarray, scores: np.ndarray) -> np.ndarray:
            b = x[d] if paired else 0.0
            sums[:] = 0.0
            items = [
                (self.X, x, b, weight, scores, image, *part)
                for image, part in zip(sums, parts, strict=True)
            ]
            self._run(_add_image, items, 2)
            image: np.ndarray = sums.sum(axis=0)
            image[:d] += x[:d]
            return image

        right = ahead if total is None else np.append(ahead, total)
        found = solve_by_sample(system, times, right, self.n)
        if found is None:
            return None
        x, scores = found
        b = float(x[d]) if paired else 0.0
        return x[:d], scores - b, b

    def _on_free(
        self, free: np.ndarray, ahead: np.ndarray, weight: np.ndarray, total: float, balanced: bool
    ) -> tuple[np.ndarray, float]:
        """Solve (K + 1/D) u - b = X ahead on the free coordinates; if `balanced` u has a sum."""
        system = self.block(free, free)
        system[np.diag_indices_from(system)] += 1.0 / weight[free]
        solve, right = inverse(system), self.scores(ahead[None])[0][free]
        if not balanced:
            return solve(right), 0.0
        u, below = bordered(solve, right, np.ones(len(free)), 0.0, total)
        return u, -below

    def linearised_cost(self, free: int, is_smooth: bool = False) -> float:
        if not self._by_columns(free):
            return super().linearised_cost(free)
        rows = ROWS * self.columns if is_smooth and self._is_sampled(free) else free
        return rows * self.row_cost**2 / 2.0 + self.columns**3 / 3.0

    def _by_columns(self, free: int) -> bool:
        return self.columns < free and self.columns <= MAX_COLUMNS

    def squares(self, weight: np.ndarray, parts: int = PARTS) -> np.ndarray:
        """X'DX, with D the weights, none of them negative; a sum of that many parts."""
        free = np.flatnonzero(weight)
        return self._squares(free, weight[free], parts)

    def _squares(self, rows: np.ndarray, weight: np.ndarray, count: int = PARTS) -> np.ndarray:
        """X'DX over some rows."""
        d = self.columns
        parts = self._parts(len(rows), count)
        sums = np.zeros((len(parts), d, d))

        def add_sparse(total: np.ndarray, start: int, stop: int) -> None:
            features.add_squares(*self.panel, rows[start:stop], weight[start:stop], total)

        def add_dense(total: np.ndarray, start: int, stop: int) -> None:
            step = max(64, TILE // d)
            tile = np.empty((step, d))
            for first in range(start, stop, step):
                here = slice(first, min(first + step, stop))
                some = tile[: here.stop - first]
                features.scaled_rows(*self.panel, rows[here], np.sqrt(weight[here]), some)
                total += some.T @ some

        add = add_sparse if sparse.issparse(self.X) else add_dense
        self._run(add, [(s, *part) for s, part in zip(sums, parts, strict=True)], self.row_cost)
        result: np.ndarray = sums.sum(axis=0)
        if add is add_sparse:  # what it has is the lower triangle
            result += np.tril(result, -1).T
        return result


def product_rounding(square: float, state: np.ndarray, squares: np.ndarray, cost: float) -> float:
    """Bound the rounding of sum_i c_i x_i'w, by |c|^2, w, squared norms of columns and row cost."""
    terms = math.sqrt(square) * float(np.abs(state) @ np.sqrt(squares))
    return EPS * math.sqrt(cost) * terms


def _add_image(
    X: np.ndarray,
    x: np.ndarray,
    b: float,
    weight: np.ndarray,
    scores: np.ndarray,
    image: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Put X w + b in `scores` and add (X, 1)'D (X w + b), each tile of X read once."""
    d = X.shape[1]
    step = max(16, TILE // d)
    for first in range(start, stop, step):
        here = slice(first, min(first + step, stop))
        tile = X[here].astype(np.float64, copy=False)
        np.matmul(tile, x[:d], out=scores[here])
        scores[here] += b
        image[:d] += (weight[here] * scores[here]) @ tile
    image[d:] += weight[start:stop] @ scores[start:stop]
