"""LIBSVM's model files: ours and those of svm-train mean the same to both programs.

The files in data/libsvm were written by svm-train and svm-predict of LIBSVM 3.24.
"""

import contextlib
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

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
from resolvent.io.libsvm import looks_like_libsvm, read_libsvm, write_libsvm
from resolvent.io.read import read
from resolvent.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Features

DATA = Path(__file__).parent / "data" / "libsvm"
MODELS = sorted(path.stem for path in DATA.glob("*.model"))


def data(name):
    return read(str(DATA / f"{name}.svm"))


@pytest.mark.parametrize("name", MODELS)
def test_svm_trains_models_predict_the_same(name):
    model = read_libsvm(DATA / f"{name}.model")
    expected = np.loadtxt(DATA / f"{name}.predicted")
    raw = data(name.split("-")[0])
    found = model.estimator.predict(model.features(raw))
    assert_allclose(found, expected, rtol=1e-5)  # svm-predict prints six digits
    if "svc" in name:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_there_and_back(name, tmp_path):
    model = read_libsvm(DATA / f"{name}.model")
    write_libsvm(model, tmp_path / "model")
    assert looks_like_libsvm(tmp_path / "model")
    again = read_libsvm(tmp_path / "model")
    rows = model.features(data(name.split("-")[0]))
    scores = model.estimator._scores(rows)
    assert_allclose(again.estimator._scores(rows), scores, atol=1e-12)
    resolvent.save(model, tmp_path / "ours")
    loaded = resolvent.load(tmp_path / "ours")
    assert_allclose(loaded.estimator._scores(rows), scores, atol=1e-12)
    assert not hasattr(loaded.estimator, "dual_gap_")


@pytest.mark.parametrize(
    ("old", "new", "machine"),
    [
        ("c_svc", "nu_svc", NuSVC),
        ("epsilon_svr", "nu_svr", NuSVR),
        ("epsilon_svr", "one_class", OneClassSVM),
    ],
)
def test_other_types_have_the_same_format(old, new, machine, tmp_path):
    path = next(path for path in DATA.glob("*.model") if old in path.read_text())
    (tmp_path / "model").write_text(path.read_text().replace(old, new))
    model = read_libsvm(tmp_path / "model")
    assert type(model.estimator) is machine
    rows = model.features(data(path.stem.split("-")[0]))
    scores = read_libsvm(path).estimator._scores(rows)
    assert_allclose(model.estimator._scores(rows), scores, atol=1e-12)
    resolvent.save(model, tmp_path / "ours")
    found = resolvent.load(tmp_path / "ours").estimator.predict(rows)
    assert_allclose(found, model.estimator.predict(rows), atol=1e-12)


def test_our_optimum_is_libsvms():
    raw = data("three")
    theirs = read_libsvm(DATA / "three-svc-rbf.model").estimator
    ours = SVC(C=10.0, gamma=0.2).fit(raw.X, raw.y)
    # The file's classes are in the order of appearance, ours are sorted.
    order = [theirs.classes_.tolist().index(label) for label in ours.classes_]
    scores = theirs.decision_function(raw.X)[:, order]
    assert_allclose(ours.decision_function(raw.X), scores, atol=0.01)


OURS = {
    "SVC of two": (SVC(gamma=0.5), "two"),
    "SVC of three": (SVC(gamma=0.5, C=5.0), "three"),
    "SVC poly": (SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.3), "three"),
    "classifier": (KernelClassifier("logistic", kernel="sigmoid", gamma=0.01), "two"),
    "one-vs-one": (KernelClassifier("squared_hinge", multi_class="ovo"), "three"),
    "linear classifier": (LinearClassifier(), "two"),
    "SVR": (SVR(gamma=0.5), "real"),
    "ridge": (KernelRidge(kernel="poly", gamma=0.1), "real"),
    "absolute": (KernelRegressor("absolute"), "real"),
    "quantile": (KernelQuantileRegressor(0.8), "real"),
    "linear regressor": (LinearRegressor("huber"), "real"),
}


@pytest.mark.parametrize("name", OURS)
def test_our_models_read_again(name, tmp_path):
    model, raw = OURS[name][0], data(OURS[name][1])
    model.fit(raw.X, raw.y)
    write_libsvm(model, tmp_path / "model")
    again = read_libsvm(tmp_path / "model", raw.X.shape[1]).estimator
    assert_allclose(again.predict(raw.X), model.predict(raw.X), rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(
    shutil.which("svm-predict") is None,
    reason="svm-predict is not installed (Debian's package is libsvm-tools)",
)
@pytest.mark.parametrize("name", OURS)
def test_svm_predict_agrees(name, tmp_path):
    model, raw = OURS[name][0], data(OURS[name][1])
    model.fit(raw.X, raw.y)
    write_libsvm(model, tmp_path / "model")
    files = [DATA / f"{OURS[name][1]}.svm", tmp_path / "model", tmp_path / "out"]
    subprocess.run(["svm-predict", *files], check=True, capture_output=True)
    expected = np.loadtxt(tmp_path / "out")
    assert_allclose(model.predict(raw.X), expected, rtol=1e-5, atol=1e-5)


def test_zero_based_files(tmp_path):
    raw = data("two")
    features = Features(raw.X.shape[1], base=0)
    write_libsvm(TabularModel(SVC().fit(raw.X, raw.y), features), tmp_path / "model")
    assert " 0:" in (tmp_path / "model").read_text()
    assert read_libsvm(tmp_path / "model").features.base == 0


REFUSED = {
    "labels": (SVC(), "words", "whole numbers; .*'a'"),
    "one-vs-rest": (KernelClassifier(), "three", "--multiclass ovo"),
    "linear one-vs-rest": (LinearSVC(), "three", "--multiclass ovo"),
    "kernel": (SVC(kernel="laplacian"), "two", "does not have the kernel Laplacian"),
    "link": (KernelRegressor("poisson"), "counts", "a link such as exp"),
    "quantiles": (KernelQuantileRegressor((0.1, 0.9)), "real", "several targets"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_libsvm_does_not_have(name, tmp_path):
    model, target, message = REFUSED[name]
    raw = data(target if (DATA / f"{target}.svm").exists() else "two")
    y = {"words": np.where(raw.y > 0, "a", "b"), "counts": raw.y > 0}.get(target, raw.y)
    with pytest.raises(ModelFileError, match=message):
        write_libsvm(model.fit(raw.X, y), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_scaling_is_refused(tmp_path):
    raw = data("two")
    features = Features.learn(raw, scale="standard")
    model = TabularModel(SVC().fit(features(raw), raw.y), features)
    with pytest.raises(ModelFileError, match="standard scaling, which LIBSVM's"):
        write_libsvm(model, tmp_path / "model")


DAMAGE = {
    "type": (b"c_svc", b"d_svc", "svm_type d_svc is not known; expected one of c_svc, nu_svc"),
    "kernel": (b"kernel_type rbf", b"kernel_type precomputed", "precomputed is not supported"),
    "no gamma": (b"gamma 0.20000000298023224\n", b"", "gamma is missing"),
    "gamma": (b"gamma 0.2", b"gamma -0.2", "gamma=-0.2"),
    "gamma word": (b"gamma 0.2", b"gamma x0.2", "gamma is 'x0.2.*expected 1 number"),
    "classes": (b"nr_class 2", b"nr_class 1", "nr_class is 1"),
    "many classes": (b"nr_class 2", b"nr_class 99999999", "larger than the file"),
    "total": (b"total_sv 11", b"total_sv 12", "total_sv is 12, but there are 11"),
    "labels": (b"label 1 -1", b"label 1 1", "duplicates"),
    "label": (b"label 1 -1", b"label 1 0.5", "expected 2 whole numbers"),
    "counts": (b"nr_sv 5 6", b"nr_sv 5 5", "does not add up"),
    "rho": (b"rho 1.12", b"rho nan", "expected 1 number"),
    "entry": (b"nr_class 2", b"what 2", "model:4: expected an entry"),
    "no SV": (b"SV\n", b"", "expected a line SV"),
    "cut": (b"0.6 3:1.1 4:0.3 \n", b"", "11"),
    "coefficient": (b"\n10 1:0.5", b"\nx 1:0.5", r"model:11: expected 1 coefficients"),
    "vector": (b"\n10 1:0.5", b"\n10 1-0.5", r"model:11: in the support vector.*found '1-0.5'"),
    "index": (b"\n10 1:0.5", b"\n10 99999999999:0.5", "support vector"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_told(kind, tmp_path):
    old, new, message = DAMAGE[kind]
    content = (DATA / "two-svc-rbf.model").read_bytes()
    assert old in content
    (tmp_path / "model").write_bytes(content.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        read_libsvm(tmp_path / "model")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_of_bytes_is_a_crash(data, tmp_path):
    content = bytearray((DATA / "three-svc-rbf.model").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, 300))] = data.draw(st.sampled_from(b"0129-+.e :\nxS\xff"))
    (tmp_path / "model").write_bytes(bytes(content))
    with contextlib.suppress(ModelFileError):
        read_libsvm(tmp_path / "model")
