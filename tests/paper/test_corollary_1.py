"""Corollary 1: for separable f every coordinate may have its own alpha_i > 0 in equation (8)."""

import numpy as np
import pytest
from naive import (
    every_kernel,
    every_loss,
    fixed_point_step,
    minus_J_by_value,
    our_fixed_point,
    targets,
    weights,
)

from resolvent import solve

N = 20


@every_loss
@every_kernel
def test_solution_satisfies_equation_8(loss, make_kernel):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    c = solve(loss, K, y, C, tol=0).coef
    scale = np.abs(c).max()
    for seed in range(3):
        alpha = 10 ** np.random.default_rng(seed).uniform(-2, 1, N)
        ours = fixed_point_step(loss, K, y, C, c, alpha)
        assert np.abs(c - ours).max() <= 1e-8 * scale  # alpha_i up to 10; see test_theorem_1
        v = alpha * (K @ c) - c
        brute = [minus_J_by_value(loss, y[i], C[i], v[i], alpha[i]) for i in range(N)]
        assert np.abs(c - brute).max() <= 2e-5 * max(scale, 1.0)
    # Section 4: with alpha_i = 1 / k_ii the coefficient itself cancels, equation (13).
    alpha = 1 / K.diagonal()
    others = K @ c / K.diagonal() - c
    assert np.allclose(others, [(np.delete(K[i], i) @ np.delete(c, i)) / K[i, i] for i in range(N)])
    assert np.abs(c - fixed_point_step(loss, K, y, C, c, alpha)).max() <= 1e-8 * scale


@every_loss
def test_iteration_with_own_alphas(loss):
    """Equation (12) with c^k kept whole: a step that the solver takes for a vector alpha."""
    K, y, C = 2.0 * np.eye(N) + 0.1, targets(loss, N), weights(N)
    alpha = np.random.default_rng(0).uniform(0.05, 0.4, N)
    c = np.zeros(N)
    for ours, _ in our_fixed_point(loss, K, y, C, alpha, 10):
        c = fixed_point_step(loss, K, y, C, c, alpha)
        assert np.abs(ours - c).max() <= 1e-12 * np.abs(c).max()


def test_own_alphas_are_checked():
    """The condition (11) for a vector is norm(D K D) < 2 with D^2 = diag(alpha)."""
    K = np.diag([1.0, 10.0, 100.0])
    y = np.ones(3)
    solve("squared", K, y, solver="fixed_point", alpha=[1.9, 0.19, 0.019])
    with pytest.raises(ValueError, match="too large"):
        solve("squared", K, y, solver="fixed_point", alpha=[1.9, 0.21, 0.019])
    with pytest.raises(ValueError, match="positive"):
        solve("squared", K, y, solver="fixed_point", alpha=[1.0, 0.0, 0.01])
