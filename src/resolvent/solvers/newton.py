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

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from resolvent._costs import BLAS3, NEWTON_MOST, NEWTON_PRODUCTS
from resolvent._numeric import EPS
from resolvent.grams.systems import Curvature, Direction
from resolvent.problem import Array, Problem, certificate, sums
from resolvent.problem.certificate import Certificate, relative_gap
from resolvent.solvers.iterate import Iteration, Point, Steps

SWEEPS = 3  # of coordinate descent, at most, before the first proximal step
LOOK = 4.0  # visits to all coordinates from one look at the pace of sweeps to the next
EXPECTED = 30.0  # Newton steps, where the loss has kinks
MAX_STEPS = 30  # proximal steps at one go
GROWTH = 2.0  # of sigma, from one proximal step to the next, squared after an easy one
SMOOTH = 1e6  # how much longer steps may be that the curvature of the loss itself keeps short
FLAT = 0.01  # slopes of resolvents that only the curvature of the loss leaves
SAMPLE = 1000  # coordinates that tell whether there is any
SHORTER = 30.0  # sigma is divided by, where Newton's method did not end
INEXACT = 0.9  # below 1 inexact proximal steps converge
MAX_FAILURES = 3  # proximal steps without progress
MAX_NEWTON = 40  # Newton steps in one proximal step
UNSEEN = 16 * EPS  # of the objective, which rounding hides
MAX_SEARCH = 30  # points on the line of one Newton step
SAME = 0.9  # of the slope of phi where the line begins: it has hardly changed
LONGER = 8.0  # so many times, then, is the next step


class ProximalNewton:
    """The proximal steps on one problem; `sigma` grows from one to the next."""

    def __init__(self, problem: Problem, j: int, tol: float = 0.0) -> None:
        self.problem, self.j = problem, j
        self.tol = tol  # relative gap that is good enough
        self.sigma = 0.0
        self.is_smooth = False  # the loss, as far as it is seen
        self.enough = 0.0  # of an error of the proximal problem
        # Where Newton's method ended last: a, its state, its scores and the offset.
        self.warm: tuple[Array, Array, Array, Any] | None = None
        self.newton_steps = 0  # that it took
        self.lower: Certificate  # the lowest primal at that end
        self.least = np.inf  # and of all ends

    def start(self, at: Certificate) -> None:
        """Choose sigma so that scores that change by a tenth move coefficients by their size."""
        curvature = self.problem.gram.trace / self.problem.n
        s = at.scores + self._spread(at.intercept)
        scores = np.abs(s).max() + np.abs(self.problem.y[self.j]).max()
        self.sigma = max(
            10.0 * np.abs(at.coef).max() / max(scores, 1e-100), 10.0 / max(curvature, 1e-100)
        )
        _, curvature = self._respond(at.coef, s, SMOOTH * self.sigma)
        self.is_smooth = bool(0.0 < curvature.weight.max() < FLAT * curvature.scale)
        if self.is_smooth:  # then the loss's own curvature is all that Newton's method needs
            self.sigma *= SMOOTH
            self.enough = 0.1 * self.tol * abs(at.primal)
        self.residual = self._residual(at)
        self.warm, self.least = None, at.primal

    def advance(self, at: Certificate) -> Generator[float, None, Certificate | None]:
        """Take a proximal step: a better certificate, or None where rounding leaves no better.

        It is better by its dual, or by the primal of `lower`.

        Yields the cost of each Newton step, in multiply-adds, before it is taken.
        """
        for _ in range(MAX_FAILURES + 1):
            new = yield from self._proximal_step(at)
            residual = self._residual(new)
            higher, gap = new.dual - at.dual, self.least - at.dual
            calmer = abs(higher) <= at.floor and residual < 0.9 * self.residual
            self.least = min(self.least, self.lower.primal, new.primal)
            closer = gap > at.floor and self.least - new.dual < 0.5 * gap
            if self.newton_steps == MAX_NEWTON:  # it was too hard: a shorter step is easier
                self.sigma, self.warm = self.sigma / SHORTER, None
            else:
                self.sigma *= GROWTH if self.newton_steps > 1 else GROWTH**2
            if higher > at.floor or calmer or closer:
                self.residual = residual
                return new
            if gap <= at.floor:
                return None
            if self.newton_steps < MAX_NEWTON:
                self.sigma *= 10.0  # a longer step may do
        return None

    def _residual(self, at: Certificate) -> float:
        """How far the coefficients are from a fixed point of equation (8), with alpha = 1 / k."""
        alpha = self.problem.n / max(self.problem.gram.trace, 1e-100)
        coef, _ = self._respond(at.coef, at.scores + self._spread(at.intercept), alpha)
        return float(np.abs(coef - at.coef).max())

    def _respond(self, centre: Array, scores: Array, sigma: float) -> tuple[Array, Curvature]:
        """c(z) and minus its derivative."""
        return self.problem.risk.response(self.j, centre, scores, sigma)

    def _spread(self, b: Any) -> Any:
        return self.problem.risk.spread(b)

    def _proximal_step(self, at: Certificate) -> Generator[float, None, Certificate]:
        """Solve the proximal problem around `at` by Newton's method, and certify the result."""
        problem, gram, sigma, centre = self.problem, self.problem.gram, self.sigma, at.coef
        if self.warm is None:
            self.warm = at.coef, at.state, at.scores, at.intercept
        a, state, z, b = self.warm
        c, curvature = self._respond(centre, z + self._spread(b), sigma)
        blind = 0
        for k in range(MAX_NEWTON):
            free = int(np.count_nonzero(curvature.weight))
            yield gram.linearised_cost(free, self.is_smooth) / BLAS3
            with np.errstate(over="ignore", invalid="ignore"):
                ahead = gram.residual(a, state, c)
                # Twice how far the proximal problem is from its minimum, and the step's own share.
                error = gram.inner(c - a, ahead, ahead)
                share = float((c - centre) @ (c - centre)) / sigma
            if not (np.isfinite(error) and np.isfinite(share)):
                break  # rounding has made K indefinite
            if k > 0 and error <= max(INEXACT * share, self.enough):
                break
            size = 1e-22 * gram.inner(a, state, state)
            blind += error <= max(size, UNSEEN * abs(at.primal))  # what rounding leaves
            if blind > 3:
                break
            move = gram.linearised(a, c, ahead, curvature, problem.fit_intercept)
            if not np.isfinite(move.coef).all():
                break
            change = np.abs(move.scores).max() + np.abs(move.intercept).max()
            if change <= 32 * EPS * (np.abs(z).max() + np.abs(b).max()):
                break
            rise = gram.inner(a, state, move.state)
            bend = gram.inner(move.coef, move.state, move.state)
            t, c, curvature = self._search(centre, c, z, b, move, rise, bend)
            a, z, b = a + t * move.coef, z + t * move.scores, b + t * move.intercept
            state = state + t * move.state
        else:
            k = MAX_NEWTON
        self.warm, self.newton_steps = (a, state, z, b), k
        coef, _ = problem.resolvent_step(self.j, a, z, b)
        v = gram.state(coef[None])
        scores = gram.scores(v)[0]
        new = certificate.certify(problem, self.j, coef, scores, state=v[0])
        # phi is near F, so that a has a far lower primal than its response, which has the dual. But
        # a is neither sparse nor within bounds: it will do where what is kept are the weights.
        self.lower = new
        if gram.factored:
            self.lower = certificate.evaluate(problem, gram, self.j, a, state, b)
        return new

    def _search(
        self,
        centre: Array,
        c: Array,
        z: Array,
        b: Any,
        move: Direction,
        rise: float,
        bend: float,
    ) -> tuple[float, Array, Curvature]:
        """Find the step t at which phi is about least along a direction, with c(t) there.

        phi is convex with kinks in its derivative, rise + t bend - c(t)'(K move + shift), so a
        longer search pays: it crosses many kinks at once. A full step that still falls is taken,
        and where it falls as before a longer one.
        """
        risk = self.problem.risk

        def derivative(c: Array, t: float) -> float:
            shifted = float((move.intercept * risk.totals(c)).sum())
            return rise + t * bend - float(c @ move.scores) - shifted

        lo, hi, ahead = 0.0, 0.0, 1.0
        f_lo, f_hi = derivative(c, 0.0), 0.0
        enough, same = 0.1 * abs(f_lo), SAME * f_lo
        for _ in range(MAX_SEARCH):
            t = ahead
            s = z + t * move.scores + self._spread(b + t * move.intercept)
            c, curvature = self._respond(centre, s, self.sigma)
            f = derivative(c, t)
            if hi == 0.0 and f < same < 0.0:
                lo, f_lo, ahead = t, f, LONGER * t
                continue
            if abs(f) <= enough or (hi == 0.0 and f <= 0.0) or not f_lo < 0.0:
                break
            if f < 0.0:
                lo, f_lo, f_hi = t, f, 0.5 * f_hi
            else:
                hi, f_hi, f_lo = t, f, 0.5 * f_lo
            ahead = lo + (hi - lo) * f_lo / (f_lo - f_hi)
        return t, c, curvature


class Finisher:
    """Proximal Newton steps on one problem, never costing more than the sweeps before them did."""

    def __init__(self, problem: Problem, j: int, is_over: Callable[[], bool]) -> None:
        self.gram = problem.gram
        self.method = ProximalNewton(problem, j)
        self.is_over = is_over  # whether the time limit has passed
        self.spent = 0.0
        self._products = NEWTON_PRODUCTS * self.gram.sweep_cost

    def steps(self, current: Certificate, work: float, credit: float) -> Iterator[Certificate]:
        """Yield better and better certificates while steps succeed and are affordable.

        All steps together may cost as much `work` as the solver has done, or up to `credit`.
        """
        if self.spent + self._products > max(work, credit):
            return  # whatever a step may cost
        self.method.start(current)
        for _ in range(MAX_STEPS):
            new = self._affordable(self.method.advance(current), work, credit)
            if new is None:
                return
            current = new
            yield current

    def _affordable(
        self, step: Generator[float, None, Certificate | None], work: float, credit: float
    ) -> Certificate | None:
        """Let a step run to its end; None if it would cost too much, or there is no time left."""
        while True:
            try:
                cost = next(step) + self._products
            except StopIteration as end:
                result: Certificate | None = end.value
                return result
            if self.spent + cost > max(work, credit) or cost > NEWTON_MOST or self.is_over():
                return None
            self.spent += cost


class Pace:
    """Whether sweeps over one problem still get on faster than Newton steps may be expected to."""

    def __init__(self, problem: Problem, j: int, tol: float) -> None:
        self.problem, self.j, self.aim = problem, j, max(tol, EPS)
        sweep = problem.gram.sweep_cost
        step = problem.gram.linearised_cost(problem.n) / BLAS3 + NEWTON_PRODUCTS * sweep
        self.most, self.due = EXPECTED * step, LOOK * sweep
        self.work, self.gap = 0.0, 1.0  # at the last look

    def is_good(self, point: Point, known: dict[int, tuple[Certificate, Certificate]]) -> bool:
        """Look at the gap, now and then, and reckon the work until it is within the tolerance."""
        j, done = self.j, point.work[self.j] - self.work
        if done < self.due:
            return True
        at = certify(self.problem, point, j)
        known[j] = at, at
        gap = relative_gap(at.primal, at.dual)
        last, self.work, self.gap = self.gap, point.work[j], gap
        if not self.aim < gap < last:
            return gap <= self.aim
        return bool(done * np.log(gap / self.aim) / np.log(last / gap) <= self.most)


def certify(problem: Problem, point: Point, j: int) -> Certificate:
    """Certify where a point is."""
    state = point.state[j : j + 1].copy()
    scores = problem.gram.scores(state)[0]
    at = certificate.certify(problem, j, point.coef[j].copy(), scores, state=state[0])
    return at._replace(fresh=False)


def newton(
    problem: Problem, begin: Callable[[Point], Steps], tol: float = 0.0, patient: bool = False
) -> Callable[[Point], Steps]:
    """Minimise the dual by proximal steps, each of which Newton's method solves.

    Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F.
    Iteration: c <- argmin of Q(c) + |c - c0|^2 / (2 sigma), with sigma growing, after a few
    iterations of `begin`, or if it is `patient` as many as get on well; see the head of this
    module. With a linear kernel of few columns a Newton step solves a system in w = X'c, otherwise
    one on the free coordinates.
    Stopping: `iterate`, by the duality gap.
    Convergence: of the proximal steps from anywhere, faster than linear as sigma grows; of Newton's
    method by its line search, quadratic in the end.
    """

    def steps(point: Point) -> Steps:
        methods = [ProximalNewton(problem, j, tol) for j in range(problem.m)]
        paces = [Pace(problem, j, tol) for j in range(problem.m)]
        current: list[Certificate | None] = [None] * problem.m
        left, goes_on = sweeps_before(problem), patient
        known: dict[int, tuple[Certificate, Certificate]] = {}  # see `Iteration`
        with closing(begin(point)) as sweeps:
            while True:
                while left > 0 or goes_on:
                    iteration, known = next(sweeps), {}
                    if iteration is not None:
                        left = max(left - 1, 0)
                        if goes_on:
                            goes_on = any([paces[j].is_good(point, known) for j in point.running])
                        iteration = iteration._replace(known=known)
                    yield iteration
                largest = np.zeros(problem.m)
                for j in point.running:
                    at = current[j]
                    if at is None:
                        at = known[j][1] if j in known else certify(problem, point, j)
                        methods[j].start(at)
                    step = methods[j].advance(at)
                    while True:
                        try:
                            point.work[j] += next(step) + NEWTON_PRODUCTS * problem.gram.sweep_cost
                        except StopIteration as end:
                            new = end.value
                            break
                        yield None
                    if new is None:  # nothing better from here: let `begin` stir it
                        left, current[j], largest[j] = 1, None, np.inf
                        known.clear()
                    else:
                        current[j] = new
                        largest[j] = np.abs(new.coef - point.coef[j]).max()
                        point.move(j, new)
                        known[j] = methods[j].lower, new
                yield Iteration(largest, known)

    return steps


def sweeps_before(problem: Problem) -> int:
    """How many sweeps to take before Newton steps.

    No more than a step costs: where that is cheap it is the better beginning.
    """
    smooth = not problem.couples and is_smooth(problem)
    cost = problem.gram.linearised_cost(problem.n, smooth) / BLAS3
    return int(min(SWEEPS, cost / problem.gram.sweep_cost))


def is_smooth(problem: Problem) -> bool:
    """Whether the loss has no kinks where a fit begins, so that few Newton steps will do.

    That is, whether the slopes of the resolvents are small at a large step; some samples tell.
    """
    some = slice(None, None, max(1, problem.n // SAMPLE))
    y, C = np.ascontiguousarray(problem.y[0, some]), np.ascontiguousarray(problem.C[0, some])
    nothing, coef, slopes = np.zeros(len(y)), np.empty(len(y)), np.empty(len(y))
    sigma = SMOOTH * 10.0 * problem.n / max(problem.gram.trace, 1e-100)
    sums.proximal(problem.loss, y, C, nothing, nothing, sigma, coef, slopes)
    return bool(0.0 < slopes.max() < FLAT)
