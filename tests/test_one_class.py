"""OneClassSVM against scikit-learn's, both solved tightly."""

import re

import numpy as np
import pytest
import sklearn.svm as theirs
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import estimator_checks_generator

from resolvent import Status, solve
from resolvent.estimators import one_class
from resolvent.losses.regression import PinballOfLevels
from resolvent.svm import OneClassSVM

KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0},
]
X = load_iris().data[::2]

# They compare `predict` on samples that lie on the boundary, whose sign is rounding; scikit-learn
# expects them to fail for its own. The equivalence of decision values is tested here.
BY_SIGN = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
    "the sign of a decision value of zero is rounding",
)
CHECKS = estimator_checks_generator(OneClassSVM(), expected_failed_checks=BY_SIGN, mark="skip")


def _name(check):
    """The same in every process: without the address of scikit-learn's function."""
    return re.sub(r"functools.partial|<function | at 0x\w+>", "", str(check))


@pytest.fixture(params=["few", "many"])
def start(request, monkeypatch):
    """Where fits start: few samples share the mass, of many it is on those that seem outermost."""
    if request.param == "many":
        monkeypatch.setattr(one_class, "LARGEST", 0)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_agrees(kernel, nu, start):
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
    for sample_weight in (None, weight):
        a = OneClassSVM(nu=nu, tol=1e-9, **kernel).fit(X, sample_weight=sample_weight)
        b = theirs.OneClassSVM(nu=nu, tol=1e-9, **kernel).fit(X, sample_weight=sample_weight)
        assert a.status_ in (Status.CONVERGED, Status.PRECISION_LIMIT)
        size = np.abs(b.score_samples(X)).max()  # LIBSVM keeps its kernel in single precision
        np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), atol=1e-5 * size)
        total = nu * (len(X) if sample_weight is None else weight.sum())
        np.testing.assert_allclose(a.dual_coef_.sum(), total)
        np.testing.assert_allclose(a.offset_, b.offset_, rtol=1e-5)
        c = a.dual_coef_[0]
        K = a.score_samples(X)[a.support_] @ c
        w = np.ones(len(X)) if sample_weight is None else weight
        primal = 0.5 * K + w @ np.maximum(-a.decision_function(X), 0) - total * a.offset_[0]
        np.testing.assert_allclose(a.objective_, primal, rtol=1e-6)
        assert a.dual_gap_ >= primal + 0.5 * K - 1e-9 * K  # the dual is -c'Kc / 2


def test_sparse_and_precomputed(start):
    a = OneClassSVM(gamma=0.3, tol=1e-8).fit(X)
    b = OneClassSVM(gamma=0.3, tol=1e-8).fit(sparse.csr_matrix(X))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
    assert sparse.issparse(b.dual_coef_)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    c = OneClassSVM(kernel="precomputed", tol=1e-8).fit(K)
    np.testing.assert_allclose(a.decision_function(X), c.decision_function(K), atol=1e-6)
    np.testing.assert_array_equal(a.fit_predict(X), a.predict(X))


def test_all_outside(start):
    model = OneClassSVM(gamma=0.3, nu=1.0).fit(X)
    mean = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), mean, rtol=1e-4)
    assert (model.predict(X) == -1).mean() > 0.95


def test_most_samples_stay_where_they_start(monkeypatch):
    moved = []

    def watched(self, *args, **settings):
        fit = solve_support(self, *args, **settings)
        moved.append(np.count_nonzero(fit.coef))
        return fit

    solve_support = OneClassSVM._solve_support
    monkeypatch.setattr(OneClassSVM, "_solve_support", watched)
    X = np.random.default_rng(0).normal(size=(one_class.LARGEST + 500, 4))
    model = OneClassSVM(nu=0.2).fit(X)
    assert model.status_ == Status.CONVERGED
    assert moved[0] < len(model.support_)


def test_loss_of_levels_is_a_pinball_loss():
    y = np.random.default_rng(0).normal(size=len(X))
    K = X @ X.T
    a = solve("pinball", K, y, fit_intercept=True, tol=1e-10)
    levels = np.full(len(X), 0.5)
    b = solve(PinballOfLevels(), K, levels, offset=-y, fit_intercept=True, tol=1e-10)
    np.testing.assert_allclose(a.primal, b.primal)
    np.testing.assert_allclose(a.fitted, b.fitted, atol=1e-6)


@pytest.mark.parametrize("nu", [0.0, -1.0, 1.5, "much", np.nan])
def test_infeasible_nu(nu):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        OneClassSVM(nu=nu).fit(X)


def test_takes_their_parameters():
    model = OneClassSVM(**theirs.OneClassSVM().get_params()).fit(X)
    assert model.status_ == Status.CONVERGED
    assert isinstance(model, theirs.OneClassSVM)


def test_weight_is_repetition(start):
    weight = np.random.default_rng(0).integers(0, 5, len(X))
    for data in (X, sparse.csr_matrix(X)):
        a = OneClassSVM(tol=1e-9).fit(data, sample_weight=weight)
        b = OneClassSVM(tol=1e-9).fit(data[np.repeat(np.arange(len(X)), weight)])
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("check", [check for _, check in CHECKS], ids=_name)
def test_scikit_learn_check_of_one_class(check):
    check(OneClassSVM())
