"""Progress of a search: which of how many problems, the best so far, the time left."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

from resolvent._clock import Clock
from resolvent.estimators.base import logger
from resolvent.estimators.compat import FitProgress
from resolvent.model_selection.search import Table

EVERY = 1.0  # seconds between two reports
ENOUGH = 0.05  # of a search: before that the time so far says little of the time left


def describe(done: int, total: int, seconds: float, means: np.ndarray) -> str:
    """Say how far a search is, and what is known of the rest.

    Parameters
    ----------
    done, total : int
        Number of problems.
    seconds : float
        Time so far, without that of compiling.
    means : ndarray
        Mean score of each pair, NaN where it is not complete.
    """
    words = [f"{done} of {total} problems", f"{seconds:.1f} s"]
    if not np.isnan(means).all():
        best = float(np.nanmax(means))
        number = f"{best:,.0f}" if abs(best) >= 1e4 else f"{best:.6g}"
        words.append(f"best mean score {number}")
    if done >= ENOUGH * total:
        words.append(f"about {seconds * (total - done) / done:.0f} s left")
    return ", ".join(words)


class Reporter:
    """Told of each problem that is done, it logs now and then and tells the callbacks."""

    def __init__(self, estimator: Any, total: int) -> None:
        self.estimator, self.total = estimator, total
        self.last, self.clock = time.perf_counter(), Clock()
        self.progress = FitProgress(estimator)
        if estimator.verbose and not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)

    def __call__(self, table: Table) -> bool:
        """Report that one more problem is done; return whether a callback asks to stop."""
        stop = self.progress.report()
        now = time.perf_counter()
        done = int(np.count_nonzero(table.reached))
        if not self.estimator.verbose or (now - self.last < EVERY and done < self.total):
            return stop
        self.last = now
        name = type(self.estimator).__name__
        logger.info("%s: %s", name, describe(done, self.total, self.clock.seconds, table.means))
        return stop

    def end(self) -> None:
        """Pass on that the search is over."""
        self.progress.end()
