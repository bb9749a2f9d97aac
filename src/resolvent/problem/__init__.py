"""The problem: the loss on targets and weights, a kernel matrix, and what is proved of a solution.

`risk` is the loss of all samples as the solvers see it, in terms of the compiled loops of `sums`
and, for coupled losses, of `groups`; `certificate` is the one place where primal, dual and gap are
computed.
"""

from __future__ import annotations

from resolvent.problem.problem import Problem, check_sample_weight, times_weight
from resolvent.problem.solution import Array, Record, Solution, Status

__all__ = [
    "Array",
    "Problem",
    "Record",
    "Solution",
    "Status",
    "check_sample_weight",
    "times_weight",
]
