"""Support vector machines with scikit-learn's names, attributes and shapes.

Change the import and get the same answers, with a certificate. `tol` is what LIBSVM means by it, a
largest violation of the optimality conditions, and the relative duality gap is at most 1e-5 too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.svm

from resolvent.estimators._libsvm import USUAL_CACHE, SupportVectorMachine
from resolvent.estimators.base import Data
from resolvent.estimators.compat import constraints
from resolvent.estimators.descriptions import DROP_INS, described
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import MachineRegressor
from resolvent.estimators.svc import SupportVectorClassifier
from resolvent.fitting import Fit
from resolvent.grams import Gram
from resolvent.losses import LOSSES, as_loss

__all__ = ["SVC", "SVR"]


@described(DROP_INS)
class SVC(SupportVectorClassifier):
    """C-support vector classification, as scikit-learn's, with a certificate.

    Several classes are handled one-vs-one; all pairs share one kernel matrix.

    Parameters
    ----------
    C : float
        Weight of the hinge loss.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, Kernel or callable
        The kernel; further names as in :class:`resolvent.KernelClassifier`.
    probability : bool or "deprecated"
        Whether to fit Platt's sigmoid to out-of-fold scores, for `predict_proba`; "deprecated" is
        False. Its probabilities may contradict the predictions and it takes five further fits:
        ``KernelClassifier(loss="logistic")`` has neither fault. scikit-learn removes it in 1.11.

    Attributes
    ----------
    classes_
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors, class by class.
    support_vectors_
    n_support_ : ndarray of shape (n_classes,)
        Their number in each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_support)
        Coefficients, in LIBSVM's arrangement; sparse if the support vectors are.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights, for the linear kernel.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The sigmoids of the pairs, with LIBSVM's signs; empty without `probability`.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C for the classes.
    fit_status_
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
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
        self._fit_pairs(X, y, sample_weight)
        return self

    def _solve_pairs(
        self, K: Gram, signs: np.ndarray, inside: np.ndarray, data: Data, codes: np.ndarray
    ) -> Fit:
        weights = (data.weight * self.class_weight_[codes])[:, None] * inside
        return self._solve_support(
            K,
            as_loss("hinge"),
            signs,
            weights,
            self._finite_C(K),
            lambda targets: (np.minimum(targets, 0.0), np.maximum(targets, 0.0)),
        )


@described(DROP_INS)
class SVR(MachineRegressor, SupportVectorMachine):
    """Epsilon-support vector regression, as scikit-learn's, with a certificate.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    support_vectors_
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients.
    intercept_
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel.
    fit_status_
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_

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
        C = self._finite_C(K)
        fit = self._solve_support(K, loss, data.y, weight, C, lambda _: (-1.0, 1.0))
        self._keep_support(data, kernel, fit)
        self._arrange()
        return self
