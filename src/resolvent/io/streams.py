"""Open a file of data, compressed or not, or standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from resolvent.io.errors import DataFileError

__all__ = ["open_data"]

OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
ZSTD = b"\x28\xb5\x2f\xfd"
BAD_ARCHIVE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


@contextmanager
def open_data(path: str) -> Iterator[BinaryIO]:
    """Open the bytes of a file; "-" is standard input, and what is compressed is decompressed.

    The stream can be read again from the start. Whether a file is compressed is read off its first
    bytes, not off its name.
    """
    name = "standard input" if path == "-" else path
    if path == "-":
        raw: BinaryIO = io.BytesIO(sys.stdin.buffer.read())
    else:
        if Path(path).is_dir():
            raise DataFileError("is a directory; give the name of a file.", path)
        raw = open(path, "rb")  # noqa: SIM115 (closed below)
        if not raw.seekable():  # a pipe, such as the shell's <(command)
            with raw:
                raw = io.BytesIO(raw.read())
    with raw:
        start = raw.read(6)
        raw.seek(0)
        opener = next((f for magic, f in OPENERS.items() if start.startswith(magic)), None)
        damaged: tuple[type[Exception], ...] = BAD_ARCHIVE
        if start.startswith(ZSTD):
            zstd = _zstd(name)
            opener, damaged = zstd.open, (*BAD_ARCHIVE, zstd.ZstdError)
        try:
            if opener is None:
                yield raw
            else:
                with opener(raw, "rb") as stream:
                    yield stream
        except damaged as error:
            raise DataFileError(
                f"the compressed file is damaged or cut off ({error}); fetch it again.", name
            ) from None
        except OSError as error:
            if opener is None or error.errno is not None:
                raise
            raise DataFileError(  # bz2 has no exception of its own
                f"the compressed file is damaged ({error}); fetch it again.", name
            ) from None


def _zstd(name: str) -> Any:
    """Python's module from 3.14 on, before that its backport."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            zstd = import_module(module)
        except ImportError:
            continue
        return zstd
    raise DataFileError(
        "is compressed by Zstandard, which needs the package backports.zstd before Python 3.14: "
        "pip install backports.zstd, or decompress the file (zstd -d).",
        name,
    )
