"""Chi-squared distances of dense rows, compiled."""

from __future__ import annotations

from typing import Any

from resolvent._jit import plain

__all__ = ["chi2_distances"]


@plain
def chi2_distances(A: Any, B: Any, out: Any) -> None:
    """Write the sums of (a_j - b_j)^2 / (a_j + b_j) over columns to `out`; nothing is negative."""
    zero = out.dtype.type(0)
    one = out.dtype.type(1)
    for i in range(A.shape[0]):
        for k in range(B.shape[0]):
            total = zero
            for j in range(A.shape[1]):
                a, b = A[i, j], B[k, j]
                both = a + b
                difference = a - b  # 0 where both are
                total += difference * (difference / (both if both > zero else one))
            out[i, k] = total
