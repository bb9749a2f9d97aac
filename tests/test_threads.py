"""Work in threads: all of it is done, exceptions arrive, BLAS is left as it was."""

import multiprocessing
import os
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (SciPy has a BLAS of its own: there before threads are counted)
from threadpoolctl import threadpool_info, threadpool_limits

from resolvent._threads import one_blas_thread, run


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_item_once(parallel, threads):
    done = np.zeros(1000, int)

    def work(i, step):
        done[i] += step

    with threadpool_limits(threads):
        before = blas_threads()
        run(work, ((i, 2) for i in range(1000)), parallel)
        run(work, [], parallel)
        assert blas_threads() == before
    assert (done == 2).all()


def test_not_parallel_means_the_calling_thread():
    seen = set()
    with threadpool_limits(4):
        run(lambda _: seen.add(threading.get_ident()), [(i,) for i in range(100)], False)
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("error", [IndexError, KeyboardInterrupt])
@pytest.mark.parametrize("bad", [0, 50])
def test_exceptions_arrive_and_stop_the_rest(error, bad):
    done, started = [], threading.Event()

    def work(i):
        if i == bad:
            raise error("here")
        done.append(i)
        started.wait(0.001)

    with threadpool_limits(3):
        before = blas_threads()
        with pytest.raises(error, match="here"):
            run(work, [(i,) for i in range(10_000)], True)
        assert blas_threads() == before
    assert len(done) < 9_000
    assert set(range(bad)) <= set(done)


def test_regions_nest_and_overlap():
    before = blas_threads()
    with one_blas_thread() as outer:
        assert set(blas_threads()) == {1}
        with one_blas_thread() as inner:
            assert inner == outer == max(before)
        assert set(blas_threads()) == {1}
        thread = threading.Thread(target=run, args=(lambda _: None, [(1,), (2,)], True))
        thread.start()
        thread.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_run_within_run():
    total = []

    def outer(i):
        run(lambda j: total.append((i, j)), [(j,) for j in range(5)], True)

    with threadpool_limits(2):
        run(outer, [(i,) for i in range(5)], True)
    assert sorted(total) == [(i, j) for i in range(5) for j in range(5)]


def in_child(queue):
    total = []
    run(total.append, [(i,) for i in range(50)], True)
    queue.put((sorted(total), max(blas_threads())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_fork():
    context = multiprocessing.get_context("fork")
    before = max(blas_threads())
    with threadpool_limits(before), one_blas_thread():
        run(lambda _: None, [(1,), (2,), (3,)], True)  # the pool of the parent exists
        queue = context.Queue()
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        total, threads = queue.get(timeout=200)
        child.join()
    assert total == list(range(50))
    assert threads == before
