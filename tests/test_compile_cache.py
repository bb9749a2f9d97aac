"""Machine code on disk: used again, never when out of date, and done without where it cannot be."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import resolvent
from resolvent import _digest, _jit
from resolvent.problem.sums import find_offset

SOLVE = """
import json, sys
import numpy as np
import resolvent
from resolvent import _jit
{before}
K = np.exp(-np.subtract.outer(np.arange(5.0), np.arange(5.0)) ** 2)
solution = resolvent.solve("squared", K, [1.0, -1.0, 1.0, 1.0, -1.0], tol=1e-10)
from resolvent.problem import sums
cached = [loop.cached for loop in vars(sums).values() if isinstance(loop, _jit.compiled)]
stats = [loop.stats for loop in cached]
print(json.dumps({{
    "coef": solution.coef.tolist(),
    "hits": sum(sum(s.cache_hits.values()) for s in stats),
    "misses": sum(sum(s.cache_misses.values()) for s in stats),
    "compiled": sum(len(loop.overloads) for loop in cached),
    "path": stats[0].cache_path,
}}))
"""


def start(cache, before="", **environment):
    environment = {"NUMBA_CACHE_DIR": str(cache)} | environment
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SOLVE.format(before=before)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    result = json.loads(out)
    kernel = np.exp(-(np.subtract.outer(np.arange(5.0), np.arange(5.0)) ** 2))
    exact = np.linalg.solve(kernel + np.eye(5), [1.0, -1.0, 1.0, 1.0, -1.0])
    np.testing.assert_allclose(result["coef"], exact, atol=1e-4)
    return result


def test_life_of_the_cache(tmp_path):
    # Two processes at once on an empty cache.
    both = [finish(process) for process in [start(tmp_path), start(tmp_path)]]
    assert all(result["compiled"] > 0 for result in both)
    assert any(result["misses"] > 0 for result in both)
    assert any(tmp_path.rglob("*.nbc"))
    # A later one compiles nothing.
    later = finish(start(tmp_path))
    assert later["misses"] == 0
    assert later["hits"] == later["compiled"] > 0
    # After an upgrade, which changes the digest of the package's source, everything is new, also
    # where what is on disk names a class that is no longer there.
    for index in tmp_path.rglob("*.nbi"):
        with index.open("r+b") as file:
            pickle.load(file)  # the version
            file.write(b"cresolvent.grams.rows\nVanished\n.")
            file.truncate()
    upgraded = finish(start(tmp_path, before="_jit.digest_of = lambda module: 'another'"))
    assert upgraded["hits"] == 0
    assert upgraded["misses"] == upgraded["compiled"] == later["compiled"]


def test_nowhere_to_write(tmp_path):
    """Below a regular file nobody can write, not even root; nor beside the source."""
    copy = tmp_path / "resolvent"
    source = Path(resolvent.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in copy.rglob("*.py")}:
        (folder / "__pycache__").write_text("not a directory")
    below = str(copy / "__pycache__" / "below")
    places = {"HOME": below, "XDG_CACHE_HOME": below, "LOCALAPPDATA": below}
    result = finish(start(below, PYTHONPATH=str(tmp_path), **places))
    assert result["path"] is None
    assert result["hits"] == 0
    assert result["compiled"] > 0


LOOP = "resolvent.solvers.sweeps"  # it imports grams.panels, and is handed losses and chunks


@pytest.fixture
def digest_after(tmp_path, monkeypatch):
    """Digest of a loop in a copy of the package, some files of which were edited."""
    copy = tmp_path / "resolvent"
    source = Path(resolvent.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_digest, "PACKAGE", copy)

    def after(*edited):
        for name in edited:
            with (copy / name).open("a") as file:
                file.write("# edited\n")
        for function in vars(_digest).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
        return _digest.digest_of(LOOP)

    yield after
    monkeypatch.undo()
    after()


REACHED = (
    "_jit.py",  # how losses are bound
    "_numeric.py",  # imported by that
    "solvers/sweeps.py",
    "grams/chunks.py",  # a panel
    "losses/regression.py",
    "losses/envelope.py",
)
NOT_REACHED = ("estimators/base.py", "cli/app.py", "solvers/newton.py", "__init__.py")


@pytest.mark.parametrize("name", REACHED)
def test_digest_follows_what_a_loop_can_reach(digest_after, name):
    assert digest_after() != digest_after(name)


def test_digest_does_not_follow_the_rest(digest_after):
    assert digest_after() == digest_after(*NOT_REACHED)


def test_digest_follows_every_module_that_a_loop_takes_a_function_from():
    """What compiled loops call is known to Numba: each function's file is among those digested."""
    import resolvent.solvers.small.kernel as module

    reached = _digest._reached(_digest._file(["solvers", "small", "kernel"]))
    functions = [getattr(f, "py_func", f) for f in vars(module).values()]
    files = {
        Path(f.__code__.co_filename)
        for f in functions
        if hasattr(f, "__code__") and f.__module__.startswith("resolvent")
    }
    assert len(files) > 3
    assert files <= reached


def test_processes_that_save_at_once_do_not_mix_their_code(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    one, other = (_jit.compiled(find_offset) for _ in range(2))
    first, second = one.cached._cache._cache_file, other.cached._cache._cache_file
    second._load_index = dict  # it has looked before the first one saved
    save_data = first._save_data

    def late(name, data):
        second.save("another signature", "its code")
        save_data(name, data)

    first._save_data = late
    first.save("signature", "code")
    del second._load_index
    assert first.load("signature") == "code"
    assert second.load("another signature") in (None, "its code")
