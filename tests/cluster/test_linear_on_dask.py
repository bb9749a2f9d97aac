"""Linear estimators on a cluster: the models, certificates and warnings of one machine."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import resolvent
from resolvent import LinearClassifier, LinearRegressor, Status
from resolvent.blocks import as_source
from resolvent.dask import DaskLinearClassifier, DaskLinearRegressor
from resolvent.losses import LOSSES, is_for_labels

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
SCORE = X @ [1.0, -0.5, 0.0, 0.25] + 0.3 * RNG.normal(size=240)
LABELS = np.where(SCORE > 0.0, "yes", "no")
THREE = np.array([3, 5, 8])[np.digitize(SCORE, [-0.5, 0.5])]
WEIGHT = RNG.integers(0, 3, 240).astype(float)


def split(a, rows=70):
    return da.from_array(a, chunks=(rows, *a.shape[1:]))


def unknown(a, rows=70):
    """The same rows, in blocks whose lengths Dask does not know."""
    array = split(a, rows)
    return da.concatenate(
        [da.from_delayed(d, (np.nan, *a.shape[1:]), a.dtype) for d in array.to_delayed().ravel()]
    )


def agree(theirs, ours, tol=1e-5):
    """Both have certified the same optimum."""
    assert ours.status_ <= Status.PRECISION_LIMIT
    assert ours.dual_gap_ <= tol * max(abs(ours.objective_), 1e-12)
    assert ours.objective_ - ours.dual_gap_ <= theirs.objective_
    assert theirs.objective_ - theirs.dual_gap_ <= ours.objective_


@pytest.mark.parametrize("loss", [name for name in LOSSES if is_for_labels(LOSSES[name]())])
def test_classifier_agrees_with_one_machine(client, loss):
    ours = DaskLinearClassifier(loss).fit(split(X), split(LABELS))
    theirs = LinearClassifier(loss).fit(X, LABELS)
    agree(theirs, ours)
    assert (ours.predict(split(X)).compute() == theirs.predict(X)).mean() > 0.99


@pytest.mark.parametrize("loss", [name for name in LOSSES if not is_for_labels(LOSSES[name]())])
def test_regressor_agrees_with_one_machine(client, loss):
    y = 40 * SCORE if getattr(LOSSES[loss], "targets", "real") == "real" else np.exp(SCORE)
    ours = DaskLinearRegressor(loss).fit(split(X), split(y), split(WEIGHT))
    theirs = LinearRegressor(loss).fit(X, y, WEIGHT)
    assert ours.target_unit_ == pytest.approx(theirs.target_unit_, rel=1e-12)
    agree(theirs, ours)
    assert ours.predict(X).shape == (240,)


def test_three_classes_with_weights(client):
    ours = DaskLinearClassifier("logistic", class_weight="balanced")
    ours.fit(split(X), split(THREE, 50), split(WEIGHT, 90))
    theirs = LinearClassifier("logistic", class_weight="balanced").fit(X, THREE, WEIGHT)
    assert ours.classes_.tolist() == theirs.classes_.tolist() == [3, 5, 8]
    for j in range(3):
        assert ours.objective_[j] == pytest.approx(theirs.objective_[j], rel=1e-5)
    np.testing.assert_allclose(
        ours.predict_proba(split(X)).compute(), theirs.predict_proba(X), atol=1e-3
    )


def test_multinomial_agrees_with_one_machine(client):
    ours = DaskLinearClassifier("multinomial").fit(split(X), split(THREE), split(WEIGHT))
    theirs = LinearClassifier("multinomial").fit(X, THREE, WEIGHT)
    agree(theirs, ours)
    predicted = ours.predict_proba(split(X)).compute()
    np.testing.assert_allclose(predicted, theirs.predict_proba(X), atol=1e-2)


def test_several_targets_have_their_units(client):
    Y = np.column_stack([SCORE, 30.0 * SCORE + X[:, 1]])
    ours = DaskLinearRegressor("huber").fit(split(X), split(Y))
    theirs = LinearRegressor("huber").fit(X, Y)
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(split(X)).compute(), theirs.predict(X), atol=1e-2)


def frames(client):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    return frame, dd.from_pandas(pd.Series(LABELS), npartitions=3)


def test_every_kind_of_data(client, tmp_path):
    """Each gives the model of the array whose blocks are the same."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    y = (LABELS == "yes").astype(float)
    table = {**{name: X[:, j] for j, name in enumerate("abcd")}, "y": y}
    pq.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=70)
    files = as_source(str(tmp_path / "a.parquet"), "y", memory_limit=64 * 70 * 32)
    known = DaskLinearClassifier().fit(split(X), split(y))
    parts = [dask.delayed(X[i : i + 70]) for i in range(0, 240, 70)]
    targets = [dask.delayed(y[i : i + 70]) for i in range(0, 240, 70)]
    for given in (
        (unknown(X), unknown(y)),
        (split(X).rechunk((70, 2)), split(y, 100)),
        (parts, targets),
        (files,),
    ):
        model = DaskLinearClassifier().fit(*given)
        assert model.objective_ == pytest.approx(known.objective_, rel=1e-5)
    assert files.n_blocks > 1
    assert (model.predict(files).compute() == known.predict(X)).mean() > 0.99
    lazy = known.predict(parts)
    np.testing.assert_array_equal(np.concatenate(dask.compute(*lazy)), known.predict(X))


def test_sparse_blocks(client):
    rows = np.where(abs(X) > 0.7, X, 0.0)
    blocks = split(rows).map_blocks(sparse.csr_matrix)
    ours = DaskLinearClassifier("squared_hinge").fit(blocks, split(LABELS))
    theirs = LinearClassifier("squared_hinge").fit(rows, LABELS)
    agree(theirs, ours)
    np.testing.assert_array_equal(ours.predict(blocks).compute(), ours.to_local().predict(rows))


def test_frames(client):
    frame, y = frames(client)
    model = DaskLinearClassifier("logistic").fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    predicted = model.predict(frame)
    assert (predicted == y).mean().compute() > 0.8
    probabilities = model.predict_proba(frame).compute()
    assert probabilities.columns.tolist() == ["no", "yes"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"})).compute()


def test_partitions_without_rows(client):
    frame, y = frames(client)
    y = (y == "yes").astype(float)
    few = [a.map_partitions(lambda part: part[part.index < 70]) for a in (frame, y)]
    model = DaskLinearRegressor("huber").fit(*few)
    theirs = LinearRegressor("huber").fit(X[:70], (LABELS == "yes")[:70].astype(float))
    agree(theirs, model)
    assert len(model.predict(few[0]).compute()) == 70


def test_local_estimator_saves_and_loads(client, tmp_path):
    model = DaskLinearRegressor("absolute").fit(split(X), split(SCORE))
    local = model.to_local()
    assert type(local) is LinearRegressor
    assert local.loss == "absolute"
    resolvent.save(local, tmp_path / "model.resolvent")
    again = resolvent.load(tmp_path / "model.resolvent")
    np.testing.assert_array_equal(again.predict(X), model.predict(split(X)).compute())
    assert pickle.loads(pickle.dumps(model)).client is None
    assert clone(DaskLinearRegressor(client=client)).client is client


def test_report_says_what_was_moved(client):
    model = DaskLinearClassifier().fit(split(X), split(LABELS))
    report = model.fit_report_
    assert list(report)[:3] == ["load", "shape", "labels"]
    passes = report["measure"]
    assert passes.passes == model.n_iter_
    # Of each of at most 4 tasks and their sum: the matrix of 4 x 4, some vectors of 4, some sums.
    assert passes.bytes_back <= passes.tasks * 8 * 4000
    assert passes.bytes_out > passes.passes * 4 * 8


def test_progress_is_said(client, caplog):
    with caplog.at_level("INFO", "resolvent"):
        DaskLinearClassifier(verbose=1).fit(split(X), split(LABELS))
    assert "DaskLinearClassifier: iteration 1," in caplog.text


def test_useless_models_are_said(client):
    with pytest.warns(UserWarning, match=r"nearly constant \(their spread is 0\.0%"):
        DaskLinearRegressor(C=1e-9).fit(split(X), split(1e6 + SCORE), split(WEIGHT))


def test_a_limit_of_passes_is_said(client):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = DaskLinearClassifier(max_iter=2).fit(split(X), split(LABELS))
    assert model.status_ == Status.MAX_ITER
    assert np.isfinite(model.dual_gap_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, LABELS), "in this process: pass a dask array"),
        ((split(X), LABELS), "y is of type ndarray"),
        ((split(X), split(LABELS[:230])), "X has 240 rows and y 230"),
        ((unknown(X), split(LABELS, 80)), "4 blocks of rows and y 3"),
        ((unknown(X), unknown(LABELS, 60)), "block 0 of X: X has 70 rows and y 60"),
        ((split(X), split(np.full(240, "a"))), "only one class"),
        ((split(X), split(SCORE[:, None] + np.zeros(2))), "one label for each row"),
        ((split(X), split(LABELS), split(-WEIGHT - 1.0)), "negative"),
        ((split(X[:, :0]), split(LABELS)), "nothing is there to fit"),
        ((as_source(np.zeros((40000, 20))), None), "in this process"),
    ],
)
def test_kind_errors(client, arguments, message):
    model = DaskLinearClassifier()
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*arguments)
    with pytest.raises(NotFittedError):
        model.predict(split(X))


def test_a_value_that_is_not_finite_is_found_with_its_rows(client):
    wrong = X.copy()
    wrong[150, 2] = np.nan
    with pytest.raises(ValueError, match="block 2 of X, rows 140 to 209"):
        DaskLinearClassifier().fit(split(wrong), split(LABELS))


def test_no_client():
    with pytest.raises(ValueError, match="no Dask client"):
        DaskLinearClassifier().fit(split(X), split(LABELS))
    with pytest.raises(TypeError, match=r"distributed\.Client"):
        DaskLinearClassifier(client="tcp://somewhere").fit(split(X), split(LABELS))
    with pytest.raises(ValueError, match="timeout=0"):
        DaskLinearClassifier(timeout=0).fit(split(X), split(LABELS))
