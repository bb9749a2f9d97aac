"""All grams give the same matrix: through products, blocks and compiled coordinate moves."""

import pickle
import threading

import numba
import numpy as np
import pytest
from scipy import sparse

from resolvent._jit import OPTIONS, axpy, dot
from resolvent.grams import DenseGram, as_gram, gram, parse_memory
from resolvent.grams import chunks as chunks_module
from resolvent.grams import rows as rows_module
from resolvent.grams.base import CHUNK_WORK
from resolvent.grams.linear import LinearGram
from resolvent.grams.stacked import StackedGram
from resolvent.kernels import RBF, Laplacian, Linear, Polynomial, pairwise

N, D = 75, 6


def data(dtype=np.float64):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D))
    X[rng.random(X.shape) < 0.5] = 0
    X[10] = 0
    return X.astype(dtype)


def untidy(X):
    """CSR with 64-bit, unsorted indices, a repeated one and explicit zeros."""
    tidy = sparse.csr_matrix(X)
    parts, indices, indptr = [], [], [0]
    for i in range(len(X)):
        here = slice(tidy.indptr[i], tidy.indptr[i + 1])
        columns, values = tidy.indices[here][::-1], tidy.data[here][::-1]
        columns = np.concatenate([columns, [0, 3, 3]])
        values = np.concatenate([values, [0, 2, -2]])
        parts.append(values)
        indices.append(columns)
        indptr.append(indptr[-1] + len(columns))
    result = sparse.csr_matrix(tidy.shape, dtype=X.dtype)
    result.data = np.concatenate(parts).astype(X.dtype)
    result.indices = np.concatenate(indices).astype(np.int64)
    result.indptr = np.array(indptr, np.int64)
    return result


def memmap(K, folder):
    np.save(folder / "K.npy", K)
    return np.load(folder / "K.npy", mmap_mode="r")


def tight(X):
    return 20 * N * X.dtype.itemsize  # 20 of 75 rows


RBF_K = RBF(0.4)
GRAMS = {
    "dense": lambda X, _: as_gram(RBF_K(X)),
    "dense F": lambda X, _: as_gram(np.asfortranarray(RBF_K(X))),
    "dense strided": lambda X, _: as_gram(np.repeat(RBF_K(X), 2, axis=1)[:, ::2]),
    "memmap": lambda X, folder: as_gram(memmap(RBF_K(X), folder)),
    "computed": lambda X, _: gram(X, RBF_K),
    "computed tight": lambda X, _: gram(X, RBF_K, memory_limit=tight(X)),
    "computed CSR": lambda X, _: gram(sparse.csr_array(X), "rbf", gamma=0.4),
    "computed CSR tight": lambda X, _: gram(untidy(X), RBF_K, memory_limit=tight(X)),
    "computed F": lambda X, _: gram(np.asfortranarray(X), RBF_K, memory_limit=tight(X)),
    "laplacian": lambda X, _: gram(X, Laplacian(0.4), memory_limit=tight(X)),
    "laplacian CSR": lambda X, _: gram(untidy(X), Laplacian(0.4), memory_limit=tight(X)),
    "poly": lambda X, _: gram(X, Polynomial(2, 0.3, 1.0), memory_limit=tight(X)),
    "function": lambda X, _: gram(X, lambda A, B: A @ B.T, memory_limit=tight(X)),
    "linear": lambda X, _: gram(X, "linear"),
    "linear F": lambda X, _: gram(np.asfortranarray(X), "linear"),
    "linear memmap": lambda X, folder: gram(memmap(X, folder), "linear"),
    "linear bias": lambda X, _: gram(X, Linear(0.7)),
    "linear CSR": lambda X, _: gram(sparse.csr_array(X), "linear"),
    "linear CSC": lambda X, _: gram(sparse.csc_matrix(X), "linear"),
    "linear untidy": lambda X, _: gram(untidy(X), "linear"),
    "linear CSR bias": lambda X, _: gram(untidy(X), Linear(0.7)),
}


def matrix(name, X):
    if name.startswith("laplacian"):
        return Laplacian(0.4)(X)
    if name == "poly":
        return Polynomial(2, 0.3, 1.0)(X)
    if name == "function" or name.startswith("linear"):
        return X @ X.T + (0.49 if "bias" in name else 0)
    return RBF_K(X)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Sizes at which 75 rows make many tiles."""
    monkeypatch.setattr(rows_module, "TILE_ROWS", 8)
    monkeypatch.setattr(rows_module, "TILE_COLUMNS", 32)
    monkeypatch.setattr(chunks_module, "TILE", 8 * 32)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=GRAMS)
def case(request, dtype, tmp_path):
    """A gram, the matrix that it is, and the precision of it."""
    X = data(dtype)
    K = GRAMS[request.param](X, tmp_path)
    assert K.dtype == dtype
    return K, matrix(request.param, X.astype(np.float64)), 1e-12 if dtype == np.float64 else 2e-6


def coefficients(m=3):
    coef = np.random.default_rng(2).standard_normal((m, N))
    coef[:, ::3] = 0
    return coef


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


@numba.njit(**OPTIONS)
def moves(panel, order, h, state, scores):
    for k in range(order.size):
        scores[k] = dot(panel, state, order[k])
        axpy(panel, state, order[k], h[k])


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
    assert max(parts) * 1000 <= CHUNK_WORK


# ---- memory and threads -----------------------------------------------------------------------


def test_given_data_are_neither_copied_nor_changed(tmp_path):
    X = data()
    K = RBF_K(X)
    for given in (K, np.asfortranarray(K), memmap(K, tmp_path)):
        assert np.shares_memory(DenseGram(given).matrix, given)
        assert given is not K or given.flags.writeable
    assert np.shares_memory(LinearGram(X).X, X)
    csr = sparse.csr_array(X)
    assert np.shares_memory(LinearGram(csr).X.data, csr.data)
    rough = untidy(X)
    copies = [z.copy() for z in (rough.data, rough.indices, rough.indptr)]
    for kernel in ("linear", "rbf"):
        gram(rough, kernel).product(np.ones((1, N)))
    for before, after in zip(copies, (rough.data, rough.indices, rough.indptr), strict=True):
        np.testing.assert_array_equal(before, after)


def test_only_rows_of_nonzero_coefficients_are_computed():
    K = gram(data(), RBF_K)
    coef = np.zeros((2, N))
    coef[0, 4] = coef[1, 9] = 1
    K.product(coef)
    assert sorted(np.flatnonzero(K._slot >= 0)) == [4, 9]


def test_memory_limit_holds(dtype):
    X = data(dtype)
    K = gram(X, RBF_K, memory_limit=tight(X))
    K.product(np.ones((1, N)))
    assert K._kept.nbytes + K._part * N * X.itemsize <= tight(X)
    assert K._count == len(K._kept) > 0
    for chunk in K.chunks(np.arange(N)):
        assert len(chunk.rows) <= max(len(K._kept), len(chunk.part))


def test_memory_limit_too_small():
    with pytest.raises(ValueError, match=rf"memory_limit='1kB' is too small.*{16 * N * 8} bytes"):
        gram(data(), RBF_K, memory_limit="1kB")
    assert gram(data()[:1], RBF_K, memory_limit=8).product(np.ones((1, 1))) == 1


def test_interrupted_computation_leaves_the_gram_good():
    X, budget = data(), [10**6]

    def kernel(A, B):
        budget[0] -= 1
        if budget[0] == 0:
            raise KeyboardInterrupt
        return A @ B.T

    K = gram(X, kernel)
    budget[0] = 20  # within the second of the parts that rows are computed in
    with pytest.raises(KeyboardInterrupt):
        K.product(np.ones((1, N)))
    assert 0 < K._count < N
    np.testing.assert_allclose(K.product(np.ones((1, N)))[0], (X @ X.T).sum(axis=0), atol=1e-12)


def test_threads():
    X = data()
    K, expected = gram(X, RBF_K, memory_limit=tight(X)), RBF_K(X)
    bad = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            state, steps = np.zeros(N), rng.standard_normal(N)
            coef = np.zeros(N)
            for chunk in K.chunks(rng.permutation(N)):
                part = chunk.part
                here = chunk.enter(coef[None], state[None])[0]
                moves(chunk.panel, part, steps[part], here, np.empty(len(part)))
                coef[part] = steps[part]
                chunk.leave(coef[None], state[None])
            if not np.allclose(state, expected @ steps, atol=1e-12 * N):
                bad.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad


def test_pickle(tmp_path):
    X, coef = data(), coefficients()
    for name, make in GRAMS.items():
        if name != "function":  # a lambda
            K = make(X, tmp_path)
            np.testing.assert_array_equal(
                pickle.loads(pickle.dumps(K)).product(coef), K.product(coef)
            )


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (1000, 1000),
        (2.5e9, 2_500_000_000),
        (np.int64(7), 7),
        ("1GB", 10**9),
        ("1.5 gb", 1_500_000_000),
        ("512MiB", 512 * 2**20),
        ("4k", 4000),
        ("12 B", 12),
        ("100", 100),
    ],
)
def test_parse_memory(given, size):
    assert parse_memory(given) == size


@pytest.mark.parametrize(
    "given", ["", "GB", "1XB", "-1GB", "1ib", 0, -5, np.nan, np.inf, True, [1]]
)
def test_parse_memory_refuses(given):
    with pytest.raises(ValueError, match=r"memory_limit=.* is not an amount of memory"):
        parse_memory(given)


def test_parse_memory_default():
    assert 2**20 < parse_memory(None) < 2**50


# ---- what is refused --------------------------------------------------------------------------


def changed(i, j, value, dtype=np.float64):
    K = RBF_K(data()).astype(dtype)
    K[i, j] = value
    return K


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((3, 2)), r"K has shape \(3, 2\).*square"),
        (np.ones(3), "square"),
        (np.empty((0, 0)), "at least one row"),
        (changed(70, 2, 5.0), r"not symmetric: .*K\[70, 2\] = 5"),
        (changed(2, 70, 5.0), r"not symmetric: .*K\[2, 70\] = 5"),
        (np.asfortranarray(changed(2, 70, 5.0)), r"not symmetric: .*K\[2, 70\] = 5"),
        (changed(2, 70, 5.0, np.float32), "not symmetric"),
        (changed(70, 2, np.nan), r"K\[70, 2\] is nan"),
        (changed(2, 70, np.inf), r"K\[2, 70\] is inf"),
        (changed(3, 3, -0.5), r"K\[3, 3\] is -0.5.*positive semidefinite"),
        (changed(3, 3, np.nan), r"K\[3, 3\] is nan"),
        (np.eye(2) * 1j, "real numbers"),
        ([["a"]], "real numbers"),
    ],
)
def test_bad_matrices(K, words):
    with pytest.raises(ValueError, match=words):
        as_gram(K)
    with pytest.raises(ValueError, match=words):
        gram(K, "precomputed")


def test_rounding_of_a_matrix_is_not_asymmetry():
    X = data(np.float32) * 100
    K = X @ X.T + np.float32(1e-3) * np.random.default_rng(0).random((N, N), np.float32)
    as_gram(K)
    as_gram(K.astype(np.float64) / 1e6)


def test_matrices_of_other_types():
    for K in (
        np.eye(3, dtype=int),
        np.eye(3, dtype=bool),
        np.eye(3).tolist(),
        np.eye(3, dtype=">f8"),
    ):
        assert as_gram(K).dtype == np.float64
        np.testing.assert_array_equal(as_gram(K).product(np.ones((1, 3))), np.ones((1, 3)))
    assert gram(np.eye(3), "precomputed", dtype="float32").dtype == np.float32
    K = gram(np.eye(3), "linear")
    assert as_gram(K) is K


def test_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match="toarray"):
        as_gram(sparse.eye_array(3))


def test_bad_arguments():
    X = data()
    with pytest.raises(ValueError, match=r"dtype='int32'.*float32 or float64"):
        gram(X, dtype="int32")
    with pytest.raises(ValueError, match="cannot be read as numbers"):
        gram([["a"], ["b"]], "rbf", gamma=1.0)
    with pytest.raises(ValueError, match=r"K\[0, 0\] is inf: scale the data"):
        gram(np.array([[1e10], [1.0]], np.float32), Polynomial(4))
    with pytest.raises(ValueError, match=r"not finite in float32.*float64"):
        gram(X, lambda A, B: 1e39 * (len(A) > 1) + A @ B.T, dtype="float32")
    with pytest.raises(ValueError, match="scale the data"):
        gram(X * 1e200, "linear")
    with pytest.raises(ValueError, match="not symmetric: for samples"):
        gram(X, lambda A, B: A @ np.triu(np.ones((D, D))) @ B.T)
    with pytest.raises(ValueError, match="diagonal of a positive semidefinite matrix"):
        gram(X, "sigmoid", gamma=0.1, coef0=-3.0)
    with pytest.raises(ValueError, match="diagonal of a positive semidefinite matrix"):
        gram(X, lambda A, B: -A @ B.T)


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
