"""One set of points as a gram of every kind."""

import numba
import numpy as np
from scipy import sparse

from resolvent._jit import OPTIONS, axpy, dot
from resolvent.grams import as_gram, gram
from resolvent.kernels import RBF, Laplacian, Linear, Polynomial

N, D = 75, 6


def data(dtype=np.float64):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D))
    X[rng.random(X.shape) < 0.5] = 0
    X[10] = 0
    return X.astype(dtype)


def untidy(X):
    """CSR with 64-bit, unsorted indices, a repeated one and explicit zeros."""
    tidy = sparse.csr_matrix(X)
    parts, indices, indptr = [], [], [0]
    for i in range(len(X)):
        here = slice(tidy.indptr[i], tidy.indptr[i + 1])
        columns, values = tidy.indices[here][::-1], tidy.data[here][::-1]
        columns = np.concatenate([columns, [0, 3, 3]])
        values = np.concatenate([values, [0, 2, -2]])
        parts.append(values)
        indices.append(columns)
        indptr.append(indptr[-1] + len(columns))
    result = sparse.csr_matrix(tidy.shape, dtype=X.dtype)
    result.data = np.concatenate(parts).astype(X.dtype)
    result.indices = np.concatenate(indices).astype(np.int64)
    result.indptr = np.array(indptr, np.int64)
    return result


def memmap(K, folder):
    np.save(folder / "K.npy", K)
    return np.load(folder / "K.npy", mmap_mode="r")


def tight(X):
    return 20 * N * X.dtype.itemsize  # 20 of 75 rows


RBF_K = RBF(0.4)
GRAMS = {
    "dense": lambda X, _: as_gram(RBF_K(X)),
    "dense F": lambda X, _: as_gram(np.asfortranarray(RBF_K(X))),
    "dense strided": lambda X, _: as_gram(np.repeat(RBF_K(X), 2, axis=1)[:, ::2]),
    "memmap": lambda X, folder: as_gram(memmap(RBF_K(X), folder)),
    "computed": lambda X, _: gram(X, RBF_K),
    "computed tight": lambda X, _: gram(X, RBF_K, memory_limit=tight(X)),
    "computed CSR": lambda X, _: gram(sparse.csr_array(X), "rbf", gamma=0.4),
    "computed CSR tight": lambda X, _: gram(untidy(X), RBF_K, memory_limit=tight(X)),
    "computed F": lambda X, _: gram(np.asfortranarray(X), RBF_K, memory_limit=tight(X)),
    "laplacian": lambda X, _: gram(X, Laplacian(0.4), memory_limit=tight(X)),
    "laplacian CSR": lambda X, _: gram(untidy(X), Laplacian(0.4), memory_limit=tight(X)),
    "poly": lambda X, _: gram(X, Polynomial(2, 0.3, 1.0), memory_limit=tight(X)),
    "function": lambda X, _: gram(X, lambda A, B: A @ B.T, memory_limit=tight(X)),
    "linear": lambda X, _: gram(X, "linear"),
    "linear F": lambda X, _: gram(np.asfortranarray(X), "linear"),
    "linear memmap": lambda X, folder: gram(memmap(X, folder), "linear"),
    "linear bias": lambda X, _: gram(X, Linear(0.7)),
    "linear CSR": lambda X, _: gram(sparse.csr_array(X), "linear"),
    "linear CSC": lambda X, _: gram(sparse.csc_matrix(X), "linear"),
    "linear untidy": lambda X, _: gram(untidy(X), "linear"),
    "linear CSR bias": lambda X, _: gram(untidy(X), Linear(0.7)),
}


def coefficients():
    coef = np.random.default_rng(2).standard_normal((3, N))
    coef[:, ::3] = 0
    return coef


@numba.njit(**OPTIONS)
def moves(panel, order, h, state, scores):
    for k in range(order.size):
        scores[k] = dot(panel, state, order[k])
        axpy(panel, state, order[k], h[k])
