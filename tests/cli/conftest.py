"""What the tests of the command line start from."""

import re

import numpy as np
import pytest
from command_line import FLOWERS, finish, spawn
from sklearn.datasets import load_iris

from resolvent.cli.app import app


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory of its own for each test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command in this process; exit code, standard output and standard error."""

    def run(*args):
        with pytest.raises(SystemExit) as caught:
            app([str(arg) for arg in args], prog_name="resolvent")
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, " ".join(re.sub(r"[│╭╮╰╯─]", "", err).split())

    return run


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A model of flowers, made in a process of its own, and its table."""
    folder = tmp_path_factory.mktemp("fitted")
    FLOWERS.to_csv(folder / "flowers.csv", index=False)
    args = ("fit", "flowers.csv", "--target", "species", "-l", "logistic", "--report", "r.html")
    code, out, err = finish(spawn(*args, cwd=folder))
    assert code == 0, err
    assert "150 rows, 6 features, 3 classes: logistic loss" in out
    assert "Model saved: flowers.model" in out
    assert "proved to be" in out
    assert "iteration 1 · objective" in err  # log lines, as nobody looks at a terminal
    return folder


def svmlight(X, y):
    rows = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) for row in X.tolist())
    return "".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True))


@pytest.fixture
def two(place):
    """Two classes in svmlight's format."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.where(y[50:] == 1, 1, -1)
    (place / "two").write_text(svmlight(X, y))
    return X, y
