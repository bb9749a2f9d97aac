"""Data larger than memory: everything large is a sum over blocks of rows.

`block` says what blocks and their sources are, `sources` and `parquet` have the sources, `reduce`
adds up functions of blocks, and `newton` fits a linear model by such sums.
"""

from __future__ import annotations

from resolvent.blocks.block import Block, Kept, Source, Split, Transformed
from resolvent.blocks.reduce import Local, Reducer
from resolvent.blocks.solve import solve_blocks
from resolvent.blocks.sources import ArraySource, as_source

__all__ = [
    "ArraySource",
    "Block",
    "Kept",
    "Local",
    "Reducer",
    "Source",
    "Split",
    "Transformed",
    "as_source",
    "solve_blocks",
]
