"""
Time to start: import, and import plus the first fit, against scikit-learn's.

Every measurement is a fresh Python process, timed from inside it (the interpreter's own start is
not counted), and the two sides take turns. Run::

    python -m benchmarks startup            # into results/startup.md

"warm" means that the loops were compiled by an earlier process and are on disk; "cold" starts from
an empty directory. BLAS is given one thread, so that both sides wait for the same things.
"""

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks import report

TIMER = """
import time
began = time.perf_counter()
{}
print(time.perf_counter() - began)
"""

# The data are made by hand, so that no side gets to import anything beforehand.
PROBLEM = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((1000, 20))
y = np.where((X[:, :5] ** 2).sum(axis=1) + 0.5 * rng.standard_normal(1000) > 5, 1.0, -1.0)
"""

SOLVE = """
from resolvent import gram, solve
solve("hinge", gram(X, kernel="rbf", gamma=0.05), y, C=1.0, fit_intercept=True)
"""

OUR_SVC = """
from resolvent.svm import SVC
SVC(C=1.0, kernel="rbf", gamma=0.05).fit(X, y)
"""

THEIR_SVC = """
from sklearn.svm import SVC
SVC(C=1.0, kernel="rbf", gamma=0.05).fit(X, y)
"""

CODE = {
    "import resolvent": "import resolvent",
    "import resolvent.svm": "import resolvent.svm",
    "import sklearn.svm": "import sklearn.svm",
    "import + solve": PROBLEM + SOLVE,
    "import + resolvent.svm.SVC": PROBLEM + OUR_SVC,
    "import + sklearn.svm.SVC": PROBLEM + THEIR_SVC,
}

ROWS = [  # what, its measure, the measure it is compared with, goal of the ratio
    ("`import resolvent`", "import resolvent", "import sklearn.svm", 1.25),
    ("`import resolvent.svm`, which loads everything", "import resolvent.svm",
     "import sklearn.svm", None),
    ("import + first `solve`, warm", "import + solve", "import + sklearn.svm.SVC", 1.5),
    ("import + first `resolvent.svm.SVC`, warm", "import + resolvent.svm.SVC",
     "import + sklearn.svm.SVC", None),
    ("import + first `solve`, cold", "cold", "import + sklearn.svm.SVC", None),
]  # fmt: skip

# Fits one after the other in one process with an empty cache, and goals in seconds of its work.
COLD_FITS = [
    ("first `SVC` in an empty cache", "svm.SVC().fit(X, y)", 4.0),
    ("then the first `SVR`, another loss", "svm.SVR().fit(X, z)", 2.0),
    ("then the first `LinearSVC`", "svm.LinearSVC().fit(X, y)", None),
    ("then logistic", "resolvent.KernelClassifier('logistic').fit(X, y)", None),
]


def cold_fits():
    """Seconds of processor time of each of COLD_FITS, in a fresh process with an empty cache."""
    lines = [PROBLEM, "import resolvent, resolvent.svm as svm", "z = X[:, 0] ** 2", "times = []"]
    for _, fit, _ in COLD_FITS:
        lines += ["began = time.process_time()", fit, "times.append(time.process_time() - began)"]
    with tempfile.TemporaryDirectory() as empty:
        words = run("\n".join([*lines, "print(*times)"]), empty)
    return [float(word) for word in words[: len(COLD_FITS)]]


def measure(code, cache):
    """Seconds that the code takes in a fresh process."""
    return float(run(code, cache)[-1])


def run(code, cache):
    """Words that the code prints in a fresh process, and the seconds it took."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    }
    command = [sys.executable, "-c", TIMER.format(code)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.split()


def write(path, repeat=7, cold=2):
    """Measure, and write a Markdown table."""
    seconds = {name: [] for name in [*CODE, "cold"]}
    with tempfile.TemporaryDirectory() as warm:
        for code in CODE.values():  # compiles, and brings all files into the system's cache
            measure(code, warm)
        for _ in range(repeat):
            for name, code in CODE.items():
                seconds[name].append(measure(code, warm))
        for _ in range(cold):
            with tempfile.TemporaryDirectory() as empty:
                seconds["cold"].append(measure(CODE["import + solve"], empty))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    rows = []
    for what, ours, theirs, goal in ROWS:
        ratio = medians[ours] / medians[theirs]
        bound = "" if goal is None else f"{goal:g} {'met' if ratio <= goal else 'missed'}"
        rows.append([what, f"{medians[ours]:.3f}", f"{medians[theirs]:.3f}", f"{ratio:.2f}", bound])
    fits = [
        statistics.median(times) for times in zip(*(cold_fits() for _ in range(cold)), strict=True)
    ]
    for (what, _, goal), seconds_of_fit in zip(COLD_FITS, fits, strict=True):
        bound = (
            "" if goal is None else f"{goal:g} s {'met' if seconds_of_fit <= goal else 'missed'}"
        )
        rows.append([f"{what} (processor time)", f"{seconds_of_fit:.2f}", "", "", bound])
    words = f"Medians of {repeat} processes ({cold} cold); hinge, RBF, 1000 x 20."
    head = ["", "seconds", "scikit-learn", "ratio", "goal"]
    report.write_page(path, "Time to start", words, head, rows)
