"""What a fitted estimator consists of: numbers and words for the header, arrays for the rest.

What is kept is what prediction and the certificate need. The starting point of a warm start is not:
a fit of a loaded model starts from zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from resolvent._frames import ColumnEncoding
from resolvent.approximation.certificate import CERTIFICATES
from resolvent.estimators.base import KernelMachine, Machine
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.expansion import Expansion
from resolvent.estimators.intervals import Calibrated
from resolvent.estimators.linear import LinearMachine
from resolvent.estimators.regressor import MachineRegressor
from resolvent.io.arrays import MOST_FEATURES, Array, Reader, rows_as_arrays
from resolvent.io.calibration import calibration_out, restore_calibration
from resolvent.io.errors import ModelFileError
from resolvent.io.kinds import (
    CERTIFICATE,
    ESTIMATORS,
    LABELS,
    LOW_RANK,
    check_loss_of,
    check_parameters,
)
from resolvent.io.values import decode, encode
from resolvent.kernels import Kernel, Linear
from resolvent.kernels.base import is_number
from resolvent.problem import Record, Status

__all__ = ["extract", "restore"]

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
    _unfitted(header)  # what cannot be loaded is not saved
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = [str(name) for name in model.feature_names_in_]
    if getattr(model, "_encoding", None) is not None:
        header["categories"] = encode(model._encoding.categories, "categories")
    if isinstance(model, MachineClassifier):
        header["classes"], found = _labels_out(model.classes_)
        arrays |= found
    elif isinstance(model, MachineRegressor):
        header["vector"] = bool(model._vector)
    if hasattr(model, "target_unit_"):
        arrays["target_unit"] = np.atleast_1d(np.asarray(model.target_unit_, dtype=float))
    if hasattr(model, "_loss"):
        header["loss"] = encode(model._loss, "loss")
    arrays |= model._give()
    if not isinstance(model, LinearMachine):
        _check_kernel(model, model._expansion.kernel)
        header["kernel"] = encode(model._expansion.kernel, "kernel")
        arrays |= _expansion_out(model)
    calibration = getattr(model, "_calibration", None)
    if calibration is not None:
        arrays |= calibration_out(calibration)
    if hasattr(model, "dual_gap_"):  # a model from LIBSVM has no certificate
        header["status"], header["fit_time"] = model.status_.name, float(model.fit_time_)
        header["solver"] = model.solver_
        arrays |= _certificate_out(model)
    if getattr(model, "rank_", None) is not None:
        header["certificate"] = model.certificate_
        arrays["approximation"] = np.atleast_1d(model.approximation_gap_)
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
    arrays = {}
    if hasattr(model, "support_"):
        arrays["support"] = model.support_.astype(np.int64)
    if expansion.weights is not None:
        arrays["weights"] = expansion.weights
    if expansion.kernel is not None:
        arrays |= rows_as_arrays("rows", expansion.rows)
    return arrays


def _certificate_out(model: Any) -> dict[str, np.ndarray]:
    records = model.history_
    values = [np.atleast_2d(np.array(record[2:], dtype=float).T).T for record in records]
    return {
        "certificate": np.array(
            [np.atleast_1d(x) for x in (model.dual_gap_, model.objective_)], dtype=float
        ),
        # LIBLINEAR's machines have one number for all problems.
        "n_iter": np.full(np.shape(np.atleast_1d(model.dual_gap_)), model.n_iter_, np.int64),
        "history.times": np.array([record[:2] for record in records], dtype=float).reshape(-1, 2),
        "history.values": np.array(values).reshape(len(records), 5, -1 if records else 0),
    }


# ---- to an estimator --------------------------------------------------------------------------


def restore(header: dict[str, Any], reader: Reader) -> Any:
    """Build the estimator that a header and arrays are of."""
    model = _unfitted(header)
    name = type(model).__name__
    kind = ESTIMATORS[name]
    imported = kind.imported and "status" not in header
    model.n_features_in_ = reader.size("features", header.get("n_features"), 1, MOST_FEATURES)
    model._n_given = reader.size("samples", header.get("n_samples"), 0 if imported else 1)
    names = header.get("feature_names")
    if names is not None:
        _check_names(names, model.n_features_in_)
        model.feature_names_in_ = np.array(names, dtype=object)
    if "categories" in header:
        model._encoding = _encoding_in(header["categories"], names)
    if isinstance(model, MachineClassifier):
        model.classes_ = _labels_in(header.get("classes"), reader)
    elif isinstance(model, MachineRegressor):
        if not isinstance(header.get("vector"), bool):
            raise ModelFileError(
                "The file is damaged: it does not say whether the target is a vector."
            )
        model._vector = header["vector"]
    if kind.keeps_loss:
        model._loss = decode(header.get("loss"), "loss")
        check_loss_of(name, model._loss)
    with _damage():
        m = model._n_problems()
    if m is None:
        m = len(reader.read("intercept", Array(("problems",))))
    reader.size("problems", m, least=1)
    if "target_unit" in reader:
        _restore_unit(model, reader)
    declared = (kind.arrays | (LOW_RANK if "certificate" in header else {})).items()
    arrays = {
        key: reader.read(key, x) for key, x in declared if not (imported and key == "support")
    }
    arrays |= {key: reader.read(key, x) for key, x in kind.optional.items() if key in reader}
    if isinstance(model, LinearMachine):
        model._take(None, arrays)
    else:
        _restore_expansion(model, header, reader, arrays)
    if isinstance(model, Calibrated):
        known = "calibration.scores" in reader
        model._calibration = restore_calibration(model, reader, m) if known else None
    if not imported:
        _restore_certificate(model, header, reader, m)
    if isinstance(model, KernelMachine):
        _restore_rank(model, header, reader)
    return model


def _unfitted(header: dict[str, Any]) -> Any:
    name = header.get("estimator")
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(
            f"The file holds a model of the kind {str(name)[:60]!r}, which this version does not "
            f"know; it knows {', '.join(ESTIMATORS)}."
        )
    cls = ESTIMATORS[name].cls(name)
    stored = header.get("parameters")
    if not isinstance(stored, dict):
        raise ModelFileError("The file is damaged: its header has no parameters.")
    unknown = sorted(stored.keys() - cls().get_params(deep=False).keys())
    if unknown:
        raise ModelFileError(f"The file has parameters that {name} does not: {unknown}.")
    parameters = {key: decode(value, key) for key, value in stored.items()}
    if hasattr(cls(), "normalize_y"):  # files of 0.1 have C in the units of the data
        parameters.setdefault("normalize_y", False)
    check_parameters(name, parameters)
    return cls(**parameters)


def _restore_unit(model: Any, reader: Reader) -> None:
    units = reader.read("target_unit", Array((1 if hasattr(model, "quantile") else "problems",)))
    if not hasattr(model, "normalize_y") or not (units > 0.0).all():
        raise ModelFileError("The file is damaged: its target has no unit.")
    model.target_unit_ = units[0].item() if model._vector else units


def _check_names(names: Any, n: int) -> None:
    if not (isinstance(names, list) and len(names) == n and all(type(x) is str for x in names)):
        raise ModelFileError(f"The file is damaged: it does not have {n} names of features.")


def _encoding_in(stored: Any, names: Any) -> ColumnEncoding:
    """Read how columns of frames are encoded: for each name None, or its categories."""
    found = decode(stored, "categories")
    good = isinstance(found, tuple) and isinstance(names, list) and len(found) == len(names)
    if not good or not all(
        column is None
        or (isinstance(column, tuple) and all(_is_category(value) for value in column))
        for column in found
    ):
        raise ModelFileError("The file is damaged: it does not have the categories of its columns.")
    return ColumnEncoding(tuple(names), found)


def _is_category(value: Any) -> bool:
    return value is None or isinstance(value, str) or is_number(value)


def _labels_in(stored: Any, reader: Reader) -> np.ndarray:
    match stored:
        case None:
            classes = reader.read("classes", LABELS)
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


@contextmanager
def _damage() -> Iterator[None]:
    """Say of what an estimator refuses that the file is damaged."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The file is damaged: {error}") from None


def _restore_expansion(
    model: Any, header: dict[str, Any], reader: Reader, arrays: dict[str, np.ndarray]
) -> None:
    kernel = decode(header.get("kernel"), "kernel")
    _check_kernel(model, kernel)
    if kernel is None and model._n_given != model.n_features_in_:
        raise ModelFileError("The file is damaged: its precomputed kernel was not square.")
    coef, intercept = arrays["coef"], arrays["intercept"]
    support: Any = arrays.get("support")
    if kernel is None and support is not None and (support < 0).any():
        raise ModelFileError("The file is damaged: landmarks are not columns of its matrix.")
    if support is not None:
        model.support_ = support
    elif kernel is None:
        raise ModelFileError("The file is damaged: its array 'support' is missing.")
    rows = support if kernel is None else reader.rows("rows", "support", model.n_features_in_)
    weights = None
    if isinstance(kernel, Linear) and "weights" in reader:  # older files have none
        width = model.n_features_in_ + bool(kernel.bias)
        weights = reader.read("weights", Array(("problems", width)))
    # Declared of all samples, the coefficients are more than those of the support vectors.
    of_all = ESTIMATORS[type(model).__name__].arrays["coef"].shape[0] == "samples"
    own = coef[support] if of_all else coef
    model._expansion = Expansion(kernel, rows, own, intercept, weights)
    with _damage():
        model._take(kernel, arrays)


def _check_kernel(model: Any, kernel: Any) -> None:
    """Refuse what is not a kernel, or not one of the parameter that says so."""
    if model._is_precomputed() != (kernel is None) or not isinstance(kernel, Kernel | None):
        raise ModelFileError("The model is damaged: its kernel is none, or not that of its fit.")


def _restore_rank(model: KernelMachine, header: dict[str, Any], reader: Reader) -> None:
    """Set what a low-rank fit was certified by; files of exact fits, and older ones, have none."""
    method = header.get("certificate")
    if method is None:
        model._set_rank(None, None, "exact", np.zeros(np.size(model.dual_gap_)))
        return
    if method not in (*CERTIFICATES, "incomplete"):
        raise ModelFileError(f"The file is damaged: its certificate is {str(method)[:40]!r}.")
    found = reader.read("approximation", Array(("certificates",), finite=False))
    model._set_rank(len(model.support_), model.support_, method, found)


def _restore_certificate(model: Machine, header: dict[str, Any], reader: Reader, m: int) -> None:
    status, seconds = header.get("status"), header.get("fit_time")
    if not isinstance(status, str) or status not in Status.__members__:
        raise ModelFileError(f"The file is damaged: its status is {str(status)[:40]!r}.")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ModelFileError(f"The file is damaged: its fit_time is {str(seconds)[:40]!r}.")
    solver = header.get("solver", "")  # older files do not say
    if not isinstance(solver, str) or not re.fullmatch(r"[a-z_, ]{0,80}", solver):
        raise ModelFileError(f"The file is damaged: its solver is {str(solver)[:40]!r}.")
    if model._couples_columns():
        m = 1  # one problem for all columns
    reader.size("certificates", m)
    arrays = {key: reader.read(key, x) for key, x in CERTIFICATE.items()}
    gap, objective = arrays["certificate"]
    model._set_certificate(gap, objective, arrays["n_iter"])
    model.status_, model.fit_time_, model.solver_ = Status[status], float(seconds), solver
    if hasattr(model, "n_support_"):
        model.fit_status_ = int(model.status_ > Status.PRECISION_LIMIT)
    times, values = arrays["history.times"], arrays["history.values"]
    if len(times) and values.shape[2] not in (1, m):
        raise ModelFileError(f"The file is damaged: its history is not of {m} problems.")
    with np.errstate(invalid="ignore"):
        model.history_ = [
            Record(int(t), float(s), *(*row[:4], row[4].astype(np.intp)))
            for (t, s), row in zip(times, values, strict=True)
        ]
