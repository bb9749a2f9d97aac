"""Models that are solved and useless, and choices at the edge of a grid, are said to be so."""

import numpy as np
import pytest

from resolvent import KernelQuantileRegressor, KernelRegressor, KernelRegressorCV, LinearRegressor
from resolvent.cli.scores import Evaluation, number_text

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2))
y = 1e5 * (X[:, 0] + 0.1 * rng.standard_normal(60))


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor("absolute", normalize_y=False),
        KernelQuantileRegressor((0.1, 0.9), normalize_y=False),
        LinearRegressor(C=1e-6),
    ],
    ids=lambda model: type(model).__name__,
)
def test_nearly_constant_predictions_are_said_to_be_so(model):
    with pytest.warns(UserWarning, match=r"Predictions are nearly constant.* Raise C="):
        model.fit(X, y)
    assert np.max(np.ptp(model.predict(X), axis=0)) < 0.2 * np.ptp(y)


@pytest.mark.filterwarnings("error")
def test_good_models_and_constant_targets_are_not_warned_of():
    KernelRegressor("absolute").fit(X, y)
    KernelQuantileRegressor((0.1, 0.9)).fit(X, y)
    KernelRegressor().fit(X, np.full(60, 3.0))
    LinearRegressor("poisson").fit(X, np.full(60, 3.0))


def test_a_kernel_that_is_too_narrow_is_said_to_be_so():
    with pytest.warns(UserWarning, match=r"similar to itself only.* lower gamma"):
        KernelRegressor(gamma=1e9).fit(X, y)


def test_edges_of_the_grid():
    args = {"cv": 3, "search_tol": None}
    with pytest.warns(UserWarning, match=r"best C=1e-05 is the largest of its grid.* Give Cs"):
        model = KernelRegressorCV(Cs=[1e-7, 1e-6, 1e-5], gammas=[0.1], **args).fit(X, y)
    assert model.edges_ == {"C": "largest"}
    with pytest.warns(UserWarning, match=r"best gamma=.* is the smallest of its grid"):
        model = KernelRegressorCV(Cs=[1.0], gammas=[10.0, 1e2, 1e3], **args).fit(X, y)
    assert model.edges_ == {"gamma": "smallest"}
    model = KernelRegressorCV(Cs=[1e-5, 1.0], gammas=[0.1], **args).fit(X, y)
    assert model.edges_ == {}  # two values are nothing but edges


def test_numbers_for_people():
    texts = [number_text(x) for x in (36740.4, 3, 12.3456, 0.0004321, -5432.1, 1e18)]
    assert texts == ["36,740", "3", "12.35", "0.0004321", "-5,432", "1e+18"]


def test_scores_stand_beside_those_of_a_constant():
    one = np.zeros(1)
    flat = Evaluation(one, one, {"pinball loss": 36740.2}, {"pinball loss": 36739.1})
    assert not flat.is_useful
    assert flat.texts() == {"pinball loss": "36,740 (constant: 36,739)"}
    assert Evaluation(one, one, {"R2": 0.2}, {"R2": 0.0}).is_useful
    assert not Evaluation(one, one, {"accuracy": 0.5}, {"accuracy": 0.6}).is_useful
    assert Evaluation(one, one, {"R2": np.nan}, {"R2": 0.0}).is_useful  # one row has no R2
