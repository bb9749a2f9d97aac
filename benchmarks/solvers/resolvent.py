"""This library, through its estimators."""

import numpy as np

import resolvent
import resolvent.svm
from benchmarks.objective import HUBER_DELTA, MARGIN_LOSSES, QUANTILE
from benchmarks.solvers import EstimatorSolver
from resolvent.losses import EpsilonInsensitive, Huber, Pinball

PARAMETRISED = {
    "epsilon_insensitive": lambda epsilon: EpsilonInsensitive(epsilon),
    "huber": lambda _: Huber(HUBER_DELTA),
    "pinball": lambda _: Pinball(QUANTILE),
}


class Solver(EstimatorSolver):
    name = "resolvent"
    requirements = ("resolvent",)
    default_tol = 1e-5

    def __init__(self, solver=None):
        self.solver = (
            solver  # None takes the estimator with scikit-learn's name, where there is one
        )

    def estimator(self, loss, kernel, C, gamma, epsilon, fit_intercept):
        """Choose the estimator that a user would take."""
        tol, memory = self.tol, f"{self.memory}MB"
        loss_object = PARAMETRISED.get(loss, lambda _: loss)(epsilon)
        if kernel == "linear":
            kind = (
                resolvent.LinearClassifier if loss in MARGIN_LOSSES else resolvent.LinearRegressor
            )
            solver = self.solver or "auto"
            units = {} if loss in MARGIN_LOSSES else {"normalize_y": False}
            return kind(
                loss_object, C=C, fit_intercept=fit_intercept, tol=tol, solver=solver, **units
            )
        # Of LIBSVM's machines `tol` is in its measure, 1e-3 for peers too, beside a gap of our
        # default; other gaps are asked of our own, but for several classes, one against one.
        usual = tol == self.default_tol
        several = loss == "hinge" and len(np.unique(self.y)) > 2
        as_libsvm = self.solver is None and fit_intercept and (usual or several)
        own = {"C": C, "gamma": gamma, "cache_size": self.memory} | ({} if usual else {"tol": tol})
        if as_libsvm and loss == "hinge":
            return resolvent.svm.SVC(**own)
        if as_libsvm and loss == "epsilon_insensitive":
            return resolvent.svm.SVR(epsilon=epsilon, **own)
        if self.solver is None and not fit_intercept and loss == "squared":
            return resolvent.KernelRidge(
                1.0 / C, kernel="rbf", gamma=gamma, tol=tol, memory_limit=memory
            )
        units = {} if loss in MARGIN_LOSSES else {"normalize_y": False}  # all in those of the data
        kind = resolvent.KernelClassifier if loss in MARGIN_LOSSES else resolvent.KernelRegressor
        return kind(
            loss_object,
            kernel="rbf",
            C=C,
            gamma=gamma,
            fit_intercept=fit_intercept,
            solver=self.solver or "auto",
            tol=tol,
            memory_limit=memory,
            **units,
        )

    def certificate(self):
        """Lower bound and history, summed over the problems.

        Problems that are solved one by one, each with its own history, have none in common.
        """
        model = self.model
        together = np.size(model.objective_) == np.size(model.history_[0].primal)
        records = model.history_ if together else []
        history = [[r.seconds, float(np.sum(r.primal))] for r in records]
        return {
            "status": str(model.status_),
            "claimed": float(np.sum(model.objective_)),
            "bound": float(np.sum(model.objective_) - np.sum(model.dual_gap_)),
            "history": history[:: max(1, len(history) // 200)] + history[-1:],
        }
