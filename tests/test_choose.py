"""The choice of solver, from facts and settings to a plan, and that `solve` follows it."""

import logging

import numpy as np
import pytest
from samples import as_targets

from resolvent import KernelQuantileRegressor, KernelRegressor, Problem, gram, solve
from resolvent._solve import unwatched
from resolvent.solvers.choose import MAX_ITER, Facts, Plan, choose, facts_of

ROWS = Facts(has_rows=True, sweep=1e6, newton_step=1e9)
FEW_COLUMNS = Facts(sweep=1e6, newton_step=1e7)
MANY_COLUMNS = Facts(sweep=1e6, newton_step=1e8)


def sweeps(**more):
    return Plan("coordinate_descent", **more)


@pytest.mark.parametrize(
    ("facts", "plan"),
    [
        (ROWS, Plan("greedy")),
        (ROWS._replace(iterative=True), sweeps(shrink=True)),
        (ROWS._replace(iterative=True, largest=2000.0), Plan("greedy")),
        (FEW_COLUMNS, sweeps(newton=True, patient=True, shrink=True)),
        (FEW_COLUMNS._replace(smooth=True), sweeps(newton=True)),
        (FEW_COLUMNS._replace(newton_step=1e5), sweeps(newton=True)),
        (MANY_COLUMNS, sweeps(shrink=True)),
        (FEW_COLUMNS._replace(couples="columns"), sweeps(newton=True)),
        (MANY_COLUMNS._replace(couples="columns"), sweeps(newton=True, patient=True, shrink=True)),
        (ROWS._replace(couples="columns", newton_step=1e11), sweeps(shrink=True)),
        (FEW_COLUMNS._replace(couples="samples"), Plan("fixed_point", newton=True)),
        (ROWS._replace(couples="samples", newton_step=1e11), Plan("fixed_point")),
    ],
)
def test_auto(facts, plan):
    assert choose(facts) == plan


@pytest.mark.parametrize("facts", [ROWS, FEW_COLUMNS, MANY_COLUMNS])
def test_what_is_asked_for_is_taken(facts):
    assert choose(facts, "fixed_point") == Plan("fixed_point")
    assert choose(facts, "coordinate_descent") == sweeps(shrink=True)
    assert choose(facts, "newton") == sweeps(newton=True)
    assert choose(facts, "newton", rule="greedy") == Plan("greedy", newton=True)
    assert choose(facts, "auto", rule="greedy") == Plan("greedy")
    for rule in ("cyclic", "aitken", "given"):
        assert choose(facts, "auto", rule) == sweeps()


@pytest.mark.parametrize("settings", [{"accelerate": False}, {"stop": "step"}])
def test_the_plain_iteration_has_no_newton_steps_and_leaves_out_nothing(settings):
    for facts in (FEW_COLUMNS, MANY_COLUMNS, FEW_COLUMNS._replace(couples="columns")):
        assert choose(facts, **settings) == sweeps()
    assert choose(ROWS, **settings) == Plan("greedy")


def test_iterations_at_most_are_those_of_the_steps_that_most_of_them_are():
    assert sweeps(newton=True).max_iter == MAX_ITER["newton"]
    assert sweeps(newton=True, patient=True).max_iter == MAX_ITER["coordinate_descent"]
    assert Plan("greedy").max_iter == MAX_ITER["greedy"]


def test_a_plan_in_words():
    assert str(Plan("greedy")) == "greedy coordinate descent"
    assert str(sweeps(newton=True)) == "coordinate descent, then Newton steps"
    words = "coordinate descent, shrinking, then Newton steps where it gets on slowly"
    assert str(sweeps(newton=True, patient=True, shrink=True)) == words


def make(loss, kernel):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 3))
    return gram(X, kernel), as_targets(loss, X[:, 0] + 0.5 * rng.standard_normal(40))


@pytest.mark.parametrize(
    ("loss", "kernel", "solver"),
    [
        ("hinge", "rbf", "greedy"),
        ("logistic", "rbf", "coordinate_descent"),
        ("squared", "linear", "newton"),
    ],
)
def test_solve_follows_the_plan_says_which_and_logs_it(loss, kernel, solver, caplog):
    K, y = make(loss, kernel)
    plan = choose(facts_of(Problem(loss, K, y)))
    with caplog.at_level(logging.DEBUG, logger="resolvent"):
        solution = solve(loss, K, y)
    assert plan.solver == solution.solver == solver
    assert str(plan) in caplog.text
    assert solve(loss, K, y, callback=unwatched).solver == solver  # in one compiled call if small
    named = solve(loss, K, y, solver="coordinate_descent", accelerate=False)
    assert named.solver == "coordinate_descent"


def test_estimators_say_which_solver_they_used():
    X = np.linspace(0, 1, 30)[:, None]
    y = np.sin(6 * X[:, 0])
    assert KernelRegressor().fit(X, y).solver_ == "greedy"
    assert KernelRegressor(solver="fixed_point").fit(X, y).solver_ == "fixed_point"
    assert KernelQuantileRegressor(quantile=[0.2, 0.8]).fit(X, y).solver_ == "greedy"
