"""Scores of held-out samples by any scorer of scikit-learn."""

from __future__ import annotations

import copy
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from resolvent.estimators.base import Machine
from resolvent.estimators.expansion import take_rows


class HeldOutScorer:
    """Scores the predictions that a search has for held-out samples.

    A scorer wants an estimator and samples. It gets a copy of the estimator that already knows the
    scores of these samples, so that everything a scorer may ask for (classes, decisions,
    probabilities) follows from them as in any fitted estimator.

    Parameters
    ----------
    estimator : Machine
        With what reading the data sets: classes, losses, number of features.
    scoring : str, callable or None
        As in scikit-learn; None is the estimator's own `score`.
    X, y : array-like
        Samples and targets that take part.
    weight : ndarray of shape (n,) or None
        Weights of the scores; None if they are not to be used.
    """

    def __init__(
        self, estimator: Machine, scoring: Any, X: Any, y: Any, weight: np.ndarray | None
    ) -> None:
        self.estimator, self.X, self.y, self.weight = estimator, X, y, weight
        self.score = check_scoring(estimator, scoring)
        if weight is not None and not _takes_weight(self.score):
            self.weight = None

    def __call__(self, test: np.ndarray, scores: np.ndarray) -> float:
        """Score the samples `test`, whose scores (one column for each problem) are given."""
        known: Any = copy.copy(self.estimator)
        known._scores = lambda _: scores
        args = {} if self.weight is None else {"sample_weight": self.weight[test]}
        result: Any = self.score(known, take_rows(self.X, test), self.y[test], **args)
        if not isinstance(result, Real):
            raise ValueError(
                f"scoring must give one number for each fold; it gave {result!r}. Choose one "
                "metric by name or by a function."
            )
        return float(result)


def _takes_weight(score: Any) -> bool:
    if hasattr(score, "_accept_sample_weight"):
        return bool(score._accept_sample_weight())
    try:
        names = signature(score).parameters
    except (TypeError, ValueError):
        return False
    return "sample_weight" in names or any(p.kind == p.VAR_KEYWORD for p in names.values())
