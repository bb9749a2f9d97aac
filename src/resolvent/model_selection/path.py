"""Solutions along a grid of C, each started from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from resolvent._clock import Clock
from resolvent._solve import solve
from resolvent.grams import as_gram
from resolvent.losses import as_loss
from resolvent.model_selection.grid import as_Cs
from resolvent.problem import Array, Solution, Status
from resolvent.problem.sums import fenchel


@dataclass(frozen=True)
class Path:
    """The result of :func:`resolvent.path`: one entry for each value of C that was reached.

    Attributes
    ----------
    loss : loss
        The loss that was minimised.
    Cs : ndarray of shape (n_Cs,)
        Values of C, increasing: the largest regularisation comes first.
    coef : csr_array of shape (n_Cs, n)
        Coefficients; only those that are not zero are stored.
    intercept : ndarray of shape (n_Cs,)
        Offsets; 0 without `fit_intercept`.
    primal, dual, gap : ndarray of shape (n_Cs,)
        Objective, best lower bound on its minimum, and their difference.
    n_support : ndarray of shape (n_Cs,)
        Number of coefficients that are not zero.
    n_iter : ndarray of shape (n_Cs,)
        Iterations.
    status : list of Status
        Why each solve stopped.
    seconds : ndarray of shape (n_Cs,)
        Time since the start at which each was done.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import path
    >>> result = path("absolute", np.eye(2), [1.0, 2.0], Cs=[0.5, 1.5, 2.5])
    >>> result.coef.toarray().tolist()
    [[0.5, 0.5], [1.0, 1.5], [1.0, 2.0]]
    """

    loss: Any
    Cs: Array
    coef: sparse.csr_array
    intercept: Array
    primal: Array
    dual: Array
    gap: Array
    n_support: np.ndarray
    n_iter: np.ndarray
    status: list[Status]
    seconds: Array

    def scores(self, K: ArrayLike) -> Array:
        """Scores of new samples at each C.

        Parameters
        ----------
        K : array-like of shape (n_new, n)
            Kernel values between the new samples and those that the path was solved for.

        Returns
        -------
        ndarray of shape (n_new, n_Cs)
        """
        values = np.asarray(K, dtype=float)
        if values.ndim != 2 or values.shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"K has shape {values.shape}; it must have a row for each new sample and a column "
                f"for each of the {self.coef.shape[1]} samples of the path."
            )
        return (self.coef @ values.T).T + self.intercept

    def validation_loss(self, K: ArrayLike, y: ArrayLike) -> Array:
        """Mean loss of new samples at each C.

        Parameters
        ----------
        K : array-like of shape (n_new, n)
            Kernel values between the new samples and those that the path was solved for.
        y : array-like of shape (n_new,)
            Their targets.

        Returns
        -------
        ndarray of shape (n_Cs,)
        """
        targets = np.ascontiguousarray(y, dtype=float)
        scores = np.ascontiguousarray(self.scores(K).T)
        if targets.shape != scores.shape[1:]:
            raise ValueError(f"y has shape {targets.shape}; it must be {scores.shape[1:]}.")
        none, share = np.zeros_like(targets), np.full_like(targets, 1.0 / len(targets))
        return np.array([fenchel(self.loss, targets, share, none, z, 0.0)[0] for z in scores])


def path(
    loss: Any,
    K: Any,
    y: ArrayLike,
    Cs: Any = 10,
    *,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    on_interrupt: str = "raise",
    **settings: Any,
) -> Path:
    """Solve along a grid of C, from the largest regularisation to the smallest.

    Each solution, scaled to the next C, is where the next one starts; each has its own certificate.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance.
    K : array-like of shape (n, n) or Gram
        Symmetric positive semidefinite matrix, or what :func:`resolvent.gram` returns.
    y : array-like of shape (n,)
        Targets; -1 and +1 for classification losses.
    Cs : int or array-like, default=10
        Values of C, in any order; a number is so many of them from 0.01 to 1000.
    sample_weight : array-like of shape (n,), optional
        Factors of C.
    time_limit : float, optional
        Seconds for the whole path; what was reached by then is returned.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt, or return what was reached.
    **settings : dict
        Passed on to :func:`resolvent.solve`: `fit_intercept`, `solver`, `tol` and so on.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import gram, path
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.sign(X[:, 0] - 0.2)
    >>> result = path("hinge", gram(X, gamma=2.0), y, Cs=[0.1, 1.0, 10.0])
    >>> bool((result.gap <= 1e-5 * result.primal).all())
    True
    """
    if np.ndim(y) != 1:
        raise ValueError(f"y has shape {np.shape(y)}; a path is of one target, so it must be (n,).")
    loss, grid = as_loss(loss), as_Cs(Cs)
    K = as_gram(K)  # once: a matrix is checked when it becomes a gram
    clock = Clock(time_limit)
    solutions: list[Solution] = []
    seconds: list[float] = []
    for C in grid:
        if clock.is_over() and solutions:
            break
        start = solutions[-1].coef * (C / grid[len(solutions) - 1]) if solutions else None
        solution = solve(
            loss,
            K,
            y,
            C,
            sample_weight=sample_weight,
            start=start,
            time_limit=clock.left,
            on_interrupt=on_interrupt,
            **settings,
        )
        solutions.append(solution)
        seconds.append(clock.seconds)
        if solution.status == Status.INTERRUPTED:
            break
    return Path(
        loss=loss,
        Cs=grid[: len(solutions)],
        coef=sparse.vstack([sparse.csr_array(s.coef[None]) for s in solutions], format="csr"),
        **{
            name: np.array([getattr(s, name) for s in solutions])
            for name in ("intercept", "primal", "dual", "gap", "n_iter")
        },
        n_support=np.array([np.count_nonzero(s.coef) for s in solutions]),
        status=[s.status for s in solutions],
        seconds=np.array(seconds),
    )
