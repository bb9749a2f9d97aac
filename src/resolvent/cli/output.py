"""What the command line says, to people and to programs, and how it ends."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import numpy as np
import typer

__all__ = ["Code", "Output", "guarded", "uninterrupted"]


class Code(IntEnum):
    """Exit codes."""

    SOLVED = 0
    USAGE = 2
    BAD_DATA = 3
    UNFINISHED = 4
    INTERRUPTED = 130  # before there was anything to save
    BROKEN_PIPE = 141  # the reader of the output went away


class Output:
    """Sentences for people, JSON lines for programs, on standard output; notes on standard error.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing but results and errors.
    as_json : bool
        Whether to write JSON lines instead of sentences.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json

    def say(self, text: str = "") -> None:
        """Tell people something."""
        if not self.quiet and not self.as_json:
            _print(text)

    def progress(self, text: str) -> None:
        """Tell how far something is."""
        if self.as_json:
            self.event("progress", message=text)
        elif not self.quiet:
            _print(text, sys.stderr)

    def note(self, text: str) -> None:
        """Tell of something that deserves attention."""
        if self.as_json:
            self.event("note", message=text)
        elif not self.quiet:
            _print(f"Note: {text}", sys.stderr)

    def event(self, name: str, **fields: Any) -> None:
        """Tell programs something."""
        if self.as_json:
            _print(json.dumps(_plain({"event": name, **fields}), allow_nan=False))


def _plain(value: Any) -> Any:
    """Return what JSON has; it has no infinity, so that what is unknown is null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print(text: str, file: Any = None) -> None:
    """Print; that nobody reads it any more is no reason to stop a fit."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=file or sys.stdout, flush=True)


# What stops a job as Ctrl-C does: batch systems send the first, Ctrl-Break on Windows the second.
STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGBREAK") if hasattr(signal, name)]


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn exceptions that users can do something about into a sentence and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from resolvent.io.errors import DataFileError, ModelFileError

        previous = [signal.signal(stop, signal.default_int_handler) for stop in STOPS]
        try:
            command(*args, **kwargs)
        except (DataFileError, ModelFileError) as error:
            _fail(str(error), Code.BAD_DATA)
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(Code.BROKEN_PIPE) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            what = error.strerror or str(error)
            _fail(f"{where}{what}", Code.BAD_DATA)
        except MemoryError:
            _fail(
                "There is not enough memory. Fewer rows, --kernel linear or a smaller --memory "
                "need less.",
                Code.BAD_DATA,
            )
        except ImportError as error:
            _fail(str(error), Code.USAGE)
        except KeyboardInterrupt:
            _fail("Stopped before there was anything to save.", Code.INTERRUPTED)
        finally:
            for stop, handler in zip(STOPS, previous, strict=True):
                signal.signal(stop, handler)

    return run


def _fail(message: str, code: Code) -> None:
    _print(f"Error: {message}", sys.stderr)
    raise typer.Exit(code) from None


def _forget_stdout() -> None:
    """Keep Python from complaining again when it flushes standard output at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold further interrupts back while what is there is saved."""
    stops = (signal.SIGINT, *STOPS)
    previous = [signal.signal(stop, signal.SIG_IGN) for stop in stops]
    try:
        yield
    finally:
        for stop, handler in zip(stops, previous, strict=True):
            signal.signal(stop, handler)
