"""All grams give the same matrix: through products, blocks and compiled coordinate moves."""

import pickle

import numba
import numpy as np
import pytest
from storage import GRAMS, RBF_K, N, coefficients, data, moves

from resolvent._costs import STRETCH
from resolvent._jit import axpy, dot
from resolvent.grams import gram
from resolvent.grams.linear import LinearGram
from resolvent.grams.stacked import StackedGram
from resolvent.kernels import Laplacian, Polynomial, pairwise


def matrix(name, X):
    if name.startswith("laplacian"):
        return Laplacian(0.4)(X)
    if name == "poly":
        return Polynomial(2, 0.3, 1.0)(X)
    if name == "function" or name.startswith("linear"):
        return X @ X.T + (0.49 if "bias" in name else 0)
    return RBF_K(X)


@pytest.fixture(params=GRAMS)
def case(request, dtype, tmp_path):
    """A gram, the matrix that it is, and the precision of it."""
    X = data(dtype)
    K = GRAMS[request.param](X, tmp_path)
    assert K.dtype == dtype
    return K, matrix(request.param, X.astype(np.float64)), 1e-12 if dtype == np.float64 else 2e-6


def test_product(case):
    K, expected, tol = case
    for coef in (coefficients(), np.ones((1, N)), np.eye(N)[[4, 60]], np.zeros((2, N))):
        for _ in range(2):  # rows are computed the first time, found the second
            state = K.state(coef)
            assert state.flags.c_contiguous
            assert state.dtype == np.float64
            np.testing.assert_allclose(K.scores(state), coef @ expected, atol=tol * N)
            np.testing.assert_allclose(K.product(coef), coef @ expected, atol=tol * N)


def test_diagonal_and_trace(case):
    K, expected, tol = case
    assert K.n == N
    assert K.diagonal.dtype == np.float64
    np.testing.assert_allclose(K.diagonal, np.diag(expected), atol=tol)
    np.testing.assert_allclose(K.trace, np.trace(expected), rtol=tol)


def test_block(case):
    K, expected, tol = case
    rows, columns = np.array([3, 70, 3, 11, 40]), np.array([70, 3, 12, 0])
    for _ in range(2):
        block = K.block(rows, columns)
        assert block.dtype == np.float64
        np.testing.assert_allclose(block, expected[np.ix_(rows, columns)], atol=tol)
        K.product(np.ones((1, N)))  # now some rows are kept
    np.testing.assert_allclose(K.block(np.arange(N), np.arange(N)), expected, atol=tol)
    assert K.block(rows[:0], columns).shape == (0, 4)
    assert K.block(rows, columns[:0]).shape == (5, 0)


def test_restricted(case):
    K, expected, tol = case
    rows = np.array([0, 3, 10, 11, 40, 70])
    part, few = K.restricted(rows), expected[np.ix_(rows, rows)]
    coef = coefficients()[:, : len(rows)]
    assert (part.n, part.dtype) == (len(rows), K.dtype)
    np.testing.assert_allclose(part.diagonal, np.diag(few), atol=tol)
    np.testing.assert_allclose(part.product(coef), coef @ few, atol=tol * N)
    pairs = np.ravel(2 * rows[:, None] + np.arange(2))  # two columns for each sample
    stacked = StackedGram(K, 2).restricted(pairs).product(np.repeat(coef, 2, axis=1))
    np.testing.assert_allclose(stacked, np.repeat(coef @ few, 2, axis=1), atol=tol * N)


def test_compiled_moves(case):
    K, expected, tol = case
    rng = np.random.default_rng(3)
    for order in (rng.permutation(N), np.r_[np.arange(N), np.arange(N - 2, -1, -1)]):
        steps = rng.standard_normal(len(order))
        coef, state = np.zeros(N), K.state(np.zeros((1, N)))[0]
        seen = []
        for chunk in K.chunks(order):
            part = chunk.part
            h = steps[len(seen) : len(seen) + len(part)]
            scores = np.empty(len(part))
            moves(chunk.panel, part, h, chunk.enter(coef[None], state[None])[0], scores)
            for i, step, score in zip(part, h, scores, strict=True):
                assert score == pytest.approx(expected[i] @ coef, abs=tol * N)
                coef[i] += step
            chunk.leave(coef[None], state[None])
            seen.extend(part)
        np.testing.assert_array_equal(seen, order)
        np.testing.assert_allclose(K.scores(state[None])[0], expected @ coef, atol=tol * N)


def test_interpreted_moves(case):
    K, expected, tol = case
    state = K.state(np.zeros((1, N)))[0]
    chunk = next(K.chunks(np.array([5, 2])))
    state = chunk.enter(np.zeros((1, N)), state[None])[0]
    axpy(chunk.panel, state, 5, 2.0)
    assert dot(chunk.panel, state, 2) == pytest.approx(2 * expected[2, 5], abs=tol)


def test_one_compilation_serves_all_storage(tmp_path):
    X = data()
    signatures = set()
    for name, make in GRAMS.items():
        panel = next(make(X, tmp_path).chunks(np.arange(3))).panel
        signatures.add(str(numba.typeof(panel)))
        assert not panel[0].flags.writeable, name
    assert len(signatures) == 3  # rows, dense features, sparse features


def test_chunks_are_bounded():
    X = np.zeros((40_000, 1000), np.float32)
    parts = [len(chunk.part) for chunk in LinearGram(X).chunks(np.arange(len(X)))]
    assert sum(parts) == len(X)
    assert max(parts) * 1000 <= STRETCH


def test_pickle(tmp_path):
    X, coef = data(), coefficients()
    for name, make in GRAMS.items():
        if name != "function":  # a lambda
            K = make(X, tmp_path)
            again = pickle.loads(pickle.dumps(K)).product(coef)
            # The copy's memory may be aligned otherwise, and BLAS then adds in another order.
            np.testing.assert_allclose(again, K.product(coef), rtol=0, atol=1e-13 * N)


def test_objects():
    words = ["kernel", "colonel", "resolvent", "a", "matrix"]
    K = gram(words, pairwise(lambda a, b: float(len(set(a) & set(b)))))
    expected = np.array([[len(set(a) & set(b)) for b in words] for a in words], float)
    np.testing.assert_array_equal(K.product(np.eye(5)), expected)


def test_precision_asked_for():
    X = data()
    for kernel in ("rbf", "linear", "laplacian"):
        single = gram(X, kernel, dtype="float32")
        assert single.dtype == np.float32
        exact = gram(X.astype(np.float32), kernel, dtype=np.float64)
        assert exact.dtype == np.float64
        coef = coefficients()
        np.testing.assert_allclose(single.product(coef), exact.product(coef), atol=1e-4)


def test_one_sample():
    for kernel in ("rbf", "linear", "poly", "cosine"):
        K = gram([[2.0, 0.0]], kernel, gamma=1.0)
        np.testing.assert_allclose(K.product(np.ones((1, 1))), K.diagonal[None])
