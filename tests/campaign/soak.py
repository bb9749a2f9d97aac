"""Random fits in one process, again and again: ``python -m tests.campaign.soak --minutes 60``.

Every case is fitted once, which compiles and fills caches. Then they are fitted in random order
until the time is over. Each result must be what it was at first, bit by bit; memory must stay flat;
no thread and no open file may be left over. What a fit certifies for those who watch it, after half
a second of silence, is left out: that goes by the clock, and may find a better point to return.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from resolvent.solvers import certified

from .build import fit, make_data
from .draw import Case, draw
from .properties import judge

ALLOWED = 32 << 20  # bytes of growth: what an allocator keeps of freed memory
ATTRIBUTES = ("coef", "fitted", "intercept", "primal", "gap", "coef_", "dual_coef_", "intercept_")


def memory() -> int:
    """Bytes of memory that this process has now."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) << 10


def open_files() -> int:
    """Files and pipes that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def dense(values: Any) -> np.ndarray:
    """Return numbers, which may be a sparse array, as a plain array."""
    values = values.toarray() if sparse.issparse(values) else values
    return np.ascontiguousarray(values, dtype=float)


def fingerprint(case: Case) -> str:
    """Digest of what a fit gives: numbers, or the sentence of a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = make_data(case)
        try:
            model = fit(case, data)
        except Exception as error:
            if judge(error) is not None:
                raise
            return str(error)
    fitted = getattr(model, "best_estimator_", model)
    digest = hashlib.sha256()
    for name in ATTRIBUTES:
        if hasattr(fitted, name):
            digest.update(dense(getattr(fitted, name)).tobytes())
    if hasattr(model, "cv_results_"):
        digest.update(model.cv_results_["mean_test_score"].tobytes())
    return digest.hexdigest()


def drawn(seed: int, count: int) -> list[Case]:
    """Cases whose fit takes well below a second."""
    cases = [draw(seed + k) for k in range(count)]
    return [case | {"n": min(case["n"], 150)} for case in cases]


def soak(seed: int, minutes: float, count: int) -> list[str]:
    """Fit until the time is over; return what went wrong."""
    cases = drawn(seed, count)
    certified.SILENCE = np.inf
    first = [fingerprint(case) for case in cases]
    for case in cases:  # once more, so that what grows once has grown
        fingerprint(case)
    before, files, threads = memory(), open_files(), threading.active_count()
    print(f"{count} cases fitted twice: {before >> 20} MB, {files} files, {threads} threads")
    order = random.Random(seed)
    end, told, fits, wrong = time.monotonic() + 60 * minutes, time.monotonic(), 0, []
    while time.monotonic() < end:
        k = order.randrange(count)
        if fingerprint(cases[k]) != first[k]:
            wrong.append(f"case {seed + k} has another result than at first")
        fits += 1
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{fits} fits: {memory() >> 20} MB", flush=True)
    after = memory()
    if after > before + ALLOWED:
        wrong.append(f"memory grew from {before >> 20} to {after >> 20} MB")
    if open_files() > files:
        wrong.append(f"{open_files()} files are open, {files} were at first")
    if threading.active_count() > threads:
        wrong.append(f"{threading.active_count()} threads run, {threads} did at first")
    print(f"{fits} fits: {after >> 20} MB, {len(wrong)} failures")
    return wrong


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=100)
    arguments = parser.parse_args()
    wrong = soak(arguments.seed, arguments.minutes, arguments.cases)
    print("\n".join(dict.fromkeys(wrong)))
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
