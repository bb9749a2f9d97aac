"""Distances between points by a compiled product that keeps a tile of sums in vector registers.

BLAS knows few processors by name and takes code of an older one for the others, at half their
speed; and it writes products to memory that are only a step to what is wanted. Here a few rows of
one set of points meet a panel of columns of the other, all of it in registers; what becomes of the
products is computed while they are in the nearest cache, and written where it belongs.

Points are packed in panels, so many points side by side that a vector of each coordinate is at
hand. An element is the same sum in the same order wherever it is computed: it depends neither on
the tile nor on the number of threads, and k(a, b) = k(b, a) to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from resolvent._jit import INNER, inner, plain, unowned
from resolvent.kernels.exponential import exp_in_place

__all__ = ["Panels", "pack", "sq_distances"]

Array = np.ndarray

# Registers for sums: 16 of 64 bytes with AVX-512; otherwise 12 of 32 bytes of the 16 of AVX2, or of
# what the compiler makes of them.
try:
    WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
except RuntimeError:  # LLVM does not know those of this system
    WIDE = False
BYTES, VECTORS = (64, 4) if WIDE else (32, 3)
ROWS = 4
NEAR = 384 * 1024  # bytes of panels that stay in the second cache while many rows meet them
# Bytes of a line of the cache: a vector that is on two lines takes twice as long to read. Loads do
# not rely on it, since copies of packed points may lie anywhere.
LINE = 64


class Panels(NamedTuple):
    """Points, packed."""

    values: Array  # panel after panel, coordinate after coordinate, point after point
    squares: Array  # norms squared, in the precision of the values
    largest: float  # of them
    depth: int  # coordinates


def aligned(size: int, dtype: np.dtype[Any]) -> Array:
    """Make an array whose vectors are each on one line of the cache."""
    room = np.empty(size * dtype.itemsize + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size * dtype.itemsize].view(dtype)


def room(dtype: np.dtype[Any]) -> Array:
    """Make the room that `sq_distances` needs."""
    return aligned(ROWS * BYTES * VECTORS // dtype.itemsize, dtype)


def pack(rows: Array) -> Panels:
    """Pack the rows of a contiguous array."""
    n, d = rows.shape
    width = BYTES * VECTORS // rows.itemsize
    count = -(-n // width)
    values, squares = aligned(count * d * width, rows.dtype), np.zeros(count * width)
    _pack(rows, width, values, squares)
    return Panels(values, squares.astype(rows.dtype), float(squares.max()), d)


@plain
def _pack(rows: Array, width: int, values: Array, squares: Array) -> None:
    """Fill panels and the squared norms of the rounded points; zeros after the last."""
    n, d = rows.shape
    for first in range(0, len(squares), width):
        panel = values[first * d : (first + width) * d].reshape(d, width)
        for i in range(width):
            if first + i < n:
                row, square = rows[first + i], 0.0
                for k in range(d):
                    panel[k, i] = row[k]
                    square += np.float64(row[k]) * np.float64(row[k])
                squares[first + i] = square
            else:
                for k in range(d):
                    panel[k, i] = 0


def multiply(a: Array, first: int, b: Array, second: int, depth: int, out: Array) -> None:
    """Inner products of ROWS points of a panel, from place `first` of a on, with a panel of b."""
    width = len(out) // ROWS
    left = a[first + np.arange(ROWS)[:, None] + width * np.arange(depth)]
    out[:] = (left @ b[second : second + depth * width].reshape(depth, width)).ravel()


@intrinsic
def _multiply(
    _: Any, a: types.Array, first: Any, b: types.Array, second: Any, depth: Any, out: types.Array
) -> Any:
    """As `multiply`, in registers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_data_type(signature.args[0].dtype)
        size = context.get_abi_sizeof(element)
        lanes, number = BYTES // size, args[1].type
        vector = ir.VectorType(element, lanes)
        fma = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(vector, [vector] * 3),
            f"llvm.fmuladd.v{lanes}f{8 * size}",
        )

        def data(k: int) -> Any:
            array = context.make_array(signature.args[k])
            return array(context, builder, value=args[k]).data

        def pointer(base: Any, *offsets: Any) -> Any:
            for offset in offsets:
                base = builder.gep(base, [number(offset) if isinstance(offset, int) else offset])
            return base

        left, right = pointer(data(0), args[1]), pointer(data(2), args[3])
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        undefined = ir.Constant(vector, ir.Undefined)
        before = builder.block
        loop = builder.append_basic_block("multiply")
        end = builder.append_basic_block("multiply.end")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(number)
        k.add_incoming(number(0), before)
        sums = [[builder.phi(vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        here = builder.mul(k, number(lanes * VECTORS))
        columns = [
            builder.load(
                builder.bitcast(pointer(right, here, v * lanes), vector.as_pointer()), align=size
            )
            for v in range(VECTORS)
        ]
        for r in range(ROWS):
            scalar = builder.load(pointer(left, here, r))
            spread = builder.insert_element(undefined, scalar, ir.IntType(32)(0))
            spread = builder.shuffle_vector(spread, undefined, everywhere)
            for v in range(VECTORS):
                total = builder.call(fma, [spread, columns[v], sums[r][v]])
                sums[r][v].add_incoming(ir.Constant(vector, None), before)
                sums[r][v].add_incoming(total, loop)
                sums[r][v] = total
        following = builder.add(k, number(1))
        k.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[4]), loop, end)
        builder.position_at_end(end)
        for r in range(ROWS):
            for v in range(VECTORS):
                place = pointer(data(5), (r * VECTORS + v) * lanes)
                builder.store(sums[r][v], builder.bitcast(place, vector.as_pointer()), align=size)
        return context.get_dummy_value()

    return types.void(a, types.intp, b, types.intp, types.intp, out), generate


@overload(multiply, jit_options=INNER)
def _compiled_multiply(
    a: Any, first: Any, b: Any, second: Any, depth: Any, out: Any
) -> Callable[..., None]:
    def call(a: Any, first: Any, b: Any, second: Any, depth: Any, out: Any) -> None:
        _multiply(a, first, b, second, depth, out)  # type: ignore[call-arg]

    return call


@inner
def measure(a: Panels, i: int, b: Panels, j: int, scale: Any, tile: Array) -> None:
    """Squared distances times `scale` of ROWS points from i on to those of the panel of point j."""
    width, depth = len(tile) // ROWS, a.depth
    multiply(a.values, i // width * width * depth + i % width, b.values, j * depth, depth, tile)
    columns = unowned(b.squares)[j : j + width]
    for r in range(ROWS):
        row, square = tile[r * width : (r + 1) * width], a.squares[i + r]
        for k in range(width):
            row[k] = scale * ((square + columns[k]) - (row[k] + row[k]))


@inner
def deliver(tile: Array, out: Array, where: Array, i: int, start: int, stop: int) -> None:
    """Write a tile to the columns from `start` on, before `stop`, of the rows from where[i] on."""
    width = len(tile) // ROWS
    for r in range(min(ROWS, len(where) - i)):
        row = out[where[i + r]][start : min(start + width, stop)]
        source = tile[r * width : (r + 1) * width]
        for k in range(row.size):
            row[k] = source[k]


@plain
def sq_distances(
    a: Panels,
    b: Panels,
    scale: Any,
    exponential: bool,
    out: Array,
    where: Array,
    left: int,
    right: int,
    tile: Array,
) -> None:
    """Squared distances times `scale`, or exp(min(t, 0)) of them.

    They are written to the rows `where` of `out`, from the column `left` on, before `right`. The
    `tile` is for what is at hand.
    """
    out, tile = unowned(out), unowned(tile)
    width = len(tile) // ROWS
    step = max(1, NEAR // (BYTES * VECTORS * a.depth)) * width
    for first in range(0, right - left, step):
        for i in range(0, len(where), ROWS):
            for j in range(first, min(first + step, right - left), width):
                measure(a, i, b, j, scale, tile)
                if exponential:
                    exp_in_place(tile)
                deliver(tile, out, where, i, left + j, right)
