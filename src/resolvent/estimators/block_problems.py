"""From the parameters of estimators to the problems that are solved on blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent.blocks.engine import Engine
from resolvent.blocks.reading import Shape, classes_of, reweighted, units_of
from resolvent.blocks.sums import Task
from resolvent.estimators.base import checked_C
from resolvent.estimators.classes import class_factors
from resolvent.losses.units import in_units
from resolvent.problem import Solution

__all__ = ["Asked", "class_problems", "columns_of", "target_problems"]


class Asked(NamedTuple):
    """A problem, of all columns of targets or of one."""

    task: Task
    column: int | None = None


def class_problems(model: Any, held: list[Engine]) -> list[Asked]:
    """Set `classes_`, multiply weights by the factors of the classes, and give their problem."""
    found = classes_of(held[-1])
    model.classes_ = found.labels
    if len(found.labels) < 2:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class: there is "
            f"only one class ({found.labels.tolist()}) with a weight above zero, where a "
            "classifier needs at least 2."
        )
    every = np.arange(len(found.labels))
    factors = class_factors(model.class_weight, found.labels, every, found.weight)
    held.append(held[-1].transformed(reweighted, found.labels, factors))
    held[-2].release()
    loss = model._margin_loss(model.loss)
    return [Asked(Task(loss, checked_C(model.C), tuple(found.labels.tolist())))]


def target_problems(model: Any, held: list[Engine], shape: Shape) -> list[Asked]:
    """Set `target_unit_`; a problem of all columns where their units are the same, else of each."""
    m, C = max(shape.targets, 1), checked_C(model.C)
    model._vector = shape.targets == 0
    units = units_of(held[-1], model._loss, m) if model.normalize_y else [1.0] * m
    model.target_unit_ = units[0] if model._vector else np.array(units)
    scaled = [in_units(model._loss, unit) for unit in units]
    if all(pair == scaled[0] for pair in scaled):
        loss, factor = scaled[0]
        return [Asked(Task(loss, C * factor))]
    return [Asked(Task(loss, C * factor), j) for j, (loss, factor) in enumerate(scaled)]


def columns_of(solutions: list[Solution]) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m, d) and offsets (m,) of solutions."""
    rows, intercepts = [], []
    for solution in solutions:
        weights = np.asarray(solution.weights)
        rows.append(weights.T if weights.ndim == 2 else weights[None])
        intercepts.append(np.atleast_1d(np.asarray(solution.intercept, float)))
    return np.ascontiguousarray(np.concatenate(rows)), np.concatenate(intercepts)
