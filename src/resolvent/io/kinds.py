"""What the files of each estimator hold, declared once: `state` writes and reads by it.

A size of a shape is a number, or a name that stands for the same number in all arrays of a file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from resolvent.approximation.certificate import CERTIFICATES
from resolvent.estimators.classes import STRATEGIES
from resolvent.estimators.quantile import KINDS
from resolvent.grams.landmarks import LANDMARKS
from resolvent.io.arrays import INTEGERS, Array
from resolvent.io.errors import ModelFileError
from resolvent.kernels import KERNELS, Kernel
from resolvent.kernels.base import is_number
from resolvent.losses import BY_NAME, is_for_labels

__all__ = [
    "CERTIFICATE",
    "ESTIMATORS",
    "LABELS",
    "LOW_RANK",
    "Kind",
    "check_loss_of",
    "check_parameters",
]

# ---- arrays and losses --------------------------------------------------------------------------

EXPANSION = {
    "coef": Array(("support", "problems")),
    "intercept": Array(("problems",)),
    "support": Array(("support",), INTEGERS, least=0, below="samples"),
}
# Landmarks of a low-rank fit need not be samples: then their indices are -1.
LOW_RANK = {"support": Array(("support",), INTEGERS, least=-1, below="samples")}
WEIGHTS = {"coef": Array(("problems", "features")), "intercept": Array(("problems",))}
BY_CLASS = {
    "class_weight": Array(("classes",), least=0),
    "n_support": Array(("classes",), INTEGERS, least=0),
}
SIGMOIDS = dict.fromkeys(("probA", "probB"), Array(("problems",)))
CERTIFICATE = {
    "certificate": Array((2, "certificates"), finite=False),
    "n_iter": Array(("certificates",), INTEGERS, least=0),
    "history.times": Array(("records", 2), least=0),
    "history.values": Array(("records", 5, "history"), finite=False),
}
LABELS = Array(("classes",), ("I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL",
                              "F64", "F32", "F16"))  # fmt: skip

FOR_LABELS = tuple(name for name, cls in BY_NAME.items() if is_for_labels(cls))
FOR_NUMBERS = tuple(name for name in BY_NAME if name not in FOR_LABELS)
TUBES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class Kind(NamedTuple):
    """What a fitted estimator of a kind consists of."""

    module: str
    arrays: dict[str, Array]
    losses: tuple[str, ...] = ()  # that it can be of
    keeps_loss: bool = False  # for `predict`, which applies its link
    imported: bool = False  # whether it may be LIBSVM's: without indices and certificate
    optional: dict[str, Array] = {}  # noqa: RUF012 - never changed

    def cls(self, name: str) -> Any:
        """Import the class."""
        return getattr(import_module(f"resolvent.estimators.{self.module}"), name)


# The closed table: a file names one of these, and nothing else is ever imported for it.
ESTIMATORS = {
    "KernelClassifier": Kind("classifier", EXPANSION, FOR_LABELS),
    "KernelRegressor": Kind("regressor", EXPANSION, FOR_NUMBERS, True),
    "KernelQuantileRegressor": Kind("quantile", EXPANSION),
    # As many coefficients as samples, so that the file itself bounds what is allocated for them.
    "KernelRidge": Kind(
        "ridge", EXPANSION | {"coef": Array(("samples", "problems"))}, ("squared",), True
    ),
    "LinearClassifier": Kind("linear", WEIGHTS, FOR_LABELS),
    "LinearRegressor": Kind("linear", WEIGHTS, FOR_NUMBERS, True),
    "LinearSVC": Kind("linear_svm", WEIGHTS, ("hinge", "squared_hinge")),
    "LinearSVR": Kind("linear_svm", WEIGHTS, TUBES, True),
    "SVC": Kind("svm", EXPANSION | BY_CLASS, imported=True, optional=SIGMOIDS),
    "SVR": Kind("svm", EXPANSION, TUBES[:1], True, imported=True),
    "NuSVC": Kind("nu", EXPANSION | BY_CLASS, imported=True, optional=SIGMOIDS),
    "NuSVR": Kind("nu", EXPANSION, TUBES[:1], True, imported=True),
    "OneClassSVM": Kind("one_class", EXPANSION, imported=True),
}


# ---- parameters ---------------------------------------------------------------------------------


def is_numbers(value: Any) -> bool:
    return is_number(value) or (
        isinstance(value, list | tuple) and len(value) > 0 and all(map(is_number, value))
    )


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or is_number(value)


def _is_weights(value: Any) -> bool:
    return value in (None, "balanced") or (
        isinstance(value, dict) and all(map(is_number, value.values()))
    )


def _is_kernel(value: Any) -> bool:
    return isinstance(value, Kernel) or (
        isinstance(value, str) and (value in KERNELS or value == "precomputed")
    )


def _is_landmarks(value: Any) -> bool:
    return isinstance(value, list) or value in LANDMARKS


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


# Parameters of one name mean the same in all estimators. Those that are not here are plain values.
PARAMETERS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("C", "tol", "degree", "coef0", "epsilon", "intercept_scaling", "nu"), is_number
    ),
    **dict.fromkeys(("alpha", "quantile"), is_numbers),
    "kernel": _is_kernel,
    "class_weight": _is_weights,
    "landmarks": _is_landmarks,
    "certificate": _one_of(*CERTIFICATES),
    "multi_class": _one_of(*STRATEGIES, "crammer_singer"),
    "decision_function_shape": _one_of(*STRATEGIES),
    "kind": _one_of(*KINDS),
}


def check_parameters(name: str, parameters: dict[str, Any]) -> None:
    """Refuse parameters that the estimator cannot have been fitted with."""
    for key, value in parameters.items():
        if key == "loss":
            check_loss_of(name, value)
        elif not PARAMETERS.get(key, _is_plain)(value):
            raise ModelFileError(
                f"The model is damaged: the parameter {key} of a {name} is {str(value)[:60]!r}."
            )


def check_loss_of(name: str, loss: Any) -> None:
    """Refuse a loss, given by its name or itself, that the estimator does not take."""
    allowed = ESTIMATORS[name].losses
    found = loss if isinstance(loss, str) else next(
        (key for key, cls in BY_NAME.items() if type(loss) is cls), None
    )  # fmt: skip
    if found not in allowed:
        raise ModelFileError(
            f"The model is damaged: the loss of a {name} is {str(loss)[:60]!r}, which is none of "
            f"{', '.join(allowed)}."
        )
