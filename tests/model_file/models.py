"""A model of every kind, to save."""

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes, load_iris

from resolvent import (
    KernelClassifier,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    LinearClassifier,
    LinearRegressor,
)
from resolvent.kernels import RBF, Constant, Matern, Polynomial
from resolvent.losses import EpsilonInsensitive, Huber
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

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
    "sparse SVC": (SVC(gamma=0.5), csr_matrix(IRIS), NAMES),
    "SVR": (SVR(kernel=Matern(2.5, 0.3), C=10.0), BODY, DISEASE),
    "LinearSVC": (LinearSVC(), IRIS, NAMES),
    "LinearSVC of two": (LinearSVC(multi_class="crammer_singer"), IRIS[TWO], SPECIES[TWO]),
    "LinearSVR": (LinearSVR(), BODY, DISEASE),
    "NuSVC": (NuSVC(nu=0.2), IRIS, NAMES),
    "NuSVC of two": (NuSVC(nu=0.2, kernel="linear"), csr_matrix(IRIS[TWO]), SPECIES[TWO]),
    "NuSVR": (NuSVR(nu=0.2), BODY, DISEASE),
    "OneClassSVM": (OneClassSVM(nu=0.2), IRIS, None),
}


def fitted(name):
    model, X, y = CASES[name]
    return model.fit(X, y), X
