"""Ctrl-C and time limits: a real signal to a real process, while compiled code runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

# The design's promise is that Ctrl-C takes effect within 0.5 s on an idle machine: pieces of
# compiled work take about 50 ms, a factorisation of Newton's up to half a second. A loaded test
# machine with fewer cores than threads stretches that several times; a solver that does not look at
# all would need minutes.
PROMPT = 60.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")

# A problem that takes minutes: 3000 rows, C = 1e4, tolerance 1e-12 and no Newton to finish early.
SETUP = """
import json, sys, time, warnings
import numpy as np
from resolvent import gram, solve
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 5))
y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
small = gram(X[:50], kernel="rbf", gamma=0.2)
options = dict(solver=SOLVER, tol=1e-12, max_iter=10**9)
solve("hinge", small, y[:50], 1.0, solver=SOLVER)  # compiled by now
K = gram(X, kernel="rbf", gamma=0.2, memory_limit=MEMORY)
def report(**what):
    print(json.dumps(what), flush=True)
"""

SESSION = """
for what in ("raise", "return"):
    told = []
    def callback(record):
        if record.iteration >= 1 and not told:
            told.append(record)
            report(ready=what)
    options["callback"] = callback
    try:
        s = solve("hinge", K, y, 1e4, on_interrupt=what, accelerate=what == "raise", **options)
    except KeyboardInterrupt:
        report(end="KeyboardInterrupt", at=time.time())
    else:
        report(end=s.status.name, at=time.time(), gap=s.gap, primal=s.primal, n=len(s.history))
start = time.time()
s = solve("hinge", K, y, 1e4, time_limit=1.0, **options)
report(end=s.status.name, seconds=time.time() - start, gap=s.gap, primal=s.primal)
"""


def program(code, **names):
    lines = [f"{name} = {value!r}" for name, value in names.items()]
    return "\n".join([*lines, textwrap.dedent(SETUP), textwrap.dedent(code)])


def start(code):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )


def answer(process):
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    assert err == ""
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("memory", ["1GB", "2MB"], ids=["kept", "computed again"])
@pytest.mark.parametrize("solver", ["coordinate_descent", "fixed_point"])
def test_signals_and_time_limit(solver, memory):
    process = start(program(SESSION, SOLVER=solver, MEMORY=memory))
    try:
        ends = {}
        for what in ("raise", "return"):
            assert json.loads(process.stdout.readline()) == {"ready": what}
            time.sleep(0.2)  # from its first certificate into its loops
            sent = time.time()
            process.send_signal(signal.SIGINT)
            ends[what] = json.loads(process.stdout.readline())
            assert ends[what]["at"] - sent < PROMPT
        limited = answer(process)
    finally:
        process.kill()
        process.communicate()  # closes its pipes, whatever has failed
    assert ends["raise"]["end"] == "KeyboardInterrupt"
    assert ends["return"]["end"] == "INTERRUPTED"
    assert ends["return"]["n"] >= 1
    assert limited["end"] == "TIME_LIMIT"
    assert 1.0 <= limited["seconds"] < 1.0 + PROMPT
    for result in (ends["return"], limited):
        assert 0 < result["gap"] <= result["primal"] < float("inf")  # c = 0 proves that much


def test_signal_in_the_callback_is_not_lost():
    # The signal comes while Python code of the user runs inside the solver.
    code = program(
        """
        import os, signal
        def callback(record):
            if record.iteration >= 2:
                os.kill(os.getpid(), signal.SIGINT)
        s = solve("hinge", small, y[:50], 1e4, callback=callback, on_interrupt="return",
                  accelerate=False, **options)
        report(end=s.status.name, gap=s.gap, n_iter=s.n_iter)
        """,
        SOLVER="coordinate_descent",
        MEMORY="1GB",
    )
    process = start(code)
    result = answer(process)
    assert result["end"] == "INTERRUPTED"
    assert result["n_iter"] == 2


def test_result_after_an_interrupt_can_be_resumed():
    code = program(
        """
        import os, signal
        X2, y2 = gram(X[:300], kernel="rbf", gamma=0.2), y[:300]
        def callback(record):
            if record.iteration >= 5:
                os.kill(os.getpid(), signal.SIGINT)
        s = solve("hinge", X2, y2, 1e3, accelerate=False, on_interrupt="return",
                  callback=callback, **options)
        t = solve("hinge", X2, y2, 1e3, tol=1e-6, start=s)
        report(first=s.status.name, then=t.status.name, better=t.gap <= s.gap)
        """,
        SOLVER="coordinate_descent",
        MEMORY="1GB",
    )
    process = start(code)
    assert answer(process) == {"first": "INTERRUPTED", "then": "CONVERGED", "better": True}
