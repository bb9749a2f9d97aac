"""What the support vector machines with LIBSVM's parameters share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from resolvent._numeric import EPS
from resolvent.estimators.base import Data, Machine, checked_C
from resolvent.estimators.expansion import split_bias
from resolvent.fitting import Fit
from resolvent.grams import Gram, as_gram
from resolvent.kernels import Kernel, Linear
from resolvent.problem import Status

GAP = 1e-5  # relative duality gap to reach, unless `tol` is smaller
USUAL_CACHE = 200  # megabytes: scikit-learn's default, which other packages pass on
SMALL = 500  # samples up to which the linear kernel's matrix is formed, which is faster then,
EXACT = 1e-11  # unless more than this of a target could be lost in rounding
LARGEST_C = 1e10  # what C = inf is, in units of the mean of K's diagonal


def formed_if_small(K: Gram, C: float, target: float) -> Gram:
    """Form the matrix of a linear kernel of few samples, where that is exact enough."""
    if K.factored and K.n <= SMALL and EPS * C * K.trace <= EXACT * target:
        return as_gram(K.product(np.eye(K.n)))
    return K


def _themselves(targets: np.ndarray) -> np.ndarray:
    return targets


class SupportVectorMachine(Machine):
    """What the machines with LIBSVM's parameters share."""

    def _read_weight(self, sample_weight: Any, y: np.ndarray) -> np.ndarray:
        """Validate the weights; as in LIBSVM those that are not positive take a sample out."""
        if not (np.asarray(sample_weight, dtype=np.float64) > 0.0).any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return np.maximum(_check_sample_weight(sample_weight, y, dtype=np.float64), 0.0)

    def _kernel_matrix(self, data: Data) -> tuple[Kernel | None, Gram]:
        """Return the kernel and its matrix, within the memory that `cache_size` asks for."""
        kernel = self._make_kernel(data)
        usual = self.cache_size is None or self.cache_size == USUAL_CACHE
        return kernel, self._gram(data, kernel, "auto" if usual else f"{self.cache_size}MB")

    def _solve_support(
        self,
        K: Gram,
        loss: Any,
        targets: np.ndarray,
        weight: np.ndarray,
        C: float,
        limits: Callable[[np.ndarray], tuple[Any, Any]],
        kinks: Callable[[np.ndarray], np.ndarray] = _themselves,
    ) -> Fit:
        """Solve all columns to `tol`.

        `limits` are those of coefficients / C, for some targets, and `kinks` the scores at which
        the losses have theirs, but for epsilon.
        """

        def accept(solution: Any, targets: np.ndarray, C: np.ndarray) -> bool:
            return self._is_within_tol(solution, kinks(targets), C, limits(targets))

        settings: dict[str, Any] = {
            "fit_intercept": True,
            "tol": min(self.tol, GAP),
            "max_iter": None if self.max_iter == -1 else self.max_iter,
        }
        K = formed_if_small(K, C, float(np.abs(targets).max()))
        fit = self._solve(K, loss, targets, weight, C=C, accept=accept, **settings)
        self.fit_status_ = int(self.status_ > Status.PRECISION_LIMIT)
        self._calibrate(K, C * weight, targets, settings)
        return fit

    def _keep_support(self, data: Data, kernel: Kernel | None, fit: Fit) -> None:
        """Keep the support vectors and what clients of scikit-learn's machines look for."""
        self._expand(data, kernel, fit)
        self._set_kernel(kernel, data.X.shape if hasattr(data.X, "shape") else (len(data.X),))

    def _set_kernel(self, kernel: Kernel | None, shape: tuple[int, ...]) -> None:
        """Set what clients find of the kernel and of the samples that it was fitted on."""
        self._kernel, self.shape_fit_ = kernel, shape
        self._gamma = getattr(kernel, "gamma", 0.0)  # tools that export scikit-learn's read it

    def _give(self) -> dict[str, np.ndarray]:
        return super()._give() | {"n_support": self.n_support_}

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        self._set_kernel(kernel, (self._n_given, self.n_features_in_))
        self._arrange()

    def _arrange(self) -> None:
        """Set the attributes that the expansion of one problem has in LIBSVM's machines."""
        self.n_support_ = np.array([len(self._expansion.coef)], dtype=np.int32)
        self.dual_coef_ = self._as_rows(self._expansion.coef.T)
        self.intercept_ = self._expansion.intercept

    def _finite_C(self, K: Gram) -> float:
        """Return C; an infinite one as a number at which no coefficient is at its bound."""
        return LARGEST_C * K.n / K.trace if np.isposinf(self.C) else checked_C(self.C)

    def _is_within_tol(
        self, solution: Any, kinks: np.ndarray, C: np.ndarray, limits: tuple[Any, Any]
    ) -> bool:
        """Whether no optimality condition is violated by more than `tol`, in LIBSVM's measure.

        A coefficient that may grow asks for an offset of at least ``kink - z``, one that may fall
        for at most that, but for epsilon; the violation is the largest difference of such demands.
        """
        c, z = solution.coef, solution.fitted
        epsilon = getattr(self, "epsilon", 0.0)
        lower, upper = limits
        room = 1e-10 * C
        at_least = np.where(c < -room, epsilon, -epsilon) + kinks - z
        at_most = np.where(c > room, -epsilon, epsilon) + kinks - z
        at_least[(c >= upper * C - room) | (C == 0.0)] = -np.inf
        at_most[(c <= lower * C + room) | (C == 0.0)] = np.inf
        return bool((at_least.max(axis=0) - at_most.min(axis=0) <= self.tol).all())

    def _calibrate(
        self, K: Any, weight: np.ndarray, targets: np.ndarray, settings: dict[str, Any]
    ) -> None:
        """Fit what a machine needs beside its scores."""

    def _as_rows(self, coef: np.ndarray) -> Any:
        """Sparse if the support vectors are, as scikit-learn has it."""
        rows = self._expansion.rows
        return type(rows)(coef) if sparse.issparse(rows) and not self._takes_objects() else coef

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed kernel."""
        return self._expansion.rows if self._kernel is not None else np.empty((0, 0))

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel; they cannot be written to."""
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = self._expansion.weights
        assert weights is not None
        weights = self._as_rows(split_bias(weights, self.intercept_, self._kernel.bias)[0])
        (weights.data if sparse.issparse(weights) else weights).flags.writeable = False
        return weights
