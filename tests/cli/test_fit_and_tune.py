"""Models made on the command line: formats, losses, weights, searches, missing values."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import FLOWERS, finish, spawn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler

import resolvent
from resolvent.svm import SVC


def test_model_from_python(fitted):
    model = resolvent.load(fitted / "flowers.model")
    assert model.features.method == "standard"
    assert accuracy_score(FLOWERS["species"], model.predict(FLOWERS)) > 0.95
    X = np.hstack(
        [
            StandardScaler().fit_transform(FLOWERS.iloc[:, :4]),
            pd.get_dummies(FLOWERS["garden"]).to_numpy(),
        ]
    )
    own = resolvent.KernelClassifier("logistic").fit(X, FLOWERS["species"])
    assert_allclose(model.predict_proba(FLOWERS), own.predict_proba(X), atol=1e-6)


def test_svmlight_as_in_libsvm(two, run):
    X, y = two
    code, out, err = run("fit", "two", "two.model", "-c", 10, "-g", 0.1, "-q")
    assert (code, out, err) == (0, "", "")
    code, out, _ = run("predict", "two", "two.model")
    expected = SVC(C=10.0, gamma=0.1).fit(X, y).predict(X)
    assert_array_equal(np.loadtxt(io.StringIO(out)), expected)
    assert set(out.split()) == {"1", "-1"}


def test_json(two, run):
    code, out, _ = run("fit", "two", "--json", "--loss", "logistic")
    *_, result = map(json.loads, out.splitlines())
    assert code == 0
    assert result["event"] == "result"
    assert result["solved"] is True
    assert result["relative_gap"] <= result["tol"] == 1e-5
    assert result["model"] == "two.model"
    assert json.loads(out.splitlines()[0])["event"] == "progress"


def test_low_rank(two, run):
    code, out, _ = run("fit", "two", "low.model", "--rank", 3, "--json")
    *_, result = map(json.loads, out.splitlines())
    assert code == 0
    assert (result["rank"], result["status"], result["method"]) == (3, "RANK_LIMIT", "exact")
    assert result["relative_gap"] > result["tol"]
    out = "".join(run("inspect", "low.model")[1:])
    assert "of rank 3, proved to be within" in out
    assert "of the optimum of the exact machine" in out
    assert run("fit", "two", "auto.model", "--rank", "auto", "-q")[0] == 0
    code, _, err = run("fit", "two", "bad.model", "--rank", "many")
    assert code == 2
    assert "'many' must be a number of landmarks" in " ".join(err.replace("│", " ").split())


def test_search_at_a_rank(two, run):
    grid = ("--Cs", "1,10", "--gammas", "0.1,1", "--folds", 3)
    code, out, _ = run("tune", "two", "low.model", "--rank", 5, *grid, "--conformal", 0.8, "--json")
    *_, search, result = map(json.loads, out.splitlines())
    assert code == 0
    assert (search["event"], search["compared"]) == ("search", 4)
    assert (result["rank"], result["status"], result["method"]) == (5, "RANK_LIMIT", "exact")
    assert run("predict", "two", "low.model", "--interval", 0.8)[0] == 0
    assert run("tune", "two", "bad.model", "--rank", "0")[0] == 2


def test_json_has_no_infinity(run):
    FLOWERS.to_csv("flowers.csv", index=False)
    args = ("--target", "species", "--kernel", "sigmoid", "-g", 0.5, "--json")
    code, out, _ = run("fit", "flowers.csv", *args)
    *_, result = (json.loads(line, parse_constant=pytest.fail) for line in out.splitlines())
    assert (code, result["status"]) == (4, "NOT_PSD")
    assert result["gap"] is result["relative_gap"] is None  # no bound holds


def test_regression_formats_agree(run):
    frame = load_diabetes(as_frame=True).frame[:100]
    frame.to_csv("d.csv", index=False)
    frame.to_csv("d.tsv.gz", index=False, sep="\t")
    frame.to_parquet("d.parquet")
    np.savez("d.npz", X=frame.drop(columns="target"), y=frame["target"])
    found = []
    for name in ("d.csv", "d.tsv.gz", "d.parquet", "d.npz"):
        target = () if name == "d.npz" else ("--target", "target")
        args = ("--scale", "minmax", "-l", "huber:delta=5", "-q", "--seed", 1, "--threads", 1)
        assert run("fit", name, "m", *target, *args)[0] == 0
        code, out, _ = run("predict", name, "m")
        assert code == 0
        found.append(np.loadtxt(io.StringIO(out)))
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-9)


def test_quantiles(run):
    frame = load_diabetes(as_frame=True).frame[:100]
    frame.to_csv("d.csv", index=False)
    args = ("--target", "target", "--quantiles", "0.1,0.9", "-c", 1, "--report", "q.html")
    code, out, _ = run("fit", "d.csv", *args)
    assert code == 0
    assert re.search(r"below quantile 0\.9: \d+\.\d%, in the band 0\.1-0\.9: \d+\.\d%", out)
    tiles = Path("q.html").read_text()
    assert re.search(r"<span>pinball loss</span><span>constant: [\d.]+</span>", tiles)
    assert run("predict", "d.csv", "d.model", "p.csv")[0] == 0
    band = pd.read_csv("p.csv")
    assert list(band.columns) == ["prediction 0.1", "prediction 0.9"]
    assert (band.iloc[:, 0] <= band.iloc[:, 1]).all()


def test_whole_numbers_may_be_labels_or_numbers(run):
    Path("stars.csv").write_text("x,stars\n" + "".join(f"{i},{i % 4}\n" for i in range(24)))
    code, out, _ = run("fit", "stars.csv", "--target", "stars")
    assert code == 0
    assert "24 rows, 1 feature, 4 classes: hinge loss" in out
    assert "(choose with --loss; squared predicts numbers)" in out
    assert "numeric target" in run("fit", "stars.csv", "--target", "stars", "-l", "squared")[1]


def test_a_model_that_is_no_better_than_a_constant_on_other_rows(run):
    x = np.linspace(-1, 1, 30)
    pd.DataFrame({"x": x, "y": x}).to_csv("a.csv", index=False)
    pd.DataFrame({"x": x, "y": -x}).to_csv("b.csv", index=False)
    code, _, err = run("fit", "a.csv", "m", "--target", "y")
    assert (code, "no better than a constant" in err) == (0, False)
    code, _, err = run("evaluate", "b.csv", "m")
    assert (code, "no better than a constant" in err) == (0, True)


def test_weights_and_class_weights(run):
    frame = FLOWERS[50:].assign(w=1.0)
    frame.iloc[:30, -1] = 0.0
    frame.to_csv("f.csv", index=False)
    common = ("--target", "species", "--drop", "garden", "-q", "--scale", "none", "-g", 1)
    assert run("fit", "f.csv", "a", *common, "--weights", "w")[0] == 0
    frame[30:].drop(columns="w").to_csv("g.csv", index=False)
    assert run("fit", "g.csv", "b", *common)[0] == 0
    weights = ("--class-weight", "virginica=1,versicolor=1.0")
    assert run("fit", "g.csv", "c", *common, *weights)[0] == 0
    a, b, c = (resolvent.load(name).estimator.objective_ for name in "abc")
    assert a == pytest.approx(b, rel=1e-5)
    assert c == pytest.approx(b, rel=1e-5)


def test_tune(run):
    FLOWERS[::2].to_csv("f.csv", index=False)
    grid = ("--Cs", "0.1,10", "--gammas", "0.1,1", "--folds", "3")
    args = ("tune", "f.csv", "--target", "species", *grid, "--report", "t.html")
    code, out, _ = run(*args)
    assert code == 0
    assert "Best of 4 candidates: gamma = " in out
    assert "The search: mean score of the folds" in Path("t.html").read_text()
    model = resolvent.load("f.model").estimator
    assert (model.C, model.gamma) in [(0.1, 0.1), (0.1, 1.0), (10.0, 0.1), (10.0, 1.0)]
    code, out, _ = run(*args, "--json", "-k", "linear", "--scoring", "balanced_accuracy")
    events = {event["event"]: event for event in map(json.loads, out.splitlines())}
    assert code == 0
    assert events["search"]["best"].keys() == {"C"}
    assert events["result"]["solved"] is True


def test_standard_input(two):
    code, out, err = finish(spawn("fit", "-", "-q", stdin=subprocess.PIPE), Path("two").read_text())
    assert (code, out, err) == (0, "", "")
    assert os.path.exists("stdin.model")


def test_missing_values(run):
    frame = FLOWERS.copy()
    frame.iloc[3, 0] = None
    frame.to_csv("f.csv", index=False)
    code, _, err = run("fit", "f.csv", "--target", "species")
    assert code == 3
    assert err.startswith("Error: f.csv:5:1: column 'sepal length' has no value here")
    assert run("fit", "f.csv", "--target", "species", "--missing", "impute")[0] == 0
    assert run("predict", "f.csv", "f.model")[0] == 0


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
def test_live_line(two):
    master, slave = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "resolvent", "fit", "two"]
    process = subprocess.Popen(command, stderr=slave, stdout=subprocess.PIPE, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    assert process.wait(60) == 0
    process.stdout.close()
    os.close(master)
    assert "compiling and computing the kernel" in seen.decode(errors="replace")
