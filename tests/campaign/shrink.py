"""Simplify a failing case while it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from .draw import SIMPLE, Case, has_meaning, tidy

SIZES = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200)


def simpler(case: Case) -> Iterator[Case]:
    """Cases that differ in one field, by a simpler value; the boldest changes first.

    Some losses are for one kind of estimator only: these two fields may change together.
    """
    new = tidy(case | {name: SIMPLE[name] for name in ("estimator", "loss")})
    if new != case and has_meaning(new):
        yield new
    for name, usual in SIMPLE.items():
        value = case[name]
        if name in ("n", "d"):
            changes: list[Any] = [k for k in SIZES if k < value]
        elif name == "data":
            changes = [k for k in range(3) if k < value]
        elif name == "C" and value != usual:
            changes = [usual, float(f"{value:.0e}")]
        else:
            changes = [usual]
        for change in changes:
            new = tidy(case | {name: change})
            if new != case and has_meaning(new):
                yield new


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 300.0) -> Case:
    """Take the first simpler case that fails, until none does or the time is over."""
    end = time.monotonic() + seconds
    tried: list[Case] = []
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for new in simpler(case):
            if time.monotonic() > end:
                break
            if new in tried:
                continue
            tried.append(new)
            if fails(new):
                case, progress = new, True
                break
    return case
