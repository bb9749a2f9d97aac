"""Calibration of the chosen model by the models of the folds; see :mod:`resolvent.conformal`."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.conformal import Calibration
from resolvent.estimators.base import Data, checked_C
from resolvent.estimators.expansion import Expansion, take_rows
from resolvent.fitting import solve_columns
from resolvent.kernels import Linear
from resolvent.model_selection.folds import Fold
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
    K = model._gram(data, kernel, getattr(model, "memory_limit", "auto"))
    share = None if time_left is None else max(time_left, 0.0) / len(folds)
    settings = model._settings() | {"time_limit": share}

    def report(record: Record) -> bool:
        model._log(record)
        return False

    fits: list[Any] = []
    for fold in folds:
        weight = fold.weights(data)
        losses, targets, weights = model._columns(data, weight)
        settings["start"] = np.where(weight[:, None] > 0.0, model._coef, 0.0)
        fits.append(
            solve_columns(
                K, losses, targets, weights, C=checked_C(model.C), report=report, **settings
            )
        )
        if any(s.status == Status.INTERRUPTED for s in fits[-1].solutions):
            model.status_ = Status.INTERRUPTED
            return
    coef = np.hstack([fit.coef for fit in fits])
    offsets = np.concatenate([fit.intercept for fit in fits])
    inside = np.flatnonzero(coef.any(axis=1))
    weights = np.vstack([fit.weights for fit in fits]) if linear else None
    rows = inside if kernel is None else take_rows(data.X, inside)
    models = Expansion(kernel, rows, coef[inside], offsets, weights)
    m = len(fits[0].intercept)
    missed = [
        model._miss(models(take_rows(data.X, fold.test))[:, k * m : (k + 1) * m], truth[fold.test])
        for k, fold in enumerate(folds)
    ]
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
