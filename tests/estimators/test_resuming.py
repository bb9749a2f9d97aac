"""Fits that were stopped, by a limit or by Ctrl-C, leave a model and can be resumed."""

import json
import logging
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from machines import hard
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    LinearClassifier,
    Status,
)
from resolvent.svm import SVC, LinearSVC


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
    part = clone(model).set_params(warm_start=True, max_iter=1)
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
    import json, logging, os, signal, threading, warnings
    import numpy as np
    from resolvent import KernelClassifier
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 5)), rng.integers(0, 2, 2000)
    model = KernelClassifier(C=1e4, gamma=0.2, tol=1e-10, max_iter=10**9, warm_start=True)
    # All loops loaded: Numba makes an interrupt meanwhile a SystemError.
    model.fit(X[:100], y[:100])
    model.__dict__.pop("_coef")

    class Alarm(logging.Handler):
        def emit(self, record):
            if record.certificate.iteration >= 1:  # the fit is on its way
                threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                logger.removeHandler(self)

    logger = logging.getLogger("resolvent")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logger.addHandler(Alarm())
    model.verbose = 1
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
        timeout=250,
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["end"] == "interrupted"
    assert set(result["labels"]) <= {0, 1}
    assert result["better"]
