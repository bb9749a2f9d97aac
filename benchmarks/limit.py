"""
Fits with an RBF kernel beside the limit of exact ones: the rows of the support vectors, once.

    python -m benchmarks limit        # into results/limit.md

The limit is the time that `kernel_rows` measures: rows of K into memory that was written to before.
Of the stages of a fit `rows` is the time in which rows are computed, where memory is touched too,
`blocks` that in which blocks are solved and the next are chosen, in one thread, `scores` that of
the products that bring scores up to date; what is left are certificates and steps on the free
coordinates. Everything is the least of a few fits after the first.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import report
from benchmarks.measure import prepare, ready, task_of
from benchmarks.tables import TABLES

REPEATS = 5
STAGES = "rows", "blocks", "scores"
ROWS = 2048  # of support vectors at a time, as `kernel_rows`


class Clock:
    """Seconds of the calls of a function, and how many rows they computed."""

    def __init__(self):
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.rows = 0

    def around(self, stage, function):
        def timed(*args):
            if stage == "rows":
                self.rows += len(args[1])
            began = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.seconds[stage] += time.perf_counter() - began

        return timed


@contextmanager
def watched():
    """Give a clock of the stages of the fits within."""
    from resolvent.grams import chunks
    from resolvent.grams.rows import ComputedGram
    from resolvent.solvers import blocks

    clock = Clock()
    parts = (ComputedGram, "_compute", "rows"), (blocks, "advance", "blocks"), (
        chunks, "add_rows", "scores")  # fmt: skip
    with ExitStack() as stack:
        for where, name, stage in parts:
            timed = clock.around(stage, getattr(where, name))
            stack.enter_context(mock.patch.object(where, name, timed))
        yield clock


def fits(solver, repeats):
    """Seconds and stages of the fastest of a few fits."""
    found = []
    for _ in range(repeats):
        with watched() as clock:
            began = time.perf_counter()
            solver.run()
            found.append((time.perf_counter() - began, clock))
    return min(found, key=lambda pair: pair[0])


def limit(X, support, gamma, repeats):
    """Seconds to compute the rows of the support vectors, where memory is warm."""
    from resolvent import gram

    K = gram(X, kernel="rbf", gamma=gamma)
    out = np.zeros((min(ROWS, len(support)), len(X)), X.dtype)
    least = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        for start in range(0, len(support), ROWS):
            part = support[start : start + ROWS]
            K._compute(part, out, np.arange(len(part)))
        least = min(least, time.perf_counter() - began)
    return least


def child(task):
    """Measure one cell, in one thread or as many as there are."""
    objective, solver = ready(task)
    with threadpool_limits(task["threads"]):
        solver.run()  # compiles, and touches memory
        seconds, clock = fits(solver, task["repeats"])
        support = np.sort(solver.model.support_)
        least = limit(objective.X, support, solver.objective["gamma"], task["repeats"])
    return {"fit": seconds, "limit": least, "support": len(support), "computed": clock.rows,
            **clock.seconds}  # fmt: skip


def measure(cell, path, threads, repeats):
    task = {**task_of(cell, "resolvent", None, path), "threads": threads, "repeats": repeats}
    done = subprocess.run([sys.executable, "-m", "benchmarks.limit"], input=json.dumps(task),
                          stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def write(path, rows=None, repeats=REPEATS):
    """Measure every cell in two threads and in one, and write both tables."""
    lines, ratios, scaling = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in "svm", "svr":
            table = TABLES[name].capped(rows) if rows else TABLES[name]
            for cell in table.cells:
                data, label = prepare(cell, folder), cell.label(table.cells)
                two, one = (measure(cell, data, threads, repeats) for threads in (2, 1))
                ratios.append(two["fit"] / two["limit"])
                shown = [two[stage] for stage in STAGES]
                shown.append(two["fit"] - sum(shown))
                lines.append([label, *(f"{two[key]:,}" for key in ("support", "computed")),
                              f"{two['computed'] / two['support']:.2f}",
                              *(f"{1e3 * t:.0f}" for t in (two["limit"], two["fit"], *shown)),
                              f"{ratios[-1]:.2f}"])  # fmt: skip
                scaling.append([label, *(pair(one, two, key) for key in ("fit", *STAGES))])
                print(" | ".join(lines[-1]), "||", " | ".join(scaling[-1][1:]), flush=True)
    head = ["problem", "support vectors", "rows computed", "of each", "limit, ms", "fit, ms",
            *STAGES, "the rest", "times the limit"]  # fmt: skip
    words = (
        "The limit of an exact fit is to compute the rows of its support vectors once. "
        f"{len(ratios)} cells, in the geometric mean {report.geometric_mean(ratios):.2f} times the "
        "limit. In milliseconds, two threads:"
    )
    report.write_page(path, "Times the limit", words, head, lines)
    threads = ["problem", "fit", *STAGES]
    path.write_text(
        path.read_text()
        + "\nSeconds in one thread over seconds in two:\n\n"
        + "\n".join(report.markdown(threads, scaling))
        + "\n"
    )


def pair(one, two, key):
    return f"{one[key] / two[key]:.2f}" if two[key] > 0 else "-"


if __name__ == "__main__":
    print(json.dumps(child(json.load(sys.stdin))))
