"""What must hold of the machines with nu, whose margin or tube is part of the solution.

Any f, offset and margin is an upper bound on the minimum, as for the other problems; scikit-learn's
machine is such a model, and so is the same machine at a tighter tolerance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import svm

from .build import Data, make_estimator
from .draw import Case
from .evaluate import EPS, LONG, Entries, kernel_matrix, long
from .models import kernel_of, used_weight


def objective(case: Case, data: Data, model: Any, entries: Entries) -> tuple[Any, Any]:
    """Objective of a model, resolvent's or scikit-learn's, and what rounding can make of it."""
    n, name, nu = len(data.y), case["estimator"], LONG(case["nu"])
    C = LONG(case["C"] if name == "NuSVR" else 1.0)
    w = C * long(used_weight(data))
    c = np.zeros(n, LONG)
    coef = model.dual_coef_
    c[model.support_] = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)[0]
    z, b = entries.K @ c, LONG(model.intercept_[0])
    square = c @ z
    y = long(np.where(data.y == 1, 1, -1)) if name == "NuSVC" else long(data.y)
    moved = (entries.error + (n + 64) * EPS * np.abs(entries.K)) @ np.abs(c) + 64 * EPS * abs(b)
    wrong = (w * moved).sum() + np.abs(c) @ moved
    if name == "NuSVC":  # scores are in units of the margin: the best multiple of them
        left = nu * w.sum() - (w * np.maximum(1 - y * (z + b), 0)).sum()
        if left <= 0 or square <= 0:
            return LONG(0), (n + 64) * EPS * w.sum()
        size = left / square
        rounding = size * wrong + size * size * (np.abs(c) @ moved)
        return -left * size / 2, rounding + n * EPS * size * w.sum()
    if name == "OneClassSVM":
        rho = LONG(model.offset_[0])
        losses, linear = (w * np.maximum(rho - z, 0)).sum(), -nu * rho * w.sum()
    else:
        tube = LONG(model.epsilon_)
        losses = (w * np.maximum(np.abs(y - z - b) - tube, 0)).sum()
        linear = nu * tube * w.sum()
        wrong += EPS * (np.abs(c) @ np.abs(y)) + EPS * (w * np.abs(y)).sum()
    size = losses + square + abs(linear)
    return losses + square / 2 + linear, wrong + (n + 64) * EPS * size


def of_machine(case: Case, data: Data, model: Any) -> Iterator[tuple[str, str]]:
    """The claim is that of the model; no other model is better than it by more than the gap."""
    if np.size(model.intercept_) > 1:
        return
    entries = kernel_matrix(kernel_of(case, data, model), data.X, data.unit)
    own, slack = objective(case, data, model, entries)
    claimed, gap = float(np.ravel(model.objective_)[0]), float(np.ravel(model.dual_gap_)[0])
    low = claimed - gap - slack if case["estimator"] == "NuSVC" else claimed - slack
    if not low <= own <= claimed + slack:
        yield "objective", f"claimed {claimed}, own {own}, gap {gap}, rounding {slack}"
    if not entries.is_psd():
        return
    for name, other in others(case, data, entries):
        value, more = objective(case, data, other, entries)
        if not own - value <= gap + slack + more:
            yield "certificate", f"{name} has {value}, the model {own} with gap {gap}"


def others(case: Case, data: Data, entries: Entries) -> Iterator[tuple[str, Any]]:
    """Other models of the same problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tight = make_estimator(case | {"tol": 1e-9}, data)
        yield "tight", tight.fit(data.given, data.y, data.weight)
        if case["weights"] not in ("none", "ones") or not np.isfinite(entries.K).all():
            return
        if case["estimator"] == "NuSVR" or not 1e-4 <= case["C"] <= 1e4:
            return  # its tube is not public
        kind = getattr(svm, case["estimator"])
        machine = kind(nu=case["nu"], kernel="precomputed", tol=1e-6, max_iter=100_000)
        try:
            yield "scikit-learn", machine.fit(entries.K.astype(float), data.y)
        except ValueError:  # it has other limits of nu
            return
