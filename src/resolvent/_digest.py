"""Digest of the source that a compiled loop can reach, so that old machine code is never run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["digest_of"]

PACKAGE = Path(__file__).parent
IMPORT = re.compile(
    r"^(?:from|import) +resolvent\b([\w.]*)(?: +import +(\([^)]*\)|.*))?", re.MULTILINE
)
# Losses and panels reach a loop as arguments: their classes are NamedTuples of these packages.
ARGUMENTS = ("losses", "grams")


@cache
def digest_of(module: str) -> str:
    """Digest of a module, of what it imports from this package, and of what it may be handed.

    Compiled code calls functions, and freezes constants, of its own module and of those imported
    at the top of it. An edit elsewhere, of an estimator for instance, leaves the digest as it is.

    Parameters
    ----------
    module : str
        Name of a module of this package, in full. Of another module nothing is known but what it
        may be handed.
    """
    digest = hashlib.sha256()
    for path in sorted(_reached(_file(module.split(".")[1:]))):
        digest.update(_source(path))
    return digest.hexdigest()


def _reached(start: Path | None) -> set[Path]:
    reached: set[Path] = set()
    todo = [*_arguments(), *([start] if start else [])]
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += _imported(path)
    return reached


@cache
def _arguments() -> tuple[Path, ...]:
    files = (path for folder in ARGUMENTS for path in (PACKAGE / folder).glob("*.py"))
    return tuple(path for path in files if b"NamedTuple" in _source(path))


@cache
def _source(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    return tuple(_imports(_source(path).decode()))


def _imports(text: str) -> Iterator[Path]:
    """Files of the modules that the import statements at the top of a module name."""
    for match in IMPORT.finditer(text):
        parent = match[1].split(".")[1:]
        names = re.findall(r"\w+", re.sub(r"#.*", "", match[2] or ""))
        for place in [parent, *([*parent, name] for name in names)]:
            file = _file(place)
            if file and place:  # the package itself imports nothing that is compiled
                yield file


@cache
def _find(place: tuple[str, ...]) -> Path | None:
    base = PACKAGE.joinpath(*place)
    return next((f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file()), None)


def _file(place: list[str]) -> Path | None:
    return _find(tuple(place))
