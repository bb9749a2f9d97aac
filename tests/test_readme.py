"""The Python in README.md and docs/ runs as it is printed."""

import logging
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, match in enumerate(FENCE.finditer(text), start=1):
            line = text.count("\n", 0, match.start()) + 1
            yield pytest.param(page, line, match[1], id=f"{page.name}-{number}")


@pytest.fixture
def module(monkeypatch):
    """A module of its own for each block, as a script would have; pictures stay unseen."""
    matplotlib.use("Agg")
    handlers = logging.getLogger().handlers[:]
    module = types.ModuleType("a_readers_script")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    yield module
    import matplotlib.pyplot as plt

    plt.close("all")
    logging.getLogger().handlers[:] = handlers


@pytest.mark.parametrize(("page", "line", "code"), list(blocks()))
def test_block_runs(page, line, code, module, capsys):
    # Empty lines before, so that an error points to the line on the page.
    exec(compile("\n" * line + code, str(page), "exec"), vars(module))
    assert "print(" not in code or capsys.readouterr().out.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
def test_commands_run(tmp_path):
    """The commands of the README, as they are printed, one after another in one directory."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text[text.index("## From the command line") :]
    commands = re.search(r"^```sh\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)[1]
    assert commands.count("resolvent ") >= 5
    bin = tmp_path / "bin"
    bin.mkdir()
    program = bin / "resolvent"  # this very package, whatever is installed
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m resolvent "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-e", "-c", commands], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Model for LIBSVM saved: flowers.libsvm" in done.stdout
    assert "demo-output/diabetes.html" in done.stdout  # the demo ends with its reports
    assert "(exit code 4)" in done.stdout  # it shows a fit that is stopped
    for name in ("tumours.html", "predictions.txt", "demo-output/tumours-test.html"):
        assert (tmp_path / name).stat().st_size > 1000


def test_readme_opens_with_three_short_examples():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = FENCE.findall(text[: text.index("## Install")])
    assert len(first) == 3
    for code, name in zip(first, ("SVC", "KernelQuantileRegressor", "NamedTuple"), strict=True):
        assert name in code
        assert len([line for line in code.splitlines() if line.strip()]) <= 13


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (page.parent / x).exists()]
    assert set(missing) <= {"benchmarks/index.md"}  # which is made with the site


def test_tables_of_losses_are_complete():
    from resolvent.losses import LOSSES

    for page in ("README.md", "docs/losses.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [name for name in LOSSES if f'| `"{name}"` |' not in text] == []
