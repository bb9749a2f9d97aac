"""Folds of cross-validation, as positions among the samples that take part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from resolvent.estimators.base import Data


class Fold(NamedTuple):
    """One fold: which samples it learns from and which it is scored on."""

    train: np.ndarray
    test: np.ndarray

    def weights(self, data: Data) -> np.ndarray:
        """Weights of all samples, zero for those that the fold does not learn from."""
        weight = np.zeros(len(data))
        weight[self.train] = data.weight[self.train]
        return weight


def read_folds(cv: Any, X: Any, y: Any, groups: Any, data: Data, classifier: bool) -> list[Fold]:
    """Split what was given to fit; samples of weight zero are left out of the folds.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As in scikit-learn; None is five folds.
    X, y, groups : array-like
        What the splitter may look at.
    data : Data
        The samples that take part.
    classifier : bool
        Whether a number of folds means stratified ones.
    """
    splitter = check_cv(cv, y, classifier=classifier)
    position = np.full(len(y), -1)
    position[data.kept] = np.arange(len(data))
    folds = []
    for number, (train, test) in enumerate(splitter.split(X, y, groups)):
        train, test = (_positions(index, position) for index in (train, test))
        if len(train) == 0 or len(test) == 0:
            part = "learn from" if len(train) == 0 else "be scored on"
            raise ValueError(
                f"cv={cv!r}: fold {number} has no sample of positive weight to {part}; use fewer "
                "folds, or another splitter."
            )
        folds.append(Fold(train, test))
    if not folds:
        raise ValueError(f"cv={cv!r} makes no fold.")
    return folds


def _positions(index: Any, position: np.ndarray) -> np.ndarray:
    found = position[np.asarray(index)]
    return found[found >= 0]
