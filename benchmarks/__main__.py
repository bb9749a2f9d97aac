"""Run tables and write Markdown, JSON and pictures: `python -m benchmarks svm`.

Every run that is done is kept in the JSON file of its table, and not done again without --fresh: an
interrupted table goes on where it was.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    blocks,
    certificate,
    cluster_model,
    compare,
    dask,
    kernel_rows,
    limit,
    machine,
    nu,
    report,
    scale,
    small,
    startup,
)
from benchmarks.datasets import UnavailableError
from benchmarks.measure import measure, prepare
from benchmarks.tables import SLOW, TABLES

RESULTS = Path(__file__).resolve().parent / "results"
OTHERS = {
    "startup": lambda path, _: startup.write(path),
    "kernel_rows": lambda path, _: kernel_rows.write(path),
    "limit": limit.write,
    "small": lambda path, _: small.write(path),
    "scale": lambda path, options: scale.write(path, options.rows),
    "certificate": lambda path, options: certificate.write(path, options.rows),
    "blocks": lambda path, options: blocks.write(path, options.rows),
    "nu": nu.write,
    "dask": lambda path, options: dask.write(path, options.rows),
    "cluster_model": lambda path, options: cluster_model.write(path, options.rows),
}  # tables of other kinds
LADDER = 1e-2, 1e-3, 1e-4, 1e-5, 1e-6  # our tolerances, until the objective is a peer's
CURVE = 1e-1, 1e-2, 1e-4  # the peers' tolerances for the pictures, beside their default
TO_COMPILE = 300  # rows


class Runs:
    """The runs of a table, in a file."""

    def __init__(self, path, options, folder):
        self.path, self.options, self.folder = path, options, folder
        self.compiled, self.absent = set(), set()
        self.runs = {}
        if path.exists() and not options.fresh:
            self.runs = json.loads(path.read_text())["runs"]

    def __call__(self, cell, solver, tol=None):
        """Result of a run: the one in the file, or a new one."""
        key = f"{cell.key()} solver={solver} tol={tol}"
        if key not in self.runs:
            if solver in self.absent or not self.wanted(cell, solver):
                return {"skipped": "absent, or not asked for"}
            data = prepare(cell, self.folder)
            kind = (cell.loss, cell.kernel, cell.dtype, cell.fit_intercept, solver)
            if solver.startswith("resolvent") and kind not in self.compiled:
                self.compiled.add(kind)
                measure(cell, solver, tol, data, self.options.limit, rows=TO_COMPILE)
            result = measure(cell, solver, tol, data, self.options.limit)
            which = f"{cell.label()}, {solver}, tol {tol or 'default'}"
            print(f"{which}: {report.in_words(result)}", flush=True)
            if "skipped" in result:  # not kept: tried again when the package is there
                if result["absent"]:
                    self.absent.add(solver)
                return result
            self.runs[key] = result
            self.save()
        return self.runs[key]

    def wanted(self, cell, solver):
        names = self.options.peers
        chosen = names is None or solver in names or solver.partition("[")[0] in names
        return chosen and self.options.cells in cell.key()

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine.describe(), "runs": self.runs}, indent=1)
        self.path.write_text(text + "\n")


def run_table(table, runs, curves):
    """Do all runs of a table; a dictionary of those of each cell by solver and tolerance."""
    results = {}
    for cell in table.cells:
        try:
            results[cell] = run_cell(table, cell, runs)
        except UnavailableError as reason:
            print(f"skipped: {reason}")
    for cell in results if curves and table.curves else ():
        for peer in table.peers:
            for tol in CURVE:
                if "primal" in results[cell][peer, None] and "[" not in peer:
                    results[cell][peer, tol] = runs(cell, peer, tol)
    return results


def run_cell(table, cell, runs):
    """Peers by their default tolerance; ours by its own, and down to the peers' objective."""
    found = {(peer, None): runs(cell, peer) for peer in table.peers}
    for ours in table.ours:
        found[ours, report.DEFAULT_TOL] = runs(cell, ours, report.DEFAULT_TOL)
    goal = report.target(table, report.finished(found))
    for tol in LADDER if goal is not None else ():
        result = found["resolvent", tol] = runs(cell, "resolvent", tol)
        if "primal" not in result:
            break
        if report.reaches(result, goal):
            if tol < LADDER[0]:  # ten times the tolerance did not do, but three times it may
                between = float(f"{3 * tol:.0e}")
                found["resolvent", between] = runs(cell, "resolvent", between)
            break
    return found


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["compare"]:
        return compare.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*TABLES, *OTHERS]
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(names)}; all but large without")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the machinery")
    parser.add_argument("--rows", type=int, help="at most so many rows of every data set")
    parser.add_argument("--cells", default="", help="only rows whose key has this text in it")
    parser.add_argument("--peers", nargs="*", help="only these solvers")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one process")
    parser.add_argument("--fresh", action="store_true", help="forget the runs in the file")
    parser.add_argument("--no-curves", action="store_true", help="no peers at other tolerances")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the output")
    options = parser.parse_args(arguments)
    unknown = set(options.tables) - set(names)
    if unknown:
        parser.error(f"unknown tables {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if options.quick:
        options.rows = options.rows or 1000
    if options.rows:
        options.results = options.results / f"rows-{options.rows}"
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tables or [name for name in names if name not in SLOW]:
            print(f"## {name}")
            if name in OTHERS:
                OTHERS[name](options.results / f"{name}.md", options)
                continue
            table = TABLES[name]
            if options.rows:
                table = table.capped(options.rows)
            run_one(name, table, options, folder)
    return None


def run_one(name, table, options, folder):
    runs = Runs(options.results / f"{name}.json", options, folder)
    results = run_table(table, runs, not options.no_curves)
    report.write(options.results / name, table, results)


if __name__ == "__main__":
    main()
