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
from resolvent.grams import Gram
from resolvent.kernels.base import is_number
from resolvent.losses import LOSSES
from resolvent.losses.offset import with_offset
from resolvent.losses.regression import PinballOfLevels
from resolvent.solvers.small import LARGEST

ROUNDED = 1e-12  # of the offset: a decision that is zero to rounding
MOST = 1.0 - 1e-6  # of nu
GLANCES = 200  # samples by whose kernels it is guessed which ones are outermost

__all__ = ["OneClassSVM"]


@described(DROP_INS)
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """One-class support vector machine, as scikit-learn's, with a certificate.

    Minimises ``|f|^2 / 2 + sum_i w_i (rho - f(x_i))+ - nu rho sum_i w_i``. Its dual asks for
    coefficients in ``[0, w_i]`` that sum to ``nu sum_i w_i``, not to zero. Their differences from
    other such coefficients m sum to zero, and are those of a pinball loss with the level
    ``m_i / w_i`` in each row, where ``sum_j m_j k(x_i, x_j)`` is added to scores. That problem has
    the same duality gap. Most differences are zero where m is the whole weight of the samples that
    seem to be outermost, and zero for others.

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
        share = min(self.nu, MOST)
        few = K.n <= LARGEST
        start = share * data.weight if few else _outermost(K, data.weight, share)
        scores = K.product(start[None])[0]
        weight = data.weight[:, None]
        if few:  # equal levels, which one compiled call takes
            problem = LOSSES["pinball"](1.0 - share), -scores[:, None], weight
            fit = self._solve_support(K, *problem, 1.0, lambda _: (-share, 1.0 - share))
        else:
            levels = np.divide(start, data.weight, out=np.zeros(K.n), where=data.weight > 0.0)
            problem = with_offset(PinballOfLevels(), levels[:, None], weight, scores[:, None])
            fit = self._solve_support(K, *problem, 1.0, _limits, _kinks)
        coef = fit.coef + start[:, None]
        coef[coef <= 1e-12 * weight] = 0.0
        self.objective_ -= 0.5 * float(start @ scores)
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


def _outermost(K: Gram, weight: np.ndarray, share: float) -> np.ndarray:
    """Coefficients with that share of the weight: on samples that are least like some others."""
    n, total = K.n, share * weight.sum()
    some = np.random.default_rng(0).choice(n, min(n, GLANCES), replace=False)
    glance = np.zeros(n)
    glance[some] = weight[some]
    order = np.argsort(K.product(glance[None])[0], kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    coef = np.zeros(n)
    coef[order] = np.clip(total - before, 0.0, weight[order])
    return coef


def _limits(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits of coefficients / weight for targets of levels and offsets."""
    return -targets.real, 1.0 - targets.real


def _kinks(targets: np.ndarray) -> np.ndarray:
    return -targets.imag
