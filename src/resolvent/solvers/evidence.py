"""What a run shows beside its gap: that it has stalled, or that K is no kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resolvent._numeric import EPS
from resolvent.grams import Gram
from resolvent.problem import Array, sums
from resolvent.problem.certificate import Best

STALLED = 3000.0  # sweeps' work without progress; the work before the last progress too, if longer


@dataclass
class Progress:
    """What one problem had reached, and after how much work, when it last got on."""

    primal: float = np.inf
    dual: float = -np.inf
    work: float = 0.0
    looks: int = 0  # certificates since then

    def note(self, best: Best, work: float) -> None:
        """See whether a bound has improved by more than rounding."""
        primal, dual, floor = best.known.primal, best.dual, best.known.floor
        if primal < self.primal - floor or dual > self.dual + floor:
            self.primal, self.dual, self.work, self.looks = primal, dual, work, 0
        else:
            self.looks += 1

    def is_overdue(self, work: float, sweep: float) -> bool:
        """Whether nothing is known to have come of much work, as much as all that was before."""
        return work - self.work >= max(STALLED * sweep, self.work)


class Curvature:
    """Whether c'Kc < 0 was met, of coefficients or of their change: then K is no kernel matrix.

    Rounding can make it so too: of K by n ulps of its diagonal at most, and of scores by n ulps of
    the sum that they are, which counts where the coefficients have hardly changed.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.is_negative = False
        self.last: dict[int, tuple[Array, Array]] = {}  # coefficients and scores seen last

    def look(self, j: int, coef: Array, scores: Array) -> None:
        """Look at coefficients of problem j with their scores."""
        gram = self.gram
        if gram.factored:
            return
        before, self.last[j] = self.last.get(j), (coef, scores)
        of_kernel = 8 * gram.n * (float(np.finfo(gram.dtype).eps) + gram.noise)
        of_scores = 8 * gram.n * EPS * gram.diagonal.max() * np.abs(coef).sum()
        points = [(coef, scores, 0.0)]
        if before is not None:
            points.append((coef - before[0], scores - before[1], of_scores))
        for c, z, rounded in points:
            self.is_negative |= sums.bends_down(c, z, gram.diagonal, of_kernel, rounded)
