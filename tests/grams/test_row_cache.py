"""Rows that were handed out stay valid while they are referenced, whatever other threads fetch."""

import threading
from collections import deque

import numpy as np
import pytest
from storage import RBF_K, N, data, tight

from resolvent import solve
from resolvent.grams import gram
from resolvent.grams import rows as rows_module

ALL = np.arange(N)


@pytest.fixture
def K():
    return gram(data(), RBF_K, memory_limit=tight(data()))  # for 20 of 75 rows


@pytest.fixture(scope="module")
def expected():
    return RBF_K(data())


def together(*works):
    """Run functions in a thread each; an exception of any is raised here."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


def assert_valid(rows, slot, index, expected):
    """Rows asked for are shown, and all that are shown are those of the matrix."""
    assert (slot[index] >= 0).all()
    shown = np.flatnonzero(slot >= 0)
    np.testing.assert_allclose(rows[slot[shown]], expected[shown], atol=1e-12)


@pytest.mark.parametrize("most", [0, 8, N])
def test_rows_that_are_held_survive_what_others_fetch(most, K, expected):
    held = np.arange(8)
    rows, slot = K.fetch(held, most)

    def others():
        for start in range(8, N, 5):
            index = ALL[start : start + 5]
            assert_valid(*K.fetch(index, 8), index, expected)

    together(others)
    assert_valid(rows, slot, held, expected)


def test_a_view_holds_rows_too(K, expected):
    rows, slot = K.fetch(ALL[:4], 4)
    row = rows[slot[2], 10:]
    del rows, slot
    for start in range(4, N, 4):
        K.fetch(ALL[start : start + 4], 4)
    np.testing.assert_allclose(row, expected[2, 10:], atol=1e-12)


def test_rows_beyond_what_others_leave_are_copies(K, expected):
    held = [(part, *K.fetch(part, N)) for part in np.array_split(ALL, 10)]  # more than there is
    memory = held[0][1]
    assert not all(np.shares_memory(memory, rows) for _, rows, _ in held)
    for part, rows, slot in held:
        assert_valid(rows, slot, part, expected)
    del held, memory, rows, slot
    first, _ = K.fetch(ALL[:10])
    second, _ = K.fetch(ALL[70:])
    assert np.shares_memory(first, second)  # none of the memory is lost


def test_rows_in_use_do_not_make_room_for_those_in_passing(K):
    """Sweeps compute again what did not fit, and find again what did."""
    compute, counts = K._compute, []

    def counted(index, *args):
        counts[-1] += len(index)
        compute(index, *args)

    K._compute = counted
    for _ in range(3):
        counts.append(0)
        for chunk in K.chunks(ALL):
            assert len(chunk.part)
    assert counts == [N, N - K.capacity, N - K.capacity]


@pytest.mark.parametrize("seed", range(6))
def test_random_use_by_many_threads(seed, expected):
    """Holders look at their rows when they are done with them, after others have come and gone."""
    K = gram(data(), RBF_K, memory_limit=(16 + 8 * seed) * N * 8)

    def work(name):
        rng = np.random.default_rng([seed, name])
        held = deque()
        for _ in range(60):
            index = np.sort(rng.choice(N, rng.integers(0, 12), replace=False))
            held.append((*K.fetch(index, int(rng.choice([0, 1, 12, N]))), index))
            while len(held) > rng.integers(1, 4):
                assert_valid(*held.popleft(), expected)
            part, coef = rng.permutation(N)[:20], np.zeros((1, N))
            np.testing.assert_allclose(K.block(part, ALL), expected[part], atol=1e-12)
            coef[0, part] = 1.0
            np.testing.assert_allclose(K.state(coef)[0], expected[part].sum(axis=0), atol=1e-10)

    together(*(lambda name=name: work(name) for name in range(4)))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_solvers_in_threads_on_one_matrix(loss, K, expected, monkeypatch):
    """Two fits of some columns each, by blocks and by sweeps, while rows make room."""
    monkeypatch.setattr(rows_module, "STRETCH", 400)
    rng = np.random.default_rng(0)
    Y = np.where(expected @ rng.standard_normal((N, 4)) > 0, 1.0, -1.0)
    found = {}

    def fit(part):
        found[part] = solve(loss, K, Y[:, 2 * part : 2 * part + 2], 3.0, fit_intercept=True)

    together(lambda: fit(0), lambda: fit(1))
    for part in (0, 1):
        alone = solve(loss, expected, Y[:, 2 * part : 2 * part + 2], 3.0, fit_intercept=True)
        np.testing.assert_allclose(found[part].primal, alone.primal, rtol=2e-5)
        assert (found[part].gap <= 1e-5 * found[part].primal).all()
