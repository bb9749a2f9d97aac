"""scikit-learn: LIBSVM with a kernel, LIBLINEAR and L-BFGS without, a direct solve for ridge."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC

from benchmarks.solvers import EstimatorSolver

KNOWN = {
    ("rbf", "hinge"),
    ("rbf", "epsilon_insensitive"),
    ("rbf", "squared"),
    ("linear", "hinge"),
    ("linear", "squared_hinge"),
    ("linear", "logistic"),
}


class Solver(EstimatorSolver):
    name = "scikit-learn"
    requirements = ("scikit-learn",)
    machines = SVC, SVR

    def __init__(self, cache_size=None):
        self.cache_size = cache_size  # megabytes; None is what the problem allows

    def skip(self, kernel, loss, **objective):
        return None if (kernel, loss) in KNOWN else f"has no {loss} loss with the {kernel} kernel"

    def set_objective(self, kernel, tol, **objective):
        if kernel == "linear":
            tol = tol or 1e-4  # the default of LinearSVC and LogisticRegression
        super().set_objective(kernel=kernel, tol=tol, **objective)

    def run(self):
        with warnings.catch_warnings():  # LinearSVC stops after 1,000 sweeps: its distance shows it
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().run()

    def estimator(self, loss, kernel, C, gamma, epsilon, fit_intercept):
        tol = self.tol
        if kernel == "linear" and loss == "logistic":
            model = LogisticRegression(C=C, tol=tol, fit_intercept=fit_intercept, max_iter=1000)
            return OneVsRestClassifier(model) if len(set(self.y)) > 2 else model
        if kernel == "linear":
            return LinearSVC(loss=loss, C=C, tol=tol, fit_intercept=fit_intercept, random_state=0)
        if loss == "squared":
            return KernelRidge(alpha=1.0 / C, kernel="rbf", gamma=gamma)
        memory = float(self.cache_size or self.memory)
        if loss == "hinge":
            return self.machines[0](C=C, gamma=gamma, tol=tol, cache_size=memory)
        return self.machines[1](C=C, gamma=gamma, epsilon=epsilon, tol=tol, cache_size=memory)
