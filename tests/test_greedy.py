"""Greedy coordinate descent: blocks much smaller than the problem, without the Newton finish."""

from __future__ import annotations

import time

import numpy as np
import pytest
from reference import minimum
from samples import as_targets

from resolvent import Problem, Status, gram, solve
from resolvent.kernels import RBF
from resolvent.losses import LOSSES, Pinball, as_loss
from resolvent.problem.sums import answer
from resolvent.solvers import greedy
from resolvent.solvers.pairs import pair_apart

N = 60


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(greedy, "BLOCK", 12)


def make(loss):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 3))
    f = X[:, 0] + 0.5 * rng.standard_normal(N)
    return X, as_targets(loss, f), rng.choice([0.0, 0.5, 2.0], N)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_alone_reach_the_optimum(loss, fit_intercept):
    X, y, weight = make(loss)
    settings = {"sample_weight": weight, "fit_intercept": fit_intercept}
    solution = solve(
        loss, RBF(0.5)(X), y, 3.0, rule="greedy", accelerate=False, tol=1e-7, **settings
    )
    best, _ = minimum(loss, RBF(0.5)(X), y, 3.0 * weight, fit_intercept)
    assert solution.gap <= 1e-7 * solution.primal
    assert solution.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_partners_at_their_bounds_do_not_stall_blocks(tau, C):
    # Whole numbers far apart: most coefficients end at one of two bounds, which are multiples of
    # each other, so that pairs often balance exactly on a plateau, or miss that by rounding.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.round(100 * X[:, 0] + 50 * rng.standard_normal(200))
    settings = {"fit_intercept": True, "accelerate": False, "tol": 1e-3, "max_iter": 300}
    s = solve(Pinball(tau), RBF(0.2)(X), y, C, rule="greedy", **settings)
    assert s.gap <= 1e-3 * s.primal  # and no warning of max_iter


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute", "huber"])
def test_each_block_lowers_the_dual_and_pairs_keep_the_sum(loss, fit_intercept):
    X, y, _ = make(loss)
    problem = Problem(loss, RBF(0.5)(X), y, 3.0, fit_intercept=fit_intercept)
    from resolvent.solvers.iterate import Point

    point = Point.at(problem, np.zeros((1, N)))
    bounds = [problem.dual(np.zeros(N))]
    for progress, _ in zip(greedy.greedy(problem)(point), range(40), strict=False):
        if progress is None:
            continue
        bounds.append(problem.dual(point.coef[0]))
        np.testing.assert_allclose(point.state[0], RBF(0.5)(X) @ point.coef[0], atol=1e-10)
        if fit_intercept:
            assert abs(point.coef[0].sum()) <= 1e-12 * np.abs(point.coef[0]).sum()
    falls = np.diff(bounds)
    assert (falls >= -1e-12 * abs(bounds[-1])).all()
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("correlation", [-0.999, -0.5, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_pair_without_offset_ends_where_each_answers_the_other(loss, correlation):
    X, y, _ = make(loss)
    L, C = as_loss(loss), np.array([2.0, 3.0])
    k_ij = correlation * np.sqrt(1.5 * 0.7)
    k = np.array([[1.5, k_ij], [k_ij, 0.7]])
    for start in range(0, N, 2):
        here = y[start : start + 2]
        # coefficients of the domain, and scores that have nothing to do with them
        c = np.array(
            [answer(L, t, weight, 0.0, t - 0.4, 1.0) for t, weight in zip(here, C, strict=True)]
        )
        s = X[start : start + 2, 1].copy()
        pair = pair_apart(L, here, C, c, s, 0, 1, k[0, 0], k[1, 1], k[0, 1])

        def height(new, here=here, c=c, s=s):
            step = np.array(new) - c
            conjugates = [w * L.conjugate(t, -x / w) for t, w, x in zip(here, C, new, strict=True)]
            return sum(conjugates) + s @ step + 0.5 * step @ k @ step

        i, j = c  # each answers the other, for as long as it takes
        for _ in range(20_000):
            j = answer(L, here[1], C[1], c[1], s[1] + (i - c[0]) * k[0, 1], 1 / k[1, 1])
            i, before = answer(L, here[0], C[0], c[0], s[0] + (j - c[1]) * k[0, 1], 1 / k[0, 0]), i
            if abs(i - before) < 1e-13:
                break
        best, first = height((i, j)), height(tuple(c))
        assert height(pair) <= best + 1e-3 * (first - best) + 1e-9


@pytest.mark.parametrize(("loss", "C"), [("squared", 1.0), ("hinge", 0.01)])
def test_rows_of_free_coordinates_stay_at_hand(loss, C, monkeypatch):
    monkeypatch.setattr(greedy, "KEEP", 1)
    X, y, _ = make(loss)
    K, room = gram(X, "rbf", gamma=0.5), []
    fetch = K.fetch

    def noted(index, most=0):
        room.append(most * (len(index) > 0))
        return fetch(index, most)

    monkeypatch.setattr(K, "fetch", noted)
    solution = solve(loss, K, y, C, rule="greedy")
    if loss == "squared":
        assert max(room) >= N
    else:
        assert (np.abs(solution.coef) > 0.999 * C).all()  # none is free
        assert max(room) == 12  # rows of one block


def test_rows_that_are_not_needed_are_not_computed():
    # Far fewer support vectors than rows: only what the blocks touch is fetched.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2)) + 6.0 * (np.arange(2000) % 2)[:, None]
    y = np.where(np.arange(2000) % 2, 1.0, -1.0)
    K = gram(X, gamma=0.1)
    solution = solve("hinge", K, y, 1.0, fit_intercept=True)
    assert solution.gap <= 1e-5 * solution.primal
    _, slot = K.fetch(np.empty(0, np.int64), K.capacity)  # what is at hand
    assert (slot >= 0).sum() < 1000


def test_several_problems_at_once_and_a_tight_memory():
    X, y, _ = make("hinge")
    Y = np.column_stack([y, -y, np.roll(y, 1)])
    row = N * 8
    K = gram(X, gamma=0.5, memory_limit=20 * row)
    together = solve("hinge", K, Y, 2.0, fit_intercept=True, rule="greedy", tol=1e-8)
    for j in range(3):
        alone = solve("hinge", RBF(0.5)(X), Y[:, j], 2.0, fit_intercept=True, tol=1e-8)
        assert together.primal[j] == pytest.approx(alone.primal, rel=1e-7)


def test_linear_kernel_has_no_rows():
    with pytest.raises(ValueError, match=r"rule='greedy'.*permuted"):
        solve("hinge", gram(np.eye(3), "linear"), np.array([1.0, -1.0, 1.0]), rule="greedy")


def test_start_that_does_not_sum_to_zero():
    X, y, _ = make("hinge")
    start = np.abs(np.random.default_rng(0).standard_normal(N))
    solution = solve("hinge", RBF(0.5)(X), y, fit_intercept=True, start=start, rule="greedy")
    assert solution.gap <= 1e-5 * solution.primal


@pytest.mark.parametrize("n", [2, 3, 4])
def test_row_of_zeros_with_an_offset(n):
    # Its score is the offset alone, to which its coefficient answers by a jump.
    K = np.zeros((4, 4))
    K[1:, 1:] = [[27.0, 8.0, 8.0], [8.0, 64.0, 0.0], [8.0, 0.0, 64.0]]
    y = np.array([1.0, -1.0, -1.0, -1.0])[:n]
    solution = solve("hinge", K[:n, :n], y, fit_intercept=True, time_limit=100.0)
    assert solution.status == Status.CONVERGED
    # A hard margin, 2 / d^2 where d is the distance from the origin to the others' affine hull.
    np.testing.assert_allclose(solution.primal, 2 * np.linalg.inv(K[1:n, 1:n]).sum(), rtol=1e-5)


def test_few_samples_do_not_take_seconds():
    # An iteration ends by the count of its work, which for so few samples is mostly overhead.
    y = np.array([1.0, -1.0, -1.0, -1.0])
    solve("hinge", np.eye(4), y, fit_intercept=True)  # compiles
    start = time.perf_counter()
    for _ in range(10):
        solve("hinge", np.eye(4), y, fit_intercept=True)
    assert time.perf_counter() - start < 5.0  # it was 15 and more
