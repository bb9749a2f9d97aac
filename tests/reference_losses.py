"""Naive high-precision references of the losses, written from their definitions.

Each has two functions: the value, and the inverse of the subdifferential (the subdifferential of
the conjugate) as an interval [lo, hi] of scores, infinite where there is none. The second decides
whether a number is the resolvent without finding a root: u is, if v is in u + a inverse(y, u).
"""

import itertools
from math import inf

from mpmath import mp, mpf

from resolvent.losses import (
    LOSSES,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Pinball,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    Tweedie,
)

EPS = 2.0**-52
TINY = mpf(10) ** -306  # results below this may underflow
DIGITS = 100  # errors of 1e-100 of the largest term are far below the changes that are allowed

CASES = [cls() for cls in LOSSES.values()] + [
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(2.5),
    SquaredEpsilonInsensitive(0.0),
    Huber(0.3),
    Pinball(0.1),
    Pinball(0.9),
    Expectile(0.1),
    Expectile(0.9),
    SmoothedHinge(0.2),
    Tweedie(1.05),
    Tweedie(1.9),
]


def domain(loss, y):
    """Interval of the subgradients at the target y."""
    name = type(loss).__name__
    if name in ("Absolute", "EpsilonInsensitive"):
        return -1.0, 1.0
    if name == "Huber":
        return -loss.delta, loss.delta
    if name == "Pinball":
        return -loss.tau, 1.0 - loss.tau
    if name == "Poisson":
        return -y, inf
    if name == "Gamma":
        return -inf, 1.0
    if name == "Tweedie":
        return (-inf if y else 0.0), inf
    lowest = {"Hinge": -1, "SmoothedHinge": -1, "Logistic": -1, "ModifiedHuber": -4}
    if name in lowest or name == "SquaredHinge":
        ends = sorted([y * lowest.get(name, -inf), y * 0.0])
        return ends[0], ends[1]
    return -inf, inf


def value(loss, y, z):
    name = type(loss).__name__
    y, z = mpf(y), mpf(z)
    r, m, zero = y - z, y * z, mpf(0)
    if name == "Squared":
        return r**2 / 2
    if name == "Absolute":
        return abs(r)
    if name == "EpsilonInsensitive":
        return max(abs(r) - loss.epsilon, zero)
    if name == "SquaredEpsilonInsensitive":
        return max(abs(r) - loss.epsilon, zero) ** 2
    if name == "Huber":
        d = mpf(loss.delta)
        return r**2 / 2 if abs(r) <= d else d * abs(r) - d**2 / 2
    if name == "Pinball":
        return mpf(loss.tau) * max(r, zero) + (1 - mpf(loss.tau)) * max(-r, zero)
    if name == "Expectile":
        return (mpf(loss.tau) if r > 0 else 1 - mpf(loss.tau)) * r**2 / 2
    if name == "Poisson":
        return mp.exp(z) - y * z - y + (y * mp.log(y) if y else 0)
    if name == "Gamma":
        return z - mp.log(y) + y * mp.exp(-z) - 1
    if name == "Tweedie":
        q, r = 2 - mpf(loss.p), mpf(loss.p) - 1
        return mp.exp(q * z) / q + y * mp.exp(-r * z) / r - y**q / (q * r)
    if name == "Hinge":
        return max(1 - m, zero)
    if name == "SquaredHinge":
        return max(1 - m, zero) ** 2
    if name == "SmoothedHinge":
        g = mpf(loss.width)
        return zero if m >= 1 else (1 - m) ** 2 / (2 * g) if m > 1 - g else 1 - m - g / 2
    if name == "ModifiedHuber":
        return max(1 - m, zero) ** 2 if m >= -1 else -4 * m
    if name == "Logistic":
        return mp.log1p(mp.exp(-m)) if m > 0 else mp.log1p(mp.exp(m)) - m
    raise NotImplementedError(name)


def inverse(loss, y, u):
    """Scores at which u is a subgradient, as (lo, hi)."""
    name = type(loss).__name__
    y, u = mpf(y), mpf(u)
    if name in ("Squared", "Huber"):
        lo = hi = y + u
    elif name in ("Absolute", "Pinball"):
        lo = hi = y
    elif name in ("EpsilonInsensitive", "SquaredEpsilonInsensitive"):
        width = u / 2 if name.startswith("Squared") else 0
        lo = y + width + (loss.epsilon if u > 0 else -loss.epsilon)
        hi = y + width + (loss.epsilon if u >= 0 else -loss.epsilon)
    elif name == "Expectile":
        lo = hi = y + u / (mpf(loss.tau) if u < 0 else 1 - mpf(loss.tau))
    elif name == "Poisson":
        lo = hi = mp.log(y + u) if y + u > 0 else mpf("-inf")
    elif name == "Gamma":
        lo = hi = mp.log(y) - mp.log(1 - u) if u < 1 else mpf("inf")
    elif name == "Tweedie":
        lo = hi = tweedie_score(loss, y, u)
    else:
        p, m = y * u, None  # p = f'(m) is negative
        if name == "Hinge":
            m = mpf(1)
        elif name in ("SquaredHinge", "ModifiedHuber"):
            m = 1 + p / 2
        elif name == "SmoothedHinge":
            m = 1 + p * mpf(loss.width)
        elif name == "Logistic":
            m = mp.log1p(p) - mp.log(-p) if -1 < p < 0 else mpf("inf") * (1 if p >= 0 else -1)
        lo = hi = y * m
    left, right = _exact_domain(loss, y)
    return (
        mpf("-inf") if u <= left and u < right else mpf("inf") if u > right else lo,
        mpf("inf") if u >= right and u > left else mpf("-inf") if u < left else hi,
    )


def tweedie_score(loss, y, u):
    """Score z with exp((2 - p) z) - y exp(-(p - 1) z) = u, by Newton's method on either side."""
    q, r = 2 - mpf(loss.p), mpf(loss.p) - 1
    if y == 0:
        return mp.log(u) / q if u > 0 else mpf("-inf")
    # With s exp(q z) = s y exp(-r z) + |u|, s the sign of u, the logarithm of one side is linear
    # and that of the other convex.
    if u >= 0:
        z = mp.log(u + y**q) / q

        def step(z):
            other = u + y * mp.exp(-r * z)
            return (q * z - mp.log(other)) / (q + r * (other - u) / other)
    else:
        z = (mp.log(y) - mp.log(y**q - u)) / r

        def step(z):
            other = mp.exp(q * z) - u
            return -(mp.log(y) - r * z - mp.log(other)) / (r + q * (other + u) / other)

    for _ in range(200):
        move = step(z)
        z -= move
        if abs(move) <= mp.eps ** mpf(0.6) * (1 + abs(z)):  # its square is rounding
            return z
    raise ArithmeticError("no convergence")


def _exact_domain(loss, y):
    if type(loss).__name__ == "Pinball":
        return -mpf(loss.tau), 1 - mpf(loss.tau)
    return domain(loss, y)


def conjugate(loss, y, u):
    """u z - L(y, z) at a z where u is a subgradient, or its limit on the border."""
    name = type(loss).__name__
    y, u = mpf(y), mpf(u)
    if name == "Poisson":
        mean = y + u
        return (mean * mp.log(mean) if mean else 0) - (y * mp.log(y) if y else 0) - u
    if name == "Gamma":
        return u * mp.log(y) + ((1 - u) * mp.log(1 - u) if u < 1 else 0) + u
    if name == "Tweedie" and y == 0:
        return u * (mp.log(u) - 1) / (2 - mpf(loss.p)) if u > 0 else mpf(0)
    if name == "Logistic":
        p = -y * u
        return p * mp.log(p) + (1 - p) * mp.log1p(-p) if 0 < p < 1 else mpf(0)
    left, right = _exact_domain(loss, y)
    lo, hi = inverse(loss, y, min(max(u, left), right))
    z = lo if mp.isfinite(lo) else hi
    return u * z - value(loss, y, z)


def wiggle(x, ulps):
    x = mpf(x)
    return (x * (1 - ulps * EPS), x * (1 + ulps * EPS))


def backward_stable(loss, y, v, a, u, ulps=8):
    """Whether u, to some ulps, is the exact resolvent of arguments changed by some ulps.

    The resolvent is monotone in each of y, v and a, so the corners of the box decide.
    """
    with mp.workdps(DIGITS):
        ys = (y,) if getattr(loss, "targets", "") == "sign" else wiggle(y, ulps)
        corners = list(itertools.product(ys, wiggle(v, ulps), wiggle(a, ulps)))
        slack = ulps * EPS * abs(mpf(u)) + TINY
        low, high = mpf(u) - slack, mpf(u) + slack
        not_above = any(low + aa * inverse(loss, yy, low)[0] <= vv for yy, vv, aa in corners)
        not_below = any(high + aa * inverse(loss, yy, high)[1] >= vv for yy, vv, aa in corners)
        return not_above and not_below


def well_rounded(function, loss, y, x, result, ulps=8):
    """Whether result is function(loss, y, x) to some ulps of the result and of the arguments."""
    # The terms may cancel, to the square of 1e-300; those of Logistic do not.
    with mp.workdps(DIGITS if type(loss).__name__ == "Logistic" else 700):
        exact = function(loss, y, x)
        if abs(exact) > mpf(10) ** 307.5 and abs(result) == inf:
            return (exact > 0) == (result > 0)
        ys = (y,) if getattr(loss, "targets", "") == "sign" else wiggle(y, ulps)
        left, right = domain(loss, y) if function is conjugate else (-inf, inf)
        moved = [
            abs(function(loss, yy, min(max(xx, left), right)) - exact)
            for yy, xx in itertools.product(ys, wiggle(x, ulps))
        ]
        return abs(mpf(result) - exact) <= max(moved) + ulps * EPS * abs(exact) + TINY
