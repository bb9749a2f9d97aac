"""Readers of data: dirty files are handled, or refused with the place of the first bad value."""

import bz2
import gzip
import io
import lzma
import re
import sys
import tracemalloc
import zipfile
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from resolvent.io import DataFileError
from resolvent.io.delimited import read_delimited
from resolvent.io.read import read
from resolvent.io.svmlight import read_svmlight
from resolvent.tabular.features import Features
from resolvent.tabular.raw import Table, TextColumn

zstd = import_module("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")
COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
    "plain": bytes,
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into the current directory and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="data"):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(content)
        return name

    return write


def refuses(name, message, **options):
    with pytest.raises(DataFileError) as caught:
        read(name, **options)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert str(caught.value).startswith(name)


# ---- svmlight -------------------------------------------------------------------------------

PLAIN = b"+1 1:0.5 3:-2e-3\n-1 2:.25\n1 1:1. 2:2 3:3\n"


@pytest.mark.parametrize("compress", COMPRESS)
def test_svmlight(compress, write):
    raw = read(write(COMPRESS[compress](PLAIN)))
    assert_array_equal(raw.y, [1, -1, 1])
    assert_array_equal(raw.X.toarray(), [[0.5, 0, -0.002], [0, 0.25, 0], [1, 2, 3]])
    assert raw.base == 1


DIRTY = {
    "no final newline": PLAIN[:-1],
    "windows": PLAIN.replace(b"\n", b"\r\n"),
    "trailing spaces": PLAIN.replace(b"\n", b"  \t\n"),
    "leading spaces": b"  " + PLAIN,
    "empty lines": b"\n\n" + PLAIN.replace(b"\n", b"\n \n"),
    "comments": b"# made by hand\n" + PLAIN.replace(b"\n", b" # 7:7 a row\n"),
    "tabs": PLAIN.replace(b" ", b"\t"),
    "unsorted": b"+1 3:-2e-3 1:0.5\n-1 2:.25\n1 2:2 3:3 1:1.\n",
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "from zero": b"+1 0:0.5 2:-2e-3\n-1 1:.25\n1 0:1. 1:2 2:3\n",
}


@pytest.mark.parametrize("kind", DIRTY)
def test_dirty_svmlight(kind, write):
    clean = read(write(PLAIN))
    raw = read(write(DIRTY[kind], "dirty.svm"))
    assert_array_equal(raw.X.toarray(), clean.X.toarray())
    assert_array_equal(raw.y, clean.y)
    assert raw.X.has_canonical_format


BAD_SVMLIGHT = {
    "word": ("1 1:2\n1 1:x\n", r"bad:2:3: expected index:value, such as 3:0.5, found '1:x'"),
    "label": ("1 1:2\nyes 1:1\n", r"bad:2:1: expected a label \(a number\), found 'yes'"),
    "no label": ("1 1:2\n1:1 2:2\n", r"bad:2:1: expected a label.*such as 0"),
    "labels": ("1 1:2\n1,2 1:1\n", r"bad:2:1: .*several labels"),
    "space": ("1 1: 2\n", r"bad:1:3: expected a finite number after the colon, found '1:'"),
    "no colon": ("1 1:2 3\n", r"bad:1:7: expected index:value.*found '3'; is there a space"),
    "nan": ("1 1:2\n\n1 2:nan\n", r"bad:3:3: .*found '2:nan'; leave a feature"),
    "inf": ("1 1:-inf\n", r"bad:1:3: expected a finite number"),
    "negative": ("1 -1:2\n", r"bad:1:3: expected index:value"),
    "qid": ("1 qid:3 1:2\n", r"bad:1:3: qid is for ranking"),
    "twice": ("1 1:2\n1 5:1 1:1 5:2\n", r"bad:2: feature 5 is there twice"),
    "twice, zero": ("1 0:2\n1 5:1 0:1 5:2\n", r"bad:2: feature 5 is there twice"),
    "index": ("1 1:2\n1 2147483647:1\n", r"bad:2: feature 2147483647 is above"),
    "huge index": ("1 99999999999999999999:1\n", r"bad:1:3: expected index:value"),
    "huge value": ("1 1:2\n1 2:1e999\n", r"bad:2: feature 2 has a value that is too large"),
    "huge label": ("1 1:2\n1e999 2:1\n", r"bad:2: the label is too large"),
    "underscore": ("1 1:1_0\n", r"bad:1:3: expected index:value"),
    "empty": ("", r"bad: the file is empty"),
    "comments only": ("# nothing\n\n", r"bad: the file has no rows"),
    "garbage": (bytes(range(256)), r"bad: is a binary file"),
}


@pytest.mark.parametrize("kind", BAD_SVMLIGHT)
def test_bad_svmlight(kind, write):
    content, message = BAD_SVMLIGHT[kind]
    refuses(write(content, "bad"), message)


def test_first_index(write):
    name = write("1 1:1\n1 3:1\n")
    assert read(name, base=0).X.shape == (2, 4)
    assert read(name, base=1).X.shape == (2, 3)
    refuses(write("1 1:1\n1 2:2 0:1\n"), r"data:2: .*index 0.*--first-index 0", base=1)


def test_same_as_scikit_learn(write):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40)) * (rng.uniform(size=(300, 40)) < 0.2)
    rows = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) for row in X.tolist())
    text = "\n".join(f"{y} {row}" for y, row in zip(rng.normal(size=300).tolist(), rows))  # noqa: B905
    raw = read(write(text))
    theirs, y = load_svmlight_file(io.BytesIO(text.encode()))
    assert_array_equal(raw.X.toarray(), theirs.toarray())
    assert_array_equal(raw.y, y)
    assert_array_equal(raw.X.toarray(), X)


def test_width_is_bounded_by_memory(write, monkeypatch):
    monkeypatch.setattr("resolvent.grams.memory.free_memory", lambda: 2**30)
    refuses(write("1 1:1\n1 2147483000:1\n"), r"data:2: feature 2147483000 makes more features")


def test_long_digits_take_no_time(write):
    refuses(write(b"1 1:" + b"1" * 200_000 + b"x 2:3"), r"data:1:3")
    refuses(write(b"1 " + b"1:1 " * 50_000 + b"x"), r"data:1:200003")


def test_memory_is_a_small_multiple_of_the_file(write):
    names = [
        write("\n".join("1 " + " ".join(f"{j}:1" for j in range(1, 15)) for _ in range(20_000))),
        write(
            "a,b,c,d\n" + "\n".join(f"{i * 0.37:.4f},x{i % 7},{i},0" for i in range(40_000)),
            "t.csv",
        ),
    ]
    import os

    for name in names:
        tracemalloc.start()
        read(name)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 10 * os.path.getsize(name) + 4_000_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.text(alphabet="019:.e+- #\n\t,;x\"'\0é", max_size=60).map(str.encode),
        st.lists(
            st.sampled_from(["1", "-1", "1:2", "0:1", "3:", ":", "#", "\n", "\r\n", "a,b"])
        ).map(lambda words: " ".join(words).encode()),
    ),
    format=st.sampled_from(["auto", "svmlight", "csv", "tsv", "npz", "parquet"]),
    compress=st.sampled_from(["plain", "gz"]),
)
def test_no_content_is_a_crash(content, format, compress, write):
    name = write(COMPRESS[compress](content))
    try:
        raw = read(name, format)
    except DataFileError as error:
        assert str(error).startswith(name)  # noqa: PT017
        return
    assert len(raw) > 0
    Features.learn(raw, impute=True) if len(getattr(raw, "columns", "x")) else None


@pytest.mark.parametrize("compress", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_archives(compress, damage, write):
    content = bytearray(COMPRESS[compress](PLAIN * 100))
    if compress == "zst" and damage == "changed":  # it has no checksum; its header has a pattern
        content[4:12] = b"\xff" * 8
        return refuses(write(bytes(content)), "compressed file is damaged")
    if damage == "cut":
        content = content[:-12]
    else:
        content[len(content) // 2] ^= 0xFF
    return refuses(write(bytes(content)), "compressed file is damaged")


# ---- tables ---------------------------------------------------------------------------------

CSV = "age,colour,score\n31,red,0.5\n42,blue,1.5\n23,red,-2\n"


def test_csv(write):
    table = read(write(CSV, "t.csv"))
    assert isinstance(table, Table)
    assert list(table.columns) == ["age", "colour", "score"]
    assert_array_equal(table.columns["age"], [31, 42, 23])
    assert table.columns["colour"].categories == ["red", "blue"]
    assert_array_equal(table.columns["colour"].codes, [0, 1, 0])
    assert_array_equal(table.lines, [2, 3, 4])


TABLES = {
    "tabs": (CSV.replace(",", "\t"), "t.tsv"),
    "semicolons": (CSV.replace(",", ";"), "t.csv"),
    "bars without an ending": (CSV.replace(",", "|"), "t"),
    "windows": (CSV.replace("\n", "\r\n"), "t.csv"),
    "byte order mark": ("\ufeff" + CSV, "t.csv"),
    "empty lines": (CSV.replace("\n", "\n\n") + " \n", "t.csv"),
    "no final newline": (CSV[:-1], "t.csv"),
    "quotes": (re.sub(r"\w*[a-z]\w*", r'"\g<0>"', CSV), "t.csv"),
    "spaces": (CSV.replace(",", " , "), "t.csv"),
    "compressed": (gzip.compress(CSV.encode()), "t.csv.gz"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_dirty_tables(kind, write):
    clean, table = read(write(CSV, "clean.csv")), read(write(*TABLES[kind]))
    features = Features.learn(clean)
    assert_array_equal(features(table), features(clean))


BAD_TABLES = {
    "word": ("a,b\n1,2\n3,x\n4,5\n", r"bad:3:2: column 'b': expected a number.*--categorical b"),
    "decimal comma": ("a;b\n1;2\n3;1,5\n4;5\n", r"bad:3:2: .*found '1,5'"),
    "ragged": ("a,b\n1,2\n3\n", r"bad:3: expected 2 columns as in the header, found 1"),
    "long row": ("a,b\n1,2,\n", r"bad:2: expected 2 columns as in the header, found 3"),
    "no header": ("1.5,2\n3,4\n", r"bad:1: expected a header.*found the numbers 1.5, 2"),
    "same names": ("a,b,a\n1,2,3\n", r"bad:1:3: the header has two columns 'a'"),
    "no name": ("a,,c\n1,2,3\n", r"bad:1:2: this column has no name"),
    "trailing delimiter": ("a,b,\n1,2,\n", r"bad:1: the header ends with a delimiter"),
    "no rows": ("a,b\n", r"bad: the table has a header but no rows"),
    "latin": ("a,b\n1,caf\xe9\n".encode("latin-1"), r"bad: is not text in UTF-8: byte 0xe9"),
    "quote": ('a,b\n1,"x\n', r"bad:2: cannot be read as CSV"),
    "infinite": ("a,b\n1,2\n1,1e999\n", r"bad:3: column 'b': expected a finite number"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables(kind, write):
    content, message = BAD_TABLES[kind]
    refuses(write(content, "bad"), message, format="csv")


def test_words_after_many_numbers(write):
    """A column of words may begin with thousands of words that look like numbers."""
    text = "a,b\n" + "".join(f"{i},007\n" for i in range(5000)) + "1,x\n" * 6000
    column = read(write(text, "t.csv")).columns["b"]
    assert column.categories == ["007", "x"]


class Counted(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    count = 0

    def read1(self, size=-1):
        found = super().read1(size)
        self.count += len(found)
        return found


@pytest.mark.parametrize("late", [0, 5000], ids=["at once", "after numbers"])
def test_columns_of_words_are_found_in_one_reading(late):
    """However many there are; those that begin as numbers take two more readings for all."""
    names = [f"c{j}" for j in range(40)]
    rows = [",".join(["07"] * 40) for _ in range(late)] + [",".join(["x"] * 40)] * (late + 9)
    text = "\n".join([",".join(names), *rows]).encode()
    file = Counted(text)
    table = read_delimited(file, "t.csv", delimiter=",")
    assert file.count <= (3 if late else 1) * len(text)
    assert all(
        column.categories == (["07", "x"] if late else ["x"]) for column in table.columns.values()
    )


def cells(draw_number):
    """Cells of a table as people write them."""
    words = st.sampled_from(["red", " blue ", '"a,b"', '"x ""y"""', "NA", "n/A", "", "é", "?"])
    return st.one_of(draw_number, words)


def same_columns(one, other):
    assert list(one.columns) == list(other.columns)
    assert_array_equal(one.lines, other.lines)
    for name, column in one.columns.items():
        theirs = other.columns[name]
        if isinstance(column, TextColumn):
            assert column.categories == theirs.categories
            assert_array_equal(column.codes, theirs.codes)
        else:
            assert_array_equal(column, theirs)


def outcome(parse):
    try:
        return parse()
    except DataFileError as error:
        return str(error)


NUMBERS = st.one_of(
    st.floats().map(str),
    st.integers().map(str),
    st.sampled_from(["+1", " 2 ", "1e-400", "007", ".5", "1_0", '"3"', "nan", "-inf", "1e999"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, cells(NUMBERS), cells(NUMBERS)), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    tail=st.sampled_from(["", "\n", "\n\n", "\n \n"]),
)
def test_both_parsers_of_csv_agree(rows, end, tail, monkeypatch):
    """The fast one reads a table as the careful one does, or leaves it to it."""
    text = (end.join(["a,b,c", *(",".join(row) for row in rows)]) + tail).encode()
    with monkeypatch.context() as patch:
        patch.setattr("resolvent.io.delimited.ROWS_AT_ONCE", 2)
        fast = outcome(lambda: read_delimited(io.BytesIO(text), "t.csv"))
        patch.setattr("resolvent.io.delimited.parse_table", lambda *_: None)
        careful = outcome(lambda: read_delimited(io.BytesIO(text), "t.csv"))
    if isinstance(careful, str):
        assert fast == careful
    else:
        same_columns(fast, careful)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.lists(
        st.sampled_from(
            ["1", "+1", "-1 ", " 1:2", " 0:.5", " 3:1e3", " 4:-2.5", "\n", "\r\n", " ", "\t5:1",
             " 6:nan", " 7:inf", " 0x8:1", " 9:0x1", " -1:3", "#", " 2147483648:1", " 3", " 1.0:2",
             " 1e1:2", " +2:1", " 8:+1", " 8:"]
        )
    )
)  # fmt: skip
def test_both_parsers_of_svmlight_agree(text, monkeypatch):
    content = "".join(text).encode()
    with monkeypatch.context() as patch:
        patch.setattr("resolvent.io.svmlight.BYTES_AT_ONCE", 20)
        fast = outcome(lambda: read_svmlight(io.BytesIO(content), "t"))
        patch.setattr("resolvent.io.svmlight.parse_pairs", lambda *_: None)
        careful = outcome(lambda: read_svmlight(io.BytesIO(content), "t"))
    if isinstance(careful, str):
        assert fast == careful
    else:
        assert_array_equal(fast.X.toarray(), careful.X.toarray())
        assert_array_equal(fast.y, careful.y)
        assert fast.base == careful.base


def test_long_tables_are_read_by_pyarrow(write, monkeypatch):
    """Memory and time of the fast parser, not of the careful one, for what it can read."""
    monkeypatch.setattr("resolvent.io.delimited.ROWS_AT_ONCE", 4)
    text = "a,b\n" + "".join(f"{i},{'xyz'[i % 3]}\n" for i in range(50))
    calls = []
    slow = read_delimited.__globals__["_read"]
    monkeypatch.setitem(
        read_delimited.__globals__, "_read", lambda *a, **k: calls.append(k) or slow(*a, **k)
    )
    table = read(write(text, "t.csv"))
    assert calls == [{"most": 4}]
    assert len(table) == 50


def test_categorical_numbers(write):
    table = read(write("a,zip\n1,01234\n2,56789\n", "t.csv"), words=["zip"])
    assert table.columns["zip"].categories == ["01234", "56789"]


def test_columns_that_must_be_numbers(write):
    name = write("a,b\n1,x\n2,y\n", "t.csv")
    refuses(
        name, "t.csv:2:2: column 'b': expected a number.*found 'x'. Correct it.$", numbers=["b"]
    )


@pytest.mark.parametrize("word", ["", "NA", "nan", "?", "null", " "])
def test_missing(word, write):
    table = read(write(f"a,b\n1,x\n{word},y\n3,{word}\n", "t.csv"))
    with pytest.raises(DataFileError, match=r"t.csv:3:1: column 'a' has no value here.*--missing"):
        Features.learn(table)
    with pytest.raises(DataFileError, match=r"t.csv:4:2: column 'b' has no value here"):
        Features.learn(table, without=["a"])
    features = Features.learn(table, impute=True)
    assert features.names == ["a", "b=(missing)", "b=x", "b=y"]
    assert_array_equal(features(table), [[1, 0, 1, 0], [2, 0, 0, 1], [3, 1, 0, 0]])


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_frames_come_through(format, tmp_path):
    frame = pd.DataFrame(
        {
            "int": [1, 2, 3],
            "float": [0.5, None, 2.5],
            "bool": [True, False, True],
            "word": ["x", None, "y"],
        }
    )
    path = tmp_path / f"frame.{format}"
    frame.to_csv(path, index=False) if format == "csv" else frame.to_parquet(path)
    table = read(str(path))
    assert_array_equal(table.columns["int"], [1, 2, 3])
    assert_array_equal(table.columns["float"], [0.5, np.nan, 2.5])
    assert_array_equal(table.columns["word"].codes, [0, -1, 1])
    assert table.columns["word"].categories == ["x", "y"]
    if format == "parquet":
        assert_array_equal(table.columns["bool"], [1, 0, 1])
        assert read(str(path), words=["int"]).columns["int"].categories == ["1", "2", "3"]
        with pytest.raises(
            DataFileError, match=r"frame.parquet: row 2: column 'float' has no value"
        ):
            Features.learn(table)


def test_parquet_of_dates_and_categories(tmp_path):
    frame = pd.DataFrame(
        {"c": pd.Categorical(["u", "v"]), "when": pd.to_datetime(["2020", "2021"])}
    )
    frame[["c"]].to_parquet(tmp_path / "c.parquet")
    assert read(str(tmp_path / "c.parquet")).columns["c"].categories == ["u", "v"]
    frame.to_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataFileError, match=r"column 'when' is of type timestamp.*--drop when"):
        read(str(tmp_path / "d.parquet"))


def test_columns_that_are_not_wanted_may_hold_anything(tmp_path, write):
    frame = pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020", "2021"])})
    frame.to_parquet(tmp_path / "d.parquet")
    table = read(str(tmp_path / "d.parquet"), wanted=lambda name: name != "when")
    assert list(table.columns) == ["a", "when"]
    assert_array_equal(Features.learn(table, without=["when"])(table), [[1], [2]])
    name = write("a,id\n1,2\n3,x\n4,5\n", "t.csv")
    refuses(name, "expected a number as in other rows, found 'x'")
    assert list(read(name, wanted=lambda name: name == "a").columns) == ["a", "id"]


def test_damaged_parquet(write):
    refuses(write(b"PAR1" + b"\0" * 50 + b"PAR1"), "cannot be read as Parquet")


@pytest.mark.parametrize("place", ["value", "name"])
def test_parquet_that_is_not_utf8(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"before": [1.0, 2.0], "naeme": ["straesse", "b"]})
    frame.to_parquet("t.parquet", compression=None)
    content = (tmp_path / "t.parquet").read_bytes()
    word = b"straesse" if place == "value" else b"naeme"
    changed = content.replace(word, word.replace(b"ae", b"\xe4\xe4"))
    (tmp_path / "t.parquet").write_bytes(changed)
    message = "t.parquet: column 'naeme' is not text in UTF-8" if place == "value" else "UTF-8"
    refuses("t.parquet", message)


# ---- NPZ ------------------------------------------------------------------------------------


def test_npz(tmp_path):
    path = tmp_path / "data.npz"
    np.savez_compressed(path, X=np.eye(3), y=["a", "b", "a"], w=np.ones((3, 1)))
    raw = read(str(path))
    assert_array_equal(raw.X, np.eye(3))
    assert raw.y.tolist() == ["a", "b", "a"]
    assert raw.arrays["w"].shape == (3,)


BAD_ARRAYS = {
    "no X": ({"Z": np.eye(2)}, "expected an array X, found Z"),
    "vector": ({"X": np.ones(3)}, r"expected X to be a matrix of numbers, found shape \(3,\)"),
    "words": ({"X": np.array([["a"]])}, "matrix of numbers"),
    "nan": ({"X": np.array([[1, 2], [3, np.nan]])}, r"found nan in X\[1, 1\]"),
    "y": ({"X": np.eye(3), "y": np.ones(2)}, r"y has shape \(2,\); expected \(3,\)"),
    "pickle": ({"X": np.array([{}], dtype=object)}, "holds Python objects"),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_bad_npz(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays, message = BAD_ARRAYS[kind]
    np.savez("bad.npz", **arrays)
    refuses("bad.npz", message)


def test_npz_that_announces_too_much(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**5)}
    )
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("X.npy", head.getvalue() + b"\0" * 100)
    refuses("bad.npz", "announces 8000000000000 bytes and has 100")


# ---- features -------------------------------------------------------------------------------


def table(**columns):
    def column(values):
        if isinstance(values[0], str):
            categories = sorted(set(values))
            return TextColumn(np.array([categories.index(v) for v in values]), categories)
        return np.array(values, dtype=float)

    return Table("t", {name: column(values) for name, values in columns.items()})


def test_standard_scaling_leaves_categories():
    data = table(a=[1.0, 3.0], b=["x", "y"], c=[5.0, 5.0])
    features = Features.learn(data, scale="standard")
    assert_array_equal(features(data), [[-1, 1, 0, 0], [1, 0, 1, 0]])


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_numbers_are_finite(scale):
    features = Features.learn(table(a=[0.0, 1e-150], b=["x", "y"]), scale=scale)
    with pytest.raises(DataFileError, match="t: has numbers that are too large to be scaled"):
        features(table(a=[1e200], b=["x"]))


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_many_categories_are_kept_sparse(scale):
    words = [f"w{i:02}" for i in range(30)]
    data = table(a=list(range(30)), b=words)
    features = Features.learn(data, scale=scale)
    rows = features(data)
    assert isinstance(rows, csr_matrix)
    a = {"none": 0, "standard": -14.5 / np.std(range(30)), "minmax": 0}[scale]
    assert rows[0, 0] == pytest.approx(a)
    assert_array_equal(rows[:, 1:].toarray(), np.eye(30))


def test_unknown_words_are_noted():
    features = Features.learn(table(a=[1.0, 2.0], b=["x", "y"]))
    notes = []
    rows = features(table(b=["z", "y"], a=[3.0, 4.0], other=["q", "q"]), notes.append)
    assert_array_equal(rows, [[3, 0, 0], [4, 0, 1]])
    (note,) = notes
    assert "1 rows have a value of 'b'" in note
    assert "'z'" in note


def test_missing_columns_are_named():
    features = Features.learn(table(a=[1.0], b=["x"], c=[1.0]))
    with pytest.raises(DataFileError, match=r"needs the columns 'b', 'c'.*found 'a'"):
        features(table(a=[1.0]))


def test_identifiers_are_refused():
    with pytest.raises(DataFileError, match=r"1001 different words.*--drop name"):
        Features.learn(table(name=[f"n{i}" for i in range(1001)]))


def test_more_features_than_in_training(write):
    raw = read(write(PLAIN))
    notes = []
    features = Features.learn(raw, scale="minmax")
    rows = features(read(write("1 1:1 3:2 7:5 9:1\n", "more")), notes.append)
    assert rows.shape == (1, 3)
    assert "2 values of features after 3" in notes[0]
    assert features(read(write("1 1:1\n", "fewer"))).shape == (1, 3)
    assert_array_equal(abs(features(raw)).max(axis=0).toarray(), [[1, 1, 1]])
