"""Ctrl-C at any moment of any fit leaves a complete model, the one of before, or none."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from machines import ALL, data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import resolvent
from resolvent import (
    KernelClassifierCV,
    KernelQuantileRegressorCV,
    KernelRegressorCV,
    LinearClassifierCV,
    LinearRegressorCV,
    Status,
)

GRID = {"Cs": [0.3, 3.0], "gammas": [0.1, 1.0], "cv": 3, "n_jobs": 1}
LINEAR = {name: GRID[name] for name in ("Cs", "cv", "n_jobs")}
SEARCHES = [
    KernelClassifierCV(**GRID),
    KernelRegressorCV(**GRID),
    KernelQuantileRegressorCV((0.2, 0.8), **GRID),
    KernelClassifierCV(refit=False, **GRID),
    LinearClassifierCV(**LINEAR),
    LinearRegressorCV("absolute", **LINEAR),
]
MOMENTS = 12  # of each fit, evenly spaced among its calls of functions
SOURCE = str(Path(resolvent.__file__).parent)
# Where the number of threads of BLAS is counted, an interrupt may leave it at one.
APART = ("_threads.py", "_jit.py")


def interrupted(model, X, y, at):
    """Fit, with Ctrl-C at the call of a Python function with this number; count them.

    This is where Python looks for signals, among others.
    """
    calls = 0

    def watch(frame, event, _):
        nonlocal calls
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and not name.endswith(APART):
            calls += 1
            if calls == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return calls


def outcome(model, X):
    """Status and predictions of a model, or None if there is none; nothing between these."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        with pytest.raises(NotFittedError):
            model.predict(X)
        return None
    return model.status_, (model.predict(X) if getattr(model, "refit", True) else model.best_score_)


@pytest.mark.parametrize("model", [*ALL, *SEARCHES], ids=lambda m: type(m).__name__)
def test_interrupt_at_any_moment(model):
    X, y = data(40)
    other = data(30, seed=1)
    _, old = outcome(clone(model).fit(*other), X)
    whole = clone(model)
    calls = interrupted(whole, X, y, at=0)
    _, complete = outcome(whole, X)
    ends = []
    for at in np.linspace(1, calls - 1, MOMENTS).astype(int):
        for tried, before in ((clone(model), None), (clone(model).fit(*other), old)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what was not reached
                with pytest.raises(KeyboardInterrupt):
                    interrupted(tried, X, y, at)
            found = outcome(tried, X)
            if found is None:
                assert before is None
            elif found[0] == Status.INTERRUPTED:
                assert np.isfinite(found[1]).all()
            else:
                assert any(
                    known is not None and np.array_equal(found[1], known)
                    for known in (before, complete)
                )
            ends.append(found)
    assert None in ends  # and if it takes long enough, there is a model too


@pytest.mark.parametrize("fitted", [False, True])
def test_failed_fit_changes_nothing(fitted):
    X, y = data(40)
    model = resolvent.KernelClassifier()
    if fitted:
        model.fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"C=-1\.0 must be"):
        model.set_params(C=-1.0).fit(X[:, :1], y)
    assert vars(model) | {"C": 1.0} == before | {"C": 1.0}
