"""Theorem 5, corrected: solutions are stationary points of a differentiable functional."""

import numpy as np
import pytest
from naive import every_kernel, every_loss, minus_J, targets, weights

from resolvent import Problem, reformulate, solve
from resolvent.losses import envelope

N = 20
every_alpha = pytest.mark.parametrize("alpha", [0.02, 0.5, 1.0, 10.0])


def naive_value(loss, K, y, C, c, alpha):
    """alpha f_alpha(K_alpha c / alpha) + c'K_alpha c / 2 with (C L)_alpha = C L_{alpha / C}."""
    v = alpha * K @ c - c
    terms = [C[i] * envelope(loss, alpha / C[i]).value(y[i], v[i] / alpha) for i in range(len(y))]
    return alpha * sum(terms) + c @ v / 2


def naive_gradient(loss, K, y, C, c, alpha):
    v = alpha * K @ c - c
    J = -np.array([minus_J(loss, y[i], C[i], v[i], alpha) for i in range(len(y))])
    return (alpha * K - np.eye(len(y))) @ (J + c)


def setting(loss, make_kernel):
    return make_kernel(N), targets(loss, N), weights(N)


@every_loss
@every_kernel
@every_alpha
def test_value_and_gradient(loss, make_kernel, alpha):
    K, y, C = setting(loss, make_kernel)
    smooth = reformulate(Problem(loss, K, y, C), alpha)
    np.testing.assert_allclose(smooth.kernel(), alpha * K - np.eye(N), atol=1e-14 * alpha)
    rng = np.random.default_rng(4)
    for c in rng.standard_normal((3, N)):
        assert smooth.value(c) == pytest.approx(naive_value(loss, K, y, C, c, alpha), rel=1e-11)
        gradient = smooth.gradient(c)
        exact = naive_gradient(loss, K, y, C, c, alpha)
        np.testing.assert_allclose(gradient, exact, rtol=1e-10, atol=1e-10)
        # Against differences of the value along a direction; the gradient has modulus |K_alpha|^2.
        d = rng.standard_normal(N) / N
        modulus = 2.0 * (1.0 + np.linalg.norm(alpha * K - np.eye(N), 2)) ** 2 * (d @ d)
        h = 1e-5
        slope = (smooth.value(c + h * d) - smooth.value(c - h * d)) / (2 * h)
        rounding = 1e-15 * abs(smooth.value(c)) / h
        assert slope == pytest.approx(gradient @ d, abs=modulus * h + 10 * rounding)


@every_loss
@every_kernel
@every_alpha
def test_solution_is_a_stationary_point(loss, make_kernel, alpha):
    K, y, C = setting(loss, make_kernel)
    c = solve(loss, K, y, C, tol=0).coef
    smooth = reformulate(Problem(loss, K, y, C), alpha)
    norm = np.linalg.norm(alpha * K - np.eye(N), 2)
    # As for equation (7): c is known to 1e-9 of its size.
    limit = 1e-8 * norm * max(alpha, 1.0) * np.abs(c).max()
    assert np.abs(smooth.gradient(c)).max() <= limit
    # ... and other points are not.
    other = c + 0.1 * np.abs(c).max() * np.sign(K[0])
    assert np.abs(smooth.gradient(other)).max() > 1e-4


def test_printed_functional_has_another_gradient():
    """f_alpha(K_alpha c) / alpha + c'K_alpha c / 2, as printed, is not stationary there."""
    loss, alpha = envelope("hinge", 4.0), 0.3
    K, y, C = setting(loss, lambda n: np.eye(n) + 0.5)
    c = solve(loss, K, y, C, tol=0).coef

    def printed(c):
        v = alpha * K @ c - c
        terms = [C[i] * envelope(loss, alpha / C[i]).value(y[i], v[i]) for i in range(N)]
        return sum(terms) / alpha + c @ v / 2

    h = 1e-6
    gradient = [(printed(c + h * e) - printed(c - h * e)) / (2 * h) for e in np.eye(N)]
    assert np.abs(gradient).max() > 0.1
    assert np.abs(reformulate(Problem(loss, K, y, C), alpha).gradient(c)).max() < 1e-7


@every_kernel
def test_smoothness_is_traded_against_positivity(make_kernel):
    """The eigenvalues of K_alpha are alpha times those of K, minus one."""
    K = make_kernel(N)
    values = np.linalg.eigvalsh(K)
    problem = Problem("hinge", K, targets(envelope("hinge", 1.0), N))
    for alpha in (0.01, 1.0, 50.0):
        spectrum = np.linalg.eigvalsh(reformulate(problem, alpha).kernel())
        np.testing.assert_allclose(spectrum, alpha * values - 1.0, atol=1e-12 * alpha * values[-1])
        if alpha * values[0] < 1.0 - 1e-9:
            assert spectrum[0] < 0.0


def test_several_problems_at_once():
    y = np.random.default_rng(0).standard_normal((N, 3))
    K = np.eye(N) + 0.1
    smooth = reformulate(Problem("huber", K, y, [1.0, 2.0, 3.0]), 0.7)
    c = y[::-1].copy()
    values, gradients = smooth.value(c), smooth.gradient(c)
    for j, C in enumerate([1.0, 2.0, 3.0]):
        one = reformulate(Problem("huber", K, y[:, j], C), 0.7)
        assert values[j] == pytest.approx(one.value(c[:, j]), rel=1e-14)
        np.testing.assert_allclose(gradients[:, j], one.gradient(c[:, j]), rtol=1e-13)


def test_what_is_refused():
    problem = Problem("hinge", np.eye(2), [1.0, -1.0])
    with pytest.raises(TypeError, match="must be a Problem"):
        reformulate("hinge", 1.0)
    with pytest.raises(ValueError, match="alpha=0 must be a positive"):
        reformulate(problem, 0)
    with pytest.raises(ValueError, match="knows no offset"):
        reformulate(Problem("hinge", np.eye(2), [1.0, -1.0], fit_intercept=True), 1.0)
