"""Counts with exposure on the command line."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import resolvent
from resolvent.io.errors import ModelFileError
from resolvent.io.model_file import _build


@pytest.fixture
def claims(run, tmp_path):
    rng = np.random.default_rng(0)
    age, days = rng.uniform(20.0, 80.0, 120).round(1), rng.integers(10, 1000, 120)
    frame = pd.DataFrame({"age": age, "days": days})
    frame["claims"] = rng.poisson(days * np.exp(-6.0 + 0.03 * age))
    frame.to_csv(tmp_path / "claims.csv", index=False)
    frame.drop(columns="days").to_csv(tmp_path / "rates.csv", index=False)
    return frame


FIT = ("fit", "claims.csv", "--target", "claims", "-l", "poisson", "-k", "linear")


def test_exposures_are_read_kept_and_optional(claims, run, tmp_path):
    code, _, err = run(*FIT, "--exposure", "days")
    assert code == 0, err
    numbers = np.loadtxt(io.StringIO(run("predict", "claims.csv", "claims.model")[1]))
    _, rates, err = run("predict", "rates.csv", "claims.model")
    assert_allclose(np.loadtxt(io.StringIO(rates)) * claims["days"], numbers, rtol=1e-9)
    assert "no column 'days' with the exposure; predictions are for an exposure of 1" in err
    X, known = claims[["age"]], np.log(claims["days"])
    own = resolvent.LinearRegressor("poisson").fit((X - X.mean()) / X.std(ddof=0), claims["claims"],
                                                   offset=known)  # fmt: skip
    expected = own.predict((X - X.mean()) / X.std(ddof=0), offset=known)
    assert_allclose(numbers, expected, rtol=1e-4)
    model = resolvent.load(tmp_path / "claims.model")
    assert_allclose(model.predict(claims), numbers)
    _, out, _ = run("evaluate", "claims.csv", "claims.model", "--json")
    assert json.loads(out)["R2"] > 0.5
    assert "days" in run("inspect", "claims.model")[1]


def test_what_is_no_exposure_is_refused_with_its_place(claims, run, tmp_path):
    claims.loc[3, "days"] = 0
    claims.to_csv(tmp_path / "claims.csv", index=False)
    code, _, err = run(*FIT, "--exposure", "days")
    assert code == 3
    assert "claims.csv:5:2: the exposure 'days' must be a number above zero." in " ".join(
        err.split()
    )
    code, _, err = run(*FIT, "--exposure", "days", "--offset", "age")
    assert code == 2
    assert "either --offset or --exposure" in err
    code, _, err = run(*FIT, "--offset", "other")
    assert code == 2
    assert "no column 'other'" in " ".join(err.split())


def test_damaged_name_of_the_column(monkeypatch):
    monkeypatch.setattr("resolvent.io.model_file.restore", lambda *_: None)
    with pytest.raises(ModelFileError, match="its column of offsets is none"):
        _build({"table": {"offset": ["days", 3]}}, None)
