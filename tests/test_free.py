"""Newton steps on the free coordinates, which the greedy method takes between its blocks."""

from __future__ import annotations

import numpy as np
import pytest
from samples import as_targets
from scipy.linalg import LinAlgError

from resolvent import Problem, gram, solve
from resolvent.grams.systems import HeldSystem
from resolvent.kernels import RBF
from resolvent.losses import LOSSES
from resolvent.solvers import free, greedy
from resolvent.solvers.iterate import Point

N = 300
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])


@pytest.fixture
def often(monkeypatch):
    """Take a step at each look, whatever blocks have cost, but only if enough have settled."""
    monkeypatch.setattr(free, "FREE_STEP_FROM", 0.0)
    monkeypatch.setattr(free, "FREE_STEP_SPEED", np.inf)
    monkeypatch.setattr(free, "DELAY", 0.0)


def make(loss, n=N):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, as_targets(loss, f)


def bordered_solution(A, right, balanced, held, values):
    """Solve for x, b and the forces on those held, all in one dense system."""
    n = len(A)
    E = np.hstack([np.ones((n, int(balanced))), np.eye(n)[:, held]])
    whole = np.block([[A, E], [E.T, np.zeros((E.shape[1], E.shape[1]))]])
    wanted = np.concatenate([right, np.zeros(int(balanced)), values])
    solution = np.linalg.solve(whole, wanted)
    return solution[:n], solution[n] if balanced else 0.0


@pytest.mark.parametrize("balanced", [False, True])
def test_one_factor_serves_whichever_coordinates_are_held(balanced):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 12))
    A = A @ A.T + np.eye(12)
    right = rng.standard_normal(12)
    system = HeldSystem(A.copy(), right, balanced)
    for held in ([], [3], [3, 7, 8], [7], [1, 7]):
        index, values = np.array(held, int), rng.standard_normal(len(held))
        x, b = system.solve(index, values)
        expected, offset = bordered_solution(A, right, balanced, index, values)
        np.testing.assert_allclose(x, expected, atol=1e-10)
        assert b == pytest.approx(offset, abs=1e-10)
        np.testing.assert_array_equal(x[index], values)


def test_a_matrix_that_is_not_positive_is_refused():
    with pytest.raises(LinAlgError):
        HeldSystem(np.diag([1.0, -1.0]), np.ones(2), False)


@OFFSET
@pytest.mark.parametrize("loss", LOSSES)
def test_no_step_makes_the_dual_worse_or_unbalances_it(loss, fit_intercept, often, monkeypatch):
    monkeypatch.setattr(free, "SETTLED", np.inf)
    monkeypatch.setattr(free, "HELD", 1.0)
    taken = []
    original = free.FreeStep.take

    def take(self, c, z, b, held):
        found = original(self, c, z, b, held)
        if found is not None:
            new = c.copy()
            new[found[0]] = found[1]
            taken.append((problem.dual(c.copy()), problem.dual(new), new))
        return found

    monkeypatch.setattr(free.FreeStep, "take", take)
    monkeypatch.setattr(greedy, "BLOCK", 32)
    X, y = make(loss)
    problem = Problem(loss, RBF(0.3)(X), y, 100.0, fit_intercept=fit_intercept)
    point = Point.at(problem, np.zeros((1, N)))
    for _ in zip(greedy.greedy(problem)(point), range(30), strict=False):
        pass
    assert taken
    for before, after, new in taken:
        assert np.isfinite(after)  # inside the domain of the dual
        assert after >= before - 1e-12 * abs(before)
        if fit_intercept:
            assert abs(new.sum()) <= 1e-10 * np.abs(new).sum()
    np.testing.assert_allclose(point.state[0], RBF(0.3)(X) @ point.coef[0], rtol=1e-7, atol=1e-7)


def near_the_optimum(loss, fit_intercept):
    """A problem, its best dual, and where blocks alone are when they have come close to it."""
    X, y = make(loss)
    problem = Problem(loss, RBF(0.3)(X), y, 100.0, fit_intercept=fit_intercept)
    best = solve(loss, problem.gram, y, 100.0, fit_intercept=fit_intercept, tol=1e-10).dual
    point = Point.at(problem, np.zeros((1, N)))
    # With a tolerance the loop does not go on to the optimum within one iteration.
    steps = greedy.greedy(problem, tol=1e-4, accelerate=False)(point)
    while best - problem.dual(point.coef[0]) > 1e-5 * best:
        next(steps)
    held = problem.gram.fetch(np.arange(N))
    return problem, best, (point.coef[0], point.state[0], float(point.intercept[0]), held)


@OFFSET
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "pinball", "huber"])
def test_one_step_does_what_pairs_take_long_for(loss, fit_intercept):
    problem, best, (c, *where) = near_the_optimum(loss, fit_intercept)
    step = free.FreeStep(problem, 0, N)
    step.work = 1e9
    assert step.take(c, *where) is None  # it has not been seen to be settled
    step.damping, step.work = 1e-9, 2e9
    which, new, _ = step.take(c, *where)
    after = c.copy()
    after[which] = new
    missing = [best - problem.dual(coef) for coef in (c, after)]
    assert missing[1] <= 0.1 * missing[0]


def test_steps_come_after_work_and_where_there_is_room(monkeypatch):
    problem, _, state = near_the_optimum("pinball", fit_intercept=True)

    def outcome(work, **constants):
        for name, value in constants.items():
            monkeypatch.setattr(free, name, value)
        step = free.FreeStep(problem, 0, N)
        least = step.work = step.least
        step.take(*state)
        step.work = work * least
        return step.take(*state)

    assert outcome(1) is None  # no work since the last look
    assert outcome(3) is not None
    assert outcome(3, ALWAYS=16, ROWS_SHARE=0.0) is None


def test_steps_come_sooner_where_they_cost_next_to_nothing():
    """A search on 60 samples took four times as long in pairs of them."""
    few, many = (
        Problem("pinball", np.eye(n), np.arange(float(n)), 1.0, fit_intercept=True)
        for n in (60, 400)
    )
    assert free.FreeStep(few, 0, 60).least < 0.2 * free.FREE_STEP_FROM
    assert free.FreeStep(many, 0, 400).least == free.FREE_STEP_FROM


@OFFSET
def test_a_fit_of_float32_data_with_steps_agrees_with_one_without(fit_intercept, often):
    X, y = make("epsilon_insensitive", 800)
    K = gram(X.astype(np.float32), kernel="rbf", gamma=0.3)
    settings = {"fit_intercept": fit_intercept, "tol": 1e-4, "rule": "greedy"}
    with_steps = solve("epsilon_insensitive", K, y, 30.0, **settings)
    without = solve("epsilon_insensitive", K, y, 30.0, accelerate=False, **settings)
    assert with_steps.gap <= 1e-4 * with_steps.primal
    assert with_steps.primal == pytest.approx(without.primal, rel=1e-4)
    assert with_steps.n_iter < without.n_iter
