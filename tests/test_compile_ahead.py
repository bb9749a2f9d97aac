"""Compiling ahead of time, and what is said while it takes long."""

import logging

import numpy as np
import pytest

from resolvent import _clock
from resolvent._compile import _models
from resolvent.losses import COUPLED, LOSSES
from resolvent.model_selection.report import describe


def test_every_loss_has_its_turn():
    names = [name for name, _ in _models(everything=True)]
    assert len(names) == len(set(names))
    for loss in (*LOSSES, *COUPLED):
        assert any(f", {loss}, sparse" in name for name in names)
    assert len(list(_models(everything=False))) < 10


@pytest.fixture
def note(monkeypatch, caplog):
    """A listener whose compilations take as long as is said."""
    caplog.set_level(logging.INFO, logger="resolvent")
    time = [0.0]
    monkeypatch.setattr(_clock, "perf_counter", lambda: time[0])
    listener = _clock._CompileNote()

    def compile(seconds, pause=0.0):
        time[0] += pause
        listener.on_start(None)
        listener.on_start(None)  # one within the other counts once
        time[0] += seconds
        listener.on_end(None)
        listener.on_end(None)
        return len(caplog.records)

    return compile


def test_long_compiling_is_said_once(note, caplog):
    assert note(0.6) == 0
    assert note(0.6) == 1
    assert note(5.0) == 1
    assert note(0.6, pause=60.0) == 1
    assert note(0.6) == 2  # another loss
    assert "compiling" in caplog.text
    assert "once on this machine" in caplog.text


def test_no_estimate_before_there_is_something_to_go_by():
    means = np.full(4, np.nan)
    assert describe(1, 500, 8.5, means) == "1 of 500 problems, 8.5 s"
    means[0] = 0.25
    assert describe(25, 500, 5.0, means) == (
        "25 of 500 problems, 5.0 s, best mean score 0.25, about 95 s left"
    )
    assert describe(500, 500, 9.0, means).endswith("about 0 s left")
    assert "best mean score -1,407,290," in describe(25, 500, 5.0, np.full(4, -1407290.4))
