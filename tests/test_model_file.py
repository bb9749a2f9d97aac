"""Model files: what is saved is what is loaded, and damaged files are refused with a sentence."""

import errno
import json
import os
import stat
import struct
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix, issparse
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import resolvent
from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    LinearClassifier,
    LinearRegressor,
)
from resolvent.io import ModelFileError
from resolvent.io.features import Features
from resolvent.io.raw import Matrix, Table, TextColumn
from resolvent.io.state import ESTIMATORS
from resolvent.io.tabular import TabularModel
from resolvent.kernels import RBF, Constant, Linear, Matern, Polynomial
from resolvent.losses import EpsilonInsensitive, Huber
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS, SPECIES = IRIS[::3], SPECIES[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
BODY, DISEASE = (part[:60] for part in load_diabetes(return_X_y=True))
TWO = SPECIES < 2
COMBINED = 0.5 * RBF(0.2) + Polynomial(2, 0.1, 1.0) * Constant(2.0)

CASES = {
    "classifier": (KernelClassifier(C=10.0), IRIS, NAMES),
    "one-vs-one": (KernelClassifier("logistic", multi_class="ovo"), IRIS, SPECIES),
    "two classes": (KernelClassifier("logistic"), IRIS[TWO], SPECIES[TWO]),
    "booleans": (KernelClassifier(), IRIS, SPECIES == 1),
    "weights": (KernelClassifier(class_weight={0: 2.0, 1: 1.0}), IRIS[TWO], SPECIES[TWO]),
    "objects": (KernelClassifier(), IRIS, NAMES.astype(object)),
    "sparse": (KernelClassifier(), csr_matrix(IRIS), NAMES),
    "float32": (KernelClassifier(), IRIS.astype(np.float32), NAMES),
    "regressor": (KernelRegressor(Huber(0.5)), BODY, DISEASE),
    "combined kernel": (KernelRegressor(kernel=COMBINED), BODY, DISEASE),
    "loss with a link": (KernelRegressor("poisson", C=0.01), BODY, np.abs(DISEASE) // 20),
    "two targets": (KernelRegressor(kernel="matern"), BODY, np.column_stack([DISEASE, -DISEASE])),
    "precomputed": (KernelRegressor(kernel="precomputed"), BODY @ BODY.T, DISEASE),
    "classes together": (KernelClassifier("multinomial"), IRIS, NAMES),
    "two together": (LinearClassifier("crammer_singer"), IRIS[TWO], SPECIES[TWO]),
    "samples together": (KernelRegressor("chebyshev"), BODY, DISEASE),
    "quantiles": (KernelQuantileRegressor((0.1, 0.9), kind="expectile"), BODY, DISEASE),
    "median": (KernelQuantileRegressor(0.5), BODY, DISEASE),
    "ridge": (KernelRidge(alpha=0.5), BODY, DISEASE),
    "ridge of two": (KernelRidge([0.5, 2.0]), BODY, np.column_stack([DISEASE, -DISEASE])),
    "linear classifier": (LinearClassifier("logistic"), IRIS, NAMES),
    "linear regressor": (LinearRegressor(EpsilonInsensitive(5.0)), csr_matrix(BODY), DISEASE),
    "SVC": (SVC(C=5.0), IRIS, NAMES),
    "SVC of two": (SVC(kernel="linear"), csr_matrix(IRIS[TWO]), SPECIES[TWO]),
    "SVR": (SVR(kernel=Matern(2.5, 0.3), C=10.0), BODY, DISEASE),
    "LinearSVC": (LinearSVC(), IRIS, NAMES),
    "LinearSVR": (LinearSVR(), BODY, DISEASE),
}
HIDDEN = {"_coef", "_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx"}


def fitted(name):
    model, X, y = CASES[name]
    return model.fit(X, y), X


def test_every_estimator_is_tried():
    assert {type(model).__name__ for model, _, _ in CASES.values()} == ESTIMATORS.keys()


def test_table_has_every_public_estimator():
    import resolvent.svm

    public = {name for name in resolvent.__all__ if name.startswith(("Kernel", "Linear"))}
    plain = {name for name in public if not name.endswith("CV")}
    assert plain | set(resolvent.svm.__all__) == ESTIMATORS.keys()


def test_of_a_search_the_best_is_saved(tmp_path):
    search = resolvent.KernelClassifierCV(Cs=[0.1, 1.0], gammas=[0.5], cv=3).fit(IRIS, NAMES)
    resolvent.save(search, tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert type(loaded) is KernelClassifier
    assert loaded.get_params()["C"] == search.best_params_["C"]
    assert_array_equal(loaded.predict(IRIS), search.predict(IRIS))


def same(a, b):
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)
    elif issparse(a):
        assert_array_equal(a.toarray(), b.toarray())
    elif hasattr(a, "rows"):  # an expansion
        for name in ("kernel", "rows", "coef", "intercept"):
            same(getattr(a, name), getattr(b, name))
    elif isinstance(a, list) and a and hasattr(a[0], "iteration"):
        for one, other in zip(a, b, strict=True):
            for x, y in zip(one, other, strict=True):
                assert_array_equal(x, y)
    else:
        assert type(a) is type(b)
        assert a == b


@pytest.mark.parametrize("name", CASES)
def test_loaded_is_saved(name, tmp_path):
    model, X = fitted(name)
    resolvent.save(model, tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert repr(loaded.get_params()) == repr(model.get_params())
    # Every attribute of the fit, private ones included, but for the start of a warm start.
    assert vars(loaded).keys() == vars(model).keys() - HIDDEN
    for key in vars(loaded).keys() - model.get_params().keys():
        same(vars(model)[key], vars(loaded)[key])
    resolvent.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_frames_keep_their_names(tmp_path):
    X = pd.DataFrame(IRIS, columns=list("abcd"))
    resolvent.save(KernelClassifier().fit(X, NAMES), tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[list("dcba")])


def test_zero_weights_keep_indices(tmp_path):
    weight = np.ones(len(BODY))
    weight[:20] = 0
    model = KernelRidge().fit(BODY, DISEASE, weight)
    resolvent.save(model, tmp_path / "model")
    assert_array_equal(resolvent.load(tmp_path / "model").dual_coef_, model.dual_coef_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelRegressor(kernel=lambda A, B: A @ B.T), "kernel=.*holds no code"),
        (KernelRegressor(kernel="linear", random_state=np.random.RandomState(0)), "set_params"),
        (make_pipeline(StandardScaler(), SVR()), "Pipeline cannot be saved.*last step"),
    ],
    ids=["callable", "random state", "pipeline"],
)
def test_what_cannot_be_saved(model, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        resolvent.save(model.fit(BODY, DISEASE), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_own_loss_cannot_be_saved(tmp_path):
    class Own(NamedTuple):
        def value(self, y, z):
            return 0.5 * (y - z) ** 2

        def derivative(self, y, z):
            return z - y

    model = KernelRegressor().fit(BODY, DISEASE).set_params(loss=Own())
    with pytest.raises(ModelFileError, match=r"loss=Own.*holds no code.*huber"):
        resolvent.save(model, tmp_path / "model")


def test_subclass_cannot_be_saved(tmp_path):
    class KernelRegressor(resolvent.KernelRegressor):
        pass

    with pytest.raises(ModelFileError, match="KernelRegressor cannot be saved"):
        resolvent.save(KernelRegressor().fit(BODY, DISEASE), tmp_path / "model")


def test_unfitted_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        resolvent.save(SVC(), tmp_path / "model")


# ---- tables --------------------------------------------------------------------------------


@pytest.fixture
def tabular():
    words = TextColumn(np.arange(len(IRIS)) % 3, ["red", "green", "blue"])
    table = Table("here", {"length": IRIS[:, 0], "colour": words})
    features = Features.learn(table, scale="standard")
    model = KernelClassifier(C=10.0).fit(features(table), NAMES)
    return TabularModel(model, features, "species"), table


def test_tabular_model(tabular, tmp_path):
    model, table = tabular
    resolvent.save(model, tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert isinstance(loaded, TabularModel)
    assert loaded.target == "species"
    assert loaded.features.names == ["length", "colour=blue", "colour=green", "colour=red"]
    colours = [table.columns["colour"].categories[k] for k in table.columns["colour"].codes]
    frame = pd.DataFrame({"colour": colours, "length": IRIS[:, 0], "further": 0.0})
    assert_array_equal(loaded.predict(frame), model.estimator.predict(model.features(table)))


def test_scaled_matrix(tmp_path):
    features = Features.learn(Matrix("here", IRIS, None), scale="minmax")
    rows = features(Matrix("here", IRIS, None))
    assert (rows.min(), rows.max()) == (0.0, 1.0)
    model = TabularModel(KernelClassifier("logistic").fit(rows, NAMES), features)
    resolvent.save(model, tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert_array_equal(loaded.predict(IRIS), model.predict(IRIS))
    assert_array_equal(loaded.predict_proba(IRIS), model.predict_proba(IRIS))


# ---- damage --------------------------------------------------------------------------------


def rewrite(path, change):
    """Let `change` alter header and arrays of a model file, and write it again."""
    with safetensors.safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["resolvent"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header = change(header, arrays) or header
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(safetensors.numpy.save(arrays, {"resolvent": text}))


def put(where, **values):
    return lambda header, arrays: (header if where == "header" else arrays).update(values)


def take(name):
    return lambda header, arrays: (header.pop(name, None), arrays.pop(name, None))[2:] or None


def rbf(gamma):
    return {"kernel": "RBF", "parameters": {"gamma": gamma}}


DAMAGE = {
    "schema": (put("header", schema=99), "schema '99'.*reads schema 1"),
    "no schema": (take("schema"), "schema 'None'"),
    "estimator": (put("header", estimator="os.system"), "kind 'os.system'"),
    "estimator no word": (put("header", estimator=["SVC"]), "kind"),
    "parameters": (put("header", parameters={"evil": 1}), "parameters that .*evil"),
    "parameters none": (put("header", parameters=[1]), "no parameters"),
    "loss": (put("header", loss={"loss": "x", "parameters": []}), "names the loss 'x'"),
    "loss none": (put("header", loss=3), "loss is none"),
    "parameter loss": (lambda h, a: h["parameters"].update(loss="x"), "names the loss 'x'"),
    "parameter of loss": (
        put("header", loss={"loss": "huber", "parameters": [-1.0]}),
        "delta=-1",
    ),
    "kernel": (
        put("header", kernel={"kernel": "eval", "parameters": {}}),
        "names the kernel 'eval'",
    ),
    "kernel none": (put("header", kernel=None), "kernel is none"),
    "kernel's parameter": (put("header", kernel=rbf(-1)), "gamma=-1"),
    "kernel's word": (put("header", kernel=rbf("1")), "has the parameters"),
    "kernel's parts": (
        put("header", kernel={"kernel": "Scaled", "parameters": {"kernel": 1, "factor": 1}}),
        "has the parameters",
    ),
    "features": (put("header", n_features=3), "rows.*has shape"),
    "features huge": (put("header", n_features=10**15), "rows.*has shape"),
    "features negative": (put("header", n_features=-1), "n_features|features is '-1'"),
    "features no number": (put("header", n_features=None), "features is 'None'"),
    "samples": (put("header", n_samples=5), "'support' has an index outside 0 .. 4"),
    "names": (put("header", feature_names=["a"]), "names of features"),
    "labels": (put("header", classes={"text": ["a", "b"]}), "has shape"),
    "labels twice": (put("header", classes={"text": ["a", "a", "b"]}), "different ones"),
    "labels of objects": (put("header", classes={"text": [1, 2, 3]}), "not a list of labels"),
    "status": (put("header", status="FINE"), "status is 'FINE'"),
    "time": (put("header", fit_time="long"), "fit_time is 'long'"),
    "coefficients": (take("coef"), "array 'coef' is missing"),
    "shape": (put("arrays", coef=np.ones((3, 3))), "has shape"),
    "dimensions": (put("arrays", coef=np.ones(3)), "has shape"),
    "type": (put("arrays", intercept=np.ones(3, dtype=np.int64)), "of type I64"),
    "NaN": (put("arrays", intercept=np.full(3, np.nan)), "not finite"),
    "index": (lambda h, a: a["support"].fill(-1), "index outside"),
    "certificate": (put("arrays", certificate=np.ones((2, 1))), "has shape"),
    "history": (put("arrays", **{"history.values": np.ones((2, 5, 3))}), "has shape"),
    "JSON": (lambda h, a: "{", "header is damaged"),
    "JSON NaN": (lambda h, a: '{"schema": NaN}', "header is damaged"),
    "JSON list": (lambda h, a: "[1]", "not a JSON object"),
    "JSON depth": (lambda h, a: '{"a":' * 100_000, "header is damaged"),
    "table": (put("header", table=[1]), "table is none"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    resolvent.save(fitted("classifier")[0], path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_told(kind, saved, tmp_path):
    change, message = DAMAGE[kind]
    path = tmp_path / "model"
    path.write_bytes(saved)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=message) as caught:
        resolvent.load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded.")


SPARSE_DAMAGE = {
    "overlap": lambda a: a["rows.starts"].__setitem__(1, 10**6),
    "falling": lambda a: a["rows.starts"].__setitem__(2, 0),
    "negative": lambda a: a["rows.starts"].__setitem__(0, -1),
    "column": lambda a: a["rows.columns"].__setitem__(0, 4),
    "negative column": lambda a: a["rows.columns"].__setitem__(0, -1),
    "few values": lambda a: a.__setitem__("rows.data", a["rows.data"][1:]),
    "few rows": lambda a: a.__setitem__("rows.starts", a["rows.starts"][:-1]),
    "no rows": lambda a: a.__setitem__("rows.starts", a["rows.starts"][:0]),
}


@pytest.mark.parametrize("kind", SPARSE_DAMAGE)
def test_damage_of_sparse_rows_is_told(kind, tmp_path):
    path = tmp_path / "model"
    resolvent.save(fitted("sparse")[0], path)
    rewrite(path, lambda header, arrays: SPARSE_DAMAGE[kind](arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        resolvent.load(path)


TABLE_DAMAGE = {
    "columns": {"columns": 3},
    "column": {"columns": [["length", None], 3]},
    "width": {"columns": [["length", None], ["colour", ["blue", "green"]]]},
    "words": {"columns": [["length", None], ["colour", ["blue", "green", 3]]]},
    "same words": {"columns": [["length", None], ["colour", ["blue", "green", "blue"]]]},
    "same names": {"columns": [["colour", None], ["colour", ["blue", "green", "red"]]]},
    "index": {"first_index": 7},
    "scale": {"scale": "odd"},
    "target": {"target": 3},
}


@pytest.mark.parametrize("kind", TABLE_DAMAGE)
def test_damage_of_a_table_is_told(kind, tabular, tmp_path):
    path = tmp_path / "model"
    resolvent.save(tabular[0], path)
    rewrite(path, lambda header, arrays: header["table"].update(TABLE_DAMAGE[kind]))
    with pytest.raises(ModelFileError, match="damaged"):
        resolvent.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 8,
        b"svm_type c_svc\n",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        safetensors.numpy.save({"a": np.ones(3)}),
    ],
    ids=["empty", "short", "ones", "text", "huge header", "bare", "somebody else's"],
)
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"no model file|not one of resolvent"):
        resolvent.load(tmp_path / "model")


def test_absent_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*model"):
        resolvent.load(tmp_path / "model")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_no_change_of_bytes_is_a_crash(data, saved, tmp_path):
    changed = bytearray(saved)
    # Half of the draws aim at the header, where the structure is.
    header = 8 + struct.unpack("<Q", saved[:8])[0]
    for _ in range(data.draw(st.integers(1, 4))):
        end = data.draw(st.sampled_from([header, len(saved)]))
        changed[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([0, 0, 0, 1, 8, 100]))
    path = tmp_path / "model"
    path.write_bytes(bytes(changed[: len(changed) - cut]))
    try:
        model = resolvent.load(path)
    except ModelFileError:
        return
    else:  # a digit somewhere: still a model that predicts
        with np.errstate(all="ignore"):
            assert len(model.predict(np.zeros((2, model.n_features_in_)))) == 2


# ---- writing -------------------------------------------------------------------------------


def failing(code):
    def fail(*args):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_full_disk_changes_nothing(call, saved, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(saved)
    monkeypatch.setattr(os, call, failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        resolvent.save(fitted("regressor")[0], path)
    assert path.read_bytes() == saved
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_device_that_is_full():
    with pytest.raises(OSError, match="No space left"):
        resolvent.save(fitted("regressor")[0], "/dev/full")


def test_devices_are_written_to_not_replaced(saved):
    command = "import resolvent, sys; resolvent.save(resolvent.load(sys.argv[1]), '/dev/stdout')"
    if not os.path.exists("/dev/stdout"):
        pytest.skip("the system has no /dev/stdout")
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(saved)
        file.flush()
        args = [sys.executable, "-c", command, file.name]
        output = subprocess.run(args, capture_output=True, check=True).stdout
    assert output == saved
    assert not os.path.isfile("/dev/null")


def test_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        resolvent.save(fitted("regressor")[0], tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_mode_and_links_are_kept(saved, tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    (tmp_path / "source").write_bytes(saved)
    resolvent.save(resolvent.load(tmp_path / "source"), link)
    assert link.is_symlink()
    assert path.read_bytes() == saved
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_directory_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory"):
        resolvent.save(fitted("regressor")[0], tmp_path)


def test_big_model(tmp_path):
    X, y = make_classification(500, 40, random_state=0)
    model = SVC(kernel=RBF(0.01) + Linear()).fit(X, y)
    resolvent.save(model, tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    assert size < 1.2 * model._expansion.rows.nbytes + 20_000
