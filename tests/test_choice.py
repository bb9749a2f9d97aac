"""The choice of blocks, and offsets that are nearly the best, against naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import as_targets

from resolvent import Problem, solve
from resolvent.grams.chunks import HeldRows
from resolvent.kernels import RBF
from resolvent.losses import LOSSES, as_loss
from resolvent.problem import sums
from resolvent.solvers.choice import OUT, Column, choose, take_best

GAINS = st.lists(st.sampled_from([OUT, 0.0, 0.5, 1.0, 2.0, 1e300]), min_size=1, max_size=30)


@given(GAINS, st.integers(0, 32))
def test_take_best_is_the_head_of_a_sorted_list(values, room):
    gain, inside = np.array(values), np.zeros(len(values), bool)
    count = take_best(gain, room, inside)
    candidates = sorted((g for g in values if g != OUT), reverse=True)
    assert count == inside.sum() == min(room, len(candidates))
    assert sorted(gain[inside], reverse=True) == candidates[:room]


def chosen(paired, slot, before, size=8):
    """A block of 40 coordinates of the hinge loss, with how far each would move by the paper."""
    rng = np.random.default_rng(0)
    n = 40
    y, z = np.where(rng.random(n) < 0.5, 1.0, -1.0), 2.0 * rng.standard_normal(n)
    C = np.where(np.arange(n) == 3, 0.0, 1.0)
    c, alpha = 0.3 * y * C, np.full(n, 0.5)
    loss, held = as_loss("hinge"), HeldRows(np.empty((n, n)), slot)
    column = Column(y, C, c, z, alpha)
    block, b, largest = choose(loss, column, 0.0, held, before, size, paired, 1.0)
    h = np.array(
        [
            sums.answer(loss, *x) if x[1] > 0.0 else 0.0
            for x in zip(y, C, c, z + b, alpha, strict=True)
        ]
    )
    h = np.where(C > 0.0, h - c, 0.0)
    assert largest == pytest.approx(np.abs(h).max(), rel=1e-6)
    return block, h


NONE, ALL = np.empty(0, np.int64), np.arange(40)


@pytest.mark.parametrize("paired", [False, True])
def test_block_has_the_largest_gains(paired):
    block, h = chosen(paired, ALL, NONE)
    assert (np.diff(block) > 0).all()
    assert 3 not in block  # of weight zero
    for side in (h > 0, h < 0) if paired else (h != 0,):
        inside = np.intersect1d(block, np.flatnonzero(side))
        left_out = np.setdiff1d(np.flatnonzero(side), inside)
        assert len(inside) == (4 if paired else 8)
        assert np.abs(h[inside]).min() >= np.abs(h[left_out]).max()


def test_free_ones_of_the_last_block_stay_for_half_of_it():
    before = np.arange(20, 40)
    block, _ = chosen(True, ALL, before)
    assert np.isin(block, before).sum() >= 4


def test_rows_at_hand_are_preferred_unless_they_promise_little():
    _, h = chosen(False, ALL, NONE)
    some = np.argsort(-np.abs(h))[::2]  # with about the largest gains among them
    slot = np.full(40, -1)
    slot[some] = 0
    block, _ = chosen(False, slot, NONE)
    assert np.isin(block, some).all()
    slot[:] = -1
    slot[h**2 < 0.1 * np.max(h**2)] = 0
    block, _ = chosen(False, slot, NONE)
    assert (slot[block] < 0).any()


@pytest.mark.parametrize("loss", LOSSES)
def test_rough_offsets_are_as_good_as_they_say(loss):
    rng = np.random.default_rng(5)
    y, z = as_targets(loss, rng.standard_normal(50)), rng.standard_normal(50)
    weights = rng.choice([0.0, 0.5, 2.0], 50)
    problem = Problem(loss, np.eye(50), y, weights, fit_intercept=True)

    def total(b):
        return problem.risk.fenchel(0, np.zeros(50), z, b)[0]

    best = total(problem.risk.best_offset(0, z, z))
    assert best <= min(total(b) for b in np.linspace(-5, 5, 1001)) + 1e-9
    for rough in (1e-6, 1e-2, 10.0):
        for near in (0.0, -3.0, 100.0):
            assert total(problem.risk.best_offset(0, z, z, near, rough)) <= best + rough + 1e-9


def test_iterations_of_many_blocks_end_at_the_tolerance():
    # The whole problem is a trifle: one iteration would be far more exact if it did not look.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(150))
    K = RBF(0.3)(X)
    loose, tight = (
        solve("hinge", K, y, 10.0, fit_intercept=True, tol=tol, accelerate=False)
        for tol in (1e-2, 1e-9)
    )
    assert loose.n_iter <= tight.n_iter
    assert 1e-6 * loose.primal < loose.gap <= 1e-2 * loose.primal
    assert tight.gap <= 1e-9 * tight.primal


def test_negative_curvature_is_told_from_rounding():
    c, diagonal = np.array([1e-170, -2e-170, 0.0]), np.ones(3)
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    down, up = np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, 0.0])
    assert sums.bends_down(down, K @ down, diagonal, 1e-6, 0.0)
    assert not sums.bends_down(up, K @ up, diagonal, 1e-6, 0.0)
    assert sums.bends_down(c, K @ c, diagonal, 1e-6, 0.0)  # its square is no number
    assert not sums.bends_down(down, K @ down, diagonal, 2.0, 0.0)  # within what K errs by
    assert not sums.bends_down(down, K @ down, diagonal, 0.0, 1.0)  # or the scores
    assert not sums.bends_down(np.zeros(3), np.zeros(3), diagonal, 0.0, 0.0)
