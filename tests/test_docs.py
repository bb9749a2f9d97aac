"""The site: its lists name pages and objects that exist; make docs adds those they leave out."""

import importlib
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def listed():
    return set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.M))


def test_reference_has_no_other_names():
    for entry in listed():
        home, _, name = f"resolvent.{entry}".rpartition(".")
        assert hasattr(importlib.import_module(home), name), entry


def test_pages_are_listed_once():
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.M | re.S)
    pages = [line for block in blocks for line in block.splitlines() if re.match(r"[a-z]", line)]
    assert len(pages) == len(set(pages))
    made = {"gallery/index", "benchmarks/index"}  # when the site is built
    assert [page for page in pages if page not in made and not (DOCS / f"{page}.md").exists()] == []
