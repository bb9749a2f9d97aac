"""Several classes by problems of two: one column of signs for each, all on one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

STRATEGIES = ("ovr", "ovo")


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Pairs of classes in the order of LIBSVM: (0, 1), (0, 2), ..., (1, 2), ..."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def as_columns(codes: np.ndarray, n_classes: int, strategy: str) -> tuple[np.ndarray, np.ndarray]:
    """Signs of the problems of two, and which samples take part in each, both (n, m).

    Two classes make one problem in which the second is positive. Otherwise one-vs-rest has a
    problem for each class, one-vs-one for each pair, the first of which is positive.
    """
    if strategy not in STRATEGIES:
        raise ValueError(
            f"multi_class={strategy!r} is unknown; choose one of {', '.join(STRATEGIES)}."
        )
    if n_classes == 2:
        positive = (codes == 1)[:, None]
        inside = np.ones_like(positive)
    elif strategy == "ovr":
        positive = codes[:, None] == np.arange(n_classes)
        inside = np.ones_like(positive)
    else:
        first, second = np.array(pairs(n_classes)).T
        positive = (codes == first[:, None]).T  # columns contiguous: there are many
        inside = positive | (codes == second[:, None]).T
    return np.where(positive, np.int8(1), np.int8(-1)), inside


def as_decision(scores: np.ndarray, n_classes: int, strategy: str) -> np.ndarray:
    """Turn the scores of the problems into one value for each class; a vector for two classes."""
    if n_classes == 2:
        return scores[:, 0]
    if strategy == "ovo":
        return _ovr_decision_function(scores < 0, -scores, n_classes)
    return scores


def as_codes(decision: np.ndarray) -> np.ndarray:
    """Index of the class that a decision is for."""
    return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def class_factors(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Factor of C for each class.

    "balanced" makes the weights of all classes sum to the same, sample weights included, so that a
    weight of 2 stays the same as the sample given twice.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} must be None, 'balanced' or a dict from labels to "
                "weights."
            )
        counts = np.bincount(codes, weight, len(classes))
        present = counts > 0  # in a fold of cross-validation not all may be
        return np.divide(
            weight.sum() / np.count_nonzero(present),
            counts,
            out=np.zeros(len(classes)),
            where=present,
        )
    try:
        given = dict(class_weight)
    except (TypeError, ValueError):
        raise ValueError(
            f"class_weight={class_weight!r} must be None, 'balanced' or a dict from labels to "
            "weights."
        ) from None
    labels = classes.tolist()
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight names the classes {unknown}, which are not among those of y: {labels}."
        )
    return np.array([float(given.get(label, 1.0)) for label in labels])
