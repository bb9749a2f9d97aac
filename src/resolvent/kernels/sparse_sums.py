"""Sums over columns of a term of two elements, between sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["absolute", "chi2", "differ", "sparse_sums"]


def sparse_sums(A: Any, B: Any, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Sum over j a term t(a_j, b_j) >= 0 with t(0, 0) = 0, for all rows a of A and b of B.

    It is the sum of t(a_j, 0) + the sum over the stored b_j of t(a_j, b_j) - t(a_j, 0).

    Parameters
    ----------
    A, B : csr_array
        The rows.
    term : callable
        The function t of two arrays.

    Returns
    -------
    ndarray of shape (rows of A, rows of B)
    """
    result = np.empty((A.shape[0], B.shape[0]))
    row = np.zeros(A.shape[1])
    terms = sparse.csr_array((np.empty_like(B.data), B.indices, B.indptr), shape=B.shape)
    ones, zero = np.ones(B.shape[1]), np.zeros(1)
    for i in range(A.shape[0]):
        here = slice(A.indptr[i], A.indptr[i + 1])
        columns, data = A.indices[here], A.data[here]
        row[columns] = data
        at_b = row[B.indices]
        terms.data = term(at_b, B.data) - term(at_b, zero)
        result[i] = terms @ ones + term(data, zero).sum()
        row[columns] = 0
    return np.maximum(result, 0, out=result)


def absolute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return |a - b|."""
    return np.abs(a - b)


def differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 where a and b are not equal."""
    return (a != b).astype(np.float64)


def chi2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (a - b)^2 / (a + b), 0 where both are."""
    total, difference = a + b, a - b
    return difference * (difference / np.where(total > 0, total, 1.0))
