"""Newton's method on blocks for a loss of several scores of a sample at once, such as multinomial.

As in :mod:`resolvent.blocks.newton`, with a row of weights and an offset for each class. With
diag(d_i) - e_i e_i' minus the derivative of the coefficients c_i of a sample, the second
derivatives are, for a pair of classes, sums X'WX with W_i = d_ia - e_ia^2 or -e_ia e_ib. Losses are
smooth, with a link: there is no kink for which the envelope had to be wide.

With offsets the coefficients of each class have to sum to zero for a dual bound, which they do
where the steps end. Before, the coefficients of a model without weights are added whose sums are of
the other sign: of both, theta c + (1 - theta) c' is in the domain, which is convex, and its sum of
conjugates is at most theta times that of c plus 1 - theta times that of c'.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from resolvent._numeric import EPS
from resolvent.blocks.block import Block
from resolvent.blocks.newton import ENOUGH, HARD, RISE, SMOOTH
from resolvent.blocks.sums import Extent, Survey, Task, check_weight
from resolvent.grams.linear import product_rounding
from resolvent.problem import Array, groups
from resolvent.problem.certificate import (
    BALANCED,
    Best,
    Certificate,
    dual_of,
    floor_of,
    primal_of,
)

__all__ = ["Together", "measure_together", "survey_together"]

SHARP = 1e200  # sigma of envelopes that are the losses
SHORTER = 0.5 ** np.arange(1.0, 16.0)  # of a Newton step that went too far


class AtAll(NamedTuple):
    """Ask for the sums at a point: weights (k, d) and offsets (k,) of k classes."""

    w: Array
    b: Array
    sigma: float
    curved: bool = True


class AllSums(NamedTuple):
    """Sums at a point, as in `PointSums`, with a number for each class in `total`."""

    losses: float
    conjugates: float
    products: float
    size: float
    total: Array
    absolute: Array
    square: float
    support: int
    state: Array  # (k, d)
    hessian: Array | None  # of all weights and offsets, class by class, the offset last


# ---- what is computed of a block ----------------------------------------------------------------


def targets_of(block: Block, task: Task) -> tuple[Array, Array]:
    """One row of zeros and a one for each sample, and C times the weights."""
    codes = np.searchsorted(task.classes, block.y)
    weight = 1.0 if block.weight is None else np.asarray(block.weight, float)
    C = np.ascontiguousarray(np.broadcast_to(task.C * weight, len(block)), dtype=float)
    return np.eye(len(task.classes))[codes], C


def survey_together(block: Block, task: Task) -> Survey:
    """Look at the data; what has an entry for each column has one."""
    gram = block.gram
    if block.y is None or not np.isin(block.y, task.classes).all():
        raise ValueError("y has a label which is no class.")
    if block.weight is not None:
        check_weight(task, block)
    y, C = targets_of(block, task)
    none, sharp, out = np.zeros_like(y), np.full(len(y), np.inf), np.empty_like(y)
    groups.step(task.loss, y, C, none, none, sharp, out)
    at_zero = groups.fenchel(task.loss, y, C, none, none, none)[0]
    one = np.ones(1)
    return Survey(
        rows=len(block),
        is_vector=Extent(True, True),
        entries=len(block) * gram.row_cost,
        squares=gram.column_squares.copy(),
        C=C.sum() * one,
        y=C @ y,
        y_squares=C.sum() * one,
        extent=Extent(0.0 * one, one),
        at_zero=at_zero * one,
        slopes=np.abs(out).sum() * one,
    )


def measure_together(block: Block, task: Task, asks: tuple[AtAll, ...]) -> tuple[AllSums, ...]:
    """Compute all that is asked of a block."""
    gram, (y, C) = block.gram, targets_of(block, task)
    k = y.shape[1]
    scores = gram.scores(np.concatenate([ask.w for ask in asks]))
    results = []
    for i, ask in enumerate(asks):
        s = np.ascontiguousarray(scores[k * i : k * (i + 1)].T + ask.b)
        none, c, alpha = np.zeros_like(s), np.empty_like(s), np.full(len(s), ask.sigma)
        groups.step(task.loss, y, C, none, s, alpha, c)
        losses, conjugates, products, size = groups.fenchel(task.loss, y, C, c, s, s)
        hessian = None
        if ask.curved:
            d, e = np.empty_like(s), np.empty_like(s)
            groups.slopes(task.loss, y, C, none, s, alpha, d, e)
            hessian = second_derivatives(gram, d, e)
        results.append(
            AllSums(
                losses,
                conjugates,
                products,
                size,
                total=c.sum(axis=0),
                absolute=np.abs(c).sum(axis=0),
                square=float(np.einsum("ij,ij->", c, c)),
                support=int(np.count_nonzero(c.any(axis=1))),
                state=gram.state(np.ascontiguousarray(c.T)),
                hessian=hessian,
            )
        )
    return tuple(results)


def second_derivatives(gram: Any, d: Array, e: Array) -> Array:
    """Sum second derivatives in all weights and offsets."""
    k, f = d.shape[1], gram.columns + 1
    result = np.empty((k, f, k, f))
    for a in range(k):
        for b in range(a + 1):
            weight = np.maximum(d[:, a] - e[:, a] ** 2, 0.0) if a == b else -e[:, a] * e[:, b]
            part = result[a, :, b, :]
            part[:-1, :-1] = _squares(gram, weight)
            part[:-1, -1] = part[-1, :-1] = gram.state(weight[None])[0]
            part[-1, -1] = weight.sum()
            result[b, :, a, :] = part.T
    return result.reshape(k * f, k * f)


def _squares(gram: Any, weight: Array) -> Array:
    """X'WX of weights of either sign."""
    result: Array = -gram.squares(np.maximum(-weight, 0.0), parts=1)
    if (weight > 0.0).any():
        result += gram.squares(np.maximum(weight, 0.0), parts=1)
    return result


# ---- the course of the method -------------------------------------------------------------------


class Together:
    """The problem of all classes on its way: where it is, and what is known of its optimum.

    Parameters
    ----------
    task : Task
        The problem.
    known : Survey
        What is known of the data.
    fit_intercept : bool
        Whether there are offsets.
    tol : float
        Relative gap that is good enough.
    """

    measure = staticmethod(measure_together)
    j = 0

    def __init__(self, task: Task, known: Survey, fit_intercept: bool, tol: float) -> None:
        self.known, self.fit_intercept, self.tol = known, fit_intercept, tol
        self.k, self.d = len(task.classes), len(known.squares)
        self.best = Best(EPS * float(known.at_zero[0]) + 1e-200 * float(known.C[0]))
        self.largest, self.support = np.inf, 0
        sigma = SMOOTH * max(float(known.slopes[0]) / known.rows, 1e-100)
        b = np.zeros(self.k)
        if fit_intercept:  # of the shares of the classes
            share = known.y / known.C[0]
            b = np.log(np.maximum(share, 1e-300))
            b -= b.mean()
        self.here = AtAll(np.zeros((self.k, self.d)), b, sigma)
        none, zeros = np.zeros(0), np.zeros((self.k, self.d))
        at_zero = float(known.at_zero[0])
        self.best.see(Certificate(none, zeros, none, np.zeros(self.k), at_zero, -np.inf, 0.0))

    def see(self, at: AtAll, found: AllSums, bound: float = -np.inf) -> None:
        """Certify a point, of which a dual bound may be known."""
        none = np.zeros(0)
        primal = primal_of(found.losses, float(np.sum(at.w**2)))
        dual, left_over = bound, float(at.b @ found.total)
        if not self.fit_intercept or (np.abs(found.total) <= BALANCED * found.absolute).all():
            dual = dual_of(found.conjugates, float(np.sum(found.state**2)), left_over)
        row_cost = self.known.entries / self.known.rows
        squares = np.tile(self.known.squares, self.k)
        of_scores = product_rounding(found.square, at.w.ravel(), squares, row_cost)
        floor = floor_of(found.size, float(np.abs(at.b) @ found.absolute), of_scores)
        self.support = found.support
        if np.isfinite(primal):
            dual = dual if np.isfinite(dual) else -np.inf
            self.best.see(Certificate(none, at.w, none, at.b, primal, dual, floor))

    def _partner(self, found: AllSums) -> tuple[AtAll, float]:
        """Model without weights that balances a point, and the share of the point's coefficients.

        The probabilities of the former and the mean ones of the latter have the shares of the
        classes between them.
        """
        share = self.known.y / self.known.C[0]
        mean = share - found.total / self.known.C[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = float(np.min(np.where(mean > 0.0, share / mean, np.inf)))
        theta = float(np.clip(1.0 - 2.0 * (1.0 - most), 0.0, 1.0 - BALANCED))
        other = np.maximum((share - theta * mean) / (1.0 - theta), 1e-300)
        b = np.log(other)
        return AtAll(np.zeros((self.k, self.d)), b - b.mean(), SHARP, curved=False), theta

    def _mixed(self, found: AllSums, partner: AllSums, theta: float) -> float:
        """Dual bound of a point and its partner."""

        def mix(a: Any, b: Any) -> Any:
            return theta * a + (1.0 - theta) * b

        total, size = (mix(getattr(found, x), getattr(partner, x)) for x in ("total", "absolute"))
        if not (np.abs(total) <= BALANCED * size).all():
            return -np.inf
        state = mix(found.state, partner.state)
        return dual_of(mix(found.conjugates, partner.conjugates), float(np.sum(state**2)), 0.0)

    def course(self, start: Any = None) -> Generator[list[AtAll], list[AllSums], None]:
        """Newton's method, as requests for sums; each list of them is one pass over the blocks."""
        here, count = self.here, 0
        if start is not None and start.w.shape == here.w.shape:
            here = start
        (found,) = yield [here]
        while True:
            self.here = here
            self.see(here, found)
            sigma = self._next_sigma(here, found, count)
            count = count + 1 if sigma == here.sigma else 0
            here = here._replace(sigma=sigma)
            dw, db = self._move(here, found)
            full = there(here, dw, db, 1.0)
            partner, theta = self._partner(found)
            new, other = yield [full, partner]
            self.see(here, found, self._mixed(found, other, theta))
            t = 1.0
            allowed = phi(here, found) + self.best.known.floor
            if not phi(full, new) <= allowed:  # NaN, of scores that overflow, is too far
                shorter = [there(here, dw, db, t)._replace(curved=False) for t in SHORTER]
                tried = yield shorter
                values = [phi(at, sums) for at, sums in zip(shorter, tried, strict=True)]
                t = float(SHORTER[int(np.nanargmin(values))])
                full = there(here, dw, db, t)
                (new,) = yield [full]
            self.largest = t * float(np.abs(dw).max(initial=0.0))
            here, found = full, new

    def _move(self, at: AtAll, found: AllSums) -> tuple[Array, Array]:
        """Solve for a Newton step."""
        k, f = self.k, self.d + 1
        assert found.hessian is not None
        system = found.hessian.reshape(k, f, k, f).copy()
        every = np.arange(k)
        system[every[:, None], np.arange(f - 1), every[:, None], np.arange(f - 1)] += 1.0
        corner = system[:, -1, :, -1]
        # To add one number to all offsets changes nothing: that direction is held.
        corner += max(np.trace(corner) / k, 1e-100) / k
        right = np.concatenate([found.state - at.w, found.total[:, None]], axis=1)
        inside = np.ones((k, f), bool)
        inside[:, -1] = self.fit_intercept
        kept = np.flatnonzero(inside)
        steps = np.zeros(k * f)
        matrix = system.reshape(k * f, k * f)[np.ix_(kept, kept)]
        steps[kept] = np.linalg.lstsq(matrix, right.ravel()[kept])[0]
        move = steps.reshape(k, f)
        return move[:, :-1], move[:, -1]

    def _next_sigma(self, at: AtAll, found: AllSums, count: int) -> float:
        """Raise sigma once Newton's method is nearer to its end than what the envelope costs."""
        defect = found.losses + found.conjugates + found.products
        enough = max(ENOUGH * self.tol * abs(self.best.known.primal), self.best.known.floor)
        left = 0.5 * float(np.sum((found.state - at.w) ** 2))
        if defect <= enough or left > defect or count >= HARD:
            return at.sigma
        return at.sigma * RISE


def there(at: AtAll, dw: Array, db: Array, t: float) -> AtAll:
    """Give a point on the line of a step."""
    return AtAll(at.w + t * dw, at.b + t * db, at.sigma)


def phi(at: AtAll, found: AllSums) -> float:
    """Objective with the envelopes of the losses."""
    of_losses = -found.conjugates - found.products - found.square / (2.0 * at.sigma)
    return primal_of(of_losses, float(np.sum(at.w**2)))
