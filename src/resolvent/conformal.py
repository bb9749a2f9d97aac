"""Conformal prediction: intervals and sets of labels with a guarantee for finite samples.

A band [lo(x), hi(x)], of which lo = hi = f(x) is the band of a regression, misses a target by

    E = max(lo(x) - y, y - hi(x)),

negative inside. Of n calibration rows that the model has not seen (split conformal prediction; with
the band between two quantiles, conformalized quantile regression), let q be the k-th smallest E,
k = ceil(coverage (n + 1)). Then [lo(x) - q, hi(x) + q] holds the target of a new row with
probability at least `coverage`, if the rows and the new one are exchangeable, whatever the model.

Without rows to spare, the folds of cross-validation serve (CV+): each row has its E by the model of
the fold that leaves it out, and the interval goes from the (n + 1 - k)-th smallest of lo_i(x) - E_i
to the k-th smallest of hi_i(x) + E_i, where lo_i and hi_i are by the model that leaves row i out.
The guarantee is then 1 - 2 alpha, less a term that vanishes with n, for alpha = 1 - coverage; in
practice the coverage is close to 1 - alpha.

Weights count as repetitions of rows. Where there are too few rows for the coverage asked for, the
interval is infinite, which is what the guarantee takes.

References
----------
V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, Springer, 2005.
Y. Romano, E. Patterson, E. Candes, Conformalized quantile regression, NeurIPS 2019.
R. Barber, E. Candes, A. Ramdas, R. Tibshirani, Predictive inference with the jackknife+, Annals of
Statistics 49, 2021.
Y. Romano, M. Sesia, E. Candes, Classification with valid and adaptive coverage, NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from resolvent.problem import Array

__all__ = ["Calibration", "checked_coverage", "misses"]

ROUNDING = 1e-10  # of sums of weights
TILE = 4_000_000  # values that are sorted at a time

Band = tuple[Array, Array]


def checked_coverage(coverage: Any) -> float:
    """Return a coverage as a float, or say what is wrong with it."""
    if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(
            f"coverage={coverage!r} must be a number strictly between 0 and 1, such as 0.9."
        )
    return float(coverage)


def misses(band: Band, y: Array) -> Array:
    """By how much targets are outside a band; negative inside."""
    return np.maximum(band[0] - y, y - band[1])


class Calibration(NamedTuple):
    """What rows that were held out say about a model.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        By how much each of them is missed.
    weight : ndarray of shape (n,)
        How often each of them counts.
    fold : ndarray of shape (n,)
        Whose model missed it; all 0 where there is one model.
    models : object or None
        The models of the folds: a kernel expansion, or weights and offsets; None for the model
        itself.
    """

    scores: Array
    weight: Array
    fold: Any
    models: Any = None

    def interval(self, bands: list[Band], coverage: float) -> Array:
        """Lower and upper ends (n, 2) for new rows, of which each model has a band."""
        if self.models is None:  # the same for all rows
            reach = smallest(self.scores[None], self.weight, coverage)[0]
            return np.column_stack([bands[0][0] - reach, bands[0][1] + reach])
        n = len(bands[0][0])
        ends = np.empty((n, 2))
        step = max(1, TILE // len(self.scores))
        lows, highs = (np.array(side).T for side in zip(*bands, strict=True))  # (n, models)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            upper = highs[rows][:, self.fold] + self.scores
            lower = lows[rows][:, self.fold] - self.scores
            ends[rows, 1] = smallest(upper, self.weight, coverage)
            ends[rows, 0] = -smallest(-lower, self.weight, coverage)
        return ends


def smallest(values: Array, weight: Array, coverage: float) -> Array:
    """Of each row the smallest value that, with those below it, has the weight of the coverage.

    That is coverage (W + 1), W the sum of the weights and one of the new row; infinite where the
    values do not have it.
    """
    needed = coverage * (weight.sum() + 1.0) * (1.0 - ROUNDING)
    if needed > weight.sum():
        return np.full(len(values), np.inf)
    if (weight == 1.0).all():
        k = int(np.ceil(needed)) - 1
        return np.partition(values, k, axis=1)[:, k]
    order = np.argsort(values, axis=1)
    below = np.cumsum(weight[order], axis=1)
    place = np.argmax(below >= needed, axis=1)
    return np.take_along_axis(values, order, axis=1)[np.arange(len(values)), place]


def holding(ends: Array, centre: Array) -> Array:
    """Widen intervals to hold their prediction, so that none is empty.

    Where a band is wide and targets are well inside, the ends can pass each other.
    """
    return np.column_stack([np.minimum(ends[:, 0], centre), np.maximum(ends[:, 1], centre)])


def label_sets(
    own: Array, fold: Any, weight: Array, scores: Callable[[int], Array], coverage: float
) -> Any:
    """Which labels (n, k) of new rows are not too strange.

    Parameters
    ----------
    own : ndarray of shape (r,)
        How strange the true label of each calibration row is to the model that has not seen it.
    fold : ndarray of shape (r,)
        Which model that is.
    weight : ndarray of shape (r,)
        How often each row counts.
    scores : callable
        Of the number of a model: how strange it finds each label of the new rows, (n, k).
    coverage : float
        The coverage asked for.
    """
    total: Any = 0.0
    for k in np.unique(fold):
        inside = fold == k
        order = np.argsort(own[inside])
        below = np.concatenate([[0.0], np.cumsum(weight[inside][order])])
        total = total + below[np.searchsorted(own[inside][order], scores(int(k)), side="left")]
    return total < coverage * (weight.sum() + 1.0) * (1.0 - ROUNDING)
