"""Types, layouts and sparse formats of the same numbers give the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from answers import data, sound
from scipy import sparse

from resolvent import gram, solve
from resolvent.kernels import RBF


@pytest.mark.parametrize("dtype", [int, bool, object, np.float16, np.int8, np.uint64])
def test_types_of_data(dtype):
    X, y = data()
    X = (X > 0).astype(dtype) if dtype in (bool, np.uint64) else np.round(2 * X).astype(dtype)
    expected = solve("hinge", gram(X.astype(float), gamma=0.5), y)
    assert solve("hinge", gram(X, gamma=0.5), y).primal == pytest.approx(expected.primal, rel=1e-9)
    K = np.diag(np.arange(1, 21)).astype(dtype)
    s = sound(solve("hinge", K, y.astype(int)))
    assert s.primal == pytest.approx(solve("hinge", K.astype(float), y).primal, rel=1e-9)


def test_read_only_and_memory_mapped(tmp_path):
    X, y = data()
    K = RBF()(X)
    expected = solve("hinge", K, y, tol=0).fitted
    for name, array in (("X", X), ("K", K), ("y", y)):
        np.save(tmp_path / name, array)
    X_, K_, y_ = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "XKy")
    w, C, start = np.ones(20), np.ones(20), np.zeros(20)
    for array in (w, C, start):
        array.flags.writeable = False
    s = solve("hinge", K_, y_, C, sample_weight=w, start=start, tol=0)
    assert np.allclose(s.fitted, expected, atol=1e-9)
    s = solve("hinge", gram(X_, kernel=RBF()), y_, tol=0)
    assert np.allclose(s.fitted, expected, atol=1e-9)


def test_inputs_are_not_written_to():
    X, y = data()
    K, C, w, start = RBF()(X), np.ones(20), np.ones(20), np.full(20, 9.0)
    copies = [a.copy() for a in (K, y, C, w, start)]
    solve("hinge", K, y, C, sample_weight=w, start=start, fit_intercept=True)
    for before, after in zip(copies, (K, y, C, w, start), strict=True):
        assert np.array_equal(before, after)


def test_layouts_of_arrays():
    X, y = data()
    K = RBF()(X)
    big = np.zeros((40, 40))
    big[::2, ::2] = K
    expected = solve("hinge", K, y, tol=0).fitted
    forms = {
        "Fortran": (np.asfortranarray(K), y),
        "strided": (big[::2, ::2], np.repeat(y, 2)[::2]),
        "lists": (K.tolist(), y.tolist()),
        "other byte order": (K.astype(">f8"), y.astype(">f8")),
    }
    for name, (K_, y_) in forms.items():
        # Not the same bits: BLAS sums in an order that depends on the alignment in memory.
        assert np.allclose(solve("hinge", K_, y_, tol=0).fitted, expected, atol=1e-9), name


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kinds_of_csr(kernel):
    X, y = data()
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    plain = sparse.csr_array(X)
    expected = solve("logistic", gram(X, kernel=kernel, gamma=0.5), y, tol=1e-10).fitted
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    zeros = sparse.csr_array((np.r_[plain.data, 0.0], np.r_[plain.indices, 0],
                              np.r_[plain.indptr[:-1], len(plain.data) + 1]), X.shape)  # fmt: skip
    mixed = sparse.csr_array(
        (
            np.concatenate([plain[[i]].data[::-1] for i in range(20)]),
            np.concatenate([plain[[i]].indices[::-1] for i in range(20)]),
            plain.indptr,
        ),
        X.shape,
    )
    assert not mixed.has_sorted_indices
    halves = sparse.csr_array(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), X.shape
    )  # each entry twice: they add up
    forms = {"int64": wide, "zeros": zeros, "unsorted": mixed, "twice": halves}
    forms |= {"csc": sparse.csc_array(X), "coo": sparse.coo_matrix(X)}
    for name, form in forms.items():
        s = solve("logistic", gram(form, kernel=kernel, gamma=0.5), y, tol=1e-10)
        assert np.allclose(s.fitted, expected, atol=1e-4), name
