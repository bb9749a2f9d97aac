"""The same problem in other units of the target.

A loss with the class attribute ``degree`` satisfies L(s y, s z) = s^degree L(y, z) for s > 0, where
its parameters named in ``units`` are multiplied by s too. The penalty of s f is s^2 |f|^2 / 2.
Hence s f minimises the problem with targets s y if f does so for y, where C is multiplied by
s^(2 - degree). For losses with a logarithmic link L(s y, z + log s) = s^degree L(y, z), scores move
by a constant, which is not penalised, and C is multiplied by s^(-degree).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.losses.envelope import Envelope

NORMAL_QUARTILES = 1.349  # the distance between the quartiles of a standard normal variable
ROUNDING = 1e-14

__all__ = ["has_link", "has_unit", "in_units", "unit_of"]


def has_link(loss: Any) -> bool:
    """Whether predictions are not the scores but a function of them."""
    return "inverse_link" in vars(type(loss))


def has_unit(loss: Any) -> bool:
    """Whether targets of a loss have a unit that fits do not depend on; counts have one already."""
    inner = getattr(loss, "loss", loss)
    return getattr(inner, "degree", None) is not None and not hasattr(inner, "of_counts")


def in_units(loss: Any, unit: float) -> tuple[Any, float]:
    """Loss and factor of C for targets that were multiplied by `unit`.

    Parameters
    ----------
    loss : loss
        A loss; without the attribute ``degree`` it is returned as it is, with factor 1.
    unit : float
        What the targets were multiplied by.

    Examples
    --------
    >>> from resolvent.losses import Huber, Pinball
    >>> from resolvent.losses.units import in_units
    >>> in_units(Huber(delta=0.5), 10.0)
    (Huber(delta=5.0), 1.0)
    >>> in_units(Pinball(0.9), 10.0)
    (Pinball(tau=0.9), 10.0)
    """
    if isinstance(loss, Envelope):
        inner, factor = in_units(loss.loss, unit)
        return Envelope(inner, loss.alpha / factor), factor  # type: ignore[call-arg]
    if hasattr(loss, "loss"):
        inner, factor = in_units(loss.loss, unit)
        return loss._replace(loss=inner), factor
    degree = getattr(loss, "degree", None)
    if degree is None:
        return loss, 1.0
    scaled = {name: unit * getattr(loss, name) for name in getattr(loss, "units", ())}
    return loss._replace(**scaled), unit ** ((0.0 if has_link(loss) else 2.0) - degree)


def unit_of(loss: Any, y: np.ndarray, weight: np.ndarray) -> float:
    """Size of targets: their spread or, for losses with a link, their mean.

    The spread is the distance between the quartiles over 1.349, which is the standard deviation of
    normal targets and no matter of outliers; where half of the targets are equal it is the standard
    deviation. The unit is 1 where a loss has no ``degree``, or one of counts (``of_counts``), which
    have a unit already, and where it would be zero.
    """
    inner = getattr(loss, "loss", loss)
    largest = float(np.abs(y).max())
    if not has_unit(loss) or not 0.0 < largest < np.inf:
        return 1.0
    scaled, share = y / largest, weight / weight.sum()  # so that nothing overflows
    size = float(share @ scaled) if has_link(inner) else _spread(scaled, share)
    return largest * size if size > ROUNDING else 1.0


def _spread(y: np.ndarray, share: np.ndarray) -> float:
    order = np.argsort(y)
    below = np.cumsum(share[order])
    low, high = (y[order[np.searchsorted(below, q - ROUNDING)]] for q in (0.25, 0.75))
    if high - low > ROUNDING:
        return float(high - low) / NORMAL_QUARTILES
    return float(np.sqrt(share @ (y - share @ y) ** 2))
