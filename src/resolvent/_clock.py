"""The clock of time limits, which leaves out the time that Numba takes to compile.

A loop is compiled, or read from the cache on disk, at its first call with a new loss or a new kind
of gram. That may well take longer than the limit, and nothing in it can be interrupted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from threading import Lock, local
from time import perf_counter
from typing import Any

import numpy as np
from numba.core import event

from resolvent.kernels.base import is_number

__all__ = ["Clock", "now"]

LONG = 1.0  # seconds of compiling after which it is said
PAUSE = 3.0  # seconds without compiling after which it is said anew


class _CompileTimer(event.Listener):
    """Adds up the time during which some thread compiles, or waits for one that does."""

    def __init__(self) -> None:
        self.seconds, self.last_end = 0.0, -np.inf
        self.lock, self.here = Lock(), local()

    def on_start(self, _: Any) -> None:
        """Note when a compilation starts, which may be within another."""
        self.here.starts = [*getattr(self.here, "starts", []), perf_counter()]

    def on_end(self, _: Any) -> None:
        """Add the time that an outermost compilation took, unless another thread's has counted."""
        *outer, start = self.here.starts
        self.here.starts = outer
        if not outer:
            with self.lock:
                end = perf_counter()
                self.seconds += end - max(start, self.last_end)
                self.last_end = end


class _CompileNote(event.Listener):
    """Logs that loops are compiled, once that has taken a second, and again after a pause."""

    def __init__(self) -> None:
        self.here = local()
        self.seconds, self.last_end, self.said = 0.0, -np.inf, False

    def on_start(self, _: Any) -> None:
        """Note when a compilation starts, which may be within another."""
        self.here.starts = [*getattr(self.here, "starts", []), perf_counter()]

    def on_end(self, _: Any) -> None:
        """Log if compiling takes long."""
        *outer, start = self.here.starts
        self.here.starts = outer
        if outer:
            return
        if start - self.last_end > PAUSE:
            self.seconds, self.said = 0.0, False
        self.last_end = perf_counter()
        self.seconds += self.last_end - start
        if self.seconds >= LONG and not self.said:
            self.said = True
            logging.getLogger("resolvent").info(
                "compiling for this loss and kind of data (once on this machine; in each process "
                "for a loss of your own)"
            )


_timer = _CompileTimer()
event.register("numba:compile", _CompileNote())  # type: ignore[no-untyped-call]  # Numba
event.register("numba:compiler_lock", _timer)  # type: ignore[no-untyped-call]  # Numba


def now() -> float:
    """Seconds on the clock; put back after each compilation by what it took."""
    return perf_counter() - _timer.seconds


@dataclass
class Clock:
    """Seconds since the start, against a limit."""

    limit: float | None = None
    start: float = field(default_factory=now)

    def __post_init__(self) -> None:
        """Refuse a limit that is neither None nor a time."""
        limit = self.limit
        if limit is not None and not (is_number(limit) and limit >= 0):
            raise ValueError(
                f"time_limit={limit!r} must be a number of seconds, at least 0 and finite, or None."
            )

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return now() - self.start

    @property
    def left(self) -> float | None:
        """Time until the limit, at least 0; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    def is_over(self) -> bool:
        """Whether the limit has passed."""
        return self.limit is not None and self.seconds >= self.limit
