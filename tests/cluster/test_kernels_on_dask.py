"""Low-rank fits on a cluster: models, and certificates of the original problem."""

import numpy as np
import pytest

import resolvent
from resolvent import KernelClassifier, KernelQuantileRegressor, KernelRegressor, Status
from resolvent.dask import (
    DaskKernelClassifier,
    DaskKernelQuantileRegressor,
    DaskKernelRegressor,
)

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(300, 2))
F = np.sin(2 * X[:, 0]) * X[:, 1]
LABELS = np.where(F + 0.3 * RNG.normal(size=300) > 0, "up", "down")
THREE = np.digitize(F, [-0.5, 0.5])
Y = F + 0.2 * RNG.normal(size=300)
WEIGHT = RNG.integers(0, 3, 300).astype(float)


def split(a, rows=70):
    return da.from_array(a, chunks=(rows, *a.shape[1:]))


def brackets(ours, exact):
    """Objective and bound of a low-rank fit enclose the exact machine's minimum."""
    best, bound = np.atleast_1d(ours.objective_), np.atleast_1d(ours.objective_ - ours.dual_gap_)
    minimum, slack = np.atleast_1d(exact.objective_), np.atleast_1d(exact.dual_gap_)
    assert (best >= minimum - slack).all()
    assert (bound <= minimum).all()
    assert ours.certificate_ == "exact"


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_classifier(client, loss):
    ours = DaskKernelClassifier(loss, gamma=0.5, rank=40).fit(split(X), split(LABELS))
    exact = KernelClassifier(loss, gamma=0.5).fit(X, LABELS)
    brackets(ours, exact)
    assert ours.dual_gap_ < 1e-2 * ours.objective_
    assert (ours.predict(split(X)).compute() == exact.predict(X)).mean() > 0.97
    local = ours.to_local()
    np.testing.assert_array_equal(local.decision_function(X), ours.decision_function(X))
    assert ours.rank_ == len(ours.landmarks_)
    np.testing.assert_array_equal(local._expansion.rows, X[ours.landmarks_])


def test_classes_weights_and_gamma(client):
    settings = {"class_weight": "balanced", "C": 3.0}
    ours = DaskKernelClassifier(rank=60, **settings)
    ours.fit(split(X), split(THREE), split(WEIGHT))
    exact = KernelClassifier(**settings).fit(X, THREE, WEIGHT)
    assert ours.kernel_.gamma == pytest.approx(exact.kernel_.gamma, rel=1e-12)
    brackets(ours, exact)
    np.testing.assert_array_equal(ours.to_local()._expansion.rows, X[ours.landmarks_])
    assert (WEIGHT[ours.landmarks_] > 0).all()


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_regressor(client, loss):
    targets = np.column_stack([Y, 20.0 * X[:, 0]])
    ours = DaskKernelRegressor(loss, gamma=0.5, rank=40).fit(split(X), split(targets))
    exact = KernelRegressor(loss, gamma=0.5).fit(X, targets)
    brackets(ours, exact)
    assert np.corrcoef(ours.predict(split(X)).compute()[:, 0], exact.predict(X)[:, 0])[0, 1] > 0.99


def test_without_offset(client):
    ours = DaskKernelRegressor("huber", fit_intercept=False, rank=40).fit(split(X), split(Y))
    brackets(ours, KernelRegressor("huber", fit_intercept=False).fit(X, Y))


def test_quantiles(client):
    ours = DaskKernelQuantileRegressor((0.2, 0.8), rank=40).fit(split(X), split(Y))
    exact = KernelQuantileRegressor((0.2, 0.8)).fit(X, Y)
    brackets(ours, exact)
    low, high = ours.predict(split(X)).compute().T
    assert (low <= high).all()


def test_all_rows_as_landmarks_leave_no_gap(client):
    ours = DaskKernelRegressor("absolute", gamma=0.5, landmarks=X).fit(split(X), split(Y))
    assert ours.dual_gap_ <= 1e-4 * ours.objective_
    assert (ours.landmarks_ == -1).all()


def test_the_certificate_is_that_of_one_machine(client):
    """With the same landmarks, solved to the same tolerance, bounds agree to that."""
    ours = DaskKernelClassifier(rank=20, gamma=0.5, tol=1e-8).fit(split(X), split(LABELS))
    theirs = KernelClassifier(landmarks=X[ours.landmarks_], gamma=0.5, tol=1e-8).fit(X, LABELS)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-7)
    assert ours.dual_gap_ == pytest.approx(theirs.dual_gap_, rel=0.05)
    assert ours.status_ == Status.RANK_LIMIT


def test_sampled(client):
    exact, sampled = (
        DaskKernelClassifier(rank=20, certificate=how).fit(split(X), split(LABELS))
        for how in ("exact", "sampled")
    )
    assert sampled.certificate_ == "sampled"
    assert exact.dual_gap_ < sampled.dual_gap_ < 3.0 * exact.dual_gap_


def test_subspace(client):
    ours = DaskKernelClassifier(rank=20, certificate="subspace").fit(split(X), split(LABELS))
    assert ours.status_ == Status.SUBSPACE
    assert np.isnan(ours.approximation_gap_)


def test_saves_and_loads(client, tmp_path):
    for model, y in ((DaskKernelClassifier(rank=9), LABELS), (DaskKernelRegressor(rank=9), Y)):
        model.fit(split(X), split(y))
        resolvent.save(model.to_local(), tmp_path / "model.resolvent")
        again = resolvent.load(tmp_path / "model.resolvent")
        np.testing.assert_array_equal(again.predict(X), model.predict(split(X)).compute())
        assert again.dual_gap_ == model.dual_gap_


def test_the_same_bits_for_any_number_of_workers():
    from clusters import start
    from distributed import Client

    found = []
    for workers in (1, 3):
        with start(workers) as cluster, Client(cluster):
            model = DaskKernelClassifier(rank=15).fit(split(X, 20), split(LABELS, 20))
            found.append((model.dual_coef_.tobytes(), model.dual_gap_, model.objective_))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": "auto"}, "rank=1000"),
        ({"rank": 0}, "rank=0"),
        ({"certificate": "all"}, "certificate='all' is unknown"),
        ({"kernel": "precomputed"}, "name a kernel"),
        ({"landmarks": [0, 1]}, "give them as rows"),
    ],
)
def test_kind_errors(client, settings, message):
    with pytest.raises(ValueError, match=message):
        DaskKernelClassifier(**settings).fit(split(X), split(LABELS))
