"""`resolvent fit --dask`: the fit, and the reading of its data, on a Dask cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from resolvent.blocks import Transformed, as_source
from resolvent.blocks.parquet import column_types
from resolvent.blocks.sources import paths_of
from resolvent.cli import commands, models
from resolvent.cli.output import Output

__all__ = ["run_fit_on_cluster"]

RANK = "1000"  # the exact machine holds the kernel matrix of all rows
WAIT = 10.0  # seconds for a scheduler to answer
TIMEOUT = 300.0  # seconds without progress
# What is for one machine, and the value that asks for nothing.
ELSEWHERE: dict[str, Any] = {
    "categorical": [],
    "missing": "error",
    "offset": None,
    "exposure": None,
    "first_index": None,
    "multiclass": "ovr",
    "memory": "auto",
    "threads": None,
}


def run_fit_on_cluster(output: Output, data: str, path: Path, options: dict[str, Any]) -> None:
    """Fit on a cluster, then save and report as `run_fit` does."""
    files, names = _table(data, options)
    if options["kernel"] != "linear" and options["rank"] is None:
        options["rank"] = RANK
    loss, quantiles, classify = commands.check_options(list(files), path, options)
    with connected(output, options["dask"]) as client:
        training, sample = _read(files, names, client, classify, options)
        estimator = _on_cluster(models.make_estimator(training, loss, quantiles, options), client)
        output.say(
            f"{commands.introduction(training, estimator, options)}, C = {options['C']:g}, on "
            f"{_workers(client)}"
        )
        interrupted = commands.fit_watched(output, estimator, training, options["tol"])
        if not hasattr(estimator, "status_"):
            raise KeyboardInterrupt
        for name, stage in estimator.fit_report_.items():
            output.event("stage", stage=name, **vars(stage))
    commands.settle(output, estimator.to_local(), sample, path, interrupted, data, options)


def _table(data: str, options: dict[str, Any]) -> tuple[list[Path], list[str]]:
    """Find the files and the columns that are features; refuse what a cluster does not do."""
    for name, nothing in ELSEWHERE.items():
        if options[name] != nothing:
            raise typer.BadParameter(
                "is not for fits on a cluster (--dask).", param_hint=f"--{name.replace('_', '-')}"
            )
    if data == "-" or options["format"] not in ("auto", "parquet"):
        raise typer.BadParameter(
            "with --dask the data are Parquet files that every worker can read: a file, a folder, "
            "or a pattern such as 'data/*.parquet'.",
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
            f"{files[0]} has columns that are no numbers, which --dask does not encode. Leave them "
            f"out: {' '.join(f'--drop {name!r}' for name in words)}",
            param_hint="DATA",
        )
    return files, used


def _read(
    files: list[Path],
    names: list[str],
    client: Any,
    classify: bool | None,
    options: dict[str, Any],
) -> tuple[models.Training, models.Training]:
    """Training data, which stay with the workers, and a sample of them."""
    from resolvent.dask.tables import look_at, rescaled

    target = options["target"]
    source = as_source(files, target, options["weights"], columns=names)
    seen = look_at(source, names, options["scale"] or "standard", client, TIMEOUT)
    y, classes = models.labels_or_numbers(seen.target, str(files[0]), target, classify)
    whole = classes is not None and y.dtype.kind == "i"
    scale = partial(rescaled, features=seen.features, are_labels=whole)
    training = OnCluster(Transformed(source, scale), None, None, seen.features, target, classes)
    training.size = seen.rows, len(names)
    some = scale(seen.sample)
    rows = "the training rows" if len(some) == seen.rows else f"{len(some):,} of the training rows"
    return training, models.Training(
        some.X, some.y, None, seen.features, target, classes, rows=rows
    )


class OnCluster(models.Training):
    """Training data that stay with the workers."""

    size: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.size


def _on_cluster(plain: Any, client: Any) -> Any:
    """Build the estimator for a cluster, with the parameters of an ordinary one."""
    from resolvent import dask

    cls = getattr(dask, f"Dask{type(plain).__name__}")
    known, given = cls().get_params(deep=False).keys(), plain.get_params(deep=False)
    return cls(
        **{name: value for name, value in given.items() if name in known},
        client=client,
        timeout=TIMEOUT,
    )


def _workers(client: Any) -> str:
    count = len(client.nthreads())
    return f"{count} worker{'s' * (count != 1)}"


@contextlib.contextmanager
def connected(output: Output, address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start workers here; what goes wrong there is said in a sentence.

    Parameters
    ----------
    output : Output
        Where to say it.
    address : str
        Of the scheduler, or local, or local:N.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(
            "--dask needs the packages dask and distributed: pip install 'resolvent[dask]'."
        ) from None
    with contextlib.ExitStack() as stack:
        if address == "local" or address.startswith("local:"):
            settings: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
            cluster = LocalCluster(_count(address), silence_logs="ERROR", **settings)
            client = Client(stack.enter_context(cluster))
        else:
            try:
                client = Client(address, timeout=WAIT)
            except (OSError, ValueError) as error:
                raise typer.BadParameter(
                    f"no scheduler answers at {address!r} ({_short(error)}): give the address that "
                    "dask scheduler printed, such as tcp://10.0.0.1:8786, or local:4.",
                    param_hint="--dask",
                ) from None
        stack.enter_context(client)
        try:
            yield client
        except RuntimeError as error:
            raise ConnectionError(str(error)) from None


def _count(address: str) -> int | None:
    """Give the number of local workers; None is as many as there are processors."""
    text = address.partition(":")[2]
    if address == "local":
        return None
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        raise typer.BadParameter(
            f"{address!r}: say local, local:4 for four workers, or the address of a scheduler.",
            param_hint="--dask",
        )
    return int(text)


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
