"""Section 3: the iteration (10) as its three steps, and the choices of alpha."""

import warnings

import numpy as np
import pytest
from naive import (
    F,
    Q,
    definite,
    every_kernel,
    every_loss,
    features,
    fixed_point_iterates,
    fixed_point_step,
    minus_J,
    our_fixed_point,
    singular,
    targets,
    weights,
)
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from resolvent import Problem, gram, solve
from resolvent.grams import as_gram
from resolvent.losses import Hinge, Squared
from resolvent.solvers.fixed_point import fixed_point, step_sizes
from resolvent.solvers.iterate import Point

N = 20
STEPS = 15


def few_steps(loss, K, y, C, steps, **options):
    """The public call, cut off after some steps on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(
            loss, K, y, C, solver="fixed_point", accelerate=False, max_iter=steps, tol=0, **options
        )


@every_loss
@every_kernel
def test_same_iterates(loss, make_kernel):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    for part in (0.3, 0.5, 0.9):
        alpha = part * 2 / np.linalg.norm(K, 2)
        start = np.random.default_rng(0).standard_normal(N)
        expected = fixed_point_iterates(loss, K, y, C, start, alpha, STEPS)
        ours = our_fixed_point(loss, K, y, C, alpha, STEPS, start)
        for k, (c, largest) in enumerate(ours, 1):
            # One step is non-expansive, so that rounding adds up but does not grow.
            scale = np.abs(expected[k]).max()
            assert np.abs(c - expected[k]).max() <= 1e-12 * scale
            change = np.abs(expected[k] - expected[k - 1]).max()
            assert largest == pytest.approx(change, abs=1e-12 * scale)


@every_loss
@every_kernel
def test_public_call_makes_them(loss, make_kernel):
    """`solve` returns, of the iterates it certified (here all), the one with the lowest F."""
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    alpha = 1 / np.linalg.norm(K, 2)
    iterates = fixed_point_iterates(loss, K, y, C, np.zeros(N), alpha, 6)
    primal = [F(loss, K, y, C, c) for c in iterates]
    dual = [-Q(loss, K, y, C, c) for c in iterates]
    for steps in (1, 2, 6):
        solution = few_steps(loss, K, y, C, steps, alpha=alpha)
        best = int(np.argmin(primal[: steps + 1]))
        assert solution.n_iter == steps
        assert np.abs(solution.coef - iterates[best]).max() <= 1e-12 * np.abs(iterates[steps]).max()
        assert solution.primal == pytest.approx(primal[best], rel=1e-12)
        assert solution.dual == pytest.approx(max(dual[: steps + 1]), rel=1e-11, abs=1e-12)
    assert [r.iteration for r in solution.history] == list(range(7))
    lowest = np.minimum.accumulate(primal)
    assert [r.primal for r in solution.history] == pytest.approx(lowest, rel=1e-12)


@every_loss
def test_plain_iteration_never_lowers_the_dual_bound(loss):
    """It is a proximal gradient step on Q: for alpha <= 1 / norm(K) Q falls at every step."""
    K, y, C = singular(N), targets(loss, N), weights(N)
    height = Q(loss, K, y, C, np.zeros(N))
    for c, _ in our_fixed_point(loss, K, y, C, 1 / np.linalg.norm(K, 2), STEPS):
        new = Q(loss, K, y, C, c)
        assert new <= height + 1e-12 * (1 + abs(height))
        height = new


@every_loss
def test_columns_are_separate_problems(loss):
    """One product K @ [c_1 ... c_m] serves all right-hand sides."""
    K = definite(N)
    y = np.column_stack([targets(loss, N, seed) for seed in range(3)])
    C = np.column_stack([weights(N, seed) for seed in range(3)])
    alpha = 1 / np.linalg.norm(K, 2)
    together = few_steps(loss, K, y, C, 7, alpha=alpha)
    for j in range(3):
        alone = few_steps(loss, K, y[:, j], C[:, j], 7, alpha=alpha)
        scale = np.abs(alone.coef).max()
        assert np.abs(together.coef[:, j] - alone.coef).max() <= 1e-12 * scale
        assert together.primal[j] == pytest.approx(alone.primal, rel=1e-12)
    problem = Problem(loss, K, y, C)
    point = Point.at(problem, np.zeros((3, N)))
    steps = fixed_point(problem, alpha, accelerate=False)(point)
    for _ in range(STEPS):
        next(step for step in steps if step is not None)
    for j in range(3):
        *_, (alone, _) = our_fixed_point(loss, K, y[:, j], C[:, j], alpha, STEPS)
        assert np.abs(point.coef[j] - alone).max() <= 1e-12 * np.abs(alone).max()


@every_loss
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
def test_linear_kernel_in_two_products(loss, store):
    """Step 1 as w = X'c and z = Xw: the iterates are those of K = X X'."""
    X, y, C = features(N), targets(loss, N), weights(N)
    alpha = 1 / np.linalg.norm(X, 2) ** 2
    c = np.zeros(N)
    for ours, _ in our_fixed_point(loss, gram(store(X), kernel="linear"), y, C, alpha, STEPS):
        w = X.T @ c
        z = X @ w
        v = alpha * z - c
        c = np.array([minus_J(loss, y[i], C[i], v[i], alpha) for i in range(N)])
        assert np.abs(ours - c).max() <= 1e-12 * np.abs(c).max()
        assert w.shape == (3,)  # K is never formed


@pytest.mark.parametrize("make_kernel", [definite, singular])
def test_alpha_by_norm_and_trace(make_kernel):
    K = make_kernel(N)
    norm, trace = np.linalg.norm(K, 2), np.trace(K)
    spectral = step_sizes("spectral", as_gram(K))
    # A safe upper bound on the norm, with a margin of some thousandths.
    assert (0.99 / norm <= spectral).all()
    assert (spectral <= 1 / norm).all()
    assert step_sizes("trace", as_gram(K)) == pytest.approx(np.full(N, 1 / trace))
    assert np.array_equal(step_sizes(0.5 / norm, as_gram(K)), np.full(N, 0.5 / norm))
    assert 1 / trace <= 1 / norm < 2 / norm  # both satisfy (11)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
def test_alpha_in_the_linear_case(store):
    """norm(K) = norm(X)_2^2 and trace(K) = norm(X)_F^2, from X alone."""
    X = features(N)
    K = gram(store(X), kernel="linear")
    spectral = step_sizes("spectral", K)[0]
    assert 0.99 <= spectral * np.linalg.norm(X, 2) ** 2 <= 1
    assert step_sizes("trace", K)[0] == pytest.approx(1 / np.linalg.norm(X, "fro") ** 2)


def test_alpha_by_norm_for_clustered_eigenvalues():
    """K near the identity, eigenvalues evenly spread over [0.9, 1]: near 1 / norm(K) still."""
    vectors, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((300, 300)))
    K = (vectors * np.linspace(0.9, 1.0, 300)) @ vectors.T
    assert 0.97 <= step_sizes("spectral", as_gram(K))[0] <= 1.01


def test_unknown_alpha_is_refused():
    with pytest.raises(ValueError, match="alpha='norm' is unknown"):
        solve("squared", definite(N), targets(None, N), solver="fixed_point", alpha="norm")


@every_loss
def test_choices_of_alpha_reach_the_same_scores(loss):
    K, y, C = definite(N), targets(loss, N), weights(N)
    best = solve(loss, K, y, C, tol=1e-9)
    for alpha in ("spectral", "trace", "jacobi", 1.5 / np.linalg.norm(K, 2)):
        solution = solve(loss, K, y, C, solver="fixed_point", alpha=alpha, tol=1e-6)
        assert solution.primal == pytest.approx(best.primal, rel=2e-6)
        # abs(f - f*)(x) <= sqrt(2 gap k(x, x)), where gaps are known up to their rounding.
        gaps = solution.gap + best.gap + 1e-14 * best.primal
        assert (np.abs(solution.fitted - best.fitted) <= 2 * np.sqrt(2 * gaps * K.diagonal())).all()


@every_loss
def test_alpha_one_on_a_rescaled_kernel(loss):
    """alpha on (K, C) is alpha = 1 on (alpha K, C / alpha): coefficients are divided by alpha."""
    K, y, C = definite(N, scale=30.0), targets(loss, N), weights(N)
    alpha = 1.2 / np.linalg.norm(K, 2)
    first = our_fixed_point(loss, K, y, C, alpha, STEPS)
    second = our_fixed_point(loss, alpha * K, y, C / alpha, 1.0, STEPS)
    for (c, _), (d, _) in zip(first, second, strict=True):
        assert np.abs(c / alpha - d).max() <= 1e-11 * np.abs(d).max()


@pytest.mark.parametrize("loss", [Hinge(), Squared()])
def test_start(loss):
    """From any c^0: `start` first goes through one step, into the domain of the dual."""
    K, y, C = definite(N), targets(loss, N), weights(N)
    start = 100 * np.random.default_rng(0).standard_normal(N)
    inside = fixed_point_step(loss, K, y, C, start, 1 / np.trace(K))
    expected = fixed_point_step(loss, K, y, C, inside, 0.1)
    solution = few_steps(loss, K, y, C, 1, alpha=0.1, start=start)
    lowest = min((inside, expected), key=lambda c: F(loss, K, y, C, c))
    assert np.abs(solution.coef - lowest).max() <= 1e-12 * np.abs(expected).max()
