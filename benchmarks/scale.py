"""Low-rank fits beside scikit-learn's Nystroem and linear machines of the same number of landmarks.

    python -m benchmarks scale --rows 50000

Both sides of a row are measured in one process, one after the other, features included; ours
includes the certificate of the original problem. The objective is that of the original problem,
sum_i C L(y_i, f(x_i) + b) + |f|^2 / 2, at the function that was found. "Z / GEMMs" is the time of
our features, landmarks given, divided by that of the two matrix products that they are made of.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks import datasets, report
from resolvent import KernelClassifier, gram

ROWS = 200_000
RANKS = 500, 1000, 2000
TOL = 1e-3  # relative, of the low-rank problem; LIBLINEAR's and lbfgs's defaults are no tighter
THEIRS = {
    "hinge": lambda: LinearSVC(loss="hinge"),
    "squared_hinge": lambda: LinearSVC(),
    "logistic": lambda: LogisticRegression(),
}
LOSSES = {
    "hinge": lambda margin: np.maximum(0.0, 1.0 - margin),
    "squared_hinge": lambda margin: np.maximum(0.0, 1.0 - margin) ** 2,
    "logistic": lambda margin: np.logaddexp(0.0, -margin),
}


def load(rows):
    """Give single-precision rows of covtype, labels, and the gamma of both sides."""
    data = datasets.get("covtype", rows)
    X = np.ascontiguousarray(data["X"], np.float32)
    return X, data["y"], 1.0 / X.shape[1]


def clocks():
    """Seconds of the clock on the wall and of the processors."""
    return np.array([time.perf_counter(), time.process_time()])


def theirs(X, y, gamma, loss, rank):
    """Seconds and objective of scikit-learn's pipeline."""
    began = clocks()
    features = Nystroem(gamma=gamma, n_components=rank, random_state=0).fit(X)
    Z = features.transform(X)
    machine = THEIRS[loss]().fit(Z, y)
    seconds = clocks() - began
    losses = LOSSES[loss](y * machine.decision_function(Z)).sum(dtype=float)
    return seconds, losses + 0.5 * float((machine.coef_.astype(float) ** 2).sum())


def ours(X, y, gamma, loss, rank):
    """Seconds and the fitted machine."""
    began = clocks()
    machine = KernelClassifier(
        loss, gamma=gamma, rank=rank, tol=TOL, memory_limit="4GB", random_state=0
    ).fit(X, y)
    return clocks() - began, machine


def features_to_products(X, gamma, rank):
    """Time of features divided by that of products of the same sizes."""
    landmarks = np.random.default_rng(0).choice(len(X), rank, replace=False)
    began = time.perf_counter()
    gram(X, "rbf", gamma=gamma, landmarks=landmarks, memory_limit=2 * X.shape[0] * rank * 4)
    ours = time.perf_counter() - began
    root = np.ones((rank, rank), np.float32)
    began = time.perf_counter()
    (X @ X[landmarks].T) @ root
    return ours / (time.perf_counter() - began)


def cell(X, y, gamma, loss, rank):
    """One line of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of LIBLINEAR's
        their, objective = theirs(X, y, gamma, loss, rank)
    our, machine = ours(X, y, gamma, loss, rank)
    gap = machine.dual_gap_ / machine.objective_
    share = f"{features_to_products(X, gamma, rank):.2f}" if loss == "hinge" else ""
    ratio = their / our
    return [loss, str(rank), f"{our[0]:.1f} / {our[1]:.1f}", f"{their[0]:.1f} / {their[1]:.1f}",
            f"{ratio[0]:.2f} / {ratio[1]:.2f}", f"{machine.objective_:.6g}", f"{objective:.6g}",
            f"{gap:.1e}", machine.certificate_, share]  # fmt: skip


def write(path, rows=None):
    """Measure every cell; the page is written anew after each."""
    X, y, gamma = load(rows or ROWS)
    words = (
        f"{len(X)} rows of covtype, RBF kernel, C = 1: seconds of fits with features (ours with "
        "the certificate) by the clock and, after the stroke, of the processors, the objective of "
        "the original problem, and the proved relative gap to its optimum."
    )
    head = ["loss", "rank", "resolvent", "scikit-learn", "ratios", "objective", "scikit-learn's",
            "proved gap", "certificate", "Z / GEMMs"]  # fmt: skip
    for loss in THEIRS:
        ours(X[:3000], y[:3000], gamma, loss, 20)  # compiles
    table = []
    for rank in RANKS:
        for loss in THEIRS:
            table.append(cell(X, y, gamma, loss, rank))
            print(" ".join(table[-1]), flush=True)
            report.write_page(path, "Low-rank fits", words, head, table)
