"""How much memory there is, and how much of it may be used."""

from __future__ import annotations

import math
import re
from numbers import Real
from pathlib import Path
from typing import Any

__all__ = ["fits_in_memory", "free_memory", "parse_memory"]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


SMALL = 2**26  # bytes, for which nobody need look at how much is free: that takes a millisecond


def parse_memory(limit: Any, need: float = math.inf) -> int:
    """Read a number of bytes.

    Parameters
    ----------
    limit : int, float, str or None
        Bytes, or a string such as "512MiB" or "1.5 GB" (units of 1000; MiB and the like of 1024).
        None or "auto" is a quarter of the memory that is free.
    need : float
        Bytes that will be taken at most, if known; where that is little, "auto" is a multiple.

    Returns
    -------
    int
    """
    if limit is None or limit == "auto":
        if need <= SMALL:
            return 4 * SMALL
        return free_memory() // 4
    size = math.nan
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?i?)b?\s*", limit.lower())
        if match:
            size = float(match[1]) * (UNITS | BINARY_UNITS).get(match[2], math.nan)
    elif not isinstance(limit, bool) and isinstance(limit, Real):
        size = float(limit)
    if not 1 <= size < math.inf:
        raise ValueError(
            f"memory_limit={limit!r} is not an amount of memory: give bytes as a positive number, "
            "a string such as '512MiB' or '1.5GB', or None for a quarter of the free memory."
        )
    return int(size)


def free_memory() -> int:
    """Bytes of memory that this process can still use without swapping."""
    sizes = _of_machine(), _of_container(), _of_process()
    return min(size for size in sizes if size is not None)


def fits_in_memory(size: int) -> bool:
    """Whether there is room for so many bytes; small numbers are not worth a look."""
    return size < 2**23 or size <= free_memory()


def _of_machine() -> int:
    import psutil

    return psutil.virtual_memory().available


def _of_container() -> int | None:
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())  # "max" is no limit
        return max(0, limit - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        return None


def _of_process() -> int | None:
    import psutil

    if not hasattr(psutil, "RLIMIT_AS"):  # only Linux has, and obeys, a limit on a process
        return None
    process = psutil.Process()
    limit = process.rlimit(psutil.RLIMIT_AS)[0]
    return None if limit == psutil.RLIM_INFINITY else max(0, limit - process.memory_info().vms)
