"""Hardware and versions, without names or paths of the machine."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import resolvent

PACKAGES = "numpy scipy numba scikit-learn scikit-learn-intelex liblinear-official thundersvm"


def describe():
    """Dictionary of processor, cores, memory, and the versions of what is installed."""
    found = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "resolvent": resolvent.__version__,
    }
    for package in PACKAGES.split():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
