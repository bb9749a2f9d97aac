"""Searches that go on beyond the edges of their grids."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from resolvent import KernelQuantileRegressorCV, KernelRegressorCV
from resolvent.model_selection.extend import MOST, STEPS, Beyond, beyond, join
from resolvent.model_selection.search import Table


@pytest.fixture(scope="module")
def waves():
    """Data whose best C and gamma are far above the grids below."""
    X = np.linspace(0.0, 6.0, 60)[:, None]
    return X, np.sin(3.0 * X[:, 0]) + 0.05 * np.random.default_rng(0).standard_normal(60)


GIVEN = {"scoring": "neg_mean_absolute_error", "cv": 3}


def test_extended_search_is_that_of_the_wider_grid(waves):
    X, y = waves
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    small = {"Cs": [1e-3, 1e-2, 1e-1], "gammas": [1e-3, 1e-2, 1e-1]}
    with pytest.warns(UserWarning, match=r"Give Cs that reach further, or extend=True"):
        before = KernelRegressorCV(**small, **GIVEN).fit(X, y)
    model = KernelRegressorCV(**small, **GIVEN, extend=True).fit(X, y)
    assert model.edges_ == {}
    assert model.best_score_ > before.best_score_
    Cs = np.unique(model.cv_results_["param_C"].data)
    gammas = np.unique(model.cv_results_["param_gamma"].data)
    assert len(model.cv_results_["params"]) == len(Cs) * len(gammas)
    assert_allclose(np.log10(gammas), np.arange(len(gammas)) - 3.0, atol=1e-9)
    wide = KernelRegressorCV(Cs=Cs, gammas=gammas, **GIVEN).fit(X, y)
    assert model.best_params_ == pytest.approx(wide.best_params_)
    assert model.best_score_ == pytest.approx(wide.best_score_, rel=0.01)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("below", [False, True])
def test_cells_keep_their_places(axis, below):
    """A grid and what is beyond it, joined, are the wider grid."""
    scores = np.arange(36.0).reshape(6, 6, 1)
    whole = Table(scores, scores + 100.0, scores > 3.0, {(g, g): scores[g, g] for g in range(6)})
    place = [slice(None), slice(None)]
    place[axis] = slice(3, None) if below else slice(3)
    known, rest = (part_of(whole, p) for p in (place, other(place, axis)))
    found = join(known, rest, Beyond(axis, below, [], np.empty(0)))
    for one, two in zip(found.scores, whole.scores, strict=True):
        assert_array_equal(one, two)
    assert_array_equal(found.gaps, whole.gaps)
    assert_array_equal(found.reached, whole.reached)
    assert found.starts.keys() == whole.starts.keys()
    assert all(found.starts[cell] == whole.starts[cell] for cell in whole.starts)


def other(place, axis):
    rest = list(place)
    rest[axis] = slice(3) if place[axis].start else slice(3, None)
    return rest


def part_of(table, place):
    rows, columns = (range(6)[p] for p in place)
    starts = {
        (g - rows[0], i - columns[0]): start
        for (g, i), start in table.starts.items()
        if g in rows and i in columns
    }
    place = tuple(place)
    return Table(table.scores[place], table.gaps[place], table.reached[place], starts)


def test_downwards():
    Cs, room = np.array([0.1, 1.0, 10.0]), {0: MOST, 1: MOST}
    part = beyond((0, 0), np.array([[3.0, 2.0, 1.0]]), [None], Cs, room)
    assert part.below
    assert_allclose(part.Cs, [1e-4, 1e-3, 1e-2])


def test_coverage_is_of_the_chosen_cell(waves):
    X, y = waves
    small = {"Cs": [1e-3, 1e-2, 1e-1], "gammas": [3.0]}
    model = KernelQuantileRegressorCV((0.1, 0.9), **small, cv=3, extend=True).fit(X, y)
    assert len(model.cv_results_["band_coverage"]) == len(model.cv_results_["params"]) > 3
    assert model.band_coverage_ == model.cv_results_["band_coverage"][model.best_index_]


def test_there_is_an_end():
    """Of a score that is the better the larger C is, for ever."""
    means, room = np.zeros((1, 3)), {0: MOST, 1: MOST}
    Cs, rounds = np.array([0.1, 1.0, 10.0]), 0
    means[0, 2] = 1.0
    while (part := beyond((0, len(Cs) - 1), means, [None], Cs, room)) is not None:
        Cs, rounds = np.concatenate([Cs, part.Cs]), rounds + 1
        means = np.pad(means, ((0, 0), (0, len(part.Cs))), mode="edge")
        means[0, -1] += 1.0
    assert rounds == MOST // STEPS
    assert len(Cs) == 3 + MOST


def test_equal_scores_are_no_reason_to_go_on():
    given = [None], np.array([0.1, 1.0, 10.0]), {0: MOST, 1: MOST}
    assert beyond((0, 0), np.ones((1, 3)), *given) is None
