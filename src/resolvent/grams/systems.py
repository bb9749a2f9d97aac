"""The linear system of a Newton step, solved on the free coordinates (see `solvers.newton`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

EPS = float(np.finfo(float).eps)


class Direction(NamedTuple):
    """A change of coefficients, with those of the state, the scores and the offset it brings."""

    coef: np.ndarray
    state: np.ndarray
    scores: np.ndarray
    intercept: float


def bordered(
    solve: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    border: np.ndarray,
    corner: float,
    total: float,
) -> tuple[np.ndarray, float]:
    """Solve A x + border b = right, border'x + corner b = total, given `solve` for A.

    Where rounding leaves nothing of what b is divided by, there is no solution: NaN.
    """
    x, v = solve(right), solve(border)
    taken = float(border @ v)
    pivot = corner - taken
    if abs(pivot) <= 4 * EPS * (abs(corner) + abs(taken)):
        return np.full_like(x, np.nan), np.nan
    b = float(total - border @ x) / pivot
    return x - b * v, b


def inverse(system: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Factorise a positive definite system; where rounding makes it indefinite, add a ridge."""
    extra = 0.0
    scale = float(np.abs(np.diag(system)).mean())
    while True:
        damped = system.copy()
        damped[np.diag_indices_from(damped)] += extra
        try:
            factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            break
        except LinAlgError:
            extra = max(100.0 * extra, 4 * EPS * scale)
            if not extra < scale:
                return lambda right: np.full(len(right), np.nan)

    def solve(right: np.ndarray) -> np.ndarray:
        x = cho_solve(factor, right, check_finite=False)
        return x + cho_solve(factor, right - system @ x, check_finite=False)

    return solve
