"""Progress of a search: which of how many problems, the best so far, the time left."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

from resolvent.estimators.base import logger
from resolvent.estimators.compat import FitProgress
from resolvent.model_selection.search import Table

EVERY = 1.0  # seconds between two reports


class Reporter:
    """Told of each problem that is done, it logs now and then and tells the callbacks."""

    def __init__(self, estimator: Any, total: int) -> None:
        self.estimator, self.total = estimator, total
        self.began = self.last = time.perf_counter()
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
        means = table.means
        best = np.nanmax(means) if not np.isnan(means).all() else np.nan
        logger.info(
            "%s: %d of %d problems, %.1f s, best mean score %.6g, about %.0f s left",
            type(self.estimator).__name__,
            done,
            self.total,
            now - self.began,
            best,
            (now - self.began) * (self.total - done) / max(done, 1),
        )
        return stop

    def end(self) -> None:
        """Pass on that the search is over."""
        self.progress.end()
