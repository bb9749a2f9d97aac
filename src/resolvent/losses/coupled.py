"""Losses that do not fall apart into one term for each score: the paper's general f.

They have the methods of every loss (see :mod:`resolvent.losses`), of vectors instead of numbers:
y, z, u and v are the targets, scores and subgradients of a *group*, and the resolvent is a vector.
The class attribute ``couples`` says what a group is: "samples", all samples of one problem, or
"columns", the scores of one sample, one for each class. In the latter y has a one in the place of
the class and zeros elsewhere.

``slope(y, v, a)`` returns vectors d and e: the derivative of the resolvent with respect to v is the
matrix diag(d) - e e'.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import inner, resolvent
from resolvent._numeric import ULPS
from resolvent.losses.log_link import log_lambert

INF = math.inf
Vector = NDArray[np.float64]


@inner
def threshold(x: Vector) -> float:
    """Find the theta for which the positive parts of x - theta sum to one.

    It rises from that of all entries as those below it are left out, and ends after a few rounds.
    """
    theta = (float(np.sum(x)) - 1.0) / len(x)
    while True:
        total, count = 0.0, 0
        for t in x:
            if t > theta:
                total += t
                count += 1
        higher = (total - 1.0) / count
        if not higher > theta:
            return theta
        theta = higher


@inner
def onto_simplex(x: Vector) -> Vector:
    """Project x on the vectors that are not negative and sum to one."""
    high = largest(x)
    p = np.empty(len(x))
    for i in range(len(x)):
        p[i] = x[i] - high  # so that no digits are lost where x is large
    theta = threshold(p)
    total = 0.0
    for i in range(len(x)):
        p[i] = max(p[i] - theta, 0.0)
        total += p[i]
    for i in range(len(x)):
        p[i] /= total
    return p


@inner
def largest(x: Vector) -> float:
    """Largest entry."""
    high = -INF
    for t in x:
        high = max(high, t)
    return high


@inner
def in_simplex(y: Vector, u: Vector) -> bool:
    """Whether u + y is in the simplex, to rounding."""
    total, low = 0.0, INF
    for i in range(len(u)):
        total += u[i]
        low = min(low, u[i] + y[i])
    return low >= -ULPS * len(u) and abs(total) <= ULPS * len(u)


@inner
def bend(d: Vector) -> Vector:
    """Compute d / sqrt(sum(d)): what keeps the sum of a projected vector."""
    total = 0.0
    for x in d:
        total += x
    e = np.empty(len(d))
    for i in range(len(d)):
        e[i] = d[i] / math.sqrt(total)
    return e


class Chebyshev(NamedTuple):
    """Largest residual of all samples, max_i |y_i - z_i|: minimax approximation.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import Chebyshev
    >>> float(Chebyshev().value(np.array([1.0, 2.0]), np.array([0.5, 4.0])))
    2.0
    """

    couples = "samples"
    degree = 1
    of_residual = True

    def value(self, y: Vector, z: Vector) -> Any:
        return np.max(np.abs(y - z))

    def conjugate(self, y: Vector, u: Vector) -> Any:
        return np.sum(u * y) if np.sum(np.abs(u)) <= 1.0 + ULPS * len(u) else INF

    def resolvent(self, y: Vector, v: Vector, a: float) -> Any:  # on the l1 ball
        x = v - a * y
        size = np.abs(x)
        if np.sum(size) <= 1.0:
            return x
        return np.sign(x) * onto_simplex(size)

    def slope(self, y: Vector, v: Vector, a: float) -> Any:
        x = v - a * y
        if np.sum(np.abs(x)) <= 1.0:
            return np.ones(len(x)), np.zeros(len(x))
        face = np.sign(resolvent(self, y, v, a))
        return np.abs(face), face / math.sqrt(np.sum(np.abs(face)))


class RootSquared(NamedTuple):
    """Euclidean norm of the residuals of all samples: the square-root form of least squares.

    Its solution is that of the squared loss with another weight, C / |y - z|: the weight that suits
    depends less on the size of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import RootSquared
    >>> float(RootSquared().value(np.array([3.0, 2.0]), np.array([0.0, 6.0])))
    5.0
    """

    couples = "samples"
    degree = 1
    of_residual = True

    def value(self, y: Vector, z: Vector) -> Any:
        return np.sqrt(np.sum((y - z) ** 2))

    def conjugate(self, y: Vector, u: Vector) -> Any:
        return np.sum(u * y) if np.sum(u * u) <= 1.0 + ULPS * len(u) else INF

    def resolvent(self, y: Vector, v: Vector, a: float) -> Any:  # on the l2 ball
        x = v - a * y
        largest = np.max(np.abs(x))
        if largest == 0.0:
            return x
        norm = largest * np.sqrt(np.sum((x / largest) ** 2))
        return x / max(norm, 1.0)

    def slope(self, y: Vector, v: Vector, a: float) -> Any:
        x = resolvent(self, y, v, a)
        if np.sum(x * x) < 1.0 - 1e-12:
            return np.ones(len(x)), np.zeros(len(x))
        norm = max(np.sqrt(np.sum((v - a * y) ** 2)), 1.0)
        return np.full(len(x), 1.0 / norm), x / np.sqrt(norm)


# The methods of losses that couple columns are compiled, hence plain loops: array expressions would
# take Numba several times as long.


class Multinomial(NamedTuple):
    """Logistic loss of several classes, log(sum_k exp(z_k)) - z_y: one model of all probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import Multinomial
    >>> round(float(Multinomial().value(np.array([0.0, 1.0, 0.0]), np.zeros(3))), 6)  # log(3)
    1.098612
    """

    couples = "columns"
    targets = "one_hot"

    def inverse_link(self, z: Vector) -> Any:
        """Probabilities of the classes."""
        high, total = largest(z), 0.0
        p = np.empty(len(z))
        for i in range(len(z)):
            p[i] = math.exp(z[i] - high)
            total += p[i]
        for i in range(len(z)):
            p[i] /= total
        return p

    def value(self, y: Vector, z: Vector) -> Any:
        high, total, short = largest(z), 0.0, 0.0
        for i in range(len(z)):
            total += math.exp(z[i] - high)
            short += y[i] * (high - z[i])
        return math.log(total) + short

    def conjugate(self, y: Vector, u: Vector) -> Any:
        if not in_simplex(y, u):
            return INF
        total = 0.0
        for i in range(len(u)):
            p = u[i] + y[i]
            if p > 0.0:
                total += p * math.log(p)
        return total

    def resolvent(self, y: Vector, v: Vector, a: float) -> Any:
        # With p = u + y the equation is p_k + a log(p_k) = w_k - theta, where theta makes p sum to
        # one. The sum is convex and falls in theta: Newton's iteration from the left never
        # overshoots, and has arrived when the sum no longer falls.
        k = len(v)
        w, p = np.empty(k), np.empty(k)
        for i in range(k):
            w[i] = v[i] + y[i]
        high, mean = largest(w), 0.0
        for i in range(k):
            w[i] -= high
            mean += w[i] / k
        theta = max(-1.0, mean - 1.0 / k + a * math.log(k))
        last = INF
        while True:
            total, rate = 0.0, 0.0
            for i in range(k):
                p[i] = a * math.exp(log_lambert((w[i] - theta) / a - math.log(a)))
                total += p[i]
                rate += p[i] / (p[i] + a)
            if not 1.0 < total < last:
                others, own = 0.0, 0
                for i in range(k):
                    p[i] = p[i] / total
                    if y[i] > 0.0:
                        own = i
                    else:
                        others += p[i]
                p[own] = -others  # p - 1, with all its digits
                return p
            last = total
            theta += (total - 1.0) / rate

    def slope(self, y: Vector, v: Vector, a: float) -> Any:
        d = resolvent(self, y, v, a)
        for i in range(len(d)):
            p = max(d[i] + y[i], 0.0)
            d[i] = p / (p + a)
        return d, bend(d)


class CrammerSinger(NamedTuple):
    """Hinge loss of several classes, max_k (z_k + 1 [k is not y]) - z_y, of Crammer and Singer.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.losses import CrammerSinger
    >>> float(CrammerSinger().value(np.array([0.0, 1.0]), np.array([0.5, 1.0])))
    0.5
    """

    couples = "columns"
    targets = "one_hot"

    def value(self, y: Vector, z: Vector) -> Any:
        right, high = 0.0, -INF
        for i in range(len(z)):
            right += y[i] * z[i]
        for i in range(len(z)):
            high = max(high, z[i] - right + 1.0 - y[i])
        return high

    def conjugate(self, y: Vector, u: Vector) -> Any:
        if not in_simplex(y, u):
            return INF
        total = 0.0
        for i in range(len(u)):
            total += u[i] * y[i]
        return total

    def resolvent(self, y: Vector, v: Vector, a: float) -> Any:
        # Project x + y on the simplex, less y. Only differences from the score of the sample's own
        # class are used, so that no digits are lost where the projection is next to y.
        own, x = 0, np.empty(len(v))
        for i in range(len(v)):
            if y[i] > 0.0:
                own = i
        for i in range(len(v)):
            x[i] = v[i] - v[own] + a
        x[own] = 0.0
        theta = 0.0
        while True:  # theta rises as those below it are left out
            total, count = 0.0, 1
            for t in x:
                if t > theta:
                    total += t
                    count += 1
            higher = total / count
            if not theta < higher < 1.0:
                break
            theta = higher
        if higher >= 1.0:  # the own class is left out too
            x[own] = -INF
            x = onto_simplex(x)
            x[own] = -1.0
            return x
        total = 0.0
        for i in range(len(x)):
            x[i] = max(x[i] - theta, 0.0)
            total += x[i]
        x[own] = -total
        return x

    def slope(self, y: Vector, v: Vector, a: float) -> Any:
        d = resolvent(self, y, v, a)
        for i in range(len(d)):
            d[i] = 1.0 if d[i] + y[i] > 0.0 else 0.0
        return d, bend(d)
