"""Exact kernel machines on a cluster: the optimum of one machine, certified."""

import os
import signal

import numpy as np
import pytest
from clusters import posix, start

import resolvent
from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    Status,
    gram,
    solve,
)
from resolvent._clock import Clock
from resolvent.dask import (
    ClusterError,
    DaskKernelClassifier,
    DaskKernelQuantileRegressor,
    DaskKernelRegressor,
)
from resolvent.dask._data import groups_of, parts_of
from resolvent.dask._engine import Course
from resolvent.dask._exact import ClusterGram, RowsOnCluster
from resolvent.kernels import RBF

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(120, 2))
F = np.sin(2 * X[:, 0]) * X[:, 1]
LABELS = np.where(F + 0.3 * RNG.normal(size=120) > 0, "up", "down")
THREE = np.digitize(F, [-0.5, 0.5])
Y = F + 0.2 * RNG.normal(size=120)
WEIGHT = RNG.integers(0, 3, 120).astype(float)
EXACT = {"rank": None, "gamma": 0.5, "tol": 1e-3}


def split(a, rows=40):
    return da.from_array(a, chunks=(rows, *a.shape[1:]))


def agree(ours, theirs):
    """Both have certified the same optimum."""
    assert ours.status_ <= Status.PRECISION_LIMIT
    assert np.all(ours.dual_gap_ <= ours.tol * np.abs(ours.objective_))
    assert np.all(ours.objective_ - ours.dual_gap_ <= theirs.objective_)
    assert np.all(theirs.objective_ - theirs.dual_gap_ <= ours.objective_)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [("hinge", LABELS), ("squared_hinge", THREE), ("multinomial", THREE)],
)
def test_classifier_agrees_with_one_machine(client, loss, labels):
    ours = DaskKernelClassifier(loss, **EXACT, class_weight="balanced")
    ours.fit(split(X), split(labels), split(WEIGHT))
    theirs = KernelClassifier(loss, gamma=0.5, class_weight="balanced").fit(X, labels, WEIGHT)
    agree(ours, theirs)
    assert (ours.predict(split(X)).compute() == theirs.predict(X)).mean() > 0.95
    assert (ours.rank_, ours.certificate_) == (None, "exact")
    assert (WEIGHT[ours.support_] > 0).all()


@pytest.mark.parametrize("loss", ["huber", "root_squared"])
def test_regressor_agrees_with_one_machine(client, loss):
    targets = np.column_stack([Y, 20.0 * X[:, 0]]) if loss == "huber" else Y
    weight = np.sign(WEIGHT)
    ours = DaskKernelRegressor(loss, **EXACT).fit(split(X), split(targets), split(weight))
    theirs = KernelRegressor(loss, gamma=0.5).fit(X, targets, weight)
    agree(ours, theirs)
    assert ours.target_unit_ == pytest.approx(theirs.target_unit_, rel=1e-12)
    predicted = ours.predict(split(X)).compute()
    np.testing.assert_allclose(predicted, theirs.predict(X), atol=0.1 * targets.std())


def test_quantiles_agree_with_one_machine(client):
    ours = DaskKernelQuantileRegressor((0.2, 0.8), rank=None, tol=1e-3)
    ours.fit(split(X), split(Y))
    agree(ours, KernelQuantileRegressor((0.2, 0.8)).fit(X, Y))


def test_the_local_estimator_saves_and_loads(client, tmp_path):
    ours = DaskKernelClassifier(**EXACT | {"tol": 0.1}).fit(split(X), split(THREE))
    resolvent.save(ours.to_local(), tmp_path / "model.resolvent")
    again = resolvent.load(tmp_path / "model.resolvent")
    np.testing.assert_array_equal(again.predict(X), ours.predict(split(X)).compute())
    np.testing.assert_array_equal(again._expansion.rows, X[ours.support_])


def rows_on(client, held, x):
    """The rows of an array on a cluster."""
    held.append(groups_of(Course(client, 60.0), parts_of(split(x))))
    rows = RowsOnCluster(held[0], x.shape[1])
    held.append(rows.reducer)
    return rows


@pytest.mark.parametrize("share", [1.0, 2e-7, 0.0])
def test_the_matrix(client, monkeypatch, share):
    """Whether all tiles are kept, some or none: products and blocks are those of K."""
    monkeypatch.setattr("resolvent.dask._exact.SHARE", share)
    K, held = gram(X, kernel=RBF(0.5)), []
    try:
        remote = ClusterGram(rows_on(client, held, X), RBF(0.5), Clock(None), held)
        assert (remote.everything is None) == (share == 1.0)
        some = np.array([110, 3, 3, 77])
        coef = RNG.normal(size=(2, 120)) * (np.arange(120) % 3 == 0)
        np.testing.assert_allclose(remote.product(coef), K.product(coef), atol=1e-13)
        np.testing.assert_allclose(remote.block(some, some), K.block(some, some), atol=1e-14)
        np.testing.assert_array_equal(remote.diagonal, K.diagonal)
        found = solve("squared", remote, Y, solver="fixed_point", tol=1e-3)
        assert found.primal == pytest.approx(solve("squared", K, Y).primal, rel=1e-3)
    finally:
        for reducer in held:
            reducer.release()


@posix
def test_the_same_bits_for_any_number_of_workers_and_after_a_lost_one():
    found = []
    for workers, kills in ((1, []), (3, []), (2, [True])):
        with start(workers, processes=bool(kills)) as cluster, distributed.Client(cluster):

            def kill(record, outlook=None, cluster=cluster, kills=kills):
                if kills and record.iteration > 4 and kills.pop():
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

            model = DaskKernelClassifier(**EXACT | {"tol": 0.03}, verbose=1)
            model._log = kill
            model.fit(split(X), split(LABELS))
            found.append((model.dual_coef_.tobytes(), model.dual_gap_, model.n_iter_))
    assert found[0] == found[1] == found[2]


class Interrupted(DaskKernelClassifier):
    """Presses Ctrl-C after some iterations."""

    def _log(self, record, outlook=None):
        if record.iteration >= 5:
            os.kill(os.getpid(), signal.SIGINT)


@posix
def test_ctrl_c_keeps_the_best_model(client):
    model = Interrupted(**EXACT, verbose=1)
    with pytest.warns(match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(split(X), split(LABELS))
    assert model.status_ == Status.INTERRUPTED
    best = KernelClassifier(gamma=0.5).fit(X, LABELS)
    assert model.objective_ - model.dual_gap_ <= best.objective_ < model.objective_
    assert set(model.predict(X)) <= {"up", "down"}


@pytest.mark.parametrize("limit", [0.0, 0.3])
def test_time_limit(client, limit):
    model = DaskKernelRegressor("absolute", **EXACT | {"tol": 0.0}, time_limit=limit)
    with pytest.warns(match="time_limit"):
        model.fit(split(X), split(Y))
    best = KernelRegressor("absolute", gamma=0.5).fit(X, Y)
    assert model.status_ == Status.TIME_LIMIT
    assert model.objective_ - model.dual_gap_ <= best.objective_


class Checkpointed(DaskKernelClassifier):
    """Loses its cluster after some iterations."""

    def _log(self, record, outlook=None):
        if record.iteration >= self.closed_at:
            self.cluster.close()


def test_warm_start_goes_on_where_the_cluster_was_lost(monkeypatch):
    monkeypatch.setattr("resolvent.dask._engine.LOOK", 0.1)
    model = Checkpointed("logistic", **EXACT | {"tol": 1e-6}, warm_start=True, verbose=1)
    iterations = []
    for closed_at in (12, np.inf):
        with start(1) as cluster, distributed.Client(cluster) as client:
            model.client, model.cluster, model.closed_at = client, cluster, closed_at
            if closed_at < np.inf:
                with pytest.warns(match="interrupted"), pytest.raises(ClusterError):
                    model.fit(split(X), split(LABELS))
                model.client = None
            else:
                iterations.append(model.fit(split(X), split(LABELS)).n_iter_)
                assert model.status_ == Status.CONVERGED
                fresh = DaskKernelClassifier("logistic", **EXACT | {"tol": 1e-6}).fit(
                    split(X), split(LABELS)
                )
                iterations.append(fresh.n_iter_)
    assert iterations[0] < iterations[1]


def test_the_linear_kernel(client):
    ours = DaskKernelRegressor("squared", "linear", rank=None, tol=1e-3)
    ours.fit(split(X), split(Y))
    agree(ours, KernelRegressor("squared", "linear").fit(X, Y))
    np.testing.assert_allclose(ours.predict(X), ours.predict(split(X)).compute())
