"""The exponential function of a tile of a kernel matrix, in one pass over it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from resolvent._jit import INNER, inner, plain

__all__ = ["exp_in_place", "exp_not_positive"]

LEAST = np.float32(-87.0)  # exp() of less would be subnormal
LOG2_E = np.float32(1.44269504)
# log(2) in two parts, of which the first times a small integer is exact
LOG_2_HIGH, LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# exp(r) = 1 + r + r^2 p(r) on [-log(2) / 2, log(2) / 2], to 1e-7
P5, P4, P3 = np.float32(1.98756915e-4), np.float32(1.39819995e-3), np.float32(8.33345191e-3)
P2, P1, P0 = np.float32(4.16657959e-2), np.float32(1.66666655e-1), np.float32(5.00000012e-1)
ONE, ZERO, HALF = np.float32(1.0), np.float32(0.0), np.float32(0.5)
BITS = np.int32(23)  # of the fraction of a float32: above them is the exponent

# The same in double precision, by the series of exp() to its 13th power: to 1e-17.
LEAST_DOUBLE, LOG2_E_DOUBLE, BITS_DOUBLE = -708.0, 1.4426950408889634, np.int64(52)
LOG_2_HIGH_DOUBLE, LOG_2_LOW_DOUBLE = 6.93145751953125e-1, 1.42860682030941723212e-6
S2, S3, S4, S5, S6, S7 = (1.0 / math.factorial(k) for k in range(2, 8))
S8, S9, S10, S11, S12, S13 = (1.0 / math.factorial(k) for k in range(8, 14))


def exp_not_positive(K: np.ndarray) -> np.ndarray:
    """Replace each element t by exp(min(t, 0)), in place; t is finite.

    K is contiguous. The error is about one unit in the last place, and what would be subnormal, or
    nearly so, becomes 0: below exp(-87) in single precision and exp(-708) in double.
    """
    _exp(K.reshape(-1))
    return K


def exp_in_place(t: Any) -> None:
    """exp(t) = 2^k exp(t - k log(2)), where a product with 2^k is a sum of exponents."""
    (_exp_single if t.dtype == np.float32 else _exp_double)(t)


@inner
def _exp_single(t: Any) -> None:
    bits = t.view(np.int32)  # here, so that the compiler knows it for the same memory
    for j in range(t.size):
        t_j = t[j]
        x = max(min(t_j, ZERO), LEAST)
        k = np.floor(x * LOG2_E + HALF)
        r = x - k * LOG_2_HIGH - k * LOG_2_LOW
        p = ((((P5 * r + P4) * r + P3) * r + P2) * r + P1) * r + P0
        t[j] = p * r * r + r + ONE
        bits[j] = (bits[j] + (np.int32(k) << BITS)) * (t_j >= LEAST)


@inner
def _exp_double(t: Any) -> None:
    bits = t.view(np.int64)
    for j in range(t.size):
        t_j = t[j]
        x = max(min(t_j, 0.0), LEAST_DOUBLE)
        k = np.floor(x * LOG2_E_DOUBLE + 0.5)
        r = x - k * LOG_2_HIGH_DOUBLE - k * LOG_2_LOW_DOUBLE
        p = (((((S13 * r + S12) * r + S11) * r + S10) * r + S9) * r + S8) * r + S7
        p = ((((p * r + S6) * r + S5) * r + S4) * r + S3) * r + S2
        t[j] = p * r * r + r + 1.0
        bits[j] = (bits[j] + (np.int64(k) << BITS_DOUBLE)) * (t_j >= LEAST_DOUBLE)


@overload(exp_in_place, jit_options=INNER)
def _compiled_exp(t: Any) -> Callable[[Any], None]:
    loop = _exp_single if t.dtype == types.float32 else _exp_double

    def call(t: Any) -> None:
        loop(t)

    return call


@plain
def _exp(t: Any) -> None:
    exp_in_place(t)
