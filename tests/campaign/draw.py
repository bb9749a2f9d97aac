"""Cases: small dictionaries, drawn from a seed, that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = dict[str, Any]

MARGIN = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "modified_huber")
CLASSES = ("multinomial", "crammer_singer")
REAL = (
    "squared",
    "absolute",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "pinball",
    "expectile",
    "poisson",
    "gamma",
    "tweedie",
)
LINKED = ("poisson", "gamma", "tweedie")
SAMPLES = ("chebyshev", "root_squared")
OF_LABELS = (*MARGIN, *CLASSES, "envelope_hinge", "own_margin")
OF_NUMBERS = (*REAL, *SAMPLES, "envelope_absolute", "own_log_cosh")

CLASSIFIERS = ("KernelClassifier", "LinearClassifier", "KernelClassifierCV", "LinearClassifierCV")
REGRESSORS = ("KernelRegressor", "LinearRegressor", "KernelRegressorCV", "LinearRegressorCV")
QUANTILES = ("KernelQuantileRegressor", "KernelQuantileRegressorCV")
NU = ("NuSVC", "NuSVR", "OneClassSVM")
FIXED_LOSS = {
    "NuSVC": ("hinge",),
    "NuSVR": ("epsilon_insensitive",),
    "OneClassSVM": ("pinball",),
    "SVC": ("hinge",),
    "SVR": ("epsilon_insensitive",),
    "LinearSVC": ("hinge", "squared_hinge"),
    "LinearSVR": ("epsilon_insensitive", "squared_epsilon_insensitive"),
    "KernelRidge": ("squared",),
    "KernelQuantileRegressor": ("pinball", "expectile"),
    "KernelQuantileRegressorCV": ("pinball", "expectile"),
}
FUNCTIONS = ("solve", "solve_blocks")
ESTIMATORS = (*FUNCTIONS, *CLASSIFIERS, *REGRESSORS, *FIXED_LOSS)

KERNELS = (
    *("rbf", "laplacian", "matern", "matern12", "matern52", "poly", "linear", "cosine", "sigmoid"),
    *("sum", "product", "scaled", "callable", "precomputed"),
    *("chi2", "additive_chi2", "tanimoto", "overlap", "columns"),
)
AMOUNTS = ("chi2", "additive_chi2")  # kernels of samples without negative elements

# The simplest value of each field, which shrinking goes to.
SIMPLE: Case = {
    "data": 0,
    "estimator": "KernelRegressor",
    "loss": "squared",
    "kernel": "rbf",
    "gamma": "scale",
    "degree": 3,
    "coef0": 0.0,
    "gram": "computed",
    "solver": "auto",
    "rule": "permuted",
    "n": 20,
    "d": 2,
    "outputs": 1,
    "classes": 2,
    "multi_class": "ovr",
    "design": "normal",
    "target": "smooth",
    "x_unit": 1.0,
    "x_shift": 0.0,
    "y_unit": 1.0,
    "y_shift": 0.0,
    "weights": "none",
    "class_weight": None,
    "C": 1.0,
    "tol": 1e-5,
    "intercept": True,
    "container": "array",
    "memory": "auto",
    "n_jobs": 1,
    "nu": 0.5,
    "normalize": False,
    "offset": False,
    "extend": False,
    "conformal": False,
    "rank": None,
    "certificate": "auto",
}


def is_linear(case: Case) -> bool:
    """Whether the model is given by weights."""
    return str(case["estimator"]).startswith("Linear") or case["estimator"] == "solve_blocks"


def is_search(case: Case) -> bool:
    """Whether the model is chosen by cross-validation."""
    return str(case["estimator"]).endswith("CV")


def has_labels(case: Case) -> bool:
    """Whether the targets are classes."""
    return case["loss"] in OF_LABELS


def draw(seed: int) -> Case:
    """Draw a case."""
    rng = np.random.default_rng(seed)

    def pick(choices: Any, usual: Any = None, chance: float = 0.0) -> Any:
        """Pick one of the choices, or with some chance the usual value."""
        if rng.random() < chance:
            return usual
        return choices[int(rng.integers(len(choices)))]

    def power(low: float, high: float, usual: float, chance: float) -> float:
        """Pick a power of ten, with one digit."""
        exponent = rng.uniform(low, high)
        return usual if rng.random() < chance else float(f"{10.0**exponent:.0e}")

    case = dict(SIMPLE, data=int(rng.integers(10**6)))
    case["estimator"] = estimator = pick(ESTIMATORS, "solve", 0.1)
    if estimator in FIXED_LOSS:
        case["loss"] = pick(FIXED_LOSS[estimator])
    elif estimator in CLASSIFIERS:
        case["loss"] = pick(OF_LABELS)
    elif estimator in REGRESSORS:
        case["loss"] = pick(OF_NUMBERS)
    else:
        case["loss"] = pick(OF_NUMBERS + OF_LABELS)
    if not is_linear(case):
        case["kernel"] = pick(KERNELS, "rbf", 0.25)
        case["gamma"] = pick(("auto", 1e-3, 0.1, 1.0, 30.0), "scale", 0.6)
        case["degree"], case["coef0"] = pick((0, 1, 2, 3, 5)), pick((0.0, 1.0, -0.5))
        case["memory"] = pick((16, 20, 50), "auto", 0.6)  # rows of the matrix
    if estimator == "solve":
        case["gram"] = pick(("computed", "dense", "linear", "csr"))
        case["rule"] = pick(("cyclic", "aitken", "greedy"), "permuted", 0.7)
    if estimator not in FIXED_LOSS:
        case["solver"] = pick(("coordinate_descent", "fixed_point", "newton"), "auto", 0.7)
    largest = 2.2 if is_search(case) else 2.6
    case["n"] = max(1, round(10.0 ** rng.uniform(0.0, largest)))
    case["d"] = pick((1, 2, 3, 5, 10, 30))
    case["outputs"] = pick((2, 3), 1, 0.8)
    case["classes"] = pick((3, 4), 2, 0.7)
    case["multi_class"] = pick(("ovo",), "ovr", 0.7)
    case["design"] = pick(
        ("duplicates", "integers", "constant_column", "constant", "counts", "sparse", "collinear"),
        "normal",
        0.4,
    )
    case["target"] = pick(
        ("noise", "constant", "counts", "outlier", "heavy", "one", "zero"), "smooth", 0.4
    )
    case["x_unit"], case["y_unit"] = power(-6, 6, 1.0, 0.6), power(-6, 6, 1.0, 0.6)
    case["x_shift"], case["y_shift"] = pick((1.0, 30.0, 1e3), 0.0, 0.7), pick((3.0, 1e3), 0.0, 0.7)
    case["weights"] = pick(
        ("ones", "random", "zeros", "tiny", "huge", "spread", "extreme"), "none", 0.6
    )
    case["class_weight"] = pick(("balanced",), None, 0.8)
    case["C"] = power(-8, 8, 1.0, 0.3) if rng.random() < 0.5 else power(-2, 3, 1.0, 0.2)
    case["tol"] = pick((1e-1, 1e-2, 1e-3, 1e-7, 1e-10, 0.0), 1e-5, 0.6)
    case["intercept"] = pick((False,), True, 0.7)
    case["container"] = pick(
        ("float32", "csr", "csc", "pandas", "polars", "list", "fortran", "int"), "array", 0.5
    )
    case["n_jobs"] = pick((2,), 1, 0.5)
    case["nu"] = pick((0.01, 0.1, 0.3, 0.9), 0.5, 0.3)
    for name, chance in (("normalize", 0.6), ("offset", 0.8), ("extend", 0.7), ("conformal", 0.7)):
        case[name] = pick((True,), False, chance)
    case["rank"] = pick((1, 5, 20, "auto"), None, 0.8)
    case["certificate"] = pick(("exact", "sampled", "subspace"), "auto", 0.5)
    return tidy(case)


def has_meaning(case: Case) -> bool:
    """Whether the estimator of a case takes its loss."""
    estimator, loss = case["estimator"], case["loss"]
    if estimator in FIXED_LOSS:
        return loss in FIXED_LOSS[estimator]
    if estimator == "solve":
        return True
    if estimator == "solve_blocks":
        return loss not in (*CLASSES, *SAMPLES)
    return loss in (OF_LABELS if estimator in CLASSIFIERS else OF_NUMBERS)


def tidy_additions(case: Case, drop: Callable[..., None]) -> None:
    """Do the same for what only some estimators have: nu, offsets, ranks, intervals."""
    estimator, loss = case["estimator"], case["loss"]
    if estimator not in NU:
        drop("nu")
    if estimator not in (*REGRESSORS, *QUANTILES):
        drop("normalize")
    whole = estimator in (*CLASSIFIERS, *REGRESSORS, "solve") and loss not in (*SAMPLES, *CLASSES)
    if not whole or case["classes"] > 2:
        drop("offset")
    if not is_search(case):
        drop("extend", "conformal")
    if case["outputs"] > 1:
        drop("conformal")
    named = str(estimator).startswith("Kernel") and estimator != "KernelRidge"
    if not named or case["kernel"] in ("precomputed", "callable") or loss in SAMPLES:
        drop("rank")
    if case["rank"] is None or (case["rank"] == "auto" and case["certificate"] == "subspace"):
        drop("certificate")


def tidy(case: Case) -> Case:
    """Set the fields that have no meaning in a case to their simplest values."""
    case = dict(case)

    def drop(*names: str) -> None:
        case.update({name: SIMPLE[name] for name in names})

    estimator, loss, kernel = case["estimator"], case["loss"], case["kernel"]
    if estimator == "solve_blocks" and loss in (*CLASSES, *SAMPLES):
        loss = case["loss"] = SIMPLE["loss"]
    if has_labels(case):
        drop("outputs", "y_unit", "y_shift")
        if estimator in FUNCTIONS and loss not in CLASSES:
            case["classes"] = 2
    else:
        drop("classes", "class_weight", "multi_class")
    if estimator not in (*CLASSIFIERS, "SVC", "LinearSVC"):
        drop("class_weight", "multi_class")
    if not str(estimator).startswith("KernelClassifier") or loss in CLASSES:
        drop("multi_class")
    if estimator == "SVR" or estimator in QUANTILES or loss in SAMPLES or estimator == "LinearSVR":
        drop("outputs")
    if estimator in (*NU, "solve_blocks"):
        drop("outputs", "solver")
    if is_linear(case) or kernel in ("linear", "cosine", "precomputed", "callable"):
        drop("gamma")
    if is_linear(case):
        drop("kernel")
    if kernel in ("additive_chi2", "tanimoto", "overlap", "columns"):
        drop("gamma")
    if kernel in ("overlap", "columns") and case["container"] in ("csr", "csc"):
        drop("container")
    if kernel != "poly":
        drop("degree")
    if kernel not in ("poly", "sigmoid"):
        drop("coef0")
    if is_linear(case) or kernel == "precomputed":
        drop("memory")
    if estimator == "solve":
        if kernel == "linear" and case["gram"] != "csr":
            case["gram"] = "linear"
        if case["gram"] in ("linear", "csr"):
            case["kernel"] = "linear"
            drop("gamma", "degree", "coef0", "container", "memory")
            if case["rule"] == "greedy":  # which needs rows of the matrix
                drop("rule")
        elif kernel == "precomputed":
            case["gram"] = "dense"
    else:
        drop("gram", "rule")
    if loss in (*SAMPLES, *CLASSES):
        drop("rule")
        case["solver"] = "auto" if case["solver"] == "newton" else case["solver"]
        if loss in SAMPLES:
            case["solver"] = "auto"
            if case["weights"] not in ("none", "zeros", "ones"):
                drop("weights")
    if case["solver"] not in ("auto", "coordinate_descent"):
        drop("rule")
    if estimator in ("SVC", "SVR", *NU):
        drop("intercept")
    tidy_additions(case, drop)
    if kernel in ("precomputed", "callable"):
        drop("container")
    if not is_search(case):
        drop("n_jobs")
    elif case["solver"] == "newton":
        drop("solver")
    if not has_labels(case) and loss in LINKED:
        case["y_unit"] = min(case["y_unit"], 1e3)
    return case
