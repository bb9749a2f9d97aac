"""No output takes the place of an input, of another output or of a file of another kind."""

import os
from pathlib import Path

import numpy as np
import pytest

import resolvent
from resolvent.svm import SVC

FIT = ("fit", "t.csv", "m", "--target", "y")
LOST = {
    "data by the model": ("fit", "t.csv", "t.csv", "--target", "y"),
    "data by the report": (*FIT, "--report", "t.csv"),
    "data by the report, from afar": (*FIT, "--report", "folder/../t.csv"),
    "data by the report, by a link": (*FIT, "--report", "link"),
    "data by the report, by a hard link": (*FIT, "--report", "hard"),
    "data by the report of a search": ("tune", "t.csv", "m", "--target", "y", "--report", "t.csv"),
    "data by the default model": ("fit", "rows.model"),
    "model by the report": (*FIT, "--report", "m"),
    "model by the report, by a link": (*FIT, "--report", "dangling"),
    "model of before by the report": (*FIT, "--report", "old.model"),
    "text by the model": ("fit", "t.csv", "notes", "--target", "y"),
    "text by the report": (*FIT, "--report", "notes"),
    "page by the report": (*FIT, "--report", "page.html"),
    "other weights by the model": ("fit", "t.csv", "other.safetensors", "--target", "y"),
    "data by the evaluation": ("evaluate", "rows.model", "old.model", "--report", "rows.model"),
    "model by the evaluation": ("evaluate", "rows.model", "old.model", "--report", "old.model"),
    "data by predictions": ("predict", "rows.model", "old.model", "rows.model"),
    "model by predictions": ("predict", "rows.model", "old.model", "./old.model"),
    "text by predictions": ("predict", "rows.model", "old.model", "notes"),
    "model by its conversion": ("convert", "old.model", "old.model"),
    "text by a conversion": ("convert", "old.model", "notes"),
}


@pytest.fixture(autouse=True)
def files(place):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    rows = (f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True))
    (place / "t.csv").write_text("a,b,y\n" + "".join(rows))
    (place / "rows.model").write_text(
        "".join(f"{i % 2} 1:{a} 2:{b}\n" for i, (a, b) in enumerate(X))
    )
    (place / "notes").write_text("to remember\n")
    (place / "page.html").write_text("<!DOCTYPE html>\n<html><body>A page</body></html>\n")
    (place / "folder").mkdir()
    (place / "link").symlink_to("t.csv")
    (place / "dangling").symlink_to("m")
    os.link(place / "t.csv", place / "hard")
    resolvent.save(SVC().fit(X, np.arange(20) % 2), place / "old.model")
    import safetensors.numpy

    content = safetensors.numpy.save({"w": np.ones(3)}, {"format": "np"})
    (place / "other.safetensors").write_bytes(content)


def contents():
    return {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}


@pytest.mark.parametrize("kind", LOST)
def test_nothing_is_lost(kind, run):
    before = contents()
    code, out, err = run(*LOST[kind])
    assert (code, out) == (2, "")
    assert "would be lost" in err or "exists" in err
    assert contents() == before


def test_outputs_are_replaced_by_their_kind(run):
    command = (*FIT, "--report", "r.html", "-q")
    for _ in range(2):
        assert run(*command)[0] == 0
    resolvent.load("m")
    assert run("evaluate", "t.csv", "m", "--report", "r.html")[0] == 0
    assert run("convert", "old.model", "old.libsvm")[0] == 0
    assert run("convert", "old.model", "old.libsvm")[0] == 0
    Path("empty").touch()
    assert run("predict", "t.csv", "m", "empty")[0] == 0
    assert set(Path("empty").read_text().split()) == {"up", "down"}
    assert run("predict", "t.csv", "m", os.devnull)[0] == 0


def test_force_replaces(run):
    assert run(*FIT, "--report", "notes", "--force", "-q")[0] == 0
    assert "Made by resolvent" in Path("notes").read_text()
    assert run("predict", "t.csv", "m", "notes", "--force")[0] == 0
    assert run("evaluate", "t.csv", "m", "--report", "notes", "--force")[0] == 0
    assert "Made by resolvent" in Path("notes").read_text()
    code, _, err = run(*FIT, "--report", "m", "--force")
    assert code == 2
    assert "the model and the report" in err or "the report and the model" in err


def test_demo_keeps_what_is_not_its_own(run):
    Path("folder/tumours.csv").write_text("mine\n")
    code, _, err = run("demo", "folder")
    assert code == 2
    assert "is not the demo's" in err
    assert Path("folder/tumours.csv").read_text() == "mine\n"
