"""Parquet files that the command line reads by blocks."""

import json

import numpy as np
import pytest

import resolvent

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2)) * [1.0, 50.0] + [0.0, 2000.0]
S = X[:, 0] + (X[:, 1] - 2000.0) / 50.0 + 0.5 * RNG.normal(size=300)
TABLE = {
    "size": X[:, 0],
    "year": X[:, 1],
    "sold": (S > 0).astype(float),
    "state": np.where(S > 0, "good", "bad"),
    "price": 1e5 + 1e4 * S,
}


@pytest.fixture
def houses(place):
    """Two files with row groups of 60, and one of all rows."""
    (place / "houses").mkdir()
    for part in range(2):
        rows = slice(150 * part, 150 * part + 150)
        table = pa.table({name: values[rows] for name, values in TABLE.items()})
        pq.write_table(table, place / "houses" / f"{part}.parquet", row_group_size=60)
    pq.write_table(pa.table(TABLE), place / "all.parquet", row_group_size=60)
    return place


FITS = [
    ("--target", "state", "--drop", "sold", "--drop", "price", "-l", "logistic", "-k", "linear"),
    ("--target", "sold", "--drop", "state", "--drop", "price", "--rank", "300", "-e", "1e-3"),
    ("--target", "price", "--drop", "state", "--drop", "sold", "-l", "huber", "-k", "linear"),
]


@pytest.mark.parametrize("args", FITS)
def test_model_is_that_of_one_table(run, houses, args):
    code, out, err = run("fit", "houses/*.parquet", "ours.model", *args, "--scale", "standard")
    assert code == 0, err
    assert "On the training rows: " in out
    theirs = [word for word in args if word not in ("--rank", "300")]
    assert run("fit", "all.parquet", "theirs.model", *theirs)[0] == 0
    ours, theirs = resolvent.load("ours.model"), resolvent.load("theirs.model")
    np.testing.assert_allclose(ours.features.shift, theirs.features.shift, rtol=1e-12)
    loss = ours.estimator.objective_ - ours.estimator.dual_gap_
    assert loss <= theirs.estimator.objective_ <= 1.01 * ours.estimator.objective_
    # Predictions by row groups are those of all rows at once.
    assert run("predict", "houses", "ours.model", "ours.txt")[0] == 0
    code, out, _ = run("predict", "all.parquet", "ours.model")
    assert (code, out) == (0, (houses / "ours.txt").read_text())
    assert len(out.splitlines()) == 300


def test_file_that_memory_cannot_hold(run, houses, monkeypatch):
    monkeypatch.setattr("resolvent.cli.by_blocks.SHARE", 1e-9)
    args = ("--target", "state", "--drop", "sold", "--drop", "price", "-l", "logistic")
    code, out, err = run("fit", "all.parquet", "m", *args, "--memory", "100MB", "--json")
    assert code in (0, 1), err  # 300 rows have 300 landmarks at most
    result = [json.loads(line) for line in out.splitlines()][-1]
    assert result["scores"]["accuracy"] > 0.8
    assert resolvent.load("m").estimator.rank_ <= 300
    code, out, _ = run("predict", "all.parquet", "m", "--probabilities")
    lines = out.splitlines()
    assert (code, len(lines), lines[0]) == (0, 301, "prediction,p(bad),p(good)")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--target", "colour"), "no column 'colour'; it has size, year"),
        ((), "say which column to predict"),
        (("--target", "sold"), "--drop 'state'"),
        (("--target", "sold", "--missing", "impute"), "not for data that are read by blocks"),
        (("--target", "sold", "--drop", "state", "--rank", "auto"), "rank='auto' is for arrays"),
    ],
)
def test_mistakes_are_said(run, houses, args, message):
    code, _, err = run("fit", "houses", *args)
    assert code in (2, 3)
    assert message in err


def test_a_corrupt_row_group_is_named(run, houses):
    path = houses / "houses" / "1.parquet"
    (houses / "houses" / "0.parquet").unlink()
    table = pa.table({"size": X[:, 0], "sold": TABLE["sold"]})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False, compression="zstd")
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(bytes(data))
    code, _, err = run("fit", "houses", "--target", "sold", "-k", "linear")
    assert code == 3
    assert "1.parquet, row group 2: column 'size' cannot be read" in err
