"""Table 1: the operator -J_alpha of five methods.

The printed column is not -J_alpha(v) of equation (6) but -J_alpha(alpha v) / alpha; the two agree
only at alpha = 1, and for the L2-SVM only if its loss is halved. CORRECTED below is what equation
(7) needs.
"""

from typing import NamedTuple

import numpy as np
import pytest
from naive import F, definite, minus_J, targets

from resolvent import solve
from resolvent.losses import Absolute, EpsilonInsensitive, Hinge, Squared, SquaredHinge
from resolvent.problem import sums

EPSILON = 0.3

LOSS = {
    "L1-SVM": Hinge(),
    "L2-SVM": SquaredHinge(),
    "RLS": Squared(),
    "RLA": Absolute(),
    "SVR": EpsilonInsensitive(EPSILON),
}

# A subgradient dL/dz of each loss as the table's second column has it.
SUBGRADIENT = {
    "L1-SVM": lambda y, z: -y * (y * z < 1),
    "L2-SVM": lambda y, z: -2 * y * max(1 - y * z, 0),
    "RLS": lambda y, z: z - y,
    "RLA": lambda y, z: np.sign(z - y),
    "SVR": lambda y, z: np.sign(z - y) * (abs(z - y) > EPSILON),
}

PRINTED = {
    "L1-SVM": lambda y, v, a, lam: y * np.minimum(1 / (a * lam), np.maximum(1 - y * v, 0)),
    "L2-SVM": lambda y, v, a, lam: y * np.maximum(1 - y * v, 0) / (1 + a * lam),
    "RLS": lambda y, v, a, lam: (y - v) / (1 + a * lam),
    "RLA": lambda y, v, a, lam: np.sign(y - v) * np.minimum(1 / (a * lam), abs(y - v)),
    "SVR": lambda y, v, a, lam: (
        np.sign(y - v) * np.minimum(1 / (a * lam), np.maximum(abs(y - v) - EPSILON, 0))
    ),
}

CORRECTED = {
    "L1-SVM": lambda y, v, a, lam: y * np.clip(a - y * v, 0, 1 / lam),
    "L2-SVM": lambda y, v, a, lam: y * np.maximum(a - y * v, 0) / (1 + a * lam / 2),
    "RLS": lambda y, v, a, lam: (a * y - v) / (1 + a * lam),
    "RLA": lambda y, v, a, lam: np.clip(a * y - v, -1 / lam, 1 / lam),
    "SVR": lambda y, v, a, lam: (
        np.sign(a * y - v) * np.minimum(1 / lam, np.maximum(abs(a * y - v) - a * EPSILON, 0))
    ),
}

methods = pytest.mark.parametrize("method", LOSS)
lambdas = pytest.mark.parametrize("lam", [0.05, 1.0, 7.0])
ALPHAS = [0.01, 0.4, 1.0, 3.0, 50.0]
alphas = pytest.mark.parametrize("alpha", ALPHAS)


class HalvedSquaredHinge(NamedTuple):
    """(1 - m)+^2 / 2, the loss to which the printed L2-SVM row belongs."""

    def value(self, y, z):
        return max(1 - y * z, 0.0) ** 2 / 2

    def conjugate(self, y, u):
        return y * u + u * u / 2 if y * u <= 0 else np.inf

    def resolvent(self, y, v, a):
        return -y * max(a - y * v, 0.0) / (1 + a)


def grid(method, alpha):
    """Targets and arguments v on both sides of every kink."""
    signs = method.endswith("SVM")
    v = np.linspace(-4.0, 4.0, 41) * max(alpha, 1.0)
    y = [-1.0, 1.0] if signs else [-1.3, 0.0, 2.0]
    y, v = (a.ravel() for a in np.meshgrid(y, v))
    return y, v


def by_definition(subgradient, y, v, alpha, lam):
    """Solve v in u + alpha (df)^-1(u) by bisection on the increasing df(z) + alpha z - v.

    Down to two neighbouring numbers, so that -u = alpha z - v is as exact as rounding allows, in
    kinks of the loss as well.
    """
    lo, hi = -1e4, 1e4
    while True:
        z = (lo + hi) / 2
        if not lo < z < hi:
            return alpha * z - v
        if subgradient(y, z) / lam + alpha * z > v:
            hi = z
        else:
            lo = z


def close(x, y, v, alpha):
    # Both sides are sums of terms up to |v| and alpha |y|: some units in the last place of those.
    return np.abs(np.asarray(x) - np.asarray(y)).max() <= 1e-13 * (np.abs(v).max() + 10 * alpha)


@methods
@lambdas
@alphas
def test_operator_by_definition_corrected_and_ours(method, lam, alpha):
    y, v = grid(method, alpha)
    definition = [
        by_definition(SUBGRADIENT[method], *pair, alpha, lam) for pair in zip(y, v, strict=True)
    ]
    corrected = CORRECTED[method](y, v, alpha, lam)
    ours = [minus_J(LOSS[method], t, 1 / lam, s, alpha) for t, s in zip(y, v, strict=True)]
    assert close(corrected, definition, v, alpha)
    assert close(ours, definition, v, alpha)
    compiled = np.empty_like(v)
    n = len(v)
    # The compiled step has v = alpha z - c; take c = -v, z = 0.
    sums.step(
        LOSS[method], y, np.full(n, 1 / lam), -v, np.zeros(n), 0.0, np.full(n, alpha), compiled
    )
    assert close(compiled, definition, v, alpha)


@methods
@lambdas
@alphas
def test_printed_operator_is_rescaled(method, lam, alpha):
    """Printed(v) = -J_alpha(alpha v) / alpha, for the L2-SVM with the halved loss."""
    y, v = grid(method, alpha)
    loss = HalvedSquaredHinge() if method == "L2-SVM" else LOSS[method]
    rescaled = [
        minus_J(loss, t, 1 / lam, alpha * s, alpha) / alpha for t, s in zip(y, v, strict=True)
    ]
    assert close(PRINTED[method](y, v, alpha, lam), rescaled, v, 1.0)


@methods
@lambdas
def test_printed_operator_agrees_only_at_alpha_one(method, lam):
    def difference(alpha, halved=False):
        y, v = grid(method, alpha)
        right = CORRECTED[method](y, v, alpha, lam)
        if halved:
            right = [
                minus_J(HalvedSquaredHinge(), t, 1 / lam, s, alpha)
                for t, s in zip(y, v, strict=True)
            ]
        return np.abs(PRINTED[method](y, v, alpha, lam) - right).max()

    for alpha in ALPHAS:
        if alpha == 1.0 and method != "L2-SVM":
            assert difference(alpha) <= 1e-13 * 10
        else:
            assert difference(alpha) > 1e-2  # the L2-SVM at alpha = 1 too
    if method == "L2-SVM":
        assert difference(1.0, halved=True) <= 1e-13 * 10


@methods
def test_printed_operator_misses_the_optimum(method):
    """Equation (10) with the printed operator stops at c*/alpha, far above the minimum."""
    n, lam = 25, 0.1
    K, y = definite(n), targets(LOSS[method], n)
    loss, C = (HalvedSquaredHinge() if method == "L2-SVM" else LOSS[method]), np.full(n, 1 / lam)
    alpha = 1 / np.linalg.norm(K, 2)
    c = np.zeros(n)
    for _ in range(3000):
        c = PRINTED[method](y, alpha * K @ c - c, alpha, lam)
    best = solve(LOSS[method], K, y, C / 2 if method == "L2-SVM" else C, tol=1e-10)
    scale = abs(best.primal)
    print(
        f"{method}: minimum {best.primal:.3f}, printed {F(loss, K, y, C, c):.3f}, alpha {alpha:.4f}"
    )
    assert F(loss, K, y, C, c) > best.primal + 0.5 * scale
    # The rescaled coefficients are the solution: the factor alpha is all that is wrong.
    assert F(loss, K, y, C, alpha * c) == pytest.approx(best.primal, rel=1e-4)


@pytest.mark.parametrize("method", LOSS)
def test_printed_operator_in_coordinate_descent(method):
    """alpha_i = 1/k_ii: harmless where the diagonal is one, wrong elsewhere."""
    n, lam = 25, 0.1
    y = targets(LOSS[method], n)
    loss, C = (HalvedSquaredHinge() if method == "L2-SVM" else LOSS[method]), np.full(n, 1 / lam)
    K = definite(n)
    unit = K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    excess = {}
    for name, M in (("unit", unit), ("other", K)):
        c = np.zeros(n)
        for _ in range(300):
            for i in range(n):
                v = M[i] @ c / M[i, i] - c[i]
                c[i] = PRINTED[method](y[i], v, 1 / M[i, i], lam)
        best = solve(LOSS[method], M, y, C / 2 if method == "L2-SVM" else C, tol=1e-10).primal
        excess[name] = (F(loss, M, y, C, c) - best) / best
    print(f"{method}: relative excess", excess)
    assert abs(excess["unit"]) < 1e-3
    assert excess["other"] > 0.05
