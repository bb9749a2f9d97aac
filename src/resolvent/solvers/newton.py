"""Newton's method on the optimality equation, to finish what first-order steps have begun.

The residual r(c) = c + J(alpha (Kc + b) - c) of equation (8) is piecewise smooth. With d_i the
slope of the i-th resolvent, its linearisation reads

    (1 - d_i) dc_i + d_i alpha_i ((K dc)_i + db) = -r_i,

so that coordinates with d_i = 0 (at a bound of the dual) just move by -r_i and the others, the free
ones, solve one symmetric positive definite system, bordered by sum(c) = 0 with an offset. Near the
solution the free set is small and settled, and a few such steps reach the limit of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from resolvent.problem import EPS, Array, Certificate, Problem
from resolvent.solvers import loops

MAX_FREE = 3000  # a Cholesky factorisation of this size takes a fraction of a second
MAX_STEPS = 20
TRIFLE = 5e7  # multiply-adds that nobody notices
BLAS3 = 16.0  # how many times faster a flop is in a factorisation than in a sweep


class Finisher:
    """Newton steps on one problem, never costing more than the sweeps before them did."""

    def __init__(self, problem: Problem, j: int) -> None:
        self.problem, self.j = problem, j
        diagonal = problem.gram.diagonal
        self.alpha = 1.0 / np.maximum(diagonal, max(1e-3 * diagonal.mean(), 1e-200))
        self.work = 0.0
        self.seen = 0

    def steps(self, current: Certificate, n_iter: int, credit: float) -> Iterator[Certificate]:
        """Yield better and better certificates while steps succeed and are affordable.

        A step may cost what sweeps have cost since the last, or up to `credit`.
        """
        gram = self.problem.gram
        self.work += float(n_iter - self.seen) * gram.n * gram.row_cost
        self.seen = n_iter
        residual, slopes = self._linearise(current)
        for _ in range(MAX_STEPS):
            free = np.flatnonzero(slopes > 1e-9)
            size = float(len(free))
            cost = size**2 * (size / 3.0 + gram.row_cost) / BLAS3 + 4.0 * gram.n * gram.row_cost
            if not 0 < len(free) <= MAX_FREE or cost > max(self.work, credit):
                return
            self.work -= cost
            for new in self._candidates(current, residual, slopes, free):
                new_residual, slopes = self._linearise(new)
                level = abs(new.dual - current.dual) <= current.floor
                calmer = np.abs(new_residual).max() < 0.9 * np.abs(residual).max()
                if new.dual > current.dual + current.floor or (level and calmer):
                    current, residual = new, new_residual
                    break
            else:
                return
            yield current

    def _linearise(self, at: Certificate) -> tuple[Array, Array]:
        problem, j = self.problem, self.j
        residual, slopes = np.empty(problem.n), np.empty(problem.n)
        args = problem.loss, problem.y[j], problem.C[j], at.coef, at.scores, at.intercept
        loops.linearise(*args, self.alpha, residual, slopes)
        return residual, slopes

    def _candidates(
        self, at: Certificate, residual: Array, slopes: Array, free: np.ndarray
    ) -> Iterator[Certificate]:
        """Full step, then shorter ones; each through one resolvent step into the domain."""
        problem, j = self.problem, self.j
        move, shift = self._direction(at, residual, slopes, free)
        if not np.isfinite(move).all():
            return
        tilt = problem.gram.product(move[None])[0]
        for t in (1.0, 0.5, 0.2, 0.05):
            coef, _ = problem.resolvent_step(
                j, at.coef + t * move, at.scores + t * tilt, at.intercept + t * shift
            )
            yield problem.certify(j, coef, problem.gram.product(coef[None])[0])

    def _direction(
        self, at: Certificate, residual: Array, slopes: Array, free: np.ndarray
    ) -> tuple[Array, float]:
        """Solve the linearised equation for the changes of c and of the offset."""
        gram = self.problem.gram
        move = -residual
        move[free] = 0.0
        d, alpha = slopes[free], self.alpha[free]
        right = -residual[free] / (d * alpha) - gram.product(move[None])[0][free]
        system = gram.block(free, free)
        ridge = (1.0 - d) / (d * alpha)
        system[np.diag_indices_from(system)] += ridge
        solve = _damped_inverse(system, _relative(residual, at.coef))
        x = solve(right)
        shift = 0.0
        if self.problem.fit_intercept:
            ones = solve(np.ones(len(free)))
            missing = -at.coef.sum() - move.sum()
            shift = float((x.sum() - missing) / ones.sum()) if ones.sum() > 0.0 else 0.0
            x -= shift * ones
        move[free] = x
        return move, shift


def _relative(residual: Array, coef: Array) -> float:
    return float(np.abs(residual).max() / max(np.abs(coef).max(), 1e-300))


def _damped_inverse(system: Array, size: float) -> Callable[[Array], Array]:
    """Factorise `system` plus a multiple of the identity that vanishes with the residual.

    The multiple makes singular systems (duplicated rows, few columns) solvable, and since it is of
    the order of the residual, convergence stays fast.
    """
    scale = float(np.abs(np.diag(system)).mean()) or 1.0
    damping = scale * max(min(1e-6, 1e-3 * size), 8 * EPS)
    while True:
        damped = system.copy()
        damped[np.diag_indices_from(damped)] += damping
        try:
            factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            break
        except LinAlgError:
            damping *= 100.0
            if not damping < scale:
                return lambda right: np.full(len(right), np.nan)

    def solve(right: Array) -> Array:
        x = cho_solve(factor, right, check_finite=False)
        # Refinement takes the damping back where the system allows it.
        for _ in range(2):
            correction = cho_solve(factor, right - system @ x, check_finite=False)
            x = x + correction
        return x

    return solve
