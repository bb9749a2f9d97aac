"""Models used on the command line: predict, evaluate, inspect, convert."""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import FLOWERS, finish, spawn
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score

import resolvent
from resolvent.svm import SVC


def test_predict_in_a_process(fitted):
    code, out, err = finish(spawn("predict", "flowers.csv", "flowers.model", cwd=fitted))
    assert (code, err) == (0, "")
    assert accuracy_score(FLOWERS["species"], out.split()) > 0.95


def test_classes_together(fitted, run):
    path = fitted / "flowers.csv"
    assert run("fit", path, "all.model", "--target", "species", "--loss", "multinomial")[0] == 0
    code, out, _ = run("predict", path, "all.model", "--probabilities")
    table = pd.read_csv(io.StringIO(out))
    assert code == 0
    assert np.allclose(table.iloc[:, 1:].sum(axis=1), 1.0, atol=1e-3)
    assert run("tune", path, "all.model", "--target", "species", "--loss", "crammer-singer",
               "--Cs", "0.1,1", "--gammas", "0.1,1")[0] == 0  # fmt: skip


def test_probabilities(fitted, run):
    path = fitted / "flowers.csv"
    code, out, _ = run("predict", path, fitted / "flowers.model", "--probabilities")
    table = pd.read_csv(io.StringIO(out))
    assert code == 0
    assert list(table.columns)[:2] == ["prediction", "p(setosa)"]
    assert_allclose(table.iloc[:, 1:].sum(axis=1), 1)


def test_target_is_not_needed_to_predict(fitted, run):
    FLOWERS.drop(columns="species")[::-1].to_csv("new.csv", index=False)
    code, out, _ = run("predict", "new.csv", fitted / "flowers.model")
    assert code == 0
    assert out.split()[0] == "virginica"
    code, _, err = run("evaluate", "new.csv", fitted / "flowers.model")
    assert code == 3
    assert "no target 'species' to compare with" in err


def test_new_categories_are_noted(fitted, run):
    FLOWERS[:2].assign(garden="east").to_csv("new.csv", index=False)
    code, out, err = run("predict", "new.csv", fitted / "flowers.model")
    assert (code, out.split()) == (0, ["setosa", "setosa"])
    assert "2 rows have a value of 'garden' that training did not have, such as 'east'" in err


def test_reader_goes_away(fitted):
    big = pd.concat([FLOWERS] * 50)
    big.to_csv("big.csv", index=False)
    with spawn("predict", "big.csv", fitted / "flowers.model") as process:
        assert process.stdout.readline() == "setosa\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (0, 141)  # a system may take all of it before it notices


def test_output_that_nobody_reads(fitted, run, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert run("predict", fitted / "flowers.csv", fitted / "flowers.model")[0] == 141
    assert run("evaluate", fitted / "flowers.csv", fitted / "flowers.model", "--json")[0] == 0


def test_evaluate_in_a_process(fitted):
    code, out, _ = finish(spawn("evaluate", "flowers.csv", "flowers.model", cwd=fitted))
    assert code == 0
    assert re.match(r"150 rows: accuracy 0\.9\d+ \(constant: 0\.3333\), balanced accuracy", out)


def test_evaluate_as_json(fitted, run):
    code, out, _ = run("evaluate", fitted / "flowers.csv", fitted / "flowers.model", "--json")
    scores = json.loads(out)
    assert (code, scores["rows"]) == (0, 150)
    assert 0 < scores["log loss"] < 0.5


def test_inspect_in_a_process(fitted):
    code, out, _ = finish(spawn("inspect", "flowers.model", cwd=fitted))
    assert code == 0
    for words in ("logistic", "RBF(gamma=", "setosa", "garden", "CONVERGED", "standard"):
        assert words in out


def test_inspect_as_json(fitted, run):
    code, out, _ = run("inspect", fitted / "flowers.model", "--json")
    facts = json.loads(out)
    assert (code, facts["target"]) == (0, "species")
    assert facts["certificate"]["solved"] is True


def test_models_of_python(run, two):
    X, y = two
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_csv("f.csv", index=False)
    resolvent.save(SVC().fit(frame[list("abcd")], y), "own")
    code, out, _ = run("evaluate", "f.csv", "own", "--target", "label")
    assert code == 0
    assert "accuracy" in out


def test_convert_there_and_back(two, run):
    run("fit", "two", "ours", "-q")
    code, out, _ = run("convert", "ours", "theirs")
    assert (code, out) == (0, "Model for LIBSVM saved: theirs\n")
    code, _, err = run("convert", "theirs", "again")
    assert code == 0
    assert "no certificate" in err
    assert run("predict", "two", "again")[1] == run("predict", "two", "ours")[1]
    assert run("predict", "two", "theirs")[1] == run("predict", "two", "ours")[1]
    assert "none: the model comes from LIBSVM" in run("inspect", "theirs")[1]
    code, out, _ = run("evaluate", "two", "theirs", "--report", "r.html")
    assert code == 0
    assert "No certificate." in Path("r.html").read_text()


@pytest.mark.skipif(
    shutil.which("svm-train") is None,
    reason="svm-train is not installed (Debian's package is libsvm-tools)",
)
def test_convert_with_libsvms_programs(two):
    def go(*args):
        return subprocess.run(args, check=True, capture_output=True, text=True)

    go("svm-train", "-q", "-c", "10", "two", "theirs")
    go("svm-predict", "two", "theirs", "expected")
    assert finish(spawn("convert", "theirs", "ours"))[0] == 0
    code, out, _ = finish(spawn("predict", "two", "ours"))
    assert (code, out) == (0, Path("expected").read_text())
