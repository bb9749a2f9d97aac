"""Generalised linear models: the same as scikit-learn's, where the problem is the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from resolvent import KernelRegressor, LinearRegressor
from resolvent.kernels import Linear
from resolvent.losses import Tweedie

ALPHA = 0.1
PEERS = {
    "poisson": ("poisson", PoissonRegressor),
    "gamma": ("gamma", GammaRegressor),
    "tweedie": (Tweedie(1.3), lambda **given: TweedieRegressor(power=1.3, link="log", **given)),
}


def data(name, n=150):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 3))
    mean = np.exp(0.4 + X @ [0.5, -0.3, 0.2])
    y = rng.poisson(mean) if name == "poisson" else rng.gamma(2.0, mean / 2.0)
    if name == "tweedie":
        y[rng.random(n) < 0.3] = 0.0
    return X, y.astype(float), rng.uniform(0.5, 2.0, n), mean


@pytest.mark.parametrize("name", PEERS)
def test_linear_models_are_scikit_learns(name):
    X, y, weight, _ = data(name)
    loss, peer = PEERS[name]
    known = peer(alpha=ALPHA, tol=1e-10, max_iter=10000).fit(X, y, weight)
    C = 1.0 / (ALPHA * weight.sum())
    model = LinearRegressor(loss, C=C, normalize_y=False, tol=1e-12).fit(X, y, weight)
    assert_allclose(model.coef_, known.coef_, atol=1e-7)
    assert model.intercept_ == pytest.approx(known.intercept_, abs=1e-7)
    kernel = KernelRegressor(loss, Linear(), C=C, normalize_y=False, tol=1e-12).fit(X, y, weight)
    assert_allclose(kernel.predict(X), known.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["gamma", "tweedie"])
def test_amounts_follow_their_unit(loss):
    X, y, _, _ = data(loss)
    expected = KernelRegressor(loss, tol=1e-9).fit(X, y).predict(X)
    for unit in (1e-3, 40.0):
        found = KernelRegressor(loss, tol=1e-9).fit(X, unit * y).predict(X)
        assert_allclose(found, unit * expected, rtol=1e-4)


def test_gamma_takes_no_zeros():
    X, y, _, _ = data("tweedie")
    with pytest.raises(
        ValueError, match=r"y must be > 0 for the loss Gamma; found 0\. .*'tweedie'"
    ):
        LinearRegressor("gamma").fit(X, y)
