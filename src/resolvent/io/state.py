"""What a fitted estimator consists of: numbers and words for the header, arrays for the rest.

What is kept is what prediction and the certificate need. The starting point of a warm start is not:
a fit of a loaded model starts from zero.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from resolvent.estimators._base import Machine
from resolvent.estimators._classes import STRATEGIES, pairs
from resolvent.estimators._expansion import Expansion
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.linear import LinearMachine
from resolvent.io.arrays import FLOATS, INTEGERS, Reader, rows_as_arrays
from resolvent.io.errors import ModelFileError
from resolvent.io.values import decode, encode
from resolvent.kernels import Kernel
from resolvent.losses import BY_NAME, as_loss
from resolvent.problem import Record, Status

__all__ = ["ESTIMATORS", "estimator_class", "extract", "restore", "restore_support"]

# The closed table: a file names one of these, and nothing else is ever imported for it.
ESTIMATORS = {
    "KernelClassifier": "classifier",
    "KernelRegressor": "regressor",
    "KernelQuantileRegressor": "quantile",
    "KernelRidge": "ridge",
    "LinearClassifier": "linear",
    "LinearRegressor": "linear",
    "LinearSVC": "linear_svm",
    "LinearSVR": "linear_svm",
    "SVC": "svm",
    "SVR": "svm",
}


def estimator_class(name: str) -> Any:
    """Find an estimator of the table."""
    return getattr(import_module(f"resolvent.estimators.{ESTIMATORS[name]}"), name)


# ---- from an estimator ------------------------------------------------------------------------


def extract(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a fitted estimator."""
    parameters = model.get_params(deep=False)
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": {name: encode(value, name) for name, value in parameters.items()},
        "n_features": int(model.n_features_in_),
        "n_samples": int(model._n_given),
    }
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = [str(name) for name in model.feature_names_in_]
    if isinstance(model, MachineClassifier):
        header["classes"], found = _labels_out(model.classes_)
        arrays |= found
    else:
        header["vector"] = bool(model._vector)
    if hasattr(model, "_loss"):
        header["loss"] = encode(model._loss, "loss")
    if isinstance(model, LinearMachine):
        arrays["coef"] = np.atleast_2d(model.coef_)
        arrays["intercept"] = np.atleast_1d(np.asarray(model.intercept_, dtype=float))
    else:
        header["kernel"] = encode(model._expansion.kernel, "kernel")
        arrays |= _expansion_out(model)
    if hasattr(model, "dual_gap_"):  # a model from LIBSVM has no certificate
        header["status"], header["fit_time"] = model.status_.name, float(model.fit_time_)
        arrays |= _certificate_out(model)
    return header, {name: np.ascontiguousarray(x) for name, x in arrays.items()}


def _labels_out(classes: np.ndarray) -> tuple[Any, dict[str, np.ndarray]]:
    if classes.dtype.kind in "iufb":
        return None, {"classes": classes}
    if classes.dtype.kind not in "UO":
        raise ModelFileError(
            f"The labels are of type {classes.dtype}, which a model file cannot hold; use strings "
            "or numbers."
        )
    kind = "text" if classes.dtype.kind == "U" else "objects"
    return {kind: [encode(label, "label") for label in classes.tolist()]}, {}


def _expansion_out(model: Any) -> dict[str, np.ndarray]:
    expansion = model._expansion
    arrays = {"coef": expansion.coef, "intercept": expansion.intercept}
    if hasattr(model, "support_"):
        arrays["support"] = model.support_.astype(np.int64)
    if expansion.kernel is not None:
        arrays |= rows_as_arrays("rows", expansion.rows)
    for name in ("n_support_", "class_weight_"):
        if hasattr(model, name):
            arrays[name.rstrip("_")] = getattr(model, name)
    return arrays


def _certificate_out(model: Any) -> dict[str, np.ndarray]:
    records = model.history_
    values = [np.atleast_2d(np.array(record[2:], dtype=float).T).T for record in records]
    return {
        "certificate": np.array(
            [np.atleast_1d(x) for x in (model.dual_gap_, model.objective_)], dtype=float
        ),
        "n_iter": np.atleast_1d(np.asarray(model.n_iter_, dtype=np.int64)),
        "history.times": np.array([record[:2] for record in records], dtype=float).reshape(-1, 2),
        "history.values": np.array(values).reshape(len(records), 5, -1 if records else 0),
    }


# ---- to an estimator --------------------------------------------------------------------------


def restore(header: dict[str, Any], reader: Reader) -> Any:
    """Build the estimator that a header and arrays are of."""
    model = _unfitted(header)
    model.n_features_in_ = reader.size("features", header.get("n_features"), least=1)
    model._n_given = reader.size("samples", header.get("n_samples"))
    names = header.get("feature_names")
    if names is not None:
        _check_names(names, model.n_features_in_)
        model.feature_names_in_ = np.array(names, dtype=object)
    if isinstance(model, MachineClassifier):
        model.classes_ = _labels_in(header.get("classes"), reader)
    else:
        model._vector = header.get("vector") is True
    if "loss" in header:
        model._loss = decode(header["loss"], "loss")
        if not hasattr(model._loss, "_fields"):
            raise ModelFileError("The file is damaged: its loss is none.")
    m = reader.size("problems", _n_problems(model, reader), least=1)
    if isinstance(model, LinearMachine):
        _restore_weights(model, reader)
    else:
        _restore_expansion(model, header, reader)
    if "status" in header:
        _restore_certificate(model, header, reader, m)
    return model


def _unfitted(header: dict[str, Any]) -> Any:
    name = header.get("estimator")
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(
            f"The file holds a model of the kind {str(name)[:60]!r}, which this version does not "
            f"know; it knows {', '.join(ESTIMATORS)}."
        )
    cls = estimator_class(name)
    parameters = header.get("parameters")
    if not isinstance(parameters, dict):
        raise ModelFileError("The file is damaged: its header has no parameters.")
    unknown = sorted(parameters.keys() - cls().get_params(deep=False).keys())
    if unknown:
        raise ModelFileError(f"The file has parameters that {name} does not: {unknown}.")
    model = cls(**{key: decode(value, key) for key, value in parameters.items()})
    loss = getattr(model, "loss", "squared")
    if isinstance(loss, str):
        _ = decode({"loss": loss, "parameters": list(_defaults(loss))}, "loss")
    elif not hasattr(loss, "_fields"):
        raise ModelFileError("The file is damaged: its parameter loss is no loss.")
    return model


def _defaults(loss: str) -> Any:
    return BY_NAME[loss]() if loss in BY_NAME else ()


def _check_names(names: Any, n: int) -> None:
    if not (isinstance(names, list) and len(names) == n and all(type(x) is str for x in names)):
        raise ModelFileError(f"The file is damaged: it does not have {n} names of features.")


def _labels_in(stored: Any, reader: Reader) -> np.ndarray:
    match stored:
        case None:
            classes = reader.read("classes", ("classes",), (*INTEGERS, *FLOATS, "BOOL", "U8", "I8"))
        case {"text": list(labels)} if all(type(x) is str for x in labels):
            classes = np.array(labels, dtype=str)
        case {"objects": list(labels)} if not any(isinstance(x, dict | list) for x in labels):
            classes = np.array(labels, dtype=object)
        case _:
            raise ModelFileError("The file is damaged: its labels are not a list of labels.")
    labels = classes.tolist()
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ModelFileError("The file is damaged: its labels are not two or more different ones.")
    reader.sizes["classes"] = len(labels)
    return classes


def _n_problems(model: Any, reader: Reader) -> int:
    """How many problems of one target the estimator solved."""
    if not isinstance(model, MachineClassifier):
        if hasattr(model, "quantile"):
            try:
                return len(model._losses())
            except (TypeError, ValueError) as error:
                raise ModelFileError(f"The file is damaged. {error}") from None
        if model._vector:
            return 1
        found = reader.read("intercept", ("problems",))
        return len(found)
    k = len(model.classes_)
    if _couples_classes(model):
        return k
    strategy = "ovo" if type(model).__name__ == "SVC" else getattr(model, "multi_class", "ovr")
    if strategy not in STRATEGIES:
        raise ModelFileError(f"The file is damaged: multi_class is {str(strategy)[:40]!r}.")
    return 1 if k == 2 else len(pairs(k)) if strategy == "ovo" else k


def _couples_classes(model: Any) -> bool:
    """Whether the scores of all classes come from one problem, as in multinomial regression."""
    return getattr(as_loss(getattr(model, "loss", "hinge")), "couples", "") == "columns"


def _restore_weights(model: Any, reader: Reader) -> None:
    model.coef_ = reader.read("coef", ("problems", "features"))
    model.intercept_ = reader.read("intercept", ("problems",))
    if not isinstance(model, MachineClassifier) and model._vector:
        model.coef_ = model.coef_[0]
        if type(model).__name__ == "LinearRegressor":
            model.intercept_ = model.intercept_[0].item()


def _restore_expansion(model: Any, header: dict[str, Any], reader: Reader) -> None:
    kernel = decode(header.get("kernel"), "kernel")
    if not isinstance(kernel, Kernel) and (kernel is not None or not model._is_precomputed()):
        raise ModelFileError("The file is damaged: its kernel is none.")
    coef = reader.read("coef", ("support", "problems"))
    intercept = reader.read("intercept", ("problems",))
    if "support" in reader or kernel is None:
        model.support_ = reader.indices("support", ("support",), model._n_given)
    rows = None if kernel is None else reader.rows("rows", "support", model.n_features_in_)
    model._expansion = Expansion(kernel, model.support_ if rows is None else rows, coef, intercept)
    match type(model).__name__:
        case "SVC":
            model.class_weight_ = reader.read("class_weight", ("classes",))
            counts = reader.read("n_support", ("classes",), INTEGERS)
            if (counts < 0).any() or counts.sum() != len(coef):
                raise ModelFileError("The file is damaged: n_support does not add up.")
            restore_support(model, kernel)
            model._arrange(np.repeat(np.arange(len(counts)), counts))
        case "SVR":
            restore_support(model, kernel)
            model.n_support_ = np.array([len(coef)], dtype=np.int32)
            model.dual_coef_, model.intercept_ = coef.T, intercept
        case "KernelRidge":
            everything = np.zeros((model._n_given, len(intercept)))
            everything[model.support_] = coef
            model.dual_coef_ = everything[:, 0] if model._vector else everything
            model.intercept_ = intercept[0].item() if model._vector else intercept
        case _:
            model.kernel_ = kernel
            model.dual_coef_, model.intercept_ = coef.T, intercept


def restore_support(model: Any, kernel: Kernel | None) -> None:
    """Set what SVC and SVR know of their kernel."""
    model._kernel = kernel
    model._gamma = getattr(kernel, "gamma", 0.0)
    model.shape_fit_ = (model._n_given, model.n_features_in_)


def _restore_certificate(model: Machine, header: dict[str, Any], reader: Reader, m: int) -> None:
    status, seconds = header.get("status"), header.get("fit_time")
    if not isinstance(status, str) or status not in Status.__members__:
        raise ModelFileError(f"The file is damaged: its status is {str(status)[:40]!r}.")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ModelFileError(f"The file is damaged: its fit_time is {str(seconds)[:40]!r}.")
    if _couples_classes(model):
        m = 1  # one problem for all columns
    gap, objective = reader.read("certificate", (2, m), finite=False)
    n_iter = reader.read("n_iter", (m,), INTEGERS)
    for name, values in (("dual_gap_", gap), ("objective_", objective), ("n_iter_", n_iter)):
        setattr(model, name, values[0].item() if m == 1 else values)
    model.status_, model.fit_time_ = Status[status], float(seconds)
    if hasattr(model, "n_support_"):
        model.fit_status_ = int(model.status_ > Status.PRECISION_LIMIT)
    times = reader.read("history.times", ("records", 2), finite=False)
    values = reader.read("history.values", ("records", 5, "history"), finite=False)
    with np.errstate(invalid="ignore"):
        model.history_ = [
            Record(int(np.nan_to_num(t)), float(s), *(*row[:4], row[4].astype(np.intp)))
            for (t, s), row in zip(times, values, strict=True)
        ]
