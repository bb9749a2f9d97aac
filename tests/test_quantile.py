"""Kernel quantiles and expectiles."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from resolvent import KernelQuantileRegressor, KernelRegressor, Status
from resolvent.losses import Expectile, Pinball


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 5, n))[:, None]
    return X, np.sin(X[:, 0]) + 0.3 * (1 + X[:, 0]) * rng.standard_normal(n)


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
def test_agrees_with_linear_programming_without_a_penalty(tau):
    # QuantileRegressor's penalty is l1, ours l2: they are the same problem only without one. With C
    # large its loss is the least up to |w|^2 / 2C, and that is what is compared, by the loss and by
    # the predictions (with 101 samples the minimiser is unique).
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X[:101, 2:5], y[:101] / 50
    a = KernelQuantileRegressor(tau, kernel="linear", C=1e4, tol=1e-9).fit(X, y)
    b = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
    mine = mean_pinball_loss(y, a.predict(X), alpha=tau)
    best = mean_pinball_loss(y, b.predict(X), alpha=tau)
    slack = (b.coef_ @ b.coef_) / (2 * 1e4 * len(y))
    assert best - 1e-9 <= mine <= best + slack + 1e-7
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-3)


@pytest.mark.parametrize(("kind", "loss"), [("quantile", Pinball), ("expectile", Expectile)])
def test_several_are_each_alone(kind, loss):
    X, y = data()
    taus = (0.1, 0.5, 0.9)
    band = KernelQuantileRegressor(taus, kind=kind, C=5.0, gamma=1.0, tol=1e-8).fit(X, y)
    assert band.predict(X).shape == (len(y), 3)
    assert band.dual_gap_.shape == band.n_iter_.shape == band.intercept_.shape == (3,)
    assert band.dual_coef_.shape == (3, len(band.support_))
    alone = [KernelRegressor(loss(t), C=5.0, gamma=1.0, tol=1e-8).fit(X, y) for t in taus]
    together = np.sort(np.column_stack([m.predict(X) for m in alone]), axis=1)
    np.testing.assert_allclose(band.predict(X), together, atol=1e-5)
    np.testing.assert_allclose(band.objective_, [m.objective_ for m in alone], rtol=1e-7)


def test_a_quantile_has_its_share_below():
    # With an offset that is not penalised the shares are exact, to the samples on the curve.
    X, y = data(200)
    for tau in (0.1, 0.5, 0.8):
        z = KernelQuantileRegressor(tau, gamma=1.0, tol=1e-10).fit(X, y).predict(X)
        assert np.sum(y < z - 1e-6) <= tau * len(y) <= np.sum(y <= z + 1e-6)


def test_expectile_of_a_half_is_the_mean():
    X, y = data()
    half = KernelQuantileRegressor(0.5, kind="expectile", C=2.0, tol=1e-10).fit(X, y)
    mean = KernelRegressor("squared", C=1.0, tol=1e-10).fit(X, y)  # its loss is half of that
    np.testing.assert_allclose(half.predict(X), mean.predict(X), atol=1e-6)


def test_never_cross():
    X, y = data(60)
    taus = [0.9, 0.45, 0.5, 0.55, 0.1]  # in no order, and so near that the curves do cross
    model = KernelQuantileRegressor(taus, C=1000.0, gamma=20.0).fit(X, y)
    new = np.linspace(-2, 7, 400)[:, None]
    order = np.argsort(taus)
    crossing = np.diff(model._scores(new)[:, order], axis=1).min()
    assert crossing < -1e-3
    assert (np.diff(model.predict(new)[:, order], axis=1) >= 0).all()


def test_rearrangement_does_not_make_the_score_worse():
    X, y = data(60)
    taus = np.array([0.4, 0.5, 0.6])
    model = KernelQuantileRegressor(tuple(taus), C=1000.0, gamma=20.0).fit(X, y)
    new, z = data(200, seed=1)
    raw = model._scores(new)
    plain = np.mean([mean_pinball_loss(z, raw[:, j], alpha=t) for j, t in enumerate(taus)])
    assert model.score(new, z) >= -plain - 1e-12


def test_score_is_minus_the_loss():
    X, y = data()
    weight = np.random.default_rng(0).uniform(size=len(y))
    model = KernelQuantileRegressor((0.2, 0.7)).fit(X, y)
    z = model.predict(X)
    expected = [
        mean_pinball_loss(y, z[:, j], alpha=t, sample_weight=weight)
        for j, t in enumerate((0.2, 0.7))
    ]
    assert model.score(X, y, weight) == pytest.approx(-np.mean(expected))
    model = KernelQuantileRegressor(0.2, kind="expectile").fit(X, y)
    r = y - model.predict(X)
    expected = np.mean(np.where(r > 0, 0.2, 0.8) * r**2 / 2)
    assert model.score(X, y) == pytest.approx(-expected)
    assert model.score(X.tolist(), y.tolist()) == model.score(X, y)


@pytest.mark.parametrize("quantile", [0, 1, -0.1, (0.1, 1.5), (), "median", None, (0.1, "x")])
def test_wrong_quantile(quantile):
    with pytest.raises(ValueError, match=r"strictly between 0 and\s+1"):
        KernelQuantileRegressor(quantile).fit(*data(10))


def test_wrong_kind():
    with pytest.raises(ValueError, match="quantile, expectile"):
        KernelQuantileRegressor(kind="median").fit(*data(10))


def test_zero_weights_and_repeats():
    X, y = data(40)
    weight = np.arange(40) % 3
    model = KernelQuantileRegressor((0.3, 0.7), tol=1e-10)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict(X)
    np.testing.assert_allclose(model.fit(X, y, weight).predict(X), repeated, atol=1e-6)


def test_numpy_array_of_quantiles():
    X, y = data(30)
    model = KernelQuantileRegressor(np.array([0.3, 0.7])).fit(X, y)
    assert model.predict(X).shape == (30, 2)
    assert model.score(X, y) < 0


@pytest.mark.parametrize("kind", ["quantile", "expectile"])
@pytest.mark.parametrize("n", [1, 5])
def test_targets_of_zero_are_fitted(n, kind):
    """Where all slopes are zero the offset is exact: nothing else says how small is small."""
    X = np.arange(float(n))[:, None]
    model = KernelQuantileRegressor((0.1, 0.5, 0.8), kind=kind).fit(X, np.zeros(n))
    assert model.status_ == Status.CONVERGED
    np.testing.assert_allclose(model.predict(X), 0.0, atol=1e-100)
