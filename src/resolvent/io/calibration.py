"""The calibration of a model, for its intervals or sets, in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.conformal import Calibration
from resolvent.estimators.expansion import Expansion
from resolvent.estimators.linear import LinearMachine
from resolvent.io.arrays import INTEGERS, Array, Reader, rows_as_arrays
from resolvent.io.errors import ModelFileError
from resolvent.kernels import Linear

__all__ = ["calibration_out", "restore_calibration"]


def calibration_out(calibration: Calibration) -> dict[str, np.ndarray]:
    """Arrays of a calibration."""
    found = {
        "scores": calibration.scores,
        "weight": calibration.weight,
        "fold": calibration.fold.astype(np.int64),
    }
    models = calibration.models
    if models is not None:
        found |= {"coef": models.coef, "intercept": models.intercept}
        if models.weights is not None:
            found["weights"] = models.weights
        if models.kernel is None:
            found["support"] = models.rows.astype(np.int64)
        else:
            found |= rows_as_arrays("rows", models.rows)
    return {f"calibration.{name}": values for name, values in found.items()}


def restore_calibration(model: Any, reader: Reader, m: int) -> Calibration:
    """Read the calibration of a model of m problems."""

    def read(name: str, *shape: Any, **limits: Any) -> np.ndarray:
        return reader.read(f"calibration.{name}", Array(shape, **limits))

    scores, weight = read("scores", "calibrated"), read("weight", "calibrated", least=0)
    if "calibration.intercept" not in reader:
        fold = read("fold", "calibrated", types=INTEGERS, least=0, below=1)
        return Calibration(scores, weight, fold)
    intercept = read("intercept", "fold problems")
    if len(intercept) == 0 or len(intercept) % m:
        raise ModelFileError(f"The file is damaged: its folds are not of {m} problems each.")
    fold = read("fold", "calibrated", types=INTEGERS, least=0, below=len(intercept) // m)
    kernel = Linear() if isinstance(model, LinearMachine) else model.kernel_
    coef, d = read("coef", "fold support", "fold problems"), model.n_features_in_
    rows: Any
    if kernel is None:
        rows = read("support", "fold support", types=INTEGERS, least=0, below="samples")
    else:
        rows = reader.rows("calibration.rows", "fold support", d)
    weights = None
    if "calibration.weights" in reader:
        weights = read("weights", "fold problems", d + bool(getattr(kernel, "bias", 0.0)))
    return Calibration(scores, weight, fold, Expansion(kernel, rows, coef, intercept, weights))
