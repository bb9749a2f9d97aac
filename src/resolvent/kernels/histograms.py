"""Kernels of vectors of amounts: counts, histograms, fingerprints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resolvent.kernels.base import Kernel, check_number
from resolvent.kernels.exponential import exp_not_positive
from resolvent.kernels.points import Points

__all__ = ["AdditiveChi2", "Chi2", "Tanimoto"]


@dataclass(frozen=True)
class Chi2(Kernel):
    """The exponential chi-squared kernel exp(-gamma sum_j (a_j - b_j)^2 / (a_j + b_j)).

    It is scikit-learn's ``chi2_kernel``, for histograms and other vectors without negative
    elements. A term is 0 where both elements are.

    Parameters
    ----------
    gamma : float
        Positive. By the name "chi2", ``gamma="scale"`` is 1 / sum_j var(X_j) / mean(X_j): about the
        inverse of the mean distance, so that it does not depend on the units of the data.

    Examples
    --------
    >>> from resolvent.kernels import Chi2
    >>> Chi2(gamma=0.5)([[1.0, 1.0, 0.0]], [[3.0, 1.0, 0.0]]).round(3).tolist()
    [[0.607]]
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0, above=True)

    @property
    def bounded(self) -> bool:
        return True

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.chi2_distances(b, out)
        K *= -self.gamma
        return exp_not_positive(K)

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))


@dataclass(frozen=True)
class AdditiveChi2(Kernel):
    """The additive chi-squared kernel sum_j 2 a_j b_j / (a_j + b_j).

    This is the kernel that scikit-learn's ``AdditiveChi2Sampler`` approximates (Vedaldi and
    Zisserman, 2012), for vectors without negative elements. Twice it is ``additive_chi2_kernel(A,
    B)`` plus ``sum(a) + sum(b)``: that function is only conditionally positive definite, and in a
    machine with an offset the two are the same model.

    Examples
    --------
    >>> from resolvent.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 1.0, 0.0]], [[3.0, 1.0, 2.0]]).round(3).tolist()
    [[2.5]]
    """

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        # 2 a b / (a + b) = (a + b - (a - b)^2 / (a + b)) / 2
        K = a.chi2_distances(b, out)
        np.subtract((a.sums[:, None] + b.sums).astype(K.dtype, copy=False), K, out=K)
        K *= 0.5
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return points.sums


@dataclass(frozen=True)
class Tanimoto(Kernel):
    """The Tanimoto kernel a'b / (|a|^2 + |b|^2 - a'b), which is 1 for two rows of zeros.

    Of sets, as vectors of 0 and 1, it is Jaccard's similarity: how many elements two of them share,
    of those that are in either. It does not depend on the units of the data.

    It is positive semidefinite for any real vectors. With s = |a|^2 + |b|^2 it is the sum over r =
    1, 2, ... of (a'b / s)^r, which converges as 2 |a'b| <= s, and 1 / s is Cauchy's kernel.

    Examples
    --------
    >>> from resolvent.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1]], [[1, 1, 1, 0]]).round(3).tolist()
    [[0.5]]
    """

    def evaluate(self, a: Points, b: Points, out: np.ndarray | None = None) -> np.ndarray:
        K = a.dots(b, out)
        s = (a.sq_norms[:, None] + b.sq_norms).astype(K.dtype, copy=False)
        s -= K
        empty = np.ix_(~a.nonzero, ~b.nonzero)
        s[empty] = K[empty] = 1
        K /= s
        return K

    def diagonal(self, points: Points) -> np.ndarray:
        return np.ones(len(points))
