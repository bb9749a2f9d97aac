"""The memory of a whole fit, measured in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")
LIMIT = 50

MEASURE = """
import re, sys, warnings
from pathlib import Path
import numpy as np
from resolvent import KernelClassifier

def megabytes(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(name + r":\\s*(\\d+) kB", status)[1]) * 1024 / 1e6

loss, C, limit = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.standard_normal((4000, 5))
y = X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(len(X)) > 0
model = KernelClassifier(loss=loss, C=C, memory_limit=f"{limit}MB", max_iter=40)
warnings.simplefilter("ignore")
model.fit(X[:2100], y[:2100])  # loads what is compiled, for as large a problem
Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
before = megabytes("VmRSS")
model.fit(X, y)
print(megabytes("VmHWM") - before)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="/proc tells the peak of a process")
@pytest.mark.parametrize(("loss", "C"), [("logistic", 1.0), ("squared_hinge", 100.0)])
def test_peak_of_a_fit(loss, C):
    """Sweeps, and blocks with systems of the free coordinates, where K takes 128 MB."""
    command = [sys.executable, "-c", MEASURE, loss, str(C), str(LIMIT)]
    threads = os.environ | {"OPENBLAS_NUM_THREADS": "2"}  # each has its working space
    for _ in range(2):  # the first compiles, for which it needs memory
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env=threads
        )
        assert run.returncode == 0, run.stderr
    assert 0.5 * LIMIT < float(run.stdout) <= 1.2 * LIMIT
