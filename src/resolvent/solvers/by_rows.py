"""The choice of "auto" where rows of K are at hand."""

from __future__ import annotations

from collections.abc import Callable

from resolvent._random import as_generator
from resolvent.problem import Problem
from resolvent.solvers.coordinate_descent import coordinate_descent
from resolvent.solvers.greedy import greedy
from resolvent.solvers.iterate import Point, Steps

LARGE = 1000.0  # C k_ii


def takes_sweeps(problem: Problem) -> bool:
    """Whether sweeps over all coordinates are faster than greedy blocks.

    To find the largest gain the greedy method asks for many resolvents for each one that it uses.
    That is nothing beside the rest of its work, unless a resolvent takes iterations. Such losses
    are smooth, so that all coefficients are free and a sweep leaves out none in vain; but where C
    is large it takes too many sweeps.
    """
    iterative = bool(getattr(problem.loss, "iterative", False))
    return iterative and float(problem.C.max()) * problem.gram.trace / problem.n <= LARGE


def by_rows(problem: Problem, tol: float) -> Callable[[Point], Steps]:
    """Take the method that is likely to be the fastest, for a relative gap of `tol`."""
    if takes_sweeps(problem):
        return coordinate_descent(problem, "permuted", as_generator(None), shrink=True)
    return greedy(problem, tol)
