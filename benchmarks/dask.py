"""Fits on local clusters of 1, 2 and 4 one-thread workers beside no cluster, and bytes of a pass.

    python -m benchmarks dask [--rows 200000]

Rows are made where they are needed, so that nothing is measured but the fit. Each fit is a process
of its own, after a small one that compiles. On a machine of two processors four workers say what
more tasks cost, not what more processors bring.
"""

import json
import subprocess
import sys

from benchmarks import report

LIMIT = 3600  # seconds
ROWS = 2_000_000
COLUMNS = 50
FIT = """
import json, os, sys, time
for name in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{name}_NUM_THREADS"] = "1"
import numpy as np
from resolvent.blocks import Block, Source, solve_blocks

class Made(Source):
    def __init__(self, rows, columns):
        self.rows, self.columns = 20_000, columns
        self.n_blocks = -(-rows // self.rows)
    def load(self, i):
        rng = np.random.default_rng(i)
        X = rng.normal(size=(self.rows, self.columns)).astype(np.float32)
        s = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=self.rows)
        return Block(X, (s > 0).astype(float))
    def place(self, i):
        return f"made, block {i}"

def main(workers, rows, columns):
    if not workers:
        for n in (20_000, rows):
            start = time.perf_counter()
            solution = solve_blocks("logistic", Made(n, columns), 1e-3, classes=(0.0, 1.0),
                                    memory_limit="8GB")
            seconds = time.perf_counter() - start
        gap = solution.gap / solution.primal
        print(json.dumps({"seconds": seconds, "passes": solution.n_iter, "gap": gap,
                          "each": seconds / solution.n_iter, "bytes": 0.0}))
        return
    from distributed import Client, LocalCluster
    from resolvent.dask import DaskLinearClassifier
    with LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            for n in (40_000, rows):
                start = time.perf_counter()
                model = DaskLinearClassifier("logistic", C=1e-3).fit(Made(n, columns))
                seconds = time.perf_counter() - start
            stage = model.fit_report_["measure"]
            moved = (stage.bytes_out + stage.bytes_back) / stage.passes
            print(json.dumps({"seconds": seconds, "passes": model.n_iter_,
                              "gap": model.dual_gap_ / model.objective_,
                              "each": stage.seconds / stage.passes, "bytes": moved}))

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
"""


def fit(workers, rows):
    """Result of one fit."""
    command = [sys.executable, "-W", "ignore", "-c", FIT, str(workers), str(rows), str(COLUMNS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write(path, most=None):
    """Measure every number of workers, and write a Markdown table."""
    count = most or ROWS
    rows = []
    for workers in (0, 1, 2, 4):
        found = fit(workers, count)
        rows.append(
            [
                f"{workers or 'no cluster'}",
                f"{found['seconds']:.2f}",
                f"{found['passes']}",
                f"{1e3 * found['each']:.0f}",
                f"{found['bytes'] / 1e3:.0f}" if workers else "",
                f"{found['gap']:.0e}",
            ]
        )
        print(" ".join(rows[-1]), flush=True)
    words = (
        f"Logistic loss, {count:,} rows of {COLUMNS} features, blocks of 20,000, workers of one "
        "thread. Seconds of the whole fit, reading included; passes over the blocks, milliseconds "
        "of one, and what it moves between tasks and client in kB; relative duality gap."
    )
    head = ["workers", "seconds", "passes", "ms a pass", "kB a pass", "gap"]
    report.write_page(path, "On a cluster", words, head, rows)
