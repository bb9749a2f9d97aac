"""Upper bounds on c'Kc for the certificate of the original problem, exact or from a sample.

c'Kc is computed from pairs of support vectors, streaming, or c'Ec is bounded from a sample. There
sample i has the probability p_i = |c_i| sqrt(e_i) / S, e the diagonal of E and S the sum of the
numerators; X_i = S sign(c_i) (Ec)_i / sqrt(e_i) has the mean Q = c'Ec, and |X_i| <= S sqrt(Q) by
Cauchy and Schwarz. For q draws of mean M and variance V the empirical Bernstein bound (Maurer and
Pontil 2009, theorem 4, for a range of length 2 S sqrt(Q)) says that with probability 1 - delta

    Q <= M + sqrt(2 V ln(2 / delta) / q) + 2 t sqrt(Q),    t = 7 S ln(2 / delta) / (3 (q - 1)),

that is sqrt(Q) <= t + sqrt(t^2 + M + sqrt(2 V ln(2 / delta) / q)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._threads import run
from resolvent.grams.nystroem import NystroemGram
from resolvent.grams.panels import add_products
from resolvent.grams.rows import scratch
from resolvent.grams.values import IsOver, Values
from resolvent.kernels.rows import split
from resolvent.problem import Array

__all__ = [
    "DELTA",
    "DRAWS",
    "Forms",
    "Notify",
    "bernstein",
    "choose_method",
    "exact_forms",
    "is_affordable",
    "sampled_forms",
]

TILE = 768  # support vectors on either side of a tile
COLUMNS = 2048  # support vectors of a tile beside sampled rows
DRAWS = 8192
DELTA = 1e-3  # probability with which a sampled bound may fail
# The exact pass is made where it costs at most so many times the features, or so little at all:
# some seconds. In multiply-adds.
MOST_TIMES = 4.0
LITTLE = 2e11

Notify = Callable[[float], None]


class Forms(NamedTuple):
    """Upper bounds of c'Kc, one for each column, and how they were found."""

    bound: Array
    method: str
    probability: float = 1.0
    interrupted: bool = False


def choose_method(K: NystroemGram, coef: Array) -> str:
    """Whether the exact pass over pairs is worth its cost."""
    count = int(np.count_nonzero(coef.any(axis=1)))
    good = is_affordable(count, K.n, K.values.cost, coef.shape[1], K.rank)
    return "exact" if good else "sampled"


def is_affordable(support: int, n: int, cost: int, columns: int, rank: int) -> bool:
    """Whether all pairs of support vectors take no longer than a few times the features do."""
    exact = 0.5 * support**2 * (cost + columns)
    features = n * rank * (cost + 0.5 * rank)
    return exact <= max(LITTLE, MOST_TIMES * features) or support <= 2 * DRAWS


def exact_forms(values: Values, coef: Array, is_over: IsOver, notify: Notify) -> Forms:
    """Compute c'Kc of each column, by tiles of pairs of support vectors, none of which is kept.

    Where the time is over, or at Ctrl-C, pairs of tiles that were not seen are bounded by
    |k(a, b)| <= sqrt(k(a, a) k(b, b)).
    """
    support = np.flatnonzero(coef.any(axis=1))
    tiles = list(split(support, TILE))
    samples, parts = [values.take(t) for t in tiles], [coef[t] for t in tiles]
    sizes = [np.abs(coef[t]).T @ np.sqrt(values.diagonal[t]) for t in tiles]
    pairs = [(a, b) for a in range(len(tiles)) for b in range(a, len(tiles))]
    twice = np.array([1.0 if a == b else 2.0 for a, b in pairs]).reshape(-1, 1)
    forms = np.array([sizes[a] * sizes[b] for a, b in pairs]).reshape(-1, coef.shape[1])
    seen = np.zeros(len(pairs), bool)

    def add(k: int) -> None:
        if is_over():
            return
        a, b = pairs[k]
        tile = scratch(len(tiles[a]), len(tiles[b]), values.dtype)
        values.fill(samples[a], samples[b], tile)
        if a == b:
            np.fill_diagonal(tile, values.diagonal[tiles[a]])
        scores = np.zeros((len(tile), coef.shape[1]))
        add_products(tile, parts[b], scores, 0)
        forms[k] = np.einsum("ij,ij->j", parts[a], scores)
        seen[k] = True
        notify(seen.mean() if k % 64 == 0 else -1.0)

    interrupted = False
    try:
        run(add, [(k,) for k in range(len(pairs))], values.parallel)
    except KeyboardInterrupt:
        interrupted = True
    bound = np.maximum((twice * forms).sum(axis=0), 0.0)
    return Forms(bound, "exact" if seen.all() else "incomplete", 1.0, interrupted)


def sampled_forms(
    K: NystroemGram,
    coef: Array,
    low: Array,
    rng: np.random.Generator,
    is_over: IsOver,
    notify: Notify,
    draws: int = DRAWS,
) -> Forms:
    """Bound c'Kc = |Z'c|^2 + c'Ec of each column from a sample, with probability 1 - DELTA for all.

    Where the time is over, or at Ctrl-C, by c'Ec <= S^2.
    """
    values = K.values
    roots = np.sqrt(K.residual_diagonal + 8.0 * values.noise * values.diagonal)
    m = coef.shape[1]
    bound, method, interrupted = np.empty(m), "sampled", False
    for j in range(m):
        c = coef[:, j]
        chance = np.abs(c) * roots
        total = float(chance.sum())
        bound[j] = total**2
        if total == 0.0 or method == "incomplete":
            continue
        drawn = rng.choice(len(c), draws, p=chance / total)
        rows, which = np.unique(drawn, return_inverse=True)
        try:
            products = _rows_times(values, rows, c, is_over, notify)
        except KeyboardInterrupt:
            products, interrupted = None, True
        if products is None:
            method = "incomplete"
            continue
        products -= K.X[rows].astype(np.float64) @ low[:, j]
        X = (total * np.sign(c[rows]) * products / roots[rows])[which]
        bound[j] = min(bound[j], bernstein(X, total, DELTA / m))
    bound += np.einsum("ij,ij->j", low, low)
    return Forms(bound, method, 1.0 - DELTA if method == "sampled" else 1.0, interrupted)


def bernstein(X: Array, total: float, delta: float) -> float:
    """Upper bound on Q = E X, where |X| <= total sqrt(Q), that holds with probability 1 - delta."""
    q, log = len(X), math.log(2.0 / delta)
    t = 7.0 * total * log / (3.0 * (q - 1))
    mean, variance = float(X.mean()), float(X.var(ddof=1))
    root = t + math.sqrt(max(0.0, t * t + mean + math.sqrt(2.0 * variance * log / q)))
    return root * root


def _rows_times(
    values: Values, rows: NDArray[np.intp], coef: Array, is_over: IsOver, notify: Notify
) -> Array | None:
    """Rows of K times coefficients; None if the time is over."""
    result = np.zeros((len(rows), 1))

    def add(start: int, tile: np.ndarray) -> None:
        add_products(tile, part, result, start)

    support = np.flatnonzero(coef)
    for start in range(0, len(support), COLUMNS):
        index = support[start : start + COLUMNS]
        part = coef[index, None]
        if not values.each_tile(rows, values.take(index), add, is_over):
            return None
        notify(start / len(support))
    return result[:, 0]
