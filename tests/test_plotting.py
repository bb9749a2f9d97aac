"""The Display of the gap: what is drawn, where, and what happens without Matplotlib."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from resolvent import KernelQuantileRegressor, KernelRegressor, solve
from resolvent.plotting import GapDisplay
from resolvent.problem import Record


@pytest.fixture
def plt():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def solution():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 30))
    return solve("squared", A @ A.T, rng.standard_normal(30), accelerate=False, tol=1e-6)


def test_draws_the_relative_gap(plt, solution):
    display = GapDisplay.from_solution(solution)
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "Seconds"
    assert display.ax_.get_legend() is None
    seconds, gaps = display.line_.get_data()
    expected = [r.gap / max(abs(r.primal), abs(r.dual)) for r in solution.history]
    np.testing.assert_allclose(gaps, expected, rtol=1e-12)
    np.testing.assert_array_equal(seconds, [r.seconds for r in solution.history])


def test_against_iterations_on_given_axes(plt, solution):
    figure, ax = plt.subplots()
    display = GapDisplay.from_solution(
        solution, against="iterations", name="RLS", ax=ax, color="red"
    )
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_xlabel() == "Iterations"
    assert display.line_.get_color() == "red"
    assert display.line_.get_label() == "RLS"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["RLS"]
    np.testing.assert_array_equal(
        display.line_.get_xdata(), [r.iteration for r in solution.history]
    )
    again = display.plot(name="other")
    assert again is display
    assert display.ax_ is not ax
    assert display.line_.get_label() == "other"


def test_from_estimator(plt):
    X = np.linspace(0, 3, 20)[:, None]
    model = KernelRegressor().fit(X, np.sin(X))
    display = GapDisplay.from_estimator(model)
    assert display.line_.get_label() == "KernelRegressor"
    assert len(display.line_.get_xdata()) == len(model.history_)


def test_each_run_has_a_curve(plt):
    X = np.linspace(0, 3, 20)[:, None]
    model = KernelQuantileRegressor((0.2, 0.8)).fit(X, np.sin(X[:, 0]))
    display = GapDisplay.from_estimator(model, against="iterations")
    first, second = display.line_
    assert first.get_color() == second.get_color()
    assert len(display.ax_.get_legend().get_texts()) == 1
    for line in display.line_:
        assert (np.diff(line.get_xdata()) > 0).all()


def test_worst_of_several_problems_and_gaps_of_zero(plt):
    nan = np.nan
    history = [
        Record(
            0, 0.1, np.array([4.0, 2.0]), np.array([2.0, -np.inf]), np.array([2.0, np.inf]), nan
        ),
        Record(1, 0.2, np.array([4.0, 2.0]), np.array([3.0, 0.0]), np.array([1.0, 2.0]), nan),
        Record(2, 0.3, np.array([4.0, 2.0]), np.array([4.0, 2.0]), np.array([0.0, 0.0]), nan),
        Record(3, 0.4, np.array([0.0, 0.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]), nan),
    ]
    estimator = KernelRegressor()
    estimator.history_ = history
    display = GapDisplay.from_estimator(estimator)
    eps = np.finfo(float).eps
    np.testing.assert_array_equal(display.line_.get_data(), [[0.2, 0.3, 0.4], [1.0, eps, eps]])


def test_errors(plt, solution):
    with pytest.raises(ValueError, match="against='days' is unknown; choose one of seconds"):
        GapDisplay.from_solution(solution, against="days")
    with pytest.raises(NotFittedError):
        GapDisplay.from_estimator(KernelRegressor())


def test_without_matplotlib():
    code = """
import sys
sys.modules["matplotlib"] = None
from resolvent.plotting import GapDisplay
try:
    GapDisplay(curves=[]).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install 'resolvent[plot]'" in done.stdout
