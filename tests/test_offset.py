"""Offsets of rows: a known part of the scores, in fits, predictions and searches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    KernelRegressor,
    KernelRegressorCV,
    LinearClassifier,
    LinearRegressor,
    Status,
    check_loss,
    solve,
)
from resolvent.losses import LOSSES, Poisson, Squared, as_loss, offset
from resolvent.losses.offset import Offset, with_offset

N = 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    return X, X[:, 0] + 0.5 * rng.standard_normal(N), rng.standard_normal(N)


@pytest.mark.parametrize("name", LOSSES)
def test_value_conjugate_and_resolvent_are_those_of_moved_scores(name):
    """Of every loss, wrapped or in other targets and weights."""
    loss = as_loss(name)
    targets = {"sign": [1.0], "real": [0.7, -2.0]}.get(getattr(loss, "targets", "real"), [0.4, 3.0])
    for y in targets:
        for o in (-1.3, 0.6):
            moved, t, w = with_offset(loss, np.array([y]), np.ones(1), np.array([o]))
            for other, y_o, factor in ((moved, t[0].item(), w[0]), (Offset(loss), y + 1j * o, 1.0)):
                for z in (-0.8, 0.1, 2.0):
                    assert factor * other.value(y_o, z) == pytest.approx(loss.value(y, z + o))
                u = loss.resolvent(y, 0.3 + 0.9 * o, 0.9)
                if factor == 1.0:
                    assert other.resolvent(y_o, 0.3, 0.9) == pytest.approx(u, abs=1e-12)
                conj = loss.conjugate(y, u) - u * o
                assert factor * other.conjugate(y_o, u / factor) == pytest.approx(conj, abs=1e-12)


def test_what_takes_offsets_in_targets_and_weights():
    y, w, o = np.array([2.0]), np.ones(1), np.array([0.5])
    assert with_offset(Squared(), y, w, o)[1] == 1.5
    loss, rate, exposure = with_offset(Poisson(), y, w, o)
    assert loss == Poisson()
    assert rate * exposure == pytest.approx(2.0)
    assert isinstance(with_offset(Poisson(), y, w, np.array([900.0]))[0], Offset)


def test_of_residual_is_checked():
    class Wrong(type(as_loss("poisson"))):
        of_residual = True
        __slots__ = ()

    with pytest.raises((ValueError, TypeError)):
        check_loss(Wrong())


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_logistic_regression_with_offset_is_the_minimum(data, fit_intercept):
    X, y, known = data
    K, signs = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)), np.where(y > 0, 1.0, -1.0)
    given = {"C": 2.0, "offset": known, "fit_intercept": fit_intercept, "tol": 1e-9}
    found = solve("logistic", K, signs, **given)
    assert found.status == Status.CONVERGED

    def objective(t):
        z = K @ t[:-1] + fit_intercept * t[-1]
        loss = 2.0 * np.logaddexp(0.0, -signs * (z + known)).sum() + 0.5 * t[:-1] @ K @ t[:-1]
        slopes = -2.0 * signs / (1.0 + np.exp(signs * (z + known)))
        return loss, np.append(K @ (slopes + t[:-1]), fit_intercept * slopes.sum())

    best = minimize(objective, np.zeros(N + 1), jac=True, method="BFGS", options={"gtol": 1e-7})
    assert found.primal == pytest.approx(best.fun, rel=1e-7)
    assert_allclose(found.fitted, K @ found.coef + found.intercept, atol=1e-8)  # without offsets


def test_logistic_offset_of_a_linear_model_is_a_fixed_weight(data):
    """A feature whose weight is known: the others' weights are at their optimum given it."""
    X, y, _ = data
    labels = np.where(y > 0, "up", "down")
    model = LinearClassifier("logistic", C=0.7, tol=1e-10).fit(X[:, 1:], labels, offset=X[:, 0])
    p = model.predict_proba(X[:, 1:], offset=X[:, 0])[:, 1]
    slopes = 0.7 * ((labels == "up") - p)
    assert slopes.sum() == pytest.approx(0.0, abs=1e-4)
    assert model.coef_[0, 0] == pytest.approx(X[:, 1] @ slopes, abs=1e-4)
    assert model.score(X[:, 1:], labels, offset=X[:, 0]) > 0.8


def test_counts_with_exposure_are_rates_with_weights(data):
    X, _, _ = data
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.2, 5.0, N)
    counts = rng.poisson(exposure * np.exp(0.5 * X[:, 0]))
    model = LinearRegressor("poisson", tol=1e-10).fit(X, counts, offset=np.log(exposure))
    rates = LinearRegressor("poisson", tol=1e-10).fit(X, counts / exposure, exposure)
    assert_allclose(model.coef_, rates.coef_, atol=1e-6)
    assert_allclose(model.predict(X, offset=np.log(exposure)), exposure * model.predict(X))


def test_wrapped_and_not_wrapped_are_the_same(data, monkeypatch):
    X, y, known = data
    given = {"K": X @ X.T, "y": np.round(np.exp(y)), "offset": known, "tol": 1e-10}
    rates = solve("poisson", **given, fit_intercept=True)
    monkeypatch.setattr(offset, "FARTHEST", -1.0)
    wrapped = solve("poisson", **given, fit_intercept=True)
    assert wrapped.primal == pytest.approx(rates.primal, rel=1e-8)


@pytest.mark.parametrize("kind", [KernelRegressor, KernelQuantileRegressor])
def test_residuals_take_offsets_away(data, kind):
    X, y, known = data
    model, other = kind(tol=1e-9).fit(X, y + known, offset=known), kind(tol=1e-9).fit(X, y)
    assert_allclose(model.predict(X, offset=known), other.predict(X) + known, atol=1e-9)
    assert model.target_unit_ == pytest.approx(other.target_unit_)
    score = model.score(X, y + known, offset=known)
    if kind is KernelRegressor:
        assert score == pytest.approx(r2_score(y + known, model.predict(X, offset=known)))
    else:
        assert score == pytest.approx(other.score(X, y))
    model.calibrate(X, y + known, offset=known)
    other.calibrate(X, y)
    ends = model.predict_interval(X, 0.8, offset=known)
    assert_allclose(ends, other.predict_interval(X, 0.8) + known[:, None], atol=1e-9)


@pytest.mark.parametrize("kind", [KernelRegressorCV, KernelQuantileRegressorCV])
def test_searches_split_offsets_with_their_rows(data, kind):
    X, y, known = data
    given = {"Cs": [1.0, 10.0], "gammas": [0.3, 1.0], "cv": 3, "conformal": True}
    given["search_tol"] = None  # as exact as fits: rounding decides where rough problems end
    scoring = "neg_mean_absolute_error"
    search = kind(**given, scoring=scoring).fit(X, y + known, offset=known)
    other = kind(**given, scoring=scoring).fit(X, y)
    assert_allclose(
        search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=1e-9
    )
    ends = search.predict_interval(X, 0.8, offset=known)
    assert_allclose(ends, other.predict_interval(X, 0.8) + known[:, None], atol=1e-6)
    assert search.score(X, y + known, offset=known) == pytest.approx(other.score(X, y), abs=1e-6)


def test_grid_search_splits_offsets_too(data):
    X, y, known = data
    search = GridSearchCV(KernelRegressor(), {"C": [1.0]}, cv=3, refit=False)
    search.fit(X, y, offset=known)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_what_is_no_offset_is_refused(data):
    X, y, known = data
    with pytest.raises(ValueError, match=r"offset has shape \(59,\); it must be \(60,\)"):
        KernelRegressor().fit(X, y, offset=known[:-1])
    with pytest.raises(ValueError, match="offset contains NaN or infinity; of an exposure"):
        LinearRegressor("poisson").fit(X, np.exp(y), offset=np.full(N, -np.inf))
    with pytest.raises(ValueError, match=r"offset has shape \(3,\); it must be \(60,\)"):
        solve("squared", np.eye(N), y, offset=known[:3])
    with pytest.raises(ValueError, match=r"with 3 classes it must be \(60, 3\)"):
        KernelClassifier("logistic").fit(X, np.arange(N) % 3, offset=known)
