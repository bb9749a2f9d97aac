"""Data frames of every library: the same model, and refusals that name the column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from resolvent import KernelRegressor
from resolvent.io import DataFileError
from resolvent.svm import SVC
from resolvent.tabular.features import Features
from resolvent.tabular.model import TabularModel
from resolvent.tabular.raw import Table, TextColumn

N = 24
X = np.column_stack([np.arange(N) * 0.5, np.arange(N) % 7])
Y = np.arange(N) % 2
PLAIN = {"a": X[:, 0], "b": X[:, 1].astype(int)}
FRAMES = {
    "pandas": pd.DataFrame(PLAIN),
    "pandas, nullable": pd.DataFrame(PLAIN).convert_dtypes(),
    "pandas, arrow": pd.DataFrame(PLAIN).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, objects": pd.DataFrame(PLAIN, dtype=object),
    "pandas, categories that are numbers": pd.DataFrame(PLAIN).astype({"b": "category"}),
    "polars": pl.DataFrame(PLAIN),
    "polars, decimals": pl.DataFrame(PLAIN).cast({"b": pl.Decimal(10, 2)}),
    "pyarrow": pa.table(PLAIN),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_the_same_as_arrays(kind):
    frame = FRAMES[kind]
    model, plain = SVC().fit(frame, Y), SVC().fit(X, Y)
    assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-6)  # of data elsewhere in memory
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(model.predict(frame), plain.predict(X))


WORDS = ["red", "blue"] * (N // 2)
GAPS = [1, None] * (N // 2)
DAYS = pd.date_range("2020", periods=N)
BAD = {
    "pandas words": (pd.DataFrame({"a": WORDS}), "'a' of X holds words .the first is 'red'"),
    "pandas categories": (pd.DataFrame({"a": pd.Categorical(WORDS)}), "'a' of X holds words"),
    "pandas dates": (pd.DataFrame({"a": DAYS}), "'a' of X holds dates.*weekday"),
    "pandas NA": (
        pd.DataFrame({"b": range(N), "a": pd.array(GAPS, dtype="Int64")}),
        "NaN: column 'a' has no value in 12 of 24 rows.*SimpleImputer",
    ),
    "pandas NaN": (pd.DataFrame({"a": [0.5, np.nan] * 12}), "column 'a' has no value in 12 of 24"),
    "polars words": (pl.DataFrame({"a": WORDS}), "'a' of X holds words"),
    "polars categories": (
        pl.DataFrame({"a": WORDS}).cast(pl.Categorical),
        "'a' of X holds words",
    ),
    "polars dates": (pl.DataFrame({"a": DAYS.to_numpy()}), "'a' of X holds dates"),
    "polars null": (pl.DataFrame({"a": GAPS}), "column 'a' has no value in 12 of 24"),
    "polars lists": (pl.DataFrame({"a": [[1, 2]] * N}), "'a' of X holds List"),
    "pyarrow words": (pa.table({"a": WORDS}), "'a' of X holds words"),
    "pyarrow dates": (pa.table({"a": DAYS.to_pydatetime()}), "'a' of X holds dates"),
    "pyarrow null": (pa.table({"a": GAPS}), "column 'a' has no value in 12 of 24"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_number_is_refused_by_name(kind):
    frame, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        SVC().fit(frame, Y)


def test_new_data_is_checked_too():
    model = SVC().fit(pd.DataFrame({"a": range(N)}), Y)
    with pytest.raises(ValueError, match="'a' of X holds words"):
        model.predict(pd.DataFrame({"a": WORDS}))


def test_lazy_frames():
    with pytest.raises(TypeError, match=r"lazy frame.*X\.collect\(\)"):
        SVC().fit(pl.DataFrame(PLAIN).lazy(), Y)


def test_names_that_are_numbers():
    assert not hasattr(SVC().fit(pd.DataFrame(X, columns=[0, 1]), Y), "feature_names_in_")


@pytest.fixture(scope="module")
def model():
    """A model on a number and a word, which knows how to fill both in."""
    codes = np.array([0, 1] * 12, dtype=np.int32)
    codes[5] = -1
    table = Table("t", {"b": np.arange(N, dtype=float), "word": TextColumn(codes, ["x", "y"])})
    features = Features.learn(table, scale="standard", impute=True)
    return TabularModel(KernelRegressor().fit(features(table), np.arange(N)), features)


NEW = {"b": [2, None, 4], "word": ["y", "x", None], "other": [None, None, None]}
NEW_FRAMES = {
    "pandas": pd.DataFrame(NEW),
    "pandas, nullable": pd.DataFrame(NEW).convert_dtypes(),
    "pandas, arrow": pd.DataFrame(NEW).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, category": pd.DataFrame(NEW).astype({"word": "category"}),
    "polars": pl.DataFrame(NEW),
    "polars, category": pl.DataFrame(NEW).cast({"word": pl.Categorical}),
    "pyarrow": pa.table(NEW),
}


@pytest.mark.parametrize("kind", NEW_FRAMES)
def test_saved_tables_predict_from_any_frame(kind, model):
    table = Table(
        "t", {"b": np.array([2, np.nan, 4]), "word": TextColumn(np.array([1, 0, -1]), ["x", "y"])}
    )
    assert_array_equal(model.rows(NEW_FRAMES[kind]), model.features(table))
    assert model.predict(NEW_FRAMES[kind]).shape == (3,)


def test_dates_where_there_were_numbers(model):
    frame = pl.DataFrame({"b": DAYS.to_numpy()[:3], "word": ["x", "x", "y"]})
    with pytest.raises(DataFileError, match="column 'b' holds dates"):
        model.predict(frame)
