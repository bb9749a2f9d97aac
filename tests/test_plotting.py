"""The Displays: what is drawn, where, and what happens without Matplotlib."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from resolvent import KernelClassifierCV, KernelQuantileRegressor, KernelRegressor, path, solve
from resolvent.plotting import GapDisplay, PathDisplay, ValidationHeatmapDisplay
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


def test_there_are_no_fractions_of_iterations(plt):
    solution = solve("squared", np.eye(3), [1.0, 2.0, 3.0])
    display = GapDisplay.from_solution(solution, against="iterations")
    ticks = display.ax_.get_xticks()
    assert_array_equal(ticks, np.round(ticks))


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


@pytest.fixture(scope="module")
def along():
    """A path along C, with kernel values and targets of validation samples."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    K = A @ A.T
    return path("absolute", K[:20, :20], y[:20], [0.1, 1.0, 10.0]), K[20:, :20], y[20:]


def test_path(plt, along):
    result, K, y = along
    display = PathDisplay.from_path(result, K=K, y=y, color="red")
    drawn = [line.get_ydata() for line in display.lines_]
    np.testing.assert_array_equal(drawn[0], result.primal)
    np.testing.assert_array_equal(drawn[2], result.n_support)
    np.testing.assert_allclose(drawn[3], np.abs(y[:, None] - result.scores(K)).mean(axis=0))
    assert [ax.get_ylabel() for ax in display.axes_][3] == "Validation loss"
    assert {ax.get_xscale() for ax in display.axes_} == {"log"}
    assert {line.get_color() for line in display.lines_} == {"red"}
    assert display.figure_ is display.axes_[0].figure


def test_path_with_a_score_on_given_axes(plt, along):
    result, K, y = along

    def mean_score(y, scores):
        return float(scores.mean())

    _, axes = plt.subplots(2, 2)
    display = PathDisplay.from_path(result, K=K, y=y, score=mean_score, axes=axes)
    np.testing.assert_allclose(display.lines_[3].get_ydata(), result.scores(K).mean(axis=0))
    assert axes[1, 1].get_ylabel() == "mean score"
    with pytest.raises(ValueError, match="both K and y"):
        PathDisplay.from_path(result, K=K)
    with pytest.raises(ValueError, match="4 axes were given for 3 curves"):
        PathDisplay.from_path(result, axes=axes)


def test_heatmap(plt):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    model = KernelClassifierCV(Cs=[1.0, 2.0, 4.0], gammas=[0.1, 1.0], cv=2).fit(X, X[:, 0] > 0)
    display = ValidationHeatmapDisplay.from_estimator(model, cmap="gray")
    np.testing.assert_array_equal(display.gammas, [0.1, 1.0])
    results = model.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        g, i = display.gammas.tolist().index(params["gamma"]), params["C"]
        assert display.scores[g, display.Cs.tolist().index(i)] == score
    np.testing.assert_array_equal(display.mesh_.get_array(), display.scores.T)
    best = model.best_params_
    assert display.point_.get_xydata().tolist() == [[best["gamma"], best["C"]]]
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")
    # each value is inside its own cell
    edges = display.mesh_.get_coordinates()
    assert ((edges[0, :-1, 0] < display.gammas) & (display.gammas < edges[0, 1:, 0])).all()
    assert ((edges[:-1, 0, 1] < display.Cs) & (display.Cs < edges[1:, 0, 1])).all()


def test_heatmap_needs_two_parameters(plt):
    X = np.linspace(-1, 1, 20)[:, None]
    model = KernelClassifierCV(kernel="linear", Cs=2, cv=2).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match="this one was over C"):
        ValidationHeatmapDisplay.from_estimator(model)
    with pytest.raises(NotFittedError):
        ValidationHeatmapDisplay.from_estimator(KernelClassifierCV())


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
