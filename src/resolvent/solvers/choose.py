"""The choice of solver: a pure function from facts and settings to a plan, and its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from resolvent._costs import BLAS3, NEWTON_MOST, NEWTON_SWEEPS
from resolvent._random import as_generator
from resolvent.problem import Problem
from resolvent.solvers.coordinate_descent import coordinate_descent
from resolvent.solvers.fixed_point import fixed_point
from resolvent.solvers.greedy import greedy
from resolvent.solvers.iterate import Point, Steps
from resolvent.solvers.newton import is_smooth, newton

__all__ = ["MAX_ITER", "Facts", "Plan", "choose", "facts_of", "steps_of"]

MAX_ITER = {
    "greedy": 100_000,
    "coordinate_descent": 10_000,
    "fixed_point": 100_000,
    "newton": 1000,
}
MANY_SWEEPS_FROM = 1000.0  # C k_ii at which sweeps are too many


class Facts(NamedTuple):
    """What the choice depends on beside the settings: of the loss, of the gram, of both."""

    couples: str = ""  # scores that the loss couples: none, those of "columns" or of "samples"
    iterative: bool = False  # whether a resolvent takes iterations
    smooth: bool = False  # whether the loss has no kinks where a fit begins
    has_rows: bool = False  # whether the gram gives rows of K
    sweep: float = 1.0  # multiply-adds of a sweep, and of a Newton step with all coordinates free
    newton_step: float = 1.0
    largest: float = 1.0  # of C, times the mean of k_ii


class Plan(NamedTuple):
    """Which steps `solve` takes; as a string, in words."""

    first: str  # "greedy", "coordinate_descent" or "fixed_point"
    newton: bool = False  # whether proximal Newton steps follow,
    patient: bool = False  # once the first steps get on slowly
    shrink: bool = False  # whether sweeps leave out coordinates that rest

    @property
    def solver(self) -> str:
        """Name of the solver, a key of `MAX_ITER`."""
        return "newton" if self.newton else self.first

    @property
    def max_iter(self) -> int:
        """Iterations at most, unless told otherwise."""
        return MAX_ITER[self.first if self.patient else self.solver]

    def __str__(self) -> str:
        words = {
            "greedy": "greedy coordinate descent",
            "coordinate_descent": "coordinate descent",
            "fixed_point": "fixed-point iteration",
        }[self.first]
        words += ", shrinking" if self.shrink else ""
        if not self.newton:
            return words
        return f"{words}, then Newton steps{' where it gets on slowly' if self.patient else ''}"


def facts_of(problem: Problem) -> Facts:
    """Gather what the choice depends on."""
    gram = problem.gram
    facts = Facts(
        couples=problem.couples,
        iterative=bool(getattr(problem.loss, "iterative", False)),
        has_rows=gram.rows is not None,
        sweep=gram.sweep_cost,
        newton_step=gram.linearised_cost(problem.n) / BLAS3,
        largest=float(problem.C.max()) * gram.trace / problem.n,
    )
    asks = not facts.couples and not facts.has_rows and _is_cheap(facts)
    return facts._replace(smooth=asks and is_smooth(problem))


def choose(
    facts: Facts,
    solver: str = "auto",
    rule: str = "permuted",
    accelerate: bool = True,
    stop: str = "gap",
) -> Plan:
    """Choose the steps for a solver and a rule, which is "given" if it is no name.

    Where rows of K are at hand it is the greedy method, which asks for many resolvents for each one
    that it uses. That is nothing beside the rest of its work, unless a resolvent takes iterations.
    Such losses are smooth, so that all coefficients are free and a sweep leaves out none in vain;
    but where C is large it takes too many sweeps. Where K is XX' it is Newton's method if a step
    costs little, after as many sweeps as get on well if the loss has kinks.
    """
    first = "fixed_point" if facts.couples == "samples" else "coordinate_descent"
    may_finish = accelerate and stop == "gap"
    with_newton, patient = solver == "newton", False
    if solver == "fixed_point":
        first = solver
    elif rule == "greedy":
        first = rule
    elif solver == "coordinate_descent":
        first = solver
    elif solver == "auto" and facts.couples:
        with_newton = may_finish and facts.newton_step <= NEWTON_MOST
        patient = with_newton and not _is_cheap(facts)
    elif solver == "auto" and rule == "permuted" and facts.has_rows:
        first = first if facts.iterative and facts.largest <= MANY_SWEEPS_FROM else "greedy"
    elif solver == "auto" and rule == "permuted":
        with_newton = may_finish and _is_cheap(facts)
        patient = with_newton and facts.newton_step >= facts.sweep and not facts.smooth
    # Before Newton steps a sweep is to visit all once, unless there may be no need of them.
    shrink = may_finish and rule == "permuted" and (patient or not with_newton)
    return Plan(first, with_newton, patient, shrink and first == "coordinate_descent")


def _is_cheap(facts: Facts) -> bool:
    """Whether a Newton step costs no more than some sweeps, even if all coordinates are free."""
    return facts.newton_step <= NEWTON_SWEEPS * facts.sweep


def steps_of(
    plan: Plan,
    problem: Problem,
    tol: float,
    *,
    rule: Any = "permuted",
    alpha: Any = "spectral",
    accelerate: bool = True,
    random_state: Any = None,
) -> Callable[[Point], Steps]:
    """Make the steps of a plan, for a relative gap of `tol`."""
    if plan.first == "fixed_point":
        steps = fixed_point(problem, alpha, accelerate)
    elif plan.first == "greedy":
        steps = greedy(problem, tol, accelerate)
    else:
        steps = coordinate_descent(problem, rule, as_generator(random_state), plan.shrink)
    return newton(problem, steps, tol, plan.patient) if plan.newton else steps
