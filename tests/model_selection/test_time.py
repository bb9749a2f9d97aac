"""Rows in time and in groups: folds of TimeSeriesSplit and of groups, with intervals."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from resolvent import KernelQuantileRegressorCV, KernelRegressorCV

GRID = {"Cs": [1.0, 10.0], "gammas": [0.3]}


@pytest.fixture(scope="module")
def course():
    t = np.linspace(0.0, 8.0, 90)
    return t[:, None], np.sin(3.0 * t) + 0.1 * np.random.default_rng(0).standard_normal(90)


@pytest.mark.parametrize("kind", [KernelRegressorCV, KernelQuantileRegressorCV])
def test_rows_that_no_fold_holds_out_have_no_score(course, kind):
    X, y = course
    cv = TimeSeriesSplit(4)
    model = kind(**GRID, cv=cv, conformal=True).fit(X, y)
    calibration = model.best_estimator_._calibration
    held = np.concatenate([test for _, test in cv.split(X)])
    assert len(calibration.scores) == len(held) < len(y)
    assert len(calibration.models.intercept) == 4
    # The first fold learns from the first rows alone, whatever comes later.
    first = next(cv.split(X))[0]
    alone = model.best_estimator_.__class__(**model.best_estimator_.get_params(deep=False))
    own = alone.fit(X[first], y[first]).predict(X).reshape(len(y), -1)[:, 0]
    np.testing.assert_allclose(calibration.models(X)[:, 0], own, atol=1e-2)
    ends = model.predict_interval(X, 0.9)
    assert (ends[:, 0] <= ends[:, 1]).all()


def test_groups_stay_together(course):
    X, y = course
    groups = np.arange(90) % 6
    cv = GroupKFold(3)
    model = KernelRegressorCV(**GRID, cv=cv, conformal=True).fit(X, y, groups=groups)
    folds = [test for _, test in cv.split(X, y, groups)]
    expected = KernelRegressorCV(**GRID, cv=list(cv.split(X, y, groups))).fit(X, y)
    assert model.cv_results_["mean_test_score"] == pytest.approx(
        expected.cv_results_["mean_test_score"]
    )
    fold = model.best_estimator_._calibration.fold
    assert [np.count_nonzero(fold == k) for k in range(3)] == list(map(len, folds))
