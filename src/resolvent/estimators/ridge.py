"""Kernel ridge regression with scikit-learn's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators._compat import with_callbacks
from resolvent.estimators.regressor import MachineRegressor


class KernelRidge(MachineRegressor):
    """Kernel ridge regression, as scikit-learn's, with a certificate, and with an offset if asked.

    Minimises ``sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2``.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Weight of the penalty, 1 / C.
    kernel : str, Kernel or callable, default="linear"
        The kernel, by the names of :class:`resolvent.KernelRegressor`.
    gamma : float, "scale", "auto" or None, default=None
        Kernel coefficient; None is 1 / n_features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Independent term of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=False
        Whether to add an unpenalised offset, which scikit-learn's does not have.
    tol : float, default=1e-5
        Relative duality gap to reach.
    memory_limit : int or str, default="auto"
        Bytes, or a string like "2GB", for rows of the kernel matrix.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients; zero for samples of weight zero.
    intercept_ : float or ndarray of shape (n_targets,)
        Offset; 0 without `fit_intercept`.
    dual_gap_, objective_, status_, n_iter_, history_, fit_time_
        As in :class:`resolvent.KernelRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        fit_intercept: bool = False,
        tol: float = 1e-5,
        memory_limit: Any = "auto",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.memory_limit = memory_limit

    @with_callbacks
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
        if alpha.shape not in ((1,), (targets,)) or not (np.isfinite(alpha) & (alpha > 0)).all():
            raise ValueError(
                f"alpha={self.alpha!r} must be a positive number, or one for each of {targets} "
                "targets."
            )
        weight = data.weight[:, None] / np.broadcast_to(alpha, targets)
        kernel = self._make_kernel(data)
        coef, offset = self._solve(
            self._gram(data, kernel, self.memory_limit),
            self._target_loss("squared"),
            data.y,
            weight,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        )
        self._expand(data, kernel, coef, offset)
        everything = np.zeros((self._n_given, targets))
        everything[data.kept] = coef
        self.dual_coef_ = everything[:, 0] if self._vector else everything
        self.intercept_ = offset[0].item() if self._vector else offset
        return self._conclude()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
