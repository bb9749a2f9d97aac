"""The command line, as its users type it: right, wrong, and interrupted."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler

import resolvent
from resolvent.cli.app import app
from resolvent.svm import SVC

FLOWERS = load_iris(as_frame=True).frame.rename(columns=lambda name: name.replace(" (cm)", ""))
FLOWERS["species"] = load_iris().target_names[FLOWERS.pop("target")]
FLOWERS["garden"] = np.where(np.arange(150) % 3 == 0, "north", "south")


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


def spawn(*args, **options):
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "resolvent", *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finish(process, text=None):
    out, err = process.communicate(text, timeout=200)
    return process.returncode, out, err


@pytest.fixture(scope="module")
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


# ---- fit ------------------------------------------------------------------------------------


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


def test_regression_formats_agree(place, run):
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


def test_quantiles(place, run):
    frame = load_diabetes(as_frame=True).frame[:100]
    frame.to_csv("d.csv", index=False)
    args = ("--target", "target", "--quantiles", "0.1,0.9", "-c", 1, "--report", "q.html")
    code, out, _ = run("fit", "d.csv", *args)
    assert code == 0
    assert "below quantile 0.9" in out
    assert run("predict", "d.csv", "d.model", "p.csv")[0] == 0
    band = pd.read_csv("p.csv")
    assert list(band.columns) == ["prediction 0.1", "prediction 0.9"]
    assert (band.iloc[:, 0] <= band.iloc[:, 1]).all()


def test_weights_and_class_weights(place, run):
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


def test_tune(place, run):
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


def test_missing_values(place, run):
    frame = FLOWERS.copy()
    frame.iloc[3, 0] = None
    frame.to_csv("f.csv", index=False)
    code, _, err = run("fit", "f.csv", "--target", "species")
    assert code == 3
    assert err.startswith("Error: f.csv:5:1: column 'sepal length' has no value here")
    assert run("fit", "f.csv", "--target", "species", "--missing", "impute")[0] == 0
    assert run("predict", "f.csv", "f.model")[0] == 0


# ---- stopping -------------------------------------------------------------------------------


@pytest.fixture
def hard(place):
    """A problem that takes a while."""
    rng = np.random.default_rng(0)
    np.savez("hard.npz", X=rng.standard_normal((3000, 10)), y=rng.standard_normal(3000))
    return "hard.npz", "--loss", "absolute", "-c", "1e4", "--tol", "1e-12"


def test_limits_save_the_best_so_far(hard, run):
    code, out, _ = run("fit", *hard, "--max-iter", 2)
    assert code == 4
    assert "max_iter was reached before the tolerance" in out
    assert "asked for was 1.0e-12" in out
    assert "Best model so far saved: hard.model" in out
    assert resolvent.load("hard.model").estimator.status_.name == "MAX_ITER"
    assert "Not solved" not in out


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt_saves_the_best_so_far(name, hard):
    process = spawn("fit", *hard, "--json")
    line = json.loads(process.stdout.readline())
    assert line["event"] == "progress"
    process.send_signal(getattr(signal, name))
    code, out, err = finish(process)
    assert code == 4, err
    result = json.loads(out.splitlines()[-1])
    assert result["status"] == "INTERRUPTED"
    model = resolvent.load("hard.model").estimator
    assert model.dual_gap_ == result["gap"] > 0
    assert [path for path in os.listdir() if path.startswith(".")] == []


def test_interrupt_before_there_is_anything():
    process = spawn("fit", "-", stdin=subprocess.PIPE)
    process.stdin.write("1 1:1\n")
    process.stdin.flush()
    time.sleep(2)  # it waits for more input
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code in (130, -signal.SIGINT)
    assert "Traceback" not in err or "KeyboardInterrupt" in err
    assert os.listdir() == []


# ---- predict, evaluate, inspect, convert ----------------------------------------------------


def test_predict_in_a_process(fitted):
    code, out, err = finish(spawn("predict", "flowers.csv", "flowers.model", cwd=fitted))
    assert (code, err) == (0, "")
    assert accuracy_score(FLOWERS["species"], out.split()) > 0.95


def test_classes_together(fitted, run, place):
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
    assert re.match(r"150 rows: accuracy 0\.9\d+, balanced accuracy", out)


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


# ---- mistakes -------------------------------------------------------------------------------

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
    "overwrite": (("fit", "f.csv", "f.csv", "--target", "c"), "exists and is no model"),
    "report": (("fit", "f.csv", "--target", "c", "--report", "no/r"), "no is not a directory"),
    "columns": (("fit", "f.svm", "--drop", "a"), "no named columns"),
    "probabilities": (("predict", "f.svm", "svm.model", "-b"), "no probabilities"),
    "lost": (("predict", "f.svm", "svm.model", "f.svm"), "it would be lost"),
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
def files(place, fitted):
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
    assert (code, err) == (3, "Error: No space left on device")
    assert set(os.listdir()) == before


def test_help_has_an_example_each(run):
    code, out, _ = run("--help")
    assert code == 0
    commands = re.findall(r"^│ (\w+) ", out, flags=re.MULTILINE)
    assert {"fit", "predict", "evaluate", "inspect", "convert"} <= set(commands)
    for command in commands:
        code, out, _ = run(command, "--help")
        assert (code, f"Example: resolvent {command}" in out) == (0, True)


def test_help_is_quick():
    """It imports none of the slow libraries."""
    code = (
        "import sys; sys.argv = ['resolvent', '--help']\n"
        "from resolvent.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numba', 'sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_import_stays_light():
    code = (
        "import sys, resolvent; print([n for n in ('typer', 'rich', 'safetensors', 'numpy') "
        "if n in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert out == "[]\n"


def test_without_the_extra():
    code = (
        "import sys; sys.modules['typer'] = None\nfrom resolvent.cli import main\n"
        "sys.argv = ['resolvent']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("pip install 'resolvent[cli]'")


def test_version(run):
    assert run("--version")[:2] == (0, f"resolvent {resolvent.__version__}\n")


# ---- progress on a terminal -----------------------------------------------------------------


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
