"""One kernel matrix for several columns of coefficients that a loss couples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resolvent.grams.base import Chunk, Gram


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
        self.diagonal, self.factored = np.repeat(kernel.diagonal, k), kernel.factored

    def state(self, coef: np.ndarray) -> np.ndarray:
        columns = coef.reshape(len(coef), -1, self.k).swapaxes(1, 2)
        state = self.kernel.state(np.ascontiguousarray(columns).reshape(-1, self.kernel.n))
        return state.reshape(len(coef), -1)

    def scores(self, state: np.ndarray) -> np.ndarray:
        scores = self.kernel.scores(state.reshape(len(state) * self.k, -1))
        columns = scores.reshape(len(state), self.k, self.kernel.n)
        return np.ascontiguousarray(columns.swapaxes(1, 2)).reshape(len(state), -1)

    def chunks(self, order: np.ndarray) -> Iterator[Chunk]:
        yield from self.kernel.chunks(order)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        same = np.equal.outer(rows % self.k, columns % self.k)
        return self.kernel.block(rows // self.k, columns // self.k) * same

    def restricted(self, rows: np.ndarray) -> Gram:
        return StackedGram(self.kernel.restricted(rows[:: self.k] // self.k), self.k)
