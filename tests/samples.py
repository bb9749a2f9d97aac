"""Data for tests of every loss."""

from __future__ import annotations

import numpy as np

from resolvent.losses import LOSSES


def losses_for(*kinds: str) -> list[str]:
    """Names of losses whose targets are "sign", "nonnegative", "positive" or "real"."""
    return [name for name, cls in LOSSES.items() if getattr(cls, "targets", "real") in kinds]


def as_targets(loss: str, f: np.ndarray) -> np.ndarray:
    """Make real numbers into targets of a loss: signs, counts, or the numbers themselves."""
    kind = getattr(LOSSES[loss], "targets", "real")
    return {
        "sign": np.where(f > 0, 1.0, -1.0),
        "nonnegative": np.floor(np.exp(f)),
        "positive": np.exp(f),
        "real": f,
    }[kind]


def assert_same_predictions(found: np.ndarray, expected: np.ndarray, atol: float = 1e-12) -> None:
    """Labels must be equal, numbers up to rounding.

    Products of the same numbers elsewhere in memory, or in other threads, may add them up in
    another order.
    """
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol)
    else:
        np.testing.assert_array_equal(found, expected)
