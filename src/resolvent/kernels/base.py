"""What a kernel is, and how kernels are combined."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from resolvent._frames import ColumnEncoding
from resolvent.kernels.points import Points, deliver

__all__ = [
    "Constant",
    "Kernel",
    "Product",
    "Scaled",
    "Sum",
    "check_number",
    "is_number",
    "read_columns",
]


class Kernel(ABC):
    """A kernel function. Subclasses are frozen dataclasses of their parameters."""

    __array_ufunc__ = None  # so that a NumPy number times a kernel is left to the kernel

    @property
    def numeric(self) -> bool:
        """Whether the kernel needs numbers, rather than objects of any kind."""
        return any(part.numeric for part in self.parts) if self.parts else True

    @property
    def parallel(self) -> bool:
        """Whether the kernel may be evaluated by several threads at a time."""
        return all(part.parallel for part in self.parts)

    @property
    def symmetric(self) -> bool:
        """Whether k(a, b) = k(b, a) is known."""
        return all(part.symmetric for part in self.parts)

    @property
    def bounded(self) -> bool:
        """Whether all values are finite whatever the data, so that they need no check."""
        return bool(self.parts) and all(part.bounded for part in self.parts)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return ()

    @property
    def nominal(self) -> bool:
        """Whether values are only compared for equality, so that words will do."""
        return bool(self.parts) and all(part.nominal for part in self.parts)

    @property
    def named(self) -> dict[str, bool]:
        """Columns that the kernel has by name, and whether all that it does is to compare them."""
        return _all_named(self.parts)

    @property
    def takes_all_columns(self) -> bool:
        """Whether the kernel is of whole rows, rather than of columns that it names."""
        return any(part.takes_all_columns for part in self.parts) if self.parts else True

    def resolved(self, X: Any, names: Sequence[str] | None, weight: Any) -> Kernel:
        """Return the kernel with what it learns from data: where its columns are, their scales.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d)
            The samples.
        names : sequence of str or None
            Names of their columns.
        weight : ndarray of shape (n,) or None
            Weights of the samples.
        """
        if not self.parts:
            return self
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        parts = {
            name: part.resolved(X, names, weight)
            for name, part in own.items()
            if isinstance(part, Kernel)
        }
        unchanged = all(parts[name] is own[name] for name in parts)
        return self if unchanged else replace(self, **parts)  # type: ignore[type-var]

    @abstractmethod
    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel matrix between two sets of points, of the points' dtype.

        It is written to `out`, a contiguous array, or to a new one.
        """

    @property
    def at_once(self) -> bool:
        """Whether `put` does what it says."""
        return False

    def put(self, a: Points, b: Points, out: np.ndarray, where: np.ndarray, left: int) -> bool:
        """Write values to the rows `where` of `out` from the column `left` on, and return True.

        That is for kernels whose values need not be written anywhere else before; others return
        False.
        """
        return False

    @abstractmethod
    def diagonal(self, points: Points) -> np.ndarray:
        """Values k(x, x), float64."""

    def __call__(self, A: Any, B: Any = None) -> np.ndarray:
        """Kernel matrix between the rows of A and those of B.

        Parameters
        ----------
        A, B : array-like or scipy sparse matrix, sequence of objects, or data frame
            Data, one sample a row. B is A if it is not given. What a kernel of columns learns, it
            learns from A.

        Returns
        -------
        ndarray of shape (len(A), len(B))
            Of float32 if A is, otherwise of float64.
        """
        A, encoding = read_columns(A, self)
        kernel = self.resolved(A, None if encoding is None else encoding.names, None)
        a = Points(A, numeric=self.numeric)
        with np.errstate(over="ignore", invalid="ignore"):
            if B is not None:
                return kernel.evaluate(a, a.like(B if encoding is None else encoding(B)))
            K = kernel.evaluate(a, a)
            if self.symmetric:  # if not, a function is in it, which is not called once more
                np.fill_diagonal(K, kernel.diagonal(a))
        return K

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__


def _all_named(kernels: Sequence[Kernel]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for kernel in kernels:
        for name, nominal in kernel.named.items():
            found[name] = found.get(name, True) and nominal
    return found


def read_columns(X: Any, *kernels: Kernel) -> tuple[Any, ColumnEncoding | None]:
    """Read a data frame, if kernels have columns by name: those that one of them has.

    Returns
    -------
    tuple
        The samples, and how to read others like them; X and None if no kernel has names.
    """
    named = _all_named(kernels)
    if not named:
        return X, None
    for kernel in kernels:
        if kernel.takes_all_columns:
            raise ValueError(
                f"{kernel} names columns in one part and not in another: say by ColumnKernel "
                "which columns each of its kernels is of."
            )
    encoding = ColumnEncoding.learn(X, named)
    return encoding(X), encoding


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number; True and False are not."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def check_number(
    kernel: Kernel,
    name: str,
    *,
    least: float = -math.inf,
    above: bool = False,
    most: float = math.inf,
) -> None:
    """Make the field `name` a float, or say what is wrong with it."""
    value = getattr(kernel, name)
    if not is_number(value) or not least <= value <= most or (above and value == least):
        bound = "" if least == -math.inf else f" {'above' if above else 'of at least'} {least:g}"
        bound += "" if most == math.inf else f" and at most {most:g}"
        raise ValueError(
            f"{name}={value!r} of {type(kernel).__name__} must be a finite number{bound}."
        )
    # A dataclass of floats compares, hashes and prints the same however the number was given.
    object.__setattr__(kernel, name, float(value))


@dataclass(frozen=True)
class Constant(Kernel):
    """The kernel that is the same for all pairs: added to another it is a penalised offset.

    Parameters
    ----------
    value : float
        Not negative.

    Examples
    --------
    >>> from resolvent.kernels import Constant
    >>> Constant(2.0)([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[2.0]]
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "value", least=0)

    @property
    def numeric(self) -> bool:
        return False

    @property
    def nominal(self) -> bool:
        return True

    @property
    def takes_all_columns(self) -> bool:
        return False

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        return deliver(np.broadcast_to(self.value, (len(a), len(b))), a.dtype, out)

    def diagonal(self, points: Points) -> np.ndarray:
        return np.full(len(points), self.value)


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of two kernels, ``left + right``.

    Examples
    --------
    >>> from resolvent.kernels import Constant, Linear
    >>> (Linear() + Constant(2.0))([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[5.0]]
    """

    left: Kernel
    right: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.left, self.right

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = self.left.evaluate(a, b, out)
        K += self.right.evaluate(a, b)
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return self.left.diagonal(points) + self.right.diagonal(points)


@dataclass(frozen=True)
class Product(Kernel):
    """The product of two kernels, ``left * right``.

    Examples
    --------
    >>> from resolvent.kernels import Linear
    >>> (Linear() * Linear())([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[9.0]]
    """

    left: Kernel
    right: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.left, self.right

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = self.left.evaluate(a, b, out)
        K *= self.right.evaluate(a, b)
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return self.left.diagonal(points) * self.right.diagonal(points)


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel times a positive number, ``factor * kernel``.

    Examples
    --------
    >>> from resolvent.kernels import Linear
    >>> (2.0 * Linear())([[1.0, 1.0]], [[1.0, 2.0]]).round(3).tolist()
    [[6.0]]
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        check_number(self, "factor", least=0, above=True)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = self.kernel.evaluate(a, b, out)
        K *= self.factor
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return self.factor * self.kernel.diagonal(points)
