"""Linear models of data in all units: what a fit claims is true of the model that it returns.

The objective of the returned weights is computed in long double. The optimum is bounded from above
by a model of an interior-point solver, on columns that are centred and scaled for it.
"""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelClassifier, KernelRegressor, LinearClassifier, LinearRegressor, Status
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR

LONG = np.longdouble
SCALES = [1e-6, 1e-2, 1.0, 1e2, 1e4, 1e6]

VALUES = {
    "hinge": lambda y, s: np.maximum(1 - y * s, 0),
    "squared_hinge": lambda y, s: np.maximum(1 - y * s, 0) ** 2,
    "logistic": lambda y, s: np.logaddexp(LONG(0), -y * s),
    "squared": lambda y, s: (y - s) ** 2 / 2,
    "absolute": lambda y, s: np.abs(y - s),
}
CONVEX = {
    "hinge": lambda y, s: cp.sum(cp.pos(1 - cp.multiply(y, s))),
    "squared_hinge": lambda y, s: cp.sum_squares(cp.pos(1 - cp.multiply(y, s))),
    "logistic": lambda y, s: cp.sum(cp.logistic(-cp.multiply(y, s))),
    "squared": lambda y, s: cp.sum_squares(y - s) / 2,
    "absolute": lambda y, s: cp.norm1(y - s),
}
MODELS = {
    ("linear", "hinge"): LinearClassifier(),
    ("linear", "squared_hinge"): LinearClassifier(loss="squared_hinge"),
    ("linear", "logistic"): LinearClassifier(loss="logistic"),
    ("linear", "squared"): LinearRegressor(),
    ("linear", "absolute"): LinearRegressor(loss="absolute", normalize_y=False),
    ("kernel", "logistic"): KernelClassifier(loss="logistic", kernel="linear"),
    ("kernel", "absolute"): KernelRegressor(loss="absolute", kernel="linear", normalize_y=False),
    ("svm", "hinge"): SVC(kernel="linear"),
    ("svm", "absolute"): SVR(kernel="linear", epsilon=0.0),
    ("linear svm", "squared_hinge"): LinearSVC(),
    ("linear svm", "hinge"): LinearSVC(loss="hinge"),
    ("linear svm", "absolute"): LinearSVR(epsilon=0.0),
}


def samples(seed, scale):
    """Columns of units that differ, far from the origin for two seeds of three."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4))
    f = X @ rng.standard_normal(4) + rng.standard_normal(50)
    far = rng.standard_normal(4) * (0.0, 10.0, 1e4)[seed % 3]
    return (X + far) * 10.0 ** rng.uniform(-1, 1, 4) * scale, f


def objective(loss, X, y, w, b, C, penalised):
    w, b = np.ravel(w).astype(LONG), LONG(b)
    losses = VALUES[loss](y.astype(LONG), X.astype(LONG) @ w + b)
    return C * losses.sum() + (w @ w + penalised * b * b) / 2


def upper_bound(loss, X, y, C, penalised):
    """Objective of a model that an interior-point solver finds."""
    centre = np.zeros(X.shape[1]) if penalised else X.mean(axis=0)
    unit = np.abs(X - centre).max(axis=0)
    v, b = cp.Variable(X.shape[1]), cp.Variable()
    square = cp.sum_squares(cp.multiply(v, 1 / (unit * np.sqrt(2 * C))))
    square += penalised * cp.square(b) / (2 * C)
    losses = CONVEX[loss](y, ((X - centre) / unit) @ v + b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": it is a bound all the same
        cp.Problem(cp.Minimize(losses + square)).solve(solver=cp.CLARABEL)
    w = v.value / unit
    return objective(loss, X, y, w, LONG(b.value) - centre.astype(LONG) @ w, C, penalised)


def returned(model):
    """Weights and offset that predictions are made with."""
    if hasattr(model, "_expansion"):
        return model._expansion.weights[0], model._expansion.intercept[0]
    return np.ravel(model.coef_), np.ravel(model.intercept_)[0]


def check(model, loss, X, y, C, penalised=0.0):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.set_params(C=C).fit(X, y)
    is_short = model.status_ != Status.CONVERGED
    assert sum(issubclass(w.category, ConvergenceWarning) for w in said) == is_short
    others = [str(w.message) for w in said if not issubclass(w.category, ConvergenceWarning)]
    assert all("constant" in text for text in others)  # of what is learned, in units so small
    gap, claimed = model.dual_gap_, model.objective_
    assert is_short or gap <= 1e-5 * claimed
    w, b = returned(model)
    own = objective(loss, X, y, w, b, C, penalised)
    assert abs(own - claimed) <= gap
    # The rounding of scores, in float64, times a bound of the slopes of the losses.
    slopes = C * (np.abs(y - X @ w - b).max() + 2 if "squared" in loss else 1)
    rounding = 1e-15 * slopes * (np.abs(X) @ np.abs(w) + np.abs(b) + 1).sum()
    assert abs(own - claimed) <= rounding + 1e-13 * claimed
    assert own - gap <= upper_bound(loss, X, y, C, penalised)
    return model.status_


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("kind", "loss"), MODELS)
def test_claims_are_true_of_the_model_returned(kind, loss, scale):
    seed = 7 * list(MODELS).index((kind, loss)) + SCALES.index(scale)
    X, f = samples(seed, scale)
    y = np.sign(f) if loss in ("hinge", "squared_hinge", "logistic") else f
    C = (1e-3, 1.0, 1e3)[(seed // 3) % 3]
    penalised = float(kind == "linear svm")
    status = check(MODELS[kind, loss], loss, X, y, C, penalised)
    if not penalised:  # then the origin is free
        assert status == Status.CONVERGED


@pytest.mark.parametrize("family", [LinearClassifier, KernelClassifier])
@pytest.mark.parametrize(
    ("loss", "columns", "scale", "C"),
    [
        ("logistic", [0, 1, 2, 4, 5, 6, 10, 20], 1e4, 100.0),
        ("logistic", [0, 1, 2, 4, 5, 6, 10, 20], 1e6, 1.0),
        ("hinge", list(range(30)), 100.0, 1e4),
    ],
)
def test_breast_cancer_in_other_units(family, loss, columns, scale, C):
    X, y = load_breast_cancer(return_X_y=True)
    model = family(loss=loss, **({} if family is LinearClassifier else {"kernel": "linear"}))
    assert check(model, loss, X[:, columns] * scale, 2.0 * y - 1, C) == Status.CONVERGED
