"""Cross-validation of the squared loss in closed form.

At the optimum c = G y, where G = (K + D)^-1 with D = diag(1 / C_i), or, with an offset,
G = P - P 1 1'P / (1'P 1) with P = (K + D)^-1. If the samples of a set B are left out, their
residuals are

    y_B - f_B = (G_BB)^-1 (G y)_B,

for every set B: leave-one-out needs the diagonal of G only. One eigendecomposition of the kernel
matrix, scaled by the square roots of the weights, serves all C and all folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from resolvent.grams import Gram
from resolvent.losses import as_loss
from resolvent.problem import Array

SECONDS = 5e-10  # of an eigendecomposition, times n^3; it cannot be interrupted
MOST_UNEVEN = 1e8  # ratio of weights, the square root of what rounding allows
MOST_SAMPLES = 3000  # up to which one eigendecomposition is quicker than the folds one by one


def has_closed_form(loss: Any, weight: Array, n_folds: int, time_left: float | None) -> bool:
    """Whether the folds of a loss have a closed form that is worth it, and that there is time for.

    Otherwise they are solved one by one, which ends when the time is over. So they are where
    weights differ by much: rounding is relative to the largest.
    """
    n_samples = len(weight)
    if weight.max() > MOST_UNEVEN * weight.min():
        return False
    squared = type(loss) is type(as_loss("squared"))
    if time_left is not None and seconds(n_samples) > 0.25 * time_left:
        return False
    many = n_folds > n_samples // 2  # leave-one-out, or nearly
    return squared and (many or n_samples <= MOST_SAMPLES)


def seconds(n_samples: int) -> float:
    """Estimate the time of one eigendecomposition."""
    return SECONDS * n_samples**3


class SquaredFolds:
    """Held-out scores of the squared loss for any fold and any C.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    y : ndarray of shape (n, m)
        Targets.
    weight : ndarray of shape (n,)
        Weights, all above zero.
    fit_intercept : bool
        Whether there is an offset.
    """

    def __init__(self, gram: Gram, y: Array, weight: Array, fit_intercept: bool) -> None:
        self.y, self.root, self.fit_intercept = y, np.sqrt(weight), fit_intercept
        everything = np.arange(gram.n)
        K = gram.block(everything, everything)
        K *= self.root[:, None]
        K *= self.root
        if not np.isfinite(K).all():
            raise np.linalg.LinAlgError("the weighted kernel matrix overflows")
        values, self.vectors = eigh(K, overwrite_a=True, check_finite=False, driver="evd")
        self.values = np.maximum(values, 0.0)

    def held_out(self, C: float, folds: list[tuple[np.ndarray, np.ndarray]]) -> Iterator[Array]:
        """Scores of the samples of each fold: pairs of those left out and those to score.

        The second of a pair are positions in the first. Raises LinAlgError where rounding has left
        nothing of a fold's system.
        """
        # In scaled terms P = S (S K S + 1/C)^-1 S, S the roots of the weights.
        shrink = 1.0 / (self.values + 1.0 / C)
        U = self.vectors

        def inverse(right: Array) -> Array:
            return self.root[:, None] * (
                U @ (shrink[:, None] * (U.T @ (self.root[:, None] * right)))
            )

        coef = inverse(self.y)
        ones = inverse(np.ones((len(self.y), 1))) if self.fit_intercept else None
        if ones is not None:
            coef = coef - ones * (coef.sum(axis=0) / ones.sum())
        for out, scored in folds:
            here = self.root[out, None] * U[out]
            if len(out) == 1:
                block = np.array([[float(here[0] ** 2 @ shrink)]])
            else:
                block = (here * shrink) @ here.T
            if ones is not None:
                block = block - ones[out] * ones[out].T / ones.sum()
            residuals = np.linalg.solve(block, coef[out])
            if not np.isfinite(residuals).all():
                raise np.linalg.LinAlgError("the residuals of a fold overflow")
            yield (self.y[out] - residuals)[scored]
