"""A process that checks cases one after another, watched from outside."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, TextIO

import psutil

from .draw import Case

# Seconds for one case, its compilation and all its oracles included: of the processor, and of a
# machine with much other work.
PATIENCE = 240.0
FACTOR = 8.0


def serve(source: TextIO, sink: TextIO) -> int:
    """Check the cases that come in, one a line; answer with the failures of each."""
    from .properties import check

    faulthandler.register(signal.SIGUSR1, all_threads=True)
    for line in source:
        answer = [list(failure) for failure in check(json.loads(line))]
        sink.write(json.dumps(answer) + "\n")
        sink.flush()
    return 0


class Worker:
    """Such a process, started again after a case that killed it or did not end."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.process: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Start a process, whose errors go to a file."""
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed in `stop`)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign", "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.errors.close()
            self.process = None

    def check(self, case: Case) -> list[Any]:
        """Failures of a case, among them that it does not end or kills the process."""
        if self.process is None:
            self.start()
        answer: list[str] = []

        def ask() -> None:
            try:
                self.process.stdin.write(json.dumps(case) + "\n")
                self.process.stdin.flush()
                answer.append(self.process.stdout.readline())
            except BrokenPipeError:
                answer.append("")

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        end, used = time.monotonic() + FACTOR * self.patience, self.used()
        while asking.is_alive() and time.monotonic() < end:
            asking.join(1.0)
            if self.used() - used > self.patience:
                break
        if asking.is_alive():
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(1.0)
            failure = ["hang", f"no answer in {self.patience:.0f} s\n{self.said()}"]
            self.stop()
            asking.join()
            return [failure]
        if not answer[0]:
            code = self.process.wait()
            failure = ["death", f"the process ended with {code}\n{self.said()}"]
            self.stop()
            return [failure]
        return json.loads(answer[0])

    def used(self) -> float:
        """Seconds of the processor that the process has used; 0 after its end."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def said(self) -> str:
        """Return the end of what the process wrote to its errors."""
        self.errors.seek(0)
        return self.errors.read()[-3000:]
