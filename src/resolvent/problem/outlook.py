"""How much longer a fit may take, from how its gap has fallen so far."""

from __future__ import annotations

import math

__all__ = ["Outlook", "duration"]

SHARE = 0.5  # of the time so far that is looked at
FELL = 0.1  # of log(gap), at least: before that nothing is known
ENOUGH = 3  # measurements
VAGUE = 30.0  # ratio of the two ends from which on they say nothing


class Outlook:
    """Gaps of a fit, and the time that is left by them.

    With y = -log(relative gap), methods that take steps of equal worth have y in proportion to the
    time, and those that work on more and more of the samples, or converge quadratically, double y
    again and again. So y is extrapolated both as a power of the time and as an exponential of it,
    each fitted to the last half: the time that is left is between the two, or near the lower end.

    Parameters
    ----------
    tol : float
        Relative gap to be reached.

    Examples
    --------
    >>> outlook = Outlook(1e-4)
    >>> for seconds, gap in ((10.0, 1e-1), (15.0, 10**-1.5), (20.0, 1e-2)):
    ...     outlook.see(seconds, gap)
    >>> [round(end) for end in outlook.left()]
    [10, 20]
    """

    def __init__(self, tol: float) -> None:
        self.goal = -math.log(tol) if 0.0 < tol < 1.0 else math.inf
        self.seen: list[tuple[float, float]] = []

    def see(self, seconds: float, gap: float) -> None:
        """Take note of a relative gap."""
        self.seen.append((seconds, -math.log(gap) if 0.0 < gap < 1.0 else 0.0))

    def left(self) -> tuple[float, float] | None:
        """Seconds that are left, at least and at most; None if that is not known."""
        last, y = self.seen[-1] if self.seen else (0.0, 0.0)
        if len(self.seen) < ENOUGH or y < FELL or not y < self.goal < math.inf:
            return None
        began, before = next(
            (entry for entry in reversed(self.seen) if entry[0] <= (1.0 - SHARE) * last),
            self.seen[0],
        )
        if not (0.0 < before < y and 0.0 < began < last):
            return None
        growth, more = math.log(y / before), math.log(self.goal / y)
        power = growth / math.log(last / began)
        ends = more * (last - began) / growth, last * math.expm1(min(more / power, 50.0))
        return (min(ends), max(ends)) if max(ends) < VAGUE * min(ends) else None

    def text(self) -> str:
        """Say what is left, or nothing."""
        left = self.left()
        if left is None:
            return ""
        low, high = map(duration, left)
        return f"about {low} left" if low == high else f"{low} to {high} left"


def duration(seconds: float) -> str:
    """Write a time roughly: 40 s, 12 min, 3 h.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 42.0, 700.0, 1e4)]
    ['1 s', '40 s', '12 min', '3 h']
    """
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{_rough(seconds / size)} {unit}"
    return f"{_rough(max(seconds, 1.0))} s"


def _rough(number: float) -> int:
    """Two digits below 20, then one."""
    whole = round(number)
    return whole if whole < 20 else round(whole, -1 if whole < 100 else -2)
