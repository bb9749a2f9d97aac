"""Workers that die, tasks that raise, clusters that end: the same bits, or a clear end."""

import os
import signal
import sys
import time

import numpy as np
import pytest
from clusters import posix, start

from resolvent import Status
from resolvent.blocks import Block, Source, solve_blocks
from resolvent.blocks.sources import ArraySource
from resolvent.dask import ClusterError, DaskLinearClassifier
from resolvent.dask._data import groups_of, parts_of
from resolvent.dask._engine import Course, shield

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(330, 3))
Y = np.sign(X[:, 0] + 0.5 * RNG.normal(size=330))
HERE = ArraySource(X, Y, rows=30)  # 11 blocks


class Made(Source):
    """The same rows, made by whoever asks for them."""

    n_blocks = HERE.n_blocks

    def load(self, i):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(330, 3))
        y = np.sign(x[:, 0] + 0.5 * rng.normal(size=330))
        return Block(x[30 * i : 30 * i + 30], y[30 * i : 30 * i + 30])

    def place(self, i):
        return f"made, block {i}"


def solve_on(client, source=None, **settings):
    """Solve on a cluster; the course of the fit too."""
    course = Course(client, settings.pop("timeout", 60.0))
    reducer = groups_of(course, parts_of(source or Made()))
    try:
        return solve_blocks("hinge", reducer, classes=(-1.0, 1.0), **settings)
    finally:
        reducer.release()


def same_bits(a, b):
    assert a.weights.tobytes() == b.weights.tobytes()
    assert (a.intercept, a.primal, a.dual, a.n_iter) == (b.intercept, b.primal, b.dual, b.n_iter)


@pytest.fixture(scope="module")
def alone():
    """What one machine finds."""
    return solve_blocks("hinge", Made(), classes=(-1.0, 1.0))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_same_bits_for_any_number_of_workers(alone, workers):
    with start(workers) as cluster, distributed.Client(cluster) as client:
        same_bits(solve_on(client), alone)


def watch_connections():
    """Note whom this process connects to."""
    sys.connected = set()

    def note(event, args):
        if event == "socket.connect":
            sys.connected.add(args[1][:2])

    sys.addaudithook(note)


def connections():
    """Whom this process has connected to since `watch_connections`."""
    return getattr(sys, "connected", set())


def addresses(cluster):
    """Host and port of the scheduler, the workers, and the nannies of these."""
    nannies = list(cluster.workers.values())
    known = [cluster.scheduler_address]
    known += [a for nanny in nannies for a in (nanny.address, nanny.worker_address)]
    return {distributed.comm.get_address_host_port(address) for address in known}


@posix
def test_a_worker_that_is_killed_and_one_that_joins(alone):
    """In the middle of the passes; its blocks are read again by others, over no other network."""
    with start(2, processes=True) as cluster, distributed.Client(cluster) as client:
        pids = {name: nanny.pid for name, nanny in cluster.workers.items()}
        shield(client)
        os.kill(pids[1], signal.SIGINT)  # which a terminal sends to all, and is for the client
        client.run(watch_connections)
        known = addresses(cluster)

        def kill(record):
            if record.iteration == 3:
                os.kill(pids[0], signal.SIGKILL)
                cluster.scale(3)

        same_bits(solve_on(client, callback=kill), alone)
        assert cluster.workers[1].pid == pids[1]
        known |= addresses(cluster)
        assert set().union(*client.run(connections).values()) <= known


def test_a_task_that_raises_says_where(client):
    def broken():
        raise OSError("the disk is gone")

    parts = [dask.delayed(X[:100]), dask.delayed(broken)(), dask.delayed(X[200:])]
    targets = [dask.delayed(Y[:100]), dask.delayed(Y[100:200]), dask.delayed(Y[200:])]
    with pytest.raises(RuntimeError, match="block 1 of X: OSError: the disk is gone"):
        DaskLinearClassifier().fit(parts, targets)


class Interrupted(DaskLinearClassifier):
    """Presses Ctrl-C after some passes."""

    def _log(self, record, outlook=None):
        if record.iteration == 4:
            os.kill(os.getpid(), signal.SIGINT)


def split(a):
    return da.from_array(a, chunks=(60, *a.shape[1:]))


@posix
def test_ctrl_c_keeps_the_best_model(client):
    model = Interrupted(verbose=1)
    with pytest.warns(match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(split(X), split(Y))
    assert model.status_ == Status.INTERRUPTED
    assert 0.0 < model.dual_gap_ < np.inf
    assert (model.predict(X) == Y).mean() > 0.7


def test_ctrl_c_while_a_task_runs(cluster):
    """The wait ends at once, though the task does not."""
    with distributed.Client(cluster) as client:

        def slow():
            time.sleep(1.0)
            return X

        model = DaskLinearClassifier()
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        begun = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            model.fit([dask.delayed(slow)()], [dask.delayed(Y)])
        assert time.perf_counter() - begun < 0.95
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert client.status == "running"
    while cluster.scheduler.tasks:  # it ends by itself, and nothing is left
        time.sleep(0.02)


def test_time_limit(client):
    with pytest.warns(match="time_limit"):
        model = DaskLinearClassifier(time_limit=0.0).fit(split(X), split(Y))
    assert model.status_ == Status.TIME_LIMIT


def test_no_worker():
    with start(0) as cluster, distributed.Client(cluster) as client:
        model = DaskLinearClassifier(timeout=0.3, client=client)
        with pytest.raises(ClusterError, match=r"no worker for 0\.3 seconds"):
            model.fit(split(X), split(Y))


def test_a_cluster_that_does_nothing(monkeypatch, cluster):
    monkeypatch.setattr("resolvent.dask._engine.LOOK", 0.1)
    with distributed.Client(cluster) as client:
        sleeps = [dask.delayed(time.sleep)(1.5)] * 2
        with pytest.raises(ClusterError, match="No task has ended"):
            DaskLinearClassifier(timeout=0.3, client=client).fit(sleeps, sleeps)


def test_the_scheduler_is_gone(monkeypatch):
    monkeypatch.setattr("resolvent.dask._engine.LOOK", 0.1)
    with start(1) as cluster, distributed.Client(cluster) as client:

        def close(record):
            if record.iteration == 2:
                cluster.close()

        points = {}
        with pytest.raises(ClusterError, match="scheduler"):
            solve_on(client, callback=close, points=points)
    assert points[0].w.shape == (3,)


class Checkpointed(DaskLinearClassifier):
    """Loses its cluster after some passes."""

    def _log(self, record, outlook=None):
        if record.iteration == self.closed_at:
            self.cluster.close()


def test_warm_start_goes_on_where_the_cluster_was_lost(monkeypatch):
    monkeypatch.setattr("resolvent.dask._engine.LOOK", 0.1)
    model = Checkpointed(warm_start=True, verbose=1)
    passes = []
    for closed_at in (10, 0):
        with start(1) as cluster, distributed.Client(cluster) as client:
            model.client, model.cluster, model.closed_at = client, cluster, closed_at
            if closed_at:
                with pytest.raises(ClusterError):
                    model.fit(split(X), split(Y))
                model.client = None
            else:
                passes.append(model.fit(split(X), split(Y)).n_iter_)
                assert model.status_ == Status.CONVERGED
                passes.append(DaskLinearClassifier().fit(split(X), split(Y)).n_iter_)
    assert passes[0] < passes[1]
