"""Write a file as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["write_atomically"]

WAITS = (0.01, 0.03, 0.1, 0.3, 1.0)  # seconds


def write_atomically(path: Any, content: bytes | Iterable[bytes]) -> None:
    """Put `content` in the place of the file `path`; if anything fails nothing has changed.

    The content goes into a new file in the same directory, and onto the disk, before it takes the
    name. A device or a pipe, such as /dev/stdout, is written to directly.

    Parameters
    ----------
    path : str or Path
        The file, which need not exist. Of a symbolic link the file that it leads to.
    content : bytes or iterable of bytes
        What it is to hold, at once or in parts.
    """
    target = Path(path)
    parts = [content] if isinstance(content, bytes) else content
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file.")
    if target.exists() and not target.is_file():
        with target.open("wb") as pipe:
            pipe.writelines(parts)
        return
    target = Path(os.path.realpath(target))
    mode = 0o666 & ~_umask()
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # mkstemp's files are for their owner only
        _replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):  # that of a full disk does not say where
            error.filename, error.filename2 = str(path), None
        raise
    with contextlib.suppress(OSError):  # so that the name too outlives a crash, where that is known
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _replace(temporary: str, target: Path) -> None:
    """Give a file its name; on Windows as soon as no other program has that name open."""
    for wait in WAITS if os.name == "nt" else ():
        try:
            return os.replace(temporary, target)
        except PermissionError:  # virus scanners and indexers look at every new file
            time.sleep(wait)
    return os.replace(temporary, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
