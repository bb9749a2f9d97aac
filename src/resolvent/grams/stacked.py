"""One kernel matrix for several columns of coefficients that a loss couples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resolvent.grams.base import Chunk, Gram
from resolvent.grams.linear import LinearGram
from resolvent.grams.systems import EPS, Curvature, Direction, inverse, offset_move

MAX_SYSTEM = 3000  # unknowns of a Newton step: a matrix of their square is held several times


class StackedGram(Gram):
    """The Kronecker product of K and the identity: K applied to each of k columns.

    Coefficients are those of the first sample for all columns, then those of the second, and so on.
    `chunks` goes by samples, as K itself does.

    Parameters
    ----------
    kernel : Gram
        The matrix K.
    k : int
        Number of columns.
    """

    def __init__(self, kernel: Gram, k: int) -> None:
        self.kernel, self.k = kernel, k
        self.n = kernel.n * k
        self.dtype, self.noise, self.row_cost = kernel.dtype, kernel.noise, kernel.row_cost
        self.diagonal, self.is_elsewhere = np.repeat(kernel.diagonal, k), kernel.is_elsewhere

    @property
    def factor(self) -> LinearGram | None:
        return self.kernel.factor

    def state(self, coef: np.ndarray) -> np.ndarray:
        columns = coef.reshape(len(coef), self.kernel.n, self.k).swapaxes(1, 2)
        state = self.kernel.state(np.ascontiguousarray(columns).reshape(-1, self.kernel.n))
        return state.reshape(len(coef), self.k * state.shape[1])

    def scores(self, state: np.ndarray) -> np.ndarray:
        scores = self.kernel.scores(state.reshape(-1, state.shape[1] // self.k))
        columns = scores.reshape(len(state), self.k, self.kernel.n)
        return np.ascontiguousarray(columns.swapaxes(1, 2)).reshape(len(state), self.n)

    def inner(self, coef: np.ndarray, state: np.ndarray, other: np.ndarray) -> float:
        return self.kernel.inner(coef.reshape(-1, self.k).T.ravel(), state, other)

    def chunks(self, order: np.ndarray) -> Iterator[Chunk]:
        yield from self.kernel.chunks(order)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        same = np.equal.outer(rows % self.k, columns % self.k)
        return self.kernel.block(rows // self.k, columns // self.k) * same

    def _coupled_move(
        self,
        coef: np.ndarray,
        aim: np.ndarray,
        ahead: np.ndarray,
        curvature: Curvature,
        balanced: bool,
    ) -> Direction:
        """Solve for the change of w where K = XX' has few columns, as the linear kernel does."""
        X = self._columns_suffice(int(np.count_nonzero(curvature.weight)))
        if X is None:
            return super()._coupled_move(coef, aim, ahead, curvature, balanced)
        offsets = self.offset_columns()[:, : None if balanced else 0]
        spread = curvature.times(offsets)
        solve = inverse(self._normal_matrix(X, curvature))
        border, change = self.state(spread.T).T, solve(ahead)
        answer = solve(border)
        shift = offset_move(
            offsets.T @ spread - border.T @ answer, offsets.T @ aim - border.T @ change, curvature
        )
        change -= answer @ shift
        scores = self.scores(change[None])[0]
        move = aim - coef - curvature.times((scores + offsets @ shift)[:, None])[:, 0]
        return Direction(move, change, scores, shift if balanced else 0.0)

    def _normal_matrix(self, X: LinearGram, curvature: Curvature) -> np.ndarray:
        """I + X'WX, with a block of rows and columns for each column of coefficients.

        Of each sample W is diag(d) - ee'. Rows of it sum to d_p - e_p sum(e), as a rule to zero:
        hence its diagonal as the sum of the others, none of whose terms cancel.
        """
        weight, _, bend, _ = curvature
        assert bend is not None
        d, e = weight.reshape(-1, self.k), bend.reshape(-1, self.k)
        sums = d - e * e.sum(axis=1)[:, None]
        sums[sums <= 4 * self.k * EPS * d] = 0.0
        result = np.empty((self.k, X.columns, self.k, X.columns))
        for p in range(self.k):
            others = np.delete(e, p, axis=1).sum(axis=1)
            result[p, :, p] = X.squares(sums[:, p] + e[:, p] * others)
            for q in range(p):
                block = -X.squares(e[:, p] * e[:, q])
                result[p, :, q], result[q, :, p] = block, block.T
        system = result.reshape(self.k * X.columns, -1)
        system[np.diag_indices_from(system)] += 1.0
        return system

    def linearised_cost(self, free: int, is_smooth: bool = False) -> float:
        X = self._columns_suffice(free)
        if X is not None:
            pairs = self.k * (self.k + 1) / 2.0
            return pairs * X.sweep_cost * X.row_cost / 2.0 + (self.k * X.columns) ** 3 / 3.0
        return super().linearised_cost(free) if free <= MAX_SYSTEM else np.inf

    def _columns_suffice(self, free: int) -> LinearGram | None:
        """K as XX', where the system of a Newton step is smaller in w = X'c."""
        X = self.factor
        return X if X is not None and self.k * X.columns <= min(free, MAX_SYSTEM) else None

    def offset_columns(self) -> np.ndarray:
        return np.tile(np.eye(self.k), (self.kernel.n, 1))

    def rounding(self, coef: np.ndarray, state: np.ndarray) -> float:
        pairs = zip(coef.reshape(-1, self.k).T, self._columns(state), strict=True)
        return sum(self.kernel.rounding(c, s) for c, s in pairs)

    def score_errors(self, coef: np.ndarray, state: np.ndarray) -> np.ndarray:
        pairs = zip(coef.reshape(-1, self.k).T, self._columns(state), strict=True)
        return np.array([self.kernel.score_errors(c, s) for c, s in pairs]).T.ravel()

    def shift(self, state: np.ndarray) -> np.ndarray:
        return np.array([self.kernel.shift(s) for s in self._columns(state)])

    def _columns(self, state: np.ndarray) -> np.ndarray:
        """States of K, one row for each column of coefficients."""
        return state.reshape(self.k, -1)

    def restricted(self, rows: np.ndarray) -> Gram:
        return StackedGram(self.kernel.restricted(rows[:: self.k] // self.k), self.k)
