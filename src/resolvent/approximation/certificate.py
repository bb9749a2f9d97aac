"""The certificate of the original problem, for a model that was found in a subspace.

A low-rank fit solves the problem with K^ = ZZ' <= K (see `grams.nystroem`). Its model f lies in the
space of the kernel, so that its objective is an upper bound on the minimum F of the original
problem, that with K. The domain of the dual does not involve K, so that every dual point c of the
low-rank problem gives a lower bound: with E = K - K^

    sum_i C_i L(y_i, f(x_i) + b) + |f|^2 / 2 >= min F >= -sum_i C_i L*(y_i, -c_i / C_i) - c'Kc / 2

    gap = the gap of the low-rank problem (optimisation) + c'Ec / 2 (approximation),

and each score of f, offset aside, is within sqrt(2 gap k(x, x)) of that of the exact machine. The
bound of t c, t in [0, 1], is another lower bound: the best of them is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from resolvent._numeric import EPS
from resolvent._random import as_generator
from resolvent.approximation.forms import (
    Forms,
    Notify,
    choose_method,
    exact_forms,
    sampled_forms,
)
from resolvent.grams.nystroem import NystroemGram
from resolvent.grams.values import IsOver
from resolvent.problem import Array, Problem, Solution
from resolvent.problem.certificate import dual_of, primal_of

__all__ = ["CERTIFICATES", "OriginalCertificate", "certify_models", "certify_original"]

CERTIFICATES = ("auto", "exact", "sampled", "subspace")


class OriginalCertificate(NamedTuple):
    """Bounds on the minimum of the original problem; one entry of each array for each problem.

    Attributes
    ----------
    primal, dual, gap : ndarray of shape (m,)
        Objective of the model, lower bound on the minimum, and their difference, with what rounding
        may hide. With `method` "subspace" the gap is that of the low-rank problem alone.
    optimization, approximation : ndarray of shape (m,)
        The parts of the gap: that of the low-rank problem, and what the subspace may cost. NaN
        where that was not computed.
    method : str
        "exact", "sampled" or "subspace"; "incomplete" where a time limit or Ctrl-C ended the pass,
        and pairs that were not seen are bounded by Cauchy and Schwarz.
    probability : float
        With which the bounds hold; 1 unless sampled.
    interrupted : bool
        Whether it was Ctrl-C that ended it.
    indefinite : bool
        Whether K was found not to be positive semidefinite: then no bound holds, and gaps are
        infinite.
    """

    primal: Array
    dual: Array
    gap: Array
    optimization: Array
    approximation: Array
    method: str
    probability: float = 1.0
    interrupted: bool = False
    indefinite: bool = False


class Models(NamedTuple):
    """Models of m columns found with one gram: coefficients (n, m), weights (rank, m), offsets."""

    coef: Array
    weights: Array
    intercept: Array


class Part(NamedTuple):
    """A problem, and the columns that it is of: several where its loss couples them."""

    problem: Problem
    columns: slice


def certify_original(
    loss: Any,
    K: NystroemGram,
    y: ArrayLike,
    solution: Solution,
    C: ArrayLike = 1.0,
    *,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = False,
    certificate: str = "auto",
    random_state: Any = None,
) -> OriginalCertificate:
    """Bound how far a low-rank solution is from the optimum of the problem with the full kernel.

    Parameters
    ----------
    loss, y, C, sample_weight, fit_intercept
        The problem, as it was given to :func:`resolvent.solve`.
    K : NystroemGram
        What ``gram(X, rank=m)`` returned.
    solution : Solution
        What :func:`resolvent.solve` returned for them.
    certificate : {"auto", "exact", "sampled", "subspace"}, default="auto"
        "exact" computes the kernel on all pairs of support vectors, "sampled" on some rows of them,
        with a bound that holds with probability 0.999. "auto" is "exact" unless that would take
        several times as long as the features did. "subspace" computes nothing: the gap is that of
        the low-rank problem.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample; None is a fixed seed.

    Returns
    -------
    OriginalCertificate

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import certify_original, gram, solve
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sign(np.sin(3 * X[:, 0]))
    >>> K = gram(X, "rbf", gamma=1.0, rank=10)
    >>> solution = solve("hinge", K, y)
    >>> bounds = certify_original("hinge", K, y, solution)
    >>> exact = solve("hinge", gram(X, "rbf", gamma=1.0), y)
    >>> bool(bounds.dual[0] <= exact.primal <= bounds.primal[0])
    True
    """
    problem = Problem(loss, K, y, C, sample_weight, fit_intercept)
    n = K.n
    models = Models(
        solution.coef.reshape(n, -1),
        solution.weights.reshape(K.rank, -1),
        np.atleast_1d(np.asarray(solution.intercept, float)),
    )
    parts = [Part(problem, slice(0, models.coef.shape[1]))]
    return certify_models(K, parts, models, certificate, as_generator(random_state))


def check_certificate(certificate: Any) -> str:
    """Return the name of a way to certify, or say which there are."""
    if certificate not in CERTIFICATES:
        raise ValueError(
            f"certificate={certificate!r} is unknown; choose one of {', '.join(CERTIFICATES)}."
        )
    return str(certificate)


def certify_models(
    K: NystroemGram,
    parts: list[Part],
    models: Models,
    certificate: str,
    rng: np.random.Generator,
    is_over: IsOver = lambda: False,
    notify: Notify = lambda share: None,
) -> OriginalCertificate:
    """Certify models of one gram for the original problems, by one pass over pairs for all."""
    check_certificate(certificate)
    coef, low = _dual_points(parts, models)
    scores, squares, interrupted = _evaluate(K, models.weights, is_over)
    if certificate == "subspace":
        forms = Forms(np.einsum("ij,ij->j", low, low), "subspace")
    else:
        method = choose_method(K, coef) if certificate == "auto" else certificate
        stop = (lambda: True) if interrupted else is_over
        if method == "exact":
            forms = exact_forms(K.values, coef, stop, notify)
        else:
            forms = sampled_forms(K, coef, low, rng, stop, notify)
    of_subspace = np.einsum("ij,ij->j", low, low)
    negative = of_subspace - forms.bound > K.rounding_of_residuals * of_subspace
    indefinite = K.is_above or bool(negative.any())
    noise = (0.5 * EPS + K.values.noise) * (coef**2).T @ K.values.diagonal
    rows: list[tuple[float, ...]] = []
    for problem, columns in parts:
        rows += _bounds(
            problem,
            problem.rows(_public(problem, coef[:, columns])),
            problem.rows(_public(problem, scores[:, columns])),
            models.intercept[columns],
            [_of(problem, x[columns]) for x in (squares, of_subspace, forms.bound, noise)],
        )
    primal, dual, gap, optimization = np.array(rows).T
    if indefinite:
        nothing = np.full_like(gap, np.inf)
        dual, gap, optimization = -nothing, nothing, nothing
    unknown = np.full_like(gap, np.nan)
    return OriginalCertificate(
        primal,
        dual,
        gap,
        optimization,
        unknown if certificate == "subspace" or indefinite else gap - optimization,
        forms.method,
        forms.probability,
        interrupted or forms.interrupted,
        indefinite,
    )


def _public(problem: Problem, columns: Array) -> Array:
    """Columns as `Problem.rows` takes them: a vector where targets were one."""
    return columns if problem.columns else columns[:, 0]


def _of(problem: Problem, values: Array) -> Array:
    """One value for each problem, of those for each column."""
    return values.sum(keepdims=True) if problem.risk.n_columns > 1 else values


def _dual_points(parts: list[Part], models: Models) -> tuple[Array, Array]:
    """Dual points (n, m), which sum to zero where there are offsets, and Z'c (rank, m) of them.

    A fit returns the coefficients of its lowest primal. One step of the fixed point from there is
    in the domain, and the better of the two bounds.
    """
    coef, low = models.coef.copy(), np.empty(models.weights.shape)
    for problem, columns in parts:
        gram, given = problem.given, problem.rows(_public(problem, models.coef[:, columns]))
        states = gram.state(given)
        scores = problem.gram.product(given)
        for j in range(problem.m):
            new = problem.resolvent_step(j, given[j], scores[j])[0]
            state = gram.state(new[None])[0]
            if _low_dual(problem, j, new, state) > _low_dual(problem, j, given[j], states[j]):
                given[j], states[j] = new, state
        count = models.coef[:, columns].shape[1]
        coef[:, columns] = problem.public(given).reshape(-1, count)
        low[:, columns] = states.reshape(count, -1).T
    return coef, low


def _low_dual(problem: Problem, j: int, coef: Array, state: Array) -> float:
    """Lower bound of the low-rank problem; none where coefficients do not sum to zero."""
    if not problem.is_balanced(coef):
        return -np.inf
    none = np.zeros_like(coef)
    conjugates = problem.risk.fenchel(j, coef, none, 0.0)[1]
    return dual_of(float(conjugates), float(state @ state), 0.0)


def _evaluate(K: NystroemGram, weights: Array, is_over: IsOver) -> tuple[Array, Array, bool]:
    """Scores (n, m) and squared norms (m,) of models, by values of K; by Z for want of time."""
    beta, interrupted = K.expansion(weights), False
    try:
        scores = K.model_scores(beta, is_over)
        if scores is not None:
            return scores, K.model_squares(beta), False
    except KeyboardInterrupt:
        interrupted = True
    return K.scores(weights.T).T, np.einsum("ij,ij->j", weights, weights), interrupted


@np.errstate(over="ignore", invalid="ignore")
def _bounds(
    problem: Problem, coef: Array, scores: Array, intercept: Array, squares: list[Array]
) -> list[tuple[float, ...]]:
    """Primal, dual, gap and gap of the low-rank problem, for each problem."""
    rows: list[tuple[float, ...]] = []
    of_model, of_subspace, of_kernel, noise = squares
    for j in range(problem.m):
        b = intercept if problem.risk.n_columns > 1 else float(intercept[j])
        none = np.zeros_like(coef[j])
        losses, _, _, size = problem.risk.fenchel(j, none, scores[j], b)
        primal = float(primal_of(losses, of_model[j]))
        floor = 64 * EPS * float(size) + float(noise[j])
        conjugates = problem.risk.fenchel(j, coef[j], none, 0.0)[1]
        low = primal - dual_of(float(conjugates), of_subspace[j], 0.0) + floor
        dual = _best_multiple(problem, j, coef[j], of_kernel[j])
        bound = min(dual, primal) - floor
        rows.append((primal, bound, primal - bound, min(max(low, floor), primal - bound)))
    return rows


def _best_multiple(problem: Problem, j: int, coef: Array, square: float) -> float:
    """Largest lower bound of t c, t in [0, 1]; `square` is c'Kc, or above it."""
    none = np.zeros_like(coef)

    def bound(t: float) -> float:
        conjugates = problem.risk.fenchel(j, t * coef, none, 0.0)[1]
        value = dual_of(float(conjugates), t**2 * square, 0.0)
        return value if np.isfinite(value) else -np.inf

    if not problem.is_balanced(coef):
        return bound(0.0)
    found = minimize_scalar(lambda t: -bound(t), bounds=(0.0, 1.0), method="bounded")
    return max(bound(0.0), bound(1.0), bound(float(found.x)))
