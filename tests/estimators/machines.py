"""An estimator of every kind, and data that are easy or hard for it."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    LinearClassifier,
    LinearRegressor,
)
from resolvent.kernels import RBF, Linear
from resolvent.losses import Huber
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR

ALL = [
    KernelClassifier("logistic"),
    KernelRegressor(Huber(0.3), RBF(0.5) + 0.1 * Linear()),
    KernelQuantileRegressor((0.2, 0.8)),
    KernelRidge(kernel="rbf"),
    LinearClassifier(),
    LinearRegressor("absolute"),
    SVC(),
    SVR(),
    LinearSVC(),
    LinearSVR(),
]
EVERY = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)


def data(n=60, seed=0):
    return make_moons(n, noise=0.3, random_state=seed)


def hard(n=120):
    """A problem that needs many sweeps: noisy labels, and the tests take a large C."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, (X[:, 0] + 1.5 * rng.standard_normal(n) > 0).astype(int)
