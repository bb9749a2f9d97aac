"""Sweeps that leave out what rests and go first, and again, to what is far off."""

from typing import NamedTuple

import numpy as np
import pytest
from samples import as_targets
from scipy import sparse

from resolvent import Problem, gram, solve
from resolvent.losses import LOSSES, Squared
from resolvent.solvers import sweeps

N, D = 80, 5


def make(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6)
    f = X[:, 0] + 0.5 * rng.standard_normal(N)
    return X, as_targets(loss, f)


class Forces(NamedTuple):
    """What one sweep leaves for the next."""

    largest: np.ndarray  # of the sweep before, of this one, and the number of visits
    of_each: np.ndarray


def no_forces():
    return Forces(np.full(3, np.inf), np.zeros(N))


def sweep(problem, coef, rests, longest, forces=None, order=None):
    """One sweep from the coefficients on; the new ones and their state."""
    coef = coef.copy()
    forces = forces or no_forces()
    forces.largest[:2] = forces.largest[1], 0.0
    state = problem.gram.state(coef[None])[0]
    chunk, *_ = problem.gram.chunks(np.arange(N) if order is None else order)
    column = sweeps.Column(problem.y[0], problem.C[0], coef, problem.gram.diagonal, np.zeros(3))
    resting = sweeps.Rests(rests, longest, N * 10, *forces)
    sweeps.sweep(problem.loss, chunk.panel, state, column, chunk.part, resting)
    return coef, state


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", LOSSES)
def test_sweeps_that_shrink_never_lose_and_leave_out_what_rests(loss, kind):
    X, y = make(loss)
    problem = Problem(loss, gram(kind(X), "linear"), y, 2.0)
    coef, rests, forces = np.zeros(N), np.zeros(N, np.uint8), no_forces()
    visited = np.zeros(N, int)
    for _ in range(30):
        asleep = rests > 0
        rests -= asleep
        new, state = sweep(problem, coef, rests, 3, forces, np.flatnonzero(~asleep))
        np.testing.assert_allclose(state, problem.gram.state(new[None])[0], atol=1e-12)
        assert problem.dual(new) >= problem.dual(coef) - 1e-12 * abs(problem.dual(coef))
        assert (new[asleep] == coef[asleep]).all()
        visited += ~asleep
        coef = new
    assert visited.min() >= 30 // (1 + 4 * 3)  # left out, but not for ever


class Recorder(NamedTuple):
    """A kernel matrix that keeps a record of the scores asked for."""

    K: np.ndarray
    visits: list

    def dot(self, state, i):
        self.visits.append(int(i))
        return state[i]

    def axpy(self, state, i, h):
        state += h * self.K[i]


def test_those_far_off_are_visited_first_and_again():
    X, y = make("squared")
    K, c, state, visits = X @ X.T + 0.1 * np.eye(N), np.zeros(N), np.zeros(N), []
    column = sweeps.Column(y, np.ones(N), c, K.diagonal().copy(), np.zeros(3))
    order, forces = np.arange(N)[::-1], no_forces()
    rests = sweeps.Rests(np.zeros(N, np.uint8), 3, N * 10, *forces)
    for k in range(4):
        forces.largest[:2] = forces.largest[1], 0.0
        loud = np.flatnonzero(forces.of_each > sweeps.QUIET * forces.largest[0])
        visits.clear()
        sweeps.sweep.py_func(Squared(), Recorder(K, visits), state, column, order, rests)
        assert forces.largest[2] == len(visits)
        assert visits[-N:] == order.tolist()  # all of them at the end
        again = visits[:-N]
        assert again[: len(loud)] == [i for i in order if i in loud]
        assert set(again) == set(loud.tolist())
        assert bool(again) == (k > 0)  # before the first sweep nothing is known
        assert len(again) <= sweeps.AGAIN * N
        assert forces.largest[1] == forces.of_each.max()


@pytest.mark.parametrize("loss", ["hinge", "absolute", "huber", "logistic"])
def test_with_and_without_shrinking_the_optimum_is_the_same(loss):
    X, y = make(loss)
    settings = {"solver": "coordinate_descent", "tol": 1e-9, "max_iter": 100_000}
    shrunk = solve(loss, gram(X, "linear"), y, 2.0, **settings)
    plain = solve(loss, gram(X, "linear"), y, 2.0, accelerate=False, **settings)
    assert shrunk.primal == pytest.approx(plain.primal, rel=2e-9)


def test_what_is_near_its_next_move_does_not_rest():
    X, y = make("hinge")
    problem = Problem("hinge", gram(X, "linear"), y, 2.0)
    coef = solve("hinge", problem.gram, y, 2.0, tol=0).coef
    margin = np.abs(1.0 - y * problem.gram.product(coef[None])[0])
    bound = (coef == 0.0) | (np.abs(coef) == 2.0)
    force = 2.0 * np.median(margin[bound])
    rests = np.zeros(N, np.uint8)
    sweep(problem, coef, rests, 3, Forces(np.array([0.0, force, 0.0]), np.zeros(N)))
    sure = np.abs(margin - sweeps.EDGE * force) > 1e-6
    far = bound & (margin > sweeps.EDGE * force)
    assert 0 < far.sum() < bound.sum()
    assert ((rests > 0) == far)[sure].all()
    farther = bound & (margin > sweeps.FARTHER * sweeps.EDGE * force)
    sure &= np.abs(margin - sweeps.FARTHER * sweeps.EDGE * force) > 1e-6
    assert ((rests == 12) == farther)[sure].all()


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_coefficients_at_their_bounds_are_there_exactly(loss):
    """Or they would move by an ulp at each visit, and never rest."""
    X, y = make(loss)
    rng = np.random.default_rng(2)
    C = 1e-3 * rng.random(N)  # so small that most end at a bound
    problem = Problem(loss, gram(X, "linear"), y, C)
    for _ in range(20):
        inside = 0.4 * C * rng.random(N) * np.sign(y)
        coef, _ = sweep(problem, inside, np.zeros(N, np.uint8), 0)
        at_bound = np.isclose(np.abs(coef), C, rtol=1e-12, atol=0.0)
        assert np.count_nonzero(at_bound) > N // 2
        assert (np.abs(coef) == C)[at_bound].all()


@pytest.mark.parametrize("running", [[0], [1], [0, 2], [0, 1, 2]])
def test_who_is_awake(running):
    rng = np.random.default_rng(len(running))
    rests = rng.integers(0, 3, (3, N)).astype(np.uint8)
    used = rng.random((3, N)) < 0.8
    rests[1], used[1, :5] = 0, False  # nobody rests there
    before, some_rest, awake = rests.copy(), np.ones(3, bool), np.empty(N, np.int64)
    count = sweeps.wake(np.array(running), used, rests, some_rest, awake)
    expected = ((before == 0) & used)[running].any(axis=0)
    assert 0 < expected.sum() < N
    assert awake[:count].tolist() == np.flatnonzero(expected).tolist()
    for j in range(3):
        if j in running:
            assert some_rest[j] == before[j].any()
            assert (rests[j] == np.maximum(before[j], 1) - 1).all()
        else:
            assert (rests[j] == before[j]).all()
