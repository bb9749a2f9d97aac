"""Moreau-Yosida regularization (the Moreau envelope): any loss made smooth (paper, section 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

from resolvent._jit import conjugate, resolvent, slope, value


class Envelope(NamedTuple):
    """The loss that :func:`envelope` makes; itself a loss like any other.

    Parameters
    ----------
    loss : loss
        The loss to be smoothed.
    alpha : float
        The curvature that it has at most.

    Examples
    --------
    >>> from resolvent.losses import Absolute, Envelope
    >>> Envelope(Absolute(), 1.0).value(0.0, 0.5)  # Huber's loss
    0.125
    """

    loss: Any
    alpha: float
    limits = {"alpha": "(0, inf)"}

    @property
    def targets(self) -> str:
        """The targets that the loss takes."""
        return getattr(self.loss, "targets", "real")

    def value(self, y: float, z: float) -> float:
        u = resolvent(self.loss, y, self.alpha * z, self.alpha)
        away = u / self.alpha  # from z to the proximal point
        return value(self.loss, y, z - away) + 0.5 * u * away

    def derivative(self, y: float, z: float) -> float:
        return resolvent(self.loss, y, self.alpha * z, self.alpha)

    def conjugate(self, y: float, u: float) -> float:
        return conjugate(self.loss, y, u) + 0.5 * u * (u / self.alpha)

    # u + a z = v with z = x + u / alpha, u a subgradient of the loss at x.

    def resolvent(self, y: float, v: float, a: float) -> float:
        stretch = 1.0 + a / self.alpha
        return resolvent(self.loss, y, v / stretch, a / stretch)

    def slope(self, y: float, v: float, a: float) -> float:
        stretch = 1.0 + a / self.alpha
        return slope(self.loss, y, v / stretch, a / stretch) / stretch


def envelope(loss: Any, alpha: float) -> Envelope:
    """Moreau-Yosida regularization of a loss, min over x of L(y, x) + alpha / 2 (x - z)^2.

    It is convex, never above L, has the same minimisers, and a derivative that is Lipschitz
    continuous with modulus `alpha`. As `alpha` grows it tends to L. Its derivative is the resolvent
    of the loss at (alpha z, alpha).

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance, also of a class of your own.
    alpha : float
        The curvature that the result has at most, above 0.

    Returns
    -------
    Envelope
        A loss, for `solve` and all estimators. It has no link: predictions are scores.

    Examples
    --------
    >>> from resolvent.losses import envelope
    >>> smooth = envelope("hinge", 1.0)
    >>> smooth.value(1.0, -1.0), smooth.value(1.0, 0.5)  # 1/2 - m, and (1 - m)^2 / 2
    (1.5, 0.125)
    """
    from resolvent.losses import as_loss

    inner = as_loss(loss)
    if hasattr(inner, "couples"):
        raise ValueError(f"{inner!r} couples several scores; envelope is for losses of one.")
    return as_loss(Envelope(inner, alpha))  # type: ignore[call-arg]
