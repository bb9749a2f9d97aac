"""Losses of scores of which a part is known for each row: L(y, z + o) as a loss of z.

Where the loss allows, it is itself a loss of other targets and weights, and everything else is as
it was without offsets:

- a function of y - z alone (class attribute ``of_residual``) has L(y, z + o) = L(y - o, z);
- one with a logarithmic link has L(y, z + o) = exp(d o) L(exp(-o) y, z), d its ``degree``: counts
  with an exposure exp(o) are rates with a weight.

Others are wrapped. Their targets are then complex numbers y + i o, so that each row has its own
offset in every loop over targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resolvent._jit import conjugate, resolvent, response, slope, value
from resolvent.losses.envelope import Envelope
from resolvent.losses.units import has_link

__all__ = ["Offset", "OffsetOfColumns", "with_offset"]

FARTHEST = 200.0  # logarithms of exposures whose exponentials may be factors of weights


class Offset(NamedTuple):
    """The loss L(y, z + o) of targets y + i o.

    Examples
    --------
    >>> from resolvent.losses import Hinge
    >>> from resolvent.losses.offset import Offset
    >>> Offset(Hinge()).value(1.0 + 0.25j, 0.5), Hinge().value(1.0, 0.75)
    (0.25, 0.25)
    """

    loss: Any

    @property
    def targets(self) -> str:
        """The targets that the loss takes, as their real parts."""
        return getattr(self.loss, "targets", "real")

    @property
    def iterative(self) -> bool:
        """Whether a resolvent takes iterations."""
        return getattr(self.loss, "iterative", False)

    def value(self, y: complex, z: float) -> float:
        return value(self.loss, y.real, z + y.imag)

    def conjugate(self, y: complex, u: float) -> float:
        return conjugate(self.loss, y.real, u) - u * y.imag

    # u + a z = v with u a subgradient of the loss at z + o.

    def resolvent(self, y: complex, v: float, a: float) -> float:
        return resolvent(self.loss, y.real, v + a * y.imag, a)

    def slope(self, y: complex, v: float, a: float) -> float:
        return slope(self.loss, y.real, v + a * y.imag, a)

    def response(self, y: complex, v: float, a: float) -> tuple[float, float]:
        return response(self.loss, y.real, v + a * y.imag, a)


class OffsetOfColumns(NamedTuple):
    """The loss of several scores of a row together, each with an offset.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import Multinomial
    >>> from resolvent.losses.offset import OffsetOfColumns
    >>> y, o, z = np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.array([0.1, 0.3])
    >>> loss = OffsetOfColumns(Multinomial())
    >>> bool(loss.value(y + 1j * o, z) == Multinomial().value(y, z + o))
    True
    """

    loss: Any
    couples = "columns"
    targets = "one_hot"

    def value(self, y: Any, z: Any) -> Any:
        return value(self.loss, y.real, z + y.imag)

    def conjugate(self, y: Any, u: Any) -> Any:
        return conjugate(self.loss, y.real, u) - np.sum(u * y.imag)

    def resolvent(self, y: Any, v: Any, a: float) -> Any:
        return resolvent(self.loss, y.real, v + a * y.imag, a)

    def slope(self, y: Any, v: Any, a: float) -> Any:
        return slope(self.loss, y.real, v + a * y.imag, a)


def with_offset(
    loss: Any, y: np.ndarray, weight: np.ndarray, offset: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Loss, targets and weights of the problem in which `offset` is added to all scores.

    Parameters
    ----------
    loss : loss
        The loss.
    y : ndarray
        Targets.
    weight : ndarray
        Weights of the losses, which broadcast against the targets.
    offset : ndarray of the shape of y
        What is added to the scores.

    Returns
    -------
    tuple of loss, ndarray and ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import Absolute, Poisson
    >>> from resolvent.losses.offset import with_offset
    >>> with_offset(Absolute(), np.array([3.0]), np.array([1.0]), np.array([2.0]))
    (Absolute(), array([1.]), array([1.]))
    >>> loss, rate, exposure = with_offset(Poisson(), np.array([3.0]), np.array([1.0]), np.log([2]))
    >>> rate.round(9).tolist(), exposure.round(9).tolist()
    ([1.5], [2.0])
    """
    inner = loss.loss if isinstance(loss, Envelope) else loss
    if getattr(inner, "of_residual", False):
        return loss, y - offset, weight
    degree = getattr(loss, "degree", None)
    if has_link(loss) and degree is not None and np.abs(offset).max() <= FARTHEST:
        return loss, y * np.exp(-offset), weight * np.exp(degree * offset)
    wrapped: Any = OffsetOfColumns if getattr(loss, "couples", "") == "columns" else Offset
    return wrapped(loss), y + 1j * offset, weight
