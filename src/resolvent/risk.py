"""The empirical risk f of the paper, as the solvers see it: by sums, resolvents and offsets.

f(z) = sum_i C_i L(y_i, z_i) for an additively separable loss, equation (3). Arrays hold one row
for each problem, and `j` says which of them is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent.solvers import loops

Array = NDArray[np.float64]


class Separable:
    """f(z) = sum_i C_i L(y_i, z_i), of a loss that is given by scalar functions.

    Parameters
    ----------
    loss : loss
        The loss L.
    y, C : ndarray of shape (m, n)
        Targets and weights of m problems.
    """

    def __init__(self, loss: Any, y: Array, C: Array) -> None:
        self.loss, self.y, self.C = loss, y, C

    def fenchel(self, j: int, c: Array, z: Array, b: Any) -> tuple[float, float, float, float]:
        """Sum f(z + b), f*(-c), c'z, and the sum of all magnitudes in them."""
        return loops.fenchel(self.loss, self.y[j], self.C[j], c, z, b)

    def step(self, j: int, c: Array, z: Array, b: Any, alpha: Array) -> Array:
        """Do steps 2 and 3 of the fixed-point iteration: -J_alpha(alpha (z + b) - c)."""
        out = np.empty(len(c))
        loops.step(self.loss, self.y[j], self.C[j], c, z, b, alpha, out)
        return out

    def balance(self, j: int, c: Array, z: Array, alpha: Array, b: Any) -> Any:
        """Offset at which the step sums to zero, searched from b."""
        return loops.balance(self.loss, self.y[j], self.C[j], c, z, alpha, 0.0, b)

    def best_offset(self, j: int, c: Array, z: Array, b: Any = 0.0) -> Any:
        """Argmin of f(z + b) over b; the midpoint where that is an interval."""
        y, C = self.y[j], self.C[j]
        sharp, none = np.full(len(y), np.inf), np.zeros(len(y))
        out = self.step(j, none, z, 0.0, sharp)
        slack = 1e-12 * (float(np.abs(out).sum()) or float(C.sum()))
        args = self.loss, y, C, none, z, sharp
        lo = loops.balance(*args, slack, 0.0)
        hi = loops.balance(*args, -slack, lo if abs(lo) < 1e99 else 0.0)
        ends = [b for b in (lo, hi) if abs(b) < 1e99]
        return sum(ends) / len(ends) if ends else 0.0

    def falls_for_ever(self, j: int) -> bool:
        """Whether f keeps falling as the offset grows, so that there is no best one."""
        y, C, none = self.y[j], self.C[j], np.zeros(self.y.shape[1])
        for side in (1.0, -1.0):
            # The slopes of the losses at the far end: all of one sign, or zero?
            far = self.step(j, none, none, side * 1e150, C).sum()
            if side * far < 0.0:
                continue
            near = side * 50.0 * (1.0 + np.abs(y).max())
            if self.step(j, none, none, near, np.full(len(y), np.inf)).sum() != 0.0:
                return True
        return False
