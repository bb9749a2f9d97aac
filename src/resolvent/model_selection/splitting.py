"""Many problems on one kernel matrix, solved together by splitting.

The dual Q(c) = g(c) + c'Kc / 2 has two parts, each of which is easy alone. Douglas-Rachford's
iteration takes them in turn, with a step sigma and a point v for each problem:

    x = -J_sigma(-v)                     the resolvents, equation (8) with scores of zero
    u = (I + sigma K)^-1 (2x - v - mu)   with mu such that sum(u) = 0 if there is an offset, else 0
    v += RELAX (u - x)

At its fixed points x = u is the solution and v = x - sigma (Ku + b). One inverse serves all
problems of a kernel matrix, folds (those held out have C_i = 0, hence x_i = 0) and, as sigma need
not be exact, some values of C; an iteration is one product with it for all of them.
Where K is ill-conditioned and most coefficients are free, some 20 iterations do what takes
coordinate descent thousands of updates of each coefficient.

Certificate: x, made to sum to zero by an offset of its own, is in the domain of the dual; u is a
function of which (2x - v - u) / sigma = Ku + b are the scores. So F(u) - D(x) is a duality gap for
the function u, with which samples are scored. Its coefficients of samples held out vanish only in
the limit, which does not matter: F is defined, and bounded by D, for any function.

Rounding gives a singular K, as that of samples given several times, small negative eigenvalues.
Where sigma is large, I + sigma K then has a negative one too and the iteration diverges, so it is
K + shift I that is solved for, with a shift of the size of the rounding that makes it positive.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from resolvent._costs import SPLITTING_INVERSE, SPLITTING_PRODUCTS
from resolvent.grams import RowGram
from resolvent.model_selection.measure import ByGap
from resolvent.problem import Array, Problem
from resolvent.problem.certificate import Certificate, bounds, primal_of
from resolvent.solvers.iterate import Iteration, Known, Point, Steps, iterate

RELAX = 1.6
LONG = 10.0  # sigma, in units of the size of coefficients over that of scores
OFF = 6.0  # factor by which sigma may be off before an inverse is computed for another
CHECK = 5  # iterations from one certificate to the next, which costs as much as one or two
ROUND = 50  # iterations from one look at sigma to the next
MOST = 200  # iterations

BYTES = 20  # for each element of K


def cost(n: int, problems: int) -> float:
    """Multiply-adds of greedy coordinate descent, for each problem, that take as long."""
    return SPLITTING_INVERSE * n**3 / problems + SPLITTING_PRODUCTS * n**2


class Splitting:
    """Solves problems on one kernel matrix, and keeps the inverse for the next ones.

    Parameters
    ----------
    gram : RowGram
        The kernel matrix.
    fit_intercept : bool
        Whether there is an offset.
    pause : callable
        Called often; what it raises ends the work.
    """

    def __init__(self, gram: RowGram, fit_intercept: bool, pause: Callable[[], None]) -> None:
        self.gram, self.fit_intercept, self.pause = gram, fit_intercept, pause
        self.sigma = 0.0
        self.kernel = gram.matrix_of_rows()
        self.shift = self._positive_shift()
        self.inverse = np.empty((0, 0), np.float32)
        self.ones = np.empty(0)  # its row sums

    def solve(
        self,
        columns: list[tuple[Problem, int]],
        coef: Array,
        scores: Array,
        measure: Callable[[int, float, float, Array], float],
        tol: float,
    ) -> tuple[Array, Array, Array]:
        """Solve problems, given as columns of some, from coefficients and scores near the solution.

        ``measure(p, primal, dual, scores)`` of the p-th is what is to be at most `tol`. Returns
        coefficients in the domain of the dual, the scores with the offset, and the measures. That
        of a problem which has overflowed, or not got as far as a certificate, is infinite, and its
        coefficients and scores are those that were given.
        """
        m = len(columns)
        point = Point(coef.copy(), scores.copy(), np.zeros(m), np.arange(m), np.zeros(m))

        def gap(p: int, known: Known) -> float:
            at = known[p][1]
            measured = measure(p, at.primal, at.dual, at.scores)
            return np.inf if np.isnan(measured) else measured

        watch = ByGap(point, gap, tol, self.pause, most_iterations=MOST // CHECK)
        with np.errstate(over="ignore", invalid="ignore"):
            iterate(lambda point: self._steps(columns, point), point, watch)
        failed = ~(np.isfinite(point.coef) & np.isfinite(point.state)).all(axis=1)
        failed |= np.isinf(watch.gaps)
        point.coef[failed], point.state[failed], watch.gaps[failed] = (
            *(coef[failed], scores[failed]),
            np.inf,
        )
        return point.coef, point.state, watch.gaps

    def _steps(self, columns: list[tuple[Problem, int]], point: Point) -> Steps:
        """Take CHECK steps of the splitting, then certify where they have led to, and so on.

        The state of the point are scores with the offset.
        """
        self._prepare(point.coef, point.state)
        sigma, none = np.full(self.gram.n, self.sigma), np.zeros(self.gram.n)
        v = point.coef - self.sigma * point.state
        for turn in itertools.count(1):
            yield None
            running = point.running
            parts = [(p, *columns[p]) for p in running.tolist()]
            x = np.array([q.risk.step(j, v[p], none, 0.0, sigma) for p, q, j in parts])
            right = 2.0 * x - v[running]
            u = self._resolve(right)
            change = RELAX * (u - x)
            if turn % CHECK == 0:
                s = (right - u) / self.sigma
                x = self._balanced(parts, x, v[running], sigma)
                z = (x.astype(self.kernel.dtype) @ self.kernel).astype(float) + self.shift * x
                known = {}
                for (p, q, j), c, z_p, u_p, s_p in zip(parts, x, z, u, s, strict=True):
                    primal = primal_of(q.risk.fenchel(j, none, s_p, 0.0)[0], float(u_p @ s_p))
                    at = Certificate(c, s_p, s_p, 0.0, primal, bounds(q, j, c, z_p, 0.0)[1], 0.0)
                    known[p] = at, at
                point.coef[running], point.state[running] = x, s
                largest = np.zeros(len(columns))
                largest[running] = np.abs(change).max(axis=1)
                yield Iteration(largest, known)
            v[running] += change
            running = point.running
            if turn % ROUND == 0 and self._prepare(point.coef[running], point.state[running]):
                sigma = np.full(self.gram.n, self.sigma)
                v[running] = point.coef[running] - self.sigma * point.state[running]

    def _balanced(self, parts: list[Any], x: Array, v: Array, sigma: Array) -> Array:
        """Make coefficients sum to zero within the domain of the dual if there is an offset."""
        if not self.fit_intercept:
            return x
        none = np.zeros(self.gram.n)
        return np.array(
            [
                q.risk.step(j, at, none, q.risk.balance(j, at, none, sigma, 0.0), sigma)
                for (_, q, j), at in zip(parts, v, strict=True)
            ]
        )

    def _positive_shift(self) -> float:
        """Find a shift of the diagonal that makes the kernel matrix positive definite."""
        n = self.gram.n
        shift = float(np.finfo(self.kernel.dtype).eps * np.sqrt(n) * self.gram.diagonal.max())
        while True:  # ends, as a diagonal that is larger than the sums of rows is enough
            self.pause()
            system = self.kernel.astype(float)
            system[np.diag_indices_from(system)] += shift
            if lapack.dpotrf(system.T, lower=1, clean=0, overwrite_a=1)[1] == 0:
                return shift
            shift *= 10.0

    def _prepare(self, coef: Array, scores: Array) -> bool:
        """Compute the inverse, unless that at hand will do; return whether it is another.

        A step is right where coefficients and scores are of the same size, in its own units.
        """
        spread = np.linalg.norm(scores - scores.mean(axis=1, keepdims=True))
        wanted = LONG * float(np.linalg.norm(coef) / max(float(spread), 1e-100))
        if not 0.0 < wanted < np.inf:  # nothing is known of their sizes
            wanted = self.sigma or LONG / float(self.gram.diagonal.max())
        if wanted / OFF <= self.sigma <= wanted * OFF:
            return False
        self.sigma = wanted
        system = self.sigma * self.kernel.astype(float)
        system[np.diag_indices_from(system)] += 1.0 + self.sigma * self.shift
        factor, _ = lapack.dpotrf(system.T, lower=1, clean=0, overwrite_a=1)
        self.pause()
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        self.inverse = np.tril(inverse.astype(np.float32))
        self.inverse += np.tril(self.inverse, -1).T
        self.ones = self.inverse.sum(axis=0, dtype=float)
        return True

    def _resolve(self, right: Array) -> Any:
        u = (right.astype(np.float32) @ self.inverse).astype(float)
        if self.fit_intercept:
            u -= np.outer(u.sum(axis=1) / self.ones.sum(), self.ones)
        return u
