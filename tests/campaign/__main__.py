"""Run the campaign: ``python -m tests.campaign --minutes 30 --seed 1``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from .draw import SIMPLE, Case, draw, tidy
from .shrink import shrink
from .worker import Worker, serve

FILES = 1 / 6  # share of the time for mutated files


class Campaign:
    """Cases in several processes until the time is over."""

    def __init__(self, seed: int, minutes: float) -> None:
        self.seed, self.end = seed, time.monotonic() + 60.0 * minutes
        self.next, self.told = 0, time.monotonic()
        self.cases, self.failed = Counter[str](), Counter[str]()
        self.lock = threading.Lock()

    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def run(self) -> None:
        """Work on cases in one process."""
        with Worker() as worker:
            while not self.is_over():
                with self.lock:
                    seed, self.next = self.seed + self.next, self.next + 1
                case = draw(seed)
                failures = worker.check(case)
                with self.lock:
                    self.cases[case["estimator"]] += 1
                if failures:
                    self.report(worker, seed, case, failures)

    def tell(self) -> None:
        """Say once a minute how far it is."""
        if time.monotonic() - self.told > 60.0:
            self.told = time.monotonic()
            total, bad = sum(self.cases.values()), sum(self.failed.values())
            print(f"... {total} cases, {bad} failures", flush=True)

    def report(self, worker: Worker, seed: int, case: Case, failures: list[Any]) -> None:
        """Shrink a failing case and say how to repeat it."""
        kind, message = failures[0]
        with self.lock:
            self.failed[kind] += 1
            often = self.failed[kind] > 10
        if kind not in ("hang", "speed") and not often and not self.is_over():

            def fails(new: Case) -> bool:
                return any(found[0] == kind for found in worker.check(new))

            case = shrink(case, fails, seconds=90.0)
            again = [found for found in worker.check(case) if found[0] == kind]
            message = again[0][1] if again else message
        with self.lock:
            print(f"seed {seed}: {kind}: {message}", flush=True)
            print(f"  python -m tests.campaign --case {as_argument(case)}", flush=True)


def as_argument(case: Case) -> str:
    """Write a case for a shell, without the fields that have their simplest values."""
    told = {name: value for name, value in case.items() if value != SIMPLE[name]}
    return f"'{json.dumps(told)}'"


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="of the first case; the next has the next")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--case", help="one case, as it was printed")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return serve(sys.stdin, sys.stdout)
    if arguments.case:
        return repeat(json.loads(arguments.case))
    seed = arguments.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seeds from {seed} on, for {arguments.minutes:g} minutes", flush=True)
    campaign = Campaign(seed, (1.0 - FILES) * arguments.minutes)
    threads = [threading.Thread(target=campaign.run) for _ in range(arguments.processes)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1.0)
        campaign.tell()
    total, bad = sum(campaign.cases.values()), sum(campaign.failed.values())
    print(f"{total} cases ({', '.join(f'{k} {v}' for k, v in sorted(campaign.cases.items()))})")
    print(f"{bad} failures ({', '.join(f'{k} {v}' for k, v in sorted(campaign.failed.items()))})")
    command = [sys.executable, "-m", "tests.campaign.files", "--seed", str(seed)]
    seconds = str(60.0 * FILES * arguments.minutes)
    return min(bad, 1) or subprocess.run([*command, "--seconds", seconds]).returncode


def repeat(told: Case) -> int:
    """Check one case here, and print what fails."""
    from .properties import check

    failures = check(tidy(SIMPLE | told))
    for kind, message in failures:
        print(f"{kind}: {message}")
    print(f"{len(failures)} failures")
    return min(len(failures), 1)


if __name__ == "__main__":
    sys.exit(main())
