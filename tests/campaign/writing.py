"""Saving a model while the process is killed or the disk is full: the old file or the new, whole.

``python -m tests.campaign.writing --kills 1000`` saves two models over each other in a process that
is killed at a random moment, so many times, and then once for each of many limits on the size of
files, at which writing fails as on a full disk.
"""

import argparse
import contextlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import resolvent
from resolvent.io.libsvm import read_libsvm


def make_models(folder, rows=400):
    """Two models that differ, and the bytes of their files."""
    models = []
    for k in (1, 2):
        lines = ["svm_type epsilon_svr", "kernel_type rbf", f"gamma 0.{k}", "nr_class 2"]
        lines += [f"total_sv {k * rows}", "rho 0.5", "SV"]
        lines += [f"{i + 0.5} 1:{i} 2:{i * k}" for i in range(k * rows)]
        source = folder / "libsvm"
        source.write_text("\n".join(lines) + "\n")
        model = read_libsvm(source)
        resolvent.save(model, source)
        models.append((model, source.read_bytes()))
        source.unlink()
    return models


def kill_savers(folder, kills, seed=0):
    """Kill a process that saves, so many times.

    Returns how often the file was each of the two, and how often an unfinished one was beside it.
    """
    models, rng, path = make_models(folder), random.Random(seed), folder / "model"
    found = [0, 0, 0]
    path.write_bytes(models[0][1])
    for k in range(kills):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, b"x")
            while True:
                for model, _ in models:
                    resolvent.save(model, path)
        os.read(ready, 1)
        time.sleep(rng.uniform(0.0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(tell)
        content = path.read_bytes()
        which = [content == bytes_ for _, bytes_ in models]
        assert any(which), f"after kill {k} the file is neither model: {len(content)} bytes"
        found[which.index(True)] += 1
        left = [file for file in folder.iterdir() if file != path]
        assert len(left) <= 1, f"one process left {left}"
        for file in left:
            file.unlink()
            found[2] += 1
    return found


def fill_disk(folder, step=97):
    """Let writing fail after so many bytes, for all numbers in steps; returns how many."""
    (_, old), (model, new) = make_models(folder)
    path = folder / "model"
    path.write_bytes(old)
    limits = range(0, len(new), step)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails with an error
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with contextlib.suppress(OSError):
                resolvent.save(model, path)
                raise AssertionError(f"a file of {len(new)} bytes was written within {limit}")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert path.read_bytes() == old
        assert list(folder.iterdir()) == [path]
    resolvent.save(model, path)
    assert path.read_bytes() == new
    return len(limits)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one, other, left = kill_savers(Path(folder), args.kills, args.seed)
    print(
        f"{args.kills} kills, {left} amid writing: the file was the one model {one} times, ", end=""
    )
    print(f"the other {other} times")
    with tempfile.TemporaryDirectory() as folder:
        print(f"{fill_disk(Path(folder))} full disks: the file stayed as it was")
    return 0


if __name__ == "__main__":
    sys.exit(main())
