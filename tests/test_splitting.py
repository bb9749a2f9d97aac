"""Many problems on one kernel matrix, solved together by splitting."""

import numpy as np
import pytest

from resolvent import KernelQuantileRegressorCV, Problem, gram, solve
from resolvent.kernels import RBF
from resolvent.losses import LOSSES
from resolvent.model_selection import search
from resolvent.model_selection.splitting import Splitting

N = 60
SMOOTH_OR_NOT = ["absolute", "pinball", "huber", "squared", "hinge", "logistic", "poisson"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    return X, 2.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", SMOOTH_OR_NOT)
def test_gaps_are_those_of_the_functions_that_score(loss, fit_intercept, data):
    """Two folds at once: dual <= optimum <= primal, and scores within the bound of the gap."""
    X, y = data
    kind = getattr(LOSSES[loss], "targets", "real")
    y = np.where(y > 2.0, 1.0, -1.0) if kind == "sign" else np.maximum(np.round(y), 0.0)
    K, C = RBF(0.3)(X), 30.0
    weights = [C * (np.arange(N) % 3 != k) for k in (0, 1)]
    problems = [Problem(loss, K, y, w, fit_intercept=fit_intercept) for w in weights]
    seen = {}

    def measure(p, primal, dual, scores):
        seen[p] = primal, dual
        return (primal - dual) / abs(primal)

    splitting = Splitting(gram(K, "precomputed"), fit_intercept, lambda: None)
    start = np.array(
        [
            problem.rows(0.01 * w * (y - y.mean()))[0]
            for problem, w in zip(problems, weights, strict=True)
        ]
    )
    coef, scores, gaps = splitting.solve(
        [(problem, 0) for problem in problems], start, start @ K, measure, 1e-2
    )
    assert (gaps <= 1e-2).all()
    for p, (problem, w) in enumerate(zip(problems, weights, strict=True)):
        best = solve(loss, K, y, w, fit_intercept=fit_intercept, tol=1e-9)
        primal, dual = seen[p]
        assert dual <= best.primal * (1 + 1e-7)
        assert primal >= best.primal * (1 - 1e-5)
        assert (coef[p][w == 0.0] == 0.0).all()
        assert problem.dual(coef[p]) == pytest.approx(dual, rel=1e-5)
        if fit_intercept:
            assert coef[p].sum() == pytest.approx(0.0, abs=1e-9 * np.abs(coef[p]).sum())
        else:
            bound = np.sqrt(2.0 * (primal - dual)) + 1e-3
            assert np.abs(scores[p] - best.fitted).max() <= bound


def test_an_inverse_serves_several_values_of_C(data):
    X, y = data
    K = gram(RBF(0.3)(X), "precomputed")
    splitting = Splitting(K, False, lambda: None)
    coef, scores = y[None] - 2.0, y[None]
    sigmas = []
    for C in (10.0, 11.0, 12.0, 1e5):
        problem = Problem("absolute", K, y, C)
        coef, scores, gaps = splitting.solve(
            [(problem, 0)], coef, scores, lambda _, f, d, __: (f - d) / f, 0.02
        )
        assert gaps[0] <= 0.02
        sigmas.append(splitting.sigma)
    assert sigmas[1] == sigmas[2] < sigmas[3]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_folds_that_are_handed_over_have_the_same_scores(fit_intercept, data, monkeypatch):
    X, y = data
    args = {"Cs": [1.0, 10.0, 100.0], "gammas": [0.1, 1.0], "cv": 3, "refit": False}
    args["fit_intercept"] = fit_intercept
    exact = KernelQuantileRegressorCV((0.2, 0.8), search_tol=None, **args).fit(X, y)
    calls = []
    together = search.together
    monkeypatch.setattr(search, "together", lambda *a: calls.append(a) or together(*a))
    monkeypatch.setattr(search, "cost", lambda n, problems: 0.0)
    coarse = KernelQuantileRegressorCV((0.2, 0.8), search_tol=1e-3, **args).fit(X, y)
    assert len(calls) == 4  # both gammas from the second C on
    assert (coarse.cv_results_["max_relative_gap"] <= 1e-3).all()
    np.testing.assert_allclose(
        coarse.cv_results_["mean_test_score"], exact.cv_results_["mean_test_score"], atol=5e-3
    )
    monkeypatch.setattr(search, "cost", lambda n, problems: np.inf)
    KernelQuantileRegressorCV((0.2, 0.8), search_tol=1e-3, **args).fit(X, y)
    assert len(calls) == 4


@pytest.fixture(scope="module")
def counts():
    """Few distinct samples, so that K is singular, and targets of which most can be met exactly."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (150, 2)).astype(float)
    return X, 1e-3 * rng.poisson(1.0 + X[:, 0], 150)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_singular_kernel_and_long_step(fit_intercept, counts):
    """Rounding to single precision gives K eigenvalues below zero, which a long step magnifies."""
    X, y = counts
    K = RBF(0.01)(X).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(float))[0] < -1e-7
    problem = Problem("absolute", K.astype(float), y, 1e3, fit_intercept=fit_intercept)
    start = 1e3 * np.sign(y - np.median(y))[None]
    splitting = Splitting(gram(K, "precomputed", dtype="float32"), fit_intercept, lambda: None)
    _, scores, gaps = splitting.solve(
        [(problem, 0)], start, 1e-3 * start, lambda _, f, d, __: (f - d) / abs(f), 1e-2
    )
    assert splitting.sigma > 1e6
    assert gaps[0] <= 1e-2
    best = solve("absolute", RBF(0.01)(X), y, 1e3, fit_intercept=fit_intercept)
    losses = 1e3 * np.abs(y - scores[0]).sum()
    assert losses <= 1.02 * best.primal  # at least what is not the penalty


def test_splitting_that_overflows_is_replaced(counts, monkeypatch):
    """Folds handed over to a splitting that fails are solved otherwise, with the same scores."""
    X, y = counts
    args = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 1.0], "cv": 3, "refit": False}
    exact = KernelQuantileRegressorCV((0.2, 0.8), search_tol=None, **args).fit(X, y)
    monkeypatch.setattr(search, "cost", lambda n, problems: 0.0)
    monkeypatch.setattr(Splitting, "_resolve", lambda self, right: np.full_like(right, np.nan))
    coarse = KernelQuantileRegressorCV((0.2, 0.8), search_tol=1e-3, **args).fit(X, y)
    assert (coarse.cv_results_["max_relative_gap"] <= 1e-3).all()
    np.testing.assert_allclose(
        coarse.cv_results_["mean_test_score"], exact.cv_results_["mean_test_score"], rtol=0.05
    )
