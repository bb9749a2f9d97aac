"""Regularized kernel methods with any convex loss, solved to a certified optimum."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resolvent._compile import compile_all
    from resolvent._solve import solve
    from resolvent.approximation import certify_original
    from resolvent.estimators.classifier import KernelClassifier
    from resolvent.estimators.linear import LinearClassifier, LinearRegressor
    from resolvent.estimators.quantile import KernelQuantileRegressor
    from resolvent.estimators.regressor import KernelRegressor
    from resolvent.estimators.ridge import KernelRidge
    from resolvent.grams import gram
    from resolvent.grams.repair import repair
    from resolvent.io import load, save
    from resolvent.losses import check_loss
    from resolvent.model_selection.classifier import KernelClassifierCV
    from resolvent.model_selection.linear import LinearClassifierCV, LinearRegressorCV
    from resolvent.model_selection.path import Path, path
    from resolvent.model_selection.quantile import KernelQuantileRegressorCV
    from resolvent.model_selection.regressor import KernelRegressorCV
    from resolvent.patch import patch_sklearn, unpatch_sklearn
    from resolvent.problem import Problem, Solution, Status
    from resolvent.reformulation import reformulate

__version__ = "0.2.0"

__all__ = [
    "KernelClassifier",
    "KernelClassifierCV",
    "KernelQuantileRegressor",
    "KernelQuantileRegressorCV",
    "KernelRegressor",
    "KernelRegressorCV",
    "KernelRidge",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "Path",
    "Problem",
    "Solution",
    "Status",
    "certify_original",
    "check_loss",
    "compile_all",
    "gram",
    "load",
    "patch_sklearn",
    "path",
    "reformulate",
    "repair",
    "save",
    "solve",
    "unpatch_sklearn",
]

_HOMES = {
    "KernelClassifier": "estimators.classifier",
    "KernelClassifierCV": "model_selection.classifier",
    "KernelQuantileRegressor": "estimators.quantile",
    "KernelQuantileRegressorCV": "model_selection.quantile",
    "KernelRegressor": "estimators.regressor",
    "KernelRegressorCV": "model_selection.regressor",
    "KernelRidge": "estimators.ridge",
    "LinearClassifier": "estimators.linear",
    "LinearClassifierCV": "model_selection.linear",
    "LinearRegressor": "estimators.linear",
    "LinearRegressorCV": "model_selection.linear",
    "Path": "model_selection.path",
    "Problem": "problem",
    "Solution": "problem",
    "Status": "problem",
    "certify_original": "approximation",
    "check_loss": "losses",
    "compile_all": "_compile",
    "gram": "grams",
    "load": "io",
    "patch_sklearn": "patch",
    "path": "model_selection.path",
    "reformulate": "reformulation",
    "repair": "grams.repair",
    "save": "io",
    "solve": "_solve",
    "unpatch_sklearn": "patch",
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
