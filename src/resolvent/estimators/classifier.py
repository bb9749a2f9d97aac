"""Kernel classification with any loss of the margin."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from resolvent._numeric import EPS
from resolvent.estimators.base import Data, Machine
from resolvent.estimators.classes import as_codes, as_columns, as_decision, class_factors
from resolvent.estimators.descriptions import MODELS, described
from resolvent.estimators.intervals import LabelSetMixin
from resolvent.estimators.offset import numbers_of
from resolvent.estimators.on_blocks import LandmarksOnBlocks
from resolvent.losses import as_loss, is_for_labels
from resolvent.losses.offset import with_offset
from resolvent.problem import groups
from resolvent.problem.sums import apply_link


def _has_probabilities(estimator: Any) -> bool:
    """Whether the loss models probabilities; if not, say which does."""
    if "inverse_link" not in vars(type(as_loss(estimator.loss))):
        raise AttributeError(
            f"loss={estimator.loss!r} gives no probabilities; use loss='logistic' or "
            "'multinomial', or scikit-learn's CalibratedClassifierCV around this classifier."
        )
    return True


class MachineClassifier(ClassifierMixin, Machine):
    """What all classifiers share."""

    def _strategy(self) -> str:
        """How more than two classes become problems."""
        return getattr(self, "multi_class", "ovr")

    def _n_problems(self) -> int | None:
        k = len(self.classes_)
        if self._couples_columns():
            return k
        return 1 if k == 2 else k * (k - 1) // 2 if self._strategy() == "ovo" else k

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, np.ndarray]:
        """Validate the arguments of fit; set `classes_`; give each sample's class as a code."""
        data = self._read_data(X, y, sample_weight)
        whole = data.y.dtype.kind in "iu"
        if not whole:
            check_classification_targets(data.y)
        self.classes_ = np.unique(data.y)
        if whole and 2 * len(self.classes_) > len(data.y):  # which it warns of
            check_classification_targets(data.y)
        codes = np.searchsorted(self.classes_, data.y)  # faster than np.unique's inverse: no sort
        if len(self.classes_) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class: there "
                f"is only one class ({self.classes_.tolist()[0]!r}) with a weight above zero, "
                "where a classifier needs at least 2."
            )
        return data, codes

    def _margin_loss(self, loss: Any) -> Any:
        found = as_loss(loss)
        if not is_for_labels(found):
            raise ValueError(
                f"loss={loss!r} is not a loss for classification; use 'hinge', 'squared_hinge', "
                "'smoothed_hinge', 'modified_huber', 'logistic', 'multinomial' or "
                "'crammer_singer', or a regressor."
            )
        return found

    def _as_targets(
        self, loss: Any, codes: Any, weight: np.ndarray, strategy: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Targets and weights of the problems that the classes make for a loss."""
        k = len(self.classes_)
        weight = weight * class_factors(self.class_weight, self.classes_, codes, weight)[codes]
        if getattr(loss, "couples", "") == "columns":
            if strategy != "ovr":
                raise ValueError(
                    f"multi_class={strategy!r} has no meaning for loss={self.loss!r}, which is one "
                    "of all classes together: leave it at its default."
                )
            return np.eye(k)[codes], weight
        signs, inside = as_columns(codes, k, strategy)
        return signs, weight[:, None] * inside

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        if scores.shape[1] == len(self.classes_) == 2:  # two scores of a loss that couples classes
            return scores[:, 1] - scores[:, 0]
        return as_decision(scores, len(self.classes_), getattr(self, "multi_class", "ovr"))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive for the second.
        """
        return self._decide(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = as_codes(self.decision_function(X))  # which checks that there was a fit
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of samples whose class is predicted.

        It is scikit-learn's, without a look at what kind of targets there are: in a search that
        would take longer than to solve many of the problems.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
        """
        return share_right(self.predict(X), y, sample_weight)


def share_right(predicted: np.ndarray, y: Any, sample_weight: Any) -> float:
    """Share of labels that are predicted."""
    check_consistent_length(predicted, y, sample_weight)
    return float(np.average(predicted == np.reshape(y, predicted.shape), weights=sample_weight))


class AnyLossClassifier(LabelSetMixin, MachineClassifier):
    """Classifiers with a parameter `loss`: probabilities for the losses that model them."""

    loss: Any

    def _read_offset(self, offset: Any, n: int, m: int) -> np.ndarray:
        """Validate the offsets of n rows, of which each has m scores."""
        k = len(self.classes_)
        if k > 2 and m != k:
            raise ValueError("offset is for one-vs-rest: multi_class='ovr'.")
        known = numbers_of(offset)
        if k > 2 and known.shape != (n, k):
            raise ValueError(
                f"offset has shape {known.shape}; with {k} classes it must be ({n}, {k}), one for "
                "the score of each class."
            )
        if m == 2 and known.shape == (n,):  # two scores of a loss that couples classes
            known = np.column_stack([np.zeros(n), known])
        return super()._read_offset(known, n, m)

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Data:
        self._margin_loss(self.loss)
        self._calibration = None
        data, codes = self._read_classes(X, y, sample_weight)
        data.codes = codes
        if offset is not None:
            width = self._targets_of(data, data.weight)[0].shape[1]
            data.offset = self._read_offset(offset, self._n_given, width)[data.kept]
        return data

    def _targets_of(self, data: Data, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        strategy = getattr(self, "multi_class", "ovr")
        return self._as_targets(as_loss(self.loss), data.codes, weight, strategy)

    def _columns(self, data: Data, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        loss, (targets, weights) = as_loss(self.loss), self._targets_of(data, weight)
        if data.offset is None:
            return loss, targets, weights
        return with_offset(loss, targets, weights, data.offset)

    def decision_function(self, X: Any, offset: Any = None) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive for the second.
        """
        return self._decide(self._with_offset(self._scores(X), offset))

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Classes of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = as_codes(self.decision_function(X, offset))  # which checks that there was a fit
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Share of samples whose class is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        float
        """
        return share_right(self.predict(X, offset), y, sample_weight)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Probabilities of the classes; one-vs-rest ones are normalised to sum to 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        decision = self.decision_function(X, offset)
        loss = as_loss(self.loss)
        both = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
        if getattr(loss, "couples", "") == "columns":
            odds = both * 0.5 if decision.ndim == 1 else both.copy()
            groups.apply_link(loss, odds)
        else:
            odds = apply_link(loss, both)
        total = odds.sum(axis=1, keepdims=True)
        even = np.full_like(odds, 1.0 / odds.shape[1])
        p = np.divide(odds, total, out=even, where=total > 0)
        # Where rounding makes a tie the class of `predict` is above it, also in the logarithms.
        best = as_codes(decision)[:, None]
        others = p.copy()
        np.put_along_axis(others, best, 0.0, axis=1)
        least = others.max(axis=1, keepdims=True) * (1.0 + 8 * EPS)
        np.put_along_axis(p, best, np.maximum(np.take_along_axis(p, best, 1), least), axis=1)
        return p

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))


@described(MODELS)
class KernelClassifier(AnyLossClassifier, LandmarksOnBlocks):
    """Kernel classifier with any convex loss of the margin, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, f(x_i)) + |f|^2 / 2`` over functions f with an intercept, where L
    is the loss. With the hinge loss it is the support vector machine, with the logistic loss kernel
    logistic regression.

    Parameters
    ----------
    loss : str or loss
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", or an instance,
        also of a class of your own; "multinomial" and "crammer_singer" are losses of all classes
        together, with a score for each.
    gamma : {"scale", "auto"} or float
        Kernel coefficient, as in scikit-learn's SVC.
    multi_class : {"ovr", "ovo"}
        More than two classes by one-vs-rest or by one-vs-one problems, all on one kernel; of no
        use with a loss of all classes together.

    Attributes
    ----------
    classes_
    support_ : ndarray of shape (n_support,)
        Indices of the samples with a coefficient that is not zero; of more than two classes, class
        by class.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    kernel_
    dual_gap_ : float or ndarray of shape (n_problems,)
        Duality gap: how far the objective can be above its minimum.
    objective_ : float or ndarray of shape (n_problems,)
        Value of the objective.
    status_
    solver_
    n_iter_ : int or ndarray of shape (n_problems,)
        Number of iterations.
    history_
    fit_time_
    rank_
    landmarks_
    optimization_gap_, approximation_gap_
    certificate_

    See Also
    --------
    resolvent.svm.SVC : The same machine with scikit-learn's names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from resolvent import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(loss="logistic", C=10.0).fit(X, y)
    >>> model.status_.name
    'CONVERGED'
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    def __init__(
        self,
        loss: Any = "hinge",
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "ovr",
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory_limit: Any = "auto",
        rank: Any = None,
        landmarks: Any = "rpcholesky",
        certificate: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.rank = rank
        self.landmarks = landmarks
        self.certificate = certificate
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
