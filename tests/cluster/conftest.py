import pytest
from clusters import start


@pytest.fixture(scope="session")
def cluster():
    with start(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """Dask's current client, on the cluster that tests share; nothing is left there afterwards."""
    from distributed import Client

    with Client(cluster) as client:
        yield client
    held = [key for key, task in cluster.scheduler.tasks.items() if task.who_wants]
    assert held == []
