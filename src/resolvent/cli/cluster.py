"""`resolvent fit --dask`: the fit, and the reading of its data, on a Dask cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from resolvent.cli import by_blocks, commands, models
from resolvent.cli.output import Output

__all__ = ["run_fit_on_cluster"]

WAIT = 10.0  # seconds for a scheduler to answer
TIMEOUT = 300.0  # seconds without progress
# What is for this process, and the value that asks for nothing.
ELSEWHERE: dict[str, Any] = {**by_blocks.ELSEWHERE, "memory": "auto", "threads": None}


def run_fit_on_cluster(output: Output, data: str, path: Path, options: dict[str, Any]) -> None:
    """Fit on a cluster, then save and report as `run_fit` does."""
    by_blocks.refuse(options, ELSEWHERE, "is not for fits on a cluster (--dask).")
    files, names = by_blocks.table_of(data, options)
    by_blocks.set_rank(options)
    loss, quantiles, classify = commands.check_options(list(files), path, options)
    with connected(output, options["dask"]) as client:
        from resolvent.dask.tables import look_at

        look = partial(look_at, client=client, timeout=TIMEOUT)
        training, sample = by_blocks.read(files, names, look, classify, options)
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
            cluster = LocalCluster(n_workers=_count(address), silence_logs="ERROR", **settings)
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
