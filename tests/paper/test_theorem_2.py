"""Theorem 2: for 0 < alpha < 2 / norm(K) the iteration (10) reaches the minimum; c^k is bounded."""

import numpy as np
import pytest
from naive import F, every_kernel, every_loss, our_fixed_point, singular, targets, weights

from resolvent import Status, solve

N = 20


@every_loss
@every_kernel
@pytest.mark.parametrize("part", [0.1, 0.5, 0.98])
def test_objective_converges_and_coefficients_stay_bounded(loss, make_kernel, part):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    alpha = part * 2 / np.linalg.norm(K, 2)
    best = solve(loss, K, y, C, tol=0)
    # Not c = 0, and outside the null space's complement too.
    start = np.random.default_rng(5).standard_normal(N)
    distance = np.linalg.norm(start - best.coef)
    reached = None
    for k, (c, _) in enumerate(our_fixed_point(loss, K, y, C, alpha, 20_000, start)):
        # The proof: the distance to a solution of (7) never grows, so c^k is bounded.
        new = np.linalg.norm(c - best.coef)
        assert new <= distance + 1e-9 * (1 + np.linalg.norm(best.coef)), k
        distance = new
        if k % 50 == 0 and F(loss, K, y, C, c) <= best.primal * (1 + 1e-6):
            reached = k
            break
    assert reached is not None
    assert F(loss, K, y, C, c) >= best.primal * (1 - 1e-9)


@pytest.mark.parametrize("part", [1 + 1e-9, 1.0001, 1.2, 5.0])
def test_condition_11_is_checked(part):
    K, y = singular(N), targets(None, N)
    alpha = part * 2 / np.linalg.norm(K, 2)
    with pytest.raises(ValueError, match=r"2 / norm\(K\)"):
        solve("squared", K, y, solver="fixed_point", alpha=alpha)


@pytest.mark.parametrize("alpha", [0.0, -0.1, np.nan, np.inf])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match="positive"):
        solve("squared", singular(N), targets(None, N), solver="fixed_point", alpha=alpha)


def test_just_below_the_bound_is_accepted():
    K, y = singular(N), targets(None, N)
    alpha = 0.9999 * 2 / np.linalg.norm(K, 2)
    args = {"solver": "fixed_point", "alpha": alpha, "accelerate": False}
    assert solve("squared", K, y, **args).status == Status.CONVERGED


def near_identity(n=300):
    """K near the identity: eigenvalues evenly spread over [0.9, 1]."""
    vectors, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))
    return (vectors * np.linspace(0.9, 1.0, n)) @ vectors.T


def test_valid_alpha_is_accepted_for_clustered_eigenvalues():
    """norm(K) = 1, so alpha = 1.5 is well inside (0, 2)."""
    K = near_identity()
    solution = solve("squared", K, targets(None, len(K)), solver="fixed_point", alpha=1.5)
    assert solution.status == Status.CONVERGED


def test_invalid_alpha_is_refused_for_clustered_eigenvalues():
    """One eigenvalue 1.01 above many 1: alpha = 1.99 exceeds 2/1.01 = 1.980."""
    n = 400
    K = np.diag(np.r_[np.ones(n - 1), 1.01])
    with pytest.raises(ValueError, match="too large"):
        solve("squared", K, np.ones(n), solver="fixed_point", alpha=1.99)


def test_condition_11_is_sharp():
    """Beyond the bound the naive iteration does diverge (squared loss, large C)."""
    K, y = singular(N), targets(None, N)
    norm = np.linalg.norm(K, 2)

    def size(part, steps=2000, C=1e9):
        alpha, c = part * 2 / norm, np.zeros(N)
        for _ in range(steps):
            c = (alpha * y - (alpha * K @ c - c)) / (1 + alpha / C)
        return np.linalg.norm(K @ c - y)

    assert size(0.99) < 2 * np.linalg.norm(y)
    assert size(1.01) > 1e10
