"""Clusters for tests."""

import sys

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")


def start(n_workers, **settings):
    """Start a cluster whose workers are threads, without a dashboard and its port."""
    distributed = pytest.importorskip("distributed")
    settings = {"processes": False, "threads_per_worker": 1, **settings}
    return distributed.LocalCluster(n_workers=n_workers, dashboard_address=":0", **settings)
