"""The result of solving a problem, and why the solver stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Status(IntEnum):
    """Why a solver stopped, from best to worst; ``status.message`` says it in words.

    Examples
    --------
    >>> from resolvent import Status
    >>> print(Status.CONVERGED, Status.CONVERGED.message)
    CONVERGED The duality gap is within the tolerance.
    """

    CONVERGED = 0
    STEP = 1
    PRECISION_LIMIT = 2
    SUBSPACE = 3
    RANK_LIMIT = 4
    CALLBACK = 5
    MAX_ITER = 6
    TIME_LIMIT = 7
    INTERRUPTED = 8
    NO_PROGRESS = 9
    NOT_PSD = 10

    def __str__(self) -> str:
        return self.name

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.CONVERGED: "The duality gap is within the tolerance.",
    Status.STEP: "The largest step is below the tolerance (the paper's rule).",
    Status.PRECISION_LIMIT: "The duality gap is as small as rounding allows.",
    Status.SUBSPACE: "The duality gap of the low-rank problem is within the tolerance; that of the "
    "original problem was not computed.",
    Status.RANK_LIMIT: "The low-rank problem is solved; its solution is farther than the tolerance "
    "from the optimum of the original problem, as far as is proved.",
    Status.CALLBACK: "The callback asked to stop before the tolerance was reached.",
    Status.MAX_ITER: "max_iter was reached before the tolerance.",
    Status.TIME_LIMIT: "time_limit was reached before the tolerance.",
    Status.INTERRUPTED: "The fit was interrupted before the tolerance was reached.",
    Status.NO_PROGRESS: "Neither the objective nor its bound has improved for long.",
    Status.NOT_PSD: "The kernel matrix is not positive semidefinite, so that no bound holds.",
}


class Record(NamedTuple):
    """One line of a history; for several problems at once each entry but two is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import solve
    >>> solve("squared", np.eye(2), [1.0, 2.0]).history[0].iteration
    0
    """

    iteration: int
    seconds: float
    primal: Any
    dual: Any
    gap: Any
    largest_step: Any
    n_support: Any = 0  # coefficients that are not zero


@dataclass(frozen=True)
class Solution:
    """The result of :func:`resolvent.solve`.

    For targets of shape (n, m) there are m independent problems, and all but `status`, `history`
    have an entry or a column for each.

    Attributes
    ----------
    coef : ndarray of shape (n,) or (n, m)
        The coefficients c with the lowest objective seen.
    fitted : ndarray of shape (n,) or (n, m)
        Scores Kc + intercept of the training rows.
    intercept : float or ndarray of shape (m,)
        The offset; 0 without `fit_intercept`.
    primal, dual, gap : float or ndarray of shape (m,)
        Objective F(c), best lower bound on its minimum, and their difference: F(c) is at most
        `gap` above the minimum, rounding included. Where F(c) is zero up to rounding, as with a
        constant target and an offset, that counts as converged though the gap may be as large. For
        a kernel matrix that turns out not to be positive semidefinite no bound holds: they are
        -inf and inf.
    n_iter : int or ndarray of shape (m,)
        Iterations: sweeps of coordinate descent or fixed-point steps.
    status : Status
        Why it stopped; the worst of several problems.
    history : list of Record
        Iteration, seconds, primal, dual, gap, largest step and number of support vectors at each
        certification.
    weights : ndarray of shape (d,) or (d, m), or None
        For the linear kernel, the weights w of the columns of X (and, last, of a constant for a
        penalised offset): `fitted` is Xw + intercept, and `primal` the objective of these weights.
        ``X.T @ coef`` is the same at the optimum, but for the rounding of that sum, which is large
        where X is; before it they may differ by as much as the gap allows.
    solver : str
        The algorithm that was used: "greedy", "coordinate_descent", "fixed_point" or "newton".

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import solve
    >>> solution = solve("squared", np.eye(2), [1.0, 2.0])
    >>> solution.coef.round(6).tolist(), round(solution.primal, 6)
    ([0.5, 1.0], 1.25)
    >>> solution.solver
    'greedy'
    """

    coef: Array
    fitted: Array
    intercept: Any
    primal: Any
    dual: Any
    gap: Any
    n_iter: Any
    status: Status
    history: list[Record]
    weights: Any = None
    solver: str = ""
