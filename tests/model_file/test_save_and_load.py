"""What is saved is what is loaded, and what cannot be saved is refused."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from models import BODY, CASES, DISEASE, IRIS, NAMES, SPECIES, fitted
from numpy.testing import assert_allclose, assert_array_equal
from samples import assert_same_predictions
from scipy.sparse import issparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import resolvent
from resolvent import KernelClassifier, KernelRegressor, KernelRidge
from resolvent.io import ModelFileError
from resolvent.io.kinds import ESTIMATORS
from resolvent.kernels import RBF, Linear
from resolvent.svm import SVC, SVR
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Features
from resolvent.tabular.raw import Matrix

HIDDEN = {"_coef", "_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx"}


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
        for name in ("kernel", "rows", "coef", "intercept", "weights"):
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
    assert_same_predictions(loaded.predict(X), model.predict(X))
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


@pytest.mark.parametrize("parameters", [{"C": "x"}, {"loss": "hinge"}, {"kernel": "precomputed"}])
def test_what_could_not_be_loaded_is_not_saved(parameters, tmp_path):
    model = KernelRegressor().fit(BODY, DISEASE).set_params(**parameters)
    with pytest.raises(ModelFileError, match="damaged"):
        resolvent.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "uint64", "float16", "bool"])
def test_labels_keep_their_type(dtype, tmp_path):
    model = KernelClassifier().fit(IRIS, (SPECIES > 0).astype(dtype))
    resolvent.save(model, tmp_path / "model")
    assert resolvent.load(tmp_path / "model").classes_.dtype == dtype


def test_unfitted_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        resolvent.save(SVC(), tmp_path / "model")


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
    assert_allclose(loaded.predict_proba(IRIS), model.predict_proba(IRIS), atol=1e-12)


def test_big_model(tmp_path):
    X, y = make_classification(500, 40, random_state=0)
    model = SVC(kernel=RBF(0.01) + Linear()).fit(X, y)
    resolvent.save(model, tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    assert size < 1.2 * model._expansion.rows.nbytes + 20_000


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
def test_probabilities_are_saved(tmp_path):
    model = SVC(probability=True).fit(IRIS, NAMES)
    resolvent.save(model, tmp_path / "model")
    loaded = resolvent.load(tmp_path / "model")
    assert_allclose(loaded.predict_proba(IRIS), model.predict_proba(IRIS), atol=1e-12)
