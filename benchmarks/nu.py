"""OneClassSVM, NuSVC and NuSVR beside scikit-learn's and intelex's: growth with the rows.

    python -m benchmarks nu --limit 200

Data are drawn. Each fit is a process of its own with a limit of seconds, after a small fit that
compiles. Where a machine is over the limit, larger sizes are not tried.
"""

import json
import subprocess
import sys

from benchmarks import report

SIZES = 1_000, 10_000, 30_000, 100_000
OURS, THEIRS, INTELEX = "resolvent.svm", "sklearn.svm", "sklearnex.svm"
SIDES = {
    "OneClassSVM": (OURS, THEIRS),  # intelex has none
    "NuSVC": (OURS, THEIRS, INTELEX),
    "NuSVR": (OURS, THEIRS, INTELEX),
}
FIT = """
import importlib, json, sys, time
import numpy as np
name, side, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
cls = getattr(importlib.import_module(side), name)
rng = np.random.default_rng(0)

def data(n):
    centres = rng.normal(scale=2.0, size=(5, 10))
    X = centres[rng.integers(5, size=n)] + rng.normal(size=(n, 10))
    s = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 4
    noise = rng.normal(scale=0.3, size=n)
    return X, {"OneClassSVM": None, "NuSVC": s + noise > np.median(s), "NuSVR": s + noise}[name]

nu = {"OneClassSVM": 0.1, "NuSVC": 0.3, "NuSVR": 0.5}[name]
for few in 300, 2500:  # fits of few samples are other code
    cls(nu=nu).fit(*data(few))
X, y = data(n)
start, work = time.perf_counter(), time.process_time()
model = cls(nu=nu).fit(X, y)
seconds, work = time.perf_counter() - start, time.process_time() - work
gap = getattr(model, "dual_gap_", None)
relative = None if gap is None else float(np.max(gap / np.abs(model.objective_)))
found = {"seconds": seconds, "work": work, "support": len(model.support_), "gap": relative}
print(json.dumps(found))
"""


def fit(name, side, n, limit):
    """Result of one fit, or None if it takes too long."""
    command = [sys.executable, "-W", "ignore", "-c", FIT, name, side, str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def cell(result, limit):
    """Seconds of a fit, and of the processors, in words."""
    return f"{result['seconds']:.2f} ({result['work']:.2f})" if result else f"over {limit:.0f}"


def write(path, options):
    """Measure every cell, and write a Markdown table."""
    rows = []
    for name, sides in SIDES.items():
        over = set()
        for n in SIZES:
            results = {s: None if s in over else fit(name, s, n, options.limit) for s in sides}
            over |= {side for side, result in results.items() if result is None}
            cells = [cell(result, options.limit) for result in results.values()]
            cells += ["none"] * (3 - len(sides))
            support = " / ".join(str(r["support"]) if r else "-" for r in results.values())
            gap = f"{results[OURS]['gap']:.0e}" if results[OURS] else ""
            rows.append([name, f"{n:,}", *cells, support, gap])
            print(" | ".join(rows[-1]), flush=True)
    words = (
        "Seconds of one fit, and in brackets those of both processors, with default settings but "
        "for nu (0.1, 0.3 and 0.5); ten features, five clusters; support vectors of each; relative "
        f"duality gap of ours. Limit: {options.limit:.0f} s, the fits that compile included, after "
        "which larger sizes are not tried."
    )
    head = ["estimator", "rows", "resolvent", "scikit-learn", "intelex", "support vectors", "gap"]
    report.write_page(path, "Machines with nu", words, head, rows)
