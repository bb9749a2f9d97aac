"""The machines with nu in the place of C or epsilon, as scikit-learn's."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import sklearn.svm

from resolvent._clock import Clock
from resolvent.estimators._libsvm import (
    GAP,
    USUAL_CACHE,
    SupportVectorMachine,
    formed_if_small,
)
from resolvent.estimators._nu import Margin, NuProblem, Tube
from resolvent.estimators._nu_search import Search
from resolvent.estimators.base import Data
from resolvent.estimators.compat import FitProgress, constraints
from resolvent.estimators.descriptions import DROP_INS, described
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import MachineRegressor
from resolvent.estimators.svc import FORMED, SupportVectorClassifier
from resolvent.fitting import Fit
from resolvent.grams import Gram, as_gram
from resolvent.kernels.base import is_number
from resolvent.losses import LOSSES
from resolvent.problem import Record, Solution, Status, times_weight

__all__ = ["NuSVC", "NuSVR"]

TINY = 1e-200


class NuMachine(SupportVectorMachine):
    """What the machines with nu share."""

    nu: float

    def _check_nu(self) -> None:
        if not is_number(self.nu) or not 0.0 < self.nu <= 1.0:
            raise ValueError(f"nu={self.nu!r} must be a number above 0 and at most 1.")

    def _settings(self) -> dict[str, Any]:
        return {
            "fit_intercept": True,
            "tol": min(self.tol, GAP),
            "max_iter": None if self.max_iter == -1 else self.max_iter,
        }

    def _search(self, problems: list[NuProblem]) -> list[Search]:
        """Solve the problems one after the other and describe the fit."""
        clock, progress = Clock(), FitProgress(self)

        def report(record: Record) -> bool:
            self._log(record)
            return progress.report()

        searches: list[Search] = []
        status = Status.CONVERGED
        for problem in problems:
            searches.append(Search(problem, self._settings(), self.tol, report))
            if status in (Status.CALLBACK, Status.INTERRUPTED):
                searches[-1].conclude(status)
            else:
                searches[-1].run()
            status = searches[-1].solution.status
        progress.end()
        self._describe([search.solution for search in searches], clock.seconds)
        self.fit_status_ = int(self.status_ > Status.PRECISION_LIMIT)
        return searches


@described(DROP_INS)
class NuSVC(SupportVectorClassifier, NuMachine):
    """nu-support vector classification, as scikit-learn's, with a certificate.

    For each pair of classes it minimises ``|f|^2 / 2 + sum_i w_i (rho - y_i s_i)+ - nu W rho`` over
    the function f, its offset and the margin rho, where s_i are the scores, w_i the weights and W
    their sum. Scores are then in units of rho: it is `SVC` with ``C = 1 / rho``. At most the share
    nu of the samples is on the wrong side of the margin, and at least that share are support
    vectors.

    Parameters
    ----------
    nu : float
        The share, above 0 and at most twice that of the smaller class of each pair.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, Kernel or callable
        The kernel; further names as in :class:`resolvent.KernelClassifier`.
    probability : bool or "deprecated"
        As in :class:`resolvent.svm.SVC`; the out-of-fold scores are those of ``C = 1 / rho``.
    class_weight : dict, "balanced" or None
        Sets `class_weight_`, and has no effect on the solution, as in LIBSVM, where it is a factor
        of the C that there is none of. Give `sample_weight` instead.
    max_iter : int
        Largest number of iterations for a pair; -1 is the solver's default.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, probA_, probB_
        As in :class:`resolvent.svm.SVC`.
    class_weight_, fit_status_, shape_fit_
        As in :class:`resolvent.svm.SVC`.
    dual_gap_, objective_, status_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelClassifier`, of the problem with nu; a line of `history_` is
        that of a solution for one more margin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from resolvent.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.2).fit(X, y)
    >>> model.status_.name, bool(model.score(X, y) > 0.95)
    ('CONVERGED', True)
    """

    _parameter_constraints = constraints(sklearn.svm.NuSVC)

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float | None = USUAL_CACHE,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVC:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for a precomputed kernel, its matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        NuSVC
        """
        self._check_nu()
        self._fit_pairs(X, y, sample_weight)
        return self

    def _check_pairs(self, data: Data, codes: np.ndarray) -> None:
        totals, labels = np.bincount(codes, data.weight), self.classes_.tolist()
        for i, j in combinations(range(len(totals)), 2):
            most = 2.0 * min(totals[i], totals[j]) / (totals[i] + totals[j])
            if self.nu > most * (1.0 + 1e-12):
                raise ValueError(
                    f"specified nu is infeasible: nu={self.nu:g} must be at most {most:.4g}, twice "
                    f"the share of the smaller of the classes {labels[i]!r} and "
                    f"{labels[j]!r} among the samples of both, by weight."
                )

    def _solve_pairs(
        self, K: Gram, signs: np.ndarray, inside: np.ndarray, data: Data, codes: np.ndarray
    ) -> Fit:
        problems: list[NuProblem] = []
        parts = [np.flatnonzero(pair) for pair in inside.T]
        for rows, y in zip(parts, signs.T, strict=True):
            weight = data.weight[rows]
            part = formed_if_small(_part(K, rows), K.n / max(K.centred().trace, TINY), 1.0)
            problems.append(Margin(part, y[rows].astype(float), weight, self.nu * weight.sum()))
        searches = self._search(problems)
        coef = np.zeros(signs.shape, order="F")
        weight = data.weight[:, None] * inside
        for p, (rows, search) in enumerate(zip(parts, searches, strict=True)):
            coef[rows, p] = search.solution.coef
            weight[:, p] /= search.problem.unit(search.best.size)
        self._calibrate(K, weight, signs, self._settings())
        return _gather(coef, [search.solution for search in searches], self.fit_time_)


@described(DROP_INS)
class NuSVR(MachineRegressor, NuMachine):
    """nu-support vector regression, as scikit-learn's, with a certificate.

    Minimises ``|f|^2 / 2 + C sum_i w_i (|y_i - s_i| - epsilon)+ + C nu W epsilon`` over a function
    f, its offset and epsilon >= 0, where s_i are the scores, w_i the weights and W their sum. At
    most the share nu of the samples is outside of the tube, and at least that share are support
    vectors.

    Parameters
    ----------
    nu : float
        The share, above 0 and at most 1.
    max_iter : int
        Largest number of iterations; -1 is the solver's default.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_
    epsilon_ : float
        Half of the width of the tube.
    dual_gap_, objective_, status_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelRegressor`, of the problem with nu; a line of `history_` is
        that of a solution for one more tube.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.svm import NuSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * (-1.0) ** np.arange(50)
    >>> model = NuSVR(C=10.0, nu=0.3).fit(X, y)
    >>> bool(0.05 < model.epsilon_ < 0.15)
    True
    """

    _parameter_constraints = constraints(sklearn.svm.NuSVR)

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = USUAL_CACHE,
        verbose: bool = False,
        max_iter: int = -1,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVR:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for a precomputed kernel, its matrix.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C.

        Returns
        -------
        NuSVR
        """
        self._check_nu()
        data = self._read_targets(X, y, sample_weight, multi_output=False)
        kernel, K = self._kernel_matrix(data)
        C, targets = self._finite_C(K), data.y[:, 0]
        matrix = formed_if_small(K, C, float(np.abs(targets).max()))
        weight = times_weight(C, data.weight)
        search = self._search([Tube(matrix, targets, weight, self.nu * weight.sum())])[0]
        self._target_loss(LOSSES["epsilon_insensitive"](max(search.best.size, 0.0)))
        coef = search.solution.coef[:, None]
        self._keep_support(data, kernel, _gather(coef, [search.solution], self.fit_time_))
        self._arrange()
        return self

    @property
    def epsilon_(self) -> float:
        """Half of the width of the tube."""
        return float(self._loss.epsilon)


def _part(K: Gram, rows: np.ndarray) -> Gram:
    """Matrix of some samples; formed if they are few."""
    if len(rows) == K.n:
        return K
    few = len(rows) <= FORMED and not K.factored
    return as_gram(K.block(rows, rows)) if few else K.restricted(rows)


def _gather(coef: np.ndarray, solutions: list[Solution], seconds: float) -> Fit:
    """Coefficients, offsets and, for a linear kernel, weights of all problems."""
    weights = [s.weights for s in solutions if s.weights is not None]
    offsets = np.concatenate([s.intercept for s in solutions])
    found = np.vstack(weights) if len(weights) == len(solutions) else None
    return Fit(coef, offsets, found, solutions, seconds)
