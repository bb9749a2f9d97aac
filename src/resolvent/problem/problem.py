"""The problem and its objectives.

    minimise over c   F(c) = sum_i C_i L(y_i, (Kc)_i) + c'Kc / 2

Both algorithms descend the dual Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, and
F(c) + Q(c) >= 0 bounds how far F(c) is above its minimum: the duality gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resolvent._numeric import EPS
from resolvent.grams import Gram, as_gram
from resolvent.grams.stacked import StackedGram
from resolvent.losses import as_loss
from resolvent.losses.check import check_before_fit
from resolvent.losses.offset import with_offset
from resolvent.problem.certificate import BALANCED, dual_of, primal_of
from resolvent.problem.risk import Coupled, Separable
from resolvent.problem.solution import Array

HUGE = 1e100  # weights and targets above this may make an objective overflow
TINY = 1e-290  # squares of coefficients below this would soon underflow, and with them the penalty
MAX_DOUBLINGS = 20  # of the distance to an offset on the other side


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
    offset : array-like of shape (n,) or (n, m), optional
        Known part o of the scores of each row, so that the losses are L(y_i, z_i + b + o_i).

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
        offset: ArrayLike | None = None,
    ) -> None:
        self.loss = as_loss(loss)
        has_offset = np.iscomplexobj(y) and isinstance(getattr(self.loss, "loss", None), tuple)
        self.couples = getattr(self.loss, "couples", "")
        self.fit_intercept = bool(fit_intercept)
        # With an offset the origin of the scores is free: the solvers take the best-behaved one.
        self.given: Gram = as_gram(K)
        self.kernel: Gram = self.given.centred() if self.fit_intercept else self.given
        self.gram = self.kernel
        n = self.gram.n
        targets = _numbers(y, "y", complex if has_offset else float)
        if targets.ndim not in (1, 2) or len(targets) != n or targets.size == 0:
            raise ValueError(
                f"y has shape {targets.shape}; the kernel matrix has {n} rows, so y must have "
                f"shape ({n},) or ({n}, m)."
            )
        plain = self.loss.loss if has_offset else self.loss
        check_targets(plain, targets.real)
        check_before_fit(plain, targets.real)
        self.columns = targets.ndim == 2
        self.y: Array = np.ascontiguousarray(np.atleast_2d(targets.T))
        self.C: Array = self._weights(C, sample_weight)
        if offset is not None:
            known = _offsets(offset, targets.shape)
            self.loss, self.y, self.C = with_offset(
                self.loss, self.y, self.C, np.ascontiguousarray(np.atleast_2d(known.T))
            )
        if self.couples == "columns":  # one problem, with the coefficients of each sample together
            self.gram, self.given = (StackedGram(K, len(self.y)) for K in (self.kernel, self.given))
            self.y = np.ascontiguousarray(self.y.T).reshape(1, -1)
        self.m, self.n = self.y.shape
        self.risk: Separable | Coupled = Separable(self.loss, self.y, self.C)
        if self.couples:
            alpha = n / max(self.kernel.trace, 1e-200)
            self.risk = Coupled(self.loss, self.y, self.C, self.gram.n // n, alpha)
        self._check_range()
        for j in range(self.m if self.fit_intercept and not self._has_both_signs() else 0):
            if self.risk.falls_for_ever(j):
                raise ValueError(
                    f"With fit_intercept=True this problem has no solution: the targets"
                    f"{f' of column {j}' if self.columns else ''} are all on one side (a single "
                    f"class, or all zero), and the loss {type(plain).__name__} falls for ever "
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
            weights = times_weight(weights, w if rows_only or not w.ndim else w[:, None])
        weights = np.atleast_2d(weights.T)
        if not (weights > 0).any(axis=1).all():
            raise ValueError(
                "All weights (C times sample_weight) are zero: nothing is left to fit."
            )
        for c in weights if self.couples == "samples" else []:
            check_sample_weight(self.loss, c / c.max())
        return np.ascontiguousarray(weights, dtype=float)

    def _has_both_signs(self) -> bool:
        """Whether all columns have labels of both signs: then no offset goes to infinity."""
        if getattr(self.loss, "targets", "real") != "sign":
            return False
        signed = self.C * self.y.real
        return bool(((signed.max(axis=1) > 0.0) & (signed.min(axis=1) < 0.0)).all())

    def _check_range(self) -> None:
        """Refuse weights with which the objective, or the penalty in it, is no double."""
        weights, targets = self.C.max(axis=1), np.maximum(self.y.max(axis=1), -self.y.min(axis=1))
        heaviest, largest = float(weights.min()), float(self.kernel.diagonal.max())
        if largest > 0.0 and 2.0 * np.log(heaviest) + np.log(largest) < np.log(TINY):
            raise ValueError(
                f"C times sample_weight is {heaviest:g} at most, so little that the penalty "
                "|f|^2 / 2 underflows; scale them up."
            )
        none = np.zeros(self.n)
        for j in map(int, np.flatnonzero(np.maximum(weights, targets) > HUGE)):
            # Near the largest double, since sums over other samples or columns may be larger.
            if self.risk.fenchel(j, none, none, 0.0)[0] > 1e300:
                raise ValueError(
                    f"The objective overflows, where C times sample_weight is {weights[j]:g} at "
                    f"most and |y| is {targets[j]:g}; scale them down."
                )

    def primal(self, coef: ArrayLike, intercept: ArrayLike | None = None) -> Any:
        """Objective F at `coef`, and at the best offset unless `intercept` is given."""
        return self._value(coef, intercept, lambda losses, _, square: primal_of(losses, square))

    def dual(self, coef: ArrayLike) -> Any:
        """Lower bound -Q(coef) on the minimum; with an offset only if coef sums to zero."""
        return self._value(coef, 0.0, lambda _, conj, square: dual_of(conj, square, 0.0))

    def gap(self, coef: ArrayLike, intercept: ArrayLike | None = None) -> Any:
        """Duality gap: how far F(coef) can be above the minimum."""
        return self._value(
            coef,
            intercept,
            lambda losses, conj, square: primal_of(losses, square) - dual_of(conj, square, 0.0),
        )

    def _value(self, coef: ArrayLike, intercept: ArrayLike | None, combine: Any) -> Any:
        c = self.rows(coef)
        z = self.given.product(c)
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

    def is_balanced(self, coef: Array) -> bool:
        """Whether coefficients sum to zero up to rounding, or need not without an offset."""
        return not self.fit_intercept or self.imbalance(coef) <= BALANCED

    def imbalance(self, coef: Array) -> float:
        """How far coefficients are from a sum of zero, in units of their size."""
        size = float(np.abs(coef).sum())
        return float(np.abs(self.risk.totals(coef)).max()) / size if size > 0.0 else 0.0

    def public_weights(self, states: list[Array]) -> Any:
        """Weights of a linear kernel from the states of all problems; None for other kernels."""
        if not self.gram.factored:
            return None
        weights = np.array(states).reshape(self.m * self.risk.n_columns, -1).T
        return weights if self.columns else weights[:, 0]

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
        alpha = np.full(self.n, min(1.0 / max(self.gram.trace, 1e-200), self.risk.longest))
        if not self.fit_intercept:
            return self.risk.step(j, coef, scores, b, alpha), b
        b = self.risk.balance(j, coef, scores, alpha, b)
        new = self.risk.step(j, coef, scores, b, alpha)
        if self.risk.n_columns == 1 and not self.is_balanced(new):
            # Steps at neighbouring offsets have sums of either sign. What is between them sums to
            # zero, and is in the domain, which is convex.
            side = np.sign(new.sum())
            apart = EPS * max(abs(b), float(np.abs(scores).max()))
            for _ in range(MAX_DOUBLINGS):
                other = self.risk.step(j, coef, scores, b + side * apart, alpha)
                left, right = float(new.sum()), float(other.sum())
                if side * right <= 0.0:
                    share = left / (left - right)
                    return (1.0 - share) * new + share * other, b
                apart *= 2.0
        return new, b


def times_weight(C: Any, weight: Array) -> Array:
    """Weights of the losses: C times the weights of samples, where that is finite."""
    with np.errstate(over="ignore"):
        product: Array = C * weight
    if not np.isfinite(product).all():
        raise ValueError("C times sample_weight overflows; scale them down.")
    return product


def check_sample_weight(loss: Any, weight: Array) -> None:
    """Refuse weights that have no meaning for a loss."""
    if getattr(loss, "couples", "") == "samples" and not np.isin(weight, (0.0, 1.0)).all():
        raise ValueError(
            f"The loss {type(loss).__name__} is one of all samples together, so that only weights "
            "of 0 and 1 have a meaning: give no other sample_weight, and one C for all rows."
        )


def _offsets(offset: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Offsets of all targets; one for each row is that of all columns."""
    known = _numbers(offset, "offset")
    if known.shape not in (shape[:1], shape):
        of_all = "" if len(shape) == 1 else f" or {shape}, one for each target"
        raise ValueError(f"offset has shape {known.shape}; it must be {shape[:1]}{of_all}.")
    return np.broadcast_to(known if known.shape == shape else known[:, None], shape)


def _numbers(x: ArrayLike, name: str, dtype: type = float) -> Array:
    """Turn x into finite floats, or say which argument is not."""
    try:
        array: Array = np.asarray(x, dtype=dtype)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {_short(x)}.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; remove or replace such values first.")
    return array


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 60 else text[:57] + "..."


def _is_one_hot(y: Array) -> bool:
    columns = y.shape[1] if y.ndim == 2 else 1
    return columns > 1 and bool(np.isin(y, (0.0, 1.0)).all() and (y.sum(axis=1) == 1).all())


def check_targets(loss: Any, y: Array) -> None:
    """Refuse targets that a loss is not defined for."""
    kind = getattr(loss, "targets", "real")
    name = type(loss).__name__
    if kind == "sign" and not (np.abs(y) == 1.0).all():
        found = ", ".join(f"{v:g}" for v in np.unique(y)[:4])
        raise ValueError(f"y must be -1 or +1 for the loss {name}; found the values {found}.")
    if kind == "one_hot" and not _is_one_hot(y):
        raise ValueError(
            f"y must have a column for each class and, in each row, one 1 among zeros for the loss "
            f"{name}; a classifier takes labels."
        )
    if kind == "nonnegative" and (y < 0).any():
        raise ValueError(f"y must be >= 0 for the loss {name}; found {y.min():g}.")
    if kind == "positive" and (y <= 0).any():
        raise ValueError(
            f"y must be > 0 for the loss {name}; found {y.min():g}. For amounts that may be zero "
            "use 'tweedie'."
        )
