"""Fits on local clusters of 1, 2 and 4 one-thread workers beside one thread and no cluster.

    python -m benchmarks dask [--rows 200000]

Two problems: logistic loss on 2,000,000 rows of 50 features, which are made where they are needed,
so that nothing is measured but the fit, and a hinge of 1,000 landmarks on 500,000 rows of covtype,
whose features are made once and stay with the workers; its passes are measured, some of them, not
the certificate of the exact machine. Each fit is a process of its own, after a small one that
compiles. On a machine of two processors four workers say what more tasks cost, not what more
processors bring.

Bytes of a pass are compared with what its sums hold: X'DX, X'D1, X'Dc, X'c and ten numbers from
each task, of which there are 8/7 for each group of blocks, and w to each group.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import datasets, report
from benchmarks.datasets import UnavailableError

LIMIT = 3600  # seconds
ROWS = {"linear": 2_000_000, "landmarks": 500_000}
WORKERS = 0, 1, 2, 4
SCALARS = 10
FIT = """
import json, os, sys, time
for name in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{name}_NUM_THREADS"] = "1"
import numpy as np
from resolvent.blocks import Block, Source, Transformed, solve_blocks
from resolvent.kernels import RBF

class Made(Source):
    def __init__(self, rows):
        self.rows = 20_000
        self.n_blocks = -(-rows // self.rows)
    def load(self, i):
        rng = np.random.default_rng(i)
        X = rng.normal(size=(self.rows, 50)).astype(np.float32)
        s = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=self.rows)
        return Block(X, (s > 0).astype(float))
    def place(self, i):
        return f"made, block {i}"

class File(Source):
    def __init__(self, folder, rows):
        self.folder, self.n_blocks, self.rows = folder, -(-rows // 10_000), rows
    def load(self, i):
        here = slice(10_000 * i, min(10_000 * (i + 1), self.rows))
        parts = (np.load(f"{self.folder}/{name}.npy", mmap_mode="r") for name in "Xy")
        return Block(*(np.array(part[here]) for part in parts))
    def place(self, i):
        return f"covtype, block {i}"

def estimator(kind, **settings):
    from resolvent.dask import DaskKernelClassifier, DaskLinearClassifier
    if kind == "linear":
        return DaskLinearClassifier("logistic", C=1e-3, **settings)
    settings |= {"rank": 1000, "gamma": 1 / 54, "certificate": "subspace", "random_state": 0}
    return DaskKernelClassifier("hinge", max_iter=8, **settings)

def alone(kind, source):
    if kind == "linear":
        return solve_blocks("logistic", source, 1e-3, classes=(0.0, 1.0), memory_limit="8GB")
    from functools import partial
    from resolvent.dask._landmarks import Features, features
    from resolvent.grams.nystroem import nystroem
    from resolvent.grams.values import values_of
    rng = np.random.default_rng(0)
    rows = source.load(0).X[:1000]
    gram = nystroem(values_of(rows, RBF(1 / 54)), None, np.arange(1000), rng)
    of = partial(features, of=Features(RBF(1 / 54), gram.points.values, gram.root))
    return solve_blocks("hinge", Transformed(source, of), classes=(-1.0, 1.0), max_iter=8,
                        warn=False, memory_limit="8GB")

def main(kind, workers, small, rows, folder):
    make = Made if kind == "linear" else lambda n: File(folder, n)
    if not workers:
        for n in (small, rows):
            passes = []
            start = time.perf_counter()
            solution = alone(kind, make(n))
            seconds = time.perf_counter() - start
        times = np.diff([record.seconds for record in solution.history])
        print(json.dumps({"seconds": seconds, "passes": solution.n_iter, "columns": 0,
                          "each": float(np.mean(times[1:])), "bytes": 0.0, "tasks": 0.0,
                          "gap": solution.gap / solution.primal}))
        return
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            for n in (small, rows):
                start = time.perf_counter()
                model = estimator(kind).fit(make(n))
                seconds = time.perf_counter() - start
            stage = model.fit_report_["measure"]
            times = np.diff([record.seconds for record in model.history_])
            rank = getattr(model, "rank_", None) or 50
            print(json.dumps({"seconds": seconds, "passes": stage.passes, "columns": int(rank),
                              "each": float(np.mean(times[1:])),
                              "tasks": stage.tasks / stage.passes,
                              "bytes": (stage.bytes_out + stage.bytes_back) / stage.passes,
                              "gap": float(model.dual_gap_ / model.objective_)}))

if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5])
"""


def prepare(folder, rows):
    """Write rows of covtype where every worker can read them."""
    data = datasets.get("covtype", rows)
    np.save(folder / "X.npy", np.ascontiguousarray(data["X"], np.float32))
    np.save(folder / "y.npy", data["y"])
    return len(data["y"])


def fit(kind, workers, rows, folder):
    """Result of one fit."""
    small = 40_000 if kind == "linear" else 20_000
    numbers = map(str, (workers, small, rows))
    command = [sys.executable, "-W", "ignore", "-c", FIT, kind, *numbers, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def formula(found):
    """Bytes of the sums of a pass."""
    d = found["columns"]
    return 8.0 * (found["tasks"] * (d * d + 3 * d + SCALARS) + 7 / 8 * found["tasks"] * d)


def lines(kind, rows, folder):
    """Lines of the table of one problem."""
    known = {}
    for workers in WORKERS:
        found = known[workers] = fit(kind, workers, rows, folder)
        none, one = known[0], known.get(1)
        yield [
            kind,
            f"{workers or 'no cluster'}",
            f"{found['seconds']:.2f}",
            f"{found['passes']}",
            f"{1e3 * found['each']:.0f}",
            f"{found['each'] / none['each']:.2f}",
            f"{one['each'] / found['each']:.2f}" if one else "",
            f"{found['bytes'] / 1e3:.0f}" if workers else "",
            f"{found['bytes'] / formula(found):.2f}" if workers else "",
            f"{found['gap']:.0e}",
        ]


def write(path, most=None):
    """Measure every number of workers, and write a Markdown table."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for kind, count in ROWS.items():
            folder, count = Path(name), min(count, most or count)
            try:
                count = count if kind == "linear" else prepare(folder, count)
            except UnavailableError as error:
                print(error)
                continue
            for line in lines(kind, count, folder):
                rows.append(line)
                print(" ".join(line), flush=True)
    words = (
        f"Workers of one thread. linear: logistic loss, {ROWS['linear']:,} rows of 50 features; "
        f"landmarks: eight passes of a hinge at rank 1,000, {ROWS['landmarks']:,} rows of covtype"
        f"{f' (here at most {most:,} rows)' if most else ''}. Seconds of the whole fit, reading "
        "and features included; passes over the blocks, and milliseconds from one to the next; "
        "that relative to no cluster, and one worker's relative to it; what a pass moves between "
        "tasks and client in kB, and relative to what its sums hold; relative duality gap."
    )
    head = ["problem", "workers", "seconds", "passes", "ms a pass", "of no cluster", "speed-up"]
    report.write_page(
        path, "On a cluster", words, [*head, "kB a pass", "of the formula", "gap"], rows
    )
