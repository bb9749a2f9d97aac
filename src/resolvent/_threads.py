"""Several threads for work that is cut into tiles, each thread with a BLAS of one thread.

Many small matrix products are faster so than by a BLAS that runs each of them in several threads,
far faster if other processes want the processor too, and elementwise functions take part.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "others_wait", "run"]


class _Blas:
    """The BLAS libraries of this process, whose number of threads is the process's too."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.threads = 1  # what BLAS would use by itself: the number that the user has allowed
        self.before: list[tuple[Any, int]] = []  # each BLAS, and its threads outside

    def hold(self) -> None:
        with self.lock:
            if self.users == 0:
                # threadpoolctl's own limiter asks for more than this, which takes as long as a fit
                # of some tens of rows.
                libraries = _controller().lib_controllers
                self.before = [(library, library.num_threads) for library in libraries]
                counts = [count for _, count in self.before]
                self.threads = max(counts) if counts else os.cpu_count() or 1
                for library in libraries:
                    library.set_num_threads(1)
            self.users += 1

    def release(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def restore(self) -> None:
        """Give each BLAS the threads that it had."""
        for library, count in self.before:
            library.set_num_threads(count)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 (SciPy has a BLAS of its own: found only once it is loaded)

    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="resolvent")


_blas = _Blas()


def _after_fork() -> None:
    """Start afresh in a child process, which has none of the parent's threads."""
    global _blas
    if _blas.users:
        _blas.restore()
    _blas = _Blas()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Hold BLAS at one thread; gives the number of threads that it would have used.

    Regions may be nested and may overlap in several threads: the last to leave restores BLAS.
    Entering the outermost takes about 0.1 ms, so put it around loops.
    """
    blas = _blas
    blas.hold()
    try:
        yield blas.threads
    finally:
        blas.release()


_here = local()


def is_busy() -> bool:
    """Whether this thread works beside others on the parts of one call of `run`."""
    return getattr(_here, "busy", False)


@contextmanager
def others_wait() -> Iterator[None]:
    """Let this thread split up its work though it works beside others: they wait for the result."""
    outer, _here.busy = is_busy(), False
    try:
        yield
    finally:
        _here.busy = outer


def run(
    function: Callable[..., None],
    items: Iterable[tuple[Any, ...]],
    parallel: bool,
    most: int | None = None,
) -> None:
    """Call ``function(*item)`` for all items, in no particular order.

    The calling thread takes its share, so that Ctrl-C comes through after at most one item. An
    exception stops the rest. Within a call that runs beside others nothing more is split up.

    Parameters
    ----------
    function : callable
        What to do.
    items : iterable of tuple
        Its arguments.
    parallel : bool
        Whether calls may run at the same time.
    most : int, optional
        How many of them, at most; if not given, as many as BLAS has threads.
    """
    queue = deque(items)

    def work() -> None:
        outer, _here.busy = is_busy(), helpers > 0 or is_busy()
        try:
            while True:
                try:
                    item = queue.popleft()
                except IndexError:
                    return
                function(*item)
        finally:
            _here.busy = outer
            queue.clear()  # it is empty unless this is an exception

    with one_blas_thread() as threads:
        workers = threads if most is None else most
        helpers = min(workers, len(queue)) - 1 if parallel and not is_busy() else 0
        if helpers < 1:
            return work()
        futures = [_pool(workers).submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            started = [future for future in futures if not future.cancel()]
            wait(started)
        for future in started:
            future.result()
