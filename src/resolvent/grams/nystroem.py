"""The kernel matrix on a subspace: K^ = ZZ' <= K, spanned by the kernel functions of landmarks.

With landmarks S and K_SS = LL' the features are Z = K_nS L^-T (Nystroem). A function of weights w,
f(x) = z(x)'w, is the expansion sum_s beta_s k(x_s, x) with beta = L^-T w: it lies in the space of
the kernel and has the norm |f| = |w|. What is left, E = K - K^, is positive semidefinite, and its
diagonal e_i = k_ii - |z_i|^2 says how far sample i is from the subspace.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from resolvent._threads import one_blas_thread
from resolvent.grams.landmarks import choose_landmarks, read_landmarks
from resolvent.grams.linear import LinearGram
from resolvent.grams.memory import parse_memory
from resolvent.grams.panels import add_products
from resolvent.grams.values import IsOver, Values

__all__ = ["NystroemGram", "fill_features", "nystroem", "on_landmarks"]

# Squared pivots that are rounding, in units of k(x, x): ten ulps of the values, and in double
# precision what is left of sums of thousands of products.
PIVOT_ULPS, LEAST_PIVOT = 10.0, 1e-12
RESIDUAL_ULPS = 10.0  # of the square root of an ulp
BLOCKS = 4  # of columns of L^-T, below whose blocks on the diagonal are zeros that need no product


class NystroemGram(LinearGram):
    """K^ = ZZ' of landmarks, held as Z; all else is what a linear kernel on Z is.

    Parameters
    ----------
    values : Values
        The kernel matrix K.
    landmarks : ndarray of shape (rank,)
        Indices of the landmarks; -1 for those that were given as rows.
    points : samples of `values`
        The landmarks themselves.
    root : ndarray of shape (rank, rank)
        L^-T, upper triangular, in float64.
    Z : ndarray of shape (n, rank)
        The features.
    """

    def __init__(
        self, values: Values, landmarks: np.ndarray, points: Any, root: np.ndarray, Z: np.ndarray
    ) -> None:
        self.values, self.landmarks, self.points, self.root = values, landmarks, points, root
        super().__init__(Z)

    @property
    def rank(self) -> int:
        """Number of landmarks, and of columns of Z."""
        return len(self.landmarks)

    def extended(self, new: np.ndarray, is_over: IsOver = lambda: False) -> NystroemGram:
        """Add landmarks by their indices; features that are known stay.

        With L = [[L1, 0], [A, L2]], A = K_21 L1^-T and L2 L2' = K_22 - AA', the new columns of Z
        are (K_n2 - Z A') L2^-T.
        """
        if not len(new):
            return self
        m = self.rank
        both = np.concatenate([self.landmarks, new])
        K = self.values.square(self.values.take(both))
        A = K[m:, :m] @ self.root
        kept, root = _root(K[m:, m:] - A @ A.T, self.values.dtype, float(K.diagonal().max()))
        if not len(kept):
            return self
        A, chosen = A[kept], new[kept]
        Z = np.zeros((self.n, m + len(kept)), self.dtype)
        Z[:, :m] = self.X
        before = (A.T @ root).astype(self.dtype)
        after = root.astype(self.dtype)

        def put(start: int, tile: np.ndarray) -> None:
            rows = Z[start : start + len(tile)]
            np.matmul(tile, after, out=rows[:, m:])
            rows[:, m:] -= rows[:, :m] @ before

        every = np.arange(self.n)
        if not self.values.each_tile(every, self.values.take(chosen), put, is_over):
            return self
        whole = np.zeros((Z.shape[1], Z.shape[1]))
        whole[:m, :m], whole[m:, m:] = self.root, root
        whole[:m, m:] = -self.root @ A.T @ root
        landmarks = np.concatenate([self.landmarks, chosen])
        return NystroemGram(self.values, landmarks, self.values.take(landmarks), whole, Z)

    @property
    def residual_diagonal(self) -> np.ndarray:
        """Diagonal of E = K - K^, not negative."""
        return np.maximum(self.values.diagonal - self.diagonal, 0.0)

    @property
    def is_above(self) -> bool:
        """Whether K^ is seen above K: an entry of E's diagonal is negative, beyond rounding.

        Then K is not positive semidefinite. Pivots of the size of rounding amplify that of the
        values to its square root.
        """
        diagonal = self.values.diagonal
        slack = self.rounding_of_residuals * np.sqrt(diagonal * diagonal.max())
        return bool((diagonal - self.diagonal < -slack).any())

    @property
    def rounding_of_residuals(self) -> float:
        """Error of quantities of E, in units of the same ones of K, that rounding may make."""
        return RESIDUAL_ULPS * float(np.sqrt(np.finfo(self.dtype).eps))

    def expansion(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients beta = L^-T w of the landmarks: (rank, m) -> (rank, m)."""
        return self.root @ weights

    def model_scores(self, beta: np.ndarray, is_over: IsOver = lambda: False) -> np.ndarray | None:
        """Scores of all samples, K_nS beta, with values of K and not of Z: (rank, m) -> (n, m).

        None if `is_over` has ended it.
        """
        scores = np.zeros((self.n, beta.shape[1]))

        def put(start: int, tile: np.ndarray) -> None:
            add_products(tile, beta, scores, start)

        whole = not beta.any() or self.values.each_tile(
            np.arange(self.n), self.points, put, is_over
        )
        return scores if whole else None

    def model_squares(self, beta: np.ndarray) -> np.ndarray:
        """Squared norms beta' K_SS beta of functions, one for each column."""
        K = self.values.square(self.points)
        return np.einsum("ij,ij->j", beta, K @ beta)


def nystroem(
    values: Values,
    rank: int | None,
    landmarks: Any,
    rng: np.random.Generator,
    memory_limit: Any = None,
    is_over: IsOver = lambda: False,
) -> NystroemGram:
    """Choose landmarks and compute the features; see :func:`resolvent.gram`."""
    kind, given = read_landmarks(landmarks, values.n)
    if kind == "rows":
        given = values.given(given)
    if given is not None:
        check_number(rank, len(given))
        rank = len(given)
    rank = min(checked_rank(rank), values.n)
    check_room(values, rank, memory_limit)
    with one_blas_thread():
        if given is None:
            given = choose_landmarks(values, kind, rank, rng, is_over)
        return on_landmarks(values, given, is_over)


def on_landmarks(values: Values, landmarks: Any, is_over: IsOver = lambda: False) -> NystroemGram:
    """Compute the features of landmarks, which are indices or samples that `values` has read.

    Those that depend on others up to rounding are left out.

    Where the time is over, features are left at zero: K^ = 0, which is below K too.
    """
    by_index = isinstance(landmarks, np.ndarray)
    points = values.take(landmarks) if by_index else landmarks
    K = values.square(points)
    kept, root = _root(K, values.dtype, float(K.diagonal().max()))
    if not len(kept):  # no landmark has a kernel function that is not zero
        kept, root = np.arange(1), np.zeros((1, 1))
    points = values.take(landmarks[kept]) if by_index else landmarks.take(kept)
    Z = np.zeros((values.n, len(kept)), values.dtype)
    if not fill_features(values, points, root.astype(values.dtype), Z, is_over):
        Z[:] = 0.0
    return NystroemGram(
        values, landmarks[kept] if by_index else np.full(len(kept), -1), points, root, Z
    )


def fill_features(
    values: Values,
    points: Any,
    root: np.ndarray,
    Z: np.ndarray,
    is_over: IsOver = lambda: False,
) -> bool:
    """Compute Z = K_nS L^-T by tiles of rows; False if the time was over before the last."""
    m = Z.shape[1]
    step = max(1, -(-m // BLOCKS))
    blocks = [(first, min(first + step, m)) for first in range(0, m, step)]

    def put(start: int, tile: np.ndarray) -> None:
        rows = Z[start : start + len(tile)]
        for first, stop in blocks:
            np.matmul(tile[:, :stop], root[:stop, first:stop], out=rows[:, first:stop])

    return values.each_tile(np.arange(len(Z)), points, put, is_over)


def checked_rank(rank: Any) -> int:
    """Return the rank as an int, or say what is wrong with it."""
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        raise ValueError(
            f"rank={rank!r} must be a whole number of landmarks, at least 1, or None; estimators "
            "take 'auto' too."
        )
    return int(rank)


def check_number(rank: Any, given: int) -> None:
    """Refuse a rank that is not the number of landmarks that are given."""
    if rank is not None and rank != given:
        raise ValueError(
            f"rank={rank}, but there are {given} landmarks: leave out the rank, or give as many "
            "landmarks."
        )


def most_rank(values: Values, memory_limit: Any) -> int:
    """Landmarks whose features fit the memory limit."""
    return parse_memory(memory_limit) // (values.n * values.dtype.itemsize)


def check_room(values: Values, rank: int, memory_limit: Any) -> None:
    """Refuse features that do not fit the memory limit."""
    limit, row = parse_memory(memory_limit), values.n * values.dtype.itemsize
    if rank > most_rank(values, memory_limit):
        raise ValueError(
            f"rank={rank} needs {rank * row / 1e9:.2g} GB for the features of {values.n} samples, "
            f"and memory_limit allows {limit / 1e9:.2g} GB: use rank={limit // row}, float32 data, "
            "or a larger memory_limit."
        )


def _root(K: np.ndarray, dtype: np.dtype[Any], largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Which landmarks to keep, and L^-T of their matrix K = LL', upper triangular, in float64.

    By Cholesky with complete pivoting: it ends at the first pivot that is rounding, in units of the
    largest k(x, x), so that what is left of all other landmarks is less than that.
    """
    least = max(PIVOT_ULPS * float(np.finfo(dtype).eps), LEAST_PIVOT) * largest
    if not K.diagonal().max() > least:  # LAPACK takes the first pivot whatever its size
        return np.arange(0), np.zeros((0, 0))
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=least, lower=1)
    L = np.tril(factor[:rank, :rank])
    return pivots[:rank] - 1, solve_triangular(L, np.eye(rank), lower=True).T
