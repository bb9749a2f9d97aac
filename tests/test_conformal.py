"""Conformal prediction: coverage, monotone in what is asked for, weights, files."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.datasets import make_blobs

import resolvent
from resolvent import (
    KernelClassifier,
    KernelClassifierCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    KernelRegressor,
    KernelRegressorCV,
    LinearRegressor,
    LinearRegressorCV,
)
from resolvent.conformal import Calibration, smallest
from resolvent.kernels import RBF

GRID = {"Cs": [1.0], "gammas": [1.0], "conformal": True}


def data(n, rng):
    """Targets whose noise grows with x, in raw units."""
    X = rng.uniform(-2, 2, (n, 1))
    return X, 5e4 * (np.sin(2 * X[:, 0]) + (0.2 + 0.2 * np.abs(X[:, 0])) * rng.standard_normal(n))


def inside(ends, y):
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


@pytest.mark.parametrize(
    "model",
    [KernelRegressor("absolute", gamma=1.0), KernelQuantileRegressor((0.1, 0.9), gamma=1.0)],
    ids=["regression", "quantiles"],
)
def test_split_conformal_keeps_its_promise(model):
    # k = ceil(0.8 * 40) = 32 of 39: the probability is exactly 32 / 40, over all that is random.
    rng, hits, trials = np.random.default_rng(0), 0, 400
    X, y = data(60, rng)
    model.fit(X, y)
    for _ in range(trials):
        X, y = data(40, rng)
        ends = model.calibrate(X[1:], y[1:]).predict_interval(X[:1], 0.8)
        hits += int(inside(ends, y[:1])[0])
    low, high = binom.interval(0.999, trials, 0.8)
    assert low <= hits <= high


@pytest.mark.parametrize(
    "search",
    [KernelRegressorCV("squared", **GRID), KernelQuantileRegressorCV((0.1, 0.9), **GRID)],
    ids=["regression", "quantiles"],
)
def test_folds_cover_about_what_is_asked_for(search):
    rng, hits, trials, new = np.random.default_rng(1), 0, 12, 200
    for _ in range(trials):
        X, y = data(80 + new, rng)
        search.fit(X[:80], y[:80])
        hits += int(inside(search.predict_interval(X[80:], 0.8), y[80:]).sum())
    # In theory at least 0.6 less a little; in practice about 0.8. Hits on one model go together.
    assert 0.74 < hits / (trials * new) < 0.9


def test_intervals_are_nested_and_hold_the_prediction():
    rng = np.random.default_rng(2)
    X, y = data(60, rng)
    new = np.linspace(-3, 3, 50)[:, None]
    for model in (
        KernelQuantileRegressorCV((0.05, 0.5, 0.95), **GRID).fit(X, y),
        KernelRegressorCV("huber", **GRID).fit(X, y),
        KernelQuantileRegressor((0.05, 0.95)).fit(X[:30], y[:30]).calibrate(X[30:], y[30:]),
    ):
        ends = [model.predict_interval(new, c) for c in (0.01, 0.2, 0.5, 0.8, 0.95)]
        for small, large in pairwise(ends):
            assert (small[:, 0] <= small[:, 1]).all()
            assert (large[:, 0] <= small[:, 0]).all()
            assert (small[:, 1] <= large[:, 1]).all()
        predicted = model.predict(new)
        middle = predicted[:, 1] if predicted.ndim == 2 and predicted.shape[1] == 3 else None
        if predicted.ndim == 1 or middle is not None:
            assert inside(ends[0], predicted if middle is None else middle).all()
        assert np.isinf(model.predict_interval(new, 0.999)).all()  # too few rows for that


def test_the_folds_are_those_of_separate_fits():
    rng = np.random.default_rng(3)
    X, y = data(30, rng)
    new, n, alpha = np.linspace(-2, 2, 7)[:, None], 30, 0.2
    search = KernelRegressorCV("absolute", Cs=[2.0], gammas=[0.5], cv=3, conformal=True, tol=1e-9)
    found = search.fit(X, y).predict_interval(new, 1 - alpha)
    lower, upper = [], []
    for k in range(3):
        test = np.arange(n) // 10 == k
        plain = KernelRegressor("absolute", C=2.0, gamma=0.5, tol=1e-9).fit(X[~test], y[~test])
        residuals = np.abs(y[test] - plain.predict(X[test]))
        lower.append(plain.predict(new)[:, None] - residuals)
        upper.append(plain.predict(new)[:, None] + residuals)
    rank = int(np.ceil((1 - alpha) * (n + 1)))
    expected = np.column_stack(
        [
            np.sort(np.hstack(lower), axis=1)[:, n - rank],
            np.sort(np.hstack(upper), axis=1)[:, rank - 1],
        ]
    )
    assert_allclose(found, expected, rtol=1e-3, atol=50.0)  # targets have a spread of 50,000


def test_weights_are_repetitions():
    rng = np.random.default_rng(4)
    X, y = data(40, rng)
    held, truth = data(25, rng)
    weight = np.arange(25) % 4
    model = KernelRegressor().fit(X, y)
    a = model.calibrate(held, truth, weight).predict_interval(X, 0.85)
    again = np.repeat(np.arange(25), weight)
    b = model.calibrate(held[again], truth[again]).predict_interval(X, 0.85)
    assert_allclose(a, b)


def test_intervals_of_one_model_are_as_far_from_its_band_everywhere():
    rng = np.random.default_rng(7)
    low, scores = 1e3 * rng.standard_normal(40), rng.standard_normal(25)
    band, fold = [(low, low + rng.exponential(1.0, 40))], np.zeros(25, dtype=np.int64)
    for weight in (np.ones(25), rng.integers(1, 4, 25).astype(float)):
        one = Calibration(scores, weight, fold)
        by_folds = one._replace(models="of which there is one")
        for coverage in (0.05, 0.5, 0.9, 0.99):
            found, expected = one.interval(band, coverage), by_folds.interval(band, coverage)
            assert_array_equal(found, expected)


def test_smallest_is_infinite_where_rows_are_too_few():
    values = np.arange(9.0)[None, :]
    assert smallest(values, np.ones(9), 0.9)[0] == 8.0  # 0.9 * 10 = 9 rows
    assert np.isinf(smallest(values, np.ones(9), 0.91)[0])
    band = np.zeros(1), np.zeros(1)
    ends = Calibration(np.full(9, 2.0), np.ones(9), np.zeros(9, int)).interval([band], 0.5)
    assert_array_equal(ends, [[-2.0, 2.0]])


@pytest.mark.parametrize("centers", [2, 3])
def test_sets_of_labels(centers):
    X, y = make_blobs(300, centers=centers, cluster_std=4.0, random_state=0)
    y = np.array(["a", "b", "c"])[y]
    search = KernelClassifierCV(Cs=[1.0], gammas=[0.1], conformal=True).fit(X[:100], y[:100])
    plain = (
        KernelClassifier("logistic", gamma=0.1).fit(X[:50], y[:50]).calibrate(X[50:100], y[50:100])
    )
    for model in (search, plain):
        codes = np.searchsorted(model.classes_, y[100:])
        shares = []
        for coverage in (0.7, 0.9):
            sets = model.predict_set(X[100:], coverage)
            assert sets.shape == (200, centers)
            chosen = np.searchsorted(model.classes_, model.predict(X[100:]))
            assert sets[np.arange(200), chosen].all()
            shares.append(sets[np.arange(200), codes].mean())
        assert shares[0] <= shares[1]
        assert shares[1] > 0.83
        assert model.predict_set(X[100:], 0.999).all()


def test_models_with_intervals_are_saved(tmp_path):
    rng = np.random.default_rng(5)
    X, y = data(40, rng)
    K = RBF(1.0)(X)
    own = {"Cs": [1.0], "conformal": True}
    for model, rows in (
        (KernelQuantileRegressorCV((0.2, 0.8), **GRID).fit(X, y).best_estimator_, X),
        (LinearRegressorCV("absolute", **own).fit(X, y).best_estimator_, X),
        (KernelRegressor("poisson").fit(X, np.abs(y) // 1e4).calibrate(X, np.abs(y) // 1e4), X),
        (
            KernelRegressorCV(kernel="precomputed", Cs=[1.0], conformal=True)
            .fit(K, y)
            .best_estimator_,
            K,
        ),
    ):
        resolvent.save(model, tmp_path / "model")
        again = resolvent.load(tmp_path / "model")
        assert_allclose(again.predict_interval(rows, 0.7), model.predict_interval(rows, 0.7))


def test_mistakes():
    rng = np.random.default_rng(6)
    X, y = data(30, rng)
    model = LinearRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"is not calibrated: call calibrate\(X, y\)"):
        model.predict_interval(X)
    model.calibrate(X, y)
    with pytest.raises(ValueError, match="coverage=90 must be a number strictly between 0 and 1"):
        model.predict_interval(X, 90)
    with pytest.raises(ValueError, match="not calibrated"):
        model.fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.calibrate(X, y[:-1])
    with pytest.raises(ValueError, match="missing or infinite"):
        model.calibrate(X, np.r_[np.nan, y[1:]])
    with pytest.raises(ValueError, match="one target"):
        LinearRegressor().fit(X, np.column_stack([y, y])).calibrate(X, y)
    with pytest.raises(ValueError, match="needs refit=True"):
        LinearRegressorCV(conformal=True, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="'z', which training did not have"):
        KernelClassifier().fit(X, np.where(y > 0, "a", "b")).calibrate(X, ["z"] * 30)
