"""Fits to blocks of rows from Parquet files, beside the same fits to arrays in memory.

    python -m benchmarks blocks --rows 1000000

Rows of 50 columns in single precision are made, and written to Parquet files of ten row groups of
100,000 rows. Each fit is made in a process of its own, after a small one that compiles, and so is
each prediction of all rows. Peak memory is the largest resident set less that before the fit: of a
fit to arrays these are already there.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import psutil

from benchmarks import report

ROWS, COLUMNS, GROUP, FILE = 5_000_000, 50, 100_000, 1_000_000
MOST = FILE  # rows of kernel machines: those of the first file
FIT_MEMORY = "2GB"
CELLS = {
    "linear, hinge": ("LinearClassifier", {"loss": "hinge", "tol": 1e-3}),
    "linear, logistic": ("LinearClassifier", {"loss": "logistic", "tol": 1e-3}),
    "linear, Huber": ("LinearRegressor", {"loss": "huber", "tol": 1e-3}),
    "rank 300, hinge": (
        "KernelClassifier",
        {"loss": "hinge", "tol": 1e-3, "rank": 300, "memory_limit": FIT_MEMORY, "random_state": 0},
    ),
}
HEAD = [
    "fit",
    "rows",
    "from",
    "fit, s",
    "of processors, s",
    "peak, MB",
    "passes",
    "objective",
    "proved gap",
    "certificate",
    "predict, s",
]


def block(start, stop):
    """Rows, labels and targets, the same whatever is asked for at a time."""
    rng = np.random.default_rng(start)
    X = rng.standard_normal((stop - start, COLUMNS), dtype=np.float32)
    z = X[:, :10].sum(axis=1) / 4 + np.sin(2 * X[:, 10]) + X[:, 11] * X[:, 12]
    t = z + rng.standard_normal(stop - start, dtype=np.float32)
    return X, (t > 0).astype(np.int8), t


def write_files(folder, rows):
    """Write the rows to Parquet files."""
    import pyarrow
    import pyarrow.parquet as parquet

    for first in range(0, rows, FILE):
        path = Path(folder) / f"part-{first // FILE:04d}.parquet"
        writer = None
        for start in range(first, min(first + FILE, rows), GROUP):
            X, y, t = block(start, min(start + GROUP, rows))
            columns = {f"x{k}": np.ascontiguousarray(X[:, k]) for k in range(COLUMNS)}
            table = pyarrow.table(columns | {"y": y, "t": t})
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()


class Peak:
    """The largest resident set of this process while it runs, less what it was."""

    def __enter__(self):
        self.process, self.going = psutil.Process(), True
        self.before = self.most = self.process.memory_info().rss
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while self.going:
            self.most = max(self.most, self.process.memory_info().rss)
            time.sleep(0.01)

    def __exit__(self, *_):
        self.going = False
        self.thread.join()
        self.megabytes = (self.most - self.before) / 1e6


def child(folder, cell, where, rows):
    """Fit, predict, and print what that took."""
    import resolvent
    from resolvent.blocks import as_source

    warnings.simplefilter("ignore")
    name, parameters = CELLS[cell]
    regressor = name == "LinearRegressor"
    target = "t" if regressor else "y"

    def model():
        return getattr(resolvent, name)(**parameters)

    X, y, t = block(0, 3000)
    few = X, t if regressor else y
    columns = [f"x{k}" for k in range(COLUMNS)]
    if where == "Parquet":
        model().fit(as_source(*few))
        files = f"{folder}/*.parquet" if rows > FILE else f"{folder}/part-0000.parquet"
        source = as_source(files, target, memory_limit=FIT_MEMORY, columns=columns)
        data = (source,)
    else:
        model().fit(*few)
        parts = [block(start, min(start + GROUP, rows)) for start in range(0, rows, GROUP)]
        X = np.concatenate([part[0] for part in parts])
        data = X, np.concatenate([part[2 if regressor else 1] for part in parts])
        del parts
    with Peak() as peak:
        began, cpu = time.perf_counter(), time.process_time()
        fitted = model().fit(*data)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    began = time.perf_counter()
    fitted.predict(data[0])
    found = {
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak.megabytes,
        "passes": int(np.max(fitted.n_iter_)),
        "objective": float(fitted.objective_),
        "gap": float(fitted.dual_gap_ / fitted.objective_),
        "certificate": getattr(fitted, "certificate_", "exact"),
        "predict": time.perf_counter() - began,
    }
    print(json.dumps(found))


def write(path, rows=None):
    """Measure every cell, and write a Markdown table."""
    rows, table = rows or ROWS, []
    words = (
        f"Rows of {COLUMNS} columns in single precision; memory_limit {FIT_MEMORY}; relative "
        "tolerance 1e-3 of what was solved, and the proved relative gap to the optimum, for a rank "
        "that of the exact kernel problem."
    )
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, rows)
        for cell in CELLS:
            for where in ("Parquet", "memory"):
                n = min(rows, MOST) if "rank" in CELLS[cell][1] else rows
                run = [sys.executable, "-m", "benchmarks.blocks", folder, cell, where, str(n)]
                done = subprocess.run(run, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{cell}, {where}: {done.stderr[-400:]}", flush=True)
                    continue
                found = json.loads(done.stdout.splitlines()[-1])
                table.append([
                    cell, str(n), where, f"{found['seconds']:.1f}", f"{found['cpu']:.1f}",
                    f"{found['peak']:.0f}", str(found["passes"]), f"{found['objective']:.7g}",
                    f"{found['gap']:.1e}", found["certificate"], f"{found['predict']:.1f}",
                ])  # fmt: skip
                print(" ".join(table[-1]), flush=True)
                report.write_page(path, "Blocks of rows", words, HEAD, table)


if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
