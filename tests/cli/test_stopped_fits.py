"""Fits that are stopped, by a limit or by a signal, leave the best model so far."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_line import finish, spawn

import resolvent


@pytest.fixture
def hard():
    """A problem that takes a while."""
    rng = np.random.default_rng(0)
    np.savez("hard.npz", X=rng.standard_normal((3000, 10)), y=rng.standard_normal(3000))
    return "hard.npz", "--loss", "absolute", "-c", "1e4", "--tol", "1e-12"


def test_limits_save_the_best_so_far(hard, run):
    code, out, _ = run("fit", *hard, "--max-iter", 2)
    assert code == 4
    assert "max_iter was reached before the tolerance" in out
    assert "asked for was 1.0e-12" in out
    assert "Best model so far saved: hard.model" in out
    assert resolvent.load("hard.model").estimator.status_.name == "MAX_ITER"
    assert "Solved in" not in out


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt_saves_the_best_so_far(name, hard):
    process = spawn("fit", *hard, "--json")
    line = {}
    while "iteration" not in line:  # before, it may say that it compiles
        line = json.loads(process.stdout.readline())
    assert line["event"] == "progress"
    process.send_signal(getattr(signal, name))
    code, out, err = finish(process)
    assert code == 4, err
    result = next(line for line in map(json.loads, out.splitlines()) if line["event"] == "result")
    assert result["status"] == "INTERRUPTED"
    model = resolvent.load("hard.model").estimator
    assert model.dual_gap_ == result["gap"] > 0
    assert [path for path in os.listdir() if path.startswith(".")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_interrupt_before_there_is_anything():
    process = spawn("fit", "-", stdin=subprocess.PIPE)
    # Far more than a pipe holds: when all is written, most is read, and it waits for the rest.
    process.stdin.write("1 1:1\n" * 100_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code in (130, -signal.SIGINT)
    assert "Traceback" not in err or "KeyboardInterrupt" in err
    assert os.listdir() == []


def test_interrupted_search_says_so(two, run, monkeypatch):
    """Told, saved and reported, although the last fit itself has converged."""
    from resolvent.model_selection.scoring import HeldOutScorer

    calls, score = [], HeldOutScorer.__call__

    def interrupt(self, test, scores):
        calls.append(test)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return score(self, test, scores)

    monkeypatch.setattr(HeldOutScorer, "__call__", interrupt)
    args = ("--Cs", "3", "--gammas", "2", "--threads", "1", "--report", "r.html")
    code, out, _ = run("tune", "two", "m.model", *args)
    assert code == 4
    assert "Best of 3 of 6 candidates" in out
    assert "Interrupted, after" in out
    assert "Best model so far saved: m.model" in out
    assert resolvent.load("m.model").estimator.status_.name == "INTERRUPTED"
    with open("r.html") as page:
        assert 'class="verdict open"' in page.read()
