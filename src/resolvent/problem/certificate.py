"""The certificate: the one place where primal, dual and gap are computed, and how exact they are.

Others call `relative_gap` and `within`, and compiled loops too `primal_of`, `dual_of`, `is_within`.

For any model, of scores s = z + b and norm |f|, and any c in the domain of the dual that sums to
zero if there is an offset,

    sum_i C_i L(y_i, s_i) + |f|^2 / 2   >=   min F   >=   -sum_i C_i L*(y_i, -c_i / C_i) - c'Kc / 2.

The model need not be that of c. With a kernel matrix of its own it is: z = Kc and |f|^2 = c'z. With
a linear kernel it is given by its weights w: z = Xw and |f|^2 = |w|^2. There w = X'c holds at the
optimum, but where the penalty hardly counts the terms of that sum cancel, and what is left of them
is rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resolvent._jit import inner
from resolvent._numeric import EPS
from resolvent.problem.solution import Status

if TYPE_CHECKING:
    from resolvent.grams import Gram
    from resolvent.problem import Problem

Array = NDArray[np.float64]

BALANCED = 1e-12  # sums of coefficients, in units of their size, that are zero up to rounding
UNBALANCED = 1e-9  # sums that no offset has made zero


class Certificate(NamedTuple):
    """One problem's model and coefficients, with the bounds that they prove."""

    coef: Array
    state: Array  # z = Kc or w, as the gram has it: the model
    scores: Array  # of the model, without the offset
    intercept: Any  # a number, or one for each column of a coupled loss
    primal: float
    dual: float
    floor: float  # gaps below this are rounding
    fresh: bool = True  # computed from the coefficients, not kept up to date step by step


@inner
def primal_of(losses: float, square: float) -> float:
    """Objective of a model of that sum of losses and that squared norm."""
    return losses + 0.5 * square


@inner
def dual_of(conjugates: float, square: float, left_over: float) -> float:
    """Bound of coefficients with that sum of conjugates and that c'Kc.

    What the sum of coefficients lacks of zero costs it `left_over`, see `Problem.left_over`.
    """
    return -conjugates - 0.5 * square - left_over


@inner
def is_within(primal: float, dual: float, tol: float) -> bool:
    """Whether the gap is within a tolerance relative to the larger objective."""
    return primal - dual <= tol * max(abs(primal), abs(dual))


def within(gap: Any, primal: Any, dual: Any, tol: float, nothing: Any = -np.inf) -> Any:
    """Whether gaps, rounding included, are within the tolerance, or objectives are `nothing`.

    Of numbers or arrays. The larger objective is what the tolerance is relative to.
    """
    close = (gap <= tol * abs(primal)) | (gap <= tol * abs(dual))
    return (close & (gap < np.inf)) | ((tol > 0.0) & (primal <= nothing))


def relative_gap(primal: float, dual: float, least: float = 1e-200) -> float:
    """Gap in units of the larger objective, or of `least` if that is more."""
    return (primal - dual) / max(abs(primal), abs(dual), least)


def is_solved(status: Status, tol: float) -> bool:
    """Whether a solver that stopped with a status has done what was asked of it."""
    return status <= Status.STEP or (status == Status.PRECISION_LIMIT and tol == 0)


def bounds(problem: Problem, j: int, coef: Array, scores: Array, b: Any) -> tuple[float, float]:
    """Primal and dual at coefficients with ``scores = K coef`` and offset, taken as they are."""
    losses, conjugates, products, _ = problem.risk.fenchel(j, coef, scores, b)
    dual = dual_of(conjugates, products, problem.left_over(coef, b))
    return primal_of(losses, products), dual


def relative_gaps(gap: ArrayLike, primal: ArrayLike, dual: ArrayLike) -> Array:
    """Gaps in units of the larger objective, as in the stopping rule; infinite without a bound."""
    gap, primal, dual = (np.atleast_1d(np.asarray(x, float)) for x in (gap, primal, dual))
    scale = np.maximum(np.abs(primal), np.abs(dual))
    known = (scale > 0.0) & np.isfinite(scale) & np.isfinite(gap)
    result: Array = np.divide(gap, scale, out=np.where(gap == 0.0, 0.0, np.inf), where=known)
    return result


@np.errstate(over="ignore", invalid="ignore")  # where K is no kernel coefficients grow for ever
def certify(
    problem: Problem,
    j: int,
    coef: Array,
    scores: Array,
    near: Any = 0.0,
    exact: bool = True,
    rough: float = 0.0,
    state: Array | None = None,
) -> Certificate:
    """Bounds for problem j at coefficients `coef` with ``scores = K coef`` just computed.

    `state` is what the gram has the scores from; if it is not given the scores themselves.

    The best offset is sought from `near` on, up to `rough` in the primal. The dual bound holds
    only where the coefficients sum to zero, so they are made to; unless `exact`, only for that
    bound and without a product with K: the trace is above its norm, and the change is small.
    If `exact` it is their scores that count, which are computed, and those given may be rough.
    """
    gram = problem.gram
    state = scores if state is None else state
    b: Any = 0.0
    balanced = coef
    if problem.fit_intercept:
        if not problem.is_balanced(coef):
            balanced, _ = problem.resolvent_step(j, coef, scores, near)
        if exact and balanced is not coef:
            coef, state = balanced, gram.state(balanced[None])[0]
            scores = gram.scores(state[None])[0]
        b = problem.risk.best_offset(j, coef, scores, near, rough)
    losses, conjugates, products, size = problem.risk.fenchel(j, balanced, scores, b)
    square = gram.inner(coef, state, state)
    change = balanced - coef
    of_balanced = 2.0 * products - square + gram.trace * float(change @ change)
    # To rounding sum(c) = 0; what is left of it costs the bound b sum(c), to first order.
    left_over = problem.left_over(balanced, b)
    dual = dual_of(conjugates, square if balanced is coef else of_balanced, left_over)
    if problem.fit_intercept and problem.imbalance(balanced) > UNBALANCED:
        dual = -np.inf  # no offset balances them: they prove nothing
    floor = _floor(gram, coef, state, b, size)
    return Certificate(coef, state, scores, b, primal_of(losses, square), dual, floor)


@np.errstate(over="ignore", invalid="ignore")
def evaluate(
    problem: Problem, gram: Gram, j: int, coef: Array, state: Array, near: Any
) -> Certificate:
    """Primal alone, of the model that `state` is on a gram of the problem's samples."""
    scores = gram.scores(state[None])[0]
    b = problem.risk.best_offset(j, coef, scores, near) if problem.fit_intercept else 0.0
    losses, _, _, size = problem.risk.fenchel(j, np.zeros_like(coef), scores, b)
    primal = primal_of(losses, gram.inner(coef, state, state))
    floor = _floor(gram, coef, state, b, size)
    return Certificate(coef, state, scores, b, primal, -np.inf, floor)


@np.errstate(over="ignore", invalid="ignore")
def returned(problem: Problem, j: int, at: Certificate) -> Certificate:
    """Certificate of a model as it is handed out: on the samples as they were given.

    Its floor allows for what rounding does to the objective of the model, here or wherever its
    scores are computed. The floor before has the errors of scores times the slopes of the losses.
    At kinks, where a fit puts many scores, errors e_i of either sign raise a loss, on average by

        sum_i C_i [L(y_i, s_i + e_i) + L(y_i, s_i - e_i) - 2 L(y_i, s_i)] / 2.
    """
    model = at
    if problem.kernel is not problem.given and problem.gram is not problem.given:
        near = at.intercept - problem.gram.shift(at.state)
        model = evaluate(problem, problem.given, j, at.coef, at.state, near)
    risk, offsets = problem.risk, problem.risk.spread(model.intercept)
    scores, none = model.scores, np.zeros_like(at.coef)
    errors = problem.given.score_errors(at.coef, at.state) + EPS * np.abs(offsets)
    losses, above, below = (
        risk.fenchel(j, none, z, model.intercept)[0]
        for z in (scores, scores + errors, scores - errors)
    )
    kinks = 0.5 * (above + below) - losses
    floor = model.floor + (max(kinks, 0.0) if np.isfinite(kinks) else 0.0)
    return model._replace(dual=at.dual, floor=floor)


def _floor(gram: Gram, coef: Array, state: Array, b: Any, size: float) -> float:
    """Gap that rounding may leave or hide: of terms of that `size`, of the scores and the offset.

    An error of the score z_i changes the objective by C_i L'(z_i) times that, where c_i is
    -C_i L'(z_i) to first order.
    """
    of_offset = float(np.max(np.abs(b))) * float(np.abs(coef).sum())
    return floor_of(size, of_offset, gram.rounding(coef, state))


def floor_of(size: float, of_offset: float, of_scores: float) -> float:
    """Gap that rounding may leave, of terms of that size, of b sum |c_i|, and of the scores."""
    floor = EPS * (64 * size + of_offset) + of_scores
    return floor if np.isfinite(floor) else 0.0  # an infinite objective is not rounding


@dataclass
class Best:
    """The certificates of the lowest primal and, apart, of the largest dual of one problem."""

    nothing: float = 0.0  # an objective so small is zero up to rounding
    lowest: Certificate | None = None
    highest: Certificate | None = None

    def see(self, new: Certificate) -> None:
        """Keep what is better; a tie to within rounding goes to the newer, NaN is never better."""
        if self.highest is None or np.isnan(self.highest.dual) or new.dual >= self.highest.dual:
            self.highest = new
        known = self.lowest
        if known is None or np.isnan(known.primal) or new.primal <= known.primal + new.floor:
            self.lowest = new

    @property
    def known(self) -> Certificate:
        """The certificate of the lowest primal; there is one from the start."""
        assert self.lowest is not None
        return self.lowest

    @property
    def dual(self) -> float:
        """The largest dual."""
        return -np.inf if self.highest is None else self.highest.dual

    @property
    def scale(self) -> float:
        """What the tolerance is relative to; 0 until something is known."""
        return 0.0 if self.lowest is None else abs(self.lowest.primal)

    @property
    def bound(self) -> float:
        """Best dual, which is never above the primal, less what rounding may have added to it."""
        return min(self.dual, self.known.primal) - self.known.floor

    @property
    def gap(self) -> float:
        """Best primal minus best dual, and what rounding may hide."""
        return self.known.primal - self.bound

    @property
    def is_rounding(self) -> bool:
        """Whether there is no gap but for rounding."""
        return self.known.primal - self.dual <= self.known.floor

    def within(self, tol: float) -> bool:
        """Whether the gap is within the relative tolerance, or nothing is left of the objective."""
        return bool(within(self.gap, self.known.primal, self.dual, tol, self.nothing))
