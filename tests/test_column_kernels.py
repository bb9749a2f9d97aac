"""Kernels of columns by name: the same model as by hand, from any frame, in all that fits."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from resolvent import (
    KernelClassifierCV,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRegressorCV,
    gram,
    load,
    save,
)
from resolvent.kernels import RBF, ColumnKernel, Constant, Linear, Overlap, make_kernel, pairwise
from resolvent.svm import SVC, SVR

RNG = np.random.default_rng(0)
N = 80
TABLE = {
    "area": RNG.uniform(20, 200, N),
    "city": RNG.choice(["Bern", "Basel", "Genf"], N).tolist(),
    "id": [f"row {i}" for i in range(N)],  # which no kernel names
    "rooms": RNG.integers(1, 6, N),
    "heated": (RNG.random(N) < 0.5).tolist(),
}
TABLE["city"][4] = None  # a category of its own
Y = TABLE["area"] * 3e3 + np.array([8e4 * (c == "Genf") for c in TABLE["city"]])
FRAMES = {
    "pandas": pd.DataFrame(TABLE),
    "pandas, category": pd.DataFrame(TABLE).astype({"city": "category"}),
    "pandas, arrow": pd.DataFrame(TABLE).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(TABLE),
    "pyarrow": pa.table(TABLE),
}
FRAME = FRAMES["pandas"]
KERNEL = ColumnKernel(["area", "rooms"], "rbf") * ColumnKernel(
    ["city", "heated"], Overlap() + Constant(0.2)
) + 0.5 * ColumnKernel("rooms", Overlap())


def by_hand(A, B):
    """KERNEL of two pandas frames, with the scales of FRAME."""

    def column(name):
        return (x[name].to_numpy()[index] for x, index in ((A, np.s_[:, None]), (B, np.s_[None])))

    exponent = 0.0
    for name in ("area", "rooms"):
        a, b = column(name)
        exponent = exponent - (a - b) ** 2 / FRAME[name].var(ddof=0) / 2
    equal = 0.0
    for name in ("city", "heated"):
        equal = equal + sum(np.equal(*(x.astype(str) for x in column(name)))[None]) / 2
    a, b = column("rooms")
    return np.exp(exponent) * (equal + 0.2) + 0.5 * (a == b)


@pytest.mark.parametrize("kind", FRAMES)
def test_matrix_is_that_by_hand(kind):
    K = KERNEL(FRAMES[kind])
    assert_allclose(K, by_hand(FRAME, FRAME), rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert_allclose(KERNEL(FRAMES[kind], FRAMES[kind][:7]), K[:, :7], rtol=1e-12)
    matrix = gram(FRAMES[kind], KERNEL)
    assert_allclose(matrix.product(np.eye(N)), K, rtol=1e-12)


@pytest.mark.parametrize("kind", FRAMES)
def test_estimators_are_those_of_the_matrix(kind):
    frame = FRAMES[kind]
    model = KernelRegressor("absolute", KERNEL, C=100.0).fit(frame[:60], Y[:60])
    K = KERNEL(FRAME[:60])
    plain = KernelRegressor("absolute", "precomputed", C=100.0).fit(K, Y[:60])
    assert_allclose(model.objective_, plain.objective_, rtol=1e-4)
    new = KERNEL(FRAME[:60], FRAME).T  # with the scales of the rows of the fit
    assert_allclose(model.predict(frame), plain.predict(new), rtol=0.02)
    assert model.feature_names_in_.tolist() == ["area", "rooms", "city", "heated"]
    assert model.score(frame[60:], Y[60:]) > 0.9


def test_order_and_further_columns_do_not_matter():
    model = SVR(kernel=KERNEL, C=1e5).fit(FRAME, Y)
    other = FRAME[["heated", "city", "rooms", "area"]].assign(more="x")
    assert_array_equal(model.predict(other), model.predict(FRAME))


def test_words_that_are_new_equal_none():
    kernel = ColumnKernel("city", Overlap())
    new = pd.DataFrame({"city": ["Bern", "Rom", None]})
    K = kernel(FRAME, new)
    cities = FRAME["city"]
    assert_array_equal(K.T, [cities == "Bern", np.zeros(N), cities.isna()])
    model = KernelRegressor(kernel=kernel, C=10.0).fit(FRAME, Y)
    assert_allclose(model.predict(new)[1], model.intercept_[0])


def test_weights_count_rows():
    weight = RNG.integers(0, 3, N).astype(float)
    weighted = KernelRegressor(kernel=KERNEL, tol=1e-10).fit(FRAME, Y, sample_weight=weight)
    repeated = KernelRegressor(kernel=KERNEL, tol=1e-10).fit(
        FRAME.loc[np.repeat(np.arange(N), weight.astype(int))], np.repeat(Y, weight.astype(int))
    )
    assert_allclose(weighted.predict(FRAME), repeated.predict(FRAME), rtol=1e-4)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_files(kind, tmp_path):
    labels = np.where(np.median(Y) < Y, "dear", "cheap")
    frame = FRAMES[kind]
    for number, model in enumerate(
        [
            SVC(kernel=KERNEL, C=10.0).fit(frame, labels),
            KernelQuantileRegressor((0.1, 0.9), kernel=KERNEL, C=10.0).fit(frame, Y),
            KernelRegressor(kernel=KERNEL, rank=20).fit(frame, Y),
            KernelRegressorCV(kernel=KERNEL, conformal=True, Cs=[1.0, 10.0, 100.0])
            .fit(frame, Y)
            .best_estimator_,
        ]
    ):
        path = tmp_path / f"{number}.resolvent"
        save(model, path)
        again = load(path)
        assert_array_equal(again.predict(frame), model.predict(frame))
        assert again.kernel == KERNEL
    assert_array_equal(again.predict_interval(frame), model.predict_interval(frame))


def test_low_rank():
    exact = KernelRegressor(kernel=KERNEL, tol=1e-8).fit(FRAME, Y)
    low = KernelRegressor(kernel=KERNEL, rank=60, tol=1e-8, certificate="exact").fit(FRAME, Y)
    assert low.rank_ == 60
    assert exact.objective_ * (1 - 1e-6) <= low.objective_ <= exact.objective_ + low.dual_gap_
    given = KernelRegressor(kernel=KERNEL, landmarks=FRAME[:60], tol=1e-8).fit(FRAME, Y)
    assert given.rank_ <= 60
    assert given.objective_ >= exact.objective_ * (1 - 1e-6)


def test_searches_choose_among_kernels():
    """Also of different columns: those of all are read."""
    area = ColumnKernel("area", RBF(0.5))
    kernels = [area, area * ColumnKernel("city", Overlap() + Constant(0.2))]
    search = KernelRegressorCV(gammas=kernels, Cs=[10.0, 100.0, 1e3], cv=4).fit(FRAME, Y)
    assert search.best_params_["kernel"] == kernels[1]
    alone = KernelRegressorCV(kernel=kernels[1], Cs=[10.0, 100.0, 1e3], cv=4).fit(FRAME, Y)
    assert_allclose(search.best_score_, alone.best_score_, rtol=1e-4)
    assert_allclose(search.predict(FRAME), alone.predict(FRAME), rtol=1e-3)
    labels = np.where(np.median(Y) < Y, "dear", "cheap")
    assert KernelClassifierCV(gammas=kernels).fit(FRAME, labels).score(FRAME, labels) > 0.9


def test_pipelines_and_other_searches():
    model = make_pipeline(FunctionTransformer(), KernelRegressor(kernel=KERNEL, C=100.0))
    assert cross_val_score(model, FRAME, Y, cv=4).mean() > 0.9
    grid = {"kernel": [KERNEL, ColumnKernel("city", Overlap())], "C": [1.0, 100.0]}
    search = GridSearchCV(KernelRegressor(), grid, cv=3).fit(FRAME, Y)
    assert search.best_params_ == {"kernel": KERNEL, "C": 100.0}
    assert clone(KernelRegressor(kernel=KERNEL)).kernel == KERNEL


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_positions_in_arrays(form):
    X = RNG.uniform(0, 10, (40, 3)).round()
    kernel = ColumnKernel([2, 0], "laplacian") + ColumnKernel(1, Overlap())
    scale = X[:, [2, 0]].std(axis=0)
    D = np.abs((X[:, None] - X)[:, :, [2, 0]] / scale).sum(axis=2)
    want = np.exp(-D / 2) + (X[:, None, 1] == X[:, 1])
    assert_allclose(kernel(form(X)), want, rtol=1e-12)
    model = KernelRegressor(kernel=kernel).fit(form(X), X[:, 0])
    assert_allclose(model.kernel_(X), want, rtol=1e-12)
    assert model.kernel_.left.columns == (2, 0)
    assert_allclose(kernel([[0, 1, 2], [3, 1, 2.0]])[0, 1], np.exp(-1) + 1)


def test_constant_columns_have_no_scale():
    frame = pd.DataFrame({"a": [2.0, 2.0, 2.0], "b": [1.0, 2.0, 3.0]})
    K = ColumnKernel(["a", "b"], RBF(1.0))(frame)
    assert_allclose(K[0, 1], np.exp(-1 / 2 * 3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ColumnKernel([], "rbf"), "must be names of columns"),
        (lambda: ColumnKernel(["a", 1], "rbf"), "must be names of columns"),
        (lambda: ColumnKernel(["a", "a"], "rbf"), "must differ"),
        (lambda: ColumnKernel(-1, "rbf"), "count from 0"),
        (lambda: ColumnKernel("a", "gauss"), "kernel='gauss' is not known"),
        (lambda: ColumnKernel("a", RBF(), scale=[1.0, 2.0]), "1 positive finite numbers"),
        (lambda: ColumnKernel("a", RBF(), scale=[0.0]), "positive finite"),
        (lambda: ColumnKernel("a", make_kernel(pairwise(max))), "whole samples"),
        (lambda: ColumnKernel("a", ColumnKernel("b", "rbf")), "columns of its own"),
        (lambda: (ColumnKernel("area", "rbf") + Linear())(FRAME), "in one part and not in another"),
        (lambda: ColumnKernel("price", "rbf")(FRAME), "column 'price', which X does not: it has"),
        (lambda: ColumnKernel("city", "rbf")(FRAME), "'city' of X holds words.*Overlap"),
        (lambda: ColumnKernel(7, "rbf")(np.eye(3)), "X has 3 columns"),
        (
            lambda: ColumnKernel("a", "rbf")(pd.DataFrame({"a": [1.0, np.nan]})),
            "'a' has no value in 1 of 2",
        ),
        (
            lambda: ColumnKernel("a", "rbf")(pd.DataFrame({"a": [1.0, np.inf]})),
            "'a' of X contains infinity",
        ),
        (
            lambda: SVR(kernel=KERNEL).fit(FRAME, Y).predict(FRAME[["area", "city"]]),
            "column 'rooms', which X does not",
        ),
        (lambda: SVR(kernel=KERNEL).fit(FRAME, Y[:5]), "80 samples, but y has 5"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_arrays_have_no_names():
    with pytest.raises(TypeError, match=r"columns by name.*X is a ndarray"):
        SVR(kernel=KERNEL).fit(np.eye(4), np.arange(4))
    with pytest.raises(TypeError, match="must be a kernel such as"):
        ColumnKernel("a", 3)
