"""Parameters, losses, kernels and labels as JSON, and back by closed tables: nothing is imported.

Numbers, strings, booleans, None and lists are themselves. What JSON has no word for is an object
with one telling key::

    {"loss": "huber", "parameters": [0.5]}              {"tuple": [0.1, 0.9]}
    {"kernel": "RBF", "parameters": {"gamma": 0.5}}     {"pairs": [["a", 2.0], ["b", 1.0]]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from resolvent import kernels
from resolvent.io.errors import ModelFileError
from resolvent.losses import BY_NAME, as_loss

__all__ = ["decode", "encode", "parse_json"]

DEEPEST = 200  # levels of a header, two for each sum or product of kernels
LOSS_NAMES = {cls: name for name, cls in BY_NAME.items()}
_UNNAMED: tuple[Any, ...] = (
    kernels.Constant,
    kernels.Sum,
    kernels.Product,
    kernels.Scaled,
    kernels.AdditiveChi2,
    kernels.Overlap,
    kernels.ColumnKernel,
)
KERNEL_CLASSES: dict[str, Any] = {
    cls.__name__: cls for cls in [*kernels.KERNELS.values(), *_UNNAMED]
}
# What a field of a kernel that is no number may be, by its type; more is the kernel's own business.
FIELDS: dict[str, Callable[[Any], bool]] = {
    "Kernel": lambda part: isinstance(part, kernels.Kernel),
    "tuple[str | int, ...]": lambda part: isinstance(part, tuple),
    "Any": lambda part: part is None or isinstance(part, str | tuple),
}


def encode(value: Any, what: str) -> Any:
    """Turn a value into what JSON can hold.

    Parameters
    ----------
    value : object
        A parameter of an estimator, a loss, a kernel or a label.
    what : str
        What it is, for the error message.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not np.isfinite(float(value)):
            raise ModelFileError(f"{what}={value!r} cannot be saved: it is not a finite number.")
        return float(value)
    if type(value) in LOSS_NAMES:
        return {"loss": LOSS_NAMES[type(value)], "parameters": [float(x) for x in value]}
    if isinstance(value, type) and value in LOSS_NAMES:
        return LOSS_NAMES[value]
    if type(value) in KERNEL_CLASSES.values():
        parts = {f.name: encode(getattr(value, f.name), what) for f in fields(value)}
        return {"kernel": type(value).__name__, "parameters": parts}
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return {"tuple": [encode(x, what) for x in value]}
    if isinstance(value, list | np.ndarray):
        return [encode(x, what) for x in value]
    if isinstance(value, dict):
        pairs = [[encode(k, what), encode(v, what)] for k, v in value.items()]
        return {"pairs": pairs}
    raise ModelFileError(_why_not(value, what))


def _why_not(value: Any, what: str) -> str:
    if hasattr(value, "_fields"):
        return (
            f"{what}={value!r} cannot be saved: a model file holds no code, so the loss must be "
            f"one of the package's ({', '.join(BY_NAME)}). Keep a loss of your own in a module, "
            "and fit again where you load it."
        )
    if callable(value) or isinstance(value, kernels.Kernel):
        return (
            f"{what}={value!r} cannot be saved: a model file holds no code, so the kernel must be "
            "made of the package's own. With kernel='precomputed' your program computes the kernel "
            "and the model can be saved."
        )
    if what == "random_state":
        return (
            f"random_state={value!r} cannot be saved; call set_params(random_state=None), which "
            "changes nothing in the fitted model."
        )
    return (
        f"{what} is a {type(value).__name__}, which a model file cannot hold; numbers, strings, "
        "lists, losses and kernels it can."
    )


def decode(value: Any, what: str) -> Any:
    """Turn what `encode` made back into the value; the opposite of `encode`."""
    if isinstance(value, list):
        return [decode(x, what) for x in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"loss": str(name), "parameters": list(numbers), **rest} if not rest:
            return _decode_loss(name, numbers, what)
        case {"kernel": str(name), "parameters": dict(parts), **rest} if not rest:
            return _decode_kernel(name, parts, what)
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(x, what) for x in items)
        case {"pairs": list(pairs), **rest} if not rest:
            try:
                return {decode(k, what): decode(v, what) for k, v in pairs}
            except (TypeError, ValueError):
                pass
    raise ModelFileError(f"The file's {what} is damaged: {str(value)[:100]!r} has no meaning.")


def _decode_loss(name: str, numbers: list[Any], what: str) -> Any:
    if name not in BY_NAME:
        raise ModelFileError(f"The file's {what} names the loss {name!r}, which is not known.")
    cls = BY_NAME[name]
    if len(numbers) != len(cls._fields) or not all(map(kernels.base.is_number, numbers)):
        raise ModelFileError(
            f"The file's {what} is damaged: the loss {name!r} has {len(cls._fields)} parameters, "
            f"not {str(numbers)[:100]}."
        )
    try:
        return as_loss(cls(*numbers))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The file's {what} is damaged. {error}") from None


def _decode_kernel(name: str, parts: dict[str, Any], what: str) -> Any:
    if name not in KERNEL_CLASSES:
        raise ModelFileError(f"The file's {what} names the kernel {name!r}, which is not known.")
    cls = KERNEL_CLASSES[name]
    wanted = {field.name: str(field.type) for field in fields(cls)}
    given = {key: decode(part, what) for key, part in parts.items()}
    fits = given.keys() == wanted.keys() and all(
        FIELDS.get(wanted[key], kernels.base.is_number)(part) for key, part in given.items()
    )
    if not fits:
        raise ModelFileError(
            f"The file's {what} is damaged: the kernel {name} has the parameters "
            f"{', '.join(wanted) or 'none'}, not {str(parts)[:100]}."
        )
    try:
        return cls(**given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"The file's {what} is damaged. {error}") from None


def parse_json(text: str) -> dict[str, Any]:
    """Parse an object; ModelFileError if it is none, or has what no file of ours has.

    That is numbers that are not finite, text that is not Unicode, and very deep nesting.
    """

    def finite(word: str) -> float:
        number = float(word)
        if not math.isfinite(number):
            raise ValueError(f"{word[:40]} is no finite number")
        return number

    def whole(word: str) -> int:
        finite(word)
        return int(word)

    try:
        found = json.loads(text, parse_constant=finite, parse_float=finite, parse_int=whole)
        _check_tree(found, DEEPEST)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The file's header is damaged: {error}.") from None
    if not isinstance(found, dict):
        raise ModelFileError("The file's header is damaged: it is not a JSON object.")
    return found


def _check_tree(tree: Any, levels: int) -> None:
    if levels == 0:
        raise ValueError(f"it nests more than {DEEPEST} levels deep")
    if isinstance(tree, str):
        tree.encode()  # text that came as half of a pair of surrogates cannot be written
    elif isinstance(tree, dict | list):
        for part in (*tree.keys(), *tree.values()) if isinstance(tree, dict) else tree:
            _check_tree(part, levels - 1)
