"""The problem written a second time, for CVXPY, which shares no code or idea with the package.

An interior-point method sees the primal alone: no resolvent, no conjugate, no dual enters here.
With K = G G' the penalty is the squared norm of a = G'c and the scores are G a, which makes the
problem convex in CVXPY's eyes whatever rounding does to the small eigenvalues of K.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from resolvent.losses import LOSSES, Envelope, as_loss


def _smoothed_hinge(loss: Any, y: np.ndarray, z: cp.Expression) -> cp.Expression:
    # The Moreau envelope by its definition: one more variable instead of the closed form.
    t = cp.Variable(len(y))
    return cp.pos(1 - cp.multiply(y, t)) + cp.square(t - z) / (2 * loss.width)


def _poisson(_: Any, y: np.ndarray, z: cp.Expression) -> cp.Expression:
    entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
    return cp.exp(z) - cp.multiply(y, z) - y + entropy


def _gamma(_: Any, y: np.ndarray, z: cp.Expression) -> cp.Expression:
    return z - np.log(y) + cp.multiply(y, cp.exp(-z)) - 1


def _tweedie(loss: Any, y: np.ndarray, z: cp.Expression) -> cp.Expression:
    q, r = 2 - loss.p, loss.p - 1
    return cp.exp(q * z) / q + cp.multiply(y, cp.exp(-r * z)) / r - y**q / (q * r)


def _short(y: np.ndarray, z: cp.Expression) -> cp.Expression:
    return cp.pos(1 - cp.multiply(y, z))


TERMS: dict[str, Callable[[Any, np.ndarray, cp.Expression], cp.Expression]] = {
    "squared": lambda _, y, z: cp.square(y - z) / 2,
    "absolute": lambda _, y, z: cp.abs(y - z),
    "epsilon_insensitive": lambda loss, y, z: cp.pos(cp.abs(y - z) - loss.epsilon),
    "squared_epsilon_insensitive": lambda loss, y, z: cp.square(
        cp.pos(cp.abs(y - z) - loss.epsilon)
    ),
    "huber": lambda loss, y, z: cp.huber(y - z, loss.delta) / 2,
    "pinball": lambda loss, y, z: loss.tau * cp.pos(y - z) + (1 - loss.tau) * cp.pos(z - y),
    "expectile": lambda loss, y, z: (
        (loss.tau * cp.square(cp.pos(y - z)) + (1 - loss.tau) * cp.square(cp.pos(z - y))) / 2
    ),
    "poisson": _poisson,
    "gamma": _gamma,
    "tweedie": _tweedie,
    "hinge": lambda _, y, z: _short(y, z),
    "squared_hinge": lambda _, y, z: cp.square(_short(y, z)),
    "smoothed_hinge": _smoothed_hinge,
    "logistic": lambda _, y, z: cp.logistic(-cp.multiply(y, z)),
    "modified_huber": lambda _, y, z: cp.huber(_short(y, z), 2.0),
}

assert TERMS.keys() == LOSSES.keys(), "a new loss needs its line here"


def _terms(loss: Any, y: np.ndarray, z: cp.Expression) -> cp.Expression:
    if isinstance(loss, Envelope):  # by its definition, with one more variable
        t = cp.Variable(len(y))
        return _terms(loss.loss, y, t) + loss.alpha / 2 * cp.square(t - z)
    name = next(name for name, cls in LOSSES.items() if type(loss) is cls)
    return TERMS[name](loss, y, z)


def minimum(
    loss: Any, K: np.ndarray, y: np.ndarray, C: Any, fit_intercept: bool = False
) -> tuple[float, np.ndarray]:
    """Smallest value of sum_i C_i L(y_i, z_i + b) + c'Kc / 2, with the scores z + b there."""
    n = len(y)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    a = cp.Variable(n)
    scores = root @ a
    if fit_intercept:
        scores = scores + cp.Variable()
    terms = _terms(as_loss(loss), y, scores)
    problem = cp.Problem(cp.Minimize(np.broadcast_to(C, n) @ terms + cp.sum_squares(a) / 2))
    exact = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    with warnings.catch_warnings():
        # "May be inaccurate": it stopped a little short of that, at 1e-8 or so.
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        problem.solve(solver=cp.CLARABEL, **exact)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value), np.asarray(scores.value)
