"""Losses of a label y = -1 or +1 and a score z; m = y z is the margin.

By symmetry each is a function of the margin alone: with f the loss at y = 1, the subgradient at
(y, z) is y f'(y z), so conjugate and resolvent are those of f at y u and y v.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from resolvent._jit import inner, response
from resolvent._numeric import EPS, ULPS
from resolvent.losses.regression import clip

INF = math.inf
LAST = 1e-8  # a step of Newton's method whose square is rounding


@inner
def expit(x: float) -> float:
    """Logistic function 1 / (1 + exp(-x)) without overflow."""
    e = math.exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


@inner
def short_of_one(v: float, a: float) -> float:
    """Solve for p = expit(-m), what the probability lacks of 1, at the m with a m - p = v."""
    # The equation is increasing in m, and m is known up to 1 / a because p is in (0, 1). Beyond 745
    # the exponential underflows.
    lo, hi = max(v / a, -745.0), min((v + 1.0) / a, 745.0)
    if not lo < hi:
        return expit(-clip(v / a, -745.0, 745.0))
    m = lo if v >= 0.0 else hi
    if -1.0 < v < 0.0:
        m = clip(math.log1p(v) - math.log(-v), lo, hi)  # the root for a = 0
    while True:
        p = expit(-m)
        excess = a * m - p - v
        if excess > 0.0:
            hi = m
        else:
            lo = m
        step = excess / (a + p * (1.0 - p))
        if abs(step) <= max(LAST, EPS * abs(m)) or hi - lo <= EPS * abs(m):
            return p + p * (1.0 - p) * step  # m - step would round away the step
        m -= step
        if not lo < m < hi:  # Newton left the bracket: halve it
            m = 0.5 * (lo + hi)


class Hinge(NamedTuple):
    """Hinge loss (1 - m)+: the support vector machine, the paper's L1-SVM.

    Examples
    --------
    >>> from resolvent.losses import Hinge
    >>> Hinge().value(1.0, 0.25)
    0.75
    """

    targets = "sign"

    def value(self, y: float, z: float) -> float:
        return max(1.0 - y * z, 0.0)

    def conjugate(self, y: float, u: float) -> float:
        return y * u if -1.0 - ULPS <= y * u <= ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return -y * clip(a - y * v, 0.0, 1.0)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 if 0.0 < a - y * v < 1.0 else 0.0


class SquaredHinge(NamedTuple):
    """Squared hinge loss (1 - m)+^2, not halved: the paper's L2-SVM, LIBLINEAR's.

    Examples
    --------
    >>> from resolvent.losses import SquaredHinge
    >>> SquaredHinge().value(1.0, 0.5)
    0.25
    """

    targets = "sign"

    def value(self, y: float, z: float) -> float:
        short = max(1.0 - y * z, 0.0)
        return short * short

    def conjugate(self, y: float, u: float) -> float:
        return u * (y + 0.25 * u) if y * u <= 0.0 else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return -y * max(a - y * v, 0.0) / (1.0 + 0.5 * a)

    def slope(self, y: float, v: float, a: float) -> float:
        return 1.0 / (1.0 + 0.5 * a) if a - y * v > 0.0 else 0.0


class SmoothedHinge(NamedTuple):
    """Hinge loss with its corner rounded: the Moreau envelope of the hinge at alpha = 1 / width.

    Parameters
    ----------
    width : float, default=1.0
        Margins in (1 - width, 1) are where the loss is quadratic.

    Examples
    --------
    >>> from resolvent.losses import SmoothedHinge
    >>> SmoothedHinge(width=1.0).value(1.0, 0.5)
    0.125
    """

    width: float = 1.0
    targets = "sign"
    limits = {"width": "(0, inf)"}

    def value(self, y: float, z: float) -> float:
        short = 1.0 - y * z
        if short <= 0.0:
            return 0.0
        return (
            0.5 * short * (short / self.width) if short < self.width else short - 0.5 * self.width
        )

    def conjugate(self, y: float, u: float) -> float:
        inside = -1.0 - ULPS <= y * u <= ULPS
        return y * u + 0.5 * self.width * u * u if inside else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return -y * clip((a - y * v) / (1.0 + a * self.width), 0.0, 1.0)

    def slope(self, y: float, v: float, a: float) -> float:
        stretch = 1.0 + a * self.width
        return 1.0 / stretch if 0.0 < a - y * v < stretch else 0.0


class ModifiedHuber(NamedTuple):
    """Squared hinge made linear below margin -1, as in scikit-learn's SGDClassifier.

    Examples
    --------
    >>> from resolvent.losses import ModifiedHuber
    >>> ModifiedHuber().value(1.0, -2.0)
    8.0
    """

    targets = "sign"

    def value(self, y: float, z: float) -> float:
        m = y * z
        return max(1.0 - m, 0.0) ** 2 if m >= -1.0 else -4.0 * m

    def conjugate(self, y: float, u: float) -> float:
        return y * u + 0.25 * u * u if -4.0 * (1.0 + ULPS) <= y * u <= ULPS else INF

    def resolvent(self, y: float, v: float, a: float) -> float:
        return -y * clip((a - y * v) / (1.0 + 0.5 * a), 0.0, 4.0)

    def slope(self, y: float, v: float, a: float) -> float:
        stretch = 1.0 + 0.5 * a
        return 1.0 / stretch if 0.0 < a - y * v < 4.0 * stretch else 0.0


class Logistic(NamedTuple):
    """Logistic loss log(1 + exp(-m)): kernel logistic regression, with probabilities.

    Examples
    --------
    >>> from resolvent.losses import Logistic
    >>> Logistic().resolvent(1.0, 0.0, 4.0) + Logistic().resolvent(-1.0, 0.0, 4.0)
    0.0
    """

    targets = "sign"
    iterative = True

    def inverse_link(self, z: float) -> float:
        """Probability of y = 1."""
        return expit(z)

    def value(self, y: float, z: float) -> float:
        m = y * z
        return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)

    def conjugate(self, y: float, u: float) -> float:
        p = -y * u
        if not -ULPS <= p <= 1.0 + ULPS:
            return INF
        if p <= 0.0 or p >= 1.0:
            return 0.0
        return p * math.log(p) + (1.0 - p) * math.log1p(-p)

    def resolvent(self, y: float, v: float, a: float) -> float:
        return -y * short_of_one(y * v, a)

    def response(self, y: float, v: float, a: float) -> tuple[float, float]:
        p = short_of_one(y * v, a)
        return -y * p, p * (1.0 - p) / (a + p * (1.0 - p))

    def slope(self, y: float, v: float, a: float) -> float:
        return response(self, y, v, a)[1]
