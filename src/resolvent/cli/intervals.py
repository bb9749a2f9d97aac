"""Intervals and sets of labels of calibrated models, on the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

from resolvent.cli import parsing

__all__ = ["check_interval", "interval_columns", "is_calibrated"]


def is_calibrated(estimator: Any) -> bool:
    """Whether a model has intervals, or sets of labels."""
    return getattr(estimator, "_calibration", None) is not None


def check_interval(estimator: Any, coverage: float | None) -> None:
    """Refuse a coverage that is none, or that the model has nothing for."""
    parsing.check_coverage(coverage, "--interval")
    if coverage is not None and not is_calibrated(estimator):
        raise typer.BadParameter(
            "this model has no intervals; choose it with resolvent tune --conformal 0.9.",
            param_hint="--interval",
        )


def interval_columns(estimator: Any, X: Any, coverage: float) -> dict[str, np.ndarray]:
    """Find the ends of intervals or, for classes, the labels of sets with bars between them."""
    if not hasattr(estimator, "classes_"):
        ends = estimator.predict_interval(X, coverage)
        return {f"lower {coverage:g}": ends[:, 0], f"upper {coverage:g}": ends[:, 1]}
    sets = estimator.predict_set(X, coverage)
    labels = ["|".join(str(label) for label in estimator.classes_[row]) for row in sets]
    return {f"labels {coverage:g}": np.array(labels)}
