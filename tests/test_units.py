"""Units of the target: a model of a y + b is a times that of y, plus b."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import resolvent
from resolvent import (
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    KernelRegressor,
    KernelRegressorCV,
    LinearRegressor,
    LinearRegressorCV,
    check_loss,
    solve,
)
from resolvent.kernels import RBF
from resolvent.losses import Absolute, EpsilonInsensitive, Huber, as_loss, envelope
from resolvent.losses.units import in_units, unit_of

SCALED = [
    "squared",
    "absolute",
    EpsilonInsensitive(0.2),
    "squared_epsilon_insensitive",
    Huber(0.3),
    "pinball",
    "expectile",
    "chebyshev",
    "root_squared",
    envelope("absolute", 2.0),
]
UNITS = [(1000.0, 0.0), (1e-3, 0.02), (77.0, 1e4)]


def data(n=50):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("kind", [KernelRegressor, LinearRegressor])
@pytest.mark.parametrize("loss", SCALED, ids=str)
def test_regressors_follow_units(kind, loss):
    X, y = data()
    expected = kind(loss, tol=1e-9).fit(X, y).predict(X)
    assert np.std(expected) > 0.1
    for a, b in UNITS:
        model = kind(loss, tol=1e-9).fit(X, a * y + b)
        assert_allclose((model.predict(X) - b) / a, expected, atol=1e-4)
        assert model.target_unit_ == pytest.approx(a * unit_of(as_loss(loss), y, np.ones(50)))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_quantiles_follow_units(fit_intercept):
    X, y = data()
    model = KernelQuantileRegressor((0.1, 0.5, 0.9), fit_intercept=fit_intercept, tol=1e-9)
    expected = model.fit(X, y).predict(X)
    for a, b in UNITS:
        b *= fit_intercept
        assert_allclose((model.fit(X, a * y + b).predict(X) - b) / a, expected, atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressorCV("absolute", Cs=4, gammas=3, cv=3),
        KernelRegressorCV("huber", Cs=4, gammas=3, cv=3),
        LinearRegressorCV("epsilon_insensitive", Cs=4, cv=3),
        KernelQuantileRegressorCV((0.2, 0.8), Cs=4, gammas=3, cv=3),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'loss', '')}",
)
def test_searches_follow_units(model):
    X, y = data()
    model.set_params(tol=1e-8)
    expected, params = model.fit(X, y).predict(X), model.best_params_
    a, b = 1e5, -3e5
    assert_allclose((model.fit(X, a * y + b).predict(X) - b) / a, expected, atol=1e-3)
    assert model.best_params_ == params


@pytest.mark.parametrize("loss", SCALED, ids=str)
def test_the_certificate_is_of_the_problem_in_the_units_of_the_data(loss):
    X, y = data()
    y = 50.0 * y - 7.0
    model = KernelRegressor(loss, gamma=0.5, C=2.0, tol=1e-9).fit(X, y)
    converted, factor = in_units(as_loss(loss), model.target_unit_)
    exact = solve(converted, RBF(0.5)(X), y, 2.0 * factor, fit_intercept=True, tol=1e-9)
    assert model.objective_ == pytest.approx(float(exact.primal), rel=1e-7)


def test_each_target_has_its_unit():
    X, y = data()
    Y = np.column_stack([y, 1e4 * y + 5.0])
    for loss in ("absolute", Huber(0.3)):
        model = KernelRegressor(loss, tol=1e-9).fit(X, Y)
        assert_allclose(model.target_unit_[1], 1e4 * model.target_unit_[0])
        first, second = model.predict(X).T
        assert_allclose(second, 1e4 * first + 5.0, rtol=1e-4, atol=1.0)


def test_searches_learn_the_unit_of_each_fold():
    X, y = data()
    y[:10] *= 1e3  # so that the units of the folds differ
    search = KernelRegressorCV("absolute", Cs=[0.5, 5.0], gammas=[0.5], cv=3, search_tol=None)
    search.set_params(tol=1e-9).fit(X, y)
    train = np.r_[17:50]
    plain = KernelRegressor("absolute", C=5.0, gamma=0.5, tol=1e-9).fit(X[train], y[train])
    expected = plain.score(X[:17], y[:17])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(expected, abs=1e-4)


def test_poisson_and_unknown_losses_keep_their_units():
    class Own(NamedTuple):
        def value(self, y, z):
            return (y - z) ** 4

        def derivative(self, y, z):
            return 4.0 * (z - y) ** 3

    X, y = data(30)
    assert KernelRegressor("poisson").fit(X, np.floor(10 * np.abs(y))).target_unit_ == 1.0
    assert KernelRegressor(Own()).fit(X, y).target_unit_ == 1.0


def test_own_losses_can_follow_units():
    class Tube(NamedTuple):
        width: float = 0.5
        degree = 2
        units = ("width",)

        def value(self, y, z):
            return max(abs(y - z) - self.width, 0.0) ** 2

        def derivative(self, y, z):
            outside = max(abs(y - z) - self.width, 0.0)
            return 2.0 * outside if z > y else -2.0 * outside

    check_loss(Tube())
    X, y = data(30)
    expected = KernelRegressor(Tube(), tol=1e-8).fit(X, y).predict(X)
    assert_allclose(
        KernelRegressor(Tube(), tol=1e-8).fit(X, 9 * y).predict(X) / 9, expected, atol=1e-4
    )


def test_a_wrong_degree_is_found():
    class Wrong(NamedTuple):
        degree = 1

        def value(self, y, z):
            return (y - z) ** 2

        def derivative(self, y, z):
            return 2.0 * (z - y)

    with pytest.raises(ValueError, match="degree=1 is wrong"):
        check_loss(Wrong())


def test_unit_of_targets():
    rng = np.random.default_rng(0)
    y = 3.0 * rng.standard_normal(10_000) + 8.0
    one = np.ones(len(y))
    assert unit_of(Absolute(), y, one) == pytest.approx(3.0, rel=0.03)
    y[:100] = 1e9  # outliers
    assert unit_of(Absolute(), y, one) == pytest.approx(3.0, rel=0.05)
    weight = np.arange(len(y)) % 3
    assert unit_of(Absolute(), y[weight > 0], weight[weight > 0]) == unit_of(
        Absolute(), np.repeat(y, weight), np.ones(weight.sum())
    )
    mostly_zero = np.r_[np.zeros(90), np.full(10, 5.0)]
    assert unit_of(Absolute(), mostly_zero, np.ones(100)) == pytest.approx(1.5)
    for constant in (0.0, 0.1 + 0.2, 1e300):
        assert unit_of(Absolute(), np.full(9, constant), np.ones(9)) == 1.0


def test_units_are_saved(tmp_path):
    X, y = data()
    for Y in (y, np.column_stack([y, 100 * y])):
        model = KernelRegressor("absolute").fit(X, Y)
        resolvent.save(model, tmp_path / "model")
        assert_allclose(resolvent.load(tmp_path / "model").target_unit_, model.target_unit_)
