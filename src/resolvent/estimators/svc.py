"""What the classifiers with LIBSVM's parameters share: pairs of classes, votes, probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from resolvent._random import as_generator
from resolvent.estimators import _platt
from resolvent.estimators._libsvm import SupportVectorMachine
from resolvent.estimators.base import Data
from resolvent.estimators.classes import as_columns, as_decision, class_factors, pairs
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.compat import PROBABILITY_IS_DEPRECATED, deprecated_property
from resolvent.estimators.expansion import take_rows
from resolvent.fitting import Fit
from resolvent.grams import Gram, as_gram
from resolvent.kernels import Kernel

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


class SupportVectorClassifier(MachineClassifier, SupportVectorMachine):
    """Base of the classifiers with LIBSVM's parameters: one problem for each pair of classes."""

    _probA = _probB = np.empty(0)

    def _fit_pairs(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate, solve for all pairs of classes on one kernel, keep the support vectors."""
        if self.probability != "deprecated" and PROBABILITY_IS_DEPRECATED:
            warnings.warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be "
                "removed in version 1.11: use KernelClassifier(loss='logistic'), whose "
                "probabilities agree with its predictions, or CalibratedClassifierCV("
                f"{type(self).__name__}(), ensemble=False).",
                FutureWarning,
                stacklevel=4,
            )
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f"decision_function_shape={self.decision_function_shape!r} must be 'ovr' or 'ovo'."
            )
        data, codes = self._read_classes(X, y, sample_weight)
        self.class_weight_ = class_factors(self.class_weight, self.classes_, codes, data.weight)
        self._check_pairs(data, codes)
        signs, inside = as_columns(codes, len(self.classes_), "ovo")
        kernel, K = self._kernel_matrix(data)
        fit = self._solve_pairs(K, signs, inside, data, codes)
        self._keep_support(data, kernel, fit)
        # LIBSVM's arrangement of support vectors is class by class.
        self._sort_support(codes[np.flatnonzero(fit.coef.any(axis=1))])

    def _strategy(self) -> str:
        return "ovo"

    def _give(self) -> dict[str, np.ndarray]:
        arrays = super()._give() | {"class_weight": self.class_weight_}
        return arrays | ({"probA": self._probA, "probB": self._probB} if len(self._probA) else {})

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        counts, n = arrays["n_support"], len(self._expansion.coef)
        if counts.max() > n or counts.sum() != n:
            raise ValueError("n_support does not add up.")
        self.class_weight_ = arrays["class_weight"]
        self._probA, self._probB = (arrays.get(name, np.empty(0)) for name in ("probA", "probB"))
        self._set_kernel(kernel, (self._n_given, self.n_features_in_))
        self._arrange_pairs(np.repeat(np.arange(len(counts)), counts))

    def _check_pairs(self, data: Data, codes: np.ndarray) -> None:
        """Refuse parameters that the classes have no solution for."""

    @abstractmethod
    def _solve_pairs(
        self, K: Gram, signs: np.ndarray, inside: np.ndarray, data: Data, codes: np.ndarray
    ) -> Fit:
        """Solve the problems of `signs`, each on the samples that are `inside`."""

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
            problem = np.empty((k, k - 1), np.intp)
            for p, (i, j) in enumerate(pairs(k)):
                problem[i, j - 1] = problem[j, i] = p
            coef = np.take_along_axis(expansion.coef, problem[codes], axis=1).T
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
