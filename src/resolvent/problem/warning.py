"""The warning that a tolerance was not reached."""

from __future__ import annotations

import warnings

import numpy as np

from resolvent.problem.certificate import is_solved, relative_gaps
from resolvent.problem.solution import Solution, Status


def warn_of(solution: Solution, tol: float, stop: str) -> None:
    """Say once what was not reached: the gap asked for, the gap that is there, the remedy."""
    if is_solved(solution.status, tol):
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import, rarely needed

    relative = float(relative_gaps(solution.gap, solution.primal, solution.dual).max())
    reached = f"{relative:.2e}" if np.isfinite(relative) else "unknown"
    asked = f"a largest step below {tol:g}" if stop == "step" else f"tol={tol:g}"
    go_on = "Go on from here: start=solution, or warm_start=True in an estimator."
    remedies = {
        Status.PRECISION_LIMIT: "A smaller gap needs a kernel matrix in float64 or data of a "
        "more even scale; tol=0 asks for just this limit.",
        Status.MAX_ITER: "Raise max_iter, or tol, or lower C.",
        Status.TIME_LIMIT: f"Raise time_limit. {go_on}",
        Status.NO_PROGRESS: "No progress: is the loss convex? Run check_loss(loss). If it is, the "
        "data are large: scale them, or lower C.",
        Status.NOT_PSD: "The result is a stationary point at best. Use another kernel or other "
        "parameters of it, or make the matrix positive semidefinite: resolvent.repair(K).",
    }
    warnings.warn(
        f"{solution.status.message} Relative duality gap reached: {reached}; asked "
        f"for: {asked}. {remedies.get(solution.status, go_on)}",
        ConvergenceWarning,
        stacklevel=3,
    )
