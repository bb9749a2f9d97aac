"""Blocks of arrays and files, and sums over them."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from resolvent.blocks import (
    ArraySource,
    Block,
    Kept,
    Local,
    Transformed,
    as_source,
    solve_blocks,
)
from resolvent.blocks.reduce import Tree
from resolvent.io import DataFileError

parquet = pytest.importorskip("pyarrow.parquet")
pyarrow = pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4)).astype(np.float32)
y = (X[:, 0] > 0.1).astype(float)
weight = rng.random(3000)


def everything(source):
    blocks = [source.load(i) for i in range(source.n_blocks)]
    X = [b.X.toarray() if sparse.issparse(b.X) else b.X for b in blocks]
    others = ([getattr(b, name) for b in blocks] for name in ("y", "weight"))
    return np.vstack(X), *(None if o[0] is None else np.concatenate(o) for o in others)


def write(folder, groups=700):
    table = pyarrow.table({f"x{k}": X[:, k] for k in range(4)} | {"y": y, "w": weight})
    parquet.write_table(table.slice(0, 2000), folder / "a.parquet", row_group_size=groups)
    parquet.write_table(table.slice(2000), folder / "b.parquet", row_group_size=groups)


def sources(folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    np.savez(folder / "data.npz", X=X, y=y, sample_weight=weight)
    np.savez_compressed(folder / "small.npz", X=X, y=y, sample_weight=weight)
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    (folder / "parts").mkdir()
    write(folder / "parts")
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    return {
        "array": as_source(X, y, weight),
        "csr": as_source(sparse.csr_array(X), y, weight),
        "memmap": as_source(mapped, y, weight),
        "npy": as_source(folder / "X.npy", folder / "y.npy", weight),
        "fortran": as_source(folder / "fortran.npy", y, weight),
        "npz": as_source(str(folder / "data.npz")),
        "compressed": as_source(folder / "small.npz"),
        "folder": as_source(folder / "parts", "y", "w"),
        "pattern": as_source(str(folder / "parts" / "*.parquet"), "y", "w"),
        "list": as_source([folder / "parts" / f"{c}.parquet" for c in "ab"], "y", "w"),
    }


def test_all_sources_give_the_same_rows(tmp_path):
    for name, source in sources(tmp_path).items():
        got = everything(source)
        again = everything(pickle.loads(pickle.dumps(source)))
        assert source.n_blocks > 1, name
        for expected, one, two in zip((X, y, weight), got, again, strict=True):
            np.testing.assert_array_equal(expected, one, name)
            np.testing.assert_array_equal(expected, two, name)
        assert source.load(0).gram.dtype == np.float32, name


def test_sources_of_files_are_small_when_pickled(tmp_path):
    np.save(tmp_path / "X.npy", X)
    write(tmp_path)
    for source in (
        as_source(tmp_path / "X.npy"),
        as_source(tmp_path, "y"),
        as_source(np.load(tmp_path / "X.npy", mmap_mode="r")),
    ):
        assert len(pickle.dumps(source)) < 2000


def test_row_groups_are_joined_up_to_the_size_of_a_block(tmp_path):
    write(tmp_path, groups=100)
    source = as_source(tmp_path, "y", "w")
    assert [part.rows for part in source.parts] == [1000, 1000, 1000]
    one = as_source(tmp_path, "y", memory_limit=64 * 16 * 150)
    assert max(part.rows for part in one.parts) <= 150


def test_parquet_names_columns_and_places(tmp_path):
    table = pyarrow.table({"a": [1.0, None], "b": ["x", "y"], "y": [1, 2]})
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path)
    with pytest.raises(DataFileError, match="column 'b' is of type string"):
        as_source(path, "y")
    with pytest.raises(DataFileError, match="has no column 'z'"):
        as_source(path, "z", columns=["a"])
    source = as_source(path, "y", columns=["a"])
    with pytest.raises(DataFileError, match=r"t.parquet, row group 0: column 'a' has missing"):
        source.load(0)
    assert as_source(path, "b", columns=["y"]).load(0).y.tolist() == ["x", "y"]
    with pytest.raises(DataFileError, match="no such file"):
        as_source(tmp_path / "none.parquet", "y")
    with pytest.raises(DataFileError, match="no Parquet file"):
        as_source(tmp_path / "*.parq", "y")


def test_a_corrupt_row_group_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"x": rng.normal(size=3000), "y": y})
    parquet.write_table(table, path, row_group_size=1000, compression="zstd", use_dictionary=False)
    chunk = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    start = chunk.data_page_offset
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(bytes(data))
    with pytest.raises(DataFileError, match=r"a.parquet, row group 1: column 'x' cannot be read"):
        solve_blocks("squared", as_source(path, "y", memory_limit=64 * 8 * 1000))


def test_damaged_files_of_numpy(tmp_path):
    np.save(tmp_path / "X.npy", X)
    data = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(data[:5000])
    (tmp_path / "none.npy").write_bytes(b"hello")
    (tmp_path / "none.npz").write_bytes(b"hello")
    np.save(tmp_path / "objects.npy", np.array([None, 1], dtype=object), allow_pickle=True)
    for name in ("short.npy", "none.npy", "none.npz", "objects.npy"):
        with pytest.raises(DataFileError, match=name):
            as_source(tmp_path / name)
    with pytest.raises(ValueError, match=r"y has shape \(7,\), and X has 3000 rows"):
        as_source(X, y[:7])


def total(block, power):
    return (len(block), (block.gram.X.astype(float) ** power).sum(axis=0))


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 8, 13])
def test_the_tree_does_not_depend_on_the_order_of_arrival(leaves):
    values = rng.normal(size=leaves) * 10.0 ** rng.integers(-8, 8, size=leaves)
    results = set()
    for seed in range(20):
        tree = Tree(leaves)
        for i in np.random.default_rng(seed).permutation(leaves):
            tree.put(int(i), np.array(values[i : i + 1]))
        assert not tree.waiting
        results.add(tree.result.tobytes())
    assert len(results) == 1
    assert tree.result[0] == pytest.approx(values.sum())


def test_aligned_ranges_may_be_added_up_elsewhere():
    values = rng.normal(size=11)
    whole, parts = Tree(11), Tree(11)
    for i, value in enumerate(values):
        whole.put(i, value)
    for place in range(3):
        some = values[4 * place : 4 * place + 4]
        tree = Tree(len(some))
        for i, value in enumerate(some):
            tree.put(i, value)
        parts.put(place, tree.result, level=2)
    assert parts.result == whole.result


def test_sums_over_blocks():
    source = ArraySource(X, rows=70)
    for workers in (1, 3):
        n, squares = Local(source, workers).sum(total, 2)
        assert n == 3000
        np.testing.assert_allclose(squares, (X.astype(float) ** 2).sum(axis=0))


def double(block):
    return Block(2 * block.X, block.y, block.weight)


def test_transformed_and_kept_blocks():
    source = Transformed(ArraySource(X, y, rows=500), double)
    kept = Kept(source, 2 * source.load(0).nbytes)
    for _ in range(2):
        np.testing.assert_array_equal(everything(kept)[0], 2 * X)
    assert sorted(kept.held) == [0, 1]
    assert kept.load(0) is kept.load(0)
    assert kept.load(2) is not kept.load(2)
    assert pickle.loads(pickle.dumps(kept)).held == {}
