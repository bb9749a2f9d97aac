"""From the table of a search to `cv_results_` and the choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.model_selection.search import Table
from resolvent.problem import Array


def tabulate(table: Table, gammas: list[Any], Cs: Array) -> dict[str, Any]:
    """Arrange the table as scikit-learn's GridSearchCV does: one entry for each pair."""
    params: list[dict[str, Any]] = [
        _parameter(g, gamma) | {"C": C} for g, gamma in enumerate(gammas) for C in Cs.tolist()
    ]
    folds = table.scores.reshape(len(params), -1)
    results: dict[str, Any] = {}
    for name in params[0]:
        values = np.empty(len(params), object if name == "kernel" else None)
        values[:] = [p[name] for p in params]
        results[f"param_{name}"] = np.ma.masked_array(values, mask=np.zeros(len(params), bool))
    results["params"] = params
    for k in range(folds.shape[1]):
        results[f"split{k}_test_score"] = folds[:, k]
    means = folds.mean(axis=1)
    results["mean_test_score"] = means
    sizes = np.maximum(np.abs(folds).max(axis=1), 1.0)  # the squares of scores may overflow
    results["std_test_score"] = sizes * (folds / sizes[:, None]).std(axis=1)
    known = np.where(np.isnan(means), -np.inf, means)
    results["rank_test_score"] = np.array([1 + np.sum(known > m) for m in known], dtype=np.int32)
    results["max_relative_gap"] = table.gaps.reshape(len(params), -1).max(axis=1)
    return results


def _parameter(g: int, gamma: Any) -> dict[str, Any]:
    """Name the entry number g of the grid: gamma, a kernel, or a matrix by its number."""
    if gamma is None:
        return {}
    if isinstance(gamma, np.ndarray):
        return {"matrix": g}
    return {"gamma" if isinstance(gamma, float) else "kernel": gamma}


def at_edges(best: dict[str, Any], gammas: list[Any], Cs: Array) -> dict[str, str]:
    """Which parameters of the chosen pair are the "smallest" or the "largest" of their grid.

    A grid of fewer than three values has nothing but edges, and none is named.
    """
    edges = {}
    for name, grid in (("gamma", gammas), ("C", Cs.tolist())):
        if name in best and len(grid) > 2 and best[name] in (grid[0], grid[-1]):
            edges[name] = "smallest" if best[name] == grid[0] else "largest"
    return edges


def choose(table: Table, gammas: list[Any], Cs: Array, rule: str) -> int:
    """Index of the chosen pair.

    The best mean score, the smallest C and then gamma among equals; by the rule of one standard
    error the smallest C, then the smallest gamma, whose mean is within one standard error of it.
    """
    means = np.where(table.complete & ~np.isnan(table.means), table.means, -np.inf)
    if not np.isfinite(means.max()):
        if table.complete.any():
            raise ValueError(
                "The scores are not numbers: scoring is not defined on these folds (r2 needs two "
                "samples in each); choose another, such as 'neg_mean_squared_error'."
            )
        return int(len(gammas) // 2 * len(Cs) + len(Cs) // 2)  # nothing is known: the middle
    bar = means.max()
    if rule == "one_standard_error":
        folds = table.scores[np.unravel_index(means.argmax(), means.shape)]
        bar -= folds.std(ddof=1 if len(folds) > 1 else 0) / np.sqrt(len(folds))
    good = np.argwhere(means >= bar)
    g, i = min(good.tolist(), key=lambda cell: (cell[1], cell[0]))
    return int(g * len(Cs) + i)
