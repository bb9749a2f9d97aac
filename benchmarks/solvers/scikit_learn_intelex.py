"""scikit-learn-intelex: oneDAL's support vector machines behind scikit-learn's interface."""

from sklearnex.svm import SVC, SVR

from benchmarks.solvers import scikit_learn


class Solver(scikit_learn.Solver):
    name = "scikit-learn-intelex"
    requirements = ("scikit-learn-intelex",)
    machines = SVC, SVR

    def skip(self, kernel, loss, **objective):
        if kernel == "linear" or loss == "squared":
            return "is scikit-learn's here"
        return super().skip(kernel, loss, **objective)
