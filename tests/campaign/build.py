"""Data and a model of a case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import resolvent
from resolvent import kernels, svm
from resolvent.blocks import as_source, solve_blocks
from resolvent.losses import envelope

from .draw import AMOUNTS, CLASSES, LINKED, NU, Case, has_labels, is_linear, is_search

TAUS = (0.1, 0.5, 0.8)


class OwnLogCosh(NamedTuple):
    """A user's loss of numbers, by its value and its derivative."""

    def value(self, y: float, z: float) -> float:
        return abs(y - z) + math.log1p(math.exp(-2.0 * abs(y - z))) - math.log(2.0)

    def derivative(self, y: float, z: float) -> float:
        return math.tanh(z - y)


class OwnMargin(NamedTuple):
    """A user's loss of labels: (1 - m)+^3 / 3 up to a slope of 4, then linear."""

    targets = "sign"

    def value(self, y: float, z: float) -> float:
        short = 1.0 - y * z
        if short <= 0.0:
            return 0.0
        return short**3 / 3.0 if short <= 2.0 else 4.0 * short - 16.0 / 3.0

    def derivative(self, y: float, z: float) -> float:
        short = min(max(1.0 - y * z, 0.0), 2.0)
        return -y * short * short


OWN = {
    "own_log_cosh": OwnLogCosh(),
    "own_margin": OwnMargin(),
    "envelope_hinge": envelope("hinge", 2.0),
    "envelope_absolute": envelope("absolute", 0.5),
}


@dataclass
class Data:
    """What is given to a fit, and the same as plain arrays."""

    given: Any  # X in its container; for a precomputed kernel, its matrix
    X: np.ndarray  # as numbers in double precision, of which `given` may have fewer digits
    y: np.ndarray
    weight: np.ndarray | None
    offset: np.ndarray | None = None  # known part of the scores

    @property
    def unit(self) -> float:
        """Largest relative error of a number in the container's precision."""
        single = getattr(self.given, "dtype", None) == np.float32
        return float(np.finfo(np.float32 if single else np.float64).eps)


def plus_distance(A: Any, B: Any) -> np.ndarray:
    """Kernel function of a user, entry by entry."""
    A, B = np.asarray(A, float), np.asarray(B, float)
    return 1.0 / (1.0 + np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def features(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Samples, before units."""
    n, d, design = case["n"], case["d"], case["design"]
    X = rng.standard_normal((n, d))
    if design == "duplicates":
        X = X[rng.integers(1 + n // 4, size=n)]
    elif design == "integers":
        X = rng.integers(3, size=(n, d)).astype(float)
    elif design == "counts":
        X = rng.poisson(2.0, (n, d)).astype(float)
    elif design == "sparse":
        X *= rng.random((n, d)) < 0.2
    elif design == "constant":
        X = np.tile(X[:1], (n, 1))
    elif design == "constant_column":
        X[:, -1] = 1.0
    elif design == "collinear":
        X = np.outer(X[:, 0], 1.0 + np.arange(d))
    X = (X + case["x_shift"]) * case["x_unit"]
    return np.abs(X) if case["kernel"] in AMOUNTS else X


def numbers(case: Case, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets of a regression, before units; (n,) or (n, outputs)."""
    n, target = case["n"], case["target"]
    size = (n, case["outputs"])
    z = X / case["x_unit"] - case["x_shift"]
    clean = np.sin(z @ rng.standard_normal((case["d"], case["outputs"])))
    y = {
        "smooth": clean + 0.1 * rng.standard_normal(size),
        "noise": rng.standard_normal(size),
        "constant": np.full(size, 0.7),
        "counts": rng.poisson(2.0, size).astype(float),
        "outlier": clean + 1e4 * (np.arange(n) == n // 2)[:, None],
        "heavy": rng.standard_cauchy(size),
        "one": (np.arange(n) == 0)[:, None] + np.zeros(size),
        "zero": np.zeros(size),
    }[target]
    y = (y + case["y_shift"]) * case["y_unit"]
    if case["loss"] in LINKED:
        y = np.minimum(np.abs(y), 1e6) + 1e-3 * case["y_unit"] * (case["loss"] == "gamma")
    return y[:, 0] if case["outputs"] == 1 else y


def labels(case: Case, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Classes 0, 1, ... of the samples, all of which occur if there are enough samples."""
    n, k, target = case["n"], case["classes"], case["target"]
    z = X / case["x_unit"] - case["x_shift"]
    score = z @ rng.standard_normal(case["d"])
    codes = np.argsort(np.argsort(score, kind="stable"), kind="stable") * k // max(n, 1)
    if target in ("noise", "heavy", "counts"):
        codes = rng.integers(k, size=n)
    elif target in ("one", "outlier"):
        codes = np.where(np.arange(n) < k, np.arange(n), 0)
    elif target in ("smooth", "zero"):
        codes = np.where(rng.random(n) < 0.1, rng.integers(k, size=n), codes)
    codes[: min(n, k)] = np.arange(min(n, k))
    return codes


def sample_weight(case: Case, rng: np.random.Generator) -> np.ndarray | None:
    """Weights, none of which is given if the case says so."""
    n = case["n"]
    spread = 10.0 ** rng.uniform(-6, 6, n)
    return {
        "none": None,
        "ones": np.ones(n),
        "random": rng.uniform(0.5, 2.0, n),
        "zeros": (np.arange(n) % 3 != 2).astype(float),
        "tiny": np.full(n, 1e-300),
        "huge": np.full(n, 1e300),
        "spread": spread,
        "extreme": 10.0 ** rng.uniform(-300, 300, n),
    }[case["weights"]]


def contain(case: Case, X: np.ndarray) -> Any:
    """Put samples into the container of a case."""
    kind = case["container"]
    names = [f"x{j}" for j in range(X.shape[1])]
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "int":
        return np.clip(np.rint(X), -(2**62), 2**62).astype(np.int64)
    if kind in ("csr", "csc"):
        return sparse.csr_array(X) if kind == "csr" else sparse.csc_array(X)
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(X, columns=names)
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    if kind == "list":
        return X.tolist()
    return np.asfortranarray(X) if kind == "fortran" else X


def make_data(case: Case) -> Data:
    """Draw the data of a case."""
    rng = np.random.default_rng(case["data"])
    X = features(case, rng)
    y = labels(case, X, rng) if has_labels(case) else numbers(case, X, rng)
    weight = sample_weight(case, rng)
    given = contain(case, X)
    if case["container"] in ("float32", "int"):
        X = given.astype(float)
    if case["kernel"] == "precomputed":
        given = X = kernels.RBF(1.0 / case["d"])(X / case["x_unit"])
    offset = None
    if case["offset"]:
        unit = 1.0 if has_labels(case) or case["loss"] in LINKED else case["y_unit"]
        offset = unit * rng.standard_normal(len(X))
    return Data(given, X, y, weight, offset)


def make_kernel(case: Case, X: Any) -> Any:
    """Make the kernel of a case as it is given to an estimator."""
    gamma = case["gamma"]
    number = gamma if isinstance(gamma, float) else 1.0
    named = {
        "matern12": kernels.Matern(0.5, 1.0 / math.sqrt(number) * case["x_unit"]),
        "matern52": kernels.Matern(2.5, 1.0 / math.sqrt(number) * case["x_unit"]),
        "sum": kernels.RBF(number / case["x_unit"] ** 2) + kernels.Constant(0.5),
        "product": kernels.RBF(number / case["x_unit"] ** 2) * kernels.Linear(1.0),
        "scaled": 0.3 * kernels.Laplacian(number / case["x_unit"]),
        "callable": plus_distance,
        "overlap": kernels.Overlap() + kernels.Constant(0.5),
        "columns": kernels.ColumnKernel(0, "rbf") + kernels.ColumnKernel([0], "overlap"),
        "additive_chi2": kernels.AdditiveChi2(),
        "tanimoto": kernels.Tanimoto(),
    }
    return named.get(case["kernel"], case["kernel"])


def as_loss(case: Case) -> Any:
    """Make the loss of a case: a name, or an instance."""
    return OWN.get(case["loss"], case["loss"])


def memory_limit(case: Case) -> Any:
    """Bytes that the rows of a case's kernel matrix may take; None is our default."""
    return None if case["memory"] == "auto" else 8 * case["n"] * case["memory"]


def limits(case: Case) -> dict[str, Any]:
    """Fewer sweeps than by default, where plain ones are asked for: they may need any number."""
    plain = case["solver"] in ("coordinate_descent", "fixed_point") or case["rule"] != "permuted"
    return {"max_iter": 1000} if plain else {}


def make_gram(case: Case, data: Data) -> Any:
    """Make the kernel matrix of a case for `solve`."""
    settings = {name: case[name] for name in ("gamma", "degree", "coef0")}
    if case["kernel"] == "precomputed":
        return data.given
    if case["gram"] == "csr":
        return resolvent.gram(sparse.csr_array(data.X), "linear")
    kernel = make_kernel(case, data.X)
    given = data.given
    if case["container"] in ("pandas", "polars"):
        given = data.X
    if case["gram"] == "dense":
        made = kernels.make_kernel(kernel, X=given, **settings)
        return made(given)
    return resolvent.gram(given, kernel, memory_limit=memory_limit(case), **settings)


def targets_of_solve(case: Case, data: Data) -> np.ndarray:
    """Targets as `solve` wants them."""
    if case["loss"] in CLASSES:
        return np.eye(case["classes"])[data.y]
    return np.where(data.y == 1, 1.0, -1.0) if has_labels(case) else data.y


def solve(case: Case, data: Data, **changes: Any) -> Any:
    """Call `resolvent.solve` on a case."""
    case = case | changes
    return resolvent.solve(
        as_loss(case),
        make_gram(case, data),
        targets_of_solve(case, data),
        C=case["C"],
        sample_weight=data.weight,
        offset=data.offset,
        fit_intercept=case["intercept"],
        solver=case["solver"],
        rule=case["rule"],
        tol=case["tol"],
        **limits(case),
    )


def solve_in_blocks(case: Case, data: Data) -> Any:
    """Call `solve_blocks` on a case, in some three blocks."""
    X = data.X.astype(np.float32) if case["container"] == "float32" else data.X
    X = sparse.csr_array(X) if case["container"] in ("csr", "csc") else X
    room = 8 * (case["d"] + 2) * (1 + case["n"] // 3)
    source = as_source(X, data.y, data.weight, memory_limit=room)
    return solve_blocks(
        as_loss(case),
        source,
        case["C"],
        classes=(0, 1) if has_labels(case) else (),
        fit_intercept=case["intercept"],
        tol=case["tol"],
    )


def make_estimator(case: Case, data: Data) -> Any:
    """Make the estimator of a case, not fitted."""
    name = case["estimator"]
    settings: dict[str, Any] = {"C": case["C"], "tol": case["tol"]}
    if name not in ("SVC", "SVR", *NU):
        settings["fit_intercept"] = case["intercept"]
    if not is_linear(case):
        settings["kernel"] = make_kernel(case, data.X)
        settings |= {key: case[key] for key in ("gamma", "degree", "coef0")}
    if name in ("SVC", "SVR", *NU):
        if case["memory"] != "auto":
            settings["cache_size"] = 1e-6 * (memory_limit(case) + 1)  # as it may be rounded down
        if name == "SVC":
            settings |= {"class_weight": case["class_weight"]}
        if name in NU:
            settings["nu"] = case["nu"]
            if name != "NuSVR":
                del settings["C"]
        return getattr(svm, name)(**settings)
    if name in ("LinearSVC", "LinearSVR"):
        settings["loss"] = case["loss"]
        if name == "LinearSVC":
            settings["class_weight"] = case["class_weight"]
        else:
            settings["epsilon"] = 0.1
        return getattr(svm, name)(**settings)
    if not is_linear(case):
        settings["memory_limit"] = memory_limit(case) or "auto"
    if name == "KernelRidge":
        settings["alpha"] = 1.0 / settings.pop("C")
        return resolvent.KernelRidge(**settings)
    settings |= {"solver": case["solver"], **limits(case)}
    if case["rank"] is not None:
        settings |= {"rank": case["rank"], "certificate": case["certificate"]}
    if name.startswith("KernelQuantile"):
        settings["quantile"] = TAUS
        settings["kind"] = "quantile" if case["loss"] == "pinball" else "expectile"
    else:
        settings["loss"] = as_loss(case)
    if not has_labels(case):
        settings["normalize_y"] = case["normalize"]
    if has_labels(case):
        settings["class_weight"] = case["class_weight"]
        if not is_linear(case):
            settings["multi_class"] = case["multi_class"]
    if is_search(case):
        settings["Cs"] = [case["C"], 10.0 * case["C"]]
        settings |= {"n_jobs": case["n_jobs"], "cv": 3}
        settings |= {"extend": case["extend"], "conformal": case["conformal"]}
        del settings["C"]
        if not is_linear(case):
            gamma = settings.pop("gamma")
            settings["gammas"] = [gamma, 3.0 * gamma] if isinstance(gamma, float) else 2
    return getattr(resolvent, name)(**settings)


def fit(case: Case, data: Data, **changes: Any) -> Any:
    """Fit the model of a case: an estimator, or the `Solution` of `solve`."""
    case = case | changes
    if case["estimator"] == "solve":
        return solve(case, data)
    if case["estimator"] == "solve_blocks":
        return solve_in_blocks(case, data)
    model = make_estimator(case, data)
    if data.offset is not None:
        return model.fit(data.given, data.y, data.weight, offset=data.offset)
    return model.fit(data.given, data.y, data.weight)
