"""Functions of the user as kernels: how often they are called, and with what."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from resolvent import KernelClassifier, gram, solve
from resolvent.kernels import RBF, FunctionKernel, pairwise
from resolvent.svm import SVC

WORDS = ["abba", "baab", "bab", "abb", "cddc", "dcd", "ccd", "cdd", "dada", "caca"] * 2
IS_AB = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0] * 2)


class Counted:
    """The linear kernel, with a note of its calls; noise where the samples are not the same."""

    def __init__(self, noise=0.0):
        self.calls, self.noise = [], noise

    def __call__(self, A, B):
        self.calls.append((len(A), len(B), A is B))
        noise = self.noise * np.random.default_rng(0).standard_normal((len(A), len(B)))
        return A @ B.T + noise


def common(a, b):
    return float(sum(a.count(letter) * b.count(letter) for letter in "abcd"))


@pytest.mark.parametrize("Machine", [SVC, KernelClassifier])
def test_one_call_with_the_same_object_twice(Machine):
    X, y = load_iris(return_X_y=True)
    kernel = Counted()
    model = Machine(kernel=kernel).fit(X, y)
    assert kernel.calls == [(150, 150, True)]  # for all pairs of classes
    model.predict(X[:7])
    assert kernel.calls[1:] == [(7, len(model.support_), False)]


def test_without_room_rows_are_computed_as_they_are_needed():
    X, y = load_iris(return_X_y=True)
    kernel = Counted()
    few = KernelClassifier(kernel=kernel, memory_limit=150 * 8 * 40).fit(X, y)
    assert max(rows for rows, _, _ in kernel.calls) < 150
    many = KernelClassifier(kernel=Counted()).fit(X, y)
    np.testing.assert_allclose(few.decision_function(X), many.decision_function(X), atol=1e-2)


def test_sum_with_a_function_calls_it_once():
    X, y = load_iris(return_X_y=True)
    kernel = Counted()
    K = gram(X, FunctionKernel(kernel) + RBF(0.5))
    solve("squared", K, y)
    assert kernel.calls == [(150, 150, True)]
    np.testing.assert_allclose(K.matrix, X @ X.T + RBF(0.5)(X), atol=1e-12)
    kernel.calls.clear()
    FunctionKernel(kernel)(X)
    assert kernel.calls == [(150, 150, True)]


def test_noise_is_averaged_and_said():
    X = load_iris().data
    with pytest.warns(UserWarning, match=r"not symmetric: for samples \d+ and \d+.*mean of both"):
        K = gram(X, Counted(noise=0.5))
    np.testing.assert_array_equal(K.matrix, K.matrix.T)
    noisy = Counted(noise=0.5)(X, X)
    np.testing.assert_allclose(K.matrix, (noisy + noisy.T) / 2)
    with pytest.raises(ValueError, match="not symmetric"):
        gram(X, lambda A, B: A @ (B * [1.0, 3.0, -2.0, 0.5]).T + A[:, :1] * 50)
    with pytest.raises(ValueError, match="not finite"):
        gram(X, lambda A, B: np.full((len(A), len(B)), np.inf))


def test_pairwise_takes_one_argument():
    assert pairwise(common)(WORDS[:3]).tolist() == pairwise(common)(WORDS[:3], WORDS[:3]).tolist()


def test_series_of_strings_in_cross_validation():
    words = pd.Series(WORDS, index=np.arange(100, 120))
    scores = cross_val_score(SVC(kernel=pairwise(common)), words, IS_AB, cv=4)
    np.testing.assert_array_equal(
        scores, cross_val_score(SVC(kernel=pairwise(common)), WORDS, IS_AB, cv=4)
    )


@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_strings_with_a_kernel_of_numbers_point_to_pairwise(container):
    with pytest.raises(ValueError, match=r"'abba'.*kernel='rbf'.*pairwise\(f\)"):
        SVC().fit(container(WORDS), IS_AB)
