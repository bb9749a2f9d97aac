"""rank="auto": the tolerance of the original problem, by landmarks or by the exact solver."""

import logging

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelClassifier, KernelRegressor, Status, gram
from resolvent.approximation import growth
from resolvent.kernels import RBF

rng = np.random.default_rng(2)
X = rng.standard_normal((500, 3))
Y = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(500)
LABELS = np.digitize(Y, [-0.3, 0.3])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes at which 500 samples are many."""
    monkeypatch.setattr(growth, "SMALL", 100)
    monkeypatch.setattr(growth, "FIRST_RANK", 16)


@pytest.fixture
def never_exact(monkeypatch):
    monkeypatch.setattr(growth, "PASSES", 1e9)


@pytest.mark.usefixtures("never_exact")
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("machine", [KernelRegressor("huber"), KernelClassifier("logistic")])
def test_the_tolerance_is_of_the_original_problem(machine, tol):
    y = Y if machine.loss == "huber" else LABELS
    best = np.asarray(machine.set_params(rank=None, tol=1e-7).fit(X, y).objective_)
    machine.set_params(rank="auto", tol=tol).fit(X, y)
    assert machine.status_ == Status.CONVERGED
    assert machine.rank_ < 500
    assert np.all(machine.objective_ - best <= tol * np.asarray(machine.objective_))
    assert np.all(machine.dual_gap_ <= tol * np.asarray(machine.objective_))


def test_the_exact_solver_takes_over(monkeypatch, caplog):
    monkeypatch.setattr(growth, "PASSES", 0.0)
    exact = KernelClassifier().fit(X, LABELS)
    with caplog.at_level(logging.INFO, "resolvent"):
        auto = KernelClassifier(rank="auto", verbose=1).fit(X, LABELS)
    assert auto.rank_ is None
    assert auto.status_ == Status.CONVERGED
    np.testing.assert_allclose(auto.objective_, exact.objective_, rtol=1e-5)
    said = [record.getMessage() for record in caplog.records]
    assert any("rank 16: relative gap" in text for text in said)
    assert any("the exact solver takes over: estimated are" in text for text in said)


@pytest.mark.usefixtures("never_exact")
def test_plan_is_said(caplog):
    with caplog.at_level(logging.INFO, "resolvent"):
        machine = KernelRegressor("huber", rank="auto", tol=1e-2, verbose=1).fit(X, Y)
    plans = [r.getMessage() for r in caplog.records if "is next: estimated are" in r.getMessage()]
    ranks = 16 * 2 ** np.arange(1, len(plans) + 1)
    assert machine.rank_ == ranks[-1]
    for rank, text in zip(ranks, plans, strict=True):
        assert f"rank {rank} is next" in text
        assert text.endswith("s for all samples")


def test_few_samples_are_solved_exactly(monkeypatch):
    monkeypatch.setattr(growth, "SMALL", 1000)
    assert KernelRegressor(rank="auto").fit(X, Y).rank_ is None


@pytest.mark.usefixtures("never_exact")
def test_time_limit_leaves_a_true_gap():
    machine = KernelRegressor("huber", rank="auto", tol=1e-9, time_limit=1e-3)
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, Y)
    assert machine.status_ == Status.TIME_LIMIT
    best = KernelRegressor("huber").fit(X, Y).objective_
    assert machine.dual_gap_ >= machine.objective_ - best


def test_features_are_extended():
    """As those of all landmarks at once, up to a rotation that leaves K^ as it is."""
    first = np.arange(0, 60, 3)
    start = gram(X, RBF(0.3), landmarks=first)
    more = start.extended(np.arange(100, 140))
    both = gram(X, RBF(0.3), landmarks=np.concatenate([first, np.arange(100, 140)]))
    assert more.rank == both.rank == 60
    np.testing.assert_allclose(more.X @ more.X.T, both.X @ both.X.T, atol=1e-8)
    np.testing.assert_array_equal(more.X[:, :20], start.X)
    w = rng.standard_normal((60, 1))
    np.testing.assert_allclose(more.model_scores(more.expansion(w)), more.X @ w, atol=1e-6)
    assert start.extended(first) is start  # nothing new
    assert start.extended(np.arange(0)) is start


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": [1, 2]}, "chooses landmarks itself"),
        ({"certificate": "subspace"}, "which certificate='subspace' leaves out"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelClassifier(rank="auto", **parameters).fit(X, LABELS)
