"""What all estimators do alike: stopping, resuming, reporting, saving, running in parallel."""

import copy
import json
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import warnings
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    LinearClassifier,
    LinearRegressor,
    Status,
)
from resolvent.kernels import RBF, Linear
from resolvent.losses import Huber
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR

ALL = [
    KernelClassifier("logistic"),
    KernelRegressor(Huber(0.3), RBF(0.5) + 0.1 * Linear()),
    KernelQuantileRegressor((0.2, 0.8)),
    KernelRidge(kernel="rbf"),
    LinearClassifier(),
    LinearRegressor("absolute"),
    SVC(),
    SVR(),
    LinearSVC(),
    LinearSVR(),
]
EVERY = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)


def data(n=60, seed=0):
    return make_moons(n, noise=0.3, random_state=seed)


def hard(n=120):
    """A problem that needs many sweeps: noisy labels, and the tests take a large C."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, (X[:, 0] + 1.5 * rng.standard_normal(n) > 0).astype(int)


# Certificates and warnings


@EVERY
def test_attributes_of_a_fit(model):
    X, y = data()
    model = clone(model).fit(X, y)
    several = isinstance(model, KernelQuantileRegressor)
    for name in ("dual_gap_", "objective_", "n_iter_"):
        assert np.shape(getattr(model, name)) == ((2,) if several else ())
    assert model.status_ == Status.CONVERGED
    assert np.all(model.dual_gap_ >= 0)
    assert np.all(model.dual_gap_ <= model.tol * np.abs(model.objective_))
    assert model.fit_time_ > 0
    assert len(model.history_) >= 1
    assert isinstance(model.n_iter_, np.ndarray if several else int)


def test_status_is_the_worst_of_several_problems():
    X, y = data(1500)  # the second column: tens of iterations
    Y = np.column_stack([np.zeros(1500), np.sin(7 * X[:, 0]) + y])
    with pytest.warns(ConvergenceWarning):
        model = KernelRegressor("absolute", C=100.0, max_iter=1, tol=1e-9).fit(X, Y)
    assert model.status_ == Status.MAX_ITER
    assert model.dual_gap_[0] <= 1e-9
    assert model.dual_gap_[1] > 1e-9 * model.objective_[1]


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(C=1e4, max_iter=2),
        LinearClassifier(C=1e4, max_iter=2),
        SVC(C=1e4, max_iter=2),
        LinearSVC(loss="hinge", C=1e4, max_iter=2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_warning_names_gap_and_parameter(model):
    X, y = hard(1500)  # more than two iterations' work
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    reached = float(text.split("reached: ")[1].split(";")[0])
    assert reached == pytest.approx(model.dual_gap_ / model.objective_, rel=0.01)
    assert "asked for: tol=1e-05" in text
    assert "max_iter" in text
    assert model.status_ == Status.MAX_ITER
    assert model.n_iter_ == 2
    assert model.predict(X).shape == y.shape


def test_time_limit():
    # LIBSVM never ends with polynomials of unscaled features: scikit-learn issues 30353, 9136.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [1, 10, 100, 1e3, 1e4]
    y = rng.integers(0, 2, 400)
    model = KernelClassifier(kernel="poly", gamma=1.0, C=1e3, time_limit=0.5, max_iter=10**9)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*gap reached"):
        model.fit(X, y)
    assert model.status_ == Status.TIME_LIMIT
    assert model.fit_time_ < 20.0
    assert np.isfinite(model.dual_gap_)
    assert np.isfinite(model.decision_function(X)).all()


def test_indefinite_kernel():
    # scikit-learn issues 10713 and 8590: tanh is not positive semidefinite. Refused where that
    # shows, and otherwise ends soon, with an honest gap.
    X, y = hard(60)
    with pytest.raises(ValueError, match="positive semidefinite"):
        SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y)
    for C in (1.0, 100.0):
        model = SVC(kernel="sigmoid", gamma=0.5, C=C, max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert model.n_iter_ <= 100
        assert 0 <= model.dual_gap_ < np.inf
        assert model.status_ in (Status.CONVERGED, Status.NOT_PSD, Status.MAX_ITER)
        assert (model.fit_status_ == 0) == (model.status_ == Status.CONVERGED)
        if model.status_ == Status.CONVERGED:
            assert model.dual_gap_ <= 1e-5 * model.objective_
        assert np.isfinite(model.decision_function(X)).all()


# Resuming


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(C=100.0, tol=1e-6),
        LinearClassifier(C=100.0, tol=1e-6),
        KernelRegressor("absolute", C=100.0, tol=1e-6),
        KernelQuantileRegressor((0.3, 0.6), C=100.0, tol=1e-6),
    ],
    ids=lambda m: type(m).__name__,
)
def test_warm_start_resumes(model):
    X, y = hard(600)
    cold = clone(model).fit(X, y)
    again = clone(model).set_params(warm_start=True).fit(X, y)
    again.fit(X, y)
    assert np.all(again.n_iter_ < cold.n_iter_)
    assert again.status_ == Status.CONVERGED
    part = clone(model).set_params(warm_start=True, max_iter=int(np.max(cold.n_iter_)) // 2 + 1)
    with pytest.warns(ConvergenceWarning):
        part.fit(X, y)
    first = np.max(part.dual_gap_ / part.objective_)
    part.set_params(max_iter=None).fit(X, y)
    assert part.status_ == Status.CONVERGED
    assert np.max(part.dual_gap_ / part.objective_) < first
    np.testing.assert_allclose(part.objective_, cold.objective_, rtol=1e-5)
    # Another problem of another size starts afresh.
    part.fit(X[:50], y[:50])
    assert part.status_ == Status.CONVERGED


def test_warm_start_after_a_time_limit():
    X, y = hard(300)
    model = KernelClassifier(C=1e3, tol=1e-6, warm_start=True, time_limit=0.0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.status_ == Status.TIME_LIMIT
    assert model.predict(X).shape == y.shape
    model.set_params(time_limit=None).fit(X, y)
    assert model.status_ == Status.CONVERGED


class Stop(logging.Handler):
    """Ctrl-C from inside the fit, at a report of progress."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    def emit(self, record):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "estimator",
    [KernelClassifier, LinearClassifier, SVC, partial(LinearSVC, loss="hinge")],
    ids=["KernelClassifier", "LinearClassifier", "SVC", "LinearSVC"],
)
def test_interrupted_fit_leaves_a_model(estimator):
    X, y = hard(1500)
    model = estimator(C=100.0, tol=1e-6, verbose=1)
    logger, handler = logging.getLogger("resolvent"), Stop(3)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with (
            pytest.warns(ConvergenceWarning, match="interrupted"),
            pytest.raises(KeyboardInterrupt),
        ):
            model.fit(X, y)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert model.status_ == Status.INTERRUPTED
    assert set(model.predict(X)) <= {0, 1}
    assert model.dual_gap_ > 0
    if "warm_start" in model.get_params():
        before = model.objective_
        model.set_params(warm_start=True, verbose=0).fit(X, y)
        assert model.status_ == Status.CONVERGED
        assert model.objective_ <= before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_signal_leaves_a_model():
    code = """
    import json, os, signal, threading, warnings
    import numpy as np
    from resolvent import KernelClassifier
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 5)), rng.integers(0, 2, 2000)
    model = KernelClassifier(C=1e4, gamma=0.2, tol=1e-10, max_iter=10**9, warm_start=True)
    # All loops loaded: Numba makes an interrupt meanwhile a SystemError.
    model.set_params(time_limit=2.0).fit(X, y).set_params(time_limit=None)
    model.__dict__.pop("_coef")
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        model.fit(X, y)
        end = "finished"
    except KeyboardInterrupt:
        end = "interrupted"
    labels = sorted(set(model.predict(X[:20]).tolist()))
    first = model.objective_
    model.set_params(time_limit=1.0).fit(X, y)
    print(json.dumps({"end": end, "labels": labels, "status": model.status_.name,
                      "better": bool(model.objective_ <= first * (1 + 1e-9))}))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ,
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["end"] == "interrupted"
    assert set(result["labels"]) <= {0, 1}
    assert result["better"]


# Reporting


def test_verbose_reports_through_logging(caplog, capsys):
    X, y = hard()
    caplog.set_level(logging.INFO, logger="resolvent")
    KernelClassifier().fit(X, y)
    assert not caplog.records
    model = KernelClassifier(verbose=1).fit(X, y)
    lines = [r.getMessage() for r in caplog.records if r.name == "resolvent"]
    assert len(lines) >= 1
    assert all("KernelClassifier" in line and "relative gap" in line for line in lines)
    assert f"iteration {model.n_iter_}" in lines[-1]
    assert capsys.readouterr().out == ""


def test_callbacks_of_scikit_learn(capsys):
    callback = pytest.importorskip("sklearn.callback")

    class Recorder:
        def __init__(self, stop=None):
            self.calls, self.stop = [], stop

        def setup(self, estimator, context):
            self.calls.append("setup")

        def on_fit_task_begin(self, estimator, context):
            self.calls.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context):
            self.calls.append(f"end {context.task_name}")
            return self.calls.count("end certificate") == self.stop

        def teardown(self, estimator, context):
            self.calls.append("teardown")

    X, y = hard()
    for estimator in (KernelClassifier, LinearClassifier, SVC, LinearSVC, KernelRegressor):
        recorder = Recorder()
        model = estimator(C=10.0).set_callbacks(recorder).fit(X, y)
        assert recorder.calls[:2] == ["setup", "begin fit"]
        assert recorder.calls[-2:] == ["end fit", "teardown"]
        n = recorder.calls.count("end certificate")
        assert n == recorder.calls.count("begin certificate") >= 1
        assert n <= len(model.history_)
    X, y = hard(1500)
    recorder = Recorder(stop=2)
    model = KernelClassifier(C=1e4).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="callback asked to stop"):
        model.fit(X, y)
    assert model.status_ == Status.CALLBACK
    assert model.predict(X).shape == y.shape
    pytest.importorskip("rich")
    KernelClassifier().set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "KernelClassifier" in capsys.readouterr().out


# Saving and copying


@EVERY
def test_pickle_copy_clone_joblib(model, tmp_path):
    X, y = data()
    model = clone(model).fit(X, y)
    expected = model.predict(X)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(other.predict(X), expected)
    fresh = clone(model)
    assert repr(fresh) == repr(model)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(fresh.fit(X, y).predict(X), expected)


@EVERY
def test_parameters(model):
    X, y = data()
    model = clone(model)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y)
    assert before == {name: repr(value) for name, value in model.get_params().items()}
    model.set_params(tol=1e-3)
    assert model.fit(X, y).tol == 1e-3
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nonsense=1)


def test_pipeline():
    X, y = data()
    X = X * [1e-3, 1e5]
    pipe = make_pipeline(StandardScaler(), KernelClassifier())
    pipe.set_params(kernelclassifier__C=10.0)
    assert pipe.fit(X, y).score(X, y) > 0.85
    assert pipe[-1].C == 10.0


# Several at once


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_grid_search_in_parallel(backend):
    X, y = data(80)
    grid = {"C": [0.1, 10.0], "gamma": [0.5, "scale"]}
    alone = GridSearchCV(KernelClassifier("logistic"), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    with joblib.parallel_config(backend, n_jobs=2):
        both = GridSearchCV(KernelClassifier("logistic"), grid, cv=2, scoring="neg_log_loss")
        both.fit(X, y)
    np.testing.assert_allclose(
        both.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert both.best_params_ == alone.best_params_


def test_threads_give_the_same_as_alone():
    problems = [data(150, seed) for seed in range(6)]
    alone = [SVC(C=10.0).fit(X, y).decision_function(X) for X, y in problems]
    results = [None] * 6
    gate = threading.Barrier(6)

    def fit(i):
        gate.wait()
        X, y = problems[i]
        results[i] = SVC(C=10.0).fit(X, y).decision_function(X)

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, results, strict=True):
        np.testing.assert_array_equal(one, other)


# Prediction


def test_prediction_uses_support_vectors_only():
    X, y = data(200)
    model = KernelClassifier(C=10.0, gamma=1.0).fit(X, y)
    assert 0 < len(model.support_) < 150
    seen = []

    def kernel(A, B):
        seen.append(len(B))
        return RBF(1.0)(A, B)

    function = KernelClassifier(C=10.0, kernel=kernel).fit(X, y)
    seen.clear()
    scores = function.decision_function(X)
    assert set(seen) == {len(function.support_)}
    naive = RBF(1.0)(X, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), naive[:, 0], atol=1e-10)
    np.testing.assert_allclose(scores, naive[:, 0], atol=1e-4)


def test_prediction_in_tiles():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 3)), rng.integers(0, 3, 1500)
    model = KernelRegressor(gamma=0.3, memory_limit="100MB", tol=1e-3).fit(X, np.eye(3)[y])
    new = rng.standard_normal((1111, 3))  # not a whole number of tiles either way
    naive = RBF(0.3)(new, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(new), naive, atol=1e-10)
    np.testing.assert_allclose(model.predict(new[:1]), naive[:1], atol=1e-10)


def test_memory_of_prediction():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 4)), rng.standard_normal(2000)
    model = KernelRegressor(gamma=0.3, tol=1e-2).fit(X, y)
    assert len(model.support_) > 1500
    new = rng.standard_normal((20_000, 4))
    model.predict(new[:10])
    tracemalloc.start()
    model.predict(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 2000 * 8 / 4  # the kernel matrix would be 320 MB


def test_precomputed_prediction_needs_all_columns():
    X, y = data()
    K = RBF(1.0)(X)
    model = KernelClassifier(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K[:7]),
        KernelClassifier(kernel=RBF(1.0)).fit(X, y).decision_function(X[:7]),
        atol=1e-5,
    )
    with pytest.raises(ValueError, match="features"):
        model.predict(K[:, :-1])


@pytest.mark.parametrize("gamma", [0, 0.0, -1.0])
def test_gamma_of_zero_is_refused(gamma):
    # Not taken for None, which means 1 / n_features in KernelRidge.
    with pytest.raises(ValueError, match="gamma"):
        KernelRegressor(gamma=gamma).fit([[0.0], [1.0]], [0.0, 1.0])
