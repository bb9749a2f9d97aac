"""Algorithm 1: the compiled sweeps make the iterates of the printed algorithm, update by update."""

from typing import NamedTuple

import numpy as np
import pytest
from naive import (
    algorithm_1,
    definite,
    every_kernel,
    every_loss,
    minus_J,
    our_coordinate_descent,
    singular,
    targets,
    weights,
)

from resolvent import Status, solve
from resolvent.losses import Absolute, Hinge
from resolvent.solvers import sweeps
from resolvent.solvers.coordinate_descent import _orders

N = 20
SWEEPS = 12


def naive_sweeps(loss, K, y, C, orders, c):
    """(c, max |h_i|) after each macro-iteration of the printed algorithm."""
    for order in orders:
        largest = 0.0
        for _, h, new in algorithm_1(loss, K, y, C, c, order):
            largest, c = max(largest, abs(h)), new
        yield c, largest


def order_of(rule, seed=0):
    rng = np.random.default_rng(seed)
    there = list(range(N))
    return {
        "cyclic": [there] * SWEEPS,
        "aitken": [there + there[-2::-1]] * SWEEPS,  # 1..l, then (l-1)..1
        "permuted": [rng.permutation(N) for _ in range(SWEEPS)],
    }[rule]


@every_loss
@every_kernel
@pytest.mark.parametrize("rule", ["cyclic", "aitken", "permuted"])
def test_same_iterates(loss, make_kernel, rule):
    K, y, C = make_kernel(N), targets(loss, N), weights(N)
    start = np.array([minus_J(loss, y[i], C[i], 0.3 * i, 1.0) for i in range(N)])  # in the domain
    naive = naive_sweeps(loss, K, y, C, order_of(rule), start)
    ours = our_coordinate_descent(loss, K, y, C, rule, SWEEPS, start, random_state=0)
    for (c, largest), (expected, largest_expected) in zip(ours, naive, strict=True):
        # The library keeps z = Kc up to date, the naive one computes it anew: rounding differs.
        scale = np.abs(expected).max()
        assert np.abs(c - expected).max() <= 1e-11 * scale
        assert largest == pytest.approx(largest_expected, abs=1e-11 * scale)


def test_aitken_double_sweep():
    """1..l, then (l-1)..1: a second visit to l would change nothing, so iterates cannot tell."""
    order = _orders("aitken", 5, np.random.default_rng(0))
    for sweep in range(3):
        assert order(sweep, np.ones(5, bool)).tolist() == [0, 1, 2, 3, 4, 3, 2, 1, 0]


def test_permutations_differ_between_sweeps_and_seeds():
    args = Hinge(), singular(N), targets(Hinge(), N), weights(N), "permuted", 2
    first = [c for c, _ in our_coordinate_descent(*args, random_state=0)]
    again = [c for c, _ in our_coordinate_descent(*args, random_state=0)]
    other = [c for c, _ in our_coordinate_descent(*args, random_state=1)]
    assert np.array_equal(first, again)
    assert not np.allclose(first[0], other[0])


@every_loss
@pytest.mark.parametrize("accelerate", [False, True])
def test_stopping_rule(loss, accelerate):
    """while max_i |h_i| >= delta: the sweep after which it stops is the naive algorithm's.

    By this rule no Newton step is ever taken, whatever `accelerate` says.
    """
    K, y, C, delta = definite(N), targets(loss, N), weights(N), 1e-4
    orders = [range(N)] * 2000
    steps = [largest for _, largest in naive_sweeps_until(loss, K, y, C, orders, delta)]
    history = []
    options = {"rule": "cyclic", "stop": "step", "tol": delta, "accelerate": accelerate}
    solution = solve(loss, K, y, C, callback=lambda record: history.append(record), **options)
    assert solution.status == Status.STEP
    assert solution.n_iter == len(steps)
    assert all(s >= delta for s in steps[:-1])
    assert steps[-1] < delta
    assert history[-1].largest_step == pytest.approx(steps[-1], rel=1e-6)
    assert solution.gap < 0.01 * solution.primal


def naive_sweeps_until(loss, K, y, C, orders, delta):
    for c, largest in naive_sweeps(loss, K, y, C, orders, np.zeros(N)):
        yield c, largest
        if largest < delta:
            return


def test_residuals_at_the_solution_are_small():
    """The residual of (13) is the test: started at the solution, one sweep is enough."""
    K, y = definite(N), targets(Hinge(), N)
    best = solve("hinge", K, y, tol=0)
    again = solve("hinge", K, y, stop="step", tol=1e-6, start=best)
    assert again.status == Status.STEP
    assert again.n_iter == 1


class Recorder(NamedTuple):
    """A panel that writes down which coordinates change the state."""

    K: np.ndarray
    moved: list

    def dot(self, state, i):
        return state[i]

    def axpy(self, state, i, h):
        self.moved.append((i, h))
        state += h * self.K[i]


@pytest.mark.parametrize("loss", [Hinge(), Absolute()])
def test_update_is_skipped_where_nothing_changes(loss):
    """Losses with linear traits leave many coefficients where they are: h_i = 0 costs no row."""
    K, y, C = definite(N), targets(loss, N), np.full(N, 0.2)
    c, panel = np.zeros(N), Recorder(K, [])
    state = np.zeros(N)
    per_sweep = []
    for _ in range(30):
        before = len(panel.moved)
        column = sweeps.Column(y, C, c, K.diagonal().copy(), np.zeros(3))
        rests = sweeps.Rests(np.zeros(N, np.uint8), 0, N, np.full(3, np.inf), np.zeros(N))
        # the source that is compiled
        sweeps.sweep.py_func(loss, panel, state, column, np.arange(N), rests)
        per_sweep.append(len(panel.moved) - before)
    assert all(h != 0 for _, h in panel.moved)
    assert per_sweep[0] > per_sweep[-1]
    assert per_sweep[-1] < N // 2
    (expected, _) = list(our_coordinate_descent(loss, K, y, C, "cyclic", 30))[-1]
    assert np.allclose(c, expected, rtol=0, atol=1e-12)
    assert np.allclose(state, K @ c, rtol=0, atol=1e-12)


def test_essentially_cyclic_rule_is_checked():
    """Every index at least once in each macro-iteration; T = l is allowed (printed: T > l)."""
    K, y = definite(N), targets(None, N)
    for rule in (np.arange(N), lambda sweep: np.roll(np.arange(N), sweep), [*range(N), 0, 3]):
        assert solve("squared", K, y, rule=rule).status == Status.CONVERGED
    with pytest.raises(ValueError, match="essentially cyclic"):
        solve("squared", K, y, rule=np.arange(N - 1))
    with pytest.raises(ValueError, match="essentially cyclic"):
        solve("squared", K, y, rule=lambda sweep: np.arange(N - (sweep > 2)), tol=0)
    with pytest.raises(ValueError, match="outside"):
        solve("squared", K, y, rule=np.arange(N + 1))
    with pytest.raises(ValueError, match="unknown"):
        solve("squared", K, y, rule="random")


def test_zero_diagonal_does_not_affect_the_others():
    """Section 4: where k_ii = 0 the whole row is zero and can be left out."""
    K, y = definite(N), targets(None, N)
    K[4] = K[:, 4] = 0.0
    keep = np.arange(N) != 4
    whole = solve("absolute", K, y, tol=1e-9)
    part = solve("absolute", K[np.ix_(keep, keep)], y[keep], tol=1e-9)
    assert whole.status == Status.CONVERGED
    assert np.abs(whole.fitted[keep] - part.fitted).max() < 1e-3
    assert whole.primal == pytest.approx(part.primal + abs(y[4]), rel=1e-8)
