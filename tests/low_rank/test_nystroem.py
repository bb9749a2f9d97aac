"""Nystroem grams: K^ = ZZ' <= K for every kernel and every way to give landmarks."""

import numpy as np
import pytest
from scipy import sparse

from resolvent import gram
from resolvent.kernels import RBF, Constant, Laplacian, Linear, Matern, Polynomial, pairwise

N = 120


def points(dtype=np.float64):
    X = np.random.default_rng(3).standard_normal((N, 4))
    X[np.random.default_rng(4).random(X.shape) < 0.3] = 0.0
    return X.astype(dtype)


KERNELS = [
    RBF(0.3),
    Laplacian(0.2),
    Matern(),
    Polynomial(gamma=0.5, degree=2, coef0=1.0),
    Linear(),
    RBF(0.3) * Constant(2.0) + 0.1 * Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("form", ["dense", "CSR", "float32"])
def test_below_the_kernel_matrix(kernel, form):
    X = points(np.float32 if form == "float32" else np.float64)
    K = kernel(X.astype(float))
    G = gram(sparse.csr_array(X) if form == "CSR" else X, kernel, rank=30)
    Z = G.X.astype(float)
    assert G.rank == Z.shape[1] <= 30
    assert G.dtype == X.dtype
    rounding = 1e-3 if form == "float32" else 1e-10
    E = K - Z @ Z.T
    assert np.linalg.eigvalsh(E)[0] >= -rounding * K.max()
    np.testing.assert_allclose(G.residual_diagonal, E.diagonal(), atol=rounding * K.max())
    kept = G.landmarks
    np.testing.assert_allclose((Z @ Z.T)[kept], K[kept], atol=rounding * K.max())


def test_all_samples_as_landmarks_give_the_matrix_itself():
    X = points()
    G = gram(X, RBF(0.3), rank=10 * N)
    np.testing.assert_allclose(G.X @ G.X.T, RBF(0.3)(X), atol=1e-10)


def test_dependent_landmarks_are_left_out():
    X = np.repeat(points()[:20], 3, axis=0)
    G = gram(X, RBF(0.3), landmarks=np.arange(60))
    assert G.rank == 20
    assert gram(points(), "linear", rank=50).rank == 4
    assert gram(np.zeros((9, 2)), "linear", rank=5).rank == 1


def test_weights_are_an_expansion_of_the_same_norm():
    X = points()
    G = gram(X, RBF(0.3), rank=25)
    w = np.random.default_rng(0).standard_normal((G.rank, 2))
    beta = G.expansion(w)
    K = RBF(0.3)(X)
    np.testing.assert_allclose(K[:, G.landmarks] @ beta, G.X @ w, atol=1e-9)
    np.testing.assert_allclose(G.model_scores(beta), G.X @ w, atol=1e-9)
    np.testing.assert_allclose(G.model_squares(beta), (w**2).sum(axis=0), rtol=1e-9)


def test_ways_to_give_landmarks():
    X = points()
    K = RBF(0.3)(X)
    indices = np.array([5, 7, 70])
    by_index = gram(X, RBF(0.3), landmarks=indices)
    assert sorted(by_index.landmarks) == [5, 7, 70]
    by_rows = gram(X, RBF(0.3), landmarks=X[indices])
    assert by_rows.landmarks.tolist() == [-1, -1, -1]
    columns = gram(K, "precomputed", landmarks=[5, 7, 70])
    for G in (by_rows, columns):
        np.testing.assert_allclose(G.X @ G.X.T, by_index.X @ by_index.X.T, atol=1e-12)
    other = gram(X, RBF(0.3), rank=3, landmarks="uniform")
    assert len(set(other.landmarks)) == 3


def test_precomputed_matrix_may_be_a_memory_map(tmp_path):
    K = RBF(0.3)(points())
    np.save(tmp_path / "K.npy", K)
    G = gram(np.load(tmp_path / "K.npy", mmap_mode="r"), "precomputed", rank=20)
    np.testing.assert_allclose(G.X, gram(K, "precomputed", rank=20).X, atol=1e-8)


def test_objects():
    words = ["ab", "abc", "ba", "cab", "a", "c", "bb"]
    kernel = pairwise(lambda a, b: float(sum(a.count(x) * b.count(x) for x in "abc")))
    K = kernel(words)
    G = gram(words, kernel, rank=3)
    np.testing.assert_allclose(G.X @ G.X.T, K, atol=1e-12)  # the rank of K is 3
    G = gram(words, kernel, landmarks=["b", "aa"])
    assert G.rank == 2


def test_seeds_and_randomly_pivoted_cholesky():
    X = points()
    first, same, other = (
        gram(X, RBF(0.3), rank=20, random_state=seed).landmarks for seed in (1, 1, 2)
    )
    assert first.tolist() == same.tolist() != other.tolist()
    # A cluster that nearly all samples are in: landmarks at random miss the rest of them.
    X = np.vstack([1e-3 * points(), 5.0 * points()[:6]])
    chosen = gram(X, RBF(0.3), rank=12)
    random = gram(X, RBF(0.3), rank=12, landmarks="uniform")
    assert chosen.residual_diagonal.sum() < 0.2 * random.residual_diagonal.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": 0}, "rank=0 must be a whole number"),
        ({"rank": 2.5}, r"rank=2\.5 must be a whole number"),
        ({"rank": True}, "rank=True must be"),
        ({"rank": 5, "landmarks": "best"}, "landmarks='best' is unknown"),
        ({"landmarks": [3, 500]}, "from 0 to 119; got 3 to 500"),
        ({"rank": 3, "landmarks": [1, 2]}, "rank=3, but there are 2 landmarks"),
        ({"landmarks": np.zeros((2, 7))}, "7 features"),
        ({"rank": 100, "memory_limit": 10_000}, "use rank=10, float32 data"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        gram(points(), "rbf", gamma=0.3, **arguments)


def test_rows_are_no_landmarks_of_a_matrix():
    with pytest.raises(ValueError, match="give their indices"):
        gram(np.eye(3), "precomputed", landmarks=np.eye(3)[:1])
    with pytest.raises(ValueError, match="square"):
        gram(np.ones((3, 2)), "precomputed", rank=1)
    with pytest.raises(ValueError, match="NaN or infinity"):
        gram(np.array([[1.0, np.nan], [np.nan, 1.0]]), "precomputed", rank=2)
