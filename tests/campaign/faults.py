"""Ctrl-C at random moments, and memory measured: ``python -m tests.campaign.faults --minutes 10``.

A process does one thing again and again (a fit, a prediction, a search, GridSearchCV, a first fit
that compiles); another sends it SIGINT after a random time. What comes out must be a
KeyboardInterrupt or the finished result; the estimator must then be not fitted, or a model whose
objective and gap are true; no thread may go on, and the process must end when it is told to.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

PATIENCE = 120.0  # seconds until a signal must have had its effect, on a machine with other work
SCENARIOS = ("fit", "linear", "classes", "predict", "search", "grid_search", "solve", "compile")
LIMIT = 32 << 20  # bytes for rows of the kernel matrix, in the measurements of memory
BESIDES = 48 << 20  # bytes that a fit may take beside: copies of the data, vectors, threads


# ---- in the process that is interrupted ---------------------------------------------------------


def action(scenario: str, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """Make something to interrupt: a model, a function of no arguments, and the data."""
    import resolvent

    from .build import OwnLogCosh

    n = 800
    X = rng.standard_normal((n, 5))
    y = np.where(np.sin(X[:, 0]) + 0.5 * rng.standard_normal(n) > 0, 1, 0)
    if scenario == "fit":
        model: Any = resolvent.KernelClassifier(C=1e3, tol=1e-9)
    elif scenario == "linear":
        X, y = np.tile(X, (20, 1)), np.tile(y, 20)
        model = resolvent.LinearClassifier(loss="logistic", C=10.0, tol=1e-9)
    elif scenario == "classes":
        y = y + 2 * (X[:, 1] > 0)
        model = resolvent.KernelClassifier(C=100.0, tol=1e-7)
    elif scenario == "search":
        model = resolvent.KernelClassifierCV(Cs=4, gammas=4)
    elif scenario == "grid_search":
        from sklearn.model_selection import GridSearchCV

        model = GridSearchCV(resolvent.KernelClassifier(), {"C": [0.1, 1, 10, 100]}, cv=3)
    elif scenario == "compile":
        y = np.sin(X[:, 0])
        model = resolvent.KernelRegressor(loss=OwnLogCosh(), C=10.0)
    else:
        model = resolvent.KernelClassifier()
    if scenario == "predict":
        model.fit(X, y)
        many = np.tile(X, (100, 1))
        return model, lambda: model.predict(many), X, y
    if scenario == "solve":
        K, signs = resolvent.gram(X), 2.0 * y - 1.0
        return model, lambda: resolvent.solve("hinge", K, signs, 1e3, tol=1e-10), X, y
    return model, lambda: model.fit(X, y), X, y


def verdict(model: Any, scenario: str, X: np.ndarray, y: np.ndarray) -> str:
    """Say what is wrong with an estimator after an interrupt; nothing if all is well."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    half_done = scenario == "grid_search" and not hasattr(model, "best_estimator_")
    if scenario == "solve" or half_done:  # a search of scikit-learn's, which is not ours to judge
        return ""
    try:
        check_is_fitted(model)
    except NotFittedError:
        try:
            model.predict(X[:5])
        except NotFittedError:
            return ""
        return "it is not fitted, and yet it predicts"
    try:
        predicted = model.predict(X[:50])
    except NotFittedError:
        return ""
    if scenario == "grid_search":
        return ""
    found = getattr(model, "best_estimator_", model)
    if predicted.dtype.kind == "f" and not np.isfinite(predicted).all():
        return "its predictions are not finite"
    gap, objective = np.atleast_1d(found.dual_gap_), np.atleast_1d(found.objective_)
    if not (np.isfinite(objective).all() and (gap >= 0).all()):
        return f"its gap is {gap} at {objective}"
    if scenario != "predict":
        whole = type(found)(**found.get_params()).set_params(tol=1e-6, time_limit=None).fit(X, y)
        least = np.atleast_1d(whole.objective_)
        if (objective - gap > least * (1 + 1e-9)).any():
            return f"objective {objective} and gap {gap}, where {least} was reached"
        done = gap <= found.tol * objective
        if found.status_.name == "CONVERGED" and not done.all():
            return f"CONVERGED with gap {gap} at {objective}"
    return ""


def child(scenario: str, seed: int) -> None:
    """Do it once to see how long it takes, then again and again, each time interrupted."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rng = np.random.default_rng(seed)
    model, work, X, y = action(scenario, rng)
    seconds = 20.0
    if scenario != "compile":
        for _ in range(2):  # the second is compiled
            began = time.perf_counter()
            work()
            seconds = time.perf_counter() - began
    for line in sys.stdin:
        model, work, X, y = action(scenario, rng)
        threads = threading.active_count()
        end = ""
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print(json.dumps({"ready": seconds}), flush=True)
            work()
            end = "finished"
        except KeyboardInterrupt:
            end = "interrupted"
        except BaseException as error:
            end = f"{type(error).__name__}: {error}"
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        wrong = verdict(model, scenario, X, y)
        extra = [t.name for t in threading.enumerate() if not t.name.startswith("resolvent")]
        if len(extra) > threads:
            wrong += f" threads {extra}"
        print(json.dumps({"end": end, "wrong": wrong}), flush=True)
        if line.strip() == "last":
            break


# ---- in the process that interrupts -------------------------------------------------------------


class Victim:
    """A process that is interrupted."""

    def __init__(self, scenario: str, seed: int) -> None:
        self.scenario = scenario
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.faults", "--child", scenario, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _line(self) -> Any:
        assert self.process.stdout is not None
        found: list[str] = []
        reading = threading.Thread(
            target=lambda: found.append(self.process.stdout.readline()), daemon=True
        )
        reading.start()
        reading.join(PATIENCE)
        return json.loads(found[0]) if found and found[0] else None

    def interrupt(self, moment: float) -> dict[str, Any]:
        """Send SIGINT at a share of the time that the work takes; what came of it."""
        assert self.process.stdin is not None
        self.process.stdin.write("once\n")
        self.process.stdin.flush()
        ready = self._line()
        if ready is None:
            return {"end": "nothing", "wrong": "it did not start"}
        delay = moment * ready["ready"]
        time.sleep(delay)
        os.kill(self.process.pid, signal.SIGINT)
        answer = self._line()
        if answer is None:
            return {"end": "nothing", "wrong": f"no answer to a signal after {delay:.3f} s"}
        if answer["end"] not in ("finished", "interrupted"):
            answer["wrong"] += f" {answer['end']} after {delay:.3f} s"
        return answer

    def end(self) -> str:
        """Let the process end; say what is wrong with how it does."""
        try:
            _, errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return "it did not end"
        return "" if self.process.returncode == 0 else f"ended with {errors[-500:]}"


def signals(seed: int, minutes: float, rounds: int = 20) -> tuple[Counter[str], list[str]]:
    """Interrupt all scenarios in turn until the time is over."""
    order = random.Random(seed)
    counts, wrong = Counter[str](), []
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        for scenario in SCENARIOS:
            victim = Victim(scenario, order.randrange(10**6))
            for _ in range(1 if scenario == "compile" else rounds):
                moment = order.random() ** 2 * 1.1  # early moments more often
                answer = victim.interrupt(moment)
                counts[f"{scenario} {answer['end']}"[:40]] += 1
                if answer["wrong"]:
                    wrong.append(f"{scenario}: {answer['wrong']}")
                if answer["end"] == "nothing":
                    victim.process.kill()
                    break
            trouble = victim.end()
            if trouble:
                wrong.append(f"{scenario}: {trouble}")
            if time.monotonic() > end:
                break
    return counts, wrong


MEMORY = """
import re, sys
import numpy as np
import resolvent
def of(name):
    return int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) << 10
loss, n, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, 10)), np.where(rng.random(n) < 0.5, 1, 0)
def model():
    return resolvent.KernelClassifier(loss=loss, memory_limit=limit, max_iter=20, tol=1e-3)
import warnings
warnings.simplefilter("ignore")
model().fit(X[:400], y[:400])
before = of("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
fitted = model().fit(X, y)
fitted.predict(X)
print(of("VmHWM") - before)
"""


def memory_peaks() -> tuple[dict[str, int], list[str]]:
    """Peak of memory of fits within a limit, beyond what the process had before."""
    peaks, wrong = {}, []
    for loss in ("hinge", "logistic", "squared_hinge", "multinomial"):
        command = [sys.executable, "-c", MEMORY, loss, "6000", str(LIMIT)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            wrong.append(f"memory of {loss}: {done.stderr[-500:]}")
            continue
        peaks[loss] = int(done.stdout)
        if peaks[loss] > LIMIT + BESIDES:
            wrong.append(f"{loss} took {peaks[loss] >> 20} MB with a limit of {LIMIT >> 20} MB")
    return peaks, wrong


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], int(arguments.child[1]))
        return 0
    peaks, wrong = memory_peaks()
    print("memory:", ", ".join(f"{loss} {size >> 20} MB" for loss, size in peaks.items()))
    counts, more = signals(arguments.seed, arguments.minutes)
    print("signals:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print("\n".join(wrong + more))
    print(f"{len(wrong + more)} failures")
    return min(len(wrong + more), 1)


if __name__ == "__main__":
    sys.exit(main())
