"""The course of a fit while it runs: a live line on a terminal, log lines or JSON elsewhere.

Estimators log each certificate through the logger "resolvent"; the handlers here show it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from resolvent.cli.output import Output
from resolvent.problem import Record
from resolvent.problem.certificate import relative_gaps

__all__ = ["memory_used", "watched"]

LINE_EVERY = 1.0  # seconds between lines when nobody looks at a terminal
BAR = 16


@contextlib.contextmanager
def watched(output: Output, tol: float) -> Iterator[None]:
    """Show the certificates of fits inside, as fits of estimators with verbose=1 log them."""
    logger = logging.getLogger("resolvent")
    previous = logger.level, logger.propagate
    live = sys.stderr.isatty() and not output.quiet and not output.as_json
    handler: logging.Handler = LiveLine(tol) if live else Lines(output)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = previous
        handler.close()


def summary(record: Record) -> dict[str, Any]:
    """Numbers of a record, over all its problems."""
    return {
        "iteration": record.iteration,
        "objective": float(np.sum(record.primal)),
        "relative_gap": float(relative_gaps(record.gap, record.primal, record.dual).max()),
        "support_vectors": int(np.max(record.n_support)),
        "seconds": round(record.seconds, 3),
        "memory": memory_used(),
    }


class Lines(logging.Handler):
    """A plain line, or a JSON object, now and then."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output
        self.last = {False: -math.inf, True: -math.inf}  # of words, and of numbers

    def emit(self, record: logging.LogRecord) -> None:
        """Write if the last line of the kind is a while ago."""
        certificate = getattr(record, "certificate", None)
        now, has_numbers = time.monotonic(), certificate is not None
        if now - self.last[has_numbers] < LINE_EVERY:
            return
        self.last[has_numbers] = now
        if certificate is None:  # a search tells in words how far it is
            self.output.progress(record.getMessage())
            return
        numbers = summary(certificate)
        left = getattr(record, "left", "")
        if self.output.as_json:
            finite = {k: v if np.isfinite(v) else None for k, v in numbers.items()}
            self.output.event("progress", **finite)
        else:
            self.output.progress(_text(numbers, left))


class LiveLine(logging.Handler):
    """One line on the terminal that stays up to date, its clock too."""

    def __init__(self, tol: float) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self.tol = max(tol, 1e-15)
        self.worst = 0.0
        self.numbers: dict[str, Any] = {}
        self.left = ""
        self.words = "compiling and computing the kernel"
        self.began = time.monotonic()
        self.live = Live(
            console=Console(stderr=True),
            get_renderable=self.line,
            transient=True,
            refresh_per_second=8,
        )
        self.live.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a new certificate."""
        certificate = getattr(record, "certificate", None)
        if certificate is None:
            self.words, self.numbers = record.getMessage(), {}
        else:
            self.numbers, self.left = summary(certificate), getattr(record, "left", "")

    def line(self) -> Any:
        """Return the line as it is now."""
        from rich.text import Text

        seconds = time.monotonic() - self.began
        if not self.numbers:
            return Text(f"{self.words} · {seconds:.1f} s", style="dim", no_wrap=True)
        numbers = {**self.numbers, "seconds": seconds, "memory": memory_used()}
        return Text(
            f"{self.bar(numbers['relative_gap'])} {_text(numbers, self.left)}", no_wrap=True
        )

    def bar(self, gap: float) -> str:
        """Draw how far the gap has come, on a log scale, from the largest seen to the target."""
        gap = min(max(gap, self.tol), 1.0)
        self.worst = max(self.worst, gap)
        whole = math.log(self.worst / self.tol) or 1.0
        done = round(BAR * (1 - math.log(gap / self.tol) / whole))
        return "━" * done + "╌" * (BAR - done)

    def close(self) -> None:
        """Take the line away."""
        self.live.stop()
        super().close()


def _text(numbers: dict[str, Any], left: str) -> str:
    return (
        f"iteration {numbers['iteration']} · objective {numbers['objective']:.6g} · "
        f"gap {numbers['relative_gap']:.1e} · {numbers['support_vectors']} support vectors · "
        f"{numbers['seconds']:.1f} s · {numbers['memory'] / 1e6:.0f} MB"
        f"{f' · {left}' if left else ''}"
    )


def memory_used() -> int:
    """Bytes of memory that this process uses."""
    import psutil

    return psutil.Process().memory_info().rss
