"""Convex losses, each by its scalar functions.

A loss is a NamedTuple of its parameters with three methods of plain numbers, where
``u`` stands for a subgradient dL/dz:

``value(y, z)``
    L(y, z).
``conjugate(y, u)``
    sup over z of u z - L(y, z); infinite outside its domain.
``resolvent(y, v, a)``
    the u with u + a z = v for a z at which u is a subgradient of L(y, .): the resolvent of the
    inverse subdifferential, equation (6) of the paper, with parameter a.

``slope(y, v, a)``
    the derivative of the resolvent with respect to v, for Newton's method; optional, by default
    from differences. ``response(y, v, a)`` may give both where one follows from the other.

A loss that gives ``value`` and ``derivative(y, z)`` alone gets the other two numerically. The
class attributes ``targets`` ("real", "sign", "nonnegative" or "positive") and ``limits`` (intervals
of the parameters) are optional and serve error messages. With the optional attributes ``degree``
and ``units`` regressors can measure targets in units of their spread, see
:mod:`resolvent.losses.units`; ``of_residual = True`` says that a loss is a function of y - z alone,
which makes offsets of rows cheap, see :mod:`resolvent.losses.offset`.

Losses that couple several scores are in :data:`COUPLED`, see :mod:`resolvent.losses.coupled`.
"""

from __future__ import annotations

import math
from typing import Any

from resolvent.losses.check import check_loss
from resolvent.losses.classification import (
    Hinge,
    Logistic,
    ModifiedHuber,
    SmoothedHinge,
    SquaredHinge,
)
from resolvent.losses.coupled import Chebyshev, CrammerSinger, Multinomial, RootSquared
from resolvent.losses.envelope import Envelope, envelope
from resolvent.losses.log_link import Gamma, Poisson, Tweedie
from resolvent.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
)

LOSSES: dict[str, Any] = {
    "squared": Squared,
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
    "pinball": Pinball,
    "expectile": Expectile,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "logistic": Logistic,
    "modified_huber": ModifiedHuber,
}

COUPLED: dict[str, Any] = {
    "chebyshev": Chebyshev,
    "root_squared": RootSquared,
    "multinomial": Multinomial,
    "crammer_singer": CrammerSinger,
}

BY_NAME = LOSSES | COUPLED

__all__ = [
    "COUPLED",
    "LOSSES",
    "Envelope",
    "as_loss",
    "check_loss",
    "envelope",
    "is_for_labels",
    *(cls.__name__ for cls in BY_NAME.values()),
]


def is_for_labels(loss: Any) -> bool:
    """Whether the targets of a loss are labels of classes, so that it is for classification."""
    return getattr(loss, "targets", "real") in ("sign", "one_hot")


def as_loss(loss: Any) -> Any:
    """Turn a name, a class or an instance into a loss whose parameters are valid floats.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter is outside its interval.
    TypeError
        If it is not a NamedTuple with the methods of a loss.

    Examples
    --------
    >>> from resolvent.losses import as_loss
    >>> as_loss("huber")
    Huber(delta=1.0)
    """
    if isinstance(loss, str):
        if loss not in BY_NAME:
            raise ValueError(
                f"loss={loss!r} is unknown; choose one of {', '.join(BY_NAME)}, or "
                "pass an instance of your own class."
            )
        loss = BY_NAME[loss]
    cls: Any = loss if isinstance(loss, type) else type(loss)
    name = cls.__name__
    if not (issubclass(cls, tuple) and "_fields" in vars(cls) and "value" in vars(cls)):
        raise TypeError(
            f"loss={loss!r} is not a loss: it must be a name, or an instance of a "
            "typing.NamedTuple class with the methods value, conjugate and resolvent "
            "(or value and derivative)."
        )
    if "derivative" not in vars(cls) and not {"conjugate", "resolvent"} <= vars(cls).keys():
        raise TypeError(f"{name} must have the methods conjugate and resolvent, or derivative.")
    required = [field for field in cls._fields if field not in cls._field_defaults]
    if isinstance(loss, type) and required:
        raise TypeError(
            f"{name} has parameters without a default ({', '.join(required)}): pass an instance."
        )
    try:
        # One specialisation for each loss: an int parameter would compile a second one.
        instance = cls(*map(_parameter, cls() if isinstance(loss, type) else loss))
    except (TypeError, ValueError) as error:
        raise TypeError(f"The parameters of {name} must be numbers: {error}.") from None
    for field, interval in getattr(cls, "limits", {}).items():
        lo, hi = (float(end) for end in interval[1:-1].split(","))
        x = getattr(instance, field)
        closed = math.isfinite(x) and x == lo and interval[0] == "["
        if not (lo < x < hi or closed):
            raise ValueError(f"{name}: {field}={x:g} must be in {interval}.")
    return instance


def _parameter(x: Any) -> Any:
    """Turn a parameter into a float; the parameter of an envelope is a loss."""
    return as_loss(x) if isinstance(x, tuple) else float(x)
