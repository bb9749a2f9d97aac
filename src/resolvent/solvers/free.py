"""A Newton step on all free coordinates at once, where pairs of them get on slowly.

Late in a fit, above all with a large C, it is known which coordinates are free, that is not at a
bound of the dual, but they hang together so much that pairs take many small steps. With d_i > 0 the
slope of the resolvent of a free coordinate, and h_i what it is away from the fixed point of
equation (8), Newton's equation for all of them, with an offset b for their sum, is

    (1 - d_i) x_i + d_i sigma ((K x)_i + b) = h_i,      sum(x) = 0,

a symmetric system once divided by d_i sigma. It holds for the piece of the loss that d_i was taken
from. A coordinate that would leave its piece is held at the end of it, one that is held and would
come back is let go, and the others are solved for again with the same factor: a few rounds, and
the step is the best one within all pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from resolvent._costs import FREE_STEP_ENTRIES, FREE_STEP_FROM, FREE_STEP_SPEED
from resolvent.grams.chunks import HeldRows
from resolvent.grams.systems import HeldSystem
from resolvent.problem import Array, Problem, sums

Index = NDArray[np.int64]

FREE = 1e-9  # slope of a resolvent above which a coordinate is free
SETTLED = 0.1  # share of the free coordinates that may be others than at the last look
HELD = 0.2  # share of the free coordinates that may have to be held
ROUNDS = 10  # of holding more of them
DAMPING = 1e-3  # of k_ii, added to it at first: holds back where K is nearly singular
DELAY = 2.0  # how much longer to wait after a step that failed
ROWS_SHARE = 1 / 24  # of the memory of the rows of K: how large the system may be
ALWAYS = 1 << 22  # elements that it may have where memory is not limited
COPIES = 3  # matrices of the size of the system, at a time


class FreeStep:
    """Newton steps on the free coordinates of one problem.

    They come where the free coordinates have settled, and not before pairs of them have cost about
    as much since the last. `work` counts that: the caller adds to it.
    """

    def __init__(self, problem: Problem, j: int, capacity: int) -> None:
        self.loss, self.y, self.C = problem.loss, problem.y[j], problem.C[j]
        self.balanced = problem.fit_intercept
        self.sigma = problem.n / max(problem.gram.trace, 1e-100)
        elements = max(ALWAYS, ROWS_SHARE * capacity * problem.n)
        system = problem.gram.working_space / COPIES
        self.most = min(elements, system / problem.gram.dtype.itemsize) ** 0.5
        self.damping = DAMPING
        self.free = np.zeros(problem.n, bool)
        self.work = 0.0  # multiply-adds within blocks
        self.least = min(FREE_STEP_FROM, FREE_STEP_ENTRIES * problem.n**2)  # between looks
        self.due = self.least  # when there are so many
        self.wait = 1.0  # in units of what a step costs

    @property
    def is_due(self) -> bool:
        """Whether enough was done since the last look for a step to be worth it."""
        return self.work >= self.due

    def count(self, c: Array, s: Array) -> int:
        """How many coordinates are free and not zero, at scores s."""
        _, slopes = self._respond(slice(None), c, s)
        return int(np.count_nonzero((slopes > FREE) & (c != 0.0)))

    def take(
        self, c: Array, z: Array, b: float, held: HeldRows
    ) -> tuple[Index, Array, float] | None:
        """Take a step where it is worth it: which coordinates move, where to, and the offset.

        The dual is never worse after it. Only coordinates whose rows are held take part.
        """
        if not self.is_due:
            return None
        aim, slopes = self._respond(slice(None), c, z + b)
        # Across a kink at zero neither side's piece is that of the coefficient as it is.
        before, self.free = self.free, (slopes > FREE) & held.has(slice(None)) & (c * aim >= 0.0)
        free = np.flatnonzero(self.free)
        size = len(free)
        settled = np.count_nonzero(before != self.free) <= SETTLED * size
        found = None
        if settled and 1 < size <= self.most:
            K = held.square(free)
            found = self._step(free, c[free], z[free], b, aim[free], slopes[free], K)
            least = 10.0 * float(np.finfo(K.dtype).eps)  # with less, rounding might not be positive
            self.damping = 10.0 * self.damping if found is None else max(0.1 * self.damping, least)
            self.wait = 1.0 if found is not None else DELAY * self.wait
        cost = size**3 / (3.0 * FREE_STEP_SPEED) + 5.0 * size**2
        self.due = self.work + max(self.least, self.wait * cost)
        return None if found is None else (free, *found)

    def _respond(self, which: Any, c: Array, s: Array) -> tuple[Array, Array]:
        """Where each coordinate would be alone, equation (8), and the slopes of the resolvents."""
        aim, slopes = np.empty(len(c)), np.empty(len(c))
        sums.proximal(self.loss, self.y[which], self.C[which], c, s, self.sigma, aim, slopes)
        return aim, slopes

    @np.errstate(over="ignore", invalid="ignore")  # in float32: then there is no step
    def _step(
        self, free: Index, c: Array, z: Array, b: float, aim: Array, slopes: Array, K: Array
    ) -> tuple[Array, float] | None:
        """Go along the direction, as far as the dual improves; None if it does not."""
        try:
            found = self._direction(free, c, z + b, aim, slopes, K)
        except LinAlgError:  # K is nearly singular, or not positive
            return None
        if found is None:
            return None
        end, shift = found
        x, y, C = end - c, self.y[free], self.C[free]
        before, after = (sums.fenchel(self.loss, y, C, u, z, b)[1] for u in (c, end))
        # The conjugate is convex: a share t of the step changes it by t times as much, at most.
        slope = after - before + float(x @ z)
        bend = float(x @ (K @ x.astype(K.dtype)))
        if not -np.inf < slope < 0.0:
            return None
        t = min(1.0, -slope / bend) if bend > 0.0 else 1.0
        return (end if t == 1.0 else c + t * x), b + t * shift

    def _direction(
        self, free: Index, c: Array, s: Array, aim: Array, slopes: Array, K: Array
    ) -> tuple[Array, float] | None:
        """Solve Newton's equation within the pieces: where to go, and the change of the offset.

        None if too many coordinates would leave their pieces.
        """
        weight = 1.0 / (slopes * self.sigma)
        matrix = K.copy()
        matrix[np.diag_indices_from(K)] += (1.0 - slopes) * weight + self.damping / self.sigma
        system = HeldSystem(matrix, (aim - c) * weight, self.balanced)
        held, ends = np.zeros(len(c), bool), c.copy()
        for _ in range(ROUNDS):
            x, shift = system.solve(np.flatnonzero(held), (ends - c)[held])
            if not np.isfinite(x).all():
                return None
            change = K @ x.astype(K.dtype) + shift
            answers, slopes = self._respond(free, c + x, s + change)
            back = held & (slopes > 0.0) & ((answers - ends) * (aim - ends) > 0.0)
            leaving = ~held & (slopes == 0.0)
            # A kink at zero, which losses of regression may have, is narrow: look just beyond it.
            over = np.flatnonzero(~held & (aim * (c + x) < 0.0))
            beyond = -np.sign(aim) * (2.0 * np.abs(aim - c) + 1e-3 * np.abs(x))
            then = s[over] + change[over] * (-c[over] / x[over])
            at_zero, slopes = self._respond(free[over], beyond[over], then)
            kinked = over[slopes == 0.0]
            leaving[kinked], answers[kinked] = True, at_zero[slopes == 0.0]
            if not (leaving | back).any():
                return np.where(held, ends, c + x), shift
            ends[leaving] = answers[leaving]
            held = (held | leaving) & ~back
            if np.count_nonzero(held) > HELD * len(c):
                return None
        return None
