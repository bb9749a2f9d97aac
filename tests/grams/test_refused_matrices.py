"""Matrices and arguments that are refused, and those that only look wrong."""

import numpy as np
import pytest
from scipy import sparse
from storage import RBF_K, D, N, data

from resolvent.grams import as_gram, gram
from resolvent.kernels import Polynomial


def changed(i, j, value, dtype=np.float64):
    K = RBF_K(data()).astype(dtype)
    K[i, j] = value
    return K


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((3, 2)), r"K has shape \(3, 2\).*square"),
        (np.ones(3), "square"),
        (np.empty((0, 0)), "at least one row"),
        (changed(70, 2, 5.0), r"not symmetric: .*K\[70, 2\] = 5"),
        (changed(2, 70, 5.0), r"not symmetric: .*K\[2, 70\] = 5"),
        (np.asfortranarray(changed(2, 70, 5.0)), r"not symmetric: .*K\[2, 70\] = 5"),
        (changed(2, 70, 5.0, np.float32), "not symmetric"),
        (changed(70, 2, np.nan), r"K\[70, 2\] is nan"),
        (changed(2, 70, np.inf), r"K\[2, 70\] is inf"),
        (changed(3, 3, -0.5), r"K\[3, 3\] is -0.5.*positive semidefinite"),
        (changed(3, 3, np.nan), r"K\[3, 3\] is nan"),
        (np.eye(2) * 1j, "real numbers"),
        ([["a"]], "real numbers"),
    ],
)
def test_bad_matrices(K, words):
    with pytest.raises(ValueError, match=words):
        as_gram(K)
    with pytest.raises(ValueError, match=words):
        gram(K, "precomputed")


def test_rounding_of_a_matrix_is_not_asymmetry():
    X = data(np.float32) * 100
    K = X @ X.T + np.float32(1e-3) * np.random.default_rng(0).random((N, N), np.float32)
    as_gram(K)
    as_gram(K.astype(np.float64) / 1e6)


def test_matrices_of_other_types():
    for K in (
        np.eye(3, dtype=int),
        np.eye(3, dtype=bool),
        np.eye(3).tolist(),
        np.eye(3, dtype=">f8"),
    ):
        assert as_gram(K).dtype == np.float64
        np.testing.assert_array_equal(as_gram(K).product(np.ones((1, 3))), np.ones((1, 3)))
    assert gram(np.eye(3), "precomputed", dtype="float32").dtype == np.float32
    K = gram(np.eye(3), "linear")
    assert as_gram(K) is K


def test_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match="toarray"):
        as_gram(sparse.eye_array(3))


def test_bad_arguments():
    X = data()
    with pytest.raises(ValueError, match=r"dtype='int32'.*float32 or float64"):
        gram(X, dtype="int32")
    with pytest.raises(ValueError, match="cannot be read as numbers"):
        gram([["a"], ["b"]], "rbf", gamma=1.0)
    with pytest.raises(ValueError, match=r"K\[0, 0\] is inf: scale the data"):
        gram(np.array([[1e10], [1.0]], np.float32), Polynomial(4))
    with pytest.raises(ValueError, match=r"not finite in float32.*float64"):
        gram(X, lambda A, B: 1e39 * (len(A) > 1) + A @ B.T, dtype="float32")
    with pytest.raises(ValueError, match="scale the data"):
        gram(X * 1e200, "linear")
    with pytest.raises(ValueError, match="not symmetric: for samples"):
        gram(X, lambda A, B: A @ np.triu(np.ones((D, D))) @ B.T)
    with pytest.raises(ValueError, match="diagonal of a positive semidefinite matrix"):
        gram(X, "sigmoid", gamma=0.1, coef0=-3.0)
    with pytest.raises(ValueError, match="diagonal of a positive semidefinite matrix"):
        gram(X, lambda A, B: -A @ B.T)
