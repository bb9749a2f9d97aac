"""Models in ONNX predict what the estimators do: to rounding in double, to 2e-6 from float32."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    LinearClassifier,
    LinearRegressor,
)
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'resolvent[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from skl2onnx import to_onnx  # noqa: E402

import resolvent.onnx  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
BODY, DISEASE = (a[:100] for a in load_diabetes(return_X_y=True))
DISEASE = scale(DISEASE)

DOUBLE, SINGLE = 1e-12, 2e-6  # largest deviations, in units of the largest value

CLASSIFIERS = [
    KernelClassifier(),
    KernelClassifier("logistic"),
    KernelClassifier("multinomial"),
    KernelClassifier("squared_hinge", "poly", gamma=0.1, coef0=1.0, multi_class="ovo"),
    LinearClassifier("logistic"),
    LinearClassifier("crammer_singer"),
    SVC(),
    SVC(kernel="linear", break_ties=True),
    NuSVC(nu=0.2),
    LinearSVC(multi_class="crammer_singer"),
]
REGRESSORS = [
    KernelRegressor(),
    KernelRegressor("poisson"),
    KernelRegressor("huber", "precomputed"),
    KernelQuantileRegressor((0.9, 0.1, 0.5)),
    KernelQuantileRegressor(0.5, kernel="linear"),
    KernelRidge(kernel="rbf"),
    LinearRegressor("absolute"),
    SVR(kernel="sigmoid", gamma=0.01),
    NuSVR(),
    LinearSVR(),
]


def run(model, X, options=None):
    graph = to_onnx(model, X[:1], options=options, target_opset=18)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X})


@pytest.mark.parametrize("labels", [y, NAMES, (y > 0).astype(int)], ids=["3", "names", "2"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_classifier(model, labels):
    model.fit(X, labels)
    expected = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    for dtype, most in ((np.float64, DOUBLE), (np.float32, SINGLE)):
        data = X.astype(dtype)
        found, values = run(model, data, {"zipmap": False})
        np.testing.assert_array_equal(found, model.predict(data))
        scores = expected(X)
        scores = scores if scores.ndim == 2 else np.column_stack([-scores, scores])
        np.testing.assert_allclose(values, scores, atol=most * np.abs(scores).max(), rtol=0)
        assert values.dtype == dtype


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressor(model):
    data = BODY @ BODY.T if model.get_params().get("kernel") == "precomputed" else BODY
    target = np.round(np.exp(DISEASE)) if model.get_params().get("loss") == "poisson" else DISEASE
    expected = model.fit(data, target).predict(data).reshape(len(BODY), -1)
    for dtype, most in ((np.float64, DOUBLE), (np.float32, SINGLE)):
        (found,) = run(model, data.astype(dtype))
        np.testing.assert_allclose(found, expected, atol=most * np.abs(expected).max(), rtol=0)


def test_one_class():
    model = OneClassSVM(nu=0.2).fit(X)
    labels, scores = run(model, X)
    expected = model.decision_function(X)
    clear = np.abs(expected) > 1e-9  # the sign of the others is rounding
    np.testing.assert_array_equal(labels[clear, 0], model.predict(X)[clear])
    np.testing.assert_allclose(scores[:, 0], expected, atol=DOUBLE * np.abs(expected).max())


def test_platt():
    model = SVC(probability=True).fit(X, y > 0)
    np.testing.assert_allclose(run(model, X, {"zipmap": False})[1], model.predict_proba(X))


def test_in_a_pipeline():
    model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, NAMES)
    data = X.astype(np.float32)
    np.testing.assert_array_equal(run(model, data)[0], model.predict(data))


def test_what_cannot_be_converted():
    with pytest.raises(NotImplementedError, match="Matern"):
        run(KernelRegressor(kernel="matern").fit(BODY, DISEASE), BODY)
    with pytest.raises(ValueError, match=r"options=\{'zipmap': False\}"):
        run(SVC().fit(X, y), X)
    with pytest.raises(NotImplementedError, match="probability=False"):
        run(SVC(probability=True).fit(X, y), X, {"zipmap": False})


def test_every_estimator_has_a_converter():
    covered = {type(model) for model in (*CLASSIFIERS, *REGRESSORS)}
    assert set(resolvent.onnx.ESTIMATORS) == covered | {OneClassSVM}
