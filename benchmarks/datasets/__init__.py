"""Data of the benchmarks, one file each, with a class `Dataset` as in benchopt.

Files are looked for in the folder that the environment variable RESOLVENT_DATA names; without it
scikit-learn fetches what it can. "n rows" are the first n of a permutation with seed 0, and the
next 5,000 are for testing; where the training rows do not suffice for both, the official test rows
are used. A data set that cannot be had raises `UnavailableError` and is skipped.

The files are `.npz`: dense X, y and, where an official split exists, X_test, y_test; sparse data,
indices, indptr, shape, y and the same names with "test_".
"""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp

TEST_ROWS = 5000


class UnavailableError(Exception):
    """The data are not there; the message says why."""


class BaseDataset:
    """A data set of which `n` rows are taken; None is all that training has."""

    def __init__(self, n=None):
        self.n = n


def get(name, n):
    """Training and test rows by the name of a file here."""
    return import_module(f"benchmarks.datasets.{name}").Dataset(n).get_data()


def load(name, fetch=None):
    """Give X, y (and official X_test, y_test) of a file in RESOLVENT_DATA, or from `fetch`."""
    folder = os.environ.get("RESOLVENT_DATA")
    if not folder:
        if fetch is None:
            raise UnavailableError(f"{name}: set RESOLVENT_DATA, scikit-learn cannot fetch it")
        try:
            return fetch()
        except OSError as error:  # no network
            raise UnavailableError(f"{name}: not fetched ({error})") from error
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        raise UnavailableError(f"{name}: RESOLVENT_DATA has no {name}.npz")
    with np.load(path) as z:
        if "X" in z:
            return tuple(z[part] for part in ("X", "y", "X_test", "y_test") if part in z)
        test = (csr(z, "test_"), z["test_y"]) if "test_y" in z else ()
        return csr(z, ""), z["y"], *test


def csr(z, prefix):
    parts = (z[prefix + "data"], z[prefix + "indices"], z[prefix + "indptr"])
    return sp.csr_matrix(parts, shape=tuple(z[prefix + "shape"]))


def split(X, y, X_test=None, y_test=None, *, n=None):
    """First n rows of a permutation to train, the next ones or official ones to test."""
    order = np.random.default_rng(0).permutation(len(y))
    if n is None:
        n = len(y) if X_test is not None else len(y) - TEST_ROWS
    train, rest = order[:n], order[n : n + TEST_ROWS]
    if X_test is None or len(rest) == TEST_ROWS:
        X_test, y_test = X[rest], y[rest]
    else:
        chosen = np.random.default_rng(0).permutation(len(y_test))[:TEST_ROWS]
        X_test, y_test = X_test[chosen], y_test[chosen]
    if len(train) < n or not len(y_test):
        raise UnavailableError(f"{len(y)} rows are too few for {n} and a test")
    return {"X": X[train], "y": y[train], "X_test": X_test, "y_test": y_test}


def standardised(data, targets=False):
    """Mean 0 and variance 1 of the features (and real targets) of the training rows."""
    for name in ("X", "y") if targets else ("X",):
        values = data[name].astype(np.float64)
        mean, scale = values.mean(axis=0), values.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        for part in (name, f"{name}_test"):
            kind = np.float32 if name == "X" else np.float64
            data[part] = ((data[part] - mean) / scale).astype(kind)
    return data
