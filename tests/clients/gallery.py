"""Run the scripts of scikit-learn's gallery that name its SVMs or its kernel ridge under the patch.

    python -m tests.clients.gallery path/to/scikit-learn/examples

Nothing of the gallery is in this repository: give a copy of scikit-learn's sources.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

NAMES = re.compile(r"sklearn\.svm|sklearn import (\w+, )*svm|sklearn\.kernel_ridge")
LIMIT = 300  # seconds for one script


def run(script: Path, patched: bool) -> str:
    """Return "" if the script ends well, otherwise the last line of what it said."""
    command = [sys.executable, *(["-m", "resolvent.patch"] * patched), script.name]
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command,
            cwd=script.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"not over after {LIMIT} s"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["no message"])[-1]


def main() -> int:
    root = Path(sys.argv[1])
    scripts = [path for path in sorted(root.rglob("*.py")) if NAMES.search(path.read_text())]
    count = failed = 0
    for script in scripts:
        if "fetch_" in script.read_text():
            print(f"{script.relative_to(root)}: left out, it downloads data", flush=True)
            continue
        start = time.monotonic()
        error = run(script, patched=True)
        seconds = time.monotonic() - start
        plain = run(script, patched=False) if error else ""
        name = script.relative_to(root)
        if not error:
            count += 1
            print(f"{name}: runs, {seconds:.0f} s", flush=True)
        elif plain:
            print(f"{name}: fails without the patch too: {plain[:150]}", flush=True)
        else:
            failed += 1
            print(f"{name}: FAILS: {error[:300]}", flush=True)
    print(f"{count} of {len(scripts)} scripts run; {failed} fail that run without the patch")
    return failed


if __name__ == "__main__":
    sys.exit(main())
