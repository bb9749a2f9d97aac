"""Theorem 5: smoothness of the loss traded against positivity of the kernel (paper, section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resolvent.problem import Array, Problem

__all__ = ["Reformulation", "reformulate"]


class Reformulation:
    """The differentiable functional of Theorem 5, as :func:`reformulate` makes it.

    Attributes
    ----------
    problem : Problem
        The problem that it was made of.
    alpha : float
        The parameter.

    Examples
    --------
    >>> from resolvent import Problem, reformulate
    >>> smooth = reformulate(Problem("absolute", [[2.0]], [1.0], C=1.0), alpha=0.5)
    >>> smooth.value([0.0]), smooth.gradient([1.0]).tolist()
    (0.125, [0.0])
    """

    def __init__(self, problem: Problem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha

    def value(self, coef: ArrayLike) -> Any:
        """F_alpha at `coef`; for several problems, an array."""
        c, v, J = self._parts(coef)
        proximal = (v - J) / self.alpha
        values = [
            self.alpha * self.problem.risk.fenchel(j, c[j], p, 0.0)[0]
            for j, p in enumerate(proximal)
        ]
        rest = 0.5 * (J * J + c * v).sum(axis=1)
        return self.problem.public(np.array(values) + rest)

    def gradient(self, coef: ArrayLike) -> Array:
        """Gradient K_alpha (J_alpha(K_alpha c) + c) of F_alpha, of the shape of `coef`."""
        c, _, J = self._parts(coef)
        return self.problem.public(self._product(J + c))

    def kernel(self) -> Array:
        """Matrix K_alpha = alpha K - I, which is not positive semidefinite for small alpha."""
        everything = np.arange(self.problem.gram.n)
        K = self.problem.gram.block(everything, everything)
        return self.alpha * K - np.eye(len(K))

    def _product(self, c: Array) -> Array:
        return self.alpha * self.problem.gram.product(c) - c

    def _parts(self, coef: ArrayLike) -> tuple[Array, Array, Array]:
        """c, v = K_alpha c and J_alpha(v), with a row for each problem."""
        problem = self.problem
        c = problem.rows(coef)
        z = problem.gram.product(c)
        alpha = np.full(problem.n, self.alpha)
        steps = [problem.risk.step(j, c[j], z[j], 0.0, alpha) for j in range(problem.m)]
        return c, self.alpha * z - c, -np.array(steps)


def reformulate(problem: Problem, alpha: float) -> Reformulation:
    """Make of a problem the differentiable one of Theorem 5 (corrected).

    With f the empirical risk, f_alpha its Moreau-Yosida regularization and K_alpha = alpha K - I,

        F_alpha(c) = alpha f_alpha(K_alpha c / alpha) + c'K_alpha c / 2

    is differentiable, and a solution of the problem with c = -J_alpha(alpha K c - c), such as
    :func:`resolvent.solve` gives, is a stationary point of it. A small alpha makes f_alpha smooth
    and K_alpha indefinite; F_alpha is then not convex.

    Parameters
    ----------
    problem : Problem
        A problem without an offset, of any loss.
    alpha : float
        The parameter, above 0.

    Returns
    -------
    Reformulation
        With the methods `value`, `gradient` and `kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import Problem, gram, reformulate, solve
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> K, y = gram(X, gamma=2.0), np.sign(X[:, 0] - 0.2)
    >>> solution = solve("hinge", K, y, C=10.0, tol=0)
    >>> smooth = reformulate(Problem("hinge", K, y, C=10.0), alpha=0.5)
    >>> bool(np.abs(smooth.gradient(solution.coef)).max() < 1e-8)
    True
    >>> bool(np.linalg.eigvalsh(smooth.kernel())[0] < 0)
    True
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem={problem!r} must be a Problem: reformulate(Problem(loss, K, y, C), alpha)."
        )
    if problem.fit_intercept:
        raise ValueError("Theorem 5 knows no offset: give a problem with fit_intercept=False.")
    if isinstance(alpha, bool) or not 0 < float(alpha) < np.inf:
        raise ValueError(f"alpha={alpha!r} must be a positive finite number.")
    return Reformulation(problem, float(alpha))
