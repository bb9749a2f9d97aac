"""
Rows of an RBF kernel matrix beside the least that they can cost: a matrix product, and a write.

    python -m benchmarks kernel_rows        # into results/kernel_rows.md

The product is NumPy's, of the same samples in single precision by BLAS with all its threads, into
an array that has been written to before. The write is a copy of the result. All take turns, each
after a rest, since the threads of BLAS go on waiting in a loop for a while after a product, and the
best of several counts.
"""

import time

import numpy as np

from benchmarks import report
from resolvent import gram

N, ROWS, GOAL = 20_000, 2048, 1.5
REST = 0.2  # seconds
COLUMNS = (8, 22, 54, 123, 784)


def seconds(function):
    time.sleep(REST)
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def measure(n, rows, d, repeat):
    """Seconds for some rows of K, for the product alone, and for a copy of it."""
    X = np.random.default_rng(0).standard_normal((n, d), np.float32)
    K = gram(X, kernel="rbf", gamma=1.0 / d)
    index, place = np.arange(rows), np.arange(rows)
    ours, product, copy = (np.zeros((rows, n), np.float32) for _ in range(3))
    sides = (
        lambda: K._compute(index, ours, place),  # fetch() would touch fresh memory as well
        lambda: np.matmul(X[:rows], X.T, out=product),
        lambda: np.copyto(copy, product),
    )
    times = [[seconds(side) for side in sides] for _ in range(repeat + 1)]
    return np.min(times[1:], axis=0)


def write(path, n=N, rows=ROWS, repeat=9):
    """Measure, and write a Markdown table."""
    lines = []
    for d in COLUMNS:
        ours, product, copy = measure(n, rows, d, repeat)
        ratio = ours / (product + copy)
        verdict = "met" if ratio <= GOAL else "missed"
        cells = (f"{1e3 * x:.1f}" for x in (ours, product, copy))
        lines.append([str(d), *cells, f"{ratio:.2f}", f"{GOAL:g} {verdict}"])
    words = f"{rows:,} rows of an RBF kernel matrix of {n:,} samples, milliseconds:"
    head = ["columns", "ours", "product", "write", "ours / both", "goal"]
    report.write_page(path, "Rows of the kernel matrix", words, head, lines)
