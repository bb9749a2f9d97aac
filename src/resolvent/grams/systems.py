"""The linear system of a Newton step, solved on the free coordinates (see `solvers.newton`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

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


class HeldSystem:
    """A x + b = right, A positive definite, where some coordinates of x are held at given values.

    One factor A = LL' serves whichever are held. With E the columns of the identity for those, and
    one of ones if x is `balanced` to sum zero by b, it is A x + E f = right and E'x = values, so
    that (L^-1 E)'(L^-1 E) f = (L^-1 E)'L^-1 right - values. All is in the precision of A.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric; what it is overwritten with is of no use to others.
    right : ndarray of shape (n,)
        Right-hand side.
    balanced : bool
        Whether b is such that x sums to zero; otherwise b = 0.

    Raises
    ------
    LinAlgError
        If A is not positive definite, up to rounding.
    """

    def __init__(self, A: np.ndarray, right: np.ndarray, balanced: bool) -> None:
        self.n, self.dtype, self.balanced = len(A), A.dtype, int(balanced)
        # Of a symmetric matrix LAPACK can have the transpose, which it need not copy.
        self.factor, _ = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
        self.right = self._forward(right.astype(self.dtype))
        self.columns = self._forward(np.ones((self.n, self.balanced), self.dtype))  # L^-1 E
        self.place = np.full(self.n, -1)  # where in `columns` a coordinate is that was ever held

    def _forward(self, right: np.ndarray) -> np.ndarray:
        result: np.ndarray = solve_triangular(self.factor, right, lower=True, check_finite=False)
        return result

    def solve(self, held: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
        """Find x and b with the coordinates `held` at their values."""
        new = held[self.place[held] < 0]
        identity = np.zeros((self.n, len(new)), self.dtype)
        identity[new, np.arange(len(new))] = 1.0
        self.place[new] = self.columns.shape[1] + np.arange(len(new))
        self.columns = np.hstack([self.columns, self._forward(identity)])
        E = self.columns[:, np.concatenate([np.arange(self.balanced), self.place[held]])]
        wanted = np.concatenate([np.zeros(self.balanced), values])
        force = np.linalg.solve(E.T @ E, E.T @ self.right - wanted)
        rest = self.right - (E @ force).astype(self.dtype)
        x = solve_triangular(self.factor, rest, trans="T", lower=True, check_finite=False)
        x = x.astype(np.float64)
        x[held] = values
        if not self.balanced:
            return x, 0.0
        others = np.setdiff1d(np.arange(self.n), held)
        x[others] -= x.sum() / max(len(others), 1)  # what rounding has left of the sum
        return x, float(force[0])
