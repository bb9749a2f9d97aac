"""Theorem 4: coordinate descent by an essentially cyclic rule reaches the minimum; c^k is bounded.

The printed proof has F fall by k_ii h^2 / 2 at each update. It is the dual Q that does; F may rise.
"""

import numpy as np
import pytest
from naive import (
    F,
    Q,
    algorithm_1,
    every_kernel,
    every_loss,
    our_coordinate_descent,
    singular,
    targets,
    weights,
)

from resolvent import solve
from resolvent.losses import Hinge

N = 20


def shuffled(n):
    """An order with repetitions, longer than n."""
    rng = np.random.default_rng(4)
    return np.concatenate([rng.permutation(n), rng.integers(0, n, 7)])


def alternating(sweep):
    """Another order at each sweep, by a function of its number."""
    return np.arange(N) if sweep % 3 else np.repeat(np.arange(N)[::-1], 2)


RULES = {
    "cyclic": "cyclic",
    "aitken": "aitken",
    "permuted": "permuted",
    "array": shuffled(N),
    "callable": alternating,
}


def bound(loss, K, y, C, start):
    """Largest |c_i| on the level set {Q <= Q(start)}, which is bounded because f is finite.

    The terms of Q are at least -C_j L(y_j, 0), so C_i L*(-c_i/C_i) <= Q(start) + the other
    C_j L(y_j, 0); and L*(u) >= |u| - max L(y, +-1) by the definition of the conjugate.
    """
    at_zero = np.array([C[i] * loss.value(y[i], 0.0) for i in range(N)])
    at_one = np.array([C[i] * max(loss.value(y[i], -1.0), loss.value(y[i], 1.0)) for i in range(N)])
    return Q(loss, K, y, C, start) + at_zero.sum() - at_zero + at_one


@every_loss
@every_kernel
@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_objective_converges_and_coefficients_stay_bounded(loss, make_kernel, rule):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    best = solve(loss, K, y, C, tol=0)
    limit = bound(loss, K, y, C, np.zeros(N))
    height = Q(loss, K, y, C, np.zeros(N))
    reached = False
    for k, (c, _) in enumerate(our_coordinate_descent(loss, K, y, C, rule, 20_000)):
        assert (np.abs(c) <= limit).all()
        if k % 10 == 0:
            new = Q(loss, K, y, C, c)
            assert new <= height + 1e-12 * (1 + abs(height))
            height = new
            if F(loss, K, y, C, c) <= best.primal * (1 + 1e-6):
                reached = True
                break
    assert reached
    assert F(loss, K, y, C, c) >= best.primal * (1 - 1e-9)


@every_loss
@every_kernel
def test_each_update_lowers_the_dual(loss, make_kernel):
    """Q falls by at least k_ii h^2 / 2 at every single update."""
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    order = np.concatenate([np.arange(N)] * 3 + [shuffled(N)])
    before, moved = Q(loss, K, y, C, np.zeros(N)), 0
    for i, h, c in algorithm_1(loss, K, y, C, np.zeros(N), order):
        after = Q(loss, K, y, C, c)
        assert after <= before - K[i, i] * h**2 / 2 + 1e-12 * (1 + abs(before))
        before, moved = after, moved + (h != 0)
    assert moved >= N // 2


@every_loss
@every_kernel
def test_each_update_is_an_exact_line_search_on_the_dual(loss, make_kernel):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    for i, _, c in algorithm_1(loss, K, y, C, np.zeros(N), range(N)):
        here = Q(loss, K, y, C, c)
        for t in (-0.1, -1e-3, 1e-3, 0.1):
            move = np.zeros(N)
            move[i] = t
            # Strictly convex along the coordinate, with curvature k_ii at least.
            rise = Q(loss, K, y, C, c + move) - here
            assert rise >= K[i, i] * t * t / 2 - 1e-12 * (1 + abs(here))


@every_loss
@every_kernel
def test_compiled_sweep_is_these_updates(loss, make_kernel):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    *_, (_, _, expected) = algorithm_1(loss, K, y, C, np.zeros(N), shuffled(N))
    (ours, _), *_ = our_coordinate_descent(loss, K, y, C, shuffled(N), 1)
    assert np.abs(ours - expected).max() <= 1e-12 * np.abs(expected).max()


def test_objective_itself_may_rise():
    """The hinge loss: F rises at many single updates, though Q falls at each and F converges."""
    loss, K, C = Hinge(), singular(30), np.full(30, 10.0)
    y = targets(loss, 30)
    F_before, Q_before = F(loss, K, y, C, np.zeros(30)), 0.0
    rises = []
    for _, _, c in algorithm_1(loss, K, y, C, np.zeros(30), np.tile(np.arange(30), 20)):
        F_after, Q_after = F(loss, K, y, C, c), Q(loss, K, y, C, c)
        assert Q_after <= Q_before + 1e-10
        if F_after > F_before + 1e-9:
            rises.append(F_after - F_before)
        F_before, Q_before = F_after, Q_after
    print(f"F rises in {len(rises)} of 600 updates, by up to {max(rises):.1f}")
    assert len(rises) > 30
    assert max(rises) > 1.0
