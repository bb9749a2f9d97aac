"""rank="auto": as many landmarks as the tolerance of the original problem takes, or all samples.

The rank is doubled until the certificate of the original problem is within the tolerance. New
landmarks are drawn with probabilities in proportion to c_i^2 e_i, where the residual c'Ec that the
certificate shows comes from; features and the dual point are kept. As soon as the next doubling is
estimated to cost more than the exact solver does, that solver takes over, with the dual point as
its start: it is near the optimum, so that few passes over the kernel are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent.approximation.fitting import SOLVER_SHARE, LowRank, LowRankFit, certified
from resolvent.fitting import solve_columns
from resolvent.grams import Gram
from resolvent.grams.landmarks import LANDMARKS, weighted
from resolvent.grams.nystroem import NystroemGram, most_rank, nystroem
from resolvent.problem import Status
from resolvent.problem.certificate import relative_gaps
from resolvent.problem.warning import warn_of

__all__ = ["SMALL", "check_auto", "solve_to_tolerance"]

FIRST_RANK = 256
SMALL = 2000  # samples for which the exact solver is quick
OPTIMISATION = 0.3  # share of the tolerance that is left to the solver
PASSES = 4.0  # over the rows of support vectors: what the exact solver takes from near the optimum


def solve_to_tolerance(
    what: LowRank,
    losses: Any,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    exact: Any,
    C: float = 1.0,
    random_state: Any = None,
    time_limit: float | None = None,
    tol: float,
    start: np.ndarray | None = None,
    **settings: Any,
) -> LowRankFit:
    """Solve to a relative gap of `tol` of the original problem; arguments as of `solve_low_rank`.

    `exact` makes the gram of the exact solver.
    """
    check_auto(what.landmarks, what.certificate)
    clock, rng = Clock(time_limit), as_generator(random_state)
    columns, coef = (losses, targets, weights), start
    most = min(what.values.n, most_rank(what.values, what.memory_limit))
    K: NystroemGram | None = None
    last, began = 0, 0.0  # rank, and the time when work on the next one was begun
    while what.values.n > SMALL and most >= FIRST_RANK:
        if K is None:
            K = nystroem(
                what.values, FIRST_RANK, what.landmarks, rng, what.memory_limit, clock.is_over
            )
        left = None if clock.left is None else SOLVER_SHARE * clock.left
        options = {"C": C, "random_state": random_state, "start": coef, **settings}
        found = solve_columns(
            K, *columns, tol=OPTIMISATION * tol, time_limit=left, warn=False, **options
        )
        fit = certified(what, K, found, columns, C, clock, rng, tol=tol, **settings)
        coef, status = fit.coef, max(s.status for s in fit.solutions)
        what.say(_summary(K, fit))
        if status != Status.RANK_LIMIT:
            worst = max(fit.solutions, key=lambda solution: solution.status)
            if max(s.status for s in found.solutions) > Status.PRECISION_LIMIT:
                warn_of(worst, tol, "gap")  # here, with the gap of the original problem
            return fit
        rank = min(2 * K.rank, most)
        if rank - K.rank < K.rank // 2:
            what.say(
                "the exact solver takes over: memory_limit has no room for many more landmarks"
            )
            break
        work, exactly = _work(K, coef, K.rank, rank), _exact_work(K, coef)
        pace = (clock.seconds - began) / _work(K, coef, last, K.rank)
        estimates = (
            f"{_spell(pace * work)} for rank {rank}, {_spell(pace * exactly)} for all samples"
        )
        if work > exactly:
            what.say(f"the exact solver takes over: estimated are {estimates}")
            break
        what.say(f"rank {rank} is next: estimated are {estimates}")
        last, began = K.rank, clock.seconds
        chance = (coef**2).sum(axis=1) * K.residual_diagonal
        chance[K.landmarks] = 0.0
        wider = K.extended(weighted(chance, rank - K.rank, rng), clock.is_over)
        if wider is K and not clock.is_over():
            break  # nothing but rounding is left of the samples
        K = wider
    K = None  # before rows of the kernel matrix take its memory
    return _exactly(exact(), columns, C, tol, coef, clock, random_state=random_state, **settings)


def check_auto(landmarks: Any, certificate: str) -> None:
    """Refuse what rank="auto" has no use for."""
    if not isinstance(landmarks, str) or landmarks not in LANDMARKS:
        raise ValueError(
            f"rank='auto' chooses landmarks itself, by one of {', '.join(LANDMARKS)}: give those "
            "that you have without a rank."
        )
    if certificate == "subspace":
        raise ValueError(
            "rank='auto' goes by the gap of the original problem, which certificate='subspace' "
            "leaves out: use 'auto', 'exact' or 'sampled', or give a rank."
        )


def _work(K: NystroemGram, coef: np.ndarray, known: int, rank: int) -> float:
    """Estimate the multiply-adds of a fit of that rank, of which so many landmarks are known.

    New features, some twenty passes over all of them, and the certificate.
    """
    n, support, new = K.n, np.count_nonzero(coef.any(axis=1)), rank - known
    features = n * new * (K.values.cost + known + 0.5 * new) + 20.0 * n * rank
    return features + 0.5 * support**2 * K.values.cost


def _exact_work(K: NystroemGram, coef: np.ndarray) -> float:
    """Estimate the multiply-adds of the exact solver from near the optimum."""
    return PASSES * K.n * np.count_nonzero(coef.any(axis=1)) * K.values.cost


def _spell(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"


def _exactly(
    K: Gram,
    columns: tuple[Any, np.ndarray, np.ndarray],
    C: float,
    tol: float,
    start: np.ndarray | None,
    clock: Clock,
    **settings: Any,
) -> LowRankFit:
    """Solve the original problem itself, from a dual point that is near its solution."""
    fit = solve_columns(K, *columns, C=C, tol=tol, start=start, time_limit=clock.left, **settings)
    return LowRankFit(*fit[:4], clock.seconds, None, None)


def _summary(K: NystroemGram, fit: LowRankFit) -> str:
    bounds = fit.certificate
    assert bounds is not None
    gap = relative_gaps(bounds.gap, bounds.primal, bounds.dual).max()
    return f"rank {K.rank}: relative gap {gap:.2e} ({bounds.method}), {fit.seconds:.1f} s"
