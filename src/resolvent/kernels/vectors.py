"""Kernels of vectors, which are functions of their inner product or of their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resolvent.kernels.base import Kernel, check_number, is_number
from resolvent.kernels.exponential import exp_not_positive
from resolvent.kernels.points import TOLERANCE, Points

__all__ = ["RBF", "Cosine", "Laplacian", "Linear", "Matern", "Polynomial", "Sigmoid"]

LARGEST_ROOT = 1e153  # whose square, and the inverse of that, are numbers with some room


@dataclass(frozen=True)
class RBF(Kernel):
    """The Gaussian kernel exp(-gamma |a - b|^2).

    Parameters
    ----------
    gamma : float
        Positive; the inverse of twice the square of the length scale.

    Examples
    --------
    >>> from resolvent.kernels import RBF
    >>> RBF(gamma=0.1)([[0.0, 0.0]], [[1.0, 2.0]]).round(3).tolist()
    [[0.607]]
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0, above=True)

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        return a.sq_distances(b, scale=-self.gamma, out=out, exponential=True)

    @property
    def at_once(self) -> bool:
        return True

    def put(self, a: Points, b: Points, out: np.ndarray, where: np.ndarray, left: int) -> bool:
        a.put_sq_distances(b, -self.gamma, TOLERANCE, True, out, where, left)
        return True

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))


@dataclass(frozen=True)
class Laplacian(Kernel):
    """The kernel exp(-gamma |a - b|_1), with the sum of absolute differences.

    Parameters
    ----------
    gamma : float
        Positive.

    Examples
    --------
    >>> from resolvent.kernels import Laplacian
    >>> Laplacian(gamma=0.1)([[0.0, 0.0]], [[1.0, 2.0]]).round(3).tolist()
    [[0.741]]
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0, above=True)

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.l1_distances(b, out)
        K *= -self.gamma
        return exp_not_positive(K)

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))


@dataclass(frozen=True)
class Matern(Kernel):
    """The Matérn kernel, with r = sqrt(2 nu) |a - b| / length_scale.

    It is exp(-r) for nu = 0.5, (1 + r) exp(-r) for 1.5 and (1 + r + r^2/3) exp(-r) for 2.5.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness: functions are nu - 0.5 times differentiable.
    length_scale : float
        Positive.

    Examples
    --------
    >>> from resolvent.kernels import Matern
    >>> Matern(nu=1.5, length_scale=2.0)([[0.0, 0.0]], [[1.0, 2.0]]).round(3).tolist()
    [[0.423]]
    """

    nu: float = 1.5
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "nu")
        check_number(self, "length_scale", least=1 / LARGEST_ROOT, most=LARGEST_ROOT)
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(
                f"nu={self.nu} of Matern has no closed form here: use 0.5, 1.5 or 2.5, "
                "or RBF, which is the limit of large nu."
            )

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        # exp(-r) has a kink at 0, so it feels the error of r; the others that of r^2.
        tol = TOLERANCE**2 if self.nu == 0.5 else TOLERANCE
        r = a.sq_distances(b, scale=2 * self.nu / self.length_scale**2, tol=tol, out=out)
        np.maximum(r, 0, out=r)
        np.sqrt(r, out=r)
        np.minimum(r, 1e4, out=r)  # exp(-r) is 0 there, and the factor must not overflow
        if self.nu == 0.5:
            np.negative(r, out=r)
            return exp_not_positive(r)
        factor = 1 + r if self.nu == 1.5 else 1 + r * (1 + r / 3)
        np.negative(r, out=r)
        exp_not_positive(r)
        r *= factor
        return r

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel (gamma a'b + coef0)^degree.

    Parameters
    ----------
    degree : int
        Not negative.
    gamma : float
        Positive.
    coef0 : float
        Weight of the lower powers. The kernel may be indefinite if it is negative.

    Examples
    --------
    >>> from resolvent.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[16.0]]
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0, above=True)
        check_number(self, "coef0")
        if not is_number(self.degree) or self.degree < 0 or self.degree % 1:
            raise ValueError(
                f"degree={self.degree!r} of Polynomial must be an integer of at least 0."
            )
        object.__setattr__(self, "degree", int(self.degree))

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.dots(b, out)
        K *= self.gamma
        K += self.coef0
        return _power(K, self.degree)

    def diagonal(self, points: Points) -> np.ndarray:
        return _power(self.gamma * points.sq_norms + self.coef0, self.degree)


def _power(base: np.ndarray, degree: int) -> np.ndarray:
    """Integer power in place, by squaring, which is many times faster than pow() and as exact."""
    factor = base.copy()
    if degree % 2 == 0:
        base.fill(1)
    while degree := degree // 2:
        factor *= factor
        if degree % 2:
            base *= factor
    return base


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The function tanh(gamma a'b + coef0), which is not a positive semidefinite kernel.

    It is here for those who ask for it; the optimum found with it need not be the global one.

    Parameters
    ----------
    gamma : float
        Positive.
    coef0 : float
        Shift.

    Examples
    --------
    >>> from resolvent.kernels import Sigmoid
    >>> Sigmoid(gamma=0.1)([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[0.291]]
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0, above=True)
        check_number(self, "coef0")

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.dots(b, out)
        K *= self.gamma
        K += self.coef0
        return np.tanh(K, out=K)

    def diagonal(self, points: Points) -> np.ndarray:
        return np.tanh(self.gamma * points.sq_norms + self.coef0)


@dataclass(frozen=True)
class Cosine(Kernel):
    """The cosine of the angle between a and b; 0 if one of them is zero.

    Examples
    --------
    >>> from resolvent.kernels import Cosine
    >>> Cosine()([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[0.949]]
    """

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        return a.cosines(b, out)

    def diagonal(self, points: Points) -> np.ndarray:
        return points.nonzero.astype(np.float64)


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel a'b + bias^2.

    Parameters
    ----------
    bias : float
        Value of a constant feature that is appended to the data, whose coefficient is a penalised
        offset.

    Examples
    --------
    >>> from resolvent.kernels import Linear
    >>> Linear(bias=1.0)([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[4.0]]
    """

    bias: float = 0.0

    def __post_init__(self) -> None:
        check_number(self, "bias", least=-LARGEST_ROOT, most=LARGEST_ROOT)

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.dots(b, out)
        K += self.bias**2
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return points.sq_norms + self.bias**2
