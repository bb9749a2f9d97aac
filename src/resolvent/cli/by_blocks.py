"""Fits to Parquet files that are read by blocks: several, or one that memory cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import typer

from resolvent.blocks import Source, Transformed, as_source
from resolvent.blocks.engine import LocalEngine
from resolvent.blocks.parquet import column_types, size_in_memory
from resolvent.blocks.sources import paths_of
from resolvent.blocks.tables import Seen, look_at, rescaled
from resolvent.cli import commands, models
from resolvent.cli.output import Output
from resolvent.grams.memory import free_memory, parse_memory

__all__ = [
    "ELSEWHERE",
    "is_by_blocks",
    "read",
    "refuse",
    "run_fit_by_blocks",
    "set_rank",
    "table_of",
]

RANK = "1000"  # the exact machine needs all rows at once
TIMES = 2.6  # of the size of its numbers that a table takes while it is read
SHARE = 0.5  # of the free memory that this may be
# What needs all rows at once, and the value that asks for nothing.
ELSEWHERE: dict[str, Any] = {
    "categorical": [],
    "missing": "error",
    "offset": None,
    "exposure": None,
    "first_index": None,
    "multiclass": "ovr",
}


def is_by_blocks(data: str, format: str) -> bool:
    """Whether data are read by blocks: several Parquet files, or one that memory cannot hold."""
    if data == "-" or format not in ("auto", "parquet"):
        return False
    path = Path(data)
    if path.is_dir() or (any(sign in path.name for sign in "*?[") and not path.exists()):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            return False
    return TIMES * size_in_memory(path) > SHARE * free_memory()


def run_fit_by_blocks(output: Output, data: str, path: Path, options: dict[str, Any]) -> None:
    """Fit by blocks, then save and report as `run_fit` does."""
    refuse(options, ELSEWHERE, "is not for data that are read by blocks.")
    files, names = table_of(data, options)
    if set_rank(options):
        output.note(
            f"the rows are read by blocks: the machine has {RANK} landmarks. Choose with --rank, "
            "or --kernel linear."
        )
    loss, quantiles, classify = commands.check_options(list(files), path, options)
    limit = parse_memory(options["memory"])

    def look(source: Source, names: list[str], scale: str) -> Seen:
        return look_at(LocalEngine(source, limit), names, scale)

    with commands.limited(options["threads"]):
        training, sample = read(files, names, look, classify, options)
        estimator = models.make_estimator(training, loss, quantiles, options)
        output.say(f"{commands.introduction(training, estimator, options)}, C = {options['C']:g}")
        interrupted = commands.fit_watched(output, estimator, training, options["tol"])
        if not hasattr(estimator, "status_"):
            raise KeyboardInterrupt
        commands.settle(output, estimator, sample, path, interrupted, data, options)


def refuse(options: dict[str, Any], elsewhere: dict[str, Any], why: str) -> None:
    """Refuse options that ask for something."""
    for name, nothing in elsewhere.items():
        if options[name] != nothing:
            raise typer.BadParameter(why, param_hint=f"--{name.replace('_', '-')}")


def set_rank(options: dict[str, Any]) -> bool:
    """Choose a rank where a kernel is asked for, and none is said; return whether that was so."""
    needed = options["kernel"] != "linear" and options["rank"] is None
    if needed:
        options["rank"] = RANK
    return bool(needed)


def table_of(data: str, options: dict[str, Any]) -> tuple[list[Path], list[str]]:
    """Find the files and the columns that are features."""
    if data == "-" or options["format"] not in ("auto", "parquet"):
        raise typer.BadParameter(
            "the data must be Parquet files, that every worker can read: a file, a folder, or a "
            "pattern such as 'data/*.parquet'.",
            param_hint="DATA",
        )
    files = paths_of(data)
    types = column_types(files[0])
    given = {"--target": [options["target"]], "--weights": [options["weights"] or ""]}
    given["--drop"] = options["drop"]
    if options["target"] is None:
        raise typer.BadParameter(
            f"say which column to predict. The columns are {', '.join(types)}.",
            param_hint="--target",
        )
    for option, names in given.items():
        for name in filter(None, names):
            if name not in types:
                raise typer.BadParameter(
                    f"{files[0]} has no column {name!r}; it has {', '.join(types)}.",
                    param_hint=option,
                )
    without = {options["target"], options["weights"], *options["drop"]}
    used = [name for name in types if name not in without]
    words = [name for name in used if types[name].kind not in "iufb"]
    if words:
        raise typer.BadParameter(
            f"{files[0]} has columns that are no numbers, which are not encoded by blocks. Leave "
            f"them out: {' '.join(f'--drop {name!r}' for name in words)}",
            param_hint="DATA",
        )
    return files, used


def read(
    files: list[Path],
    names: list[str],
    look: Callable[[Source, list[str], str], Seen],
    classify: bool | None,
    options: dict[str, Any],
) -> tuple[models.Training, models.Training]:
    """Training data, which stay where they are, and a sample of them."""
    target = options["target"]
    memory = {} if options["memory"] == "auto" else {"memory_limit": options["memory"]}
    source = as_source(files, target, options["weights"], columns=names, **memory)
    seen = look(source, names, options["scale"] or "standard")
    y, classes = models.labels_or_numbers(seen.target, str(files[0]), target, classify)
    whole = classes is not None and y.dtype.kind == "i"
    scale = partial(rescaled, features=seen.features, are_labels=whole)
    training = OnBlocks(Transformed(source, scale), None, None, seen.features, target, classes)
    training.size = seen.rows, len(names)
    some = scale(seen.sample)
    rows = "the training rows" if len(some) == seen.rows else f"{len(some):,} of the training rows"
    return training, models.Training(
        some.X, some.y, None, seen.features, target, classes, rows=rows
    )


class OnBlocks(models.Training):
    """Training data that stay where they are."""

    size: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.size
