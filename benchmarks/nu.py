"""OneClassSVM, NuSVC and NuSVR beside scikit-learn's, on data that are drawn: growth with the rows.

    python -m benchmarks nu

Each fit is a process of its own with a limit of `LIMIT` seconds, after a small fit that compiles.
Where a machine is over the limit, larger sizes are not tried.
"""

import json
import subprocess
import sys

from benchmarks import report

LIMIT = 600  # seconds
SIZES = {
    "OneClassSVM": (1_000, 10_000, 30_000, 100_000),
    "NuSVC": (1_000, 3_000, 10_000),
    "NuSVR": (1_000, 3_000, 10_000),
}
SIDES = "resolvent.svm", "sklearn.svm"
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
cls(nu=nu).fit(*data(300))
X, y = data(n)
start = time.perf_counter()
model = cls(nu=nu).fit(X, y)
seconds = time.perf_counter() - start
gap = getattr(model, "dual_gap_", None)
relative = None if gap is None else float(np.max(gap / np.abs(model.objective_)))
print(json.dumps({"seconds": seconds, "support": len(model.support_), "gap": relative}))
"""


def fit(name, side, n):
    """Result of one fit, or None if it takes too long."""
    command = [sys.executable, "-W", "ignore", "-c", FIT, name, side, str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def write(path):
    """Measure every cell, and write a Markdown table."""
    rows = []
    for name, sizes in SIZES.items():
        over = set()
        for n in sizes:
            results = {side: None if side in over else fit(name, side, n) for side in SIDES}
            over |= {side for side, result in results.items() if result is None}
            our, their = results.values()
            cells = [f"{r['seconds']:.2f}" if r else f"over {LIMIT}" for r in (our, their)]
            support = [f"{r['support']}" if r else "" for r in (our, their)]
            rows.append([name, f"{n:,}", *cells, *support, f"{our['gap']:.0e}" if our else ""])
            print(" ".join(rows[-1]), flush=True)
    words = (
        "Seconds of one fit with default settings but for nu (0.1, 0.3 and 0.5); ten features, "
        "five clusters; support vectors; relative duality gap of ours. "
        f"Limit: {LIMIT} s, after which larger sizes are not tried."
    )
    head = ["estimator", "rows", "resolvent", "scikit-learn", "SV", "SV (scikit-learn)", "gap"]
    report.write_page(path, "Machines with nu", words, head, rows)
