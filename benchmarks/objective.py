"""The problem that every solver gets, and the one function that judges what each returns.

    minimise  F = sum over problems of  C sum_i L(y_i, f(x_i) + b) + |f|^2 / 2

There is one problem for two classes or a real target, one for each pair of classes with a kernel
(LIBSVM's way) and one for each class against the rest without (LIBLINEAR's way). F is evaluated in
float64 from what a solver returns, offset included; nothing that a solver says of itself counts.
"""

from itertools import combinations

import numpy as np

HUBER_DELTA, QUANTILE = 1.0, 0.9  # the parameters of resolvent.KernelRegressor in these tables

LOSSES = {  # of a target y and a score s
    "hinge": lambda y, s: np.maximum(1 - y * s, 0),
    "squared_hinge": lambda y, s: np.maximum(1 - y * s, 0) ** 2,
    "logistic": lambda y, s: np.logaddexp(0, -y * s),
    "squared": lambda y, s: (y - s) ** 2 / 2,
    "absolute": lambda y, s: np.abs(y - s),
    "epsilon_insensitive": lambda y, s, epsilon: np.maximum(np.abs(y - s) - epsilon, 0),
    "huber": lambda y, s: np.where(
        np.abs(y - s) <= HUBER_DELTA,
        (y - s) ** 2 / 2,
        HUBER_DELTA * (np.abs(y - s) - HUBER_DELTA / 2),
    ),
    "pinball": lambda y, s: np.maximum(QUANTILE * (y - s), (QUANTILE - 1) * (y - s)),
}
MARGIN_LOSSES = ("hinge", "squared_hinge", "logistic")


class Objective:
    """One problem of a table: a loss, a kernel and their parameters, with the data."""

    def __init__(self, loss, C, kernel="rbf", fit_intercept=True, epsilon=0.1):
        self.loss, self.C, self.kernel = loss, C, kernel
        self.fit_intercept, self.epsilon = fit_intercept, epsilon

    def set_data(self, X, y, X_test, y_test):
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test
        self.gamma = 1.0 / (X.shape[1] * variance(X))  # scikit-learn's "scale"

    def get_objective(self):
        """Give what a solver is told; no solver sees the test rows or the class of this object."""
        names = "X", "y", "loss", "C", "kernel", "gamma", "fit_intercept", "epsilon"
        return {name: getattr(self, name) for name in names}

    def evaluate_result(self, coef, intercept, predictions):
        """Objective and test metric.

        `coef` has a column for each problem: coefficients of the training rows with a kernel,
        weights of the features without. `predictions` are of the test rows.
        """
        intercept = np.asarray(intercept, dtype=np.float64)
        if self.kernel == "linear":
            scores = self.X @ coef
            penalty = np.sum(coef**2) / 2
        else:
            scores = rbf_product(self.X, coef, self.gamma)
            penalty = np.sum(coef * scores) / 2
        parameters = {"epsilon": self.epsilon} if self.loss == "epsilon_insensitive" else {}
        total = 0.0
        for (rows, y), s, b in zip(self.problems(), scores.T, intercept, strict=True):
            total += LOSSES[self.loss](y, s[rows] + b, **parameters).sum()
        return {
            "primal": float(self.C * total + penalty),
            "score": score(self.y_test, predictions, self.loss in MARGIN_LOSSES),
        }

    def problems(self):
        """Rows and targets of each problem, in the order of the columns of `coef`."""
        y = self.y
        classes = np.unique(y)
        if self.loss not in MARGIN_LOSSES:
            yield slice(None), y.astype(np.float64)
        elif len(classes) == 2:
            yield slice(None), np.where(y == classes[1], 1.0, -1.0)
        elif self.kernel == "linear":
            for c in classes:
                yield slice(None), np.where(y == c, 1.0, -1.0)
        else:  # as LIBSVM: the first class of a pair is the positive one
            for first, second in combinations(classes, 2):
                rows = np.flatnonzero((y == first) | (y == second))
                yield rows, np.where(y[rows] == first, 1.0, -1.0)


def rbf_product(X, coef, gamma, block=1000):
    """Compute K @ coef in float64, exp(-gamma |x - x'|^2) by blocks of rows."""
    support = np.flatnonzero(coef.any(axis=1))
    A = X[support].astype(np.float64)
    shift = A.mean(axis=0)  # distances of data far from the origin would cancel
    A -= shift
    norms = np.einsum("ij,ij->i", A, A)
    result = np.empty((len(X), coef.shape[1]))
    for start in range(0, len(X), block):
        rows = X[start : start + block].astype(np.float64) - shift
        squares = np.einsum("ij,ij->i", rows, rows)[:, None] + norms - 2 * rows @ A.T
        np.maximum(squares, 0, out=squares)
        result[start : start + block] = np.exp(-gamma * squares) @ coef[support]
    return result


def variance(X):
    """Variance of all entries, of a sparse matrix as well, in float64."""
    if hasattr(X, "toarray"):
        values = X.data.astype(np.float64)
        size = X.shape[0] * X.shape[1]
        return (values**2).sum() / size - (values.sum() / size) ** 2
    mean = X.mean(dtype=np.float64)  # by blocks: a copy of X would hide what a fit allocates
    blocks = (X[start : start + 1000] - mean for start in range(0, len(X), 1000))
    return sum(float(np.sum(block**2)) for block in blocks) / X.size


def score(y, predictions, classes):
    """Accuracy, or R2."""
    if classes:
        return float(np.mean(predictions == y))
    y = y.astype(np.float64)
    return float(1 - np.sum((y - predictions) ** 2) / np.sum((y - y.mean()) ** 2))
