"""Build what would be released, and use it as its users would: ``make release-check``.

Builds the source archive and the wheel, checks them, installs the wheel into fresh environments
with the newest and with the oldest supported dependencies, and in each runs a few fits and the demo
of the command line, away from the sources.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
OLDEST = Path(__file__).parent / "oldest.txt"
SMOKE = """
import pathlib, sys
import numpy as np
import resolvent
from resolvent.svm import SVC
assert pathlib.Path(sys.argv[1]) not in pathlib.Path(resolvent.__file__).parents, resolvent.__file__
assert (pathlib.Path(resolvent.__file__).parent / "py.typed").is_file()
X = np.random.default_rng(0).normal(size=(60, 2))
y = X[:, 0] * X[:, 1] > 0
model = SVC(C=10.0).fit(X, y)
assert model.status_.name == "CONVERGED" and model.score(X, y) > 0.9
resolvent.save(model, "smoke.model")
assert (resolvent.load("smoke.model").predict(X) == model.predict(X)).all()
bands = resolvent.KernelQuantileRegressor((0.1, 0.9)).fit(X, X[:, 0]).predict(X)
assert (bands[:, 0] <= bands[:, 1]).all()
print("resolvent", resolvent.__version__, "numpy", np.__version__)
"""


def run(*command, **options):
    """Run a command, shown first; what fails ends the check."""
    print("$", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def build():
    """Make source archive and wheel and look at what is in them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    archives = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "resolvent/py.typed" in names, "the wheel does not say that it is typed"
    strange = {name for name in names if not name.startswith(("resolvent/", "resolvent-"))}
    assert not strange, f"the wheel installs {strange}"
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "tests/conftest.py"} - inside
    assert not missing, f"the source archive lacks {missing}"
    return wheel


def use(wheel, pins):
    """Install the wheel into a fresh environment and try it there."""
    with tempfile.TemporaryDirectory(prefix="resolvent-release-") as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*install, f"{wheel}[cli,plot]", *pins)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}
        run(python, "-c", SMOKE, ROOT / "src", cwd=folder, env=clean)
        run(python, "-m", "resolvent", "demo", cwd=folder, env=clean)


def main():
    """Build, check, use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["newest", "oldest"], help="dependencies to install")
    only = parser.parse_args().only
    wheel = build()
    if only != "oldest":
        use(wheel, [])
    if only != "newest":
        use(wheel, ["-c", OLDEST])
    print("release-check passed:", *sorted(path.name for path in DIST.iterdir()))


if __name__ == "__main__":
    main()
