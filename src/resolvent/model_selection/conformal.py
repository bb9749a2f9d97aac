"""Calibration of the chosen model by the models of the folds; see :mod:`resolvent.conformal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent.conformal import Calibration
from resolvent.estimators.base import Data, checked_C
from resolvent.estimators.expansion import Expansion, take_rows
from resolvent.fitting import Fit, solve_columns
from resolvent.grams import Gram
from resolvent.kernels import Linear
from resolvent.model_selection.folds import Fold
from resolvent.model_selection.landmarks import SharedLandmarks
from resolvent.model_selection.shared import span_of
from resolvent.problem import Record, Status

__all__ = ["calibrate_by_folds"]


def calibrate_by_folds(
    model: Any, data: Data, folds: list[Fold], truth: np.ndarray, time_left: float | None
) -> None:
    """Fit the chosen model without each fold and keep how it misses the rows of that fold.

    The guarantee holds for any models of the folds, also for those of a time limit. After Ctrl-C
    there is no calibration.

    Parameters
    ----------
    model : estimator
        Fitted to all rows.
    data : Data
        These rows.
    folds : list of Fold
        The folds; rows that none is scored on do not count.
    truth : ndarray of shape (n,)
        Targets, or codes of classes.
    time_left : float or None
        Seconds for all folds.
    """
    linear = not hasattr(model, "kernel")
    kernel = Linear() if linear else model.kernel_
    try:
        samples, fits = _fit_folds(model, data, folds, time_left)
    except KeyboardInterrupt:
        model.status_ = Status.INTERRUPTED
        return
    coef = np.hstack([fit.coef for fit in fits])
    offsets = np.concatenate([fit.intercept for fit in fits])
    inside = np.flatnonzero(coef.any(axis=1))
    weights = np.vstack([fit.weights for fit in fits]) if linear else None
    rows = inside if kernel is None else take_rows(samples, inside)
    models = Expansion(kernel, rows, coef[inside], offsets, weights)
    m = len(fits[0].intercept)
    missed = []
    for k, fold in enumerate(folds):
        scores = models(take_rows(data.X, fold.test))[:, k * m : (k + 1) * m]
        if data.offset is not None:
            scores = scores + data.offset[fold.test]
        missed.append(model._miss(scores, truth[fold.test]))
    if kernel is None:
        models = Expansion(kernel, data.kept[inside], coef[inside], offsets)
    elif linear:  # whose weights are all that prediction needs
        models = Expansion(kernel, data.X[:0], coef[:0], offsets, weights)
    model._calibration = Calibration(
        np.concatenate(missed),
        np.concatenate([data.weight[fold.test] for fold in folds]),
        np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds]),
        models,
    )


def _fit_folds(
    model: Any, data: Data, folds: list[Fold], time_left: float | None
) -> tuple[Any, list[Any]]:
    """Fit without each fold; coefficients are those of the samples that are returned."""
    clock = Clock(time_left)
    grams, samples = _grams(model, data, folds, clock)
    each = None if time_left is None else max(time_left, 0.0) / len(folds)
    settings = model._settings() | {"time_limit": each}

    def report(record: Record) -> bool:
        model._log(record)
        return False

    fits = []
    for k, fold in enumerate(folds):
        K, weight = grams(k), fold.weights(data)
        columns = model._columns(data, weight)
        settings["start"] = np.where(weight[:, None] > 0.0, model._coef, 0.0)
        fit = solve_columns(K, *columns, C=checked_C(model.C), report=report, **settings)
        if any(s.status == Status.INTERRUPTED for s in fit.solutions):
            raise KeyboardInterrupt
        fits.append(fit._replace(coef=_expansion(K, fit)))
    return samples, fits


def _grams(
    model: Any, data: Data, folds: list[Fold], clock: Clock
) -> tuple[Callable[[int], Gram], Any]:
    """Kernel matrix of each fold, and the samples whose kernel functions a model is the sum of.

    Where the model is of a rank, folds have as many landmarks as it has, which they learn from.
    """
    if getattr(model, "rank_", None) is None:
        kernel = model.kernel_ if hasattr(model, "kernel") else Linear()
        K = model._gram(data, kernel, getattr(model, "memory_limit", "auto"))
        return (lambda k: K), data.X
    span, limit = span_of(model, data), model.memory_limit
    if isinstance(span.landmarks, str):
        span = span._replace(rank=model.rank_)
    shared = SharedLandmarks(data.X, lambda _: model.kernel_, [None], folds, span, limit, None, 1)
    made = shared.made_at(0, clock.is_over)
    samples = data.X if shared.rows is None else made.points.values
    return (lambda k: shared.spanned(made, k, clock.is_over)), samples


def _expansion(K: Any, fit: Fit) -> np.ndarray:
    """Coefficients of the kernel functions that a model is the sum of."""
    if K.landmarks is None:
        return fit.coef
    assert fit.weights is not None
    beta: np.ndarray = K.expansion(fit.weights.T)
    if K.landmarks[0] < 0:  # given as rows
        return beta
    coef = np.zeros(fit.coef.shape)
    coef[K.landmarks] = beta
    return coef
