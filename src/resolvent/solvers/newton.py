"""Proximal Newton steps on the dual, to finish what first-order steps have begun.

Around coefficients c0 and with a step sigma, the proximal problem is to minimise over c

    sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2 + |c - c0|^2 / (2 sigma).

Its own dual is smooth: with c_i(z) = -J_sigma(sigma z_i - c0_i), the resolvent step of equation
(8), and e_i its envelope (e_i' = -c_i), it is to minimise

    phi(a, b) = sum_i e_i((Ka)_i + b) + a'Ka / 2,      stationary where a = c(Ka + b), sum(c) = 0.

Newton's method with a line search on phi always converges, and fast, since phi is piecewise smooth:
with d_i the slopes of the resolvents its direction solves

    da_i + sigma d_i ((K da)_i + db) = c_i - a_i,

where coordinates with d_i = 0 (at a bound of the dual) just move to c_i and the others, the free
ones, share one symmetric positive definite system, bordered by sum(a) = 0 with an offset. As sigma
grows the proximal steps reach the limit of rounding, on singular K too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from resolvent.problem import EPS, Array, Certificate, Problem
from resolvent.solvers import loops

MAX_FREE = 3000  # a Cholesky factorisation of this size takes a fraction of a second
MAX_STEPS = 30  # proximal steps at one go
MAX_FAILURES = 3  # proximal steps without progress
MAX_NEWTON = 40  # Newton steps in one proximal step
TRIFLE = 5e7  # multiply-adds that nobody notices
BLAS3 = 16.0  # how many times faster a flop is in a factorisation than in a sweep


class WorkExceededError(Exception):
    """A Newton step would cost more than is allowed, or there is no time left."""


class Finisher:
    """Proximal Newton steps on one problem, never costing more than the sweeps before them did."""

    def __init__(self, problem: Problem, j: int, is_over: Callable[[], bool]) -> None:
        self.problem, self.j = problem, j
        self.is_over = is_over  # whether the time limit has passed
        self.loss, self.y, self.C = problem.loss, problem.y[j], problem.C[j]
        self.work = self.spent = 0.0
        self.sigma = 0.0

    def steps(self, current: Certificate, work: float, credit: float) -> Iterator[Certificate]:
        """Yield better and better certificates while steps succeed and are affordable.

        All steps together may cost as much `work` as the solver has done, or up to `credit` each.
        """
        self.work = work
        self.sigma = self._first_sigma(current)
        before = self._residual(current)
        failures = 0
        for _ in range(MAX_STEPS):
            try:
                new = self._proximal_step(current, credit)
            except WorkExceededError:
                return
            after = self._residual(new)
            higher, gap = new.dual - current.dual, current.primal - current.dual
            calmer = abs(higher) <= current.floor and after < 0.9 * before
            closer = gap > current.floor and new.primal - new.dual < 0.5 * gap
            self.sigma *= 10.0
            if higher > current.floor or calmer or closer:
                current, before, failures = new, after, 0
                yield current
            elif gap > current.floor and failures < MAX_FAILURES:  # a longer step may do
                failures += 1
                self.sigma *= 10.0
            else:
                return

    def _first_sigma(self, at: Certificate) -> float:
        """Step with which coefficients of their size move when scores do by a tenth of theirs."""
        curvature = self.problem.gram.trace / self.problem.n
        scores = np.abs(at.scores + at.intercept).max() + np.abs(self.y).max()
        return max(
            10.0 * np.abs(at.coef).max() / max(scores, 1e-100), 10.0 / max(curvature, 1e-100)
        )

    def _residual(self, at: Certificate) -> float:
        """How far the coefficients are from a fixed point of equation (8), with alpha = 1 / k."""
        alpha = self.problem.n / max(self.problem.gram.trace, 1e-100)
        coef, _, _ = self._respond(at.coef, at.scores + at.intercept, alpha)
        return float(np.abs(coef - at.coef).max())

    def _respond(self, centre: Array, scores: Array, sigma: float) -> tuple[Array, Array, float]:
        """c(z), the slopes of the resolvents and the sum of the envelopes e_i(z_i)."""
        coef, slopes = np.empty(len(scores)), np.empty(len(scores))
        envelope = loops.proximal(self.loss, self.y, self.C, centre, scores, sigma, coef, slopes)
        return coef, slopes, envelope

    def _proximal_step(self, at: Certificate, credit: float) -> Certificate:
        """Solve the proximal problem around `at` by Newton's method, and certify the result."""
        problem, sigma, centre = self.problem, self.sigma, at.coef
        a, z, b = at.coef.copy(), at.scores.copy(), at.intercept
        blind = 0
        for _ in range(MAX_NEWTON):
            c, slopes, envelope = self._respond(centre, z + b, sigma)
            distance = np.abs(c - a).max()
            if distance <= max(1e-3 * np.abs(c - centre).max(), 4 * EPS * np.abs(c).max()):
                break
            move, shift = self._direction(a, c, slopes, sigma, credit)
            if not np.isfinite(move).all():
                break
            tilt = problem.gram.product(move[None])[0]
            descent = float((a - c) @ tilt - shift * c.sum())
            height = envelope + 0.5 * float(a @ z)
            blind += -descent <= 4 * EPS * abs(height)  # falls that rounding hides
            if blind > 3:
                break
            t = 1.0
            while t > 1e-10:
                trial = self._respond(centre, z + t * tilt + (b + t * shift), sigma)[2]
                trial += 0.5 * float((a + t * move) @ (z + t * tilt))
                if trial <= height + 1e-4 * t * descent + 16 * EPS * abs(height):
                    break
                t *= 0.5
            else:
                break
            a, z, b = a + t * move, z + t * tilt, b + t * shift
        coef, _ = problem.resolvent_step(self.j, a, z, b)
        return problem.certify(self.j, coef, problem.gram.product(coef[None])[0])

    def _direction(
        self, a: Array, c: Array, slopes: Array, sigma: float, credit: float
    ) -> tuple[Array, float]:
        """Solve the linearised equation for the changes of a and of the offset."""
        gram = self.problem.gram
        free = np.flatnonzero(slopes > 1e-12)
        self._pay(len(free), credit)
        move = c - a
        if len(free) == 0:
            return move, 0.0
        wanted = move[free]
        move[free] = 0.0
        ridge = 1.0 / (sigma * slopes[free])
        right = wanted * ridge - gram.product(move[None])[0][free]
        system = gram.block(free, free)
        system[np.diag_indices_from(system)] += ridge
        solve = _inverse(system)
        x = solve(right)
        shift = 0.0
        if self.problem.fit_intercept:
            ones = solve(np.ones(len(free)))
            missing = -a.sum() - move.sum()
            shift = float((x.sum() - missing) / ones.sum())
            x -= shift * ones
        move[free] = x
        return move, shift

    def _pay(self, free: int, credit: float) -> None:
        """Take the cost of a Newton step from the work that may be spent."""
        gram = self.problem.gram
        cost = free**2 * (free / 3.0 + gram.row_cost) / BLAS3 + 4.0 * gram.n * gram.row_cost
        if free > MAX_FREE or cost > max(self.work - self.spent, credit) or self.is_over():
            raise WorkExceededError
        self.spent += cost


def _inverse(system: Array) -> Callable[[Array], Array]:
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

    def solve(right: Array) -> Array:
        x = cho_solve(factor, right, check_finite=False)
        return x + cho_solve(factor, right - system @ x, check_finite=False)

    return solve
