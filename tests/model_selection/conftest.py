"""Data that the tests of searches share."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(90, 4, flip_y=0.15, random_state=0)
    return scale(X), y


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (70, 2))
    return X, 2.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(70)
