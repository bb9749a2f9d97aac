"""LIBLINEAR by its own interface (package liblinear-official).

Its own copy of the data is made in `set_objective`, which is not timed, and predictions are a
product with the weights it found: both are kinder to it than its Python functions.
"""

import numpy as np
import scipy.sparse as sp
from liblinear.liblinearutil import problem, train

TYPES = {"hinge": 3, "squared_hinge": 1, "logistic": 0}


class Solver:
    name = "LIBLINEAR"
    requirements = ("liblinear-official",)
    default_tol = 1e-3

    def skip(self, kernel, loss, fit_intercept, **objective):
        if kernel != "linear" or loss not in TYPES:
            return f"has no {loss} loss with the {kernel} kernel"
        return "penalises the offset" if fit_intercept else None

    def set_objective(self, X, y, tol, memory, loss, C, **objective):
        self.classes, codes = np.unique(y, return_inverse=True)
        self.problem = problem(codes.astype(float), sp.csr_matrix(X, dtype=np.float64))
        self.tol = tol or self.default_tol
        self.options = f"-s {TYPES[loss]} -c {C} -e {self.tol} -B -1 -q"

    def run(self):
        self.model = train(self.problem, self.options)

    def predict(self, X):
        scores = X @ self.weights()
        if len(self.classes) == 2:
            return self.classes[(scores[:, 0] > 0).astype(int)]
        return self.classes[scores.argmax(axis=1)]

    def weights(self):
        """Weights (features, problems), the problems in the order of the classes."""
        columns = 1 if len(self.classes) == 2 else len(self.classes)
        features = self.model.get_nr_feature()
        flat = np.ctypeslib.as_array(self.model.w, (features * columns,))
        weights = flat.reshape(features, columns)
        labels = np.array(self.model.get_labels(), dtype=int)
        if columns == 1:  # positive for the class it met first
            return weights if labels[0] == 1 else -weights
        return weights[:, np.argsort(labels)]

    def get_result(self):
        weights = self.weights()
        return {"coef": weights, "intercept": np.zeros(weights.shape[1])}

    def certificate(self):
        return {}
