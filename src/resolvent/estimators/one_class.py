"""The one-class support vector machine, with scikit-learn's names, attributes and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.svm
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from resolvent.estimators._libsvm import USUAL_CACHE, SupportVectorMachine
from resolvent.estimators.compat import constraints
from resolvent.estimators.descriptions import DROP_INS, described
from resolvent.estimators.fit_method import fit_method
from resolvent.kernels.base import is_number
from resolvent.losses import LOSSES

ROUNDED = 1e-12  # of the offset: a decision that is zero to rounding

__all__ = ["OneClassSVM"]


@described(DROP_INS)
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """One-class support vector machine, as scikit-learn's, with a certificate.

    Minimises ``|f|^2 / 2 + sum_i w_i (rho - f(x_i))+ - nu rho sum_i w_i``. Its dual asks for
    coefficients that sum to ``nu sum_i w_i``, not to zero. Less ``nu w_i`` each they sum to zero,
    and what is left is a quantile regression at the level 1 - nu of the targets
    ``-nu sum_j w_j k(x_i, x_j)``, which has the same duality gap.

    Parameters
    ----------
    tol : float
        Largest violation of the optimality conditions, as in LIBSVM.
    nu : float
        Bound on the share of samples outside, in (0, 1]. With 1 there would be no boundary: it
        counts as 1 - 1e-6.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_
    offset_ : ndarray of shape (1,)
        rho: ``decision_function = score_samples - offset_``.
    dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelRegressor`; `history_` is that of the quantile regression.

    Examples
    --------
    >>> from resolvent.svm import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    _parameter_constraints = constraints(sklearn.svm.OneClassSVM)

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for a precomputed kernel, its matrix.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        OneClassSVM
        """
        if not is_number(self.nu) or not 0.0 < self.nu <= 1.0:
            raise ValueError(f"nu={self.nu!r} must be a number above 0 and at most 1.")
        data = self._read_data(X, np.zeros(_num_samples(X)), sample_weight)
        kernel, K = self._kernel_matrix(data)
        level = max(1.0 - self.nu, 1e-6)
        mean = (1.0 - level) * data.weight
        scores = K.product(mean[None])[0]
        loss, weight = LOSSES["pinball"](level), data.weight[:, None]
        limits = level - 1.0, level
        fit = self._solve_support(K, loss, -scores[:, None], weight, 1.0, lambda _: limits)
        coef = fit.coef + mean[:, None]
        coef[coef <= 1e-12 * weight] = 0.0
        self.objective_ -= 0.5 * float(mean @ scores)
        self._keep_support(data, kernel, fit._replace(coef=coef, weights=None))
        self._arrange()
        return self

    def _arrange(self) -> None:
        super()._arrange()
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance to the boundary, positive inside.

        What is zero to rounding is zero, as of support vectors on the boundary: so they are inside
        whichever samples they are scored with.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        decision = self._scores(X)[:, 0]
        decision[np.abs(decision) <= ROUNDED * abs(self.intercept_[0])] = 0.0
        return decision

    def score_samples(self, X: Any) -> np.ndarray:
        """Scores without the offset.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for samples inside, -1 for those outside.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1).astype(np.intp)
