"""Linear models with any loss: the linear kernel by its weights, never forming K."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.base import Data, checked_C
from resolvent.estimators.classifier import AnyLossClassifier
from resolvent.estimators.descriptions import MODELS, described
from resolvent.estimators.expansion import linear_scores, split_bias
from resolvent.estimators.on_blocks import WeightsOnBlocks
from resolvent.estimators.regressor import AnyLossRegressor
from resolvent.fitting import Fit
from resolvent.kernels import Kernel, Linear


class LinearMachine(WeightsOnBlocks):
    """Base of the linear estimators: what is kept of a fit are the weights."""

    def _fit_weights(
        self, data: Data, loss: Any, targets: np.ndarray, weight: np.ndarray, **settings: Any
    ) -> Fit:
        """Fit all columns; keep weights (m, d) and offsets (m,)."""
        kernel = settings.pop("kernel", Linear())
        C = checked_C(self.C)
        K = self._gram(data, kernel)
        fit = self._solve(K, loss, targets, weight, C=C, **settings)
        self._coef = fit.coef  # for a warm start
        assert fit.weights is not None
        weights, self.intercept_ = split_bias(fit.weights, fit.intercept, kernel.bias)
        self.coef_ = np.ascontiguousarray(weights)
        return fit

    def _give(self) -> dict[str, np.ndarray]:
        intercept = np.atleast_1d(np.asarray(self.intercept_, dtype=float))
        return {"coef": np.atleast_2d(self.coef_), "intercept": intercept}

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        self.coef_, self.intercept_ = arrays["coef"], arrays["intercept"]

    def _scores_of(self, X: Any) -> np.ndarray:
        return linear_scores(self._read_new(X), self.coef_, self.intercept_)


@described(MODELS)
class LinearClassifier(AnyLossClassifier, LinearMachine):
    """Linear classifier with any convex loss of the margin, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``; the intercept b is not penalised. The
    kernel matrix is never formed: memory and time grow with the number of nonzeros of X.

    Parameters
    ----------
    loss : str or loss
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", or an instance.

    Attributes
    ----------
    classes_
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; one row for two classes, otherwise one-vs-rest. A loss of all classes together has
        a row for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_gap_, objective_, n_iter_ : float, float and int, or arrays of one for each class
        Certificate, value of the objective and number of iterations.
    status_
    solver_
    history_
    fit_time_

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from resolvent import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier(loss="logistic").fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.98)
    True
    """

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit_data(self, data: Data) -> LinearClassifier:
        self._fit_weights(data, *self._columns(data, data.weight), **self._settings())
        return self


@described(MODELS)
class LinearRegressor(AnyLossRegressor, LinearMachine):
    """Linear regressor with any convex loss, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``; the intercept b is not penalised. The
    kernel matrix is never formed: memory and time grow with the number of nonzeros of X.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance such as ``Huber(delta=0.5)``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    dual_gap_, objective_, n_iter_ : float, float and int, or arrays of one for each target
        Certificate, value of the objective and number of iterations.
    status_ : Status
        Why the solver stopped; the worst of several targets.
    solver_
    history_
    fit_time_
    target_unit_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from resolvent import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(loss="absolute", C=10.0).fit(X, y)
    >>> model.status_.name
    'CONVERGED'
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        normalize_y: bool = True,
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit_data(self, data: Data) -> LinearRegressor:
        fit = self._fit_weights(data, *self._columns(data, data.weight), **self._settings())
        self._take(Linear(), self._give())
        self._examine(data, Linear(), fit)
        return self

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        super()._take(kernel, arrays)
        if self._vector:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0].item()
