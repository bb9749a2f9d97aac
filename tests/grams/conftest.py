"""Tiles and precisions for the tests of grams."""

import numpy as np
import pytest

from resolvent.grams import chunks as chunks_module
from resolvent.grams import rows as rows_module


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Sizes at which 75 rows make many tiles."""
    monkeypatch.setattr(rows_module, "TILE_ROWS", 8)
    monkeypatch.setattr(rows_module, "TILE_COLUMNS", 32)
    monkeypatch.setattr(chunks_module, "TILE", 8 * 32)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param
