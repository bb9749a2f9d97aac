"""Support vector machines with scikit-learn's names, attributes and shapes.

Change the import and get the same answers, with a certificate. `tol` is what LIBSVM means by it, a
largest violation of the optimality conditions, and the relative duality gap is at most 1e-5 too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from resolvent._random import as_generator
from resolvent.estimators import _platt
from resolvent.estimators._libsvm import USUAL_CACHE, SupportVectorMachine
from resolvent.estimators.classes import as_columns, as_decision, class_factors, pairs
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.compat import (
    PROBABILITY_IS_DEPRECATED,
    constraints,
    deprecated_property,
)
from resolvent.estimators.expansion import take_rows
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import MachineRegressor
from resolvent.grams import as_gram
from resolvent.losses import LOSSES, as_loss

__all__ = ["SVC", "SVR"]


FOLD_TOL = 1e-4  # relative duality gap of the fits to parts, of which two numbers are made
FORMED = 2000  # samples up to which the kernel matrix of a pair of classes is formed for its folds


def _has_probabilities(machine: Any) -> bool:
    """Whether they are asked for; if not, say so."""
    if machine.probability == "deprecated" or not machine.probability:
        raise AttributeError(
            "predict_proba is not available when probability=False; "
            "KernelClassifier(loss='logistic') has probabilities that agree with its predictions."
        )
    return True


class SVC(MachineClassifier, SupportVectorMachine):
    """C-support vector classification, as scikit-learn's, with a certificate.

    Several classes are handled one-vs-one; all pairs share one kernel matrix.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        The kernel; further names as in :class:`resolvent.KernelClassifier`.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    shrinking : bool, default=True
        Accepted for compatibility; it does not change the solution.
    probability : bool or "deprecated", default="deprecated"
        Whether to fit Platt's sigmoid to out-of-fold scores, for `predict_proba`; "deprecated" is
        False. Its probabilities may contradict the predictions and it takes five further fits:
        ``KernelClassifier(loss="logistic")`` has neither fault. scikit-learn removes it in 1.11.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in LIBSVM; the relative duality gap is
        at most `tol`, and 1e-5, as well.
    cache_size : float or None, default=200
        Memory for rows of the kernel matrix, in megabytes; None and scikit-learn's default of 200
        are a quarter of what is free.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes.
    verbose : bool, default=False
        Whether to report progress through the logger "resolvent".
    max_iter : int, default=-1
        Largest number of iterations, see :func:`resolvent.solve`; -1 is the solver's default.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        One value for each class, or for each pair.
    break_ties : bool, default=False
        Whether ties among the votes are decided by the decision function; needs "ovr".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds for `probability`; None is a fixed seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors, class by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Their number in each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_support)
        Coefficients, in LIBSVM's arrangement; sparse if the support vectors are.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Offsets.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights, for the linear kernel.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The sigmoids of the pairs, with LIBSVM's signs; empty without `probability`.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C for the classes.
    fit_status_ : int
        0 if the tolerance was reached.
    dual_gap_, objective_, status_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from resolvent.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10.0).fit(X, y)
    >>> model.n_support_.shape, model.status_.name
    ((3,), 'CONVERGED')
    """

    _parameter_constraints = constraints(sklearn.svm.SVC)
    _probA = _probB = np.empty(0)

    def __init__(
        self,
        *,
        C: float = 1.0,
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
        self.C = C
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for a precomputed kernel, its matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C.

        Returns
        -------
        SVC
        """
        if self.probability != "deprecated" and PROBABILITY_IS_DEPRECATED:
            warnings.warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be "
                "removed in version 1.11: use KernelClassifier(loss='logistic'), whose "
                "probabilities agree with its predictions, or CalibratedClassifierCV(SVC(), "
                "ensemble=False).",
                FutureWarning,
                stacklevel=3,
            )
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f"decision_function_shape={self.decision_function_shape!r} must be 'ovr' or 'ovo'."
            )
        data, codes = self._read_classes(X, y, sample_weight)
        k = len(self.classes_)
        self.class_weight_ = class_factors(self.class_weight, self.classes_, codes, data.weight)
        signs, inside = as_columns(codes, k, "ovo")
        weight = data.weight * self.class_weight_[codes]
        kernel, K = self._kernel_matrix(data)
        weights = weight[:, None] * inside
        fit = self._solve_support(K, as_loss("hinge"), signs, weights, self._finite_C(K))
        self._keep_support(data, kernel, fit)
        # LIBSVM's arrangement of support vectors is class by class.
        self._sort_support(codes[np.flatnonzero(fit.coef.any(axis=1))])
        return self

    def _limits(self, targets: np.ndarray) -> tuple[Any, Any]:
        return np.minimum(targets, 0.0), np.maximum(targets, 0.0)

    def _set_certificate(self, gap: np.ndarray, objective: np.ndarray, n_iter: np.ndarray) -> None:
        super()._set_certificate(gap, objective, n_iter)
        self.n_iter_ = n_iter  # an array for two classes too, as scikit-learn's

    def _calibrate(
        self, K: Any, weight: np.ndarray, targets: np.ndarray, settings: dict[str, Any]
    ) -> None:
        self._probA, self._probB = np.empty((2, 0))  # not those of an earlier fit
        if self.probability == "deprecated" or not self.probability:
            return
        rng = as_generator(self.random_state)
        sigmoids = []
        for signs, own in zip(targets.T, weight.T, strict=True):
            rows = np.flatnonzero(own)
            part = K.restricted(rows) if len(rows) > FORMED else as_gram(K.block(rows, rows))
            first = signs[rows] == (-1 if targets.shape[1] == 1 else 1)
            fold = _platt.make_folds(first, rng)
            scores = _platt.out_of_fold_scores(
                part, signs[rows], own[rows], fold, **(settings | {"tol": FOLD_TOL})
            )
            # In LIBSVM the first class of a pair is the positive one, also where there are two.
            scores *= signs[rows][first][0]
            sigmoids.append(_platt.fit_sigmoid(scores, first))
        self._probA, self._probB = np.array(sigmoids).T

    def _sort_support(self, codes: np.ndarray) -> None:
        """Arrange the support vectors class by class, as LIBSVM does."""
        order = np.argsort(codes, kind="stable")
        expansion = self._expansion
        self.support_ = self.support_[order]
        expansion.rows = take_rows(expansion.rows, order)
        expansion.coef = expansion.coef[order]
        self._arrange_pairs(codes[order])

    def _arrange_pairs(self, codes: np.ndarray) -> None:
        """Set the coefficients in LIBSVM's arrangement, for classes in rising order."""
        k = len(self.classes_)
        expansion = self._expansion
        self.n_support_ = np.bincount(codes, minlength=k).astype(np.int32)
        self.intercept_ = expansion.intercept
        coef = expansion.coef.T
        if k > 2:
            # Row r of a column holds the coefficient against the r-th of the other classes.
            coef = np.zeros((k - 1, len(codes)))
            for p, (i, j) in enumerate(pairs(k)):
                first, second = codes == i, codes == j
                coef[j - 1, first] = expansion.coef[first, p]
                coef[i, second] = expansion.coef[second, p]
        self.dual_coef_ = self._as_rows(coef)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        k = len(self.classes_)
        if k > 2 and self.decision_function_shape == "ovo":
            return scores
        return as_decision(scores, k, "ovo")

    def predict(self, X: Any) -> np.ndarray:
        """Classes of samples, by the votes of the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; set "
                "decision_function_shape='ovr'."
            )
        scores = self._scores(X)
        k = len(self.classes_)
        if k == 2:
            return self.classes_[(scores[:, 0] > 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[as_decision(scores, k, "ovo").argmax(axis=1)]
        votes = np.zeros((len(scores), k))
        for p, (i, j) in enumerate(pairs(k)):
            first = scores[:, p] > 0
            votes[first, i] += 1
            votes[~first, j] += 1
        return self.classes_[votes.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, by Platt's sigmoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        k = len(self.classes_)
        scores = -scores if k == 2 else scores  # positive for the first class
        return _platt.couple(_platt.pair_probabilities(scores, self._probA, self._probB), k)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    probA_ = deprecated_property("probA_")
    probB_ = deprecated_property("probB_")


class SVR(MachineRegressor, SupportVectorMachine):
    """Epsilon-support vector regression, as scikit-learn's, with a certificate.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        The kernel; further names as in :class:`resolvent.KernelRegressor`.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in LIBSVM; the relative duality gap is
        at most `tol`, and 1e-5, as well.
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Residuals up to this size cost nothing.
    shrinking : bool, default=True
        Accepted for compatibility; it does not change the solution.
    cache_size : float or None, default=200
        Memory for rows of the kernel matrix, in megabytes; None and scikit-learn's default of 200
        are a quarter of what is free.
    verbose : bool, default=False
        Whether to report progress through the logger "resolvent".
    max_iter : int, default=-1
        Largest number of iterations, see :func:`resolvent.solve`; -1 is the solver's default.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients.
    intercept_ : ndarray of shape (1,)
        Offset.
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel.
    fit_status_ : int
        0 if the tolerance was reached.
    dual_gap_, objective_, status_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent.svm import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints = constraints(sklearn.svm.SVR)

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | None = USUAL_CACHE,
        verbose: bool = False,
        max_iter: int = -1,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
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
        SVR
        """
        loss = self._target_loss(LOSSES["epsilon_insensitive"](self.epsilon))
        data = self._read_targets(X, y, sample_weight, multi_output=False)
        kernel, K = self._kernel_matrix(data)
        weight = data.weight[:, None]
        fit = self._solve_support(K, loss, data.y, weight, self._finite_C(K))
        self._keep_support(data, kernel, fit)
        self._arrange()
        return self

    def _limits(self, targets: np.ndarray) -> tuple[Any, Any]:
        return -1.0, 1.0
