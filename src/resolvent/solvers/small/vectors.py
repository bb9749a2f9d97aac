"""Vectors and Cholesky factors within compiled code, of tens to some hundreds of rows.

LAPACK is faster from a hundred rows on, but calls of it from compiled code start threads, raise
errors where a matrix is singular, and take long to compile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import any_order, inner
from resolvent._numeric import EPS
from resolvent.problem.sums import Vector

Matrix = NDArray[np.float64]

DEPENDENT = 64 * EPS  # pivots below this, relative to the diagonal, are rounding


@any_order
def _dots(a: Vector, b: Vector, c: Vector, d: Vector, x: Vector) -> tuple[float, ...]:
    """Inner products of four vectors with a fifth."""
    r, s, t, u = 0.0, 0.0, 0.0, 0.0
    for k in range(x.size):
        r += a[k] * x[k]
        s += b[k] * x[k]
        t += c[k] * x[k]
        u += d[k] * x[k]
    return r, s, t, u


@any_order
def dot(a: Vector, x: Vector) -> float:
    """Inner product, in any order, so that it is vectorised."""
    r = 0.0
    for k in range(x.size):
        r += a[k] * x[k]
    return r


# Loops in the place of array expressions, which take Numba a third of a second each to compile.


@inner
def total_of(x: Vector) -> float:
    """Sum of the elements."""
    result = 0.0
    for i in range(x.size):
        result += x[i]
    return result


@inner
def size_of(x: Vector) -> float:
    """Sum of the magnitudes of the elements."""
    result = 0.0
    for i in range(x.size):
        result += abs(x[i])
    return result


@inner
def largest_of(x: Vector) -> float:
    """Largest magnitude of an element."""
    result = 0.0
    for i in range(x.size):
        result = max(result, abs(x[i]))
    return result


@inner
def put(x: Vector, out: Vector) -> None:
    """Copy the elements of x."""
    for i in range(x.size):
        out[i] = x[i]


@inner
def fill(x: Vector, number: float) -> None:
    """Make all elements one number."""
    for i in range(x.size):
        x[i] = number


@inner
def add_times(x: Vector, t: float, dx: Vector) -> None:
    """Add t times a vector to x."""
    for i in range(x.size):
        x[i] += t * dx[i]


@inner
def factorise(A: Matrix) -> None:
    """Overwrite the lower triangle of A by L, A = LL', its diagonal by the inverse of that of L.

    Rows that depend on those before, up to rounding, have a zero there: they take no part.
    """
    n = len(A)
    for j in range(n):
        row = A[j, :j]
        pivot = A[j, j] - dot(row, row)
        inverse = 1.0 / np.sqrt(pivot) if pivot > DEPENDENT * abs(A[j, j]) else 0.0
        A[j, j] = inverse
        i = j + 1
        while i + 4 <= n:
            r, s, t, u = _dots(A[i, :j], A[i + 1, :j], A[i + 2, :j], A[i + 3, :j], row)
            A[i, j] = (A[i, j] - r) * inverse
            A[i + 1, j] = (A[i + 1, j] - s) * inverse
            A[i + 2, j] = (A[i + 2, j] - t) * inverse
            A[i + 3, j] = (A[i + 3, j] - u) * inverse
            i += 4
        while i < n:
            A[i, j] = (A[i, j] - dot(A[i, :j], row)) * inverse
            i += 1


@inner
def solve_in_place(L: Matrix, x: Vector) -> None:
    """Overwrite x by the solution of LL'x = x, with L from `factorise`."""
    n = len(x)
    for i in range(n):
        x[i] = (x[i] - dot(L[i, :i], x[:i])) * L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
