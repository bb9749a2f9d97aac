"""Linear support vector machines with scikit-learn's names, attributes and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.svm
from sklearn.linear_model._base import SparseCoefMixin

from resolvent.estimators._libsvm import GAP
from resolvent.estimators.base import Data
from resolvent.estimators.classes import as_columns, class_factors
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.compat import constraints
from resolvent.estimators.descriptions import DROP_INS, described
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.linear import LinearMachine
from resolvent.estimators.regressor import MachineRegressor
from resolvent.kernels import Kernel, Linear
from resolvent.losses import LOSSES, as_loss

__all__ = ["LinearSVC", "LinearSVR"]


class LinearSupportVectorMachine(LinearMachine):
    """What LinearSVC and LinearSVR share: an offset that is penalised, as in LIBLINEAR."""

    def _penalised(self) -> dict[str, Any]:
        scaling = float(self.intercept_scaling)
        if self.fit_intercept and not scaling > 0:
            raise ValueError(
                f"intercept_scaling={self.intercept_scaling!r} must be positive, or "
                "fit_intercept=False."
            )
        return {
            "kernel": Linear(bias=scaling if self.fit_intercept else 0.0),
            "tol": min(self.tol, GAP),
            "max_iter": self.max_iter,
            "random_state": self.random_state,
        }

    def _set_certificate(self, gap: np.ndarray, objective: np.ndarray, n_iter: np.ndarray) -> None:
        super()._set_certificate(gap, objective, n_iter)
        self.n_iter_ = int(n_iter.max())  # of the problem that took most, as LIBLINEAR's


@described(DROP_INS)
class LinearSVC(SparseCoefMixin, MachineClassifier, LinearSupportVectorMachine):
    """Linear support vector classification, as scikit-learn's, with a certificate.

    As in LIBLINEAR the offset is penalised, through a constant feature; for one that is not, use
    :class:`resolvent.LinearClassifier`.

    Parameters
    ----------
    penalty : {"l2"}
        The penalty; "l1" is another problem and is not supported.
    loss : {"hinge", "squared_hinge"}
        The loss.
    tol : float
        Relative duality gap to reach; values above 1e-5, which is close to what LIBLINEAR reaches
        with its default, count as 1e-5.
    multi_class : {"ovr", "crammer_singer"}
        One-vs-rest, or the loss of Crammer and Singer of all classes together.
    class_weight : dict, "balanced" or None
        Factors of C for the classes; in one-vs-rest problems the rest has factor 1.
    verbose : int
        Whether to report progress through the logger "resolvent".
    random_state : int, RandomState or None
        Seed of the order of updates.
    max_iter : int or None
        Largest number of iterations; None is the solver's default.

    Attributes
    ----------
    classes_
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
        As in :class:`resolvent.LinearClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from resolvent.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVC().fit(X, y).coef_.shape
    (3, 4)
    """

    _parameter_constraints = constraints(sklearn.svm.LinearSVC)

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C.

        Returns
        -------
        LinearSVC
        """
        if self.penalty != "l2":
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, "
                f"dual={self.dual!r}: the penalty here is 'l2'; for sparse weights use "
                "scikit-learn's LinearSVC or SGDClassifier."
            )
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(
                f"loss={self.loss!r} must be 'hinge' or 'squared_hinge'; for other losses use "
                "LinearClassifier."
            )
        if self.multi_class not in ("ovr", "crammer_singer"):
            raise ValueError(
                f"multi_class={self.multi_class!r} must be 'ovr' or 'crammer_singer'; SVC has one-"
                "vs-one."
            )
        data, codes = self._read_classes(X, y, sample_weight)
        factors = class_factors(self.class_weight, self.classes_, codes, data.weight)
        if self.multi_class == "crammer_singer":
            self._fit_together(data, codes, data.weight * factors[codes])
        else:
            k = len(self.classes_)
            signs, _ = as_columns(codes, k, "ovr")
            own = factors[codes][:, None]
            # As in LIBLINEAR: with several classes the rest of a problem has factor 1.
            weight = data.weight[:, None] * (own if k == 2 else np.where(signs > 0, own, 1.0))
            self._fit_weights(data, as_loss(self.loss), signs, weight, **self._penalised())
        return self

    def _fit_together(self, data: Data, codes: np.ndarray, weight: np.ndarray) -> None:
        """Fit by the loss of Crammer and Singer; two classes have one row of weights."""
        targets = np.eye(len(self.classes_))[codes]
        self._fit_weights(data, as_loss("crammer_singer"), targets, weight, **self._penalised())
        if len(self.classes_) == 2:
            self.coef_ = np.diff(self.coef_, axis=0)
            self.intercept_ = np.diff(self.intercept_)

    def _couples_columns(self) -> bool:
        return self.multi_class == "crammer_singer"

    def _n_problems(self) -> int | None:
        return 1 if len(self.classes_) == 2 else super()._n_problems()


@described(DROP_INS)
class LinearSVR(MachineRegressor, LinearSupportVectorMachine):
    """Linear support vector regression, as scikit-learn's, with a certificate.

    As in LIBLINEAR the offset is penalised, through a constant feature; for one that is not, use
    :class:`resolvent.LinearRegressor`.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach; values above 1e-5, which is close to what LIBLINEAR reaches
        with its default, count as 1e-5.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        The loss.
    verbose : int
        Whether to report progress through the logger "resolvent".
    random_state : int, RandomState or None
        Seed of the order of updates.
    max_iter : int or None
        Largest number of iterations; None is the solver's default.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
        As in :class:`resolvent.LinearRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from resolvent.svm import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearSVR(C=10.0).fit(X, y).coef_.shape
    (10,)
    """

    _parameter_constraints = constraints(sklearn.svm.LinearSVR)

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C.

        Returns
        -------
        LinearSVR
        """
        if self.loss not in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            raise ValueError(
                f"loss={self.loss!r} must be 'epsilon_insensitive' or "
                "'squared_epsilon_insensitive'; for other losses use LinearRegressor."
            )
        loss = self._target_loss(LOSSES[self.loss](self.epsilon))
        data = self._read_targets(X, y, sample_weight, multi_output=False)
        self._fit_weights(data, loss, data.y, data.weight[:, None], **self._penalised())
        self._take(None, self._give())
        return self

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        super()._take(kernel, arrays)
        self.coef_ = self.coef_[0]
