"""Where files may be written: nothing that is not known to be replaceable is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from resolvent.io.libsvm import looks_like_libsvm
from resolvent.io.model_file import looks_like_model

__all__ = ["REPORT_MARK", "check_outputs"]

REPORT_MARK = "Made by resolvent"  # in the last line of a report, which is known by it


def check_outputs(outputs: dict[str, Path | None], inputs: Iterable[Any], force: bool) -> None:
    """Refuse, before any work, a place where a file cannot go or would replace something else.

    Parameters
    ----------
    outputs : dict
        Where the "model", the "report" or the "predictions" go; None if they are not asked for.
    inputs : iterable of str or Path
        The files that the command reads; "-" is standard input.
    force : bool
        Whether an input, or a file of another kind, may be replaced.
    """
    given = {what: path for what, path in outputs.items() if path is not None}
    for what, path in given.items():
        _check_place(path)
        if path.exists() and not path.is_file():
            continue  # a device or a pipe, which is written to and not replaced
        twin = next((w for w, p in given.items() if w != what and _same(p, path)), None)
        if twin is not None:
            raise typer.BadParameter(
                f"{path} is given for the {what} and the {twin}; one of them would be lost."
            )
        if not force:
            _check_lost(what, path, inputs)


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a directory; give the name of a file.")
    folder = path.parent
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is not a directory, so {path} cannot be written.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written: no permission.")


def _check_lost(what: str, path: Path, inputs: Iterable[Any]) -> None:
    remedy = f"give the {what} another name, or say --force to replace it."
    if any(str(name) != "-" and _same(Path(name), path) for name in inputs):
        raise typer.BadParameter(f"{path} is an input too, which would be lost; {remedy}")
    if not path.exists() or not path.stat().st_size:
        return
    if what == "model" and not (looks_like_model(path) or looks_like_libsvm(path)):
        raise typer.BadParameter(f"{path} exists and is no model; {remedy}")
    if what == "report" and not _looks_like_report(path):
        raise typer.BadParameter(f"{path} exists and is no report of resolvent; {remedy}")
    if what == "predictions":  # they have no mark by which they could be known
        raise typer.BadParameter(f"{path} exists; {remedy}")


def _looks_like_report(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 200))
        return REPORT_MARK.encode() in file.read()


def _same(a: Path, b: Path) -> bool:
    """Whether two names are of one file, which need not exist."""
    try:
        return a.samefile(b)
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)
