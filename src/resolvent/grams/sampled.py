"""Newton's system of a linear kernel with far more rows than columns, from a sample of the rows.

X'DX over all rows is most of the work of a Newton step there. That of some rows preconditions
conjugate gradients on the whole system, each iteration of which reads X once: with s rows for each
column its condition is about (1 + 1/sqrt(s))^2 / (1 - 1/sqrt(s))^2, 3.7 for ten.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from resolvent.grams.systems import inverse

__all__ = ["FEWEST_COLUMNS", "ROWS", "is_worth_sampling", "sample_of", "solve_by_sample"]

ROWS = 10  # of the sample, for each column
FEWEST_COLUMNS = 100  # below which the whole system costs little
SHARE = 3  # of the rows, at most, that are in the sample: one of so many
HEAVY = 10.0  # times the mean: rows that no others stand for
ENOUGH = 0.03  # of the residual, in the norm of the preconditioner's inverse,
GAIN = 0.01  # and of x'Ax what the last iteration brought: ten times what is missing after it
MOST = 12  # iterations; then the sample says too little of the rest

Operator = Callable[[np.ndarray, np.ndarray], np.ndarray]


def is_worth_sampling(rows: int, columns: int) -> bool:
    """Whether a sample is so much less than all rows that iterations with these are paid for."""
    return columns >= FEWEST_COLUMNS and rows >= SHARE * ROWS * columns


def sample_of(
    rows: np.ndarray, weight: np.ndarray, squares: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Take about so many rows, at equal distances, and all that are far longer than the mean.

    Gives these rows and the weights with which they stand for all.
    """
    load = weight * squares
    is_heavy = load > HEAVY * load.mean()
    heavy, light = np.flatnonzero(is_heavy), np.flatnonzero(~is_heavy)
    some = light[:: max(1, len(light) // count)]
    share = weight[some] * (weight[light].sum() / weight[some].sum())
    return rows[np.append(heavy, some)], np.append(weight[heavy], share)


def solve_by_sample(
    sampled: np.ndarray, times: Operator, right: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve A x = right by preconditioned conjugate gradients.

    Parameters
    ----------
    sampled : ndarray of shape (d, d)
        What takes the place of A in the preconditioner.
    times : callable
        Called with x and a vector of n scores to fill; gives A x.
    right : ndarray of shape (d,)
        Right-hand side.
    n : int
        Number of scores.

    Returns
    -------
    tuple of ndarray or None
        The solution and its scores; None where they do not converge soon.
    """
    precondition = inverse(sampled)
    x, scores, new_scores = np.zeros_like(right), np.zeros(n), np.empty(n)
    left = right.copy()
    ahead = precondition(left)
    along, error = ahead, float(left @ ahead)
    enough, gained = ENOUGH**2 * error, 0.0
    for _ in range(MOST):
        image = times(along, new_scores)
        bend = float(along @ image)
        if not (error > 0.0 and bend > 0.0):
            break
        t = error / bend
        x += t * along
        scores += t * new_scores
        left -= t * image
        ahead = precondition(left)
        gain = t * error  # by so much the error in the norm of A falls, squared, and x'Ax grows
        gained += gain
        before, error = error, float(left @ ahead)
        if error <= enough and gain <= GAIN * gained:
            return x, scores
        along = ahead + (error / before) * along
    return None
