"""Support vector machines with scikit-learn's names, attributes and shapes.

Change the import and get the same answers, with a certificate. `tol` is the relative duality gap
here, not LIBSVM's violation of the optimality conditions: the default is the more accurate of the
two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators._base import Machine, checked_C
from resolvent.estimators._classes import as_columns, as_decision, class_factors, pairs
from resolvent.estimators._compat import with_callbacks
from resolvent.estimators._expansion import linear_weights, take_rows
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.regressor import MachineRegressor
from resolvent.kernels import Linear
from resolvent.losses import LOSSES, as_loss
from resolvent.problem import Status

__all__ = ["SVC", "SVR"]


class SupportVectorMachine(Machine):
    """What SVC and SVR share."""

    def _fit_support(
        self, data: Any, loss: Any, targets: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Fit all columns and keep the support vectors; return the coefficients (n, m)."""
        kernel = self._make_kernel(data)
        memory_limit = "auto" if self.cache_size is None else f"{self.cache_size}MB"
        coef, offset = self._solve(
            self._gram(data, kernel, memory_limit),
            loss,
            targets,
            weight,
            C=checked_C(self.C),
            fit_intercept=True,
            tol=self.tol,
            max_iter=None if self.max_iter == -1 else self.max_iter,
        )
        self._kernel = kernel
        self._gamma = getattr(kernel, "gamma", 0.0)  # tools that export scikit-learn's read it
        self._expand(data, kernel, coef, offset)
        self.fit_status_ = int(self.status_ > Status.PRECISION_LIMIT)
        self.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (len(data.X),)
        return coef

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed kernel."""
        return self._expansion.rows if self._kernel is not None else np.empty((0, 0))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for the linear kernel."""
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        return linear_weights(self._expansion.rows, self._expansion.coef)


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
    probability : bool, default=False
        Not supported: use ``KernelClassifier(loss="logistic")``, whose probabilities never
        contradict its predictions, or CalibratedClassifierCV.
    tol : float, default=1e-5
        Relative duality gap to reach.
    cache_size : float or None, default=None
        Advice on the memory for rows of the kernel matrix, in megabytes; None is a quarter of what
        is free.
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
    random_state : None
        Accepted for compatibility; results do not depend on it.

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
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Coefficients, in LIBSVM's arrangement.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Offsets.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights, for the linear kernel.
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-5,
        cache_size: float | None = None,
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

    @with_callbacks
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
        if self.probability:
            raise ValueError(
                "probability=True is not supported: use KernelClassifier(loss='logistic'), whose "
                "probabilities agree with its predictions, or CalibratedClassifierCV(SVC())."
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
        # LIBSVM's arrangement of support vectors is class by class.
        coef = self._fit_support(data, as_loss("hinge"), signs, weight[:, None] * inside)
        self._sort_support(codes[np.flatnonzero(coef.any(axis=1))])
        return self._conclude()

    def _sort_support(self, codes: np.ndarray) -> None:
        """Arrange the support vectors class by class, as LIBSVM does."""
        order = np.argsort(codes, kind="stable")
        expansion = self._expansion
        self.support_ = self.support_[order]
        expansion.rows = take_rows(expansion.rows, order)
        expansion.coef = expansion.coef[order]
        self._arrange(codes[order])

    def _arrange(self, codes: np.ndarray) -> None:
        """Set the coefficients in LIBSVM's arrangement, for classes in rising order."""
        k = len(self.classes_)
        expansion = self._expansion
        self.n_support_ = np.bincount(codes, minlength=k).astype(np.int32)
        self.intercept_ = expansion.intercept
        if k == 2:
            self.dual_coef_ = expansion.coef.T
            return
        # Row r of a column holds the coefficient against the r-th of the other classes.
        self.dual_coef_ = np.zeros((k - 1, len(codes)))
        for p, (i, j) in enumerate(pairs(k)):
            first, second = codes == i, codes == j
            self.dual_coef_[j - 1, first] = expansion.coef[first, p]
            self.dual_coef_[i, second] = expansion.coef[second, p]

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
        scores = self._scores(X)
        k = len(self.classes_)
        if k == 2:
            return self.classes_[(scores[:, 0] > 0).astype(np.intp)]
        if self.break_ties:
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    "break_ties must be False when decision_function_shape is 'ovo'; set "
                    "decision_function_shape='ovr'."
                )
            return self.classes_[as_decision(scores, k, "ovo").argmax(axis=1)]
        votes = np.zeros((len(scores), k))
        for p, (i, j) in enumerate(pairs(k)):
            first = scores[:, p] > 0
            votes[first, i] += 1
            votes[~first, j] += 1
        return self.classes_[votes.argmax(axis=1)]


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
    tol : float, default=1e-5
        Relative duality gap to reach.
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Residuals up to this size cost nothing.
    shrinking : bool, default=True
        Accepted for compatibility; it does not change the solution.
    cache_size : float or None, default=None
        Advice on the memory for rows of the kernel matrix, in megabytes; None is a quarter of what
        is free.
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

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-5,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | None = None,
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

    @with_callbacks
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
        self._fit_support(data, loss, data.y, data.weight[:, None])
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = self._expansion.coef.T
        self.intercept_ = self._expansion.intercept
        return self._conclude()
