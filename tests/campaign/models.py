"""Fitted models as points of the problems that they solve, read from their public attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from resolvent import kernels

from .build import TAUS, Data, make_kernel, targets_of_solve
from .draw import (
    CLASSES,
    FUNCTIONS,
    LINKED,
    QUANTILES,
    SAMPLES,
    Case,
    has_labels,
    is_linear,
    is_search,
)
from .evaluate import LONG, Entries, Point, Task, kernel_matrix, long, of_coefficients, of_weights


@dataclass
class Fitted:
    """A fit: what it is a solution of, what it is, and what it says of itself."""

    model: Any  # the estimator or the solution; of a search, the best estimator
    task: Task
    point: Point
    entries: Entries | None  # the kernel matrix; None for linear models
    C: float
    claimed: np.ndarray  # objectives
    gap: np.ndarray
    status: str


def pairs(k: int) -> list[tuple[int, int]]:
    """Pairs of classes in LIBSVM's order."""
    return [(i, j) for i in range(k) for j in range(i + 1, k)]


def used_weight(data: Data) -> np.ndarray:
    """Weights of the samples."""
    return np.ones(len(data.y)) if data.weight is None else data.weight


def make_task(case: Case, data: Data, C: float) -> Task:
    """Make the problem that a case poses with a given C."""
    n, loss = len(data.y), case["loss"]
    weight = long(used_weight(data))
    if case["estimator"] in FUNCTIONS:
        targets = targets_of_solve(case, data).reshape(n, -1)
        couples = "samples" if loss in SAMPLES else "columns" if loss in CLASSES else ""
        return _columns(case, targets, LONG(C) * weight, couples)
    if not has_labels(case):
        taus = TAUS if case["estimator"] in QUANTILES else (0.5,)
        targets = np.asarray(data.y, float).reshape(n, -1)
        if len(taus) > 1:
            targets = np.repeat(targets, len(taus), axis=1)
        couples = "samples" if loss in SAMPLES else ""
        return _columns(case, targets, LONG(C) * weight, couples, taus)
    classes = np.unique(data.y[weight > 0])
    k = len(classes)
    codes = np.searchsorted(classes, data.y).clip(0, k - 1)
    own = weight * _class_factors(case, codes, weight, k)[codes]
    if loss in CLASSES:
        return _columns(case, np.eye(k)[codes], LONG(C) * own, "columns")
    if k == 2:
        return _columns(case, np.where(codes == 1, 1.0, -1.0)[:, None], LONG(C) * own)
    by_pairs = case["estimator"] == "SVC" or case["multi_class"] == "ovo"
    if by_pairs:
        signs = np.array([np.where(codes == i, 1.0, -1.0) for i, _ in pairs(k)]).T
        inside = np.array([(codes == i) | (codes == j) for i, j in pairs(k)]).T
    else:
        signs = np.where(codes[:, None] == np.arange(k), 1.0, -1.0)
        inside = np.ones(signs.shape, bool)
    weights = own[:, None] * inside
    if case["estimator"] == "LinearSVC":  # the rest of a problem has factor 1
        weights = np.where(signs > 0, own[:, None], weight[:, None])
    return _columns(case, signs, LONG(C) * weights)


def _columns(
    case: Case, targets: Any, weights: Any, couples: str = "", taus: tuple[float, ...] = (0.5,)
) -> Task:
    m = targets.shape[1]
    taus = taus if len(taus) == m else taus * m
    full = np.broadcast_to(weights if weights.ndim == 2 else weights[:, None], targets.shape)
    losses = [(case["loss"], tau) for tau in taus]
    return Task(losses, targets, full, couples, linked=case["loss"] in LINKED)


def _class_factors(case: Case, codes: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    if case["class_weight"] is None:
        return long(np.ones(k))
    counts = np.array([weight[codes == i].sum() for i in range(k)])
    return weight.sum() / (k * counts)


def kernel_of(case: Case, data: Data, model: Any) -> Any:
    """Return the kernel of a model, with its parameters; None if it is precomputed."""
    if case["kernel"] == "precomputed":
        return None
    if hasattr(model, "kernel_"):
        return model.kernel_
    weight = used_weight(data)
    inside = weight > 0
    found = make_kernel(case, data.X)
    X = data.X[inside]
    if case["container"] == "float32":
        X = X.astype(np.float32)
    settings = {name: case[name] for name in ("gamma", "degree", "coef0")}
    if case["estimator"] == "solve":
        return kernels.make_kernel(found, X=data.X, **settings)
    return kernels.make_kernel(found, X=X, sample_weight=weight[inside], **settings)


def describe(case: Case, data: Data, model: Any) -> Fitted:
    """Read a fitted model."""
    bare = case["estimator"] in FUNCTIONS
    C, status = case["C"], model.status if bare else model.status_
    if is_search(case):
        model = model.best_estimator_
        C = model.C
    task = make_task(case, data, C)
    if case["normalize"]:
        task.units = model.target_unit_
    if bare:
        claimed, gap = model.primal, model.gap
    else:
        claimed, gap = model.objective_, model.dual_gap_
    entries = None
    if is_linear(case):
        scaling = float(case["estimator"] in ("LinearSVC", "LinearSVR") and case["intercept"])
        w = np.atleast_2d(model.weights.T if bare else model.coef_)
        b = np.broadcast_to(model.intercept if bare else model.intercept_, len(w))
        point = of_weights(data.X, w, b, scaling, data.unit)
    else:
        entries = kernel_matrix(kernel_of(case, data, model), data.X, data.unit)
        c, b = coefficients(case, data, model, task)
        w = model.weights if case["estimator"] == "solve" else model._expansion.weights
        if w is None:
            point = of_coefficients(entries, c, b)
        else:  # what predictions are made with, for the linear kernel
            rows = w.reshape(len(w), -1).T if case["estimator"] == "solve" else w
            point = of_weights(data.X, rows, b, 0.0, data.unit)
    if data.offset is not None:
        point.scores += long(data.offset)[:, None]
    claims = np.atleast_1d(claimed), np.atleast_1d(gap)
    return Fitted(model, task, point, entries, C, *claims, str(status))


def coefficients(case: Case, data: Data, model: Any, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n, m) and offsets (m,) of an expansion."""
    n, m = task.targets.shape
    if case["estimator"] == "solve":
        return model.coef.reshape(n, -1), np.broadcast_to(model.intercept, m)
    intercept = np.broadcast_to(model.intercept_, m)
    if case["estimator"] == "KernelRidge":
        return model.dual_coef_.reshape(n, -1), intercept
    c = np.zeros((n, m))
    coef = model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else model.dual_coef_
    if case["estimator"] == "SVC" and m > 1:
        k = len(model.classes_)
        codes = np.searchsorted(model.classes_, data.y[model.support_])
        for p, (i, j) in enumerate(pairs(k)):
            first, second = codes == i, codes == j
            c[model.support_[first], p] = coef[j - 1, first]
            c[model.support_[second], p] = coef[i, second]
        return c, intercept
    c[model.support_] = coef.T
    return c, intercept
