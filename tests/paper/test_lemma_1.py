"""Lemma 1: F(c + u) = F(c) for every u in the null space of K."""

import numpy as np
import pytest
from naive import F, every_loss, features, null_space, singular, targets, weights

from resolvent import Problem, gram

N = 20


@every_loss
def test_objective_is_constant_along_the_null_space(loss):
    K, y, C = singular(N), targets(loss, N), weights(N)
    U = null_space(K)
    assert U.shape[1] == N - 3
    rng = np.random.default_rng(0)
    problem = Problem(loss, K, y, C)
    for _ in range(5):
        c = 0.1 * rng.standard_normal(N)
        u = U @ rng.standard_normal(U.shape[1])
        # K u is rounding, some 1e-15 of norm(K) norm(u); the losses are Lipschitz near Kc.
        assert problem.primal(c + u) == pytest.approx(problem.primal(c), rel=1e-11)
        assert problem.primal(c) == pytest.approx(F(loss, K, y, C, c), rel=1e-12)
        across = K @ u + K @ c  # not in the null space: the test can fail
        assert problem.primal(c + across) != pytest.approx(problem.primal(c), rel=1e-6)


@every_loss
def test_linear_kernel(loss):
    """There the null space is that of X': rows of weights w = X'c do not move."""
    X, y = features(N), targets(loss, N)
    u = null_space(X @ X.T)[:, 0]
    c = 0.1 * np.random.default_rng(0).standard_normal(N)
    problem = Problem(loss, gram(X, kernel="linear"), y)
    assert np.abs(X.T @ u).max() < 1e-13
    assert problem.primal(c + 3 * u) == pytest.approx(problem.primal(c), rel=1e-11)
