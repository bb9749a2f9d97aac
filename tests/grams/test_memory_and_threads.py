"""Grams keep to their memory, copy nothing that is given, and serve several threads."""

import sys
import threading

import numpy as np
import psutil
import pytest
from scipy import sparse
from storage import RBF_K, N, data, memmap, moves, tight, untidy

from resolvent.grams import DenseGram, gram, parse_memory
from resolvent.grams.linear import LinearGram
from resolvent.grams.memory import free_memory


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
    _, slot = K.fetch(np.empty(0, np.int64), N)  # what is at hand
    assert sorted(np.flatnonzero(slot >= 0)) == [4, 9]


def test_memory_limit_holds(dtype):
    X = data(dtype)
    K = gram(X, RBF_K, memory_limit=tight(X))
    K.product(np.ones((1, N)))
    memory, _ = K.fetch(np.arange(3))
    assert memory.nbytes <= tight(X)
    for chunk in K.chunks(np.arange(N)):
        assert np.shares_memory(chunk.rows, memory)  # there are no others


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

    K = gram(X, kernel, memory_limit=tight(X))  # otherwise it is called once, for all of K
    budget[0] = 20  # within the second of the parts that rows are computed in
    with pytest.raises(KeyboardInterrupt):
        K.product(np.ones((1, N)))
    assert 0 < K.at_hand < N
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


def test_limit_of_the_process_counts():
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("only Linux obeys this limit")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = psutil.Process().memory_info().vms
    try:
        limit = used + 2**28
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
        assert free_memory() <= 2**28
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
