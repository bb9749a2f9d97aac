"""Newton's system of a linear kernel preconditioned by a sample of rows, beside all of it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from resolvent import LinearClassifier
from resolvent.grams import gram, linear
from resolvent.grams.sampled import ENOUGH, GAIN, is_worth_sampling, solve_by_sample
from resolvent.grams.systems import Curvature

N, D = 4000, 110


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, D)) * np.linspace(0.1, 3.0, D)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.9])
def test_direction_is_near_that_of_all_rows(X, monkeypatch, dtype, balanced, share):
    assert is_worth_sampling(int(0.85 * N), D)
    rng = np.random.default_rng(1)
    K = gram(X.astype(dtype), kernel="linear")
    weight = rng.uniform(0.5, 2.0, N) * (rng.random(N) < share)
    coef, aim = rng.standard_normal((2, N))
    ahead = K.residual(coef, K.state(coef[None])[0], aim)
    data = coef, aim, ahead, Curvature(weight, 10.0), balanced
    sampled = K.linearised(*data)
    monkeypatch.setattr(linear, "is_worth_sampling", lambda *_: False)
    exact = K.linearised(*data)

    def norm(state, shift):
        scores = K.scores(state[None])[0] + shift
        return np.sqrt(state @ state + weight @ scores**2)

    off = norm(sampled.state - exact.state, sampled.intercept - exact.intercept)
    assert 0.0 < off < 2 * ENOUGH * norm(exact.state, exact.intercept)
    np.testing.assert_allclose(sampled.scores, K.scores(sampled.state[None])[0], atol=1e-9)
    moved = aim - coef - weight * (sampled.scores + sampled.intercept)
    np.testing.assert_allclose(sampled.coef, moved)


def test_rows_that_the_sample_misses(X):
    """One row in a hundred is a thousand times as long as the others."""
    far = X.copy()
    far[1::100] *= 1e3
    K = gram(far, kernel="linear")
    rng = np.random.default_rng(2)
    weight, (coef, aim) = np.ones(N), rng.standard_normal((2, N))
    ahead = K.residual(coef, K.state(coef[None])[0], aim)
    move = K.linearised(coef, aim, ahead, Curvature(weight, 10.0), False)
    A = np.eye(D) + far.T @ far
    exact = np.linalg.solve(A, ahead)
    off = move.state - exact
    assert off @ A @ off < GAIN * (exact @ A @ exact)


def test_conjugate_gradients_give_up():
    A = np.diag(np.logspace(0, 12, 200))

    def times(x, scores):
        scores[:] = 0.0
        return A @ x

    assert solve_by_sample(np.eye(200), times, np.ones(200), 5) is None


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge"])
def test_fits_are_certified(X, loss):
    rng = np.random.default_rng(3)
    y = X @ rng.standard_normal(D) / 10 + rng.logistic(size=N) > 0.0
    model = LinearClassifier(loss, C=0.5).fit(X, y)
    assert model.status_.name == "CONVERGED"
    assert model.dual_gap_ <= 1e-5 * model.objective_
    if loss == "logistic":
        theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=2e-3)
