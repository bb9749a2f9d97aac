"""Theorem 1: for every alpha > 0 there is an optimal c with c = -J_alpha(alpha K c - c)."""

import cvxpy as cp
import numpy as np
import pytest
from naive import (
    F,
    every_kernel,
    every_loss,
    fixed_point_step,
    minus_J_by_value,
    null_space,
    singular,
    targets,
    weights,
)

from resolvent import solve
from resolvent.losses import LOSSES, Hinge, Squared

N = 20

# Each loss in the terms of an interior-point solver, sharing nothing with the library.
CONIC = {
    "squared": lambda p, y, z: cp.square(y - z) / 2,
    "absolute": lambda p, y, z: cp.abs(y - z),
    "epsilon_insensitive": lambda p, y, z: cp.pos(cp.abs(y - z) - p.epsilon),
    "squared_epsilon_insensitive": lambda p, y, z: cp.square(cp.pos(cp.abs(y - z) - p.epsilon)),
    "huber": lambda p, y, z: cp.huber(y - z, p.delta) / 2,
    "pinball": lambda p, y, z: p.tau * cp.pos(y - z) + (1 - p.tau) * cp.pos(z - y),
    "expectile": lambda p, y, z: (
        p.tau * cp.square(cp.pos(y - z)) / 2 + (1 - p.tau) * cp.square(cp.pos(z - y)) / 2
    ),
    "poisson": lambda p, y, z: cp.exp(z) - cp.multiply(y, z) - y + y * np.log(np.maximum(y, 1e-9)),
    "gamma": lambda p, y, z: z - np.log(y) + cp.multiply(y, cp.exp(-z)) - 1,
    "tweedie": lambda p, y, z: (
        cp.exp((2 - p.p) * z) / (2 - p.p)
        + cp.multiply(y, cp.exp((1 - p.p) * z)) / (p.p - 1)
        - y ** (2 - p.p) / ((2 - p.p) * (p.p - 1))
    ),
    "hinge": lambda p, y, z: cp.pos(1 - cp.multiply(y, z)),
    "squared_hinge": lambda p, y, z: cp.square(cp.pos(1 - cp.multiply(y, z))),
    "smoothed_hinge": lambda p, y, z: (
        cp.huber(cp.pos(1 - cp.multiply(y, z)), p.width) / (2 * p.width)
    ),
    "logistic": lambda p, y, z: cp.logistic(-cp.multiply(y, z)),
    "modified_huber": lambda p, y, z: cp.huber(cp.pos(1 - cp.multiply(y, z)), 2),
}


def optimal(loss, K, y, C):
    return solve(loss, K, y, C, tol=0).coef


@every_loss
@every_kernel
def test_solution_satisfies_equation_7(loss, make_kernel):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    c = optimal(loss, K, y, C)
    scale = np.abs(c).max()
    for alpha in (0.01, 0.3, 1.0, 20.0):
        residual = c - fixed_point_step(loss, K, y, C, c, alpha)
        # c solves a system with condition up to 1e3 to rounding; v has terms up to alpha |z|.
        assert np.abs(residual).max() <= 1e-9 * max(alpha, 1.0) * scale, alpha
        v = alpha * K @ c - c
        brute = [minus_J_by_value(loss, y[i], C[i], v[i], alpha) for i in range(N)]
        # The search by values finds z to about 1e-8, and alpha z - v is the coefficient.
        assert np.abs(c - brute).max() <= 2e-6 * max(alpha, 1.0) * max(scale, 1.0), alpha


@every_loss
@every_kernel
def test_that_solution_is_optimal(loss, make_kernel):
    """What satisfies the equation has the objective that an interior-point solver finds."""
    name = next(name for name, cls in LOSSES.items() if cls is type(loss))
    if name not in CONIC:
        pytest.skip(f"{name} is not written for CVXPY")
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    w = cp.Variable(N)
    objective = cp.sum(cp.multiply(C, CONIC[name](loss, y, root @ w))) + cp.sum_squares(w) / 2
    reference = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    # Clarabel stops at a relative gap of 1e-8.
    assert F(loss, K, y, C, optimal(loss, K, y, C)) == pytest.approx(reference, rel=1e-6)


@every_loss
@every_kernel
def test_equation_fails_elsewhere(loss, make_kernel):
    """The equation is sufficient: away from the solutions it does not hold."""
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    c = optimal(loss, K, y, C)
    best = F(loss, K, y, C, c)
    move = K @ np.random.default_rng(3).standard_normal(N)
    other = c + 0.1 * np.abs(c).max() * move / np.abs(move).max()
    assert F(loss, K, y, C, other) > best + 1e-6 * best
    for alpha in (0.01, 1.0, 20.0):
        residual = other - fixed_point_step(loss, K, y, C, other, alpha)
        assert np.abs(residual).max() > 1e-5


@pytest.mark.parametrize("loss", [Hinge(), Squared()])
def test_other_minimisers_need_not_satisfy_it(loss):
    """'There exist': with singular K a move along the null space keeps F and breaks (7)."""
    K, y, C = singular(N), targets(loss, N), weights(N)
    c = optimal(loss, K, y, C)
    other = c + null_space(K)[:, 0]
    assert F(loss, K, y, C, other) == pytest.approx(F(loss, K, y, C, c), rel=1e-12)
    assert np.abs(other - fixed_point_step(loss, K, y, C, other, 0.1)).max() > 1e-3
