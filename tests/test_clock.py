"""Time limits, by a clock that goes only as the test says."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core import event
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelRegressorCV, Status, _clock, solve
from resolvent._clock import Clock
from resolvent.losses import as_loss
from resolvent.model_selection import search
from resolvent.model_selection.closed_form import has_closed_form
from resolvent.problem.risk import Coupled

LOCK = "numba:compiler_lock"
PLAIN = {"solver": "coordinate_descent", "rule": "cyclic", "accelerate": False}


class Time:
    """The time of day; each look at it takes a while."""

    def __init__(self, look=0.0):
        self.now, self.look = 100.0, look

    def __call__(self):
        self.now += self.look
        return self.now


@pytest.fixture
def at(monkeypatch):
    def at(look=0.0):
        time = Time(look)
        monkeypatch.setattr(_clock, "perf_counter", time)
        monkeypatch.setattr(_clock._timer, "last_end", -np.inf)
        return time

    return at


def test_clock_leaves_out_what_is_compiled(at):
    time = at()
    clock = Clock(5.0)
    time.now += 1.0
    event.start_event(LOCK)
    time.now += 10.0
    event.start_event(LOCK)  # one within the other
    time.now += 10.0
    event.end_event(LOCK)
    event.end_event(LOCK)
    time.now += 2.0
    assert clock.seconds == pytest.approx(3.0)
    assert clock.left == pytest.approx(2.0)
    assert not clock.is_over()
    time.now += 2.0
    assert clock.is_over()
    assert Clock().left is None


def test_time_limit_shorter_than_compiling(at):
    """A loss that nobody has compiled yet, which takes a minute of this clock for each loop."""

    class Fresh(NamedTuple):
        def value(self, y: float, z: float) -> float:
            return 0.5 * (y - z) * (y - z)

        def derivative(self, y: float, z: float) -> float:
            return z - y

    time = at()
    compiled = []

    class Slow(event.Listener):
        def on_start(self, _):
            time.now += 60.0
            compiled.append(time.now)

        def on_end(self, _):
            pass

    with event.install_listener(LOCK, Slow()):
        solution = solve(Fresh(), np.eye(3), [1.0, 2.0, 3.0], time_limit=1.0)
    assert compiled
    assert solution.status == Status.CONVERGED
    assert solution.history[-1].seconds < 1.0


@pytest.mark.parametrize(("limit", "n_iter"), [(0.0, 0), (1e-9, 1)])
def test_one_iteration_if_it_is_short(limit, n_iter, at):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    at(look=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        solution = solve("absolute", X @ X.T, y, 10.0, time_limit=limit, **PLAIN)
    assert solution.n_iter == n_iter
    assert np.isfinite(solution.gap)


def test_first_iteration_that_is_long_is_not_waited_for(at):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    at(look=1.0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        solution = solve("absolute", X @ X.T, y, 10.0, time_limit=1.0, **PLAIN)
    assert solution.n_iter <= 1


def test_offsets_of_coupled_losses_look_at_the_limit(at, monkeypatch):
    """Each pass over the scores takes a second; without a limit there are dozens of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.eye(3)[np.argmax(np.c_[X, -X.sum(axis=1)] + rng.standard_normal((60, 3)), axis=1)]
    time, step, passes = at(), Coupled.step, []

    def slow(self, *args):
        time.now += 1.0
        passes.append(time.now)
        return step(self, *args)

    monkeypatch.setattr(Coupled, "step", slow)
    args = {"fit_intercept": True, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning):
        solve("multinomial", X @ X.T, y, 1e4, max_iter=3, **args)
    assert len(passes) > 30
    passes.clear()
    began = time.now
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        solution = solve("multinomial", X @ X.T, y, 1e4, time_limit=10.0, **args)
    # At the end bounds are certified, made afresh, and those of the model returned: once each.
    assert time.now - began <= 10.0 + 10.0
    assert solution.status == Status.TIME_LIMIT
    assert np.isfinite(solution.gap)


def test_closed_form_only_if_there_is_time():
    squared, many = as_loss("squared"), np.ones(3000)
    assert has_closed_form(squared, many, 5, None)
    assert has_closed_form(squared, many, 5, 1000.0)
    assert not has_closed_form(squared, many, 5, 10.0)
    assert has_closed_form(squared, many[:300], 5, 1.0)


def test_no_eigendecomposition_that_would_not_be_done_in_time(at, monkeypatch):
    X = np.linspace(0, 6, 40)[:, None]
    time, folds, calls = at(), search.SquaredFolds, []

    def slow(*args):
        time.now += 10.0
        calls.append(time.now)
        return folds(*args)

    monkeypatch.setattr(search, "SquaredFolds", slow)
    model = KernelRegressorCV(Cs=2, gammas=6, cv=4, time_limit=50.0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="6 of 12 pairs of gamma and C missing"):
        model.fit(X, np.sin(X[:, 0]))
    assert len(calls) == 3  # a fourth would end after 0.7 of the limit
    assert model.status_ == Status.TIME_LIMIT
    assert model.best_estimator_.status_ == Status.CONVERGED
