"""Access to the kernel matrix K, through one interface (`Gram`) however K is stored.

`gram` builds one from data and a kernel, `as_gram` takes a matrix. A row of K, or its computation,
is the unit of work; everything is cut into parts that leave Ctrl-C and time limits their turn.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from resolvent._random import as_generator
from resolvent.grams.base import Gram
from resolvent.grams.function import evaluate_once, fits
from resolvent.grams.memory import parse_memory
from resolvent.grams.rows import ComputedGram, DenseGram, RowGram, evaluate_now
from resolvent.grams.values import values_of
from resolvent.kernels import Kernel, Linear, Points, make_kernel
from resolvent.kernels.base import read_columns

__all__ = ["ComputedGram", "DenseGram", "Gram", "RowGram", "as_gram", "gram", "parse_memory"]

FEW = 500  # samples whose matrix is formed at once, which is faster than to look after its rows


def gram(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    memory_limit: Any = None,
    dtype: Any = None,
    rank: int | None = None,
    landmarks: Any = "rpcholesky",
    random_state: Any = None,
) -> Gram:
    """Build the kernel matrix of data, without necessarily computing or storing it.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, d), or sequence of n objects
        Data, one sample a row; objects of any kind for a function kernel; a data frame for a kernel
        of columns by name; the kernel matrix itself for ``kernel="precomputed"``.
    kernel : str, Kernel or callable
        A name in `resolvent.kernels.KERNELS`, "precomputed", a kernel such as ``RBF(gamma=0.5)``,
        or a function ``(A, B) -> matrix``, which is called once, with all samples twice, if K fits
        the memory limit. The linear kernel is never formed.
    gamma : {"scale", "auto"} or float
        Parameter of the named kernels that have it: "scale" is 1 / (d var(X)), "auto" is 1 / d.
    degree : int
        Degree of "poly".
    coef0 : float
        Parameter of "poly" and "sigmoid".
    memory_limit : int, str or None
        Bytes, or a string such as "1GB", that rows of K may take; what does not fit is computed
        again when it is needed. None: a quarter of the free memory.
    dtype : {None, "float32", "float64"}
        Precision of K. None: float32 if X is, otherwise float64.
    rank : int, optional
        If given, the matrix is not K but K^ = ZZ', the largest matrix below K of functions that
        this many landmarks span (Nystroem); Z, of n x rank numbers, must fit the memory limit. What
        a solution for K^ is worth for K itself says :func:`resolvent.certify_original`.
    landmarks : {"rpcholesky", "uniform"}, indices, or rows, default="rpcholesky"
        How landmarks are chosen: by randomly pivoted Cholesky on a random part of the samples, at
        random, or given, by indices of samples or as samples themselves. Those that depend on
        others up to rounding are left out. Given ones need no `rank`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of landmarks; None is a fixed seed.

    Returns
    -------
    Gram

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import gram
    >>> K = gram([[0.0], [1.0]], kernel="rbf", gamma=0.5)
    >>> K.product(np.array([[1.0, 0.0]])).round(3).tolist()
    [[1.0, 0.607]]
    """
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    if not precomputed:
        names = None
        if isinstance(kernel, Kernel):
            X, encoding = read_columns(X, kernel)
            names = None if encoding is None else encoding.names
        kernel = make_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0, X=X, names=names)
    if rank is not None or not isinstance(landmarks, str):
        from resolvent.grams.nystroem import nystroem  # here, because it imports Numba

        values = values_of(X, None if precomputed else kernel, dtype)
        return nystroem(values, rank, landmarks, as_generator(random_state), memory_limit)
    if precomputed:
        return _dense(X, dtype)
    if not kernel.symmetric:  # it has a function in it, which is to be called once
        points = Points(X, dtype, numeric=kernel.numeric)
        if fits(points, parse_memory(memory_limit)):
            return DenseGram(evaluate_once(points, kernel))
    if isinstance(kernel, Linear):
        from resolvent.grams.linear import LinearGram  # here, because it imports Numba

        linear = LinearGram(X, bias=kernel.bias, dtype=dtype)
        linear.diagonal  # noqa: B018  # which refuses data that overflow
        return linear
    points = Points(X, dtype, numeric=kernel.numeric)
    if kernel.symmetric and len(points) <= FEW and memory_limit == "auto":  # as estimators ask
        return evaluate_now(points, kernel)
    return ComputedGram(points, kernel, memory_limit=memory_limit)


def as_gram(K: Any) -> Gram:
    """Return a gram as it is, and make one of a symmetric matrix.

    Parameters
    ----------
    K : Gram or array-like of shape (n, n)
        The kernel matrix; a memory map is read where it lies.

    Returns
    -------
    Gram
    """
    return K if isinstance(K, Gram) else _dense(K, None)


def _dense(K: Any, dtype: Any) -> DenseGram:
    if sparse.issparse(K):
        raise TypeError(
            "K is a sparse matrix, and kernel matrices must be dense: pass K.toarray(), or, if it "
            "holds data rather than kernel values, gram(X, kernel=...), which takes sparse X."
        )
    return DenseGram(K, dtype)
