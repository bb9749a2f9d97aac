"""Data for tests of every loss."""

from __future__ import annotations

import numpy as np

from resolvent.losses import LOSSES


def losses_for(*kinds: str) -> list[str]:
    """Names of the losses whose targets are of one of the kinds: "sign", "nonnegative", "real"."""
    return [name for name, cls in LOSSES.items() if getattr(cls, "targets", "real") in kinds]


def as_targets(loss: str, f: np.ndarray) -> np.ndarray:
    """Make real numbers into targets of a loss: signs, counts, or the numbers themselves."""
    kind = getattr(LOSSES[loss], "targets", "real")
    return {"sign": np.where(f > 0, 1.0, -1.0), "nonnegative": np.floor(np.exp(f)), "real": f}[kind]
