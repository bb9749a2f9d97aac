"""ThunderSVM on the CPU.

The wheel of the package index needs CUDA 9 to load, even to run on the CPU, and is skipped
elsewhere; build ThunderSVM from source with -DUSE_CUDA=OFF to have it here.
"""

from thundersvm import SVC, SVR

from benchmarks.solvers import EstimatorSolver


class Solver(EstimatorSolver):
    name = "ThunderSVM"
    requirements = ("thundersvm",)

    def skip(self, kernel, loss, **objective):
        known = kernel == "rbf" and loss in ("hinge", "epsilon_insensitive")
        return None if known else f"has no {loss} loss with the {kernel} kernel"

    def estimator(self, loss, kernel, C, gamma, epsilon, fit_intercept):
        settings = {"C": C, "gamma": gamma, "tol": self.tol, "max_mem_size": self.memory}
        return SVC(**settings) if loss == "hinge" else SVR(epsilon=epsilon, **settings)
