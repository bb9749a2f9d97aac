"""Every fit has its certificate, and a warning where it falls short."""

import warnings

import numpy as np
import pytest
from machines import EVERY, data, hard
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    LinearClassifier,
    Status,
)
from resolvent.svm import SVC, LinearSVC


@EVERY
def test_attributes_of_a_fit(model):
    X, y = data()
    model = clone(model).fit(X, y)
    several = isinstance(model, KernelQuantileRegressor)
    for name in ("dual_gap_", "objective_"):
        assert np.shape(getattr(model, name)) == ((2,) if several else ())
    if isinstance(model, SVC):  # as scikit-learn has it: for each pair of classes
        assert model.n_iter_.shape == (1,)
    else:
        assert isinstance(model.n_iter_, np.ndarray if several else int)
    assert model.status_ == Status.CONVERGED
    assert np.all(model.dual_gap_ >= 0)
    assert np.all(model.dual_gap_ <= model.tol * np.abs(model.objective_))
    assert model.fit_time_ > 0
    assert len(model.history_) >= 1


def test_status_is_the_worst_of_several_problems():
    X, y = data(1500)  # the second column: tens of iterations
    Y = np.column_stack([np.zeros(1500), np.sin(7 * X[:, 0]) + y])
    with pytest.warns(ConvergenceWarning):
        model = KernelRegressor("absolute", C=100.0, max_iter=1, tol=1e-9).fit(X, Y)
    assert model.status_ == Status.MAX_ITER
    assert model.dual_gap_[0] <= 1e-9
    assert model.dual_gap_[1] > 1e-9 * model.objective_[1]


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(C=1e4, max_iter=2),
        LinearClassifier(C=1e4, max_iter=2),
        SVC(C=1e4, max_iter=2),
        LinearSVC(loss="hinge", C=1e4, max_iter=2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_warning_names_gap_and_parameter(model):
    X, y = hard(1500)  # more than two iterations' work
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    reached = float(text.split("reached: ")[1].split(";")[0])
    assert reached == pytest.approx(model.dual_gap_ / model.objective_, rel=0.01)
    assert "asked for: tol=1e-05" in text
    assert "max_iter" in text
    assert model.status_ == Status.MAX_ITER
    assert model.n_iter_ == 2
    assert model.predict(X).shape == y.shape


def test_time_limit():
    # LIBSVM never ends with polynomials of unscaled features: scikit-learn issues 30353, 9136.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [1, 10, 100, 1e3, 1e4]
    y = rng.integers(0, 2, 400)
    model = KernelClassifier(kernel="poly", gamma=1.0, C=1e3, time_limit=0.5, max_iter=10**9)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*gap reached"):
        model.fit(X, y)
    assert model.status_ == Status.TIME_LIMIT
    assert model.fit_time_ < 20.0
    assert np.isfinite(model.dual_gap_)
    assert np.isfinite(model.decision_function(X)).all()


def test_indefinite_kernel():
    # scikit-learn issues 10713 and 8590: tanh is not positive semidefinite. Refused where that
    # shows, and otherwise ends soon, with an honest gap.
    X, y = hard(60)
    with pytest.raises(ValueError, match="positive semidefinite"):
        SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y)
    for C in (1.0, 100.0):
        model = SVC(kernel="sigmoid", gamma=0.5, C=C, max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert model.n_iter_ <= 100
        assert model.dual_gap_ >= 0
        assert (model.dual_gap_ < np.inf) == (model.status_ != Status.NOT_PSD)
        assert model.status_ in (Status.CONVERGED, Status.NOT_PSD, Status.MAX_ITER)
        assert (model.fit_status_ == 0) == (model.status_ == Status.CONVERGED)
        if model.status_ == Status.CONVERGED:
            assert model.dual_gap_ <= 1e-5 * model.objective_
        assert np.isfinite(model.decision_function(X)).all()
