"""Kernel ridge regression with scikit-learn's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.kernel_ridge

from resolvent.estimators.base import Data
from resolvent.estimators.compat import constraints
from resolvent.estimators.descriptions import DROP_INS, described
from resolvent.estimators.expansion import take_rows
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import MachineRegressor
from resolvent.kernels import FunctionKernel, Kernel, pairwise

__all__ = ["KernelRidge"]


LEAST_ALPHA = 1e-10  # what alpha = 0 is, in units of the mean of K's diagonal


@described(DROP_INS)
class KernelRidge(MachineRegressor):
    """Kernel ridge regression, as scikit-learn's, with a certificate, and with an offset if asked.

    Minimises ``sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2``.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,)
        Weight of the penalty, 1 / C; 0 is taken as 1e-10 of the mean of K's diagonal.
    kernel : str, Kernel or callable
        The kernel, by the names of :class:`resolvent.KernelRegressor`; a function may be one of
        two samples, as scikit-learn's here, or of two sets of samples.
    gamma : float, "scale", "auto" or None
        Kernel coefficient; None is 1 / n_features.
    coef0 : float
        Independent term of the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Further arguments of a function, by name.
    fit_intercept : bool
        Whether to add an unpenalised offset, which scikit-learn's does not have.
    tol : float
        Relative duality gap to reach.
    memory_limit : int or str
        Bytes, or a string like "2GB", for rows of the kernel matrix.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients; zero for samples of weight zero.
    intercept_ : float or ndarray of shape (n_targets,)
        Offset; 0 without `fit_intercept`.
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _parameter_constraints = constraints(sklearn.kernel_ridge.KernelRidge)

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        fit_intercept: bool = False,
        tol: float = 1e-5,
        memory_limit: Any = "auto",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.memory_limit = memory_limit

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit the regression.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for a precomputed kernel, its matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        KernelRidge
        """
        data = self._read_targets(X, y, sample_weight, multi_output=True)
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        targets = data.y.shape[1]
        if alpha.shape not in ((1,), (targets,)) or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(
                f"alpha={self.alpha!r} must be a number that is not negative, or one for each of "
                f"{targets} targets."
            )
        kernel = self._make_kernel(data)
        K = self._gram(data, kernel, self.memory_limit)
        alpha = np.where(alpha == 0.0, LEAST_ALPHA * K.trace / K.n, alpha)
        weight = data.weight[:, None] / np.broadcast_to(alpha, targets)
        fit = self._solve(
            K,
            self._target_loss("squared"),
            data.y,
            weight,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        )
        self._expand(data, kernel, fit)
        everything = np.zeros((self._n_given, targets))
        everything[data.kept] = fit.coef
        self._take(kernel, {"coef": everything})
        return self

    def _give(self) -> dict[str, np.ndarray]:
        return super()._give() | {"coef": self.dual_coef_.reshape(self._n_given, -1)}

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        coef, intercept = arrays["coef"], self._expansion.intercept
        if not np.array_equal(self.support_, np.flatnonzero(coef.any(axis=1))):
            raise ValueError("'support' is not where 'coef' is not zero.")
        self.dual_coef_ = coef[:, 0] if self._vector else coef
        self.intercept_ = intercept[0].item() if self._vector else intercept

    def _make_kernel(self, data: Data) -> Kernel | None:
        if not self._takes_objects() or isinstance(self.kernel, Kernel):
            return super()._make_kernel(data)
        function = self.kernel
        if self.kernel_params:
            function = _WithParameters(function, dict(self.kernel_params))
        return FunctionKernel(function if _takes_sets(function, data.X) else pairwise(function))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True)
class _WithParameters:
    """A kernel function with some of its arguments given."""

    function: Callable[..., Any]
    parameters: dict[str, Any]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b, **self.parameters)


def _takes_sets(function: Callable[[Any, Any], Any], X: Any) -> bool:
    """Whether a kernel function is one of sets of samples, by trying it on a few."""
    # Numbers of samples that differ from one another and from that of the features, so that a
    # product or a difference of two samples cannot pass for a matrix.
    width = X.shape[1] if np.ndim(X) == 2 else 0
    sizes = [size for size in (2, 3, 4) if size != width][:2]
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    sets = [take_rows(X, np.arange(size) % n) for size in sizes]
    try:
        return np.shape(function(*sets)) == tuple(sizes)
    except Exception:
        return False
