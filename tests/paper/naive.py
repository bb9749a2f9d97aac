"""The paper's definitions written down as they stand, and small problems to try them on.

Nothing here is fast or clever: plain loops over plain numbers, so that a test compares the library
with the paper and not with itself.
"""

import math

import numpy as np
import pytest

from resolvent import Problem
from resolvent.losses import LOSSES
from resolvent.solvers.coordinate_descent import coordinate_descent
from resolvent.solvers.fixed_point import fixed_point
from resolvent.solvers.iterate import Point

every_loss = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values()], ids=list(LOSSES))


# Small problems ----------------------------------------------------------------------------------


def targets(loss, n, seed=0):
    """Targets that suit the loss; the regression ones are on a scale of 1 with some outliers."""
    rng = np.random.default_rng(seed)
    kind = getattr(loss, "targets", "real")
    if kind == "sign":
        return np.where(rng.random(n) < 0.5, -1.0, 1.0)
    if kind == "nonnegative":
        return rng.poisson(1.5, n).astype(float)
    y = rng.standard_normal(n)
    y[::7] *= 5.0
    return np.exp(0.5 * y) if kind == "positive" else y


def weights(n, seed=1):
    """Weights C_i from 0.3 to 3."""
    return np.exp(np.random.default_rng(seed).uniform(np.log(0.3), np.log(3.0), n))


def features(n, d=3, seed=2):
    return np.random.default_rng(seed).standard_normal((n, d))


def definite(n, scale=1.0):
    """Well-conditioned positive definite K whose diagonal is not constant."""
    X = features(n)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    d = np.sqrt(scale) * np.linspace(0.6, 1.7, n)
    return d[:, None] * K * d


def singular(n):
    """K of rank 3, with one row repeated."""
    X = features(n)
    X[-1] = X[0]
    return X @ X.T


KERNELS = {"definite": definite, "singular": singular}
every_kernel = pytest.mark.parametrize("make_kernel", KERNELS.values(), ids=list(KERNELS))


def null_space(K):
    values, vectors = np.linalg.eigh(K)
    return vectors[:, values < 1e-12 * values[-1]]


# The functionals ---------------------------------------------------------------------------------


def F(loss, K, y, C, c):
    """Equation (2) with f(z) = sum_i C_i L(y_i, z_i)."""
    z = K @ c
    return sum(C[i] * loss.value(y[i], z[i]) for i in range(len(y))) + c @ z / 2


def Q(loss, K, y, C, c):
    """The dual, which both algorithms descend."""
    return sum(C[i] * loss.conjugate(y[i], -c[i] / C[i]) for i in range(len(y))) + c @ K @ c / 2


# The operator ------------------------------------------------------------------------------------


def minus_J(loss, y, C, v, alpha):
    """-J_alpha(v) of f_i = C L(y, .), from the loss's own resolvent."""
    return -C * loss.resolvent(y, v / C, alpha / C)


def minus_J_by_value(loss, y, C, v, alpha):
    """The same from the definition (6) and the values of the loss alone.

    u = J_alpha(v) means v = u + alpha z with u in df(z), so that z minimises
    f(z) + alpha/2 (z - v/alpha)^2. Golden-section search finds z to about 1e-8, the square root of
    the rounding of the values.
    """

    def objective(z):
        return C * loss.value(y, z) + alpha / 2 * (z - v / alpha) ** 2

    lo, hi = -1.0, 1.0
    while objective(lo) < objective(0.5 * lo):
        lo *= 2.0
    while objective(hi) < objective(0.5 * hi):
        hi *= 2.0
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    while hi - lo > 1e-12 * (1.0 + abs(lo) + abs(hi)):
        left, right = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        if objective(left) <= objective(right):
            hi = right
        else:
            lo = left
    return alpha * (lo + hi) / 2 - v


# The algorithms ----------------------------------------------------------------------------------


def fixed_point_step(loss, K, y, C, c, alpha):
    """Section 3: step 1, step 2, step 3."""
    z = K @ c
    v = alpha * z - c
    alphas = np.broadcast_to(alpha, len(y))
    return np.array([minus_J(loss, y[i], C[i], v[i], alphas[i]) for i in range(len(y))])


def fixed_point_iterates(loss, K, y, C, c, alpha, steps):
    """c^0, c^1, ..., c^steps of equation (10)."""
    result = [c]
    for _ in range(steps):
        result.append(fixed_point_step(loss, K, y, C, result[-1], alpha))
    return result


def algorithm_1(loss, K, y, C, c, order):
    """One pass of Algorithm 1 over `order`, as printed; yields (i, h_i, c) after each update."""
    c = c.copy()
    for i in order:
        z = K[i] @ c
        v = z / K[i, i] - c[i]
        tmp = minus_J(loss, y[i], C[i], v, 1 / K[i, i])  # S_i(v)
        step = tmp - c[i]
        c[i] = tmp
        yield i, step, c.copy()


def algorithm_2(loss, X, y, C, c, order):
    """One pass of Algorithm 2 over `order`, as printed (with w = X'c, not X c)."""
    c = c.copy()
    w, p, h_p = X.T @ c, None, 0.0
    for i in order:
        if h_p != 0:
            w = w + X[p] * h_p
        z = X[i] @ w
        v = z / (X[i] @ X[i]) - c[i]
        tmp = minus_J(loss, y[i], C[i], v, 1 / (X[i] @ X[i]))
        h_p = tmp - c[i]
        c[i] = tmp
        p = i
        yield i, h_p, c.copy()


# The library's iterates --------------------------------------------------------------------------


def _run(problem, steps, start, count):
    point = Point.at(problem, np.zeros((problem.m, problem.n)) if start is None else start.copy())
    for iteration in steps(point):
        if iteration is not None:  # None: only part of an iteration is done
            yield point.coef[0].copy(), float(iteration.largest[0])
            count -= 1
        if count == 0:
            return


def our_fixed_point(loss, K, y, C, alpha, count, start=None):
    """(c^k, largest change) for k = 1..count of the library's plain fixed-point iteration."""
    problem = Problem(loss, K, y, C)
    steps = fixed_point(problem, alpha, accelerate=False)
    yield from _run(problem, steps, None if start is None else start[None], count)


def our_coordinate_descent(loss, K, y, C, rule, count, start=None, random_state=None):
    """(c, max |h_i|) after each of `count` compiled sweeps."""
    problem = Problem(loss, K, y, C)
    steps = coordinate_descent(problem, rule, random_state)
    yield from _run(problem, steps, None if start is None else start[None], count)
