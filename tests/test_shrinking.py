"""Sweeps that leave out what rests and visit again what moves."""

import numpy as np
import pytest
from samples import as_targets
from scipy import sparse

from resolvent import Problem, gram, solve
from resolvent.losses import LOSSES
from resolvent.solvers import loops

N, D = 80, 5


def make(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6)
    f = X[:, 0] + 0.5 * rng.standard_normal(N)
    return X, as_targets(loss, f)


def sweep(problem, coef, rests, longest, force=None):
    """One sweep from the coefficients on; the new ones and their state."""
    coef = coef.copy()
    state = problem.gram.state(coef[None])[0]
    chunk, *_ = problem.gram.chunks(np.arange(N))
    args = problem.y[0], problem.C[0], coef, problem.gram.diagonal, np.zeros(3), chunk.part
    room = N * 10, np.array([np.inf, 0.0]) if force is None else force
    loops.sweep(problem.loss, chunk.panel, state, *args, rests, longest, *room)
    return coef, state


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sweep_that_returns_to_what_moves_gains_more(loss, kind):
    X, y = make(loss)
    problem = Problem(loss, gram(kind(X), "linear"), y, 2.0)
    plain = np.zeros(N)
    rests = np.zeros(N, np.uint8)
    for _ in range(6):
        once, _ = sweep(problem, plain, np.zeros(N, np.uint8), 0)
        again, state = sweep(problem, plain, np.zeros(N, np.uint8), 8)
        np.testing.assert_allclose(state, problem.gram.state(again[None])[0], atol=1e-12)
        slack = 1e-12 * abs(problem.dual(once))
        assert problem.dual(again) >= problem.dual(once) - slack
        plain = once
    # What rests is left out, but not for ever.
    visited = np.zeros(N, int)
    coef, force = plain, np.array([np.inf, 0.0])
    for _ in range(30):
        asleep = rests > 0
        new, _ = sweep(problem, coef, rests, 3, force)
        assert (new[asleep] == coef[asleep]).all()
        visited += ~asleep
        coef = new
    assert visited.min() >= 30 // 4


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
    sweep(problem, coef, rests, 3, np.array([force]))
    sure = np.abs(margin - loops.EDGE * force) > 1e-6
    far = bound & (margin > loops.EDGE * force)
    assert 0 < far.sum() < bound.sum()
    assert ((rests > 0) == far)[sure].all()


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
