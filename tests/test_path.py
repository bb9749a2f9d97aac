"""Paths along C: the same solutions as one by one, sparse, within limits."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from resolvent import Status, gram, path, solve
from resolvent.losses import LOSSES, as_loss

CS = [0.05, 0.5, 5.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    signal = X[:, 0] - 0.5 * X[:, 1] ** 2
    return X, signal + 0.3 * rng.standard_normal(60)


def targets(loss, y):
    kind = getattr(as_loss(loss), "targets", "real")
    return {
        "real": y,
        "sign": np.where(y > 0, 1.0, -1.0),
        "nonnegative": np.round(np.abs(y)),
        "positive": np.exp(y),
    }[kind]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_cold_solutions(loss, fit_intercept, data):
    X, y = data
    K = gram(X, gamma=0.5)
    y = targets(loss, y)
    result = path(loss, K, y, CS[::-1], fit_intercept=fit_intercept, tol=1e-9)
    np.testing.assert_array_equal(result.Cs, CS)
    assert max(result.status) <= Status.PRECISION_LIMIT
    for i, C in enumerate(CS):
        cold = solve(loss, K, y, C, fit_intercept=fit_intercept, tol=1e-9)
        assert result.primal[i] == pytest.approx(cold.primal, rel=1e-8)
        scores = result.scores(K.block(np.arange(60), np.arange(60)))[:, i]
        np.testing.assert_allclose(scores, cold.fitted, atol=1e-3 * np.abs(cold.fitted).max())


def test_certificates_and_support(data):
    X, y = data
    result = path("epsilon_insensitive", gram(X, gamma=0.5), y, 6)
    assert len(result.Cs) == 6
    np.testing.assert_allclose(result.gap, result.primal - result.dual)
    assert (result.gap <= 1e-5 * result.primal).all()
    assert result.coef.shape == (6, 60)
    np.testing.assert_array_equal(np.diff(result.coef.indptr), result.n_support)
    assert result.n_support.min() < 60  # so that storing zeros would show
    assert (np.diff(result.seconds) >= 0).all()


def test_starts_pay_off():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(600))
    K = gram(X, gamma=0.3)
    Cs = np.geomspace(50, 100, 6)
    settings = {"tol": 1e-3, "solver": "coordinate_descent", "accelerate": False}  # in sweeps
    warm = path("hinge", K, y, Cs, **settings).n_iter.sum()
    cold = sum(solve("hinge", K, y, C, **settings).n_iter for C in Cs)
    assert warm < 0.7 * cold


def test_validation_loss_is_the_mean_loss(data):
    X, y = data
    K = gram(X, gamma=0.5).block(np.arange(60), np.arange(60))
    result = path("huber", K[:40, :40], y[:40], CS)
    loss, scores = as_loss("huber"), result.scores(K[40:, :40])
    expected = [
        np.mean([loss.value(t, z) for t, z in zip(y[40:], s, strict=True)]) for s in scores.T
    ]
    np.testing.assert_allclose(result.validation_loss(K[40:, :40], y[40:]), expected)
    with pytest.raises(ValueError, match=r"K has shape \(20, 39\)"):
        result.scores(K[40:, :39])
    with pytest.raises(ValueError, match=r"y has shape \(19,\)"):
        result.validation_loss(K[40:, :40], y[41:])


def test_sample_weight_is_a_factor_of_C(data):
    X, y = data
    K = gram(X, gamma=0.5)
    weighted = path("absolute", K, y, [1.0], sample_weight=np.full(60, 2.0))
    assert weighted.primal[0] == pytest.approx(path("absolute", K, y, [2.0]).primal[0], rel=1e-5)


def test_time_limit_returns_what_was_reached(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        result = path("hinge", gram(X), np.sign(y), 50, time_limit=0.0, accelerate=False)
    assert len(result.Cs) == result.coef.shape[0] == len(result.status) == 1
    assert result.status == [Status.TIME_LIMIT]


def test_interrupt_returns_what_was_reached(data):
    X, y = data
    calls = []

    def interrupt(_):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        result = path(
            "hinge",
            gram(X),
            np.sign(y),
            np.geomspace(10, 100, 20),
            callback=interrupt,
            on_interrupt="return",
            solver="fixed_point",  # whose records are many
            accelerate=False,
        )
    assert result.status[-1] == Status.INTERRUPTED
    assert 1 <= len(result.Cs) < 20


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        (0, "Cs=0 must be at least 1"),
        ([1.0, -1.0], "must be a whole number of values"),
        ("many", "must be a whole number of values"),
        ([], "must be a whole number of values"),
    ],
)
def test_bad_Cs(Cs, message):
    with pytest.raises(ValueError, match=message):
        path("squared", np.eye(2), [1.0, 2.0], Cs)


def test_one_target_only():
    with pytest.raises(ValueError, match="a path is of one target"):
        path("squared", np.eye(2), np.eye(2))
