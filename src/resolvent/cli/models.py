"""From files and options to arrays and an estimator, and back from a model file."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import typer

from resolvent.blocks.sources import paths_of
from resolvent.cli.parsing import parse_class_weight
from resolvent.io.binary import parquet_parts
from resolvent.io.errors import DataFileError, ModelFileError
from resolvent.io.libsvm import looks_like_libsvm, read_libsvm
from resolvent.io.model_file import load
from resolvent.io.read import read
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Column, Features
from resolvent.tabular.offset import OffsetColumn
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = [
    "Training",
    "at_offset",
    "labels_or_numbers",
    "make_estimator",
    "make_search",
    "open_model",
    "read_for",
    "read_parts_for",
    "read_training",
]

MOST_CLASSES = 20  # whole numbers of up to so many values are taken for labels


# ---- data -----------------------------------------------------------------------------------


@dataclass
class Training:
    """Training data with what was done to it."""

    X: Any
    y: Any
    weight: np.ndarray | None
    features: Features
    target: str | None
    classes: np.ndarray | None  # None for regression
    offset: np.ndarray | None = None
    offset_column: OffsetColumn | None = None
    rows: str = "the training rows"  # those that the model is tried on

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape


def read_training(
    path: str,
    *,
    format: str,
    target: str | None,
    weights: str | None,
    offset: OffsetColumn | None,
    drop: list[str],
    categorical: list[str],
    scale: str | None,
    missing: str,
    first_index: int | None,
    classify: bool | None,
    note: Any = lambda _: None,
) -> Training:
    """Read data to fit on; `classify` None finds out from the target what the task is."""
    raw = read(
        path, format, words=categorical, base=first_index, wanted=lambda name: name not in drop
    )
    named = isinstance(raw, Table)
    if not isinstance(raw, Table):
        if drop or categorical:
            raise typer.BadParameter(f"{raw.source} has no named columns to drop or encode.")
    else:
        known = raw.columns
        if target is None:
            raise typer.BadParameter(
                f"{raw.source} is a table: say which column to predict. The columns are "
                f"{', '.join(known)}.",
                param_hint="--target",
            )
        asked = {"--target": [target], "--drop": drop, "--categorical": categorical}
        asked["--weights"] = [weights] if weights else []
        if offset is not None:
            asked["--exposure" if offset.is_exposure else "--offset"] = [offset.name]
        for option, names in asked.items():
            for name in names:
                if name not in known:
                    raise typer.BadParameter(
                        f"{raw.source} has no column {name!r}; it has {', '.join(known)}.",
                        param_hint=option,
                    )
    values, name = target_of(raw, target)
    y, classes = labels_or_numbers(_words(values, raw, name), raw.source, name, classify)
    weight = _weights(raw, weights)
    offsets = None if offset is None else offset.read(raw)
    if offset is not None and offsets is None:
        raise DataFileError(f"has no array {offset.name!r} with the offset.", raw.source)
    without = {x for x in (target, weights, *drop) if x is not None}
    without |= set() if offset is None else {offset.name}
    features = Features.learn(
        raw,
        without=without,
        scale=scale or ("standard" if named else "none"),
        impute=missing == "impute",
        categorical=categorical,
        note=note,
    )
    target = name if named else None
    return Training(features(raw), y, weight, features, target, classes, offsets, offset)


def target_of(raw: Matrix | Table, target: str | None) -> tuple[Any, str]:
    """Find the target in data that was read."""
    if isinstance(raw, Table):
        if target is None or target not in raw.columns:
            raise DataFileError(
                f"has no column {target!r} with the target; it has {', '.join(raw.columns)}.",
                raw.source,
            )
        return raw.columns[target], target
    y = raw.y if target in (None, "y") else raw.arrays.get(target)
    if y is None or y.shape != (len(raw),):
        raise DataFileError(
            f"has no target: expected an array {target or 'y'} with a value for each row of X.",
            raw.source,
        )
    return y, target or "y"


def _words(values: Any, raw: Matrix | Table, name: str) -> np.ndarray:
    """Return a target as an array of words or of finite numbers."""
    missing = values.codes < 0 if isinstance(values, TextColumn) else None
    if missing is None and values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    if missing is not None and missing.any():
        row = int(np.flatnonzero(missing)[0])
        place = raw.place(row, name) if isinstance(raw, Table) else {"source": raw.source}
        raise DataFileError(
            f"the target {name!r} has no value in row {row + 1}, nor in {missing.sum() - 1} "
            "others; remove these rows.",
            **place,
        )
    if isinstance(values, TextColumn):
        return np.array(values.categories)[values.codes]
    return values


def labels_or_numbers(
    y: np.ndarray, source: str, name: str, classify: bool | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Take a target for labels, with their classes, or for numbers; `classify` None finds out."""
    numeric = y.dtype.kind in "iuf"
    whole = numeric and bool((y == np.round(y)).all())
    classes = np.unique(y)
    if classify is None:
        classify = not numeric or (whole and len(classes) <= MOST_CLASSES)
    if not classify:
        if not numeric:
            raise DataFileError(
                f"the target {name!r} has words such as {str(classes[0])[:40]!r}; regression needs "
                "numbers. For classification say --loss hinge or logistic.",
                source,
            )
        return y.astype(float), None
    if numeric and not whole:
        raise DataFileError(
            f"the target {name!r} has numbers such as {y[y != np.round(y)][0]:g}, which are no "
            "labels. For regression say --loss squared, huber or epsilon_insensitive.",
            source,
        )
    if len(classes) < 2:
        raise DataFileError(
            f"the target {name!r} is {classes[0]} in all rows; there is nothing to tell apart.",
            source,
        )
    if len(classes) > 1000:
        raise DataFileError(
            f"the target {name!r} has {len(classes)} different values; classification takes up "
            "to 1000. For regression say --loss squared.",
            source,
        )
    if whole and np.abs(classes.astype(float)).max() < 2**53:
        y = y.astype(np.int64)
    return y, np.unique(y)


def _weights(raw: Matrix | Table, name: str | None) -> np.ndarray | None:
    if name is None:
        return None
    values = target_of(raw, name)[0]
    if isinstance(values, TextColumn) or values.dtype.kind not in "iuf":
        raise DataFileError(f"the weights {name!r} are not numbers.", raw.source)
    values = values.astype(float)
    if not ((values >= 0) & np.isfinite(values)).all() or not values.any():
        raise DataFileError(
            f"the weights {name!r} must be numbers of at least 0, and not all 0.", raw.source
        )
    return values


def read_for(
    model: TabularModel, path: str, *, format: str, target: str | None = None, note: Any = None
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Rows, as the model takes them, target and offset (None if there is none) of new data."""
    target = target or model.target
    words, numbers, used = _names_for(model, target)
    raw = read(
        path,
        format,
        words=words,
        numbers=numbers,
        base=model.features.base,
        wanted=lambda name: name in used,
    )
    X, offset = _rows_for(model, raw, note)
    if isinstance(raw, Table) and target not in raw.columns:
        return X, None, offset
    if isinstance(raw, Matrix) and raw.y is None and target not in raw.arrays:
        return X, None, offset
    return X, _words(*_with_raw(target_of(raw, target), raw)), offset


def read_parts_for(
    model: TabularModel, data: str, note: Any = None
) -> Iterator[tuple[Any, np.ndarray | None]]:
    """Rows and offset of new data in Parquet files, row group by row group."""
    words, _, used = _names_for(model, None)
    for path in paths_of(data):
        for table in parquet_parts(str(path), words, lambda name: name in used):
            yield _rows_for(model, table, note)


def _names_for(model: TabularModel, target: str | None) -> tuple[set[str], set[str], set[Any]]:
    """Names of the columns that are words, that are numbers, and of all that are read."""
    words, numbers = set(model.features.words), set(model.features.numbers)
    classes = getattr(model.estimator, "classes_", None)
    if target is not None and classes is not None and classes.dtype.kind in "UO":
        words.add(target)
    if model.offset is not None:
        numbers.add(model.offset.name)
    return words, numbers, {*words, *numbers, target}


def _rows_for(model: TabularModel, raw: Matrix | Table, note: Any) -> tuple[Any, np.ndarray | None]:
    """Rows, as the model takes them, and their offset."""
    offset = None if model.offset is None else model.offset.read(raw, note)
    return model.features(raw, note), offset


def at_offset(model: TabularModel, offset: np.ndarray | None) -> TabularModel:
    """Return the model for predictions of rows with these offsets."""
    if offset is None:
        return model
    estimator = model.estimator
    known = copy.copy(estimator)
    known._with_offset = lambda scores, _: estimator._with_offset(scores, offset)
    return replace(model, estimator=known)


def _with_raw(found: tuple[Any, str], raw: Matrix | Table) -> tuple[Any, Matrix | Table, str]:
    return found[0], raw, found[1]


# ---- models ---------------------------------------------------------------------------------


def open_model(path: Any, n_features: int = 0) -> TabularModel:
    """Load a model file, ours or LIBSVM's, with what is done to its data."""
    model = read_libsvm(path, n_features) if looks_like_libsvm(path) else load(path)
    if isinstance(model, TabularModel):
        return model
    if model._is_precomputed():
        raise ModelFileError(
            f"{path} has a precomputed kernel, which the command line cannot compute; use it from "
            "Python."
        )
    if model._encoding is not None:
        raise ModelFileError(
            f"{path} has a kernel of columns by name, which the command line cannot read; use it "
            "from Python, with a data frame."
        )
    names = getattr(model, "feature_names_in_", None)
    columns = None
    if names is not None:
        columns = tuple(Column(str(name)) for name in names)
        del model.feature_names_in_  # from here on `columns` has them, and the data are arrays
    return TabularModel(model, Features(model.n_features_in_, columns))


def make_estimator(data: Training, loss: Any, quantiles: Any, options: dict[str, Any]) -> Any:
    """Build the estimator that options ask for.

    `options` has kernel, C, gamma, degree, coef0, class_weight, multiclass, scale_target, tol,
    time_limit, memory, seed, rank and intercept.
    """
    from resolvent import (
        KernelClassifier,
        KernelQuantileRegressor,
        KernelRegressor,
        LinearClassifier,
        LinearRegressor,
    )

    common = {
        "C": options["C"],
        "fit_intercept": options["intercept"],
        "tol": options["tol"],
        "time_limit": options["time_limit"],
        "max_iter": options["max_iter"],
        "random_state": options["seed"],
        "verbose": 1,
    }
    kernel = {
        "kernel": options["kernel"],
        "gamma": options["gamma"],
        "degree": options["degree"],
        "coef0": options["coef0"],
        "memory_limit": options["memory"],
        "rank": options["rank"],
    }
    linear = options["kernel"] == "linear" and kernel["rank"] is None
    if data.classes is None:
        common["normalize_y"] = options["scale_target"]
    if quantiles is not None:
        tau = quantiles[0] if len(quantiles) == 1 else quantiles
        return KernelQuantileRegressor(tau, **kernel, **common)
    if data.classes is None:
        loss = "squared" if loss is None else loss
        return (
            LinearRegressor(loss, **common) if linear else KernelRegressor(loss, **kernel, **common)
        )
    loss = "hinge" if loss is None else loss
    common["class_weight"] = parse_class_weight(options["class_weight"], data.classes)
    if linear and options["multiclass"] == "ovr":
        return LinearClassifier(loss, **common)
    return KernelClassifier(loss, multi_class=options["multiclass"], **kernel, **common)


def make_search(plain: Any, **settings: Any) -> Any:
    """Build the search over C and gamma for an estimator, with its parameters."""
    import resolvent

    cls = getattr(resolvent, f"{type(plain).__name__}CV")
    known = cls().get_params(deep=False).keys()
    shared = plain.get_params(deep=False) | settings
    return cls(**{name: value for name, value in shared.items() if name in known})
