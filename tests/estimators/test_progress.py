"""Progress, through logging and through scikit-learn's callbacks."""

import logging

import pytest
from machines import hard
from sklearn.exceptions import ConvergenceWarning

from resolvent import KernelClassifier, KernelRegressor, LinearClassifier, Status
from resolvent.svm import SVC, LinearSVC


def test_verbose_reports_through_logging(caplog, capsys):
    X, y = hard()
    KernelClassifier(verbose=1).fit(X, y)  # compiling is reported too
    caplog.set_level(logging.INFO, logger="resolvent")
    caplog.clear()
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
