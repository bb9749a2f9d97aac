"""Probabilities of a support vector machine, by Platt's sigmoid of its out-of-fold scores.

A sigmoid P(first | f) = 1 / (1 + exp(A f + B)) is fitted to each pair of classes (Platt 1999; Lin,
Lin and Weng 2007), and for several classes the pairs are coupled (Wu, Lin and Weng 2004, their
second approach), as LIBSVM does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from resolvent._solve import solve
from resolvent.estimators.classes import pairs
from resolvent.grams import Gram

FOLDS = 5  # LIBSVM's
EDGE = 1e-7  # probabilities of pairs stay so far from 0 and 1, as in LIBSVM
MAX_NEWTON, MAX_HALVINGS = 100, 40


def make_folds(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the fold of each sample; each class is spread over all folds."""
    fold = np.empty(len(codes), np.intp)
    start = 0
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        fold[members] = (start + np.arange(len(members))) % FOLDS
        start += len(members)
    return fold


def out_of_fold_scores(
    K: Gram, signs: np.ndarray, weight: np.ndarray, fold: np.ndarray, **settings: Any
) -> np.ndarray:
    """Scores of samples by machines that were fitted without their fold, all on one kernel."""
    held_out = fold[:, None] == np.arange(FOLDS)
    used = np.unique(fold)  # a small set may leave some without samples
    held_out = held_out[:, used]
    several = np.repeat(signs[:, None], len(used), axis=1)
    weights = np.where(held_out, 0.0, weight[:, None])
    inside = weights.any(axis=0)  # nobody else is left where a single sample is a fold
    scores = np.zeros(held_out.shape)
    solution = solve("hinge", K, several[:, inside], weights[:, inside], **settings)
    scores[:, inside] = solution.fitted
    return scores[held_out]  # row by row: each sample is held out once


def fit_sigmoid(scores: np.ndarray, first: np.ndarray) -> tuple[float, float]:
    """Maximum likelihood of A and B, with Platt's targets, by Newton's method with halving."""
    n, n_first = len(first), np.count_nonzero(first)
    target = np.where(first, (n_first + 1.0) / (n_first + 2.0), 1.0 / (n - n_first + 2.0))
    design = np.column_stack([scores, np.ones(n)])

    def value(x: np.ndarray) -> float:
        t = design @ x
        return float((target * t + np.logaddexp(0.0, -t)).sum())

    x = np.array([0.0, np.log((n - n_first + 1.0) / (n_first + 1.0))])
    best = value(x)
    for _ in range(MAX_NEWTON):
        p = expit(-(design @ x))
        gradient = design.T @ (target - p)
        if np.abs(gradient).max() <= 1e-10 * n:
            break
        hessian = (design * (p * (1.0 - p))[:, None]).T @ design
        hessian += 1e-12 * np.eye(2)
        move = -np.linalg.solve(hessian, gradient)
        for halvings in range(MAX_HALVINGS):
            trial = x + 0.5**halvings * move
            if value(trial) <= best + 1e-4 * 0.5**halvings * float(gradient @ move):
                break
        else:
            break  # at the limit of rounding
        x, best = trial, value(trial)
    return float(x[0]), float(x[1])


def pair_probabilities(scores: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Probabilities of the first class of each pair, shape (n, pairs)."""
    return np.clip(expit(-(A * scores + B)), EDGE, 1.0 - EDGE)


def couple(first: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of the classes from those of their pairs.

    They minimise the sum over i < j of (r_ji p_i - r_ij p_j)^2 where r_ij is the probability of i
    among i and j, subject to a sum of 1: a linear system for each sample.
    """
    n = len(first)
    if n_classes == 2:
        return np.column_stack([first[:, 0], 1.0 - first[:, 0]])
    r = np.zeros((n, n_classes, n_classes))
    for p, (i, j) in enumerate(pairs(n_classes)):
        r[:, i, j], r[:, j, i] = first[:, p], 1.0 - first[:, p]
    system = np.ones((n, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, -1, -1] = 0.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
