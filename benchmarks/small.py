"""Small fits, where most people are: ours beside scikit-learn's, in one process.

    python -m benchmarks small

Every estimator is as its users make it, with default settings but for C, on scikit-learn's own toy
data. A measurement repeats a fit until `ENOUGH` seconds have passed and divides; the two sides take
turns, and the median of the ratios counts.
"""

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets, kernel_ridge, linear_model, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import resolvent
import resolvent.svm as ours
from benchmarks import report

ENOUGH = 0.02  # seconds of one measurement
REPEATS = 5
SIZES = 60, 140, 500, 1700
CS = 1.0, 100.0
CLASSIFICATION = "iris", "wine", "breast_cancer", "digits"
REGRESSION = ("diabetes",)


@dataclass(frozen=True)
class Pair:
    """Makers of an estimator of ours and of scikit-learn's, from C."""

    ours: Callable[[float], Any]
    theirs: Callable[[float], Any]
    data: tuple[str, ...]


PAIRS = {
    "SVC": Pair(lambda C: ours.SVC(C=C), lambda C: svm.SVC(C=C), CLASSIFICATION),
    "LinearSVC": Pair(lambda C: ours.LinearSVC(C=C), lambda C: svm.LinearSVC(C=C), CLASSIFICATION),
    "logistic": Pair(
        lambda C: resolvent.LinearClassifier("logistic", C=C),
        lambda C: linear_model.LogisticRegression(C=C),
        ("breast_cancer",),
    ),
    "SVR": Pair(lambda C: ours.SVR(C=C), lambda C: svm.SVR(C=C), REGRESSION),
    "LinearSVR": Pair(lambda C: ours.LinearSVR(C=C), lambda C: svm.LinearSVR(C=C), REGRESSION),
    "KernelRidge": Pair(
        lambda C: resolvent.KernelRidge(1 / C, kernel="rbf"),
        lambda C: kernel_ridge.KernelRidge(alpha=1 / C, kernel="rbf"),
        REGRESSION,
    ),
}


def cells():
    """Estimator, data set, rows and C of every cell; no data set has more rows than it has."""
    for name, pair in PAIRS.items():
        for data in pair.data:
            rows = len(load(data)[1])
            for n in SIZES:
                for C in CS if n <= rows else ():
                    yield name, data, n, C


def load(data, n=None):
    """Standardised features and a target, `n` rows drawn with a fixed seed."""
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return scale(X[order]), y[order]


def fit(name, side, data, n, C):
    """Give a function that makes and fits an estimator."""
    X, y = load(data, n)
    make = getattr(PAIRS[name], side)

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of LIBLINEAR's
            return make(C).fit(X, y)

    return work


def seconds(work):
    """Seconds of one call, the mean of as many as take `ENOUGH`."""
    began, count, passed = time.perf_counter(), 0, 0.0
    while passed < ENOUGH:
        work()
        count += 1
        passed = time.perf_counter() - began
    return passed / count


def uses():
    """What else is done with small data: a name, and a function of ours and of scikit-learn's."""
    X, y = load("iris")
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
    searches = [GridSearchCV(make(), grid) for make in (ours.SVC, svm.SVC)]
    yield "GridSearchCV over SVC, iris, 12 points", [partial(one.fit, X, y) for one in searches]
    X, y = load("breast_cancer")
    for name in "SVC", "SVR", "LinearSVC":
        models = [getattr(module, name)().fit(X, y) for module in (ours, svm)]
        for n in 1, 10:
            yield (
                f"{name}, predict {n} of {len(X)} rows",
                [partial(m.predict, X[:n]) for m in models],
            )


def compare(sides):
    """Median seconds of ours, of scikit-learn's, and of their ratios, taken in turns."""
    for work in sides:
        work()
    times = [[seconds(work) for work in sides] for _ in range(REPEATS)]
    our, their = (statistics.median(column) for column in zip(*times, strict=True))
    return our, their, statistics.median(b / a for a, b in times)


def write(path):
    """Measure every cell, and write a Markdown table."""
    rows, ratios, others = [], [], []
    for name, data, n, C in cells():
        our, their, ratio = compare([fit(name, side, data, n, C) for side in ("ours", "theirs")])
        ratios.append(ratio)
        rows.append([name, data, str(n), f"{C:g}", f"{1e3 * our:.2f}", f"{1e3 * their:.2f}",
                     f"{ratio:.2f}"])  # fmt: skip
        print(" ".join(rows[-1]), flush=True)
    for name, sides in uses():
        our, their, ratio = compare(sides)
        others.append(f"{name}: {1e3 * our:.3g} / {1e3 * their:.3g} ms, {ratio:.2f}.")
        print(others[-1], flush=True)
    mean = report.geometric_mean(ratios)
    words = (
        f"Milliseconds of one fit, default settings but for C, and scikit-learn's divided by ours. "
        f"Geometric mean over {len(ratios)} cells: {mean:.2f}; smallest: {min(ratios):.3f}.\n\n"
        f"Beside fits, ours / scikit-learn's and their ratio:\n\n- " + "\n- ".join(others)
    )
    head = ["estimator", "data", "rows", "C", "resolvent", "scikit-learn", "ratio"]
    report.write_page(path, "Small fits", words, head, rows)
