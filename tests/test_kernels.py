"""Kernels against scikit-learn's, or against their formula, for every kind of data."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import Matern as ReferenceMatern
from sklearn.metrics import pairwise as reference

from resolvent.kernels import (
    KERNELS,
    RBF,
    AdditiveChi2,
    Chi2,
    ColumnKernel,
    Constant,
    Cosine,
    FunctionKernel,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Points,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Sum,
    Tanimoto,
    make_kernel,
    pairwise,
)


def tanimoto(A, B):
    """Row by row, in float64; 1 for two rows of zeros."""
    K = np.ones((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            if a.any() or b.any():
                K[i, j] = a @ b / (a @ a + b @ b - a @ b)
    return K


def additive_chi2(A, B):
    A, B = abs(A), abs(B)
    return 0.5 * (reference.additive_chi2_kernel(A, B) + A.sum(1)[:, None] + B.sum(1))


def equal(A, B):
    return (A[:, None] == B).mean(axis=2)


CASES = {
    "rbf": (RBF(0.3), lambda A, B: reference.rbf_kernel(A, B, 0.3)),
    "laplacian": (Laplacian(0.3), lambda A, B: reference.laplacian_kernel(A, B, 0.3)),
    "matern12": (Matern(0.5, 1.7), ReferenceMatern(1.7, nu=0.5)),
    "matern32": (Matern(1.5, 1.7), ReferenceMatern(1.7, nu=1.5)),
    "matern52": (Matern(2.5, 1.7), ReferenceMatern(1.7, nu=2.5)),
    "poly": (Polynomial(3, 0.2, 1.0), lambda A, B: reference.polynomial_kernel(A, B, 3, 0.2, 1.0)),
    "poly6": (Polynomial(6, 0.2, 0.5), lambda A, B: reference.polynomial_kernel(A, B, 6, 0.2, 0.5)),
    "poly0": (Polynomial(0, 0.2), lambda A, B: np.ones((len(A), len(B)))),
    "sigmoid": (Sigmoid(0.2, 0.1), lambda A, B: reference.sigmoid_kernel(A, B, 0.2, 0.1)),
    "cosine": (Cosine(), reference.cosine_similarity),
    "linear": (Linear(0.5), lambda A, B: A @ B.T + 0.25),
    "constant": (Constant(2.0), lambda A, B: np.full((len(A), len(B)), 2.0)),
    "sum": (RBF(0.3) + 2 * Linear(), lambda A, B: reference.rbf_kernel(A, B, 0.3) + 2 * A @ B.T),
    "product": (RBF(0.3) * Linear(), lambda A, B: reference.rbf_kernel(A, B, 0.3) * (A @ B.T)),
    "tanimoto": (Tanimoto(), tanimoto),
    "overlap": (Overlap(), equal),
    "columns": (
        ColumnKernel([4, 1], RBF(0.3), scale=[2.0, 0.5]) * ColumnKernel(2, Overlap() + Constant(1)),
        lambda A, B: (
            reference.rbf_kernel(A[:, [4, 1]] / [2, 0.5], B[:, [4, 1]] / [2, 0.5], 0.3)
            * (1 + equal(A[:, [2]], B[:, [2]]))
        ),
    ),
    "function": (FunctionKernel(lambda A, B: A @ B.T), lambda A, B: A @ B.T),
}


def data(seed=0, n=23, m=17, d=5):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    A[rng.random(A.shape) < 0.4] = 0
    B[rng.random(B.shape) < 0.4] = 0
    A[3] = 0  # a row of zeros
    B[:4] = A[:4]  # equal rows
    return A, B


# Of vectors without negative elements, so that `data` is taken by its absolute value.
HISTOGRAMS = {
    "chi2": (Chi2(0.3), lambda A, B: reference.chi2_kernel(A, B, 0.3)),
    "additive_chi2": (AdditiveChi2(), additive_chi2),
}


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_equal_the_reference(name, dtype, form):
    kernel, expected = HISTOGRAMS[name]
    A, B = (np.abs(Z).astype(dtype) for Z in data())
    K, tol = kernel(form(A), form(B)), 1e-14 if dtype == np.float64 else 1e-6
    assert K.dtype == dtype
    want = expected(A.astype(float), B.astype(float))
    np.testing.assert_allclose(K, want, rtol=tol, atol=tol * want.max())
    K = kernel(form(A))
    np.testing.assert_allclose(kernel.diagonal(Points(form(A))), np.diag(K), rtol=tol)
    assert np.linalg.eigvalsh(K.astype(float)).min() > -10 * tol * K.max()


@pytest.mark.parametrize("kernel", [Chi2(), AdditiveChi2()])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_histograms_refuse_negative_elements(kernel, form):
    with pytest.raises(ValueError, match=r"X contains -0\.5: chi-squared kernels"):
        kernel(form([[1.0, 0.0], [0.0, -0.5]]))
    with pytest.raises(ValueError, match=r"X contains -2: chi-squared kernels"):
        kernel(form([[1.0, 0.0]]), form([[-2.0, 0.0]]))


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_gamma_of_chi2_does_not_depend_on_units(form):
    A = np.abs(data()[0])
    A[:, 1] = 0.0  # no term
    gamma = make_kernel("chi2", X=form(A)).gamma
    B = A[:, A.any(axis=0)]
    np.testing.assert_allclose(1 / gamma, (B.var(axis=0) / B.mean(axis=0)).sum())
    np.testing.assert_allclose(make_kernel("chi2", X=form(1000 * A)).gamma, gamma / 1000)
    weight = np.random.default_rng(0).integers(0, 4, len(A))
    weighted = make_kernel("chi2", X=form(A), sample_weight=weight)
    repeated = make_kernel("chi2", X=form(np.repeat(A, weight, axis=0)))
    np.testing.assert_allclose(weighted.gamma, repeated.gamma)
    assert make_kernel("chi2", gamma=None, X=A) == Chi2(1.0)  # as scikit-learn's


def test_jaccard_of_sets():
    """Elements that two sets share, of those that are in either."""
    sets = [{1, 2, 3}, {2, 3}, {4}, set(), {0, 1, 2, 3, 4}]
    rows = np.array([[j in s for j in range(5)] for s in sets], dtype=float)
    want = [[len(a & b) / len(a | b) if a | b else 1.0 for b in sets] for a in sets]
    np.testing.assert_allclose(Tanimoto()(rows), want, rtol=1e-15)
    np.testing.assert_allclose(make_kernel("jaccard")(sparse.csr_array(rows)), want, rtol=1e-15)


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference(name, dtype, form):
    kernel, expected = CASES[name]
    A, B = (Z.astype(dtype) for Z in data())
    tol = 1e-12 if dtype == np.float64 else 3e-5
    if name == "matern12":
        tol = max(tol, 2e-6)  # a kink: the square root of the error of squared distances
    for second in (B, None):
        K = kernel(form(A), None if second is None else form(second))
        other = A if second is None else second
        want = expected(A.astype(np.float64), other.astype(np.float64))
        assert K.dtype == dtype
        np.testing.assert_allclose(K, want, rtol=tol, atol=tol * max(1, np.abs(want).max()))


@pytest.mark.parametrize("name", CASES)
def test_diagonal(name):
    kernel, _ = CASES[name]
    for A in (data()[0], sparse.csr_array(data()[0])):
        points = Points(A)
        diagonal = kernel.diagonal(points)
        assert diagonal.dtype == np.float64
        np.testing.assert_allclose(diagonal, np.diag(kernel(A)), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(diagonal, np.diag(kernel.evaluate(points, points)), atol=1e-7)


@pytest.mark.parametrize("kernel", [RBF(3.0), Laplacian(3.0), Matern(0.5, 0.3), Matern(2.5, 0.3)])
def test_diagonal_is_exactly_one(kernel):
    A = data()[0].astype(np.float32) * 1e3
    assert (np.diag(kernel(A)) == 1).all()


@pytest.mark.parametrize("name", CASES)
def test_positive_semidefinite(name):
    if name == "sigmoid":
        return
    K = CASES[name][0](data(n=40)[0])
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern12", "matern32", "matern52"])
def test_far_from_the_origin_in_single_precision(name):
    kernel, expected = CASES[name]
    A, B = ((Z + 1e4).astype(np.float32) for Z in data())
    want = expected(A.astype(np.float64) - 1e4, B.astype(np.float64) - 1e4)
    np.testing.assert_allclose(kernel(A, B), want, atol=3e-6)


@pytest.mark.parametrize("kernel", [RBF(30.0), Matern(1.5, 0.1), Matern(2.5, 0.1)])
def test_samples_that_are_the_same_in_large_units(kernel):
    """Whichever rows of K are computed together, no more of it may be rounding than of others."""
    X = 1e3 * np.random.default_rng(0).standard_normal((4, 30))[np.arange(15) % 4]
    points = Points(X)
    some = kernel.evaluate(points.take(slice(0, 3)), points)
    np.testing.assert_allclose(some, np.equal.outer(np.arange(3), np.arange(15) % 4), atol=1e-10)


def test_far_from_the_origin_in_double_precision_computed_in_single():
    A, _ = data()
    points = Points(A + 1e4, dtype="float32")
    K = RBF(0.3).evaluate(points, points)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, RBF(0.3)(A), atol=3e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_of_wildly_different_scale(dtype):
    """A large feature that two rows share must not drown a small one."""
    A = np.array([[1e9, 0.0], [1e9, 1.0], [-1e9, 0.0]], dtype)
    want = [[1, np.exp(-1), 0], [np.exp(-1), 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(RBF(1.0)(A, A), want, atol=1e-6)
    np.testing.assert_allclose(Matern(0.5)(A, A), want, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_values(dtype):
    A = np.array([[1.0, 2.0], [-1.0, 0.0], [3.0, 1.0]], dtype) * dtype(1e30)
    np.testing.assert_allclose(RBF(1e-61)(A), RBF(0.1)(A * dtype(1e-30)), rtol=1e-6)
    np.testing.assert_allclose(Cosine()(A), reference.cosine_similarity(A / 1e30), rtol=1e-6)
    np.testing.assert_array_equal(RBF(1.0)(A), np.eye(3))


def test_extreme_gamma():
    A = np.unique(data()[0], axis=0)
    np.testing.assert_array_equal(RBF(1e300)(A), np.eye(len(A)))
    np.testing.assert_array_equal(Matern(2.5, 1e-100)(A), np.eye(len(A)))
    np.testing.assert_array_equal(RBF(1e-300)(A), np.ones((len(A), len(A))))


def test_points_of_different_references_cannot_be_compared():
    A, B = data()
    with pytest.raises(ValueError, match="different references"):
        RBF().evaluate(Points(A), Points(B))


def test_points_like_takes_the_form_of_the_reference():
    A, B = data()
    for first in (A, sparse.csr_array(A)):
        for second in (B, sparse.coo_array(B)):
            np.testing.assert_allclose(RBF(0.3)(first, second), RBF(0.3)(A, B), atol=1e-14)
    with pytest.raises(ValueError, match="3 features"):
        Points(A).like(A[:, :3])


def test_points_take():
    A, _ = data()
    words = ["a", "bc", "d", "ef"]
    for X in (A, sparse.csr_array(A)):
        points = Points(X)
        rows = points.take(np.array([4, 2, 2]))
        np.testing.assert_allclose(
            rows.sq_distances(points), points.sq_distances(points)[[4, 2, 2]]
        )
        assert len(rows) == 3
    assert Points(words, numeric=False).take(np.array([2, 1])).values == ["d", "bc"]
    assert Points(words, numeric=False).take(slice(1, 3)).values == ["bc", "d"]


# ---- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RBF(0), "gamma=0 of RBF"),
        (lambda: RBF(-1.0), "gamma=-1.0"),
        (lambda: RBF(np.nan), "gamma=nan"),
        (lambda: RBF("scale"), "gamma='scale'"),
        (lambda: RBF(True), "gamma=True"),
        (lambda: Laplacian(np.inf), "gamma=inf"),
        (lambda: Matern(nu=1.0), r"nu=1.0 .* use 0.5, 1.5 or 2.5"),
        (lambda: Matern(length_scale=0), "length_scale=0"),
        (lambda: Matern(length_scale=1e-200), "length_scale=1e-200"),  # its square is 0
        (lambda: Linear(bias=1e200), r"bias=1e\+200 of Linear .* at most"),  # and this overflows
        (lambda: Polynomial(2.5), "degree=2.5"),
        (lambda: Polynomial(-1), "degree=-1"),
        (lambda: Polynomial(2, coef0=None), "coef0=None"),
        (lambda: Constant(-1), "value=-1"),
        (lambda: 0 * RBF(), "factor=0"),
        (lambda: make_kernel("gaussian"), "kernel='gaussian' is not known: use one of 'rbf'"),
        (lambda: make_kernel(RBF), "is not known"),
        (lambda: make_kernel(None), "kernel=None"),
        (lambda: make_kernel("rbf", gamma="big", X=[[1.0]]), "gamma='big'"),
        (lambda: make_kernel("rbf", gamma=0, X=[[1.0]]), "gamma=0 must be"),
        (lambda: make_kernel("rbf", X=[[1e200], [-1e200]]), "scale the data"),
    ],
)
def test_bad_parameters_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_bad_types():
    with pytest.raises(TypeError, match="not callable"):
        FunctionKernel(3)
    with pytest.raises(TypeError):
        RBF() + 1
    with pytest.raises(TypeError):
        "2" * RBF()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, np.nan]], "X contains nan"),
        ([[1.0, -np.inf]], "X contains -inf"),
        (sparse.csr_array([[1.0, np.inf]]), "X contains inf"),
        ([1.0, 2.0], r"shape \(2,\).*reshape"),
        (np.empty((0, 3)), "at least one sample"),
        (np.empty((3, 0)), "at least one sample and one feature"),
        (sparse.csr_array((0, 3)), "at least one sample"),
        ([[1j]], "complex"),
        (sparse.csr_array([[1j]]), "complex"),
        ([["a", "b"]], "cannot be read as numbers.*function kernel"),
        (np.array([["a", 1]], object), "cannot be read as numbers"),
        ("text", "shape"),
    ],
)
def test_bad_data_are_named(X, words):
    with pytest.raises(ValueError, match=words):
        RBF()(X)


@pytest.mark.parametrize("dtype", [int, bool, object, np.float16, ">f8", np.longdouble])
def test_other_numbers_are_read(dtype):
    A = np.array([[0, 1], [1, 1], [1, 0]])
    np.testing.assert_allclose(RBF(0.5)(A.astype(dtype)), RBF(0.5)(A.astype(float)))


def test_sparse_data_are_not_changed():
    A = sparse.csr_matrix(data()[0])
    unsorted = sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    before = [x.copy() for x in (unsorted.data, unsorted.indices, unsorted.indptr)]
    for kernel in (RBF(0.5), Laplacian(0.5), Polynomial(2), Cosine()):
        np.testing.assert_allclose(kernel(unsorted), kernel(unsorted.toarray()), atol=1e-14)
    for x, y in zip(before, (unsorted.data, unsorted.indices, unsorted.indptr), strict=True):
        np.testing.assert_array_equal(x, y)
    wide = A.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(Laplacian(0.5)(wide), Laplacian(0.5)(A))


# ---- combining, copying -----------------------------------------------------------------------


def test_operators():
    assert RBF(2) + Linear() == Sum(RBF(2.0), Linear())
    assert RBF(2) * Linear() == Product(RBF(2.0), Linear())
    assert 3 * RBF(2) == RBF(2) * 3 == np.float32(3) * RBF(2) == np.int64(3) * RBF(2.0)
    assert 3 * RBF(2) == Scaled(RBF(2), 3)
    assert RBF(2) != RBF(3)
    assert RBF(1) != Laplacian(1)
    assert len({RBF(1), RBF(1.0), Laplacian(1)}) == 2
    assert repr(RBF(1) + 2 * Cosine()) == (
        "Sum(left=RBF(gamma=1.0), right=Scaled(kernel=Cosine(), factor=2.0))"
    )


def edit_similarity(a, b):
    return float(len(set(a) & set(b)))


def test_copies():
    every = [kernel for name, (kernel, _) in CASES.items() if name != "function"]
    for kernel in [*every, FunctionKernel(pairwise(edit_similarity))]:
        assert pickle.loads(pickle.dumps(kernel)) == kernel
        assert copy.deepcopy(kernel) == kernel
        with pytest.raises(AttributeError):
            kernel.gamma = 2.0


def test_function_of_objects():
    words = ["kernel", "colonel", "resolvent", "a"]
    kernel = make_kernel(pairwise(edit_similarity))
    want = [[edit_similarity(a, b) for b in words] for a in words]
    np.testing.assert_array_equal(kernel(words), want)
    np.testing.assert_array_equal(kernel(np.array(words, object), words[:2]), np.array(want)[:, :2])
    np.testing.assert_array_equal((kernel + Constant(1))(words), np.add(want, 1))
    with pytest.raises(ValueError, match=r"shape \(\) for 4 and 4 samples.*pairwise"):
        make_kernel(lambda A, B: 1.0)(words)


def test_function_may_return_its_own_array():
    kept = np.ones((2, 2))
    K = (2 * FunctionKernel(lambda A, B: kept))(np.eye(2), np.eye(2))
    assert (K == 2).all()
    assert (kept == 1).all()


# ---- names and gamma --------------------------------------------------------------------------


def test_names():
    A, _ = data()
    for name, family in KERNELS.items():
        assert isinstance(make_kernel(name, X=A, gamma="auto"), family)
    assert make_kernel("rbf", gamma=2, X=A) == RBF(2.0)
    assert make_kernel("rbf", gamma="auto", X=A) == RBF(1 / 5)
    assert make_kernel("poly", gamma=2, degree=4, coef0=1, X=A) == Polynomial(4, 2.0, 1.0)
    assert make_kernel("matern", gamma=0.125, X=A) == Matern(1.5, 2.0)
    assert make_kernel("linear") == Linear()
    assert make_kernel(kernel := RBF(3)) is kernel


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_gamma_scale(form):
    A, _ = data()
    np.testing.assert_allclose(make_kernel("rbf", X=form(A)).gamma, 1 / (5 * A.var()))
    weight = np.random.default_rng(0).integers(0, 4, len(A))
    weighted = make_kernel("rbf", X=form(A), sample_weight=weight).gamma
    repeated = make_kernel("rbf", X=form(np.repeat(A, weight, axis=0))).gamma
    np.testing.assert_allclose(weighted, repeated)
    assert make_kernel("rbf", X=form(np.ones((3, 2)))).gamma == 1.0


def test_gamma_scale_far_from_the_origin_in_single_precision():
    A = (data()[0] + 1e4).astype(np.float32)
    np.testing.assert_allclose(make_kernel("rbf", X=A).gamma, 1 / (5 * A.astype(float).var()))
