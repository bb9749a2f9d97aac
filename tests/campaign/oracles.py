"""Other models of the same problem, by other means: each bounds the minimum from above."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn import kernel_ridge
from sklearn import svm as sklearn_svm

from resolvent.losses import LOSSES, as_loss
from tests.reference import TERMS

from .build import Data, fit
from .draw import LINKED, Case, is_search
from .evaluate import Point, of_coefficients, of_weights
from .models import Fitted, describe

MODEST = 60  # samples up to which an interior-point method is quick


def points(case: Case, data: Data, fitted: Fitted) -> dict[str, Point]:
    """Models of the same problem."""
    found: dict[str, Point] = {}
    for name, oracle in (("tight", tight), ("cvxpy", interior_point), ("scikit-learn", sklearn)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = oracle(case, data, fitted)
        if point is not None:
            found[name] = point
    return found


def tight(case: Case, data: Data, fitted: Fitted) -> Point | None:
    """Solve again, near the limit of rounding and, where there is a choice, by another solver."""
    if is_search(case) or case["estimator"] == "solve_blocks" or case["tol"] == 0.0:
        return None
    solver = case["solver"]
    if solver == "auto" and case["loss"] in LOSSES and len(data.y) <= MODEST:
        solver = "fixed_point" if case["data"] % 2 else "newton"
    case = case | {"rank": None}  # the optimum over all functions
    model = fit(case, data, tol=1e-9, solver=solver, memory="auto")
    return describe(case, data, model).point


def interior_point(case: Case, data: Data, fitted: Fitted) -> Point | None:
    """CVXPY's model, where the problem is small and of one column of a loss that it knows."""
    task = fitted.task
    n, m = task.targets.shape
    if case["normalize"] or data.offset is not None or case["loss"] in LINKED[1:]:
        return None
    if n > MODEST or m > 1 or case["loss"] not in LOSSES or not 1e-4 <= fitted.C <= 1e4:
        return None
    used = np.asarray(task.weights[:, 0] > 0)
    C = task.weights[used, 0].astype(float)
    if not 1e-6 <= C.min() <= C.max() <= 1e6 or not 1e-3 <= case["y_unit"] <= 1e3:
        return None
    if fitted.entries is None:
        return _linear(case, data, task, used, C)
    K = fitted.entries.K[np.ix_(used, used)].astype(float)
    values, vectors = np.linalg.eigh(K)
    if not values[-1] > 0 or values[0] < -1e-9 * values[-1]:
        return None
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    a, b = _minimise(case, task, used, C, root, case["intercept"])
    if a is None:
        return None
    # c with root'c nearly a, without the directions in which K is nothing.
    c = np.zeros((n, 1))
    positive = values.clip(0.0)
    c[used, 0] = vectors @ (a * np.sqrt(positive) / (positive + 1e-14 * values[-1]))
    return of_coefficients(fitted.entries, c, np.array([b]))


def _linear(case: Case, data: Data, task: Any, used: np.ndarray, C: np.ndarray) -> Point | None:
    scaling = float(case["estimator"] in ("LinearSVC", "LinearSVR") and case["intercept"])
    X = data.X[used]
    size = np.abs(X).max() or 1.0
    # In units of its own: w = a / size, |w|^2 = |a|^2 / size^2.
    if not 1e-6 <= C.max() * size**2 <= 1e6:
        return None
    free = case["intercept"] and not scaling
    root = np.column_stack([X / size, np.full(len(X), scaling / size)]) if scaling else X / size
    a, b = _minimise(case, task, used, C * size**2, root, free)
    if a is None:
        return None
    w = a / size
    if scaling:
        w, b = w[:-1], w[-1] * scaling
    return of_weights(data.X, w[None], np.array([b]), scaling, data.unit)


def _minimise(
    case: Case,
    task: Any,
    used: np.ndarray,
    C: np.ndarray,
    root: np.ndarray,
    free: bool,
) -> tuple[Any, float]:
    """Minimise C L(y, root a + b) + |a|^2 / 2; the coefficients, or None, and the offset."""
    a, b = cp.Variable(root.shape[1]), cp.Variable()
    scores = root @ a + (b if free else 0.0)
    name, tau = task.losses[0]
    loss = as_loss(name)
    if name in ("pinball", "expectile"):
        loss = type(loss)(tau)
    terms = TERMS[name](loss, task.targets[used, 0], scores)
    problem = cp.Problem(cp.Minimize(C @ terms + cp.sum_squares(a) / 2))
    exact = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    try:
        problem.solve(solver=cp.CLARABEL, **exact)
    except cp.SolverError:
        return None, 0.0
    if a.value is None:
        return None, 0.0
    return np.asarray(a.value), float(b.value) if free and b.value is not None else 0.0


def sklearn(case: Case, data: Data, fitted: Fitted) -> Point | None:
    """scikit-learn's machine of the same name, for kernels that it has and one problem."""
    name, n = case["estimator"], len(data.y)
    if fitted.task.targets.shape[1] > 1 or case["kernel"] not in ("rbf", "poly", "linear"):
        return None
    if name not in ("SVC", "SVR", "KernelRidge") or not 1e-4 <= case["C"] <= 1e4:
        return None
    if case["weights"] not in ("none", "ones", "random") or case["kernel"] == "precomputed":
        return None
    K = fitted.entries.K.astype(float) if fitted.entries is not None else None
    if K is None or not np.isfinite(K).all():
        return None
    targets, weight = fitted.task.targets[:, 0], fitted.task.weights[:, 0].astype(float)
    if name == "KernelRidge":
        if case["intercept"]:
            return None
        model = kernel_ridge.KernelRidge(alpha=1.0, kernel="precomputed")
        model.fit(K, targets, sample_weight=weight)
        return of_coefficients(fitted.entries, model.dual_coef_[:, None], np.zeros(1))
    kind = sklearn_svm.SVC if name == "SVC" else sklearn_svm.SVR
    machine = kind(kernel="precomputed", C=1.0, tol=1e-6, max_iter=100_000)
    machine.fit(K, targets, sample_weight=weight)
    c = np.zeros((n, 1))
    c[machine.support_, 0] = machine.dual_coef_[0]
    return of_coefficients(fitted.entries, c, machine.intercept_)
