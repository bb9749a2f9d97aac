"""Landmarks: the samples whose kernel functions span the subspace of a low-rank fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from resolvent.grams.values import IsOver, Values

__all__ = ["LANDMARKS", "choose_landmarks", "read_landmarks", "rpcholesky", "weighted"]

LANDMARKS = ("rpcholesky", "uniform")
SUBSAMPLE = 15  # rows, for each landmark, among which they are sought
BLOCKS = 10  # in which they are proposed
LEAST_BLOCK = 8
SPENT = 1e-10  # of the trace: a residual that is nothing


def choose_landmarks(
    values: Values, method: str, rank: int, rng: np.random.Generator, is_over: IsOver
) -> np.ndarray:
    """Choose `rank` samples by their indices, or of fewer where those span all others."""
    if method == "uniform":
        return np.sort(rng.choice(values.n, rank, replace=False))
    rows = rng.choice(values.n, min(values.n, SUBSAMPLE * rank), replace=False)
    return rpcholesky(values, np.sort(rows), rank, rng, is_over)


def rpcholesky(
    values: Values, rows: np.ndarray, rank: int, rng: np.random.Generator, is_over: IsOver
) -> np.ndarray:
    """Randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber 2022) on some rows, by blocks.

    Each pivot is drawn with a probability in proportion to the residual diagonal of K - FF', F the
    partial Cholesky factor. A block of pivots is proposed at a time; a proposal is accepted with
    the probability that what the pivots before it, in its block, have left of its residual bears
    to what was proposed, so that the pivots have the same law as those drawn one by one (Epperly,
    Tropp, Webber 2024).
    """
    residual = values.diagonal[rows].copy()
    nothing = SPENT * float(residual.sum())
    factor = np.zeros((len(rows), rank), values.dtype)
    pivots: list[int] = []
    while len(pivots) < rank and residual.sum() > nothing and not is_over():
        k = len(pivots)
        size = max(LEAST_BLOCK, -(-rank // BLOCKS))
        proposed = rng.choice(len(rows), size, p=residual / residual.sum())
        known = factor[proposed, :k].astype(np.float64)
        accepted = _accept(values.square(values.take(rows[proposed])) - known @ known.T, rng)
        new = proposed[accepted][: rank - k]
        if not len(new):
            residual[proposed] = 0.0  # nothing but rounding is left of them
            continue
        _extend(values, rows, factor, k, new, residual, is_over)
        pivots.extend(new.tolist())
    return rows[pivots or [0]]  # one, if there is no time, or nothing that is not zero


def _accept(residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions of the accepted proposals, whose residual matrix is given and used up."""
    proposed, accepted = residual.diagonal().copy(), []
    for i, chance in enumerate(rng.random(len(residual))):
        pivot = residual[i, i]
        if pivot > max(chance, 1e-6) * proposed[i]:
            accepted.append(i)
            residual -= np.outer(residual[:, i], residual[i]) / pivot
    return np.array(accepted, np.intp)


def _extend(
    values: Values,
    rows: np.ndarray,
    factor: np.ndarray,
    k: int,
    new: np.ndarray,
    residual: np.ndarray,
    is_over: IsOver,
) -> None:
    """Add the columns of new pivots to the factor, and take them from the residual diagonal."""
    pivots, known = values.take(rows[new]), factor[new, :k].copy()
    system = values.square(pivots) - known.astype(np.float64) @ known.T
    root = np.linalg.cholesky(system + 1e-7 * system.trace() / len(new) * np.eye(len(new)))
    inverse = solve_triangular(root, np.eye(len(new)), lower=True).T.astype(factor.dtype)

    def add(start: int, tile: np.ndarray) -> None:
        here = slice(start, start + len(tile))
        tile -= factor[here, :k] @ known.T
        columns = factor[here, k : k + len(new)]
        np.matmul(tile, inverse, out=columns)
        residual[here] -= np.einsum("ij,ij->i", columns, columns, dtype=np.float64)

    values.each_tile(rows, pivots, add, is_over)
    np.maximum(residual, 0.0, out=residual)
    residual[new] = 0.0


def weighted(chance: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw so many different indices, or all that can be drawn, with chances in proportion."""
    possible = np.flatnonzero(chance > 0.0)
    if len(possible) <= count:
        return possible
    p = chance[possible] / chance[possible].sum()
    return np.sort(rng.choice(possible, count, replace=False, p=p))


def read_landmarks(landmarks: Any, n: int) -> tuple[str, Any]:
    """Tell a method, indices and rows apart: the kind, and what was given."""
    if isinstance(landmarks, str):
        if landmarks not in LANDMARKS:
            raise ValueError(
                f"landmarks={landmarks!r} is unknown; choose 'rpcholesky' or 'uniform', or give "
                "indices of samples, or the landmarks themselves as rows."
            )
        return landmarks, None
    array = landmarks if hasattr(landmarks, "dtype") else _as_array(landmarks)
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if landmarks is None or kind == "b" or getattr(array, "size", 1) == 0:
        raise ValueError(
            f"landmarks must be 'rpcholesky' or 'uniform', or indices of samples, or samples as "
            f"rows; got {'a mask: np.flatnonzero has its indices' if kind == 'b' else landmarks!r}."
        )
    if getattr(array, "ndim", 0) == 1 and array.dtype.kind in "iu":
        index = np.unique(array)
        if not len(index) or index[0] < 0 or index[-1] >= n:
            raise ValueError(
                f"landmarks must be indices of the {n} samples, from 0 to {n - 1}; got "
                f"{'none' if not len(index) else f'{index[0]} to {index[-1]}'}."
            )
        return "indices", index.astype(np.intp)
    return "rows", landmarks


def _as_array(landmarks: Any) -> Any:
    """Numbers as an array; None for objects of other kinds."""
    try:
        array = np.asarray(landmarks)
    except ValueError:  # lists of different lengths
        return None
    return array if array.dtype.kind in "iufb" else None
