"""Run a use of each package, plain and patched, and compare the answers.

    python -m tests.clients [names ...]

Each run is a process of its own, so that the patch comes before what it has to reach.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .uses import USES

SAME = 1e-3  # of the largest value: LIBSVM's default tolerance is that of a violation of 1e-3


def answers(name: str, patched: bool) -> Any:
    """Answers of a use, or the last line of its error."""
    command = [sys.executable, "-m", __package__, "--run", name, *(["--patched"] * patched)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {key: np.array(value) for key, value in json.loads(done.stdout).items()}


def run_one(name: str, patched: bool) -> None:
    """Print the answers of one use as JSON."""
    warnings.simplefilter("ignore")
    import resolvent

    if patched:
        resolvent.patch_sklearn()
    found = USES[name]()
    out = {key: np.asarray(value, dtype=float).tolist() for key, value in found.items()}
    sys.stdout.write(json.dumps(out))


def compare(plain: Any, patched: Any) -> tuple[bool, str]:
    """Whether answers agree, and in words how much."""
    if isinstance(plain, str):
        return isinstance(patched, str), f"fails without the patch too: {plain}"
    if isinstance(patched, str):
        return False, f"fails: {patched}"
    words, fine = [], True
    for key, expected in plain.items():
        found = patched[key]
        if found.shape != expected.shape:
            fine = False
            words.append(f"{key}: shape {found.shape} for {expected.shape}")
        elif key == "label":
            share = float(np.mean(found != expected))
            fine &= share == 0.0
            words.append("labels equal" if share == 0.0 else f"{share:.1%} of labels differ")
        else:
            off = float(np.abs(found - expected).max() / np.abs(expected).max())
            fine &= off <= SAME or key == "probability"
            words.append(f"{key}: {off:.0e}")
    return fine, ", ".join(words)


def main() -> int:
    failed = 0
    for name in sys.argv[1:] or USES:
        try:
            label = f"{name} {version(name)}"
        except PackageNotFoundError:
            print(f"{name}: not installed")
            continue
        fine, words = compare(answers(name, False), answers(name, True))
        failed += not fine
        print(f"{label}: {'same' if fine else 'DIFFERS'}; {words}", flush=True)
    return failed


if __name__ == "__main__":
    if "--run" in sys.argv:
        run_one(sys.argv[2], "--patched" in sys.argv)
    else:
        sys.exit(main())
