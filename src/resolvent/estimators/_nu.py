"""The machines with nu, whose margin or tube is found together with the function.

    nu-SVC   minimise |f|^2 / 2 + sum_i w_i (rho - y_i s_i)+       - nu W rho,   rho >= 0
    nu-SVR   minimise |f|^2 / 2 + sum_i w_i (|y_i - s_i| - eps)+   + nu W eps,   eps >= 0

over the function f, an offset b and the *size*, rho or eps, with s_i = f(x_i) + b and W the sum of
the weights. In the dual problem the coefficients have, beside a sum of zero and the bounds w_i, the
*mass* sum_i |c_i| = nu W (nu-SVC), or at most that (nu-SVR).

For a given size these are the hinge and the epsilon-insensitive loss, and the mass of the solution
is a monotone, piecewise linear function of the size. The size is right where it is nu W: it is
searched for by the secant method between two solutions, one of less mass and one of more. The mean
of the two that has the mass nu W is feasible in the dual problem, and on one linear piece it is the
solution. For a given f the best offset and size are two quantiles. That gives the duality gap of
the problem with nu itself.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._numeric import EPS
from resolvent._solve import solve
from resolvent.grams import Gram
from resolvent.losses import LOSSES
from resolvent.problem import Solution, times_weight
from resolvent.problem.certificate import dual_of, primal_of

Array = NDArray[np.float64]

SAME = 1e-12  # relative difference of masses that is rounding
NO_MARGIN = 1e-13  # squared norms, in units of the largest of such a mass, that are zero
NO_MARGIN_AT_ALL = (
    "nu is too small for these data: the classes overlap so much that the margin is zero. Increase "
    "nu, or use another kernel or other parameters of it."
)


class Trial(NamedTuple):
    """A solution for a given size, or a mean of two."""

    size: float
    coef: Array
    scores: Array  # without the offset
    weights: Array | None  # of a linear kernel
    value: float = 0.0  # objective for this size

    @property
    def mass(self) -> float:
        """Sum of the sizes of the coefficients."""
        return float(np.abs(self.coef).sum())


class Certificate(NamedTuple):
    """A trial with the size and the offset that are best for it, and what they prove."""

    trial: Trial
    size: float
    offset: float
    primal: float
    dual: float
    rounding: float

    @property
    def gap(self) -> float:
        """Bound on how far the objective is above its minimum, rounding included."""
        return max(self.primal - self.dual, 0.0) + self.rounding


class Side(NamedTuple):
    """The samples that one of the two quantiles is of, and their multipliers in [0, weight]."""

    values: Array
    weight: Array
    multipliers: Array

    def quantile(self, mass: float) -> tuple[float, float]:
        """Minimise sum_i w_i (t - v_i)+ - mass t; return t, a midpoint if several are, and that."""
        order = np.argsort(self.values)
        v, total = self.values[order], np.cumsum(self.weight[order])
        k = min(int(np.searchsorted(total, mass * (1.0 - SAME))), len(v) - 1)
        t = v[k]
        if k + 1 < len(v) and total[k] <= mass * (1.0 + SAME):
            t = 0.5 * (v[k] + v[k + 1])
        return float(t), float(self.weight @ np.maximum(t - self.values, 0.0) - mass * t)

    def violation(self) -> float:
        """By how much a sample that should be below the quantile is above one that should not."""
        room = 1e-10 * self.weight
        inside, below = self.multipliers < self.weight - room, self.multipliers > room
        if not inside.any() or not below.any():
            return 0.0
        return float(self.values[below].max() - self.values[inside].min())


@dataclass
class NuProblem:
    """A problem with nu: `target` is the mass nu W."""

    K: Gram
    y: Array
    weight: Array
    target: float
    sign = 1  # of the change of mass as the size grows

    @abstractmethod
    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve the problem of a given size."""

    @abstractmethod
    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give the samples of the two quantiles, which are sign * size -+ offset."""

    @abstractmethod
    def first_size(self) -> float:
        """Guess the size."""

    @abstractmethod
    def largest_size(self) -> float:
        """Give the size from which on the tube holds all samples, or 0 for a margin."""

    def linear(self, coef: Array) -> float:
        """Linear part of the dual objective."""
        return 0.0

    def certificate(self, trial: Trial) -> Certificate:
        """Find the size and the offset that are best for a trial's scores, and the bounds."""
        (a, below), (b, above) = (
            side.quantile(0.5 * self.target) for side in self.sides(trial.coef, trial.scores)
        )
        penalty = own = float(trial.coef @ trial.scores)
        if trial.weights is not None:
            penalty = float(trial.weights @ trial.weights)
            own = float(trial.coef @ self.K.product(trial.coef[None])[0])
        primal = primal_of(below + above, penalty)
        linear = self.linear(trial.coef)
        dual = dual_of(-linear, own, 0.0) if self.is_feasible(trial) else -np.inf
        magnitude = penalty + own + self.target * (abs(a) + abs(b)) + abs(linear)
        size, offset = 0.5 * self.sign * (a + b), 0.5 * self.sign * (b - a)
        return Certificate(trial, size, offset, primal, dual, 4.0 * EPS * magnitude)

    def is_feasible(self, trial: Trial) -> bool:
        """Whether the mass is that of the dual problem."""
        return abs(trial.mass - self.target) <= 1e3 * SAME * self.target

    def check(self, trial: Trial) -> None:
        """Refuse a nu for which there is no solution."""

    def unit(self, size: float) -> float:
        """Give what the scores of the machine are in units of."""
        return 1.0

    def violation(self, trial: Trial) -> float:
        """Largest violation of the optimality conditions, in LIBSVM's measure."""
        return max(side.violation() for side in self.sides(trial.coef, trial.scores))

    def zero(self) -> Trial:
        """Return the solution of no mass."""
        weights = np.zeros(self.K.state(np.zeros((1, self.K.n))).shape[1])
        none = np.zeros(self.K.n)
        return Trial(self.largest_size(), none, none, weights if self.K.factored else None)


class Margin(NuProblem):
    """nu-SVC of the signs y: the hinge loss at the margin rho."""

    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve with the hinge loss, in units of rho."""
        begin = None if start is None else start / size
        weight = times_weight(1.0 / size, self.weight)
        s = solve("hinge", self.K, self.y, weight, start=begin, **settings)
        weights = None if s.weights is None else s.weights * size
        scores = (s.fitted - s.intercept) * size
        return Trial(size, s.coef * size, scores, weights, s.primal * size**2), s

    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give each class, with its scores towards it."""
        plus, minus = self.y > 0, self.y < 0
        return (
            Side(scores[plus], self.weight[plus], coef[plus]),
            Side(-scores[minus], self.weight[minus], -coef[minus]),
        )

    def first_size(self) -> float:
        """Guess rho = 1 / C: the scores that the coefficients of a few samples make."""
        size = self.K.centred().trace / self.K.n
        if not size > 0.0:
            raise ValueError(NO_MARGIN_AT_ALL)
        return size

    def largest_size(self) -> float:
        """Return 0: there the coefficients are zero."""
        return 0.0

    def check(self, trial: Trial) -> None:
        """Refuse a nu so small that the classes have no margin."""
        mass = trial.mass
        if mass >= self.target * (1.0 - 1e3 * SAME):
            largest = mass**2 * float(self.K.diagonal.max())
            if float(trial.coef @ trial.scores) <= NO_MARGIN * largest:
                raise ValueError(NO_MARGIN_AT_ALL)

    def unit(self, size: float) -> float:
        """Give the margin: LIBSVM's scores are 1 there."""
        return size if size > 0.0 else 1.0


class Tube(NuProblem):
    """nu-SVR of the targets y: the epsilon-insensitive loss."""

    sign = -1

    def solve(self, size: float, start: Array | None, **settings: Any) -> tuple[Trial, Solution]:
        """Solve with the epsilon-insensitive loss."""
        loss = LOSSES["epsilon_insensitive"](size)
        s = solve(loss, self.K, self.y, self.weight, start=start, **settings)
        return Trial(size, s.coef, s.fitted - s.intercept, s.weights, s.primal), s

    def sides(self, coef: Array, scores: Array) -> tuple[Side, Side]:
        """Give the residuals, from below and from above."""
        r = self.y - scores
        return Side(r, self.weight, np.maximum(-coef, 0)), Side(
            -r, self.weight, np.maximum(coef, 0)
        )

    def first_size(self) -> float:
        """Guess that the function takes three quarters of the tube that f = 0 has."""
        return 0.25 * self.certificate(self.zero()).size

    def largest_size(self) -> float:
        """Return half of the range of the targets."""
        return 0.5 * float(self.y.max() - self.y.min())

    def linear(self, coef: Array) -> float:
        """Return y'c."""
        return float(self.y @ coef)

    def is_feasible(self, trial: Trial) -> bool:
        """Whether the mass is at most that of the dual problem."""
        return trial.mass <= self.target * (1.0 + 1e3 * SAME)


def mean(a: Trial, b: Trial, share: float) -> Trial:
    """Return a trial between two."""

    def mix(x: Any, y: Any) -> Any:
        return (1.0 - share) * x + share * y

    weights = None if a.weights is None else mix(a.weights, b.weights)
    return Trial(mix(a.size, b.size), mix(a.coef, b.coef), mix(a.scores, b.scores), weights)
