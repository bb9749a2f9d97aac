"""Mistakes on the command line end with a sentence and an exit code, and change no file."""

import os

import numpy as np
import pytest
from command_line import finish, spawn

import resolvent
from resolvent.svm import SVC

WRONG = {
    "nothing": (("fit",), "Missing argument"),
    "command": (("fitt", "f.csv"), "No such command 'fitt'"),
    "option": (("fit", "f.csv", "--targt", "x"), "No such option"),
    "target": (("fit", "f.csv"), "say which column to predict. The columns are a, b, c"),
    "wrong target": (("fit", "f.csv", "--target", "z"), "no column 'z'; it has a, b, c"),
    "drop": (("fit", "f.csv", "--target", "c", "--drop", "z"), "no column 'z'"),
    "loss": (("fit", "f.csv", "--target", "c", "-l", "hing"), "'hing' is unknown; choose one of"),
    "loss's parameter": (("fit", "f.csv", "--target", "c", "-l", "huber:-1"), "delta=-1"),
    "too many": (("fit", "f.csv", "--target", "c", "-l", "hinge:3"), "it has the parameters ()"),
    "kernel": (("fit", "f.csv", "--target", "c", "-k", "rbff"), "rbff"),
    "gamma": (("fit", "f.csv", "--target", "c", "-g", "big"), "'big' must be a positive number"),
    "C": (("fit", "f.csv", "--target", "c", "-c", "-1"), "must be a positive number"),
    "memory": (("fit", "f.csv", "--target", "c", "-m", "lots"), "not an amount of memory"),
    "quantiles": (("fit", "f.csv", "--target", "a", "--quantiles", "1.5"), "between 0 and 1"),
    "both": (("fit", "f.csv", "--quantiles", "0.5", "-l", "hinge"), "either --loss or --quantiles"),
    "class weight": (("fit", "f.csv", "--target", "c", "--class-weight", "q=1"), "the labels x, y"),
    "grid": (("tune", "f.csv", "--target", "c", "--Cs", "0,1"), "'0,1' must be how many to try"),
    "scoring": (("tune", "f.csv", "--target", "c", "--scoring", "q"), "one of scikit-learn's"),
    "folder": (("fit", "f.csv", "no/model", "--target", "c"), "no is not a directory"),
    "directory": (("fit", "f.csv", ".", "--target", "c"), "is a directory"),
    "report": (("fit", "f.csv", "--target", "c", "--report", "no/r"), "no is not a directory"),
    "columns": (("fit", "f.svm", "--drop", "a"), "no named columns"),
    "probabilities": (("predict", "f.svm", "svm.model", "-b"), "no probabilities"),
}
BAD = {
    "no file": (("fit", "none.csv", "--target", "c"), "none.csv: No such file"),
    "directory": (("fit", ".", "--target", "c"), "is a directory"),
    "value": (("fit", "bad.csv", "--target", "c"), "bad.csv:3:1: column 'a': expected a number"),
    "garbage": (("fit", "garbage", "--target", "c"), "garbage: is a binary file"),
    "garbled csv": (("fit", "garbage.csv", "--target", "c"), "is not text in UTF-8"),
    "one class": (("fit", "one.svm"), "is 1.0 in all rows; there is nothing to tell apart"),
    "words": (("fit", "f.csv", "--target", "c", "-l", "squared"), "regression needs numbers"),
    "numbers": (("fit", "f.csv", "--target", "a", "-l", "hinge"), "which are no labels"),
    "counts": (("fit", "negative.svm", "-l", "poisson"), "Poisson"),
    "no model": (("predict", "f.csv", "none"), "no file none"),
    "swapped": (("predict", "svm.model", "f.svm"), "f.svm is no model file, or a damaged one"),
    "garbled model": (("inspect", "garbage"), "garbage is no model file"),
    "table": (("predict", "f.csv", "svm.model"), "features without names"),
    "convert": (("convert", "f.svm", "new"), "f.svm is no model file"),
}


@pytest.fixture
def files(place):
    (place / "f.csv").write_text("a,b,c\n1.5,2,x\n2,3,y\n3,5,x\n")
    (place / "bad.csv").write_text("a,b,c\n1,2,x\nhm,3,y\n3,5,x\n4,5,x\n")
    (place / "garbage").write_bytes(bytes(range(256)))
    (place / "garbage.csv").write_bytes(bytes(range(255, 0, -1)))
    (place / "f.svm").write_text("1 1:2\n-1 2:1\n")
    (place / "one.svm").write_text("1 1:2\n1 2:1\n")
    (place / "negative.svm").write_text("0.5 1:2\n-1.5 2:1\n")
    X = np.eye(2)
    resolvent.save(SVC().fit(X, [1, -1]), place / "svm.model")
    return set(os.listdir(place))


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_usage(kind, files, run):
    args, message = WRONG[kind]
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert set(os.listdir()) == files


@pytest.mark.parametrize("kind", BAD)
def test_bad_data(kind, files, run):
    args, message = BAD[kind]
    code, _, err = run(*args)
    assert code == 3
    assert err.startswith("Error: ")
    assert message in err
    assert set(os.listdir()) == files


@pytest.mark.parametrize("command", ["fit", "tune", "predict", "evaluate", "inspect", "convert"])
def test_mistakes_in_a_process(command, place):
    (place / "bad").write_text("1 1:x\n")
    args = {"inspect": ("bad",), "fit": ("bad",), "tune": ("bad",)}.get(command, ("bad", "bad"))
    args = ("bad", "new") if command == "convert" else args
    code, out, err = finish(spawn(command, *args))
    assert (code, out) == (3, "")
    assert err.startswith("Error: bad")
    assert "Traceback" not in err
    code, _, err = finish(spawn(command, "--nonsense"))
    assert code == 2
    assert "Traceback" not in err


def test_full_disk(two, run, monkeypatch):
    import errno

    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = set(os.listdir())
    monkeypatch.setattr(os, "fsync", fail)
    code, _, err = run("fit", "two", "-q")
    assert (code, err) == (3, "Error: two.model: No space left on device")
    assert set(os.listdir()) == before
