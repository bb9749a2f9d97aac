"""Another revision beside the working tree, in one run: `python -m benchmarks compare REV svm`.

Each problem gets two processes, one with the package of the revision and one with that of the
working tree, which fit once each (and compile) and then take turns, so that both see the same
machine. The benchmarks themselves are those of the working tree. The ratio of a cell is the median,
over the turns, of the revision's seconds divided by ours; it counts as faster or slower where it is
more than 3% from 1 and three quarters of the turns agree.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

from benchmarks import report
from benchmarks.datasets import UnavailableError

ROOT = Path(__file__).resolve().parent.parent
NOTABLE = 0.03  # of a time: differences below are noise of the machine
TURN = 0.1  # seconds, at least, that a side is measured for before it is the other's turn
DEFAULT_TABLES = "svm", "svr", "linear", "multiclass", "model_selection", "small", "startup"
STARTUP = "import resolvent.svm", "import + solve", "import + resolvent.svm.SVC"


# ---- what is measured: in the process of one side -----------------------------------------


def of_cell(task):
    """Fit of a problem of `tables`; its objective is the judge's."""
    from benchmarks.measure import ready

    objective, solver = ready(task)

    def judge():
        predictions = solver.predict(objective.X_test)
        return objective.evaluate_result(**solver.get_result(), predictions=predictions)

    return solver.run, judge


def of_search(task):
    """Search over C and gamma; its error on test rows."""
    import numpy as np

    from benchmarks import model_selection

    with np.load(task["path"]) as z:
        data = dict(z)
    model = model_selection.searcher(data, task["taus"], fit_intercept=True)

    def judge():
        found = model_selection.error(data, model.predict(data["X_test"]), task["taus"])
        return {"score": found}

    return lambda: model.fit(data["X"], data["y"]), judge


def of_small(task):
    """Small fit, repeated."""
    from benchmarks import small

    work = small.fit(*task["cell"])
    return lambda: small.seconds(work), dict


def of_start(task):
    """Process that imports the package and fits once; compiled loops are kept for the next."""
    from benchmarks import startup

    return lambda: startup.measure(startup.CODE[task["code"]], task["cache"]), dict


KINDS = {"cell": of_cell, "search": of_search, "small": of_small, "startup": of_start}


def child():
    """Answer each line of the input with the seconds of one more run; at the end judge."""
    task = json.loads(sys.stdin.readline())
    run, judge = KINDS[task["kind"]](task)
    for _ in sys.stdin:
        print(json.dumps(one_turn(run)), flush=True)
    print(json.dumps(judge()), flush=True)


def one_turn(run):
    """Least seconds of a run, short ones repeated; some runs measure themselves."""
    began, least = time.perf_counter(), float("inf")
    while True:
        start = time.perf_counter()
        measured = run()
        now = time.perf_counter()
        least = min(least, measured if isinstance(measured, float) else now - start)
        if now - began > TURN:
            return least


# ---- the two sides ------------------------------------------------------------------------


class Side:
    """Process that measures one problem with the package in a folder."""

    def __init__(self, source, task):
        search = os.pathsep.join([str(source), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.compare"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": search},
        )
        self._say(task)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()

    def seconds(self):
        self._say({})
        return float(self._answer())

    def judge(self):
        self.process.stdin.close()
        return json.loads(self._answer())

    def _say(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a measurement failed; what it said stands above")
        return line


def checked_out(revision, folder):
    """Write the package of a revision into a folder; returns where to import it from."""
    command = ["git", "-C", str(ROOT), "archive", revision, "src"]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise SystemExit(f"git knows no revision {revision!r}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return Path(folder) / "src"


def turns(sources, task, repeats):
    """Seconds of both sides, turn by turn, and what the judge says of each."""
    with ExitStack() as stack:
        sides = [stack.enter_context(Side(source, task)) for source in sources]
        for side in sides:
            side.seconds()  # compiles
        times = []
        for turn in range(repeats):
            order = (0, 1) if turn % 2 == 0 else (1, 0)
            found = {k: sides[k].seconds() for k in order}
            times.append((found[0], found[1]))
        return times, [side.judge() for side in sides]


def verdict(ratios):
    """Say faster or slower where the quartiles agree that the difference is notable."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    if middle > 1 + NOTABLE and low > 1:
        return "faster"
    if middle < 1 - NOTABLE and high < 1:
        return "slower"
    return "same"


# ---- tasks --------------------------------------------------------------------------------


def tasks(table, options, folder):
    """Labels and tasks of a table."""
    others = {"startup": start_tasks, "small": small_tasks, "model_selection": search_tasks}
    if table not in others:
        yield from cell_tasks(table, options, folder)
        return
    for label, task in others[table](options, folder):
        if options.cells in label:
            yield label, task


def start_tasks(options, folder):
    cache = str(Path(folder) / "numba")  # entries are by the path of a file: both sides may share
    for code in STARTUP:
        yield code, {"kind": "startup", "code": code, "cache": cache}


def small_tasks(options, folder):
    from benchmarks import small

    for name, data, n, C in small.cells():
        label = f"{name}, {data}, n = {n}, C = {C:g}"
        yield label, {"kind": "small", "cell": (name, "ours", data, n, C)}


def search_tasks(options, folder):
    from benchmarks import model_selection

    for cell, (dataset, n, taus) in model_selection.CELLS.items():
        if options.cells in cell and (options.rows is None or n <= options.rows):
            path = model_selection.prepare(dataset, n, folder)
            yield cell, {"kind": "search", "path": str(path), "taus": taus}


def cell_tasks(name, options, folder):
    from benchmarks.measure import prepare, task_of
    from benchmarks.tables import TABLES

    table = TABLES[name]
    if options.rows:
        table = table.capped(options.rows)
    for cell in table.cells:
        if options.cells in cell.key():
            try:
                path = prepare(cell, folder)
            except UnavailableError as reason:
                print(f"skipped: {reason}")
                continue
            task = task_of(cell, "resolvent", options.tol, path)
            yield cell.label(table.cells), {"kind": "cell", **task}


def compare(revision, options):
    """Measure, print each row, and return the page."""
    rows, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        sources = checked_out(revision, folder), ROOT / "src"
        for table in options.tables:
            for label, task in tasks(table, options, folder):
                times, judged = turns(sources, task, options.repeats)
                each = [before / after for before, after in times]
                ratios.append(statistics.median(each))
                before, after = (statistics.median(side) for side in zip(*times, strict=True))
                rows.append([table, label, f"{1e3 * before:.1f}", f"{1e3 * after:.1f}",
                             f"{ratios[-1]:.2f}", f"{min(each):.2f} to {max(each):.2f}",
                             verdict(each), difference(judged)])  # fmt: skip
                print(" | ".join(rows[-1]), flush=True)
    if not rows:
        raise SystemExit("nothing was measured: no cell has that name, or its data are not there")
    head = [
        "table", "problem", f"{revision}, ms", "working tree, ms", "ratio", "of turns", "verdict",
        "objective or error",
    ]  # fmt: skip
    mean, worst = report.geometric_mean(ratios), min(ratios)
    words = f"Geometric mean of {len(ratios)} ratios: {mean:.3f}; smallest: {worst:.3f}."
    return "\n".join([*report.markdown(head, rows), "", words, report.measured_with()])


def difference(judged):
    """Relative difference of the objectives, or the two errors of searches."""
    before, after = judged
    if "primal" in before:
        return f"{(after['primal'] - before['primal']) / abs(before['primal']):+.1e}"
    return f"{before['score']:.4f}, {after['score']:.4f}" if "score" in before else ""


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("revision", help="of git, such as HEAD~3 or v0.1.0")
    parser.add_argument("tables", nargs="*", help=f"without: {', '.join(DEFAULT_TABLES)}")
    parser.add_argument("--rows", type=int, help="at most so many rows of every data set")
    parser.add_argument("--cells", default="", help="only rows whose key has this text in it")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each problem")
    parser.add_argument("--tol", type=float, default=report.DEFAULT_TOL, help="our tolerance")
    parser.add_argument("--output", type=Path, help="file for the table, in Markdown")
    options = parser.parse_args(arguments)
    from benchmarks.tables import TABLES

    known = {*TABLES, *DEFAULT_TABLES}
    unknown = set(options.tables) - known
    if unknown:
        parser.error(
            f"unknown tables {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )
    if options.repeats < 2:
        parser.error(f"--repeats {options.repeats} must be at least 2")
    options.tables = options.tables or DEFAULT_TABLES
    page = compare(options.revision, options)
    print(page)
    if options.output:
        options.output.write_text(page + "\n")


if __name__ == "__main__":
    child()
