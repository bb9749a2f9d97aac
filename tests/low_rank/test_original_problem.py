"""The certificate of the original problem, against solutions of that problem itself."""

import numpy as np
import pytest
from samples import as_targets

from resolvent import certify_original, gram, solve
from resolvent.approximation.certificate import _best_multiple
from resolvent.approximation.forms import bernstein, exact_forms, sampled_forms
from resolvent.kernels import RBF, Laplacian, Matern, Polynomial
from resolvent.losses import COUPLED, LOSSES
from resolvent.problem import Problem

KERNELS = [
    RBF(0.3),
    RBF(3.0),
    Laplacian(0.3),
    Matern(),
    Polynomial(gamma=0.3, degree=3, coef0=1.0),
    RBF(0.3) + 0.5 * Polynomial(gamma=0.3, degree=2),
]


def problem(loss, seed):
    """A small random problem of a loss: data, kernel, targets, settings and rank."""
    rng = np.random.default_rng([seed, len(loss)])
    n = int(rng.integers(12, 45))
    X = rng.standard_normal((n, 3))
    f = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)
    if loss in ("multinomial", "crammer_singer"):
        codes = np.digitize(f, np.quantile(f, [0.3, 0.6]))
        y = np.eye(3)[codes]
    elif loss in COUPLED:
        y = f
    else:
        y = as_targets(loss, f)
        if LOSSES[loss].__dict__.get("targets") == "sign":
            y[:2] = -1.0, 1.0
    settings = {
        "C": float(10.0 ** rng.uniform(-1.5, 1.5)),
        "fit_intercept": bool(rng.integers(2)),
        "sample_weight": None,
    }
    if rng.integers(2) and loss not in ("chebyshev", "root_squared"):
        settings["sample_weight"] = rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.9)
    kernel = KERNELS[rng.integers(len(KERNELS))]
    rank = int(rng.choice([2, 5, n // 3, n // 2, n]))
    return X, kernel, y, settings, rank


def certified(loss, seed, **how):
    X, kernel, y, settings, rank = problem(loss, seed)
    K = gram(X, kernel, rank=rank, random_state=seed)
    solution = solve(loss, K, y, warn=False, **settings)
    exact = solve(loss, gram(X, kernel), y, tol=1e-9, warn=False, **settings)
    bounds = certify_original(loss, K, y, solution, **settings, **how)
    return bounds, solution, exact, K.rank == len(X)


@pytest.mark.parametrize("loss", [*LOSSES, *COUPLED])
def test_gap_is_at_least_the_true_excess(loss):
    """On 20 problems of each of 17 losses; equal to the low-rank gap where that is all of K."""
    for seed in range(20):
        bounds, solution, exact, whole = certified(loss, seed, certificate="exact")
        primal, dual, gap = (float(x[0]) for x in bounds[:3])
        allowed = exact.gap + 1e-12 * abs(exact.primal)
        assert gap >= primal - exact.primal - allowed, seed
        assert dual <= exact.primal + allowed, seed
        assert gap == pytest.approx(primal - dual, abs=1e-12 * abs(primal))
        assert bounds.method == "exact"
        assert bounds.approximation[0] >= 0.0
        assert bounds.optimization[0] <= solution.gap + 1e-6 * abs(primal)
        if whole:
            assert bounds.approximation[0] <= 1e-6 * abs(primal), seed
            assert primal == pytest.approx(solution.primal, rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "multinomial"])
def test_sampled_gap_is_above_the_exact_one(loss):
    for seed in range(10):
        exact = certified(loss, seed, certificate="exact")[0]
        sampled = certified(loss, seed, certificate="sampled")[0]
        assert sampled.method == "sampled"
        assert sampled.probability == 0.999
        assert sampled.gap[0] >= exact.gap[0] - 1e-9 * exact.primal[0]
        assert sampled.primal[0] == exact.primal[0]


def test_subspace_is_the_gap_of_the_low_rank_problem():
    bounds, solution, _, _ = certified("hinge", 1, certificate="subspace")
    assert bounds.method == "subspace"
    assert np.isnan(bounds.approximation[0])
    assert bounds.gap[0] == pytest.approx(solution.gap, abs=1e-6 * solution.primal)


def test_columns_are_certified_each():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 3)), rng.standard_normal((60, 2))
    K = gram(X, RBF(0.3), rank=10)
    together = certify_original("huber", K, Y, solve("huber", K, Y))
    for j in range(2):
        alone = certify_original("huber", K, Y[:, j], solve("huber", K, Y[:, j]))
        assert together.gap[j] == pytest.approx(alone.gap[0], rel=1e-3)


def test_coverage_of_the_bernstein_bound():
    """Of 300 samples with delta = 0.2 no more than 20% may fail; the bound is far from that."""
    rng = np.random.default_rng(5)
    n = 80
    root = rng.standard_normal((n, 20))
    E, c = root @ root.T, rng.standard_normal(n)
    true = c @ E @ c
    size = np.abs(c) * np.sqrt(E.diagonal())
    total = size.sum()
    values = total * np.sign(c) * (E @ c) / np.sqrt(E.diagonal())
    assert np.average(values, weights=size) == pytest.approx(true)
    assert np.abs(values).max() <= total * np.sqrt(true) * (1 + 1e-12)
    bounds = [bernstein(values[rng.choice(n, 200, p=size / total)], total, 0.2) for _ in range(300)]
    assert np.mean(np.array(bounds) < true) <= 0.2
    long = bernstein(values[rng.choice(n, 10**6, p=size / total)], total, 0.2)
    assert true <= long <= 1.05 * true


def test_forms_and_their_bounds_when_time_is_over():
    rng = np.random.default_rng(0)
    X, c = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    c[::4] = 0.0
    K = gram(X, RBF(0.3), rank=8)
    true = np.einsum("ij,ij->j", c, RBF(0.3)(X) @ c)
    silent, never, over = (lambda share: None), (lambda: False), (lambda: True)
    exact = exact_forms(K.values, c, never, silent)
    np.testing.assert_allclose(exact.bound, true, rtol=1e-12)
    low = K.X.T @ c
    for forms in (
        exact_forms(K.values, c, over, silent),
        sampled_forms(K, c, low, rng, over, silent),
    ):
        assert forms.method == "incomplete"
        assert forms.probability == 1.0
        assert (forms.bound >= true).all()


def test_tiles_make_no_difference(monkeypatch):
    from resolvent.approximation import forms

    rng = np.random.default_rng(0)
    X, c = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    K = gram(X, RBF(0.3), rank=8)
    monkeypatch.setattr(forms, "TILE", 7)
    found = exact_forms(K.values, c, lambda: False, lambda share: None)
    np.testing.assert_allclose(found.bound, [c[:, 0] @ RBF(0.3)(X) @ c[:, 0]], rtol=1e-12)


def test_best_multiple_is_the_best():
    """For the squared loss the bound of t c is a parabola."""
    y, c = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    square = 10.0
    found = _best_multiple(Problem("squared", np.eye(2), y), 0, c, square)
    t = (y @ c) / (c @ c + square)
    assert found == pytest.approx(t * (y @ c) - 0.5 * t**2 * (c @ c + square))


def test_unknown_certificate():
    with pytest.raises(ValueError, match="certificate='best' is unknown"):
        certified("hinge", 0, certificate="best")
