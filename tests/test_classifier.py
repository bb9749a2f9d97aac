"""KernelClassifier: labels, classes, weights, probabilities, kinds of input."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score

from resolvent import KernelClassifier
from resolvent.kernels import RBF, pairwise
from resolvent.losses import LOSSES

MARGIN_LOSSES = [n for n, loss in LOSSES.items() if getattr(loss, "targets", "real") == "sign"]


def data(n=60, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.standard_normal((n, 3)) + 1.2 * np.eye(max(classes, 3))[y][:, :3], y


# Agreement


def test_hinge_is_the_support_vector_machine():
    X, y = data()
    a = KernelClassifier(C=2.0, gamma=0.4, tol=1e-9).fit(X, y)
    b = sklearn.svm.SVC(C=2.0, gamma=0.4, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(np.sort(b.support_), a.support_)


def test_one_vs_one_is_the_support_vector_machine():
    X, y = data(90, 4)
    a = KernelClassifier(gamma=0.4, tol=1e-9, multi_class="ovo").fit(X, y)
    b = sklearn.svm.SVC(gamma=0.4, tol=1e-8, break_ties=True).fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.dual_gap_.shape == a.n_iter_.shape == a.intercept_.shape == (6,)
    assert a.dual_coef_.shape == (6, len(a.support_))


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_one_vs_rest_is_each_class_alone(loss):
    X, y = data(45, 3)
    together = KernelClassifier(loss, gamma=0.4, tol=1e-9).fit(X, y)
    assert together.decision_function(X).shape == (45, 3)
    for k in range(3):
        alone = KernelClassifier(loss, gamma=0.4, tol=1e-9).fit(X, y == k)
        np.testing.assert_allclose(
            together.decision_function(X)[:, k], alone.decision_function(X), atol=1e-5
        )
        assert together.objective_[k] == pytest.approx(alone.objective_, rel=1e-8)


def test_kernel_logistic_is_logistic_regression_of_the_features():
    # The linear kernel of features of a kernel: K = F F'.
    X, y = data(80)
    K = RBF(0.3)(X)
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.clip(values, 0, None))
    a = KernelClassifier("logistic", "precomputed", C=3.0, tol=1e-10).fit(K, y)
    b = LogisticRegression(C=3.0, tol=1e-10, max_iter=10_000).fit(F, y)
    np.testing.assert_allclose(a.predict_proba(K), b.predict_proba(F), atol=1e-4)


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [0, 1],
        [-1, 1],
        [False, True],
        [2.0, 7.0],
        np.array(["b", "a"], object),
        ["c", "a", "b"],
        [5, -3, 0],
    ],
    ids=str,
)
def test_labels(labels):
    X, codes = data(60, len(labels))
    y = np.array(labels)[codes]
    model = KernelClassifier("logistic", gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.7
    numbers = np.searchsorted(model.classes_, y)
    reference = KernelClassifier("logistic", gamma=0.5).fit(X, numbers)
    np.testing.assert_array_equal(model.predict(X), model.classes_[reference.predict(X)])
    np.testing.assert_array_equal(KernelClassifier().fit(X, list(y)).classes_, model.classes_)


def test_refused_targets():
    X, y = data()
    with pytest.raises(ValueError, match="only one class"):
        KernelClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"only one class.*weight above zero"):
        KernelClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelClassifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="1d array"):
        KernelClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="not a loss for classification"):
        KernelClassifier("absolute").fit(X, y)
    with pytest.raises(ValueError, match="ovr, ovo"):
        KernelClassifier(multi_class="multinomial").fit(X, y)
    with pytest.raises(ValueError, match="negative"):
        KernelClassifier().fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="zero"):
        KernelClassifier().fit(X, y, np.zeros(len(y)))
    for C in (0, -1.0, np.inf, np.nan, "1", True, None):
        with pytest.raises(ValueError, match="C="):
            KernelClassifier(C=C).fit(X, y)


# Probabilities


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_agree_with_predict(classes, multi_class):
    # scikit-learn issue 13211: with SVC(probability=True) they do not.
    X, y = data(60, classes)
    model = KernelClassifier("logistic", gamma=0.5, C=5.0, multi_class=multi_class).fit(X, y)
    new = 3 * np.random.default_rng(1).standard_normal((2000, 3))
    p = model.predict_proba(new)
    assert p.shape == (2000, classes)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(new))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), p, atol=1e-15)
    np.testing.assert_array_equal(
        model.classes_[model.predict_log_proba(new).argmax(axis=1)], model.predict(new)
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [1e-20, 30.0, 37.0, 800.0, 1e5, 1e300])
def test_saturated_probabilities_agree_with_predict(classes, size):
    # Scores so large that 1 - p is nothing, or all p underflow; so small that all p are equal.
    X, y = data(30, classes)
    model = KernelClassifier("logistic", "linear").fit(X, y)
    rng = np.random.default_rng(0)
    scores = size * rng.standard_normal((200, 1 if classes == 2 else 3))
    scores[:50] = -np.abs(scores[:50]) * (1 + 1e-3 * np.arange(scores.shape[1]))
    model._scores = lambda X: scores
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    decision = model.decision_function(X)
    if classes == 2:
        np.testing.assert_array_equal(model.predict(X), model.classes_[(decision > 0).astype(int)])
    else:
        np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])


def test_only_losses_that_model_probabilities_have_them():
    X, y = data()
    for loss in MARGIN_LOSSES:
        model = KernelClassifier(loss).fit(X, y)
        if loss == "logistic":
            assert hasattr(model, "predict_proba")
            continue
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_log_proba")
        with pytest.raises(AttributeError) as error:
            model.predict_proba(X)
        assert "logistic" in f"{error.value} {error.value.__cause__}"


# Weights


@pytest.mark.parametrize("gamma", ["scale", 0.5])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_weights_are_repetitions(loss, class_weight, gamma):
    X, y = data(60, 3)
    y[:10] = 0
    weight = np.arange(60) % 4
    model = KernelClassifier(loss, gamma=gamma, class_weight=class_weight, tol=1e-10)
    a = model.fit(X, y, weight)
    scores, g = a.decision_function(X), a.kernel_.gamma
    assert not np.isin(np.flatnonzero(weight == 0), a.support_).any()
    b = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert b.kernel_.gamma == pytest.approx(g, rel=1e-12)
    np.testing.assert_allclose(b.decision_function(X), scores, atol=1e-6)
    c = model.fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_allclose(c.decision_function(X), scores, atol=1e-9)


def test_zero_weights_with_a_precomputed_kernel():
    X, y = data(60, 3)
    weight = np.arange(60) % 3
    K = RBF(0.5)(X)
    a = KernelClassifier(kernel="precomputed", tol=1e-10).fit(K, y, weight)
    b = KernelClassifier(kernel=RBF(0.5), tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(a.decision_function(K), b.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(a.support_, b.support_)
    # Entries that belong to absent samples are never read.
    K[:, weight == 0] = 1e9
    K[weight == 0] = 1e9
    c = KernelClassifier(kernel="precomputed", tol=1e-10).fit(K, y, weight)
    np.testing.assert_allclose(c.dual_coef_, a.dual_coef_)


def test_a_class_without_weight_is_absent():
    X, y = data(60, 3)
    model = KernelClassifier(gamma=0.5).fit(X, y, sample_weight=(y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    assert set(model.predict(X)) == {0, 2}


# Kinds of input


def test_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = data(40)
    reference = KernelClassifier().fit(X, y).decision_function(X)
    names = ["a", "b", "c"]
    for frame, target in (
        (pandas.DataFrame(X, columns=names, index=np.arange(40) + 7), pandas.Series(y)),
        (polars.DataFrame(dict(zip(names, X.T, strict=True))), polars.Series(y)),
    ):
        model = KernelClassifier().fit(frame, target)
        np.testing.assert_array_equal(model.feature_names_in_, names)
        np.testing.assert_allclose(model.decision_function(frame), reference, atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "a", "b"]])


def common_letters(a, b):
    return float(len(set(a) & set(b)))


WORDS = ["ape", "bee", "cat", "dab", "ebb", "fee", "gap", "hub"] * 2
HAS_A = [1 if "a" in word else 0 for word in WORDS]


@pytest.mark.parametrize("container", [list, tuple, lambda x: np.array(x, object), np.array])
def test_strings_with_a_pairwise_kernel(container):
    words = container(WORDS)
    weight = np.ones(len(WORDS))
    weight[3] = 0
    model = KernelClassifier(kernel=pairwise(common_letters), C=10.0).fit(words, HAS_A, weight)
    assert model.score(words, HAS_A) == 1.0
    assert model.predict(container(["tab", "egg"])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="samples"):
        KernelClassifier(kernel=pairwise(common_letters)).fit(words, HAS_A[:-1])


def test_objects_with_a_callable_kernel():
    graphs = [{1: [2, 3], 2: [1]}, {1: [2]}, {1: [], 2: []}, {1: [2, 3, 4]}] * 5

    def kernel(A, B):
        return np.array(
            [[sum(min(len(a[k]), len(b[k])) for k in a if k in b) for b in B] for a in A]
        )

    y = [1, 0, 0, 1] * 5
    model = KernelClassifier(kernel=kernel, C=10.0).fit(graphs, y)
    assert model.score(graphs, y) == 1.0
    assert cross_val_score(model, graphs, y, cv=2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern", "poly", "cosine", "linear"])
def test_sparse_is_dense(kernel):
    X, y = data(50, 3)
    X[np.abs(X) < 0.4] = 0
    S = sparse.csr_array(X)
    wide = sparse.csr_matrix(X)  # scikit-learn issue 11356: 64-bit indices
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    reference = KernelClassifier(kernel=kernel, gamma=0.3, coef0=1.0, tol=1e-9).fit(X, y)
    for rows in (S, wide, sparse.csc_matrix(X), sparse.coo_matrix(X)):
        model = KernelClassifier(kernel=kernel, gamma=0.3, coef0=1.0, tol=1e-9).fit(rows, y)
        for new in (X, rows):
            np.testing.assert_allclose(
                model.decision_function(new), reference.decision_function(X), atol=1e-5
            )


def test_single_precision():
    X, y = data(80, 3)
    X += 1000.0  # |x|^2 + |y|^2 - 2xy would cancel
    X = X.astype(np.float32)
    a, b = KernelClassifier().fit(X, y), KernelClassifier().fit(X.astype(float), y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=2e-3)
    assert (a.predict(X) == b.predict(X)).mean() > 0.98


def test_integers_read_only_and_order():
    X, y = data(40)
    X = np.round(4 * X)
    reference = KernelClassifier().fit(X, y).decision_function(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (X.astype(int), frozen, np.asfortranarray(X), X.tolist(), X.astype(object)):
        model = KernelClassifier().fit(other, y)
        np.testing.assert_allclose(model.decision_function(other), reference, atol=1e-10)


def test_precomputed_kernel_in_cross_validation():
    X, y = load_iris(return_X_y=True)
    K = RBF(0.2)(X)
    a = cross_val_predict(KernelClassifier(kernel="precomputed"), K, y, cv=3)
    b = cross_val_predict(KernelClassifier(kernel=RBF(0.2)), X, y, cv=3)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="square"):
        KernelClassifier(kernel="precomputed").fit(K[:4], y[:4])
