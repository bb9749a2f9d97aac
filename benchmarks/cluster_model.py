"""What passes on larger clusters would take, by a model whose constants are measured on small ones.

    python -m benchmarks cluster_model

A pass of W seconds of work on one thread, with sums of B bytes, takes on P workers of one thread,
of which each has two groups of blocks, G = 2 P,

    T(P) = W / P  +  o (8/7) G  +  log8(G) (latency + 8 B / bandwidth).

All seconds are of processor time, which what else runs on a machine changes least. The seconds of a
row are measured on one thread. What a task and a level of the tree cost, o and the latency, are
fitted to passes without work on few workers, and compared with those on many more: threads of one
process, so that scheduler, workers and client share an interpreter, and o is more than on a cluster
whose workers have processes of their own. The bandwidth is assumed.
"""

import json
import math
import subprocess
import sys

import numpy as np

from benchmarks import report

LIMIT = 900  # seconds
FITTED, COMPARED = (1, 2, 4), (16, 64, 200)  # workers
BANDWIDTH = 1.25e9  # bytes a second: 10 Gbit/s
PASSES = 30  # of a fit: 15 to 40
ROWS, WORKERS = (10**8, 10**9), (10, 100, 1000)
RATE = """
import json, os, sys, time
for name in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{name}_NUM_THREADS"] = "1"
import numpy as np
from resolvent.blocks import as_source, solve_blocks
rows, columns = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, columns)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows) > 0).astype(float)
for n in (rows // 4, rows):
    start = time.process_time()
    passes = solve_blocks("logistic", as_source(X[:n], y[:n]), 1e-3, classes=(0.0, 1.0),
                          tol=0.0, max_iter=8, warn=False).n_iter
    seconds = time.process_time() - start
print(json.dumps(seconds / passes / rows))
"""
EMPTY = """
import json, sys, time
import numpy as np
from distributed import Client, LocalCluster
from resolvent.blocks import Block, Source
from resolvent.dask._data import groups_of, parts_of
from resolvent.dask._engine import Course

class Rows(Source):
    def __init__(self, n_blocks):
        self.n_blocks = n_blocks
    def load(self, i):
        return Block(np.zeros((1, 1)), np.zeros(1))
    def place(self, i):
        return f"block {i}"

def nothing(block):
    return 0.0

for workers in map(int, sys.argv[1:]):
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=False,
                      memory_limit=0, dashboard_address=":0") as cluster, Client(cluster) as client:
        reducer = groups_of(Course(client, 60.0), parts_of(Rows(2 * workers)))
        seconds = []
        for _ in range(12):
            start = time.process_time()
            reducer.sum(nothing)
            seconds.append(time.process_time() - start)
        reducer.release()
        print(json.dumps([workers, float(np.median(seconds[2:]))]), flush=True)
"""


def run(code, *arguments):
    """What a script prints, line by line."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def terms(workers):
    """Factors of o and of the latency."""
    return 8.0 / 7.0 * 2.0 * workers, math.log(2.0 * workers, 8.0)


def fit(found):
    """Cost o of a task and the latency, of relative least squares on pairs of workers, seconds."""
    seconds = np.array([t for _, t in found])
    A = np.array([terms(workers) for workers, _ in found]) / seconds[:, None]
    return np.maximum(np.linalg.lstsq(A, np.ones(len(found)))[0], 0.0)


def predict(rows, columns, workers, rate, task, latency):
    """Parts of the seconds of a pass: its work, its tasks, and the tree."""
    tasks, levels = terms(workers)
    transfer = 8.0 * 8.0 * columns**2 / BANDWIDTH
    return rows * rate / workers, tasks * task, levels * (latency + transfer)


def write(path, most=None):
    """Measure the constants, and write the page."""
    sizes = {50: most or 400_000, 1000: (most or 400_000) // 50}
    rates = {columns: run(RATE, rows, columns)[0] for columns, rows in sizes.items()}
    print(rates, flush=True)
    found = run(EMPTY, *FITTED, *COMPARED)
    print(found, flush=True)
    task, latency = fit(found[: len(FITTED)])
    rows = []
    for n in ROWS:
        for columns, rate in rates.items():
            for workers in WORKERS:
                parts = predict(n, columns, workers, rate, task, latency)
                best = math.sqrt(n * rate / (16.0 / 7.0 * task))
                total = sum(parts)
                rows.append(
                    [
                        *(f"{n:,}", f"{columns}", f"{workers}"),
                        *(f"{seconds:.2g}" for seconds in (*parts, total)),
                        f"{PASSES * total / 60.0:.2g}",
                        f"{parts[0] / total:.0%}",
                        f"{best:,.0f}",
                    ]
                )
    checks = "; ".join(
        f"{workers}: {1e3 * seconds:.0f} ms, by the model "
        f"{1e3 * np.dot(terms(workers), (task, latency)):.0f}"
        for workers, seconds in found
    )
    words = (
        "**Computed by the model, not measured**, but for its constants: a row of 50 columns takes "
        f"{1e9 * rates[50]:.0f} ns a pass on one thread, one of 1000 {1e6 * rates[1000]:.1f} us; "
        f"a task {1e3 * task:.2f} ms and a level of the tree {1e3 * latency:.0f} ms, fitted to "
        f"passes without work on {FITTED[0]} to {FITTED[-1]} workers in one process; bandwidth "
        f"{BANDWIDTH / 1e9:g} GB/s is assumed. Passes without work, by number of workers: "
        f"{checks}. (Of hundreds of workers in one interpreter the work of all their event loops "
        "is counted too, so that the model is too low there; it has no such term.) Seconds of "
        f"a pass, and minutes of a fit of {PASSES} passes, without loading; the share of work "
        "in it; and the number of workers beyond which a pass takes longer again."
    )
    head = ["rows", "columns", "workers", "work", "tasks", "tree", "pass", "fit, min", "efficiency"]
    report.write_page(path, "Larger clusters, by a model", words, [*head, "at most"], rows)
