"""One measurement in a process of its own.

The process reads the data, fits once ("cold": the first fit of a process, with compiled loops
already on disk), fits again ("warm"), predicts, and evaluates the objective. Everybody is measured
by the same rule: the best of up to three warm fits, or of those that begin within 10 seconds;
a first fit that takes longer than that is not repeated and counts as both.

Peak memory is the process's largest resident set after the first fit, less that before it: what the
fit took beyond the data and the imports. The data come from a plain file, and where the system can
forget a peak (Linux) what reading them took is forgotten before the fit. (`peak_mb` is of the whole
process.)
"""

import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import psutil
import scipy.sparse as sp

from benchmarks import datasets, solvers
from benchmarks.objective import MARGIN_LOSSES, Objective

ROOT = Path(__file__).resolve().parent.parent
REPEATS, ENOUGH = 3, 10.0  # fits, seconds
PARTS = "X", "y", "X_test", "y_test"
STATUS = Path("/proc/self/status")  # of Linux


def prepare(cell, folder):
    """Write the data of a cell for `child`, once, and return the path."""
    signs = cell.loss in MARGIN_LOSSES
    sparse = cell.kernel == "linear"
    name = f"{cell.dataset}-{cell.n}-{cell.dtype}-{signs}-{sparse}.npz"
    path = Path(folder) / name
    if path.exists():
        return path
    data = datasets.get(cell.dataset, cell.n)
    arrays = {}
    real = data["y"].dtype.kind == "f" and len(np.unique(data["y"])) > 100
    middle = np.median(data["y"]) if real and signs else None
    for part in PARTS:
        values = data[part]
        if part.startswith("y"):
            arrays[part] = values if middle is None else np.where(values > middle, 1, -1)
        elif not sp.issparse(values):
            arrays[part] = values.astype(cell.dtype)
        elif not sparse:
            arrays[part] = values.toarray().astype(cell.dtype)
        else:
            values = values.astype(cell.dtype)
            for field in ("data", "indices", "indptr", "shape"):
                arrays[f"{part}.{field}"] = np.asarray(getattr(values, field))
    np.savez(path, **arrays)
    return path


def read(path):
    with np.load(path) as z:
        return {part: z[part] if part in z else sparse_part(z, part) for part in PARTS}


def sparse_part(z, part):
    fields = tuple(z[f"{part}.{field}"] for field in ("data", "indices", "indptr"))
    return sp.csr_matrix(fields, shape=tuple(z[f"{part}.shape"]))


def task_of(cell, solver, tol, path, rows=None):
    """What a process of its own is told; of the data it takes the first `rows`."""
    return {
        "objective": cell.objective(),
        "solver": solver,
        "tol": tol,
        "memory": cell.memory,
        "path": str(path),
        "rows": rows,
    }


def measure(cell, solver, tol, path, limit, rows=None):
    """Run `child` on a cell; a dictionary of what it found, or of why it did not."""
    task = task_of(cell, solver, tol, path, rows)
    command = [sys.executable, "-m", "benchmarks.measure"]
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, "PYTHONPATH": search},
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:g} s", "timeout": limit}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return {"error": lines[-1]}
    result = json.loads(done.stdout.splitlines()[-1])
    result["process_seconds"] = time.perf_counter() - began
    return result


def child(task):
    """Measure in this process."""
    try:
        objective, solver = ready(task)
    except (ImportError, OSError) as error:
        return {"skipped": f"not installed here ({error})", "absent": True}
    except SkippedError as reason:
        return {"skipped": str(reason), "absent": False}

    forget_peak()
    before = resident_peak()
    cold = seconds(solver.run)
    after = resident_peak()
    fits = [cold] if cold > ENOUGH else repeated(solver.run)
    predictions = solver.predict(objective.X_test)
    return {
        "tol": solver.tol,
        "cold": cold,
        "fit": min(fits),
        "fits": fits,
        "predict": min(repeated(lambda: solver.predict(objective.X_test))),
        "fit_mb": after - before,
        "peak_mb": after,
        **solver.certificate(),
        **objective.evaluate_result(**solver.get_result(), predictions=predictions),
    }


class SkippedError(Exception):
    """A problem is not for a solver; the message says why."""


def ready(task):
    """Make the solver of a task and tell it the problem."""
    solver = solvers.make(task["solver"])
    objective = Objective(**task["objective"])
    data = read(task["path"])
    if task["rows"]:  # only to compile
        data["X"], data["y"] = data["X"][: task["rows"]], data["y"][: task["rows"]]
    objective.set_data(**data)
    problem = objective.get_objective()
    reason = solver.skip(**problem)
    if reason:
        raise SkippedError(reason)
    solver.set_objective(**problem, tol=task["tol"], memory=task["memory"])
    return objective, solver


def seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def repeated(function):
    """Seconds of a few calls."""
    times = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        times.append(seconds(function))
    return times


def forget_peak():
    """Let the peak start at what is resident now, where the system can: reading data takes more."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def resident_peak():
    """Largest resident set of this process, in megabytes."""
    if STATUS.exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text())[1]) / 2**10
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset / 2**20
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    try:
        print(json.dumps(child(json.load(sys.stdin))))
    except Exception:
        traceback.print_exc()
        sys.exit(1)
