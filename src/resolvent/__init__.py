"""Regularized kernel methods with any convex loss, solved to a certified optimum."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resolvent._solve import solve
    from resolvent.estimators.classifier import KernelClassifier
    from resolvent.estimators.linear import LinearClassifier, LinearRegressor
    from resolvent.estimators.quantile import KernelQuantileRegressor
    from resolvent.estimators.regressor import KernelRegressor
    from resolvent.estimators.ridge import KernelRidge
    from resolvent.grams import gram
    from resolvent.grams.repair import repair
    from resolvent.losses import check_loss
    from resolvent.problem import Problem, Solution, Status
    from resolvent.reformulation import reformulate

__version__ = "0.1.0"

__all__ = [
    "KernelClassifier",
    "KernelQuantileRegressor",
    "KernelRegressor",
    "KernelRidge",
    "LinearClassifier",
    "LinearRegressor",
    "Problem",
    "Solution",
    "Status",
    "check_loss",
    "gram",
    "reformulate",
    "repair",
    "solve",
]

_HOMES = {
    "KernelClassifier": "estimators.classifier",
    "KernelQuantileRegressor": "estimators.quantile",
    "KernelRegressor": "estimators.regressor",
    "KernelRidge": "estimators.ridge",
    "LinearClassifier": "estimators.linear",
    "LinearRegressor": "estimators.linear",
    "Problem": "problem",
    "Solution": "problem",
    "Status": "problem",
    "check_loss": "losses",
    "gram": "grams",
    "reformulate": "reformulation",
    "repair": "grams.repair",
    "solve": "_solve",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: Numba alone takes as long as scikit-learn."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
