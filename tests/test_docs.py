"""The site: pages are in its lists, and the reference has every public name."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
MODULES = ["resolvent", *(f"resolvent.{name}" for name in ("svm", "plotting", "io", "patch"))]
# What users may meet but do not call: tables, the base of kernels' data, and help for losses.
TABLES = {"COUPLED", "LOSSES", "KERNELS", "Points"}


def listed():
    return set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.M))


@pytest.mark.parametrize("name", [*MODULES, "resolvent.losses", "resolvent.kernels"])
def test_reference_has_every_public_name(name):
    module = importlib.import_module(name)
    prefix = name.removeprefix("resolvent").removeprefix(".")
    found = {entry.rpartition(".")[2] for entry in listed()}
    public = set(module.__all__) - TABLES
    assert public
    assert public - found == set(), f"add to docs/api.md: {prefix}"


def test_reference_has_no_other_names():
    for entry in listed():
        home, _, name = f"resolvent.{entry}".rpartition(".")
        assert hasattr(importlib.import_module(home), name), entry


def test_pages_are_listed_once():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.M | re.S)
    pages = [line for block in blocks for line in block.splitlines() if re.match(r"[a-z]", line)]
    assert len(pages) == len(set(pages))
    made = {"gallery/index", "benchmarks/index"}  # when the site is built
    assert [page for page in pages if page not in made and not (DOCS / f"{page}.md").exists()] == []
