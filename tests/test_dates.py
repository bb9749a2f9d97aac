"""Dates in tables: numbers of days, also in the model file; words that occur once are noted."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import resolvent
from resolvent.tabular import DataFileError, Features, Table, TabularModel, TextColumn
from resolvent.tabular.dates import days_of


def column(words):
    categories = list(dict.fromkeys(word for word in words if word is not None))
    codes = [-1 if word is None else categories.index(word) for word in words]
    return TextColumn(np.array(codes, dtype=np.int32), categories)


def test_days():
    words = ["2024-02-29", "2024-02-29T06:00:00Z", " 2024-03-01 ", "1969-12-31 12:00:00.5"]
    expected = pd.to_datetime([w.strip(" Z") for w in words], format="ISO8601") - pd.Timestamp(0)
    assert_allclose(days_of(words), expected.total_seconds() / 86400)
    for wrong in (["2023-02-29"], ["2024-1-1"], ["2024-01-01", "x"], ["01/02/2024"], []):
        assert days_of(wrong) is None


def test_dates_become_days_and_stay_so_in_files(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.date_range("2021-01-01", periods=80).strftime("%Y-%m-%d").tolist()
    raw = Table("t", {"day": column(days), "x": rng.standard_normal(80)})
    notes = []
    features = Features.learn(raw, scale="standard", note=notes.append)
    assert features.names == ["day", "x"]
    assert notes == ["column 'day' has dates; they are taken as numbers of days."]
    rows = features(raw)
    assert_allclose(np.diff(rows[:, 0]), np.diff(rows[:, 0])[0])
    model = TabularModel(resolvent.KernelRegressor().fit(rows, np.arange(80.0)), features)
    resolvent.save(model, tmp_path / "m")
    again = resolvent.load(tmp_path / "m")
    frame = pd.DataFrame({"day": pd.date_range("2021-01-11", periods=3), "x": [0.0, 0.0, 0.0]})
    assert_allclose(again.predict(frame), model.predict(frame))
    assert np.all(np.diff(again.predict(frame)) > 0)
    with pytest.raises(DataFileError, match="'day' has values that are no dates"):
        again.predict(frame.assign(day="soon"))


def test_dates_can_be_missing_or_categories():
    raw = Table("t", {"day": column(["2021-01-01", None, "2021-01-03", "2021-01-02"])})
    with pytest.raises(DataFileError, match="no value"):
        Features.learn(raw)(raw)
    assert Features.learn(raw, impute=True)(raw)[1, 0] == days_of(["2021-01-02"])[0]
    words = Features.learn(raw, impute=True, categorical=["day"])
    assert words.names == ["day=(missing)", "day=2021-01-01", "day=2021-01-02", "day=2021-01-03"]


def test_words_that_occur_once_are_noted():
    notes = []
    raw = Table("t", {"name": column([f"n{i}" for i in range(50)]), "x": np.arange(50.0)})
    Features.learn(raw, note=notes.append)
    assert len(notes) == 1
    assert "'name' has 50 different words, most of them once" in notes[0]
    few = Table("t", {"name": column([f"n{i % 10}" for i in range(50)])})
    Features.learn(few, note=notes.append)
    assert len(notes) == 1
