"""Workers that are slow, idle, new or short of memory: the same bits, and nothing left behind."""

import time

import numpy as np
import psutil
import pytest
from clusters import start

from resolvent.blocks import Block, Source, solve_blocks
from resolvent.dask import DaskKernelClassifier, DaskLinearClassifier
from resolvent.dask._data import groups_of, parts_of
from resolvent.dask._engine import Course

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


class Made(Source):
    """Rows made by whoever asks for them, who may be slow."""

    def __init__(self, n_blocks=8, rows=30, slow=None):
        self.n_blocks, self.rows, self.slow = n_blocks, rows, slow

    def load(self, i):
        if self.slow is not None and distributed.get_worker().name == self.slow:
            time.sleep(0.2)
        rng = np.random.default_rng(i)
        X = rng.normal(size=(self.rows, 4))
        return Block(X, np.sign(X[:, 0] + 0.5 * rng.normal(size=self.rows)))

    def place(self, i):
        return f"made, block {i}"


def fitted(client, source, **settings):
    """What a fit on a cluster finds, in bits."""
    reducer = groups_of(Course(client, 60.0), parts_of(source))
    try:
        return bits(solve_blocks("hinge", reducer, classes=(-1.0, 1.0), tol=1e-2, **settings))
    finally:
        reducer.release()


def bits(solution):
    return solution.weights.tobytes(), solution.intercept, solution.gap


def alone(source):
    return bits(solve_blocks("hinge", source, classes=(-1.0, 1.0), tol=1e-2))


def test_a_slow_worker():
    with start(2) as cluster, distributed.Client(cluster) as client:
        assert fitted(client, Made(slow=1)) == alone(Made())


def test_workers_without_data():
    with start(3) as cluster, distributed.Client(cluster) as client:
        assert fitted(client, Made(n_blocks=1)) == alone(Made(n_blocks=1))


def test_a_worker_that_joins():
    with start(1) as cluster, distributed.Client(cluster) as client:

        def join(record):
            if record.iteration == 2:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=30)

        assert fitted(client, Made(), callback=join) == alone(Made())


def test_blocks_that_do_not_fit_are_spilled():
    """The worker keeps a tenth of the rows in memory, the others on disk."""
    source, spilled = Made(rows=4000), []
    settings = {"target": 0.1, "spill": False, "pause": False, "terminate": False}
    limits = {f"distributed.worker.memory.{name}": value for name, value in settings.items()}
    with (
        dask.config.set(limits),
        start(1, memory_limit=source.n_blocks * source.rows * 4 * 8) as cluster,
        distributed.Client(cluster) as client,
    ):
        data = next(iter(cluster.workers.values())).data

        def look(record):
            spilled.append(len(data.slow))

        assert fitted(client, source, callback=look) == alone(source)
        assert max(spilled) > 0


def held():
    """Files, ports and threads of this process."""
    process = psutil.Process()
    ports = {c.laddr for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
    return {f.path for f in process.open_files()}, ports, process.num_fds()


@pytest.mark.parametrize(
    "model", [DaskLinearClassifier(tol=1e-2), DaskKernelClassifier(rank=None, tol=0.1)]
)
def test_nothing_is_left(cluster, model):
    rng = np.random.default_rng(0)
    X = da.from_array(rng.normal(size=(60, 2)), chunks=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    with distributed.Client(cluster) as client:
        model.set_params(client=client).fit(X, y)  # now all is imported, and threads run
        before = held()
        model.fit(X, y)
        for _ in range(200):  # what was released is forgotten soon
            if not cluster.scheduler.tasks:
                break
            time.sleep(0.02)
        assert not cluster.scheduler.tasks
        assert held() == before
        model.set_params(client=None)
