"""A use of each package that builds on scikit-learn's support vector machines or kernel ridge.

Each function imports what it needs, so that a patch made before reaches it, and returns the answers
as a dict of numbers: labels, scores, probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _iris(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X[y < n_classes], y[y < n_classes]


def _series(n: int = 40, length: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Sine waves of two frequencies with noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    t = np.linspace(0.0, 2.0 * np.pi, length)
    waves = np.sin((1.0 + y[:, None]) * t + rng.uniform(0.0, 1.0, (n, 1)))
    return waves + 0.3 * rng.normal(size=(n, length)), y


def scikit_learn() -> dict[str, Any]:
    """A pipeline in a grid search, with probabilities."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = load_breast_cancer(return_X_y=True)
    machine = SVC(C=10, probability=True, class_weight="balanced", random_state=0)
    grid = {"svc__C": [1, 10], "svc__gamma": [0.01, 0.1]}
    model = make_pipeline(StandardScaler(), machine)
    search = GridSearchCV(model, grid, scoring="roc_auc", cv=3).fit(X, y)
    return {
        "score": search.cv_results_["mean_test_score"],
        "label": search.predict(X),
        "probability": search.predict_proba(X),
    }


def pyriemann() -> dict[str, Any]:
    """`pyriemann.classification.SVC`, derived from scikit-learn's."""
    from pyriemann.classification import SVC

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    A = rng.normal(size=(60, 4, 30)) * (1.0 + 0.5 * y[:, None, None] * np.eye(4)[0][:, None])
    X = A @ A.transpose(0, 2, 1) / 30
    model = SVC(metric="riemann").fit(X, y)
    return {"label": model.predict(X), "score": model.decision_function(X)}


def tslearn() -> dict[str, Any]:
    """`TimeSeriesSVC` and `TimeSeriesSVR` with the global alignment kernel."""
    from tslearn.svm import TimeSeriesSVC, TimeSeriesSVR

    X, y = _series()
    model = TimeSeriesSVC(kernel="gak", gamma=5.0).fit(X, y)
    regressor = TimeSeriesSVR(kernel="gak", gamma=5.0).fit(X, y.astype(float))
    return {
        "label": model.predict(X),
        "score": model.decision_function(X),
        "prediction": regressor.predict(X),
    }


def sktime() -> dict[str, Any]:
    """`TimeSeriesSVC` with a kernel of means of distances."""
    from sktime.classification.kernel_based import TimeSeriesSVC

    X, y = _series()
    model = TimeSeriesSVC(random_state=0).fit(X[:, None, :], y)
    return {"label": model.predict(X[:, None, :]).astype(float)}


def imbalanced_learn() -> dict[str, Any]:
    """`SVMSMOTE`, which samples between the support vectors of an `SVC`."""
    from imblearn.over_sampling import SVMSMOTE

    X, y = _iris()
    X, y = X[40:115], (y[40:115] == 2).astype(int)
    found, labels = SVMSMOTE(random_state=0).fit_resample(X, y)
    return {"label": labels, "samples": found}


def shapiq() -> dict[str, Any]:
    """The exact Shapley values of product kernels, from the parts of an `SVR`."""
    from shapiq.explainer.product_kernel import ProductKernelExplainer
    from sklearn.svm import SVR

    X, _ = _iris()
    model = SVR(gamma=0.5, tol=1e-6).fit(X[:, :3], X[:, 3])
    values = ProductKernelExplainer(model=model).explain(X[0, :3])
    return {"value": np.sort(values.values)}


def onnx() -> dict[str, Any]:
    """A pipeline converted by skl2onnx and run by onnxruntime."""
    import contextlib

    import onnxruntime
    from skl2onnx import to_onnx
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    with contextlib.suppress(ImportError):
        import resolvent.onnx  # noqa: F401

    X, y = _iris()
    data = X.astype(np.float32)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    graph = to_onnx(model, data[:1], options={SVC: {"zipmap": False}})
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return {"label": session.run(None, {"X": data})[0]}


def mapie() -> dict[str, Any]:
    """Split conformal intervals around an `SVR`, and sets of classes by an `SVC`."""
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor
    from sklearn.svm import SVC, SVR

    X, y = _iris()
    rows = np.random.default_rng(0).permutation(len(X))
    fit, calibrate = rows[:75], rows[75:]
    regressor = SplitConformalRegressor(SVR(), prefit=False, confidence_level=0.9)
    regressor.fit(X[fit][:, 1:], X[fit, 0]).conformalize(X[calibrate][:, 1:], X[calibrate, 0])
    _, intervals = regressor.predict_interval(X[:, 1:])
    classifier = SplitConformalClassifier(
        SVC(probability=True, random_state=0), prefit=False, confidence_level=0.9
    )
    classifier.fit(X[fit], y[fit]).conformalize(X[calibrate], y[calibrate])
    labels, _ = classifier.predict_set(X)
    return {"interval": intervals[:, :, 0], "probability": labels}  # by Platt's sigmoid


def scikit_survival() -> dict[str, Any]:
    """`FastKernelSurvivalSVM`, which has a solver of its own, beside a kernel ridge."""
    from sklearn.kernel_ridge import KernelRidge
    from sksurv.svm import FastKernelSurvivalSVM
    from sksurv.util import Surv

    X, y = _iris()
    target = Surv.from_arrays(y > 0, X[:, 0] + 1.0)
    model = FastKernelSurvivalSVM(kernel="rbf", max_iter=50, random_state=0).fit(X[:, 1:], target)
    ridge = KernelRidge(kernel="rbf").fit(X[:, 1:], X[:, 0])
    return {"score": model.predict(X[:, 1:]), "prediction": ridge.predict(X[:, 1:])}


def grakel() -> dict[str, Any]:
    """The Weisfeiler-Lehman kernel of graphs, as a precomputed matrix."""
    from grakel import Graph
    from grakel.kernels import VertexHistogram, WeisfeilerLehman
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    graphs = []
    for label in y:
        A = np.triu(rng.random((8, 8)) < 0.3 + 0.3 * label, 1).astype(int)
        graphs.append(Graph(A + A.T, {i: int(d) for i, d in enumerate((A + A.T).sum(axis=0))}))
    K = WeisfeilerLehman(n_iter=2, base_graph_kernel=VertexHistogram).fit_transform(graphs)
    model = SVC(kernel="precomputed").fit(K, y)
    return {"label": model.predict(K), "score": model.decision_function(K)}


def qiskit() -> dict[str, Any]:
    """`QSVC` and `QSVR` with a fidelity kernel of state vectors."""
    from qiskit.circuit.library import zz_feature_map
    from qiskit_machine_learning.algorithms import QSVC, QSVR
    from qiskit_machine_learning.kernels import FidelityStatevectorKernel

    X, y = _iris(2)
    X = X[::3, :2] / 8.0
    kernel = FidelityStatevectorKernel(feature_map=zz_feature_map(2))
    model = QSVC(quantum_kernel=kernel).fit(X, y[::3])
    regressor = QSVR(quantum_kernel=kernel).fit(X, X[:, 0])
    return {
        "label": model.predict(X),
        "score": model.decision_function(X),
        "prediction": regressor.predict(X),
    }


USES = {
    "scikit-learn": scikit_learn,
    "pyriemann": pyriemann,
    "tslearn": tslearn,
    "sktime": sktime,
    "imbalanced-learn": imbalanced_learn,
    "shapiq": shapiq,
    "skl2onnx": onnx,
    "mapie": mapie,
    "scikit-survival": scikit_survival,
    "grakel": grakel,
    "qiskit-machine-learning": qiskit,
}
