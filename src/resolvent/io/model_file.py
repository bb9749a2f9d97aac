"""Model files: arrays in the safetensors format and a JSON header; loading runs no code.

The header is the entry "resolvent" of the format's metadata. It has the number of its schema, the
name of the estimator, its parameters and what `state` says of the fit; a model of the command line
also has a "table": the columns, their categories and their scales, see `resolvent.tabular`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from resolvent.io.arrays import Reader, safetensors
from resolvent.io.atomic import write_atomically
from resolvent.io.errors import ModelFileError
from resolvent.io.kinds import ESTIMATORS
from resolvent.io.state import extract, restore
from resolvent.io.table import extract_features, restore_features
from resolvent.io.values import parse_json
from resolvent.tabular import TabularModel
from resolvent.tabular.offset import OffsetColumn

__all__ = ["SCHEMA", "load", "looks_like_model", "save"]

SCHEMA = 1
KEY = "resolvent"
START = f'{{"__metadata__":{{"{KEY}":'.encode()  # of the format's own header, after its length


def save(model: Any, path: Any) -> None:
    """Save a fitted model in a file that cannot run code when it is loaded.

    The file appears as a whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or what :func:`load` returned. A loss of your own and a
        kernel that is a function cannot be saved. Of a search the best estimator is saved.
    path : str or Path
        The file. There is no fixed ending; an existing file is replaced.

    Raises
    ------
    ModelFileError
        If the model cannot be saved; the message says why.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import resolvent
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = resolvent.KernelRegressor(C=10.0).fit(X, np.sin(X[:, 0]))
    >>> path = os.path.join(tempfile.mkdtemp(), "sine.model")
    >>> resolvent.save(model, path)
    >>> resolvent.load(path).dual_gap_ == model.dual_gap_
    True
    """
    from resolvent import __version__
    from resolvent.model_selection.base import CrossValidated

    header: dict[str, Any] = {"schema": SCHEMA, "version": __version__}
    table: dict[str, Any] | None = None
    arrays: dict[str, Any] = {}
    if isinstance(model, TabularModel):
        table, arrays = extract_features(model.features)
        table["target"] = model.target
        if model.offset is not None:
            table["offset"] = list(model.offset)
        model = model.estimator
    if isinstance(model, CrossValidated):
        model = model._best()
    name = type(model).__name__
    if name not in ESTIMATORS or type(model) is not ESTIMATORS[name].cls(name):
        raise ModelFileError(
            f"A {name} cannot be saved in a model file; fitted estimators of this package can: "
            f"{', '.join(ESTIMATORS)}. Save the last step of a pipeline, or the best estimator of "
            "a search."
        )
    check_is_fitted(model)
    state, found = extract(model)
    header |= state
    if table is not None:
        header["table"] = table
    try:
        text = json.dumps(header, allow_nan=False)
        parse_json(text)  # what cannot be loaded is not saved
    except ValueError as error:
        raise ModelFileError(f"The model cannot be saved: {error}.") from None
    write_atomically(path, safetensors().numpy.save(found | arrays, {KEY: text}))


def load(path: Any) -> Any:
    """Load a model that :func:`save` or the command line wrote.

    Nothing in the file is executed, and every count, index and shape in it is checked before it is
    used, so that files from strangers are safe to load.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator or TabularModel
        The estimator, ready to predict. If the command line fitted it on a table or scaled its
        features, a :class:`resolvent.tabular.TabularModel` around it.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or is of a later version of the package.

    Examples
    --------
    See :func:`save`.
    """
    path = os.fspath(path)
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}.")
    library = safetensors()
    try:
        with library.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError("It is a safetensors file, but not one of resolvent.")
            header = parse_json(metadata[KEY])
            _check_schema(header)
            return _build(header, Reader(file))
    except library.SafetensorError as error:
        raise ModelFileError(f"{path} is no model file, or a damaged one ({error}).") from None
    except (ModelFileError, RecursionError) as error:
        raise ModelFileError(f"{path} cannot be loaded. {error}") from None


def looks_like_model(path: Any) -> bool:
    """Whether a file starts as model files do."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(START))[8:] == START
    except OSError:
        return False


def _check_schema(header: dict[str, Any]) -> None:
    schema = header.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ModelFileError(
            f"It is of schema {str(schema)[:40]!r}, written by resolvent "
            f"{str(header.get('version'))[:40]}; this version reads schema {SCHEMA}. Install a "
            "newer resolvent, or save the model again with this one."
        )


def _build(header: dict[str, Any], reader: Reader) -> Any:
    model = restore(header, reader)
    table = header.get("table")
    if table is None:
        return model
    if not isinstance(table, dict):
        raise ModelFileError("The file is damaged: its table is none.")
    target = table.pop("target", None)
    if target is not None and type(target) is not str:
        raise ModelFileError("The file is damaged: the name of its target is none.")
    offset = table.pop("offset", None)
    if offset is not None:
        if not isinstance(offset, list) or list(map(type, offset)) != [str, bool]:
            raise ModelFileError("The file is damaged: its column of offsets is none.")
        offset = OffsetColumn(*offset)
    features = restore_features(table, reader, model.n_features_in_)
    return TabularModel(model, features, target, offset)
