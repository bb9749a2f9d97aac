"""The command line in a process of its own, and a table to give it."""

import subprocess
import sys

import numpy as np
from sklearn.datasets import load_iris

FLOWERS = load_iris(as_frame=True).frame.rename(columns=lambda name: name.replace(" (cm)", ""))
FLOWERS["species"] = load_iris().target_names[FLOWERS.pop("target")]
FLOWERS["garden"] = np.where(np.arange(150) % 3 == 0, "north", "south")


def spawn(*args, **options):
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "resolvent", *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finish(process, text=None):
    out, err = process.communicate(text, timeout=200)
    return process.returncode, out, err
