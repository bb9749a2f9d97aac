"""The problem, its certificate, and the result of solving it.

    minimise over c   F(c) = sum_i C_i L(y_i, (Kc)_i) + c'Kc / 2

Both algorithms descend the dual Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, and
F(c) + Q(c) >= 0 bounds how far F(c) is above its minimum: the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resolvent.grams import Gram, as_gram
from resolvent.grams.stacked import StackedGram
from resolvent.losses import as_loss
from resolvent.risk import Coupled, Separable
from resolvent.solvers.loops import EPS

Array = NDArray[np.float64]


class Status(IntEnum):
    """Why a solver stopped, from best to worst; ``status.message`` says it in words.

    Examples
    --------
    >>> from resolvent import Status
    >>> print(Status.CONVERGED, Status.CONVERGED.message)
    CONVERGED The duality gap is within the tolerance.
    """

    CONVERGED = 0
    STEP = 1
    PRECISION_LIMIT = 2
    CALLBACK = 3
    MAX_ITER = 4
    TIME_LIMIT = 5
    INTERRUPTED = 6
    NOT_PSD = 7

    def __str__(self) -> str:
        return self.name

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.CONVERGED: "The duality gap is within the tolerance.",
    Status.STEP: "The largest step is below the tolerance (the paper's rule).",
    Status.PRECISION_LIMIT: "The duality gap is as small as rounding allows.",
    Status.CALLBACK: "The callback asked to stop before the tolerance was reached.",
    Status.MAX_ITER: "max_iter was reached before the tolerance.",
    Status.TIME_LIMIT: "time_limit was reached before the tolerance.",
    Status.INTERRUPTED: "The fit was interrupted before the tolerance was reached.",
    Status.NOT_PSD: "The kernel matrix is not positive semidefinite, so that no bound holds.",
}


class Record(NamedTuple):
    """One line of a history; for several problems at once each entry but two is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import solve
    >>> solve("squared", np.eye(2), [1.0, 2.0]).history[0].iteration
    0
    """

    iteration: int
    seconds: float
    primal: Any
    dual: Any
    gap: Any
    largest_step: Any
    n_support: Any = 0  # coefficients that are not zero


def relative_gaps(gap: ArrayLike, primal: ArrayLike, dual: ArrayLike) -> Array:
    """Gaps in units of the larger objective, as in the stopping rule; infinite without a bound."""
    gap, primal, dual = (np.atleast_1d(np.asarray(x, float)) for x in (gap, primal, dual))
    scale = np.maximum(np.abs(primal), np.abs(dual))
    known = (scale > 0.0) & np.isfinite(scale) & np.isfinite(gap)
    result: Array = np.divide(gap, scale, out=np.where(gap == 0.0, 0.0, np.inf), where=known)
    return result


@dataclass(frozen=True)
class Solution:
    """The result of :func:`resolvent.solve`.

    For targets of shape (n, m) there are m independent problems, and all but `status`, `history`
    have an entry or a column for each.

    Attributes
    ----------
    coef : ndarray of shape (n,) or (n, m)
        The coefficients c with the lowest objective seen.
    fitted : ndarray of shape (n,) or (n, m)
        Scores Kc + intercept of the training rows.
    intercept : float or ndarray of shape (m,)
        The offset; 0 without `fit_intercept`.
    primal, dual, gap : float or ndarray of shape (m,)
        Objective F(c), best lower bound on its minimum, and their difference: F(c) is at most
        `gap` above the minimum. For a kernel matrix that turns out not to be positive semidefinite
        no bound holds: they are -inf and inf.
    n_iter : int or ndarray of shape (m,)
        Iterations: sweeps of coordinate descent or fixed-point steps.
    status : Status
        Why it stopped; the worst of several problems.
    history : list of Record
        Iteration, seconds, primal, dual, gap, largest step and number of support vectors at each
        certification.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import solve
    >>> solution = solve("squared", np.eye(2), [1.0, 2.0])
    >>> solution.coef.round(6).tolist(), round(solution.primal, 6)
    ([0.5, 1.0], 1.25)
    """

    coef: Array
    fitted: Array
    intercept: Any
    primal: Any
    dual: Any
    gap: Any
    n_iter: Any
    status: Status
    history: list[Record]


class Certificate(NamedTuple):
    """One problem's coefficients with the bounds that they prove."""

    coef: Array
    scores: Array  # Kc, without the offset
    intercept: Any  # a number, or one for each column of a coupled loss
    primal: float
    dual: float
    floor: float  # gaps below this are rounding


class Problem:
    """Minimise sum_i C_i L(y_i, z_i + b) + c'Kc / 2 over c (and b), with z = Kc.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance.
    K : array-like or Gram
        Symmetric positive semidefinite matrix, or what :func:`resolvent.gram` returns.
    y : array-like of shape (n,) or (n, m)
        Targets; with m columns there are m independent problems on one kernel.
    C : float or array-like, default=1.0
        Weight of the loss against the penalty (1 / lambda); broadcast against `y`.
    sample_weight : array-like of shape (n,), optional
        Factors of C for each row; 0 takes the row out.
    fit_intercept : bool, default=False
        Whether to add an unpenalised offset b to the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import Problem
    >>> problem = Problem("squared", np.eye(2), [1.0, 2.0], C=1.0)
    >>> problem.primal([0.5, 1.0]), problem.gap([0.5, 1.0])
    (1.25, 0.0)
    """

    def __init__(
        self,
        loss: Any,
        K: Any,
        y: ArrayLike,
        C: ArrayLike = 1.0,
        sample_weight: ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.couples = getattr(self.loss, "couples", "")
        self.kernel: Gram = as_gram(K)
        self.gram = self.kernel
        self.fit_intercept = bool(fit_intercept)
        n = self.gram.n
        targets = _numbers(y, "y")
        if targets.ndim not in (1, 2) or len(targets) != n or targets.size == 0:
            raise ValueError(
                f"y has shape {targets.shape}; the kernel matrix has {n} rows, so y must have "
                f"shape ({n},) or ({n}, m)."
            )
        _check_targets(self.loss, targets)
        self.columns = targets.ndim == 2
        self.y: Array = np.ascontiguousarray(np.atleast_2d(targets.T))
        self.C: Array = self._weights(C, sample_weight)
        if self.couples == "columns":  # one problem, with the coefficients of each sample together
            self.gram = StackedGram(self.kernel, len(self.y))
            self.y = targets.reshape(1, -1)
        self.m, self.n = self.y.shape
        self.risk: Separable | Coupled = Separable(self.loss, self.y, self.C)
        if self.couples:
            alpha = n / max(self.kernel.trace, 1e-200)
            self.risk = Coupled(self.loss, self.y, self.C, self.gram.n // n, alpha)
        for j in range(self.m if self.fit_intercept else 0):
            if self.risk.falls_for_ever(j):
                raise ValueError(
                    f"With fit_intercept=True this problem has no solution: the targets"
                    f"{f' of column {j}' if self.columns else ''} are all on one side (a single "
                    f"class, or all zero), and the loss {type(self.loss).__name__} falls for ever "
                    "as the offset grows. Use fit_intercept=False or add rows of the other kind."
                )

    def _weights(self, C: ArrayLike, sample_weight: ArrayLike | None) -> Array:
        weights = _numbers(C, "C")
        if not (weights >= 0).all() or (weights.ndim == 0 and weights == 0):
            raise ValueError(f"C={C!r} must be positive (C = 1 / lambda).")
        rows_only = not self.columns or self.couples == "columns"
        shape = self.y.shape[1:] if rows_only else self.y.T.shape
        if not rows_only and weights.ndim == 1 and weights.shape != shape[1:]:
            raise ValueError(
                f"C has shape {weights.shape}; for several problems give one number each, shape "
                f"{shape[1:]}, or one for each target, shape {shape}."
            )
        try:
            weights = np.broadcast_to(weights, shape)
        except ValueError:
            raise ValueError(
                f"C has shape {weights.shape}, which does not fit y of shape {shape}."
            ) from None
        if sample_weight is not None:
            w = _numbers(sample_weight, "sample_weight")
            if w.shape not in ((), shape[:1]):
                raise ValueError(f"sample_weight has shape {w.shape}; it must be {shape[:1]}.")
            if (w < 0).any():
                raise ValueError(
                    f"sample_weight has a negative value ({w.min():g}); weights must be >= 0."
                )
            check_sample_weight(self.loss, w)
            with np.errstate(over="ignore"):  # refused below
                weights = weights * (w if rows_only or not w.ndim else w[:, None])
        weights = np.atleast_2d(weights.T)
        if not (weights > 0).any(axis=1).all():
            raise ValueError(
                "All weights (C times sample_weight) are zero: nothing is left to fit."
            )
        if not np.isfinite(weights).all():
            raise ValueError("C times sample_weight overflows; scale them down.")
        for c in weights if self.couples == "samples" else []:
            check_sample_weight(self.loss, c / c.max())
        return np.ascontiguousarray(weights, dtype=float)

    def primal(self, coef: ArrayLike, intercept: ArrayLike | None = None) -> Any:
        """Objective F at `coef`, and at the best offset unless `intercept` is given."""
        return self._value(coef, intercept, lambda losses, _, cz: losses + 0.5 * cz)

    def dual(self, coef: ArrayLike) -> Any:
        """Lower bound -Q(coef) on the minimum; with an offset only if coef sums to zero."""
        return self._value(coef, 0.0, lambda _, conjugates, cz: -conjugates - 0.5 * cz)

    def gap(self, coef: ArrayLike, intercept: ArrayLike | None = None) -> Any:
        """Duality gap: how far F(coef) can be above the minimum."""
        return self._value(coef, intercept, lambda losses, conj, cz: losses + conj + cz)

    def _value(self, coef: ArrayLike, intercept: ArrayLike | None, combine: Any) -> Any:
        c = self.rows(coef)
        z = self.gram.product(c)
        result = np.empty(self.m)
        for j in range(self.m):
            b: Any
            if intercept is not None and self.risk.n_columns > 1:
                b = np.broadcast_to(intercept, self.risk.n_columns)
            elif intercept is not None:
                b = float(np.broadcast_to(intercept, self.m)[j])
            else:
                b = self.risk.best_offset(j, c[j], z[j]) if self.fit_intercept else 0.0
            sums = self.risk.fenchel(j, c[j], z[j], b)
            result[j] = combine(*sums[:3])
        return self.public(result)

    def rows(self, coef: ArrayLike) -> Array:
        """Coefficients as the solvers have them: one contiguous row for each problem."""
        given = _numbers(coef, "coef")
        n = self.kernel.n
        shape = (n, self.m * self.risk.n_columns) if self.columns else (n,)
        if given.shape != shape:
            raise ValueError(f"coef has shape {given.shape}; this problem needs {shape}.")
        if self.couples == "columns":
            return np.array(given.reshape(1, -1), dtype=float)
        return np.array(np.atleast_2d(given.T), dtype=float, order="C")

    def public(self, rows: Array) -> Any:
        """Undo `rows`: vectors and numbers for one problem, columns and arrays for several."""
        if self.couples == "columns":
            return rows.reshape(self.kernel.n, -1) if rows.ndim == 2 else rows[0].item()
        if self.columns:
            return rows.T
        return rows[0] if rows.ndim == 2 else rows[0].item()

    def public_offset(self, offsets: list[Any]) -> Any:
        """Offsets of all problems: a number, or an array with one for each column of targets."""
        if self.couples == "columns":
            return np.array(np.broadcast_to(offsets[0], self.risk.n_columns))
        return self.public(np.array(offsets))

    def certify(
        self,
        j: int,
        coef: Array,
        scores: Array,
        near: Any = 0.0,
        exact: bool = True,
        rough: float = 0.0,
    ) -> Certificate:
        """Bounds for problem j at coefficients `coef` with ``scores = K coef`` just computed.

        The best offset is sought from `near` on, up to `rough` in the primal. The dual bound holds
        only where the coefficients sum to zero, so they are made to; unless `exact`, only for that
        bound and without a product with K: the trace is above its norm, and the change is small.
        If `exact` it is their scores that count, which are computed, and those given may be rough.
        """
        b: Any = 0.0
        balanced = coef
        if self.fit_intercept:
            if not self.is_balanced(coef):
                balanced, _ = self.resolvent_step(j, coef, scores, near)
            if exact and balanced is not coef:
                coef, scores = balanced, self.gram.product(balanced[None])[0]
            b = self.risk.best_offset(j, coef, scores, near, rough)
        losses, conjugates, products, size = self.risk.fenchel(j, balanced, scores, b)
        square = products  # c'Kc of the primal, and then of the dual
        if balanced is not coef:
            square = float(coef @ scores)
            change = balanced - coef
            products = 2.0 * products - square + self.gram.trace * float(change @ change)
        floor = 64 * EPS * size
        if self.gram.noise > 0.0:
            with np.errstate(over="ignore"):  # on a K that is no kernel they may grow for ever
                floor += self.gram.noise * float(coef**2 @ self.gram.diagonal)
        floor = floor if np.isfinite(floor) else 0.0  # an infinite objective is not rounding
        # To rounding sum(c) = 0; what is left of it costs the bound b sum(c), to first order.
        dual = -conjugates - 0.5 * products - self.left_over(balanced, b)
        if self.fit_intercept and self._imbalance(balanced) > 1e-9:
            dual = -np.inf  # no offset balances them: they prove nothing
        return Certificate(coef, scores, b, losses + 0.5 * square, dual, floor)

    def is_balanced(self, coef: Array) -> bool:
        """Whether coefficients sum to zero up to rounding, or need not without an offset."""
        return not self.fit_intercept or self._imbalance(coef) <= 1e-12

    def _imbalance(self, coef: Array) -> float:
        """How far coefficients are from a sum of zero, in units of their size."""
        size = float(np.abs(coef).sum())
        return float(np.abs(self.risk.totals(coef)).max()) / size if size > 0.0 else 0.0

    def left_over(self, coef: Array, b: Any) -> float:
        """Measure what the dual lacks where the coefficients do not sum to zero, to first order."""
        return float((b * self.risk.totals(coef)).sum())

    def nothing(self, j: int) -> float:
        """Objective that is zero up to rounding, as with a constant target and an offset."""
        none = np.zeros(self.n)
        start = self.risk.fenchel(j, none, none, 0.0)[0]
        return EPS * float(start) + 1e-200 * float(self.C[j].sum())

    def resolvent_step(self, j: int, coef: Array, scores: Array, b: Any = 0.0) -> tuple[Array, Any]:
        """One safe fixed-point step: into the domain of the dual, to sum zero with an offset."""
        alpha = np.full(self.n, 1.0 / max(self.gram.trace, 1e-200))
        if self.fit_intercept:
            b = self.risk.balance(j, coef, scores, alpha, b)
        return self.risk.step(j, coef, scores, b, alpha), b


def check_sample_weight(loss: Any, weight: Array) -> None:
    """Refuse weights that have no meaning for a loss."""
    if getattr(loss, "couples", "") == "samples" and not np.isin(weight, (0.0, 1.0)).all():
        raise ValueError(
            f"The loss {type(loss).__name__} is one of all samples together, so that only weights "
            "of 0 and 1 have a meaning: give no other sample_weight, and one C for all rows."
        )


def _numbers(x: ArrayLike, name: str) -> Array:
    """Turn x into finite floats, or say which argument is not."""
    try:
        array = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {_short(x)}.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; remove or replace such values first.")
    return array


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 60 else text[:57] + "..."


def _check_targets(loss: Any, y: Array) -> None:
    kind = getattr(loss, "targets", "real")
    name = type(loss).__name__
    if kind == "sign" and not (np.abs(y) == 1.0).all():
        found = ", ".join(f"{v:g}" for v in np.unique(y)[:4])
        raise ValueError(f"y must be -1 or +1 for the loss {name}; found the values {found}.")
    is_one_hot = y.ndim == 2 and y.shape[1] > 1 and bool(np.isin(y, (0.0, 1.0)).all())
    if kind == "one_hot" and not (is_one_hot and (y.sum(axis=1) == 1).all()):
        raise ValueError(
            f"y must have a column for each class and, in each row, one 1 among zeros for the loss "
            f"{name}; a classifier takes labels."
        )
    if kind == "nonnegative" and (y < 0).any():
        raise ValueError(f"y must be >= 0 for the loss {name}; found {y.min():g}.")
