"""The empirical risk f of the paper, as the solvers see it: by sums, resolvents and offsets.

f(z) = sum_i C_i L(y_i, z_i) for an additively separable loss, equation (3), or a sum over groups of
scores for a coupled one. Arrays hold one row for each problem, and `j` says which of them is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent._numeric import EPS
from resolvent._threads import run
from resolvent.grams.systems import Curvature
from resolvent.problem import groups, sums

Array = NDArray[np.float64]

MAX_NEWTON = 100  # moves of the offsets
MAX_BISECTIONS = 50
PART = 1 << 15  # coordinates that one thread takes at a time
DEARER = 8  # how many times a resolvent that takes iterations costs what another does
NO_SLOPE = 1e-12  # slopes of resolvents that are none
LONGEST = 1e6  # of a step, in units of C over scores: with longer ones sums are jumps in the offset


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
        self.n_columns, self.longest = 1, np.inf  # any step will do

    def fenchel(self, j: int, c: Array, z: Array, b: Any) -> tuple[float, float, float, float]:
        """Sum f(z + b), f*(-c), c'z, and the sum of all magnitudes in them."""
        return sums.fenchel(self.loss, self.y[j], self.C[j], c, z, b)

    def step(self, j: int, c: Array, z: Array, b: Any, alpha: Array) -> Array:
        """Do steps 2 and 3 of the fixed-point iteration: -J_alpha(alpha (z + b) - c)."""
        out = np.empty(len(c))
        sums.step(self.loss, self.y[j], self.C[j], c, z, b, alpha, out)
        return out

    def response(self, j: int, c: Array, s: Array, sigma: float) -> tuple[Array, Curvature]:
        """Do the step around c with alpha = sigma at scores s; minus its derivative in s too."""
        coef, slopes = np.empty((2, len(c)))
        part = PART // DEARER if getattr(self.loss, "iterative", False) else PART
        y, C = self.y[j], self.C[j]

        def respond(start: int) -> None:
            p = slice(start, start + part)
            sums.proximal(self.loss, y[p], C[p], c[p], s[p], sigma, coef[p], slopes[p])

        run(respond, [(start,) for start in range(0, len(c), part)], parallel=True)
        return coef, Curvature(sigma * np.where(slopes > NO_SLOPE, slopes, 0.0), sigma)

    def balance(self, j: int, c: Array, z: Array, alpha: Array, b: Any) -> Any:
        """Offset at which the step sums to zero, searched from b."""
        slack = 1e-13 * float(np.abs(c).sum())
        return sums.balance(self.loss, self.y[j], self.C[j], c, z, alpha, 0.0, b, slack, 0.0, 0.0)

    def best_offset(self, j: int, c: Array, z: Array, b: Any = 0.0, rough: float = 0.0) -> Any:
        """Argmin of f(z + b) over b, up to `rough` in f; the midpoint where it is an interval."""
        return sums.best_offset(self.loss, self.y[j], self.C[j], z, b, rough)

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

    def columns(self, coef: Array) -> Array:
        """Coefficients of all problems (m, n) as the rows that K is applied to."""
        return coef

    def totals(self, c: Array) -> Array:
        """Add up the coefficients that an offset makes zero."""
        return c.sum(keepdims=True)

    def spread(self, b: Any) -> Any:
        """Offset of each score."""
        return b


class Coupled:
    """f(z) = sum over groups of C_g L(y_g, z_g), of a loss that is given by functions of vectors.

    A group is all samples of a problem or, where the loss couples columns, the scores of a sample.

    Parameters
    ----------
    loss : loss
        The loss L, see :mod:`resolvent.losses.coupled`.
    y : ndarray of shape (m, N)
        Targets of m problems; where the loss couples columns those of one problem, row by row.
    C : ndarray of shape (m, n)
        Weights of the samples.
    n_columns : int
        Scores of a sample, each with an offset of its own.
    alpha : float
        A step for which the fixed point's offset is found.

    Attributes
    ----------
    longest : float
        Steps beyond this one are of no use, however small K is.
    """

    def __init__(self, loss: Any, y: Array, C: Array, n_columns: int, alpha: float) -> None:
        self.loss, self.y, self.n_columns = loss, y, n_columns
        self.longest = LONGEST * float(C.max()) / (1.0 + float(np.abs(y).max()))
        self.alpha = min(alpha, self.longest)
        # Samples of weight zero are left out of the group of all.
        self.is_over: Callable[[], bool] = lambda: False  # whether the time for solving is
        self.used = [c > 0.0 if n_columns == 1 else slice(None) for c in C]
        self.C = [c.max(keepdims=True) if n_columns == 1 else c for c in C]

    def _groups(self, j: int, x: Array) -> Array:
        return x[self.used[j]].reshape(len(self.C[j]), -1)

    def _run(self, loop: Any, *args: Any) -> Any:
        """Run a loop over groups: compiled if there are many, as it stands for a single one."""
        return (loop if self.n_columns > 1 else loop.py_func)(*args)

    def _arguments(self, j: int, c: Array, s: Array, alpha: Array) -> Any:
        y, c, s, alpha = (self._groups(j, x) for x in (self.y[j], c, s, alpha))
        return self.loss, y, self.C[j], c, s, np.ascontiguousarray(alpha[:, 0])

    def fenchel(self, j: int, c: Array, z: Array, b: Any) -> tuple[float, float, float, float]:
        """Sum f(z + b), f*(-c), c'z, and the sum of all magnitudes in them."""
        y, c, z, s = (self._groups(j, x) for x in (self.y[j], c, z, z + self.spread(b)))
        return self._run(groups.fenchel, self.loss, y, self.C[j], c, z, s)

    def step(self, j: int, c: Array, z: Array, b: Any, alpha: Array) -> Array:
        """Do steps 2 and 3 of the fixed-point iteration: -J_alpha(alpha (z + b) - c)."""
        arguments = self._arguments(j, c, z + self.spread(b), alpha)
        out = np.empty(arguments[1].shape)
        self._run(groups.step, *arguments, out)
        result = np.zeros(len(c))
        result[self.used[j]] = out.ravel()
        return result

    def response(self, j: int, c: Array, s: Array, sigma: float) -> tuple[Array, Curvature]:
        """Do the step around c with alpha = sigma at scores s; minus its derivative in s too."""
        d, e = self._slopes(j, c, s, np.full(len(c), sigma))
        weight, bend = np.zeros((2, len(c)))
        weight[self.used[j]], bend[self.used[j]] = d.ravel(), e.ravel()
        weight[weight <= NO_SLOPE * sigma] = 0.0
        curvature = Curvature(weight, sigma, bend, self.n_columns if self.n_columns > 1 else len(c))
        return self.step(j, c, s, 0.0, np.full(len(c), sigma)), curvature

    def _slopes(self, j: int, c: Array, s: Array, alpha: Array) -> Array:
        """Vectors d and e of each group: minus the derivative of the step is diag(d) - e e'."""
        arguments = self._arguments(j, c, s, alpha)
        d, e = both = np.empty((2, *arguments[1].shape))
        self._run(groups.slopes, *arguments, d, e)
        return both

    def balance(self, j: int, c: Array, z: Array, alpha: Array, b: Any) -> Any:
        """Offsets at which the step sums to zero, searched from b.

        The sums are minus the gradient of a convex function of the offsets: Newton's method, where
        the length of a move is found by bisection on the slope along it. Ends early, at offsets
        that are not the best, where the time is over.
        """
        b = np.array(np.broadcast_to(b, self.n_columns), dtype=float)
        new = self.step(j, c, z, b, alpha)
        totals = self.totals(new)
        for _ in range(MAX_NEWTON):
            if np.abs(totals).max() <= 64 * EPS * np.abs(new).sum() or self.is_over():
                break
            move = self._direction(j, c, z, b, alpha, totals)
            slope = float(totals @ move)
            lo, hi, t = 0.0, np.inf, 1.0
            for _ in range(MAX_BISECTIONS):
                trial = self.step(j, c, z, b + t * move, alpha)
                left = self.totals(trial)
                along = float(left @ move)
                halved = np.abs(left).max() <= 0.5 * np.abs(totals).max()
                if halved or 0.0 <= along <= 0.5 * slope or self.is_over():
                    break
                lo, hi = (t, hi) if along > 0.0 else (lo, t)
                t = 2.0 * t if hi == np.inf else 0.5 * (lo + hi)
            if np.abs(left).max() >= np.abs(totals).max() and not 0.0 <= along <= 0.5 * slope:
                break
            b, new, totals = b + t * move, trial, left
        return b if self.n_columns > 1 else float(b[0])

    def _direction(self, j: int, c: Array, z: Array, b: Any, alpha: Array, totals: Array) -> Array:
        """Newton's move of the offsets."""
        d, e = self._slopes(j, c, z + self.spread(b), alpha)
        bends = e.reshape(len(e), -1, self.n_columns).sum(axis=1)
        hessian = np.diag(self.totals(d.ravel())) - bends.T @ bends
        ridge = 1e-12 * float(np.trace(hessian)) + 1e-9 * float(alpha.sum()) / len(self.C[j])
        return np.linalg.solve(hessian + ridge * np.eye(self.n_columns), totals)

    def best_offset(self, j: int, c: Array, z: Array, b: Any = 0.0, rough: float = 0.0) -> Any:
        """Offsets of the fixed point at c: the best ones where c is the solution."""
        return self.balance(j, c, z, np.full(len(c), self.alpha), b)

    def falls_for_ever(self, j: int) -> bool:
        """Whether f keeps falling as an offset falls, that of a class without samples."""
        if self.n_columns == 1:
            return False
        none, sharp = np.zeros(self.y.shape[1]), np.full(self.y.shape[1], np.inf)
        low = -50.0 * np.eye(self.n_columns)
        return any(
            self.totals(self.step(j, none, none, b, sharp))[i] < 0.0 for i, b in enumerate(low)
        )

    def columns(self, coef: Array) -> Array:
        """Coefficients as the rows that K is applied to: one for each column."""
        return coef.reshape(-1, self.n_columns).T

    def totals(self, c: Array) -> Array:
        """Add up the coefficients that an offset makes zero: one for each column."""
        return c.reshape(-1, self.n_columns).sum(axis=0)

    def spread(self, b: Any) -> Any:
        """Offset of each score."""
        return b if np.ndim(b) == 0 else np.tile(b, self.y.shape[1] // self.n_columns)
