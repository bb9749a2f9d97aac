"""Low-rank fits: solved on the features of landmarks, certified for the original problems."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent.approximation.certificate import Models, OriginalCertificate, Part, certify_models
from resolvent.approximation.forms import Notify
from resolvent.fitting import Fit, solve_columns
from resolvent.grams.nystroem import NystroemGram, nystroem
from resolvent.grams.values import Values
from resolvent.problem import Problem, Solution, Status, times_weight
from resolvent.problem.certificate import relative_gaps
from resolvent.problem.warning import warn_of

__all__ = ["LowRank", "LowRankFit", "now_and_then", "solve_low_rank"]

# Of the time that is left after the features, how much the solver may take; the rest is for the
# certificate, without which its result says little.
SOLVER_SHARE = 0.7


@dataclass
class LowRank:
    """What a low-rank fit is asked for.

    Parameters
    ----------
    values : Values
        The kernel matrix K.
    rank : int or None
        Number of landmarks; None where they are given, or found by `solve_to_tolerance`.
    landmarks : str, indices or rows
        See :func:`resolvent.gram`.
    certificate : {"auto", "exact", "sampled", "subspace"}
        See :func:`resolvent.certify_original`.
    memory_limit : int, str or None
        Bytes for the features.
    notify : callable
        Called now and then with the share of the certificate that is done, or -1.
    say : callable
        Called with what was found at a rank, and what is done next.
    """

    values: Values
    rank: int | None
    landmarks: Any = "rpcholesky"
    certificate: str = "auto"
    memory_limit: Any = None
    notify: Notify = lambda share: None
    say: Callable[[str], None] = lambda text: None


def now_and_then(notify: Notify) -> Notify:
    """Let through what is said a second or more after the last time."""
    last = perf_counter()

    def maybe(share: float) -> None:
        nonlocal last
        if share >= 0.0 and perf_counter() - last > 1.0:
            last = perf_counter()
            notify(share)

    return maybe


class LowRankFit(NamedTuple):
    """A fit whose solutions have the bounds of the original problem, with its gram."""

    coef: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray | None
    solutions: list[Solution]
    seconds: float
    gram: NystroemGram | None  # None where the exact solver has the last word
    certificate: OriginalCertificate | None


def solve_low_rank(
    what: LowRank,
    losses: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    C: float = 1.0,
    random_state: Any = None,
    time_limit: float | None = None,
    **settings: Any,
) -> LowRankFit:
    """Solve for all columns of `targets` on features of landmarks, and certify the result.

    The arguments are those of `solve_columns`, and so is the result, but that primal, dual and gap
    of the solutions are bounds of the original problem.
    """
    clock, rng = Clock(time_limit), as_generator(random_state)
    K = nystroem(what.values, what.rank, what.landmarks, rng, what.memory_limit, clock.is_over)
    left = clock.left
    fit = solve_columns(
        K,
        losses,
        targets,
        weights,
        C=C,
        random_state=random_state,
        time_limit=None if left is None else SOLVER_SHARE * left,
        **settings,
    )
    return certified(what, K, fit, (losses, targets, weights), C, clock, rng, **settings)


def certified(
    what: LowRank,
    K: NystroemGram,
    fit: Fit,
    columns: tuple[Any, np.ndarray, np.ndarray],
    C: float,
    clock: Clock,
    rng: np.random.Generator,
    *,
    fit_intercept: bool,
    tol: float,
    **_: Any,
) -> LowRankFit:
    """Give the solutions of a fit the bounds of the original problem."""
    assert fit.weights is not None
    stopped = max(s.status for s in fit.solutions) == Status.INTERRUPTED
    bounds = certify_models(
        K,
        parts_of(K, *columns, C, fit_intercept),
        Models(fit.coef, fit.weights.T, fit.intercept),
        what.certificate,
        rng,
        (lambda: True) if stopped else clock.is_over,
        what.notify,
    )
    solutions, first = [], 0
    for solution in fit.solutions:
        count = np.size(solution.gap)
        solutions.append(
            with_bounds(solution, bounds, slice(first, first + count), tol, clock.seconds)
        )
        first += count
    if bounds.indefinite and not bounds.interrupted:
        warn_of(solutions[0], tol, "gap")
    solved = max(s.status for s in fit.solutions) <= Status.PRECISION_LIMIT
    if solved and bounds.method == "incomplete" and not bounds.interrupted:
        _warn_of_time(relative_gaps(bounds.gap, bounds.primal, bounds.dual).max())
    return LowRankFit(fit.coef, fit.intercept, fit.weights, solutions, clock.seconds, K, bounds)


def _warn_of_time(relative: float) -> None:
    from sklearn.exceptions import ConvergenceWarning  # slow to import, rarely needed

    warnings.warn(
        f"time_limit ended the certificate of the original problem; what is proved without it is a "
        f"relative gap of {relative:.2e}. Raise time_limit, or use certificate='sampled' or "
        "'subspace'.",
        ConvergenceWarning,
        stacklevel=2,
    )


def parts_of(
    K: NystroemGram,
    losses: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    C: float,
    fit_intercept: bool,
) -> list[Part]:
    """Problems of the columns: one for each, or one for all where the loss couples them."""
    m = targets.shape[1]
    if weights.ndim == 1:
        whole = Problem(losses, K, targets, times_weight(C, weights), None, fit_intercept)
        return [Part(whole, slice(0, m))]
    each = losses if isinstance(losses, list) else [losses] * m
    return [
        Part(
            Problem(loss, K, targets[:, j], times_weight(C, weights[:, j]), None, fit_intercept),
            slice(j, j + 1),
        )
        for j, loss in enumerate(each)
    ]


def with_bounds(
    solution: Solution, bounds: OriginalCertificate, here: slice, tol: float, seconds: float
) -> Solution:
    """Put the bounds of the original problem in place of those of the low-rank one."""

    def shaped(values: np.ndarray) -> Any:
        return values[here].reshape(np.shape(solution.gap))[()]

    primal, dual, gap = shaped(bounds.primal), shaped(bounds.dual), shaped(bounds.gap)
    last = solution.history[-1]
    at = [np.reshape(x, np.shape(last.primal))[()] for x in (primal, dual, gap)]
    record = last._replace(seconds=seconds, primal=at[0], dual=at[1], gap=at[2])
    relative = float(relative_gaps(gap, primal, dual).max())
    return replace(
        solution,
        primal=primal,
        dual=dual,
        gap=gap,
        status=_status(solution.status, bounds, relative, tol),
        history=[*solution.history, record],
    )


def _status(of_solver: Status, bounds: OriginalCertificate, relative: float, tol: float) -> Status:
    """Why a low-rank fit ended, in terms of the original problem."""
    if bounds.interrupted:
        return Status.INTERRUPTED
    if bounds.indefinite:
        return Status.NOT_PSD
    if of_solver > Status.PRECISION_LIMIT:
        return of_solver
    if bounds.method == "incomplete":
        return Status.TIME_LIMIT
    if bounds.method == "subspace":
        return Status.SUBSPACE
    return Status.CONVERGED if relative <= tol else Status.RANK_LIMIT
