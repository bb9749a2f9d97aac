"""Newton's method on the weights of a linear model, where everything large is a sum over blocks.

    minimise over w, b   F(w, b) = sum_i C_i L(y_i, x_i'w + b) + |w|^2 / 2

With each loss replaced by its envelope of parameter sigma / C_i, which is below it, the objective
phi is differentiable: its gradient is w - X'c and -sum(c), where c_i = -J_sigma(sigma s_i) is the
resolvent step of equation (8) with centre 0, at the scores s_i = x_i'w + b. With D_i minus the
derivative of c_i, a Newton step solves

    (I + X'DX) dw + X'D1 db = X'c - w,      1'DX dw + 1'D1 db = sum(c).

Nothing but w, b and sigma goes from one step to the next. What the envelope costs,

    defect = sum_i C_i L(y_i, s_i) + C_i L*(y_i, -c_i / C_i) + c_i s_i,

falls as sigma rises: it does, once |w - X'c|^2 / 2 is less. As 1 / sigma falls by h, c changes by
h D c where scores stay, so that the step to the next sigma has h X'Dc, h 1'Dc on its right side:
where no other coefficients become free it ends at the minimum of the next phi.

For losses without kinks sigma is so large from the start that the defect does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from resolvent._numeric import EPS
from resolvent.blocks.sums import Along, At, LineSums, PointSums, Survey, Task, measure
from resolvent.grams.linear import product_rounding
from resolvent.grams.systems import bordered, inverse
from resolvent.problem import Array, sums
from resolvent.problem.certificate import (
    BALANCED,
    Best,
    Certificate,
    dual_of,
    floor_of,
    primal_of,
)

__all__ = ["Column", "Course"]

Course = Generator[list[At | Along], list[Any], None]  # requests, and the sums in return

KINK = 0.5  # slopes of resolvents at kinks are one
GRID = 2000  # scores at which a kink is looked for
FIRST = 0.03  # sigma, where scores that change by their size move coefficients by theirs, is 1
SMOOTH = 1e6  # and without kinks
ENOUGH = 0.05  # of the tolerance, which the defect may take
# Steps along a line whose sums are asked for at once, short of a Newton step and beyond it.
SHORT_STEPS = np.append(2.0 ** np.arange(-18.0, -3.0, 2.0), np.arange(0.1, 1.05, 0.1))
LONG_STEPS = 2.0 ** np.arange(12.0)
HALF = 0.5  # of the slope of phi where a line begins: beyond that a step was too long
SAME = 0.9  # it has hardly changed: the step was too short
PACE, LEAST, MOST = 4.0, 2.0, 8.0  # factor by which sigma rises: at first, least, most
EASY, TEDIOUS, HARD = 1, 3, 30  # Newton steps at one sigma
DAMPED = 0.01, 1.0  # least and largest share of the usual curvature that is added to it
FEW = 1e-3  # share of coefficients that are free, at least, where that is usual
RISE, FALL = 100.0, 10.0  # of sigma without kinks, and where Newton steps do not get on
FAR = 50.0  # offsets beyond the largest target, where a loss that has a minimum is past it
REMEMBERED = 8  # dual points of either sign of sum(c)


class Column:
    """One problem on its way: where it is, and what is known of its optimum.

    Parameters
    ----------
    j : int
        Which column of the targets.
    task : Task
        The problem.
    known : Survey
        What is known of the data.
    fit_intercept : bool
        Whether there is an offset.
    tol : float
        Relative gap that is good enough.
    """

    measure = staticmethod(measure)

    def __init__(self, j: int, task: Task, known: Survey, fit_intercept: bool, tol: float) -> None:
        self.j, self.task, self.known = j, task, known
        self.fit_intercept, self.tol = fit_intercept, tol
        self.best = Best(EPS * float(known.at_zero[j]) + 1e-200 * float(known.C[j]))
        self.duals: list[DualPoint] = []
        self.largest, self.support = np.inf, 0  # change of a weight in the last step
        self.pace = PACE
        self.damping = 0.0
        low, high = float(known.extent.low[j]), float(known.extent.high[j])
        self.mean = float(known.y[j] / known.C[j])
        spread = float(np.sqrt(max(known.y_squares[j] / known.C[j] - self.mean**2, 0.0)))
        self.far = FAR * (1.0 + max(abs(low), abs(high)))
        self.scale = max(abs(low), abs(high)) or 1.0  # of scores
        if getattr(task.loss, "targets", "real") == "real" and spread > 1e-9 * self.scale:
            self.scale = spread
        self.kinks = has_kinks(task.loss, low, high)
        self.sigma = max(float(known.slopes[j]) / known.rows, 1e-100) / self.scale
        self.sigma *= FIRST if self.kinks else SMOOTH
        self.here = At(j, np.zeros(self.d), 0.0, self.sigma)  # the last point
        none = np.zeros(0)
        self.best.see(
            Certificate(none, np.zeros(self.d), none, 0.0, float(known.at_zero[j]), -np.inf, 0.0)
        )

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.known.squares)

    def see(self, at: At, found: PointSums) -> None:
        """Certify a point."""
        w, b, none = at.w, at.b, np.zeros(0)
        primal, dual = primal_of(found.losses, float(w @ w)), self._dual(at, found)
        row_cost = self.known.entries / self.known.rows
        of_scores = product_rounding(found.square, w, self.known.squares, row_cost)
        floor = floor_of(found.size, abs(b) * found.absolute, of_scores)
        self.support = found.support
        if np.isfinite(primal) or np.isfinite(dual):
            primal, dual = (
                x if np.isfinite(x) else s * np.inf for x, s in ((primal, 1), (dual, -1))
            )
            self.best.see(Certificate(none, w, none, b, primal, dual, floor))

    def _dual(self, at: At, found: PointSums) -> float:
        """Best lower bound of the point's coefficients.

        Where they do not sum to zero those of another point, whose sum has the other sign, are
        added: theta c + (1 - theta) c' is in the domain, which is convex, and its sum of conjugates
        is at most theta times that of c plus 1 - theta times that of c'.
        """
        new = DualPoint(found.total, found.conjugates, found.state)
        if not self.fit_intercept:
            return dual_of(new.conjugates, float(new.state @ new.state), 0.0)
        if abs(found.total) <= BALANCED * found.absolute:
            return dual_of(new.conjugates, float(new.state @ new.state), at.b * found.total)
        best = -np.inf
        for old in self.duals:
            if old.total * new.total < 0.0:
                theta = old.total / (old.total - new.total)
                state = theta * new.state + (1.0 - theta) * old.state
                conjugates = theta * new.conjugates + (1.0 - theta) * old.conjugates
                best = max(best, dual_of(conjugates, float(state @ state), 0.0))
        if np.isfinite(new.total) and np.isfinite(new.conjugates):
            same = [old for old in self.duals if old.total * new.total > 0.0]
            if len(same) == REMEMBERED:
                self.duals = [old for old in self.duals if old is not same[0]]
            self.duals.append(new)
        return best

    # ---- the course of the method ----------------------------------------------------------

    def course(self, start: At | None = None) -> Course:
        """Newton's method, as requests for sums; each list of them is one pass over the blocks."""
        b, ends = 0.0, []
        if self.fit_intercept:
            b, *ends = yield from self._offsets()
        here = At(self.j, np.zeros(self.d), b, self.sigma)
        if start is not None and start.w.shape == here.w.shape:
            here = start
        others = [here._replace(b=end, curved=False) for end in ends]
        found, *of_others = yield [here, *others]
        for at, sums_ in zip(others, of_others, strict=True):
            self.see(at, sums_)
        count, wary = 0, False
        while True:
            self.here = here
            self.see(here, found)
            sigma = self._next_sigma(here, found, count)
            solve = self._system(here, found)
            if sigma == here.sigma:
                move = solve(found.state - here.w, found.total)
                here, found, wary = yield from self._line(here, found, *move, wary)
                count += 1
            else:
                h = 1.0 / here.sigma - 1.0 / sigma
                dw, db = solve(
                    found.state - here.w + h * found.second.pull,
                    found.total + h * found.second.pulled,
                )
                here, count = At(self.j, here.w + dw, here.b + db, sigma), 0
                (found,) = yield [here]
                self.largest = float(np.abs(dw).max())

    def _line(
        self, here: At, found: PointSums, dw: Array, db: float, wary: bool
    ) -> Generator[list[At | Along], list[Any], tuple[At, PointSums, bool]]:
        """Take a Newton step or, on its line, one to where phi is least, and say whether that.

        The sums along the line are asked for with those of the full step if one is `wary`.
        """

        def slope(at: At, sums_: PointSums) -> float:
            return float((at.w - sums_.state) @ dw) - db * sums_.total

        def there(t: float) -> At:
            return At(self.j, here.w + t * dw, here.b + t * db, here.sigma)

        line = Along(self.j, here.w, here.b, here.sigma, dw, db, SHORT_STEPS)
        at, *on_line = yield [there(1.0), line] if wary else [there(1.0)]
        self.see(there(1.0), at)
        begin, end, t = slope(here, found), slope(there(1.0), at), 1.0
        lower = phi(there(1.0), at) <= phi(here, found) + self.best.known.floor
        if not (lower and end <= HALF * abs(begin)):  # NaN, of scores that overflow, is too long
            if not on_line:
                on_line = yield [line]
            t = least(line, on_line[0])
        elif end < SAME * begin < 0.0:
            line = line._replace(steps=LONG_STEPS)
            on_line = yield [line]
            t = least(line, on_line[0])
        self.damping = (
            0.1 * self.damping if t >= 1.0 else float(np.clip(10 * self.damping, *DAMPED))
        )
        if t != 1.0:
            (at,) = yield [there(t)]
        self.largest = t * float(np.abs(dw).max())
        return there(t), at, t != 1.0

    def _offsets(self) -> Generator[list[At | Along], list[Any], list[float]]:
        """Find the best offset of a constant, roughly, and offsets on either side of it."""
        steps = self.scale * 2.0 ** np.arange(-8.0, 3.0)
        trial = np.concatenate([self.mean - steps, [self.mean], self.mean + steps])
        outward = self.far * 2.0 ** -np.arange(7.0)
        trial = np.unique(np.concatenate([trial, -outward, outward]))
        trial = trial[np.abs(trial) <= self.far]
        none = np.zeros(self.d)
        sharp = 1e200 * self.task.C
        (line,) = yield [Along(self.j, none, 0.0, sharp, none, 1.0, trial)]
        total = line.total
        if not total[0] >= 0.0 >= total[-1]:
            raise ValueError(
                f"With fit_intercept=True this problem has no solution: the targets of column "
                f"{self.j} are all on one side (a single class, or all zero), and the loss "
                f"{type(self.task.loss).__name__} falls for ever as the offset grows. Use "
                "fit_intercept=False or add rows of the other kind."
            )
        low, high = np.flatnonzero(total >= 0.0)[-1], np.flatnonzero(total <= 0.0)[0]
        if low > high:  # an interval where the sum is zero
            b = float(np.clip(self.mean, trial[high], trial[low]))
        else:
            share = total[low] / (total[low] - total[high]) if high > low else 0.0
            share = share if np.isfinite(share) else 0.0
            b = float(trial[low] + share * (trial[high] - trial[low]))
        near = trial[max(min(low, high) - 1, 0)], trial[min(max(low, high) + 1, len(trial) - 1)]
        return [b, *map(float, near), -self.far, self.far]

    def _system(self, at: At, found: PointSums) -> Callable[[Array, float], tuple[Array, float]]:
        """Factorise the system of a Newton step.

        A direction in which hardly a coefficient is free seems flat, and the step far too long. If
        there are such, the diagonal is raised by a share of what it is where free ones are spread
        evenly.
        """
        second = found.second
        assert second is not None
        system = second.hessian
        usual = max(second.corner / self.known.rows, FEW * at.sigma)
        system[np.diag_indices_from(system)] += 1.0 + self.damping * usual * self.known.squares
        inner = inverse(system)

        def solve(right: Array, total: float) -> tuple[Array, float]:
            least = abs(found.total) / self.scale  # where nothing bends, an offset of that size
            for corner in (second.corner, second.corner + least) if self.fit_intercept else ():
                dw, db = bordered(inner, right, second.border, corner, total)
                if np.isfinite(db):
                    return dw, db
            return inner(right), 0.0

        return solve

    def _next_sigma(self, at: At, found: PointSums, count: int) -> float:
        """Raise sigma once Newton's method is nearer to its end than what the envelope costs.

        It rises the faster, the fewer Newton steps were needed at this one.
        """
        defect = found.losses + found.conjugates + found.products
        enough = max(ENOUGH * self.tol * abs(self.best.known.primal), self.best.known.floor)
        away = found.state - at.w
        left = 0.5 * float(away @ away)
        if self.fit_intercept:
            left += abs(at.b * found.total)
        if count >= HARD:
            return at.sigma / FALL
        if defect <= enough or left > defect:
            return at.sigma
        if not self.kinks:
            return at.sigma * RISE
        if count <= EASY:
            self.pace = min(2.0 * self.pace, MOST)
        elif count > TEDIOUS:
            self.pace = max(0.5 * self.pace, LEAST)
        return at.sigma * float(np.clip(np.sqrt(2.0 * defect / enough), LEAST, self.pace))


def phi(at: At, found: PointSums) -> float:
    """Objective with the envelopes of the losses."""
    of_losses = -found.conjugates - found.products - found.square / (2.0 * at.sigma)
    return primal_of(of_losses, float(at.w @ at.w))


class DualPoint(NamedTuple):
    """What the dual bound of a point needs."""

    total: float
    conjugates: float
    state: Array


def least(line: Along, found: LineSums) -> float:
    """Find where phi is about least on a line: between two steps its derivative is linear."""
    slope = line.w @ line.dw + line.steps * (line.dw @ line.dw) - found.along
    slope[~np.isfinite(slope)] = np.inf  # where scores overflow
    k = int(np.searchsorted(slope > 0.0, True))
    if k == 0 or k == len(slope):
        return float(line.steps[min(k, len(slope) - 1)])
    if slope[k] == np.inf:
        return float(line.steps[k - 1])
    share = slope[k - 1] / (slope[k - 1] - slope[k])
    return float(line.steps[k - 1] + share * (line.steps[k] - line.steps[k - 1]))


def has_kinks(loss: Any, low: float, high: float) -> bool:
    """Whether the slope of a loss jumps somewhere, at scores near targets in that range."""
    spread = max(high - low, abs(high), 1e-100)
    targets = np.unique([low, 0.5 * (low + high), high])
    if getattr(loss, "targets", "real") == "sign":
        targets = np.array([-1.0, 1.0])
    reach = np.linspace(-2.0, 2.0, GRID) * spread
    y, s = np.repeat(targets, GRID), (targets[:, None] + reach).ravel()
    one, none, (u, slopes) = np.ones(len(y)), np.zeros(len(y)), np.empty((2, len(y)))
    sums.proximal(loss, y, one, none, s, 1e6 / spread, u, slopes)
    jump = max(float(np.median(np.abs(u))), 1e-100)
    # A jump of J in u is a zone of width J / a in the scores: four points of the grid.
    sums.proximal(loss, y, one, none, s, jump * GRID / (16.0 * spread), u, slopes)
    return bool(slopes.max() > KINK)
