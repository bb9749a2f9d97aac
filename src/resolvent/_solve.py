"""The functional interface: one call that solves a problem."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from resolvent._clock import Clock
from resolvent._random import as_generator
from resolvent._threads import one_blas_thread
from resolvent.kernels.base import is_number
from resolvent.problem import Array, Problem, Record, Solution
from resolvent.problem.warning import warn_of
from resolvent.solvers.certified import Stopping, solve_certified
from resolvent.solvers.choose import MAX_ITER, choose, facts_of, steps_of
from resolvent.solvers.small import solve_small

logger = logging.getLogger("resolvent")
SOLVERS = ("auto", *(name for name in MAX_ITER if name != "greedy"))


def unwatched(record: Record) -> bool:
    """Report to nobody: with this callback small problems are solved in one compiled call.

    Where it ends before the optimum the model is the weights of a linear kernel, from which the
    coefficients may differ as much as the gap allows. Estimators hand out the weights.
    """
    return False


class Continued(NamedTuple):
    """A solution of the very problem that is to be solved on, so that its scores are known."""

    solution: Solution


def solve(
    loss: Any,
    K: Any,
    y: ArrayLike,
    C: ArrayLike = 1.0,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    fit_intercept: bool = False,
    solver: str = "auto",
    rule: Any = "permuted",
    alpha: Any = "spectral",
    accelerate: bool = True,
    stop: str = "gap",
    tol: float = 1e-5,
    max_iter: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    callback: Callable[[Record], bool | None] | None = None,
    on_interrupt: str = "raise",
    warn: bool = True,
    random_state: Any = None,
) -> Solution:
    """Minimise sum_i C_i L(y_i, (Kc)_i) + c'Kc / 2 to a certified optimum.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance, also of a class of your own.
    K : array-like of shape (n, n) or Gram
        Symmetric positive semidefinite matrix, or what :func:`resolvent.gram` returns.
    y : array-like of shape (n,) or (n, m)
        Targets; -1 and +1 for classification losses. Columns are independent problems on one
        kernel, solved together.
    C : float or array-like, default=1.0
        Weight of the loss against the penalty, 1 / lambda. A vector gives each row (or, for m
        columns, each problem) its own; an (n, m) array each target.
    sample_weight : array-like of shape (n,), optional
        Factors of C; 2 is the row twice, 0 the row absent.
    offset : array-like of shape (n,) or (n, m), optional
        A known part of the score of each row, such as the logarithm of an exposure: the losses are
        L(y_i, (Kc)_i + b + offset_i). It is not part of `fitted`.
    fit_intercept : bool, default=False
        Whether to add an unpenalised constant b to the scores.
    solver : {"auto", "coordinate_descent", "fixed_point", "newton"}, default="auto"
        "newton" takes proximal Newton steps, which reach tight tolerances on ill-conditioned
        problems; each solves a linear system, of as many rows as there are free coefficients or,
        for the linear kernel, columns. "auto" is, where `rule` is not given, greedy coordinate
        descent if rows of K are at hand (permuted sweeps for losses whose resolvent takes
        iterations, such as the logistic), Newton for a linear kernel with few columns (up to some
        600 if dense, 2000 if sparse), and otherwise coordinate descent. For losses that couple
        scores it is Newton up to some thousand scores, after a few steps of coordinate descent or,
        where all samples are coupled, of fixed point; beyond, these alone.
    rule : {"permuted", "cyclic", "aitken", "greedy"}, array of int or callable, default="permuted"
        Coordinate descent: the order of updates. "greedy" takes those of the largest gain, in
        blocks. An array is the order of each sweep, a callable maps the number of the sweep to its
        order; each must visit every coordinate.
    alpha : {"spectral", "trace", "jacobi"}, float or array-like, default="spectral"
        Fixed point: the step, 1 / norm(K), 1 / trace(K), or given in (0, 2 / norm(K)). "jacobi"
        gives each coordinate its own, in proportion to 1 / k_ii.
    accelerate : bool, default=True
        Whether to extrapolate (fixed point) and to finish by Newton steps on the free coefficients
        (both); False is the paper's plain iteration.
    stop : {"gap", "step"}, default="gap"
        Stop when the duality gap is at most ``tol * max(|primal|, |dual|)``, or by the paper's
        rule, when the largest change of a coefficient is below `tol`.
    tol : float, default=1e-5
        The tolerance; 0 solves to the limit of rounding.
    max_iter : int, optional
        Largest number of iterations: sweeps (default 10,000), greedy blocks (small ones count
        together, up to a millisecond's work) or fixed-point steps (100,000), proximal Newton steps
        (1,000).
    time_limit : float, optional
        Seconds after which the best result so far is returned, within half a second and after at
        least one iteration if that is no longer; compiling is not counted. 0 stays at the start.
    start : array-like or Solution, optional
        Coefficients to start from, also of a problem with another C.
    callback : callable, optional
        Called with a `Record` at each certification; a true result stops the solver.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt, or return the best result so far.
    warn : bool, default=True
        Whether to warn where the tolerance was not reached; the status says so in any case.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permuted rule; None is a fixed seed, so that results can be repeated.

    Returns
    -------
    Solution
        Coefficients, scores, offset, objective, bound, gap, status and history.

    Warns
    -----
    ConvergenceWarning
        If it stopped before the tolerance; the result has its honest gap.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import gram, solve
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.sign(X[:, 0] - 0.2)
    >>> solution = solve("hinge", gram(X, kernel="rbf", gamma=2.0), y, C=10.0)
    >>> solution.status.name
    'CONVERGED'
    >>> bool(solution.gap <= 1e-5 * solution.primal)
    True
    """
    clock = Clock(time_limit)
    problem = Problem(loss, K, y, C, sample_weight, fit_intercept, offset)
    _check_choice("solver", solver, SOLVERS)
    _check_choice("stop", stop, ("gap", "step"))
    _check_choice("on_interrupt", on_interrupt, ("raise", "return"))
    _check_number("tol", tol, "0 solves to the limit of rounding")
    if stop == "step" and tol == 0:
        raise ValueError("tol=0 with stop='step' would never end; give a positive tol.")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} must be a function of a record, or None.")
    rng = None if random_state is None else as_generator(random_state)  # to be checked in any case
    named = rule if isinstance(rule, str) else "given"  # as an array or a function
    if max_iter is not None and (not is_number(max_iter) or max_iter < 1 or max_iter % 1 != 0):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number, at least 1.")
    starting_point, state = _starting_point(problem, start)
    as_it_comes = solver == "auto" and named == "permuted" and accelerate and stop == "gap"
    if as_it_comes and callback is unwatched:
        solution = solve_small(problem, starting_point, tol, max_iter, clock)
        if isinstance(solution, Solution):
            logger.debug("%s: in one compiled call", type(problem.loss).__name__)
            return solution
        starting_point, state = solution, state if solution is starting_point else None
    plan = choose(facts_of(problem), solver, named, accelerate, stop)
    logger.debug("%s: %s", type(problem.loss).__name__, plan)
    steps = steps_of(
        plan,
        problem,
        tol if stop == "gap" else 0.0,
        rule=rule,
        alpha=alpha,
        accelerate=accelerate,
        random_state=rng,
    )
    stopping = Stopping(
        tol=tol,
        stop=stop,
        max_iter=plan.max_iter if max_iter is None else int(max_iter),
        clock=clock,
        accelerate=accelerate,
        assist=not plan.newton,
        callback=callback,
        on_interrupt=on_interrupt,
    )
    with one_blas_thread():
        solution = solve_certified(problem, steps, starting_point, stopping, state)
    solution = replace(solution, solver=plan.solver)
    if warn:
        warn_of(solution, tol, stop)
    return solution


def _starting_point(problem: Problem, start: Any) -> tuple[Array, Array | None]:
    """Coefficients to start from, inside the domain of the dual, and their state if it is known."""
    if start is None:
        return np.zeros((problem.m, problem.n)), None
    if isinstance(start, Continued):
        coef, fitted = (problem.rows(x) for x in (start.solution.coef, start.solution.fitted))
        known = problem.gram.scores_at_hand and problem.gram is problem.given
        offsets = np.reshape(start.solution.intercept, (-1, 1))
        return coef, fitted - offsets if known else None
    coef = problem.rows(start.coef if isinstance(start, Solution) else start)
    scores = problem.gram.product(coef)
    steps = [problem.resolvent_step(j, coef[j], scores[j])[0] for j in range(problem.m)]
    return np.array(steps), None


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; choose one of {', '.join(choices)}.")


def _check_number(name: str, value: Any, remark: str) -> None:
    if not is_number(value) or value < 0:
        raise ValueError(f"{name}={value!r} must be a number, at least 0 and finite ({remark}).")
