"""resolvent fit --dask: the model of one machine, from files that the workers read."""

import json

import numpy as np
import pytest

import resolvent

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("typer")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(360, 3)) * [1.0, 50.0, 1.0] + [0.0, 2000.0, 7.0]
X[:, 2] = np.round(X[:, 2])
S = X[:, 0] + (X[:, 1] - 2000.0) / 50.0 + 0.5 * RNG.normal(size=360)
TABLE = {
    **{name: X[:, j] for j, name in enumerate(("size", "year", "rooms"))},
    "sold": (S > 0).astype(float),
    "price": 1e5 + 1e4 * S,
    "state": np.where(S > 0, "good", "bad"),
    "times": RNG.integers(0, 3, 360),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, cluster):
    """Run fit in this process on two files: exit code and what is said."""
    from resolvent.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "houses").mkdir()
    for part in range(2):
        rows = slice(180 * part, 180 * part + 180)
        table = pa.table({name: values[rows] for name, values in TABLE.items()})
        pq.write_table(table, tmp_path / "houses" / f"{part}.parquet", row_group_size=60)
    pq.write_table(pa.table(TABLE), tmp_path / "houses.parquet")

    def run(*args, where=cluster.scheduler_address, data="houses/*.parquet"):
        with pytest.raises(SystemExit) as caught:
            app(["fit", *(() if where is None else ("--dask", where)), data, *args])
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, " ".join(err.replace("│", " ").split())

    return run


COMMANDS = (
    ("--target", "state", "--drop", "sold", "--drop", "price", "-l", "logistic", "-k", "linear"),
    (
        "--target",
        "sold",
        "--drop",
        "state",
        "--drop",
        "price",
        "-k",
        "linear",
        "--weights",
        "times",
    ),
    ("--target", "price", "--drop", "state", "--drop", "sold", "-l", "huber", "--rank", "360"),
    ("--target", "price", "--drop", "state", "--drop", "sold", "--rank", "exact", "-e", "1e-3"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_model_is_that_of_one_machine(run, command):
    code, out, err = run(*command, "ours.model", "--scale", "standard")
    assert code == 0, err
    assert "On the training rows: " in out
    assert "on 2 workers" in out
    theirs = [word for word in command if word not in ("--rank", "360", "exact")]
    assert run(*theirs, "theirs.model", where=None, data="houses.parquet")[0] == 0
    ours, theirs = resolvent.load("ours.model"), resolvent.load("theirs.model")
    np.testing.assert_allclose(ours.features.shift, theirs.features.shift, rtol=1e-12)
    np.testing.assert_allclose(ours.features.factor, theirs.features.factor, rtol=1e-12)
    assert type(ours.estimator) is type(theirs.estimator)
    loss = ours.estimator.objective_ - ours.estimator.dual_gap_
    assert loss <= theirs.estimator.objective_ <= 1.01 * ours.estimator.objective_
    frame = pa.table(TABLE).to_pandas()
    a, b = ours.predict(frame), theirs.predict(frame)
    if a.dtype.kind == "f":
        np.testing.assert_allclose(a, b, atol=0.05 * b.std())
    else:
        assert (a == b).mean() > 0.98


def test_workers_here(run, monkeypatch):
    class Threads(distributed.LocalCluster):
        def __init__(self, **settings):
            super().__init__(**settings | {"processes": False})

    monkeypatch.setattr(distributed, "LocalCluster", Threads)
    code, out, err = run(*COMMANDS[1], where="local:3")
    assert code == 0, err
    assert "on 3 workers" in out


def test_programs_are_told_of_the_stages(run):
    code, out, _ = run(*COMMANDS[1], "--json", "--scale", "minmax")
    events = [json.loads(line) for line in out.splitlines()]
    stages = {event["stage"]: event for event in events if event["event"] == "stage"}
    assert code == 0
    assert stages["measure"]["bytes_back"] > 0
    assert events[-1]["model"] == "houses.model"


@pytest.mark.parametrize(
    ("args", "settings", "message"),
    [
        (("--target", "colour"), {}, "no column 'colour'; it has size, year"),
        ((), {}, "say which column to predict"),
        (("--target", "sold"), {}, "Leave them out: --drop 'state'"),
        (("--target", "sold", "--drop", "state", "--rank", "auto"), {}, "rank='auto'"),
        (("--target", "sold", "--missing", "impute"), {}, "is not for fits on a cluster"),
        (("--target", "price", "-l", "hinge", "--drop", "state"), {}, "which are no labels"),
        (("--target", "sold"), {"data": "none/*.parquet"}, "there is no Parquet file"),
        (("--target", "sold"), {"data": "-"}, "that every worker can read"),
        (("--target", "sold", "--drop", "state"), {"where": "local:no"}, "local:4 for four"),
        (("--target", "sold", "--drop", "state"), {"where": "tcp://127.0.0.1:1"}, "no scheduler"),
    ],
)
def test_mistakes_are_said(run, monkeypatch, args, settings, message):
    monkeypatch.setattr("resolvent.cli.cluster.WAIT", 0.2)
    code, _, err = run(*args, **settings)
    assert code in (2, 3)
    assert message in err


def test_a_cluster_that_fails_is_said(run, monkeypatch):
    def fail(*_):
        raise resolvent.dask.ClusterError("the scheduler has ended")

    monkeypatch.setattr("resolvent.dask.tables.groups_of", fail)
    code, _, err = run(*COMMANDS[0])
    assert (code, err) == (3, "Error: the scheduler has ended")
