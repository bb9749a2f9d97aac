"""Algorithm 2: coordinate descent with the linear kernel, through w = X'c, dense and sparse."""

import numpy as np
import pytest
from naive import algorithm_1, algorithm_2, every_loss, our_coordinate_descent, targets, weights
from scipy import sparse

from resolvent import Status, gram, solve
from resolvent.losses import Hinge

N, D = 20, 6
SWEEPS = 12

storages = pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])


def data():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, D))
    X[rng.random((N, D)) < 0.5] = 0.0
    X[:, 0] = 1.0  # no row is empty
    return X


@every_loss
@storages
@pytest.mark.parametrize("rule", ["cyclic", "aitken", "permuted"])
def test_same_iterates(loss, store, rule):
    X, y, C = data(), targets(loss, N), weights(N)
    rng = np.random.default_rng(3)
    there = list(range(N))
    ours = our_coordinate_descent(
        loss, gram(store(X), kernel="linear"), y, C, rule, SWEEPS, random_state=3
    )
    expected = np.zeros(N)
    for c, largest in ours:
        if rule == "permuted":
            order = rng.permutation(N)
        else:
            order = there + there[-2::-1] if rule == "aitken" else there
        updates = list(algorithm_2(loss, X, y, C, expected, order))
        expected = updates[-1][2]
        scale = np.abs(expected).max()
        assert np.abs(c - expected).max() <= 1e-11 * scale
        assert largest == pytest.approx(max(abs(h) for _, h, _ in updates), abs=1e-11 * scale)


@every_loss
def test_algorithm_2_is_algorithm_1(loss):
    """For K = X X' the two printed algorithms have the same iterates."""
    X, y, C = data(), targets(loss, N), weights(N)
    order = np.tile(np.arange(N), 4)
    first = algorithm_1(loss, X @ X.T, y, C, np.zeros(N), order)
    second = algorithm_2(loss, X, y, C, np.zeros(N), order)
    for (_, _, c), (_, _, d) in zip(first, second, strict=True):
        assert np.abs(c - d).max() <= 1e-11 * max(1.0, np.abs(c).max())


@storages
def test_stopping_rule(store):
    loss, X, y, C, delta = Hinge(), data(), targets(Hinge(), N), weights(N), 1e-3
    c, sweeps, largest = np.zeros(N), 0, np.inf
    while largest >= delta:
        updates = list(algorithm_2(loss, X, y, C, c, range(N)))
        c, largest, sweeps = updates[-1][2], max(abs(h) for _, h, _ in updates), sweeps + 1
    K = gram(store(X), kernel="linear")
    solution = solve(loss, K, y, C, rule="cyclic", stop="step", tol=delta, accelerate=False)
    assert (solution.status, solution.n_iter) == (Status.STEP, sweeps)


@every_loss
@storages
def test_weights_are_those_of_equation_5(loss, store):
    """w = X'c (equation 4) minimises f(Xw) + |w|^2/2 over all of R^n, and K is never formed."""
    X, y, C = data(), targets(loss, N), weights(N)
    K = gram(store(X), kernel="linear")
    solution = solve(loss, K, y, C, tol=0)
    w = X.T @ solution.coef

    def objective(w):
        return sum(C[i] * loss.value(y[i], X[i] @ w) for i in range(N)) + w @ w / 2

    assert objective(w) == pytest.approx(solution.primal, rel=1e-12)
    near = solve(loss, K, y, C, tol=1e-10)  # before the optimum w and X'c may differ
    assert objective(near.weights) == pytest.approx(near.primal, rel=1e-12)
    for seed in range(20):
        move = np.random.default_rng(seed).standard_normal(D)
        for t in (1e-3, 0.1, 3.0):
            # Strongly convex with modulus 1, and w is off by sqrt(2 gap) at most.
            step = t * move
            slack = np.sqrt(2 * solution.gap) * np.linalg.norm(step) + 1e-12 * solution.primal
            assert objective(w + step) >= objective(w) - solution.gap + step @ step / 2 - slack
