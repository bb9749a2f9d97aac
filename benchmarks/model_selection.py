"""Five folds over 10 x 10 values of gamma and C: resolvent, liquidSVM, GridSearchCV.

    python -m benchmarks.model_selection [--liquidsvm PYTHON] [--cells covtype-5000 ...]

Everybody gets the same samples and the same grid: liquidSVM's default one, in its own terms widths
from 5 (1 + 5/n)^d to 0.2 n^(-1/d) and lambdas from 0.01 to 0.001 / n for n samples in a fold's
training set, here gamma = 1 / width^2 and C = 1 / (2 n lambda). liquidSVM solves without an offset,
so we do too; `resolvent, offset` is the default of our estimators. Times are of the search and of
what makes its model: we fit the winner on all samples, liquidSVM keeps the five models of the folds
and lets them vote. GridSearchCV over scikit-learn's SVC runs a tenth of the grid, one C for each
gamma so that all values of both occur, and its time is multiplied by ten: as it comes, in one
process, and with n_jobs=2, while we and liquidSVM have two threads.

Each run is a process of its own, and warm, as in the other tables: ours is the second of two
searches, GridSearchCV has its processes started by a search of 300 rows. liquidSVM needs an old
setuptools (it imports pkg_resources), hence an interpreter of its own: --liquidsvm names it.
Without it liquidSVM is left out with a word.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
CELLS = {
    "covtype-5000": ("covtype", 5000, None),
    "covtype-10000": ("covtype", 10_000, None),
    "ijcnn1-5000": ("ijcnn1", 5000, None),
    "cal_housing-2000": ("cal_housing", 2000, (0.1, 0.5, 0.9)),
}
JOBS = {"GridSearchCV(SVC)": None, "GridSearchCV(SVC), n_jobs=2": 2}
PEERS = ("resolvent", "resolvent, offset", "liquidSVM", *JOBS)
FOLDS = 5


def grid(n, d):
    """liquidSVM's default grid for n samples in all: gammas and Cs, increasing."""
    train = int(n * (FOLDS - 1) / FOLDS)
    widths = np.geomspace(5.0 * (1 + 5.0 / train) ** d, 0.2 * train ** (-1.0 / d), 10)
    lambdas = np.geomspace(0.01, 0.001 / train, 10)
    return 1 / widths**2, 1 / (2 * train * lambdas)


def pinball(y, bands, taus):
    residuals = y[:, None] - bands
    return float(
        np.mean(np.maximum(np.multiply(taus, residuals), np.subtract(taus, 1) * residuals))
    )


def searcher(data, taus, fit_intercept):
    """Search of ours over the grid."""
    from resolvent import KernelClassifierCV, KernelQuantileRegressorCV

    gammas, Cs = grid(*data["X"].shape)
    args = {"gammas": gammas, "Cs": Cs, "cv": FOLDS, "fit_intercept": fit_intercept}
    return KernelQuantileRegressorCV(taus, **args) if taus else KernelClassifierCV(**args)


def ours(data, taus, fit_intercept):
    model = searcher(data, taus, fit_intercept)
    model.fit(data["X"], data["y"])
    began = time.perf_counter()
    model.fit(data["X"], data["y"])
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "search": model.search_time_,
        "best": model.best_params_,
        "status": str(model.status_),
        "error": error(data, model.predict(data["X_test"]), taus),
    }


def liquidsvm(data, taus):
    import sysconfig

    sysconfig.get_config_vars()["SO"] = ".so"  # its name before Python 3.11
    import liquidSVM

    X, X_test = (data[part].astype(np.float64) for part in ("X", "X_test"))
    y = data["y"].astype(np.float64)
    began = time.perf_counter()
    if taus:
        model = liquidSVM.qtSVM(X, y, weights=list(taus), threads=2, folds=FOLDS)
    else:
        model = liquidSVM.mcSVM(X, y, threads=2, folds=FOLDS)
    model.train()
    model.select()
    seconds = time.perf_counter() - began
    predictions, _ = model.test(X_test, data["y_test"].astype(np.float64))
    predictions = np.asarray(predictions).reshape(len(X_test), -1)
    bands = predictions[:, -len(taus) :] if taus else predictions[:, 0]
    return {"seconds": seconds, "error": error(data, bands, taus)}


def grid_search(data, taus, n_jobs):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    if taus:
        return {"skipped": "has no quantiles"}
    gammas, Cs = grid(*data["X"].shape)
    tenth = [{"gamma": [gammas[i]], "C": [Cs[(3 * i) % 10]]} for i in range(10)]
    search = GridSearchCV(SVC(cache_size=1000), tenth, cv=FOLDS, n_jobs=n_jobs, refit=False)
    X, y = data["X"].astype(np.float64), data["y"]
    some = np.random.default_rng(0).permutation(len(y))[:300]
    search.fit(X[some], y[some])
    began = time.perf_counter()
    search.fit(X, y)
    return {"seconds": 10 * (time.perf_counter() - began), "extrapolated": True}


def error(data, predictions, taus):
    """Share of wrong classes, or mean pinball loss, on the test samples."""
    if taus:
        return pinball(data["y_test"], predictions, taus)
    return float(np.mean(predictions != data["y_test"]))


def child(peer, path, taus):
    with np.load(path) as z:
        data = dict(z)
    if peer.startswith("resolvent"):
        return ours(data, taus, fit_intercept=peer.endswith("offset"))
    return liquidsvm(data, taus) if peer == "liquidSVM" else grid_search(data, taus, JOBS[peer])


def run(peer, path, taus, options):
    if peer == "liquidSVM" and not options.liquidsvm:
        return {"skipped": "no --liquidsvm"}
    python = options.liquidsvm if peer == "liquidSVM" else sys.executable
    task = json.dumps([peer, str(path), taus])
    try:
        done = subprocess.run(
            [python, "-W", "ignore", __file__, "--child", task],
            capture_output=True,
            text=True,
            timeout=options.limit,
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"over {options.limit:g} s"}
    if done.returncode:
        return {"skipped": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def prepare(dataset, n, folder):
    from benchmarks import datasets

    path = Path(folder) / f"{dataset}-{n}.npz"
    np.savez(path, **datasets.get(dataset, n))
    return path


def report(results):
    lines = [
        "# Model selection: 10 x 10 values of gamma and C in 5 folds",
        "",
        "| problem | " + " | ".join(f"{peer}: s (error)" for peer in PEERS) + " |",
        "|---" * (len(PEERS) + 1) + "|",
    ]
    for cell, runs in results.items():
        row = [cell]
        for peer in PEERS:
            found = runs.get(peer, {"skipped": "-"})
            if "skipped" in found:
                row.append(found["skipped"])
            elif "error" in found:
                row.append(f"{found['seconds']:.1f} ({found['error']:.4f})")
            else:
                row.append(f"about {found['seconds']:.0f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--liquidsvm", help="interpreter that has liquidSVM")
    parser.add_argument("--cells", nargs="*", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run")
    parser.add_argument("--results", default=str(RESULTS), help="folder of the tables")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(*json.loads(options.child))))
        return
    folder = Path(options.results)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "model_selection.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        for cell in options.cells:
            dataset, n, taus = CELLS[cell]
            path = prepare(dataset, n, scratch)
            for peer in options.peers:
                results.setdefault(cell, {})[peer] = run(peer, path, taus, options)
                print(cell, peer, results[cell][peer], flush=True)
                kept.write_text(json.dumps(results, indent=1) + "\n")
    (folder / "model_selection.md").write_text(report(results))
    print(report(results))


if __name__ == "__main__":
    main()
