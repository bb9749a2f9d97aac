"""NuSVC and NuSVR against scikit-learn's, both solved tightly."""

import pickle

import numpy as np
import pytest
import sklearn.svm as theirs
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from resolvent import Status
from resolvent.estimators._nu import Side
from resolvent.svm import SVC, SVR, NuSVC, NuSVR

KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0},
]
X, y = load_iris(return_X_y=True)
TWO = y > 0
BODY, DISEASE = (a[:120] for a in load_diabetes(return_X_y=True))
BODY, DISEASE = scale(BODY), scale(DISEASE)
SOLVED = (Status.CONVERGED, Status.PRECISION_LIMIT)


def weights(n):
    return np.random.default_rng(0).uniform(0.2, 3.0, n)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("nu", [0.213, 0.517])
@pytest.mark.parametrize("weight", [None, weights(TWO.sum())], ids=["equal", "weights"])
def test_classifier_agrees(kernel, nu, weight):
    data, labels = X[TWO], y[TWO]
    a = NuSVC(nu=nu, tol=1e-7, **kernel).fit(data, labels, weight)
    b = theirs.NuSVC(nu=nu, tol=1e-9, **kernel).fit(data, labels, weight)
    assert a.status_ in SOLVED
    expected = b.decision_function(data)
    size = np.abs(expected).max()  # LIBSVM keeps its kernel in single precision
    np.testing.assert_allclose(a.decision_function(data), expected, atol=1e-4 * size)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-4 * size)
    assert a.dual_coef_.shape[0] == 1
    assert a.n_support_.dtype == b.n_support_.dtype


def test_classifier_certificate():
    """Objective and gap are those of the problem with nu."""
    w, nu = weights(TWO.sum()), 0.3
    signs = np.where(y[TWO] == 2, 1.0, -1.0)
    model = NuSVC(nu=nu, tol=1e-6, gamma=0.3).fit(X[TWO], y[TWO], w)
    c = np.zeros(len(w))
    c[model.support_] = model.dual_coef_[0]
    at_bound = np.abs(c) / w
    rho = 1.0 / at_bound.max()
    c *= rho
    np.testing.assert_allclose(np.abs(c).sum(), nu * w.sum())
    assert abs(c.sum()) < 1e-9 * np.abs(c).sum()
    scores = rho * model.decision_function(X[TWO])
    norm = c @ (scores - rho * model.intercept_[0])
    primal = 0.5 * norm + w @ np.maximum(rho - signs * scores, 0.0) - nu * w.sum() * rho
    np.testing.assert_allclose(model.objective_, primal, rtol=1e-8)
    assert primal + 0.5 * norm <= model.dual_gap_ * (1 + 1e-6) + 1e-12 * norm
    assert model.dual_gap_ <= 1e-5 * abs(primal)
    outside = (signs * scores < rho * (1 - 1e-9)) @ w
    assert outside <= nu * w.sum() <= w[model.support_].sum() * (1 + 1e-12)


def test_same_as_C():
    """The machine is SVC with C = 1 / rho."""
    nu_machine = NuSVC(nu=0.3, tol=1e-8, gamma=0.3).fit(X[TWO], y[TWO])
    C = np.abs(nu_machine.dual_coef_).max()
    machine = SVC(C=C, tol=1e-8, gamma=0.3).fit(X[TWO], y[TWO])
    a, b = (m.decision_function(X[TWO]) for m in (nu_machine, machine))
    np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes(shape):
    options = {"nu": 0.213, "gamma": 0.3, "decision_function_shape": shape}
    a = NuSVC(tol=1e-7, **options).fit(X, y)
    b = theirs.NuSVC(tol=1e-9, **options).fit(X, y)
    size = np.abs(b.decision_function(X)).max()
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4 * size)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.dual_gap_.shape == a.n_iter_.shape == (3,)
    assert a.dual_coef_.shape[0] == 2


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("nu", [0.113, 0.613, 1.0])
@pytest.mark.parametrize("weight", [None, weights(len(BODY))], ids=["equal", "weights"])
def test_regressor_agrees(kernel, nu, weight):
    a = NuSVR(nu=nu, C=2.0, tol=1e-7, **kernel).fit(BODY, DISEASE, weight)
    b = theirs.NuSVR(nu=nu, C=2.0, tol=1e-9, **kernel).fit(BODY, DISEASE, weight)
    assert a.status_ in SOLVED
    size = np.abs(b.predict(BODY)).max()
    np.testing.assert_allclose(a.predict(BODY), b.predict(BODY), atol=1e-4 * size)
    assert isinstance(a.n_iter_, int)


def test_masses_that_are_right_ask_for_more_exact_solutions():
    rng = np.random.default_rng(5)  # of these the gap is small long before conditions are met
    data = 2.0 * rng.normal(size=(800, 6))
    target = np.sin(data[:, 0]) + data[:, 1] * data[:, 2] / 4 + 0.3 * rng.normal(size=800)
    model = NuSVR().fit(data, target)
    assert model.status_ == Status.CONVERGED
    assert len(model.history_) <= 18


def test_regressor_certificate():
    w, nu, C = weights(len(BODY)), 0.4, 3.0
    model = NuSVR(nu=nu, C=C, tol=1e-6, gamma=0.1).fit(BODY, DISEASE, w)
    c = np.zeros(len(w))
    c[model.support_] = model.dual_coef_[0]
    assert np.abs(c).sum() <= nu * C * w.sum() * (1 + 1e-9)
    assert (np.abs(c) <= C * w * (1 + 1e-12)).all()
    s = model.predict(BODY)
    norm = c @ (s - model.intercept_[0])
    loss = C * w @ np.maximum(np.abs(DISEASE - s) - model.epsilon_, 0.0)
    primal = 0.5 * norm + loss + C * nu * w.sum() * model.epsilon_
    np.testing.assert_allclose(model.objective_, primal, rtol=1e-8)
    assert primal - (DISEASE @ c - 0.5 * norm) <= model.dual_gap_ * (1 + 1e-6) + 1e-12 * primal
    same = SVR(C=C, epsilon=model.epsilon_, gamma=0.1, tol=1e-7).fit(BODY, DISEASE, w)
    np.testing.assert_allclose(same.predict(BODY), s, atol=1e-5)


def test_no_tube_where_there_is_no_noise():
    """With nu = 1 and targets that f can reach, the mass is too small for any tube."""
    target = np.sin(BODY[:, 0])
    model = NuSVR(nu=1.0, C=1e4, gamma=1.0).fit(BODY, target)
    assert model.status_ in SOLVED
    assert model.epsilon_ <= 1e-6
    np.testing.assert_allclose(NuSVR().fit(BODY, np.ones(len(BODY))).predict(BODY), 1.0)


@pytest.mark.parametrize("estimator", [NuSVC(nu=0.3, tol=1e-8), NuSVR(nu=0.3, tol=1e-8)])
def test_sparse_and_precomputed(estimator):
    targets = y[TWO] if isinstance(estimator, NuSVC) else X[TWO, 0]
    data = X[TWO][:, 1:]
    score = "decision_function" if isinstance(estimator, NuSVC) else "predict"
    dense = estimator.set_params(gamma=0.3).fit(data, targets)
    expected = getattr(dense, score)(data)
    K = np.exp(-0.3 * ((data[:, None] - data[None]) ** 2).sum(axis=2))
    kind = type(estimator)
    other = kind(nu=0.3, tol=1e-8, gamma=0.3).fit(sparse.csr_matrix(data), targets)
    assert sparse.issparse(other.dual_coef_)
    np.testing.assert_allclose(getattr(other, score)(data), expected, atol=1e-6)
    given = kind(nu=0.3, tol=1e-8, kernel="precomputed").fit(K, targets)
    np.testing.assert_allclose(getattr(given, score)(K), expected, atol=1e-6)
    again = pickle.loads(pickle.dumps(given))
    np.testing.assert_allclose(getattr(again, score)(K), getattr(given, score)(K), atol=1e-12)


@pytest.mark.parametrize("nu", [0.0, -1.0, 1.5, "much", np.nan])
@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
def test_impossible_nu(machine, nu):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        machine(nu=nu).fit(X, y)


def test_infeasible_nu_is_refused_before_any_work():
    def kernel(A, B):
        raise AssertionError("the kernel was evaluated")

    labels = np.array([0] * 30 + [1] * 120)
    with pytest.raises(ValueError, match=r"infeasible: nu=0.5 must be at most 0.4, .* 0 and 1"):
        NuSVC(nu=0.5, kernel=kernel).fit(X, labels)


def test_largest_nu():
    """All samples of the smaller class are at the bound; LIBSVM's margin is infinite there."""
    labels = np.array([0] * 50 + [1] * 100)
    model = NuSVC(nu=2 / 3).fit(X, labels)
    assert model.status_ in SOLVED
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, labels) == 1.0


def test_samples_that_are_all_zero_have_no_margin():
    with pytest.raises(ValueError, match="nu is too small"):
        NuSVC(kernel="linear").fit(np.zeros((6, 2)), [0, 1] * 3)


def test_no_margin():
    labels = np.arange(40) % 2
    with pytest.raises(ValueError, match=r"nu is too small.*Increase nu"):
        NuSVC(nu=0.2).fit(np.repeat(X[:20], 2, axis=0), labels)


def test_probabilities():
    with pytest.warns(FutureWarning):
        model = NuSVC(nu=0.2, probability=True, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == y).mean() > 0.95


def test_class_weight_has_no_effect_as_in_LIBSVM():
    a = NuSVC(nu=0.3, class_weight="balanced").fit(X[20:], y[20:])
    b = NuSVC(nu=0.3).fit(X[20:], y[20:])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
    assert len(set(a.class_weight_)) == 2


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weight_is_repetition(kernel):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    for machine, target in ((NuSVC, y), (NuSVR, X[:, 0])):
        a = machine(nu=0.2, kernel=kernel, tol=1e-9).fit(X[:, 1:], target, weight)
        b = machine(nu=0.2, kernel=kernel, tol=1e-9).fit(X[rows, 1:], target[rows])
        np.testing.assert_allclose(a.predict(X[:, 1:]), b.predict(X[:, 1:]), atol=1e-6)


def test_takes_their_parameters():
    assert NuSVC(**theirs.NuSVC().get_params()).fit(X, y).status_ == Status.CONVERGED
    model = NuSVR(**theirs.NuSVR().get_params()).fit(BODY, DISEASE)
    assert model.status_ == Status.CONVERGED
    assert isinstance(model, theirs.NuSVR)


def test_iteration_limit_is_said():
    with pytest.warns(UserWarning, match="max_iter was reached"):
        model = NuSVR(max_iter=1, C=10.0, gamma=0.1).fit(BODY, DISEASE)
    assert model.fit_status_ == 1
    assert model.n_iter_ == 1


def test_in_a_search():
    grid = {"nusvc__nu": [0.1, 0.3], "nusvc__gamma": [0.1, 1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), NuSVC()), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_quantile_of_a_side():
    side = Side(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), np.zeros(4))
    assert side.quantile(1.5)[0] == 2.0
    assert side.quantile(2.0)[0] == 2.5  # any number between 2 and 3 is as good
    t, value = side.quantile(2.0)
    np.testing.assert_allclose(value, (t - 1.0) + (t - 2.0) - 2.0 * t)
