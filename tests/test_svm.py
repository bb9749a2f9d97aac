"""The drop-ins against scikit-learn's own SVC, SVR, LinearSVC, LinearSVR: values, shapes, habits.

Both sides are solved tightly and gamma is a number, so that only the algorithm differs.
"""

import warnings

import numpy as np
import pytest
import sklearn.svm as theirs
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import scale

from resolvent import Status
from resolvent import svm as ours
from resolvent.estimators._platt import couple, fit_sigmoid

# LIBSVM keeps its kernel matrix in single precision: values above 1 agree to 1e-4 of themselves.
CLOSE = {"atol": 1e-4, "rtol": 1e-4}


def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def binary(n=160):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n, :8], y[:n]


def four_classes(n=120):
    rng = np.random.default_rng(3)
    y = rng.permutation(np.repeat([7, -2, 4, 0], n // 4))
    return rng.standard_normal((n, 3)) + 0.8 * np.eye(4)[:, :3][
        np.searchsorted([-2, 0, 4, 7], y)
    ], y


def diabetes(n=150):
    X, y = load_diabetes(return_X_y=True)
    return 20 * X[:n], y[:n] / 50


CLASSIFICATION = {"binary": binary, "iris": iris, "four classes": four_classes}
KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0},
]


def pair(name, **options):
    """Our machine and theirs with the same parameters, both at a tight tolerance."""
    return (
        getattr(ours, name)(tol=1e-9, **options),
        getattr(theirs, name)(tol=1e-8, cache_size=50, **options),
    )


def same_support(a, b):
    """Equal coefficients of all training samples, whatever is left in them of rounding."""

    def everything(model):
        full = np.zeros((model.dual_coef_.shape[0], model.shape_fit_[0]))
        coef = model.dual_coef_
        full[:, model.support_] = coef.toarray() if sparse.issparse(coef) else coef
        return full

    np.testing.assert_allclose(everything(a), everything(b), **CLOSE)


# SVC


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("data", CLASSIFICATION)
def test_svc_agrees(data, kernel):
    X, y = CLASSIFICATION[data]()
    a, b = (model.fit(X, y) for model in pair("SVC", C=2.0, **kernel))
    assert a.status_ in (Status.CONVERGED, Status.PRECISION_LIMIT)
    for shape in ("ovr", "ovo"):
        a.decision_function_shape = b.decision_function_shape = shape
        value = a.decision_function(X)
        assert value.shape == b.decision_function(X).shape
        np.testing.assert_allclose(value, b.decision_function(X), **CLOSE)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.intercept_, b.intercept_, **CLOSE)
    if kernel["kernel"] == "rbf":  # K of the others is singular: there coefficients are not unique
        same_support(a, b)
    if kernel["kernel"] == "linear":
        assert a.coef_.shape == b.coef_.shape
        np.testing.assert_allclose(a.coef_, b.coef_, **CLOSE)
    else:
        with pytest.raises(AttributeError, match="linear kernel"):
            a.coef_  # noqa: B018


def test_svc_attributes_have_their_shapes():
    X, y = iris()
    a, b = (model.fit(X, y) for model in pair("SVC", gamma=0.3, class_weight={"setosa": 2.0}))
    for name in ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_"):
        mine, other = getattr(a, name), getattr(b, name)
        assert mine.shape == other.shape, name
        assert mine.dtype.kind == other.dtype.kind, name
        np.testing.assert_allclose(mine, other, **CLOSE)
    np.testing.assert_array_equal(a.class_weight_, b.class_weight_)
    assert a.shape_fit_ == b.shape_fit_
    assert a.fit_status_ == b.fit_status_ == 0
    assert a.n_features_in_ == b.n_features_in_
    assert a._gamma == b._gamma
    # One problem for each pair of classes.
    assert a.dual_gap_.shape == a.n_iter_.shape == a.objective_.shape == (3,)
    assert (a.dual_gap_ <= 1e-9 * a.objective_).all()


def test_svc_n_support_counts_the_classes():
    X, y = four_classes()
    model = ours.SVC(gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(
        model.n_support_, [(y[model.support_] == c).sum() for c in model.classes_]
    )
    np.testing.assert_array_equal(y[model.support_], np.repeat(model.classes_, model.n_support_))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("break_ties", [False, True])
def test_svc_votes_and_ties(break_ties):
    X, y = four_classes()
    new = np.random.default_rng(0).standard_normal((500, 3)) * 2
    a, b = (model.fit(X, y) for model in pair("SVC", gamma=0.5, break_ties=break_ties))
    np.testing.assert_array_equal(a.predict(new), b.predict(new))
    argmax = a.classes_[a.decision_function(new).argmax(axis=1)]
    assert (argmax == a.predict(new)).all() == break_ties  # there are ties among these
    if break_ties:
        a.decision_function_shape = "ovo"
        with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
            a.predict(new)


@pytest.mark.parametrize("class_weight", [None, "balanced", {7: 3.0, 0: 0.5}], ids=str)
def test_svc_weights(class_weight):
    X, y = four_classes()
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    a, b = pair("SVC", gamma=0.5, class_weight=class_weight)
    for sample_weight in (None, weight):
        if class_weight == "balanced" and sample_weight is not None:
            continue  # scikit-learn balances without the weights; see the exactness tests
        value = a.fit(X, y, sample_weight).decision_function(X)
        np.testing.assert_allclose(value, b.fit(X, y, sample_weight).decision_function(X), **CLOSE)
        np.testing.assert_allclose(a.class_weight_, b.class_weight_)


@pytest.mark.parametrize("data", ["binary", "iris"])
def test_svc_sparse(data):
    X, y = CLASSIFICATION[data]()
    X = np.where(np.abs(X) < np.median(np.abs(X)), 0, X)
    S = sparse.csr_matrix(X)
    for kernel in KERNELS:
        a, b = (model.fit(S, y) for model in pair("SVC", decision_function_shape="ovo", **kernel))
        np.testing.assert_allclose(a.decision_function(S), b.decision_function(S), **CLOSE)
        np.testing.assert_allclose(a.decision_function(X), a.decision_function(S), atol=1e-10)
        assert sparse.issparse(a.support_vectors_)
        assert a.support_vectors_.shape == (len(a.support_), X.shape[1])


def test_svc_precomputed():
    X, y = iris()
    K = X @ X.T
    a, b = (model.fit(K, y) for model in pair("SVC", kernel="precomputed"))
    np.testing.assert_allclose(a.decision_function(K[:9]), b.decision_function(K[:9]), **CLOSE)
    assert a.support_vectors_.shape == b.support_vectors_.shape
    np.testing.assert_array_equal(a.support_, b.support_)
    direct = pair("SVC", kernel="linear")[0].fit(X, y)
    np.testing.assert_allclose(a.decision_function(K), direct.decision_function(X), **CLOSE)
    with pytest.raises(ValueError, match="square"):
        a.fit(K[:5], y[:5])


def test_svc_callable_kernel():
    X, y = iris()

    def kernel(A, B):
        return A @ B.T

    a, b = (model.fit(X, y) for model in pair("SVC", kernel=kernel))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), **CLOSE)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([-2.0, -1.0, 1.0, 3.0], [0, 0, 1, 1]),
        ([-1.0, 1.0], [0, 1]),
        ([0.0, 1.0, 1.0, 5.0], [1, 0, 1, 0]),
        ([0.0, 0.0, 0.0, 0.0], [1, 0, 1, 0]),
    ],
)
@pytest.mark.parametrize("C", [1e-3, 0.1])
def test_svc_offset_is_the_midpoint_where_it_is_not_unique(x, y, C):
    # With C so small all coefficients are at their bound, and b may lie anywhere in an interval.
    X = np.array(x)[:, None]
    a, b = (model.fit(X, y) for model in pair("SVC", C=C, kernel="linear"))
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-6)


def test_svr_offset_is_the_midpoint_where_it_is_not_unique():
    X = np.array([[-1.0], [1.0], [2.0], [4.0]])
    for y in ([0.0, 1.0, 5.0, 6.0], [0.0, 0.1, 0.2, 0.3]):
        a, b = (model.fit(X, y) for model in pair("SVR", C=1e-3, kernel="linear", epsilon=0.5))
        np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-6)


def test_default_parameters_give_the_same_predictions():
    X, y = load_wine(return_X_y=True)
    for data in (X, scale(X)):  # unscaled features too: gamma="scale" is scikit-learn's
        a, b = ours.SVC().fit(data, y), theirs.SVC(tol=1e-6).fit(data, y)
        np.testing.assert_allclose(a._gamma, b._gamma)
        np.testing.assert_allclose(a.decision_function(data), b.decision_function(data), atol=2e-3)
        assert (a.predict(data) == b.predict(data)).mean() > 0.99


# SVR


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "CSR"])
def test_svr_agrees(kernel, as_sparse):
    X, y = diabetes()
    X = X[:, :4]
    X = sparse.csr_matrix(X) if as_sparse else X
    weight = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    for sample_weight in (None, weight):
        a, b = (m.fit(X, y, sample_weight) for m in pair("SVR", C=0.5, epsilon=0.2, **kernel))
        np.testing.assert_allclose(a.predict(X), b.predict(X), **CLOSE)
        np.testing.assert_allclose(a.intercept_, b.intercept_, **CLOSE)
        same_support(a, b)
        if kernel["kernel"] == "linear":
            assert a.coef_.shape == b.coef_.shape
            theirs_coef = b.coef_.toarray() if as_sparse else b.coef_
            ours_coef = a.coef_.toarray() if as_sparse else a.coef_
            np.testing.assert_allclose(ours_coef, theirs_coef, **CLOSE)


def test_svr_attributes_have_their_shapes():
    X, y = diabetes()
    a, b = (model.fit(X, y) for model in pair("SVR", gamma=0.1))
    for name in ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_"):
        mine, other = getattr(a, name), getattr(b, name)
        assert mine.shape == other.shape, name
        np.testing.assert_allclose(mine, other, **CLOSE)
    assert a.shape_fit_ == b.shape_fit_
    assert a.fit_status_ == b.fit_status_ == 0
    assert np.isscalar(a.dual_gap_)
    K = X @ X.T
    a, b = (model.fit(K, y) for model in pair("SVR", kernel="precomputed", C=0.1))
    np.testing.assert_allclose(a.predict(K[:7]), b.predict(K[:7]), **CLOSE)


# LinearSVC and LinearSVR


def tight(name, **options):
    """Our linear machine and theirs; LIBLINEAR needs many iterations to be as accurate."""
    return (
        getattr(ours, name)(tol=1e-8, **options),
        getattr(theirs, name)(tol=1e-10, max_iter=2_000_000, random_state=0, dual=True, **options),
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("data", CLASSIFICATION)
def test_linear_svc_agrees(data, loss):
    X, y = CLASSIFICATION[data]()
    weight = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    heavy = {np.unique(y)[0].item(): 3.0}
    for options, fit in (
        ({}, {}),
        ({"intercept_scaling": 3.0}, {"sample_weight": weight}),
        ({"class_weight": heavy, "C": 0.3}, {}),
        ({"fit_intercept": False}, {}),
    ):
        a, b = (model.fit(X, y, **fit) for model in tight("LinearSVC", loss=loss, **options))
        assert a.coef_.shape == b.coef_.shape
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), **CLOSE)
        np.testing.assert_allclose(a.coef_, b.coef_, **CLOSE)
        np.testing.assert_allclose(a.intercept_, b.intercept_, **CLOSE)
        if loss == "squared_hinge":  # the hinge leaves exact ties among classes it cannot tell
            np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_linear_svc_balanced_and_sparse():
    X, y = binary()
    S = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0, X))
    a, b = (model.fit(S, y) for model in tight("LinearSVC", class_weight="balanced"))
    np.testing.assert_allclose(a.decision_function(S), b.decision_function(S), **CLOSE)
    np.testing.assert_allclose(a.coef_, b.coef_, **CLOSE)
    np.testing.assert_allclose(a.intercept_, b.intercept_, **CLOSE)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr_agrees(loss):
    X, y = diabetes()
    X = X[:, :5]
    weight = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    for data in (X, sparse.csr_matrix(X)):
        for options in ({"epsilon": 0.1}, {"C": 0.1, "intercept_scaling": 5.0}):
            a, b = (m.fit(data, y, weight) for m in tight("LinearSVR", loss=loss, **options))
            assert a.coef_.shape == b.coef_.shape == (5,)
            np.testing.assert_allclose(a.predict(data), b.predict(data), **CLOSE)
            np.testing.assert_allclose(a.coef_, b.coef_, **CLOSE)
            np.testing.assert_allclose(a.intercept_, b.intercept_, **CLOSE)
            assert np.shape(a.intercept_) == np.shape(b.intercept_)


# What is not there says what to use instead


@pytest.mark.parametrize(
    ("model", "better"),
    [
        (ours.LinearSVC(penalty="l1"), "SGDClassifier"),
        (ours.LinearSVC(multi_class="ovo"), "SVC has one-vs-one"),
        (ours.LinearSVC(loss="logistic"), "LinearClassifier"),
        (ours.LinearSVR(loss="huber"), "LinearRegressor"),
        (ours.SVC(decision_function_shape="ova"), "'ovr' or 'ovo'"),
        (ours.SVC(class_weight="heavy"), "'balanced' or a dict"),
        (ours.SVC(class_weight={9: 2.0}), r"\[9\].*not among"),
        (ours.SVC(C=-1.0), "positive"),
        (ours.SVC(kernel="rfb"), "rbf"),
        (ours.SVC(gamma=-1.0), "gamma"),
        (ours.LinearSVC(intercept_scaling=0.0), "fit_intercept=False"),
        (ours.SVR(epsilon=-0.1), "epsilon"),
    ],
    ids=repr,
)
def test_unsupported_names_the_alternative(model, better):
    X, y = binary(40)
    with pytest.raises(ValueError, match=better):
        model.fit(X, y)


@pytest.mark.parametrize("data", ["binary", "iris"])
@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*prob[AB]_.*:FutureWarning")
def test_probabilities(data):
    X, y = CLASSIFICATION[data]()
    a, b = (m.fit(X, y) for m in pair("SVC", gamma=0.3, probability=True, random_state=0))
    p = a.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # The folds differ, and so do probabilities, but not by much.
    assert np.abs(p - b.predict_proba(X)).mean() < 0.03
    np.testing.assert_allclose(np.exp(a.predict_log_proba(X)), p)
    assert a.probA_.shape == b.probA_.shape
    assert (np.sign(a.probA_) == np.sign(b.probA_)).all()
    again = ours.SVC(gamma=0.3, probability=True, random_state=0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), p, atol=1e-6)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    again = again.set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(again.predict_proba(K), p, atol=1e-4)  # so exact are the folds'


def test_sigmoid_is_the_most_likely():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(200)
    first = rng.random(200) < 1 / (1 + np.exp(-2 * scores + 0.5))
    n = np.array([(~first).sum(), first.sum()])
    target = np.where(first, (n[1] + 1) / (n[1] + 2), 1 / (n[0] + 2))

    def loss(x):
        p = 1 / (1 + np.exp(x[0] * scores + x[1]))
        return -(target * np.log(p) + (1 - target) * np.log(1 - p)).sum()

    best = minimize(loss, [0.0, 0.0], tol=1e-10).x
    np.testing.assert_allclose(fit_sigmoid(scores, first), best, atol=1e-4)


def test_coupled_probabilities_are_the_least_squares_of_the_pairs():
    rng = np.random.default_rng(0)
    exact = rng.dirichlet(np.ones(4), 5)
    r = exact[:, :, None] / (exact[:, :, None] + exact[:, None])
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(couple(r[:, i, j], 4), exact, atol=1e-12)  # pairs that agree

    r = rng.uniform(0.1, 0.9, (1, 6))
    p = couple(r, 4)[0]

    def loss(q):
        return (((1 - r[0]) * q[i] - r[0] * q[j]) ** 2).sum()

    for direction in rng.standard_normal((20, 4)):
        assert loss(p) <= loss(p + 1e-3 * (direction - direction.mean()))


def test_no_probabilities():
    model = ours.SVC().fit(*binary(40))
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("name", ["SVC", "SVR", "LinearSVC", "LinearSVR"])
def test_takes_their_parameters(name):
    X, y = binary(60)
    model = getattr(ours, name)(**getattr(theirs, name)().get_params()).fit(X, y)
    assert model.status_ == Status.CONVERGED
    assert {*model._parameter_constraints} == {*model.get_params()}
    assert isinstance(model, getattr(theirs, name)) == (name != "LinearSVC")  # whose is no ABC


@pytest.mark.parametrize("name", ["SVC", "SVR"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_tol_is_a_violation_of_the_conditions_as_in_libsvm(name, tol):
    X, y = binary() if name == "SVC" else diabetes()
    y = 2.0 * y - 1.0 if name == "SVC" else y
    epsilon = 0.0 if name == "SVC" else 0.1
    model = getattr(ours, name)(C=100.0, gamma=0.05, tol=tol).fit(X, y)
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[0]
    f = model.decision_function(X) if name == "SVC" else model.predict(X)
    signed = name == "SVC"
    lower, upper = np.where(signed & (y > 0), 0, -100.0), np.where(signed & (y < 0), 0, 100.0)
    up = (y - f + np.where(c < 0, epsilon, -epsilon))[c < upper - 1e-7]
    low = (y - f + np.where(c > 0, -epsilon, epsilon))[c > lower + 1e-7]
    assert up.max() - low.min() <= tol * (1 + 1e-9)
    assert model.dual_gap_ <= min(tol, 1e-5) * model.objective_


def test_infinite_C_is_a_hard_margin():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    hard = ours.SVC(C=np.inf, kernel="linear").fit(X, y)
    margins = np.where(y == 1, 1, -1) * hard.decision_function(X)
    np.testing.assert_allclose(margins.min(), 1.0, atol=1e-3)


def test_crammer_singer_agrees():
    flowers, species = iris()
    for X, y in ((scale(flowers), species), binary()):
        options = {"multi_class": "crammer_singer", "C": 0.1}
        a = ours.LinearSVC(tol=1e-6, max_iter=10_000, **options).fit(X, y)
        b = theirs.LinearSVC(tol=1e-8, max_iter=1_000_000, random_state=0, **options).fit(X, y)
        assert a.coef_.shape == b.coef_.shape
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=0.01)


def test_cache_size_is_advice():
    X, y = binary()
    few = ours.SVC(cache_size=0.05, gamma=0.1, tol=1e-9).fit(X, y)  # about 40 rows of 160
    many = ours.SVC(gamma=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(few.decision_function(X), many.decision_function(X), atol=1e-6)


def test_max_iter_ends_with_a_usable_model():
    X, y = iris()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ours.SVC(kernel="linear", C=1e6, max_iter=1, tol=1e-14).fit(X * 1e3, y)
    assert model.fit_status_ == 1
    assert model.status_ == Status.MAX_ITER
    assert [w.category.__name__ for w in caught] == ["ConvergenceWarning"]
    assert set(model.predict(X * 1e3)) <= set(y)
