"""Sums over blocks by the workers of a Dask cluster.

Blocks are grouped in aligned ranges of 2^level, a few groups for each thread of the cluster, and a
group is loaded by a task, so that Dask computes it again where a worker is lost. A sum is a task
for each group, and a tree of tasks that add up eight of them at a time: only what a function is
asked for goes out, and its sums come back. The shape of the tree depends on the number of blocks
alone (see :mod:`resolvent.blocks.reduce`), and each task runs on one thread: so the bits of the
result depend neither on the number of workers nor on which of them does what, or dies.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, current_thread, main_thread
from time import monotonic, perf_counter
from typing import Any
from uuid import uuid4

from resolvent.blocks.reduce import OutOfTimeError
from resolvent.dask._tasks import Call, combine, on_pair, own, same, sum_group, transform

__all__ = ["ClusterError", "DaskReducer", "Stage", "client_of", "shield", "workers_of"]

GROUPS = 2  # for each thread, at least
ARITY = 3  # 2^3 sums are added up by a task
LARGE = 1 << 16  # bytes of arguments that workers have from each other, not from the scheduler
POLL = 0.05  # seconds between looks at the clock
LOOK = 2.0  # and at the state of the cluster


class ClusterError(RuntimeError):
    """The cluster did not do its part: the scheduler is gone, there is no worker, or no progress.

    Examples
    --------
    >>> from resolvent.dask import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


def client_of(client: Any) -> Any:
    """Give the client that was passed, or Dask's current one."""
    try:
        from distributed import Client, get_client
    except ImportError:
        raise ImportError(
            "resolvent.dask needs the packages dask and distributed: pip install 'resolvent[dask]'."
        ) from None
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client: make one, client = distributed.Client(...), before fit, "
                "or pass client=."
            ) from None
    if not isinstance(client, Client) or client.asynchronous:
        raise TypeError(f"client={client!r} must be a distributed.Client that is not asynchronous.")
    return client


def shield(client: Any) -> None:
    """Keep Ctrl-C from the workers of a local cluster, to which a terminal sends it too.

    It is for the client, which asks them for the best model so far.
    """
    from distributed import LocalCluster, WorkerPlugin

    if not isinstance(client.cluster, LocalCluster) or not client.cluster.processes:
        return

    class Shield(WorkerPlugin):
        name = "resolvent-shield"

        def setup(self, worker: Any) -> None:
            if current_thread() is main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    client.register_plugin(Shield())


def workers_of(client: Any, timeout: float) -> list[int]:
    """Count the threads of each worker, once there are workers."""
    from distributed import TimeoutError

    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise ClusterError(
            f"The scheduler at {_address(client)} has had no worker for {timeout:g} seconds: start "
            "workers, or raise timeout."
        ) from None
    return list(client.nthreads().values())


def _address(client: Any) -> str:
    return getattr(client.scheduler, "address", "") or "an unknown address"


@dataclass
class Stage:
    """What passes of one kind have taken.

    Attributes
    ----------
    passes, tasks : int
        How often it was done, and by how many tasks.
    seconds : float
        Time of the client, from sending to the result.
    bytes_out : int
        What tasks were sent: the arguments, once for each group.
    bytes_back : int
        Results of tasks, which other tasks or the client took.
    """

    passes: int = 0
    tasks: int = 0
    seconds: float = 0.0
    bytes_out: int = 0
    bytes_back: int = 0


@dataclass
class Course:
    """What a fit on a cluster may take, and what it has taken, by stage."""

    client: Any
    timeout: float
    stages: dict[str, Stage] = field(default_factory=dict)

    def stage(self, name: str) -> Stage:
        """Stage of that name."""
        return self.stages.setdefault(name, Stage())


class DaskReducer:
    """Applies functions to the groups of blocks on a cluster and adds up the results.

    Parameters
    ----------
    course : Course
        The client, and what is noted of the fit.
    groups : list of Future
        Groups of blocks, each of ``2**level`` of them but the last.
    level : int
        Of the groups.
    places : list of str
        Where each block is from.
    threads : int
        Threads of a worker, at most: what its memory has to be enough for.
    """

    def __init__(
        self, course: Course, groups: list[Any], level: int, places: list[str], threads: int
    ) -> None:
        self.course, self.groups, self.level, self.places = course, groups, level, places
        self.workers = self.threads = threads

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.places)

    memory_limit = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    def of_group(self, g: int, entries: Sequence[Any]) -> list[Any]:
        """Entries of the blocks of a group, of those of all blocks."""
        return list(entries[g << self.level : (g + 1) << self.level])

    # ---- sums ------------------------------------------------------------------------------

    def sum(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Sequence[Any] | None = None,
        beside: Any = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Sum of ``function(block, *args)`` over all blocks.

        With `each` there is one more argument, an entry of it for each block, and with `beside` a
        last one, the result of that future.
        """
        with self._pass(function, args, size_of(each) if each else 0) as (name, call, stage):
            row = self._on_groups(sum_group, name, call, self._shares(each), beside)
            everything, level = list(row), self.level
            try:
                while len(row) > 1:
                    row = self._add_up(row, level, f"add-{name}")
                    everything += row
                    level += ARITY
                self.wait(row, is_over)
                value = own(row[0].result(self.course.timeout))
            finally:
                # What is not done is of no use any more: else it would be run all the same.
                _release(self.course.client, everything)
            stage.tasks += len(everything)
            stage.bytes_back += len(everything) * size_of(value)
        return value

    def transformed(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Sequence[Any] | None = None,
        beside: Any = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> DaskReducer:
        """Blocks passed through a function, with arguments as for `sum`; they stay with workers."""
        with self._pass(function, args, size_of(each) if each else 0) as (name, call, stage):
            groups = self._on_groups(transform, name, call, self._shares(each), beside)
            new = DaskReducer(self.course, groups, self.level, self.places, self.threads)
            try:
                new.wait(groups, is_over)
            except BaseException:
                new.release()
                raise
            stage.tasks += len(groups)
        return new

    def _shares(self, each: Sequence[Any] | None) -> list[Any]:
        return [each and self.of_group(g, each) for g in range(len(self.groups))]

    def on_pairs(
        self,
        function: Callable[..., Any],
        pairs: Sequence[tuple[int, int]],
        found: list[Any],
        *args: Any,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Put ``function(group, group, same, *args)`` of pairs of groups into `found`.

        What is known is there too where the time is over, or an interrupt has come.
        """
        with self._pass(function, args) as (name, call, stage):
            client = self.course.client
            futures = client.map(
                on_pair,
                [self.groups[a] for a, _ in pairs],
                [self.groups[b] for _, b in pairs],
                [call] * len(pairs),
                [a == b for a, b in pairs],
                key=[(f"resolvent-{name}", a, b) for a, b in pairs],
                pure=False,
            )
            try:
                self.wait(futures, is_over)
            finally:
                known = [k for k, future in enumerate(futures) if future.status == "finished"]
                for k, value in zip(known, client.gather([futures[k] for k in known]), strict=True):
                    found[k] = value
                _release(client, futures)
            stage.tasks += len(futures)
            stage.bytes_back += sum(map(size_of, found))

    @contextmanager
    def _pass(
        self, function: Callable[..., Any], args: tuple[Any, ...], more: int = 0
    ) -> Iterator[tuple[str, Any, Stage]]:
        """Send a call to the cluster, and note what a pass with it takes."""
        name, start = function.__name__.strip("_"), perf_counter()
        client, call, size = self.course.client, Call(function, args), size_of(args)
        _check_alive(client)
        token = f"{name}-{uuid4().hex}"
        sent = client.submit(same, call, key=f"resolvent-send-{token}") if size > LARGE else call
        stage = self.course.stage(name)
        yield token, sent, stage
        stage.passes += 1
        stage.seconds += perf_counter() - start
        stage.bytes_out += size * len(self.groups) + more

    def _on_groups(self, function: Callable[..., Any], name: str, *args: Any) -> list[Any]:
        """Submit a task for each group; what is a list has an entry for each of them."""
        count = len(self.groups)
        lists = [arg if isinstance(arg, list) else [arg] * count for arg in args]
        keys = [(f"resolvent-{name}", g) for g in range(count)]
        client = self.course.client
        return list(client.map(function, self.groups, *lists, key=keys, pure=False))

    def _add_up(self, row: list[Any], level: int, name: str) -> list[Any]:
        """Add up eight results at a time."""
        step = 1 << ARITY
        above = []
        for i in range(0, len(row), step):
            first = i << level
            leaves = min(step << level, self.n_blocks - first)
            above.append(
                self.course.client.submit(
                    combine,
                    row[i : i + step],
                    level,
                    leaves,
                    key=(f"resolvent-{name}", level, i),
                    pure=False,
                )
            )
        return above

    def release(self) -> None:
        """Let go of the groups, and of all that is to be computed for them."""
        _release(self.course.client, self.groups)

    # ---- waiting ---------------------------------------------------------------------------

    def wait(self, futures: list[Any], is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait for results; raise what a task raised, with its block where that is not said."""
        client, done = self.course.client, Event()
        for future in futures:
            future.add_done_callback(lambda _: done.set())
        looked = since = monotonic()
        state: Any = None
        while not all(future.done() for future in futures):
            if is_over():
                raise OutOfTimeError
            done.wait(POLL)
            done.clear()
            if monotonic() - looked > LOOK:
                looked = monotonic()
                _check_alive(client)
                new = _progress(client, futures)
                if new != state:
                    state, since = new, looked
                elif looked - since > self.course.timeout:
                    raise ClusterError(
                        f"No task has ended on the cluster at {_address(client)} for "
                        f"{self.course.timeout:g} seconds ({new}): look at its workers, or raise "
                        "timeout if tasks of that length are expected."
                    )
        for future in futures:
            if future.status != "finished":
                self._explain(future)

    def _explain(self, future: Any) -> None:
        """Raise what went wrong."""
        from distributed import KilledWorker

        client = self.course.client
        _check_alive(client)
        if future.status != "error":
            raise ClusterError(
                f"The cluster at {_address(client)} gave up a task ({future.status}): it was "
                "restarted, or the task was cancelled."
            )
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"A task died with its worker again and again: {error} Most likely its blocks do "
                "not fit into a worker's memory: split the data into more of them."
            ) from None
        if any(place in str(error) for place in self.places):
            raise error
        raise type_of(error)(f"{self._culprit()}: {type(error).__name__}: {error}") from error

    def _culprit(self) -> str:
        """Which blocks are those of groups with an error."""
        ranges = []
        for g, group in enumerate(self.groups):
            if group.status == "error":
                here = self.of_group(g, self.places)
                ranges.append(here[0] if len(here) == 1 else f"{here[0]} to {here[-1]}")
        return "; ".join(ranges) or "a task of the cluster"


def type_of(error: BaseException) -> type[Exception]:
    """Choose what to raise for an error of a task: ValueError and TypeError as they are."""
    return next((kind for kind in (ValueError, TypeError) if type(error) is kind), RuntimeError)


def _release(client: Any, futures: list[Any]) -> None:
    pending = [future for future in futures if future.status == "pending"]
    if pending and client.status == "running":
        client.cancel(pending)
    for future in futures:
        future.release()


def _check_alive(client: Any) -> None:
    if client.status != "running":
        raise ClusterError(
            f"The connection to the scheduler at {_address(client)} is lost (the client is "
            f"{client.status}): the scheduler has ended, or cannot be reached."
        )


def _progress(client: Any, futures: list[Any]) -> str:
    """Say what changes while something is done; the scheduler has two seconds to tell."""
    from distributed import TimeoutError

    try:
        tasks = client.sync(client.scheduler.processing, workers=None, callback_timeout=LOOK)
    except (TimeoutError, OSError):
        return "the scheduler does not answer"
    done = sum(future.done() for future in futures)
    running = sorted(str(key) for keys in tasks.values() for key in keys)
    names = f", the first {running[0]}" if running else ""
    return f"{len(tasks)} workers, {done} of {len(futures)} results, {len(running)} tasks{names}"


def size_of(value: Any) -> int:
    """Bytes of a value as it is sent, about."""
    return len(pickle.dumps(value, protocol=5))
