"""Tiles of kernel matrices of wide data, which have more rows."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from resolvent.estimators import expansion
from resolvent.grams import gram
from resolvent.grams import rows as rows_module
from resolvent.kernels import RBF, Points

WIDTH = 300
KERNEL = RBF(1.0 / WIDTH)


def wide(n, width=WIDTH):
    return np.random.default_rng(n).standard_normal((n, width)).astype(np.float32)


def rows_of_tile(points):
    return rows_module.tile_rows(points, rows_module.TILE_ROWS, 4 * rows_module.TILE_ROWS)


def test_rows_of_a_tile(monkeypatch):
    least = rows_module.TILE_ROWS
    monkeypatch.setattr(rows_module, "LONG", 3 * least * 1000)
    assert rows_of_tile(Points(wide(4, rows_module.WIDE))) == least
    assert rows_of_tile(Points(wide(4, rows_module.WIDE + 1))) == 4 * least
    assert rows_of_tile(Points(wide(4, 1000))) == 3 * least
    assert rows_of_tile(Points(wide(4, 5000))) == least
    assert rows_of_tile(Points(sparse.csr_array(wide(4, 1000)))) == least
    assert rows_of_tile(Points(["one", "two"], np.float64, numeric=False)) == least


def test_rows_are_those_of_the_matrix():
    X = wide(75)
    K = gram(X, KERNEL)
    assert K.n > rows_of_tile(K.points) > rows_module.TILE_ROWS
    rows, slot = K.fetch(np.arange(1, 75))
    np.testing.assert_allclose(rows[slot[1:]], KERNEL(X)[1:], atol=1e-6)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 21, 40, 41])
@pytest.mark.parametrize("width", [3, WIDTH])
def test_predictions_by_tiles(width, n, monkeypatch):
    for name in ("TILE", "WIDE_TILE"):
        monkeypatch.setattr(expansion, name, (10, 7))
    X, new, kernel = wide(30, width), wide(n, width), RBF(1.0 / width)
    coef = np.random.default_rng(1).standard_normal((30, 2))
    scores = expansion.Expansion(kernel, X, coef, np.array([0.5, -1.0]))(new)
    np.testing.assert_allclose(scores, kernel(new, X) @ coef + [0.5, -1.0], atol=1e-5)


def test_prepared_support_vectors_are_those_of_the_model():
    X, new, coef = wide(30, 3), wide(4, 3), np.ones((30, 1))
    model = expansion.Expansion(KERNEL, X, coef, np.zeros(1))
    size = len(pickle.dumps(model))
    np.testing.assert_allclose(model(new), KERNEL(new, X) @ coef, atol=1e-5)
    assert len(pickle.dumps(model)) == size
    model.rows, model.coef = X[:5], 2.0 * coef[:5]
    for each in model, pickle.loads(pickle.dumps(model)):
        np.testing.assert_allclose(each(new), 2.0 * KERNEL(new, X[:5]) @ coef[:5], atol=1e-5)
