"""Estimators with `rank`: their gap is to the optimum of the exact machine."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import resolvent
from resolvent import KernelClassifier, KernelQuantileRegressor, KernelRegressor, Status
from resolvent._threads import run
from resolvent.approximation import forms
from resolvent.kernels import pairwise

X, CODES = make_moons(220, noise=0.25, random_state=0)
THREE = CODES + (X[:, 0] > 1.3) * (CODES == 1)
TARGETS = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]])
WEIGHT = np.random.default_rng(0).uniform(0.0, 2.0, len(X)) * (np.arange(len(X)) % 9 > 0)

MACHINES = [
    (KernelClassifier(C=3.0), CODES),
    (KernelClassifier(C=3.0), THREE),
    (KernelClassifier(C=3.0, multi_class="ovo"), THREE),
    (KernelClassifier("multinomial", C=3.0), THREE),
    (KernelClassifier("logistic", fit_intercept=False, class_weight="balanced"), CODES),
    (KernelRegressor("squared"), TARGETS),
    (KernelRegressor("absolute", "laplacian", C=10.0), TARGETS[:, 0]),
    (KernelQuantileRegressor((0.2, 0.7)), TARGETS[:, 0]),
]


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=lambda x: str(x)[:60])
def test_gap_to_the_exact_machine(machine, y):
    exact = machine.fit(X, y, sample_weight=WEIGHT)
    scale = np.abs(exact.objective_).max()
    assert exact.rank_ is None
    assert np.all(exact.approximation_gap_ == 0.0)
    best = np.asarray(exact.objective_)
    loose = type(machine)(**machine.get_params())
    for rank in (4, 25, len(X)):
        low = loose.set_params(rank=rank).fit(X, y, sample_weight=WEIGHT)
        excess = np.asarray(low.objective_) - best
        rounding = np.asarray(exact.dual_gap_) + 1e-12 * scale
        assert np.all(low.dual_gap_ >= excess - rounding)
        assert low.certificate_ == "exact"
        assert low.rank_ == len(low.landmarks_) == low.dual_coef_.shape[1] <= rank
        assert low.status_ == (Status.CONVERGED if rank == len(X) else Status.RANK_LIMIT)
        np.testing.assert_allclose(
            np.asarray(low.optimization_gap_) + low.approximation_gap_, low.dual_gap_
        )
        assert low.history_[-1].gap == pytest.approx(low.dual_gap_) or low.dual_gap_.size > 1
        assert not np.any(WEIGHT[low.landmarks_] == 0.0)
    np.testing.assert_allclose(low._scores(X), exact._scores(X), atol=2e-2 * scale)


def test_predictions_are_within_the_bound():
    exact = KernelRegressor("squared", fit_intercept=False, tol=1e-9).fit(X, TARGETS[:, 0])
    for rank in (5, 15, 40):
        low = KernelRegressor("squared", fit_intercept=False, rank=rank).fit(X, TARGETS[:, 0])
        bound = np.sqrt(2.0 * low.dual_gap_)  # k(x, x) = 1
        assert np.abs(low.predict(X) - exact.predict(X)).max() <= bound


def test_forms_of_data():
    dense = KernelClassifier(rank=20).fit(X, CODES)
    csr = KernelClassifier(rank=20).fit(sparse.csr_array(X), CODES)
    np.testing.assert_allclose(csr.decision_function(X), dense.decision_function(X), atol=1e-6)
    K = dense.kernel_(X)
    columns = KernelClassifier(kernel="precomputed", rank=20).fit(K, CODES)
    np.testing.assert_allclose(columns.decision_function(K), dense.decision_function(X), atol=1e-6)
    single = KernelClassifier(rank=20).fit(X.astype(np.float32), CODES)
    assert single.dual_gap_ == pytest.approx(dense.dual_gap_, rel=0.2)
    words = ["aab", "ab", "b", "bb", "abb", "aa", "a", "ba"]
    kernel = pairwise(lambda a, b: float(sum(a.count(x) * b.count(x) for x in "ab")))
    objects = KernelClassifier(kernel=kernel, rank=2).fit(words, [1, 0, 0, 0, 0, 1, 1, 0])
    assert objects.rank_ == 2
    assert objects.status_ == Status.CONVERGED  # the kernel has rank 2
    given = KernelClassifier(landmarks=X[:7] + 0.1).fit(X, CODES)
    assert given.landmarks_.tolist() == [-1] * 7
    assert given.predict(X).shape == CODES.shape


def test_certificates():
    sampled = KernelClassifier(rank=20, certificate="sampled").fit(X, CODES)
    exact = KernelClassifier(rank=20, certificate="exact").fit(X, CODES)
    assert exact.dual_gap_ <= sampled.dual_gap_ <= 2 * exact.dual_gap_
    subspace = KernelClassifier(rank=20, certificate="subspace").fit(X, CODES)
    assert subspace.status_ == Status.SUBSPACE
    assert "original problem was not computed" in subspace.status_.message
    assert np.isnan(subspace.approximation_gap_)
    assert subspace.dual_gap_ == subspace.optimization_gap_ < exact.dual_gap_
    assert subspace.objective_ == pytest.approx(exact.objective_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank=0 must be"),
        ({"rank": 5, "certificate": "best"}, "certificate='best' is unknown"),
        ({"rank": 5, "landmarks": "best"}, "landmarks='best' is unknown"),
        ({"rank": 50, "memory_limit": 1000}, "memory_limit allows"),
        ({"landmarks": []}, "landmarks must be 'rpcholesky' or"),
        ({"rank": 5, "landmarks": None}, "samples as rows; got None"),
        ({"landmarks": np.arange(220) < 9}, "a mask: np.flatnonzero has its indices"),
    ],
)
def test_refusals_leave_the_estimator_as_it_was(parameters, message):
    machine = KernelClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        machine.fit(X, CODES)
    with pytest.raises(NotFittedError):
        check_is_fitted(machine)


@pytest.mark.parametrize("rank", [3, 40, "auto"])
def test_kernel_that_is_none(rank, monkeypatch):
    """Where K is indefinite no bound holds, neither above nor below: nothing is said to be one."""
    monkeypatch.setattr(resolvent.approximation.growth, "SMALL", 100)
    monkeypatch.setattr(resolvent.approximation.growth, "FIRST_RANK", 16)
    for C in (0.1, 100.0):
        machine = KernelClassifier(kernel="sigmoid", gamma=3.0, C=C, rank=rank)
        with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
            machine.fit(X, CODES)
        assert machine.status_ == Status.NOT_PSD
        assert machine.dual_gap_ == np.inf
        assert np.isfinite(machine.objective_)


def test_matrix_whose_form_alone_is_negative():
    """The diagonal of E is positive; c'Ec is not."""
    E = 2.0 * np.eye(4) - 1.0
    K = np.eye(9)
    K[5:, 5:] = E
    machine = KernelRegressor("squared", "precomputed", landmarks=[0], C=9.0, fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        machine.fit(K, np.ones(9))
    assert machine.status_ == Status.NOT_PSD


def test_landmarks_are_indices_of_what_was_given():
    """Samples of weight zero are left out, and indices still mean the same samples."""
    given = np.flatnonzero(WEIGHT)[[3, 50, 100, 150]]
    by_index = KernelClassifier(landmarks=given).fit(X, CODES, sample_weight=WEIGHT)
    by_rows = KernelClassifier(landmarks=X[given]).fit(X, CODES, sample_weight=WEIGHT)
    assert set(by_index.landmarks_) == set(given)
    np.testing.assert_allclose(by_index.decision_function(X), by_rows.decision_function(X))
    with pytest.raises(ValueError, match="sample 9, whose weight is zero"):
        KernelClassifier(landmarks=[9, 10]).fit(X, CODES, sample_weight=WEIGHT)


@pytest.mark.parametrize("landmarks", ["rpcholesky", [3, 4, 50], X[:6] + 0.01])
def test_saved_and_loaded(tmp_path, landmarks):
    rank = 12 if isinstance(landmarks, str) else None
    machine = KernelClassifier(rank=rank, landmarks=landmarks).fit(X, THREE)
    resolvent.save(machine, tmp_path / "low.model")
    found = resolvent.load(tmp_path / "low.model")
    scores = machine.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores, atol=1e-12)
    for name in ("rank_", "certificate_", "status_"):
        assert getattr(found, name) == getattr(machine, name)
    for name in ("landmarks_", "dual_gap_", "optimization_gap_", "approximation_gap_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(machine, name))


def test_warm_start_goes_on():
    machine = KernelClassifier("logistic", rank=30, warm_start=True).fit(X, CODES)
    first = machine.n_iter_
    assert machine.fit(X, CODES).n_iter_ <= first
    assert machine.rank_ == 30


# ---- stopped fits -------------------------------------------------------------------------------


def test_no_time_at_all():
    machine = KernelClassifier(rank=20, time_limit=0.0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        machine.fit(X, CODES)
    assert machine.status_ == Status.TIME_LIMIT
    best = KernelClassifier().fit(X, CODES).objective_
    assert machine.dual_gap_ >= machine.objective_ - best


@pytest.mark.parametrize("certificate", ["exact", "sampled"])
def test_time_that_ends_in_the_certificate(monkeypatch, certificate):
    """Pairs that were not seen are bounded: a gap that is larger, and true."""
    from resolvent.approximation import fitting

    real = fitting.certify_models

    def without_time(K, parts, models, how, rng, is_over, notify):
        return real(K, parts, models, how, rng, lambda: True, notify)

    whole = KernelClassifier(rank=20, certificate=certificate).fit(X, CODES)
    monkeypatch.setattr(fitting, "certify_models", without_time)
    machine = KernelClassifier(rank=20, certificate=certificate)
    with pytest.warns(ConvergenceWarning, match="ended the certificate of the original problem"):
        machine.fit(X, CODES)
    assert machine.certificate_ == "incomplete"
    assert machine.status_ == Status.TIME_LIMIT
    assert machine.dual_gap_ >= whole.dual_gap_
    assert machine.objective_ == pytest.approx(whole.objective_)


@pytest.mark.parametrize("stage", ["exact_forms", "sampled_forms"])
def test_interrupt_in_the_certificate(monkeypatch, stage):
    """Ctrl-C in the middle of the pass: the model is kept, its gap is larger, and true."""
    certificate = stage.split("_")[0]
    whole = KernelClassifier(rank=20, certificate=certificate).fit(X, CODES)
    monkeypatch.setattr(forms, "TILE", 16)
    monkeypatch.setattr(forms, "COLUMNS", 16)
    # In this thread, which is the one that a signal interrupts: others may be done before that.
    monkeypatch.setattr(forms, "run", lambda work, tasks, _: run(work, tasks, False))
    monkeypatch.setattr(forms, stage, interrupting(getattr(forms, stage)))
    monkeypatch.setattr(resolvent.approximation.certificate, stage, getattr(forms, stage))
    machine = KernelClassifier(rank=20, certificate=certificate)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, CODES)
    assert machine.status_ == Status.INTERRUPTED
    assert machine.certificate_ == "incomplete"
    assert machine.dual_gap_ >= whole.dual_gap_
    assert machine.predict(X).shape == CODES.shape


def interrupting(function):
    """Make a pass whose third piece of work gets Ctrl-C."""

    def wrapped(*arguments):
        calls = 0

        def notify(share):
            nonlocal calls
            calls += 1
            if calls == 3:
                signal.raise_signal(signal.SIGINT)

        return function(*arguments[:-1], notify)

    return wrapped


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_interrupts_at_many_moments():
    """A complete model with a true gap, or none."""
    source = str(Path(resolvent.__file__).parent)
    best = KernelClassifier().fit(X, CODES).objective_
    count_calls(source, np.inf)  # the first compiles, and imports what is needed
    total = count_calls(source, np.inf)
    kept = 0
    for at in np.linspace(1, total - 1, 16).astype(int):
        machine = watched()
        with pytest.raises(KeyboardInterrupt):
            count_calls(source, at, machine)
        if hasattr(machine, "dual_gap_"):
            kept += 1
            assert machine.status_ == Status.INTERRUPTED
            assert machine.dual_gap_ >= machine.objective_ - best - 1e-4 * best
            assert machine.predict(X).shape == CODES.shape
        else:
            assert not hasattr(machine, "classes_")
    assert kept > 0


def watched():
    """A fit in many steps, where "auto" would solve so small a problem in one."""
    return KernelClassifier(rank=20, solver="coordinate_descent")


def count_calls(source, at, machine=None):
    calls = 0

    def watch(frame, event, _):
        nonlocal calls
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(source) and not name.endswith(("_threads.py",)):
            calls += 1
            if calls == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        (machine or watched()).fit(X, CODES)
    finally:
        sys.setprofile(None)
    return calls


@parametrize_with_checks(
    [
        KernelClassifier(rank=50),
        KernelClassifier("logistic", "laplacian", rank=50, landmarks="uniform", multi_class="ovo"),
        KernelRegressor("absolute", rank=50),
        KernelRegressor("squared", rank="auto"),
        KernelQuantileRegressor(0.3, rank=50),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
