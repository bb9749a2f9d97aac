"""Theorem 3: linear convergence of (10) for positive definite K, or for f with Lipschitz gradient.

The printed proof has the rate mu_1 (1 + 1/L^2)^(-1/2), mu_1 = max_i |1 - alpha lambda_i(K)|: alpha
is missing beside (grad f)^-1. The right one is mu_1 / (1 + alpha/L), where L is the Lipschitz
modulus of grad f, the weights C included.
"""

import math

import numpy as np
import pytest
from naive import (
    definite,
    every_loss,
    fixed_point_step,
    null_space,
    our_fixed_point,
    singular,
    targets,
    weights,
)

from resolvent import solve
from resolvent.losses import LOSSES, Squared

N = 20

# Lipschitz modulus of L'(y, .); for a loss that is not here it counts as infinite.
MODULUS = {
    "squared": lambda p: 1.0,
    "squared_epsilon_insensitive": lambda p: 2.0,
    "huber": lambda p: 1.0,
    "expectile": lambda p: max(p.tau, 1 - p.tau),
    "squared_hinge": lambda p: 2.0,
    "smoothed_hinge": lambda p: 1 / p.width,
    "logistic": lambda p: 0.25,
    "modified_huber": lambda p: 2.0,
}

smooth_loss = pytest.mark.parametrize(
    "loss", [LOSSES[name]() for name in MODULUS], ids=list(MODULUS)
)
alpha_parts = pytest.mark.parametrize("part", [0.2, 0.5, 0.9])


def modulus(loss, C):
    name = next(name for name, cls in LOSSES.items() if cls is type(loss))
    return C.max() * MODULUS[name](loss) if name in MODULUS else math.inf


def mu_1(K, alpha):
    return np.abs(1 - alpha * np.linalg.eigvalsh(K)).max()


def corrected_rate(loss, K, C, alpha):
    return mu_1(K, alpha) / (1 + alpha / modulus(loss, C))


def printed_rate(loss, K, C, alpha):
    return mu_1(K, alpha) / math.sqrt(1 + 1 / modulus(loss, C) ** 2)


def contracts(loss, K, y, C, alpha, rate):
    """Check the theorem's inequality along the library's iterates, and the map on random pairs."""
    assert rate < 1
    solution = solve(loss, K, y, C, tol=0).coef
    residual = solution - fixed_point_step(loss, K, y, C, solution, alpha)
    # A fixed point that is known up to a residual r is off by r / (1 - rate) at most.
    off = np.linalg.norm(residual) / (1 - rate)
    assert off <= 1e-7 * np.linalg.norm(solution)
    rng = np.random.default_rng(0)
    start = solution + 10 * rng.standard_normal(N)
    distance = np.linalg.norm(start - solution)
    for c, _ in our_fixed_point(loss, K, y, C, alpha, 150, start):
        new = np.linalg.norm(c - solution)
        assert new <= rate * distance + 2 * off + 1e-12
        distance = new
    for scale in (0.01, 1.0, 100.0):
        first, second = scale * rng.standard_normal((2, N))
        images = [fixed_point_step(loss, K, y, C, c, alpha) for c in (first, second)]
        apart = np.linalg.norm(first - second)
        assert np.linalg.norm(images[0] - images[1]) <= rate * apart * (1 + 1e-12)


@every_loss
@alpha_parts
def test_positive_definite_kernel(loss, part):
    """Condition 1: any loss, the rate being mu_1 alone where grad f is not Lipschitz."""
    K = definite(N) + 0.1 * np.eye(N)
    y, C = targets(loss, N), weights(N)
    alpha = part * 2 / np.linalg.norm(K, 2)
    contracts(loss, K, y, C, alpha, corrected_rate(loss, K, C, alpha))


@smooth_loss
@alpha_parts
def test_singular_kernel_and_lipschitz_gradient(loss, part):
    """Condition 2: here mu_1 = 1, so all of the contraction comes from the loss."""
    K, y, C = singular(N), targets(loss, N), weights(N)
    alpha = part * 2 / np.linalg.norm(K, 2)
    assert mu_1(K, alpha) == pytest.approx(1.0, abs=1e-12)
    contracts(loss, K, y, C, alpha, corrected_rate(loss, K, C, alpha))


@smooth_loss
def test_modulus(loss):
    """The table of Lipschitz moduli is right: difference quotients of the resolvents show it.

    With a Lipschitz derivative the resolvent is a contraction with factor 1 / (1 + a/L), and the
    factor is attained.
    """
    bound = modulus(loss, np.ones(1))
    v = np.linspace(-8, 8, 4001)
    for a in (0.1, 1.0, 5.0):
        steepest = 0.0
        for y in (-1.0, 1.0):
            u = np.array([loss.resolvent(y, t, a) for t in v.tolist()])
            steepest = max(steepest, (np.diff(u) / np.diff(v)).max())
        assert steepest == pytest.approx(1 / (1 + a / bound), rel=1e-4)


def test_printed_rate_is_broken():
    """Least squares, C = 2, singular K: observed contraction is slower than the printed rate."""
    loss, K, C = Squared(), singular(N), np.full(N, 2.0)
    y = targets(loss, N)
    alpha = 1 / np.linalg.norm(K, 2)
    solution = solve(loss, K, y, C, tol=0).coef
    printed, corrected = printed_rate(loss, K, C, alpha), corrected_rate(loss, K, C, alpha)
    iterates = [c for c, _ in our_fixed_point(loss, K, y, C, alpha, 200)]
    errors = np.array([np.linalg.norm(c - solution) for c in iterates])
    observed = (errors[1:] / errors[:-1])[errors[1:] > 1e-8]
    print(f"printed {printed:.3f}, observed {observed.max():.3f}, corrected {corrected:.3f}")
    assert observed.max() > printed + 0.05
    assert observed.max() <= corrected + 1e-6


def test_corrected_rate_is_attained():
    """Along the null space of K least squares contract by exactly 1 / (1 + alpha/L)."""
    loss, K, C = Squared(), singular(N), np.full(N, 2.0)
    y = targets(loss, N)
    alpha = 1 / np.linalg.norm(K, 2)
    c = np.random.default_rng(0).standard_normal(N)
    move = fixed_point_step(loss, K, y, C, c + null_space(K)[:, 0], alpha)
    move -= fixed_point_step(loss, K, y, C, c, alpha)
    assert np.linalg.norm(move) == pytest.approx(corrected_rate(loss, K, C, alpha), rel=1e-12)


def test_printed_rate_can_be_too_slow_as_well():
    """A large alpha contracts faster than the printed rate admits: it does not depend on alpha."""
    loss, K, C = Squared(), 0.01 * singular(N), np.full(N, 2.0)
    alpha = 1 / np.linalg.norm(K, 2)
    assert corrected_rate(loss, K, C, alpha) < printed_rate(loss, K, C, alpha) - 0.1
    contracts(loss, K, targets(loss, N), C, alpha, corrected_rate(loss, K, C, alpha))
