"""The linear system of a Newton step, solved on the free coordinates (see `solvers.newton`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

EPS = float(np.finfo(float).eps)


class Direction(NamedTuple):
    """A change of coefficients, with those of the state, the scores and the offset it brings."""

    coef: np.ndarray
    state: np.ndarray
    scores: np.ndarray
    intercept: Any  # a number, or one for each column of a coupled loss


class Curvature(NamedTuple):
    """Minus the derivative of resolvent steps with respect to scores: diag(weight) - sum of e e'.

    A coupled loss has one e for each group of `size` consecutive coordinates, its part of `bend`.
    """

    weight: np.ndarray
    scale: float  # sigma, which no weight exceeds
    bend: np.ndarray | None = None  # None where every coordinate is a group of its own
    size: int = 1

    def times(self, x: np.ndarray) -> np.ndarray:
        """Apply it to each column of x."""
        result: np.ndarray = self.weight[:, None] * x
        if self.bend is not None:
            shape = len(x) // self.size, self.size, x.shape[1]
            bent = (self.bend[:, None] * x).reshape(shape).sum(axis=1)
            result -= self.bend[:, None] * np.repeat(bent, self.size, axis=0)
        return result


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
    """Factorise a positive definite system; where rounding makes it indefinite, add a ridge.

    Rows and columns are scaled to a diagonal of ones, so that what a ridge does to the solution
    does not depend on the units of any of them.
    """
    diagonal = np.diag(system)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    extra = 0.0
    while True:
        damped = system * scale
        damped *= scale[:, None]
        damped[np.diag_indices_from(damped)] += extra
        try:
            factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            break
        except LinAlgError:
            extra = max(100.0 * extra, 4 * EPS)
            if not extra < 1.0:
                return lambda right: np.full(np.shape(right), np.nan)

    def once(right: np.ndarray) -> np.ndarray:
        x: np.ndarray = cho_solve(factor, (scale * right.T).T, check_finite=False)
        return (scale * x.T).T

    def solve(right: np.ndarray) -> np.ndarray:
        x = once(right)
        return x + once(right - system @ x)

    return solve


class RootCurvature:
    """The matrix F on the free coordinates with FF' = diag(weight) - sum of e e'.

    With h = e / sqrt(weight), which is no longer than 1, it is diag(sqrt(weight)) (I - r hh') in
    each group, r = 1 / (1 + sqrt(1 - h'h)).
    """

    def __init__(self, curvature: Curvature) -> None:
        weight, _, bend, size = curvature
        assert bend is not None
        self.free = np.flatnonzero(weight)
        self.root = np.sqrt(weight[self.free])
        self.h = bend[self.free] / self.root
        group = self.free // size
        self.starts = np.flatnonzero(np.diff(group, prepend=-1))
        self.counts = np.diff(self.starts, append=len(group))
        length = np.add.reduceat(self.h**2, self.starts)
        left = np.where(length > 1.0 - 1e-12, 0.0, 1.0 - length)  # rounding would leave its root
        self.r = 1.0 / (1.0 + np.sqrt(left))

    def _shorten(self, x: np.ndarray) -> np.ndarray:
        along = self.r[:, None] * np.add.reduceat(self.h[:, None] * x, self.starts)
        return x - self.h[:, None] * np.repeat(along, self.counts, axis=0)

    def times(self, x: np.ndarray) -> np.ndarray:
        """F x for each column of x."""
        return self.root[:, None] * self._shorten(x)

    def transposed_times(self, x: np.ndarray) -> np.ndarray:
        """F'x for each column of x."""
        return self._shorten(self.root[:, None] * x)


def coupled_move(
    block: Callable[[np.ndarray, np.ndarray], np.ndarray],
    curvature: Curvature,
    move: np.ndarray,
    scores: np.ndarray,
    border: np.ndarray,
    totals: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve x + W (K x + E b) = move and E'x = E'move - totals.

    W is the curvature, E the `border`; `scores` are K move, `block` gives submatrices of K. With
    W = FF' it is x = move - F t and (I + F'KF) t = F'(K move + E b), which is well posed even where
    W and K are singular.
    """
    x = move.copy()
    if not curvature.weight.any():
        return x, offset_move(np.zeros((len(totals), len(totals))), totals, curvature)
    F = RootCurvature(curvature)
    system = F.transposed_times(F.transposed_times(block(F.free, F.free)).T)
    system[np.diag_indices_from(system)] += 1.0
    solve = inverse(system)
    t = solve(F.transposed_times(scores[F.free, None]))
    right = F.transposed_times(border[F.free])
    answer = solve(right)
    shift = offset_move(right.T @ answer, totals - (right.T @ t)[:, 0], curvature)
    t += answer @ shift[:, None]
    x[F.free] -= F.times(t)[:, 0]
    return x, shift


def offset_move(system: np.ndarray, right: np.ndarray, curvature: Curvature) -> np.ndarray:
    """Solve for the change of offsets of a coupled loss, whose system may be singular.

    In directions in which it is, they move by the gradient, as if W were its scale everywhere.
    """
    if not len(right):
        return right
    least = curvature.scale * len(curvature.weight)
    values, vectors = np.linalg.eigh(system)
    values[values <= max(1e-12 * values.max(), 1e-20 * least)] = least
    result: np.ndarray = vectors @ ((vectors.T @ right) / values)
    return result


def by_orthogonal_factor(
    root: np.ndarray, border: np.ndarray, right: np.ndarray, total: float, least: float
) -> tuple[np.ndarray, float]:
    """Solve (I + R'R) x + R'B b = right and B'R x + B'B b = total, given the `root` R.

    The `border` B has one column, or none where b is 0. Orthogonal factors of (I, 0; R, B) keep the
    digits that R'R would lose where columns are nearly collinear. Where B says nothing of b, that
    is total / least.
    """
    k, d = root.shape
    if k < d:  # the others of the d dimensions have nothing to do with it
        basis, corner = np.linalg.qr(root.T)
        x, b = by_orthogonal_factor(corner.T, border, right @ basis, total, least)
        beside = right - basis @ (right @ basis)
        beside -= basis @ (beside @ basis)  # again: what rounding has left within would count
        return beside + basis @ x, b
    Q, R = np.linalg.qr(np.block([[np.eye(d), np.zeros((d, border.shape[1]))], [root, border]]))
    u, b = Q[:d].T @ right, 0.0
    if border.size:
        pivot = float(R[d, d])
        known = abs(pivot) > 4 * EPS * float(np.linalg.norm(border))
        b = float(total - R[:d, d] @ u[:d]) / pivot**2 if known else total / least
        u = u[:d] - b * R[:d, d]
    solution: np.ndarray = solve_triangular(R[:d, :d], u, check_finite=False)
    return solution, b


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
