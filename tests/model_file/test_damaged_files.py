"""Damaged model files are refused with a sentence."""

import json
import struct

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import fitted

import resolvent
from resolvent.io import ModelFileError


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


def take(where, name):
    def change(header, arrays):
        del (header if where == "header" else arrays)[name]

    return change


def rbf(gamma):
    return {"kernel": "RBF", "parameters": {"gamma": gamma}}


DAMAGE = {
    "schema": (put("header", schema=99), "schema '99'.*reads schema 1"),
    "no schema": (take("header", "schema"), "schema 'None'"),
    "estimator": (put("header", estimator="os.system"), "kind 'os.system'"),
    "estimator no word": (put("header", estimator=["SVC"]), "kind"),
    "parameters": (put("header", parameters={"evil": 1}), "parameters that .*evil"),
    "parameters none": (put("header", parameters=[1]), "no parameters"),
    "parameter C": (lambda h, a: h["parameters"].update(C="x"), "parameter C .* is 'x'"),
    "parameter tol": (lambda h, a: h["parameters"].update(tol=None), "parameter tol .* is 'None'"),
    "parameter loss": (lambda h, a: h["parameters"].update(loss="x"), "the loss .* is 'x'"),
    "other task": (lambda h, a: h["parameters"].update(loss="squared"), "none of hinge"),
    "parameter kernel": (lambda h, a: h["parameters"].update(kernel="x"), "parameter kernel"),
    "precomputed": (lambda h, a: h["parameters"].update(kernel="precomputed"), "kernel is none"),
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
    "features huge": (put("header", n_features=10**15), "features is '1000000000000000'"),
    "features negative": (put("header", n_features=-1), "n_features|features is '-1'"),
    "features no number": (put("header", n_features=None), "features is 'None'"),
    "samples": (put("header", n_samples=5), "'support' has a value that is not .*below 5"),
    "names": (put("header", feature_names=["a"]), "names of features"),
    "labels": (put("header", classes={"text": ["a", "b"]}), "has shape"),
    "labels twice": (put("header", classes={"text": ["a", "a", "b"]}), "different ones"),
    "labels of objects": (put("header", classes={"text": [1, 2, 3]}), "not a list of labels"),
    "status": (put("header", status="FINE"), "status is 'FINE'"),
    "no status": (take("header", "status"), "status is 'None'"),
    "support": (take("arrays", "support"), "array 'support' is missing"),
    "time": (put("header", fit_time="long"), "fit_time is 'long'"),
    "time huge": (put("header", fit_time=10**400), "header is damaged.*no finite number"),
    "iterations": (lambda h, a: a["n_iter"].fill(-1), "'n_iter' has a value"),
    "coefficients": (take("arrays", "coef"), "array 'coef' is missing"),
    "shape": (put("arrays", coef=np.ones((3, 3))), "has shape"),
    "dimensions": (put("arrays", coef=np.ones(3)), "has shape"),
    "type": (put("arrays", intercept=np.ones(3, dtype=np.int64)), "of type I64"),
    "NaN": (put("arrays", intercept=np.full(3, np.nan)), "not finite"),
    "index": (lambda h, a: a["support"].fill(-1), "'support' has a value"),
    "certificate": (put("arrays", certificate=np.ones((2, 1))), "has shape"),
    "history": (put("arrays", **{"history.values": np.ones((3, 5, 3))}), "has shape"),
    "JSON": (lambda h, a: "{", "header is damaged"),
    "JSON NaN": (lambda h, a: '{"schema": NaN}', "header is damaged"),
    "JSON infinity": (lambda h, a: '{"schema": 1e999}', "no finite number"),
    "JSON surrogate": (lambda h, a: '{"a": "\\ud800"}', "header is damaged.*surrogates"),
    "JSON nested": (put("header", deep=json.loads("[" * 300 + "]" * 300)), "levels deep"),
    "JSON list": (lambda h, a: "[1]", "not a JSON object"),
    "JSON depth": (lambda h, a: '{"a":' * 100_000, "header is damaged"),
    "table": (put("header", table=[1]), "table is none"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_told(kind, saved, tmp_path):
    change, message = DAMAGE[kind]
    path = tmp_path / "model"
    path.write_bytes(saved)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=message) as caught:
        resolvent.load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded.")


KINDS = {
    "ridge of many samples": ("ridge", put("header", n_samples=10**9), "'coef' has shape"),
    "ridge of few samples": ("ridge of two", put("header", n_samples=2), "'coef' has shape"),
    "ridge without indices": ("ridge", take("arrays", "support"), "'support' is missing"),
    "ridge with zeros": ("ridge", lambda h, a: a["coef"][3:].fill(0), "where 'coef' is not zero"),
    "ridge of another loss": (
        "ridge",
        put("header", loss={"loss": "poisson", "parameters": []}),
        "the loss of a KernelRidge is 'Poisson",
    ),
    "no loss": ("regressor", take("header", "loss"), "the loss .* is 'None'"),
    "no loss, linear": ("linear regressor", take("header", "loss"), "the loss .* is 'None'"),
    "no loss, SVR": ("SVR", take("header", "loss"), "the loss .* is 'None'"),
    "no loss, LinearSVR": ("LinearSVR", take("header", "loss"), "the loss .* is 'None'"),
    "loss": (
        "regressor",
        put("header", loss={"loss": "x", "parameters": []}),
        "names the loss 'x'",
    ),
    "loss a number": ("regressor", put("header", loss=3), "the loss .* is '3'"),
    "parameter of loss": (
        "regressor",
        put("header", loss={"loss": "huber", "parameters": [-1.0]}),
        "delta=-1",
    ),
    "vector": ("regressor", take("header", "vector"), "whether the target is a vector"),
    "square": ("precomputed", put("header", n_samples=10**9), "was not square"),
    "wide": ("precomputed", put("header", n_features=2**31 - 1), "was not square"),
    "kernel": ("precomputed", put("header", kernel=rbf(1.0)), "not that of its fit"),
    "counts": ("SVC", lambda h, a: a["n_support"].__setitem__(0, 2**31 - 1), "does not add up"),
    "many labels": (
        "SVC",
        put("header", classes={"text": [f"{k}" for k in range(10**5)]}),
        "has shape",
    ),
    "indices, SVC": ("SVC", take("arrays", "support"), "'support' is missing"),
    "quantile": ("quantiles", lambda h, a: h["parameters"].update(quantile=[]), "quantile"),
    "alpha": ("ridge", lambda h, a: h["parameters"].update(alpha=["x"]), "alpha"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_model_has_all_that_it_needs(kind, tmp_path):
    name, change, message = KINDS[kind]
    path = tmp_path / "model"
    resolvent.save(fitted(name)[0], path)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=message):
        resolvent.load(path)


def test_width_of_sparse_rows_is_bounded_by_memory(tmp_path, monkeypatch):
    path = tmp_path / "model"
    resolvent.save(fitted("sparse")[0], path)
    rewrite(path, put("header", n_features=2**31 - 1))
    monkeypatch.setattr("resolvent.grams.memory.free_memory", lambda: 2**30)
    with pytest.raises(ModelFileError, match=r"2,147,483,647 features.*not enough free memory"):
        resolvent.load(path)


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
    "not scaled": {"scale": "none"},
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
