"""Compiled distances and exponentials of tiles."""

import numpy as np
import pytest

from resolvent import Status, gram, solve
from resolvent._solve import Continued
from resolvent.kernels import RBF, tiles
from resolvent.kernels.exponential import exp_in_place, exp_not_positive
from resolvent.kernels.points import Points

DTYPES = np.float32, np.float64


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_is_the_same_in_every_tile_and_in_both_orders(dtype):
    X = np.random.default_rng(0).standard_normal((150, 7)).astype(dtype)
    kernel, points = RBF(gamma=0.1), Points(X)
    K = kernel.evaluate(points, points)
    np.testing.assert_array_equal(K, K.T)
    some = np.array([3, 149, 64, 65, 0])
    np.testing.assert_array_equal(kernel.evaluate(points.take(some), points), K[some])
    rows, slot = gram(X, kernel=kernel).fetch(some)
    np.fill_diagonal(K, 1)
    np.testing.assert_array_equal(rows[slot[some]], K[some])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 200, 3), (70, 9, 40)])
def test_only_the_columns_of_a_tile_are_written(dtype, shape):
    m, n, d = shape
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((m, d)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)
    out, where = np.full((m + 3, n + 5), 7, dtype), rng.permutation(m + 3)[:m]
    a, b, room = tiles.pack(A), tiles.pack(B), tiles.room(np.dtype(dtype))
    tiles.sq_distances(a, b, dtype(0.5), False, out, where, 2, 2 + n, room)
    exact = 0.5 * ((A[:, None].astype(float) - B) ** 2).sum(axis=2)
    np.testing.assert_allclose(out[where, 2 : 2 + n], exact, atol=100 * np.finfo(dtype).eps)
    out[where, 2 : 2 + n] = 7
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_packed_points_may_lie_anywhere(dtype):
    """Copies, such as those of pickles, do not begin on a line of the cache."""
    X = np.random.default_rng(4).standard_normal((90, 5)).astype(dtype)
    packed, room, where = tiles.pack(X), tiles.room(np.dtype(dtype)), np.arange(90)
    size = packed.values.nbytes
    results = []
    for shift in 0, packed.values.itemsize:
        buffer = tiles.aligned(packed.values.size + 1, packed.values.dtype).view(np.uint8)
        values = buffer[shift : shift + size].view(dtype)
        values[:] = packed.values
        points, out = packed._replace(values=values), np.zeros((90, 90), dtype)
        tiles.sq_distances(points, points, dtype(1.0), False, out, where, 0, 90, room)
        results.append(out)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_compiled_is_what_is_written(dtype):
    rng = np.random.default_rng(2)
    a, b = (tiles.pack(rng.standard_normal((80, 6)).astype(dtype)) for _ in range(2))
    results = []
    for measure in tiles.sq_distances, tiles.sq_distances.py_func:
        out = np.zeros((80, 80), dtype)
        measure(a, b, dtype(-0.5), True, out, np.arange(80), 0, 80, tiles.room(np.dtype(dtype)))
        results.append(out)
    np.testing.assert_allclose(*results, rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("dtype", "least"), [(np.float32, -87.0), (np.float64, -708.0)])
def test_exponentials(dtype, least):
    t = np.linspace(least, 0.0, 10_001).astype(dtype)
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(exp_not_positive(t.copy()), np.exp(t), rtol=2 * eps)
    beyond = np.array([1e-7, 3.0, 1.01 * least, 1e30 * least], dtype)
    assert exp_not_positive(beyond.copy()).tolist() == [1.0, 1.0, 0.0, 0.0]
    exp_in_place(beyond)
    assert beyond.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_going_on_starts_where_a_solution_ended():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 2)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(300) > 0, 1.0, -1.0)
    K = gram(X, kernel="rbf", gamma=0.5)
    rough = solve("hinge", K, y, C=3.0, fit_intercept=True, tol=1e-2)
    on = solve("hinge", K, y, C=3.0, fit_intercept=True, tol=1e-6, start=Continued(rough))
    assert on.status == Status.CONVERGED
    # A solution that is only a start is first brought a step on.
    np.testing.assert_allclose(on.history[0].dual, rough.history[-1].dual, rtol=1e-2)
    np.testing.assert_allclose(on.history[0].primal, rough.primal, rtol=1e-9)
