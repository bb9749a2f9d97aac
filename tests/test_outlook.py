"""The estimate of the time that is left."""

import logging

import numpy as np
import pytest

from resolvent import KernelClassifier
from resolvent.problem.outlook import Outlook, duration

# Seconds and relative gaps of an exact hinge machine of 20,000 rows, whose rows did not fit memory.
RECORDED = [
    (0.5, 9.90e-1), (1.1, 9.74e-1), (1.9, 9.37e-1), (3.0, 8.72e-1), (3.8, 8.04e-1), (4.4, 5.79e-1),
    (5.0, 4.19e-1), (5.6, 1.50e-1), (6.1, 1.87e-2), (6.5, 6.11e-4),
]  # fmt: skip


def test_recorded_fit():
    outlook, ends = Outlook(1e-3), 0
    for seconds, gap in RECORDED:
        outlook.see(seconds, gap)
        left, true = outlook.left(), RECORDED[-1][0] - seconds
        if left is not None:
            ends += 1
            assert true / 3.0 < left[0] < 3.0 * true
            assert left[1] > true
    assert ends == 6
    assert outlook.text() == ""  # it is done


@pytest.mark.parametrize("y", [lambda t: 0.1 * t, lambda t: 0.01 * 2.0**t], ids=["steps", "twice"])
def test_the_time_that_is_left_is_between_the_ends(y):
    outlook = Outlook(1e-4)
    end = next(t for t in np.arange(0.0, 200.0, 0.01) if y(t) >= np.log(1e4))
    for t in np.linspace(0.2, 0.9, 8) * end:
        outlook.see(t, np.exp(-y(t)))
        if outlook.left() is not None:
            low, high = outlook.left()
            assert 0.99 * low <= end - t <= 1.01 * high
    assert outlook.left() is not None


def test_what_says_nothing():
    for tol, gaps in ((0.0, [0.5, 0.4, 0.3]), (1e-3, [np.inf, np.nan, 0.5]), (1e-3, [0.5] * 5)):
        outlook = Outlook(tol)
        for k, gap in enumerate(gaps):
            outlook.see(float(k), gap)
            assert outlook.text() == ""


def test_text():
    outlook = Outlook(1e-4)
    for t in (100.0, 150.0, 200.0):
        outlook.see(t, 10 ** (-t / 100.0))
    assert outlook.text() == "2 min to 3 min left"
    assert duration(40.0) == "40 s"


def test_verbose_fit_says_it(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=600) > 0
    with caplog.at_level(logging.INFO, logger="resolvent"):
        model = KernelClassifier("logistic", solver="fixed_point", tol=1e-6, verbose=1, C=10.0)
        model.fit(X, y)
    said = [record for record in caplog.records if "support vectors" in record.getMessage()]
    assert any(record.left and record.left in record.getMessage() for record in said)
