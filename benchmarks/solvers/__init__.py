"""The solvers that are compared, one file each, with a class `Solver` as in benchopt.

A solver is made with its parameters, told the problem once (`set_objective`, not timed), fitted
(`run`), asked for predictions (`predict`), and read out (`get_result`, not timed). `skip` says why
a problem is not for it. A package that is not installed, or does not load, is skipped with a word.
"""

from importlib import import_module
from itertools import combinations

import numpy as np

MODULES = {
    "resolvent": "resolvent",
    "scikit-learn": "scikit_learn",
    "scikit-learn-intelex": "scikit_learn_intelex",
    "LIBLINEAR": "liblinear",
    "ThunderSVM": "thundersvm",
}


def make(name):
    """Solver by a name such as "scikit-learn" or, with parameters, "resolvent[solver=newton]"."""
    base, _, parameters = name.rstrip("]").partition("[")
    settings = dict(item.split("=") for item in parameters.split(",") if item)
    return import_module(f"benchmarks.solvers.{MODULES[base]}").Solver(**settings)


class EstimatorSolver:
    """What the solvers with scikit-learn's interface share; one makes an estimator in `estimator`.

    `run` fits a fresh estimator, so that nothing is kept from the last fit.
    """

    default_tol = 1e-3

    def skip(self, **objective):
        """Reason why a problem is not for this solver, or None."""
        return None

    def set_objective(self, X, y, tol, memory, **objective):
        self.X, self.y, self.memory = X, y, memory
        self.tol = tol or self.default_tol
        self.objective = objective

    def run(self):
        self.model = self.estimator(**self.objective).fit(self.X, self.y)

    def predict(self, X):
        return self.model.predict(X)

    def get_result(self):
        """Coefficients and offsets as `Objective.evaluate_result` wants them."""
        model = self.model
        if self.objective["kernel"] == "linear":
            parts = getattr(model, "estimators_", [model])  # one for each class, or all in one
            coef = np.vstack([part.coef_ for part in parts]).astype(np.float64).T
            return {"coef": coef, "intercept": np.zeros(coef.shape[1])}
        dual = np.atleast_2d(np.asarray(model.dual_coef_, dtype=np.float64))
        offset = np.ravel(getattr(model, "intercept_", 0.0))
        classes = len(getattr(model, "classes_", "ab"))
        if classes > 2:
            dual = pair_coefficients(dual, np.repeat(np.arange(classes), model.n_support_), classes)
        # Kernel ridge gives a coefficient for every row, zero or not.
        rows = slice(None) if dual.shape[1] == len(self.y) else model.support_
        coef = np.zeros((len(self.y), len(dual)))
        coef[rows] = dual.T
        return {"coef": coef, "intercept": offset}

    def certificate(self):
        """What the solver claims of itself, for the lower bound and the curve; {} if nothing."""
        return {}


def pair_coefficients(dual, codes, classes):
    """Unfold LIBSVM's arrangement: row r of a support vector is against the r-th other class."""
    pairs = list(combinations(range(classes), 2))
    result = np.zeros((len(pairs), len(codes)))
    for p, (i, j) in enumerate(pairs):
        result[p, codes == i] = dual[j - 1, codes == i]
        result[p, codes == j] = dual[i, codes == j]
    return result
