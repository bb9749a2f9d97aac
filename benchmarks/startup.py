"""
Time to start: import, and import plus the first fit, against scikit-learn's.

Every measurement is a fresh Python process, timed from inside it (the interpreter's own start is
not counted), and the two sides take turns. Run::

    python benchmarks/startup.py            # a Markdown table
    python benchmarks/startup.py --repeat 15

"warm" means that the loops were compiled by an earlier process and are on disk; "cold" starts from
an empty directory. BLAS is given one thread, so that both sides wait for the same things.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version

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


def measure(code, cache):
    """Seconds that the code takes in a fresh process."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    }
    command = [sys.executable, "-c", TIMER.format(code)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description="Time to start, against scikit-learn's.")
    parser.add_argument("--repeat", type=int, default=7, help="processes for each measurement")
    parser.add_argument("--cold", type=int, default=2, help="processes for the cold start")
    options = parser.parse_args()
    seconds = {name: [] for name in [*CODE, "cold"]}
    with tempfile.TemporaryDirectory() as warm:
        for code in CODE.values():  # compiles, and brings all files into the system's cache
            measure(code, warm)
        for _ in range(options.repeat):
            for name, code in CODE.items():
                seconds[name].append(measure(code, warm))
        for _ in range(options.cold):
            with tempfile.TemporaryDirectory() as empty:
                seconds["cold"].append(measure(CODE["import + solve"], empty))
    medians = {name: statistics.median(times) for name, times in seconds.items()}

    names = "numpy", "scipy", "scikit-learn", "numba"
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    print(f"Medians of {options.repeat} processes ({options.cold} cold); hinge, RBF, 1000 x 20.\n")
    print("| | seconds | scikit-learn | ratio | goal |")
    print("|---|---|---|---|---|")
    for what, ours, theirs, goal in ROWS:
        ratio = medians[ours] / medians[theirs]
        bound = "" if goal is None else f"{goal:g} {'met' if ratio <= goal else 'missed'}"
        row = f"{medians[ours]:.3f} | {medians[theirs]:.3f} | {ratio:.2f} | {bound}"
        print(f"| {what} | {row} |")


if __name__ == "__main__":
    main()
