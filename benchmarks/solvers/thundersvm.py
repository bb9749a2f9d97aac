"""ThunderSVM on the CPU (package thundersvm-cpu; thundersvm needs CUDA 9 to load)."""

import numpy as np
from thundersvm import SVC, SVR

from benchmarks.solvers import EstimatorSolver


class Solver(EstimatorSolver):
    name = "ThunderSVM"
    requirements = ("thundersvm-cpu",)

    def skip(self, kernel, loss, y, **objective):
        if kernel != "rbf" or loss not in ("hinge", "epsilon_insensitive"):
            return f"has no {loss} loss with the {kernel} kernel"
        several = loss == "hinge" and len(np.unique(y)) > 2
        return "has an order of its own for the pairs of several classes" if several else None

    def estimator(self, loss, kernel, C, gamma, epsilon, fit_intercept):
        settings = {"C": C, "gamma": gamma, "tol": self.tol, "max_mem_size": self.memory}
        return SVC(**settings) if loss == "hinge" else SVR(epsilon=epsilon, **settings)

    def get_result(self):
        """Coefficients and offset: it subtracts its intercept, and is for the class met first."""
        result = super().get_result()
        coef, offset = result["coef"], -result["intercept"]
        if self.objective["loss"] == "hinge" and self.y[0] == min(self.y):
            coef, offset = -coef, -offset
        return {"coef": coef, "intercept": offset}
