"""The exponential function of a tile of a kernel matrix, in one pass over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._jit import plain

__all__ = ["exp_not_positive"]

LEAST = np.float32(-87.0)  # exp() of less would be subnormal
LOG2_E = np.float32(1.44269504)
# log(2) in two parts, of which the first times a small integer is exact
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# exp(r) = 1 + r + r^2 p(r) on [-log(2) / 2, log(2) / 2], to 1e-7
P5, P4, P3 = np.float32(1.98756915e-4), np.float32(1.39819995e-3), np.float32(8.33345191e-3)
P2, P1, P0 = np.float32(4.16657959e-2), np.float32(1.66666655e-1), np.float32(5.00000012e-1)
ONE, ZERO, HALF = np.float32(1.0), np.float32(0.0), np.float32(0.5)
BITS = np.int32(23)  # of the fraction of a float32: above them is the exponent


def exp_not_positive(K: np.ndarray) -> np.ndarray:
    """Replace each element t by exp(min(t, 0)), in place; t is finite.

    K is contiguous. In single precision the error is about one unit in the last place, and what is
    below exp(-87) becomes 0.
    """
    if K.dtype == np.float32:
        _exp(K.reshape(-1))
        return K
    np.minimum(K, 0, out=K)
    return np.exp(K, out=K)


@plain
def _exp(t: Any) -> None:
    """exp(t) = 2^k exp(t - k log(2)), where a product with 2^k is a sum of exponents."""
    bits = t.view(np.int32)  # here, so that the compiler knows it for the same memory
    for j in range(t.size):
        t_j = t[j]
        x = max(min(t_j, ZERO), LEAST)
        k = np.floor(x * LOG2_E + HALF)
        r = x - k * LOG_2_HIGH - k * LOG_2_LOW
        p = ((((P5 * r + P4) * r + P3) * r + P2) * r + P1) * r + P0
        t[j] = p * r * r + r + ONE
        bits[j] = (bits[j] + (np.int32(k) << BITS)) * (t_j >= LEAST)
