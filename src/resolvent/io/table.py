"""The features of a table in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.io.arrays import Array, Reader
from resolvent.io.errors import ModelFileError
from resolvent.tabular.features import SCALES, Column, Features

__all__ = ["extract_features", "restore_features"]


def extract_features(features: Features) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays."""
    arrays = {"shift": features.shift, "factor": features.factor, "fill": features.fill}
    columns = None
    if features.columns is not None:
        columns = [[c.name, "date" if c.is_date else c.categories] for c in features.columns]
    header = {"columns": columns, "first_index": features.base, "scale": features.method}
    return header, {f"table.{k}": x for k, x in arrays.items() if x is not None}


def restore_features(header: dict[str, Any], reader: Reader, width: int) -> Features:
    """Build from header and arrays, for a model of `width` features."""
    stored, base, method = (header.get(k) for k in ("columns", "first_index", "scale"))
    if base not in (0, 1) or type(base) is not int or method not in SCALES:
        raise ModelFileError("The file is damaged: its table has no first_index or scale.")
    columns = None
    if stored is not None:
        columns = tuple(_column(entry) for entry in _as_list(stored))
        if sum(column.width for column in columns) != width:
            raise ModelFileError(f"The file is damaged: its columns make not {width} features.")
        if len({column.name for column in columns}) < len(columns):
            raise ModelFileError("The file is damaged: two of its columns have one name.")
    sizes = {"shift": width, "factor": width, "fill": len(columns or ())}
    arrays = {
        name: reader.read(f"table.{name}", Array((size,)))
        for name, size in sizes.items()
        if f"table.{name}" in reader
    }
    if ("factor" in arrays) != (method != "none") or ("shift" in arrays and method == "none"):
        raise ModelFileError(f"The file is damaged: its table is not scaled by {method!r}.")
    return Features(width, columns, base, str(method), **arrays)


def _as_list(stored: Any) -> list[Any]:
    if not isinstance(stored, list):
        raise ModelFileError("The file is damaged: its columns are not a list.")
    return stored


def _column(entry: Any) -> Column:
    match entry:
        case [str(name), None]:
            return Column(name)
        case [str(name), "date"]:
            return Column(name, None, True)
        case [str(name), list(words)] if all(type(word) is str for word in words):
            if len(set(words)) == len(words):
                return Column(name, tuple(words))
    raise ModelFileError(f"The file is damaged: {str(entry)[:60]!r} describes no column.")
