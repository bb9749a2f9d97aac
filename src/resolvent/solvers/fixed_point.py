"""Fixed-point iteration, the non-linear Jacobi method (paper, section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from resolvent.grams import Gram
from resolvent.problem import Array, Problem
from resolvent.problem.certificate import bounds
from resolvent.solvers.iterate import Iteration, Point, Steps

ALPHAS = ("spectral", "trace", "jacobi")


def fixed_point(
    problem: Problem, alpha: Any = "spectral", accelerate: bool = True
) -> Callable[[Point], Steps]:
    """Iterate the optimality equation on all coefficients at once.

    Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F.
    Iteration: c <- -J_alpha(alpha K c - c), equation (10): step 1 the product z = Kc, one for all
    problems; step 2 v = alpha z - c; step 3 the resolvent. With `alpha` a vector it is equation
    (12), each coordinate with its own alpha_i. With an offset b, which is chosen so that the new
    coefficients sum to zero, v = alpha (z + b) - c.
    Stopping: `iterate`, by the duality gap or by the largest change of a coefficient.
    Convergence: Theorem 2, for 0 < alpha < 2 / norm(K); Theorem 3 for the rate.

    The iteration is a proximal gradient step on Q. With `accelerate` it starts from a point
    extrapolated along the last change (Nesterov); where Q rose, the problem goes back to the
    coefficients before and takes the plain step, so that it never ends worse than without.
    """
    gram, risk = problem.gram, problem.risk
    if problem.couples and (np.ndim(alpha) > 0 or alpha == "jacobi"):
        raise ValueError(
            f"alpha={alpha!r} gives each coordinate its own step, which the loss "
            f"{type(problem.loss).__name__} does not allow, as it couples them: use 'spectral', "
            "'trace' or a number."
        )

    def dual(j: int, coef: Array, scores: Array) -> float:
        return -bounds(problem, j, coef, scores, 0.0)[1]

    def steps(point: Point) -> Steps:
        yield None  # who gives no time wants no product either
        # Here, where time limit and interrupt are watched.
        alphas = step_sizes(alpha, problem.kernel)
        if problem.couples:
            alphas = np.full(problem.n, min(alphas[0], problem.risk.longest))
        before = point.coef.copy()
        scores_before = gram.product(before)
        dual_before = np.full(problem.m, np.inf)
        momentum = np.ones(problem.m)
        while True:
            largest = np.zeros(problem.m)
            running = point.running
            scores = gram.scores(point.state[running])
            for j, z in zip(running, scores, strict=True):
                c = point.coef[j].copy()
                v, z_v = c, z
                if accelerate:
                    height = dual(j, c, z)
                    if height > dual_before[j]:  # go back, and take the plain step from there
                        c, z = before[j].copy(), scores_before[j].copy()
                        height, momentum[j] = dual_before[j], 1.0
                    longer = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum[j] ** 2))
                    beta = (momentum[j] - 1.0) / longer
                    v = c + beta * (c - before[j])
                    z_v = z + beta * (z - scores_before[j])
                    before[j], scores_before[j], dual_before[j] = c, z, height
                    momentum[j] = longer
                if problem.fit_intercept:
                    point.intercept[j] = risk.balance(j, v, z_v, alphas, point.intercept[j])
                point.coef[j] = risk.step(j, v, z_v, point.intercept[j], alphas)
                # From v too: an extrapolated step that lands on c again proves nothing of c.
                largest[j] = max(np.abs(point.coef[j] - x).max() for x in (c, v))
            point.state[running] = gram.state(point.coef[running])
            point.work[running] += float(gram.n) * gram.row_cost
            yield Iteration(largest)

    return steps


def step_sizes(alpha: Any, gram: Gram) -> Array:
    """Turn `alpha` into a valid alpha_i for each coordinate.

    Valid is 0 < alpha < 2 / norm(K), equation (11); for a vector, norm(D K D) < 2 with D the
    diagonal matrix of the square roots of alpha_i.
    """
    n = gram.n
    if isinstance(alpha, str):
        if alpha == "trace":
            return np.full(n, 1.0 / (gram.trace or 1.0))
        if alpha == "spectral":
            return np.full(n, 1.0 / (spectral_norm(gram, np.ones(n))[1] or 1.0))
        if alpha == "jacobi":
            mean = gram.trace / n or 1.0
            inverse = 1.0 / np.maximum(gram.diagonal, 1e-6 * mean)
            return inverse / (spectral_norm(gram, inverse)[1] or 1.0)
        raise ValueError(
            f"alpha={alpha!r} is unknown; choose one of {', '.join(ALPHAS)}, a number in "
            "(0, 2 / norm(K)), or a vector of numbers."
        )
    try:
        given = np.broadcast_to(np.asarray(alpha, dtype=float), n)
    except (TypeError, ValueError):
        raise ValueError(f"alpha={alpha!r} must be a number or a vector of length {n}.") from None
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"alpha={alpha!r} must be positive and finite.")
    norm, _ = spectral_norm(gram, given, accuracy=1e-10, max_steps=200)
    if norm >= 2.0:
        raise ValueError(
            f"alpha is too large by a factor of {norm / 2.0:.3g}: the iteration converges for "
            f"0 < alpha < 2 / norm(K), here {2.0 * given.max() / norm:.6g} where alpha is "
            f"{given.max():.6g}. Use alpha='spectral' to have it chosen."
        )
    return np.ascontiguousarray(given)


def spectral_norm(
    gram: Gram, scale: Array, accuracy: float = 1e-3, max_steps: int = 40
) -> tuple[float, float]:
    """Bound norm(D K D), D^2 = diag(scale), from below and above, by Lanczos' iteration.

    The lower bound is the largest Ritz value. The upper one adds the norm of its residual, and a
    thousandth for safety; the trace bounds it too.
    """
    root = np.sqrt(scale)
    v = np.random.default_rng(0).standard_normal(gram.n)
    basis = [v / np.linalg.norm(v)]
    diagonal, beyond = [], []
    trace = float(scale @ gram.diagonal)
    low, high = 0.0, trace
    for _ in range(min(max_steps, gram.n)):
        v = root * gram.product((root * basis[-1])[None])[0]
        diagonal.append(float(v @ basis[-1]))
        for q in (*basis, *basis):  # twice: once is not enough where eigenvalues cluster
            v = v - (v @ q) * q
        beyond.append(float(np.linalg.norm(v)))
        values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beyond[:-1]))
        low = float(values[-1])
        residual = beyond[-1] * abs(vectors[-1, -1])
        high = min(trace, (low + residual) * 1.001)
        if residual <= accuracy * low or beyond[-1] <= 1e-14 * trace:
            break
        basis.append(v / beyond[-1])
    return low, high
