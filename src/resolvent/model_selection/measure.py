"""The stopping measure of searches: gaps of scores as they are kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resolvent.problem import Status
from resolvent.solvers.iterate import NOTHING, Iteration, Known, Point, Watch


class ByGap(Watch):
    """Stops each problem where its gap is small enough, and all where that takes too long.

    Parameters
    ----------
    point : Point
        Where the problems are.
    gap : callable
        ``gap(j, known)`` of problem j, see `Iteration`. NaN ends all.
    tol : float
        What a gap is to be at most.
    pause : callable
        Called often; what it raises ends the work.
    at_once : ndarray of bool, optional
        Problems that may stop before the first iteration. Without it there is no look before it.
    most_iterations, most_work : float
        Limits; the work is that of one problem, in multiply-adds.
    """

    def __init__(
        self,
        point: Point,
        gap: Callable[[int, Known], float],
        tol: float,
        pause: Callable[[], None],
        *,
        at_once: Any = None,
        most_iterations: float = np.inf,
        most_work: float = np.inf,
    ) -> None:
        self.point, self.gap, self.tol, self._pause = point, gap, tol, pause
        self.at_once, self.most_iterations, self.most_work = at_once, most_iterations, most_work
        self.gaps = np.full(len(point.coef), np.inf)
        self.n_iter = 0
        self.status = Status.CONVERGED

    def begin(self) -> None:
        """Stop what is solved already."""
        if self.at_once is not None:
            self._measure(NOTHING, self.at_once)

    def pause(self) -> None:
        """See whether the search goes on."""
        self._pause()

    def look(self, iteration: Iteration) -> None:
        """Stop what is solved; what does not move any more is as exact as its scores are."""
        self._pause()
        self.n_iter += 1
        self._measure(iteration.known, True, iteration.largest == 0.0)

    def _measure(self, known: Known, may_stop: Any, rests: Any = False) -> None:
        point = self.point
        for j in point.running:
            self.gaps[j] = self.gap(j, known)
        if np.isnan(self.gaps).any():
            self._stop_all(Status.NOT_PSD)
            return
        point.stop(np.flatnonzero(((self.gaps <= self.tol) | rests) & may_stop))
        if len(point.running) and self.n_iter >= self.most_iterations:
            self._stop_all(Status.MAX_ITER)
        if len(point.running) and self.point.work.max() > self.most_work:
            self._stop_all(Status.TIME_LIMIT)

    def _stop_all(self, status: Status) -> None:
        self.status = status
        self.point.stop(self.point.running)
