"""Linear models with any loss: the linear kernel by its weights, never forming K."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.base import Data, Machine, checked_C
from resolvent.estimators.classifier import AnyLossClassifier
from resolvent.estimators.expansion import linear_scores, split_bias
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import AnyLossRegressor
from resolvent.fitting import Fit
from resolvent.kernels import Kernel, Linear


class LinearMachine(Machine):
    """Base of the linear estimators: what is kept of a fit are the weights."""

    coef_: np.ndarray
    intercept_: Any

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

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(self._read_new(X), self.coef_, self.intercept_)


class LinearClassifier(AnyLossClassifier, LinearMachine):
    """Linear classifier with any convex loss of the margin, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``; the intercept b is not penalised. The
    kernel matrix is never formed: memory and time grow with the number of nonzeros of X.

    Parameters
    ----------
    loss : str or loss, default="hinge"
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", or an instance.
    C : float, default=1.0
        Weight of the loss against the penalty, 1 / lambda.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes.
    solver : {"auto", "coordinate_descent", "fixed_point", "newton"}, default="auto"
        The algorithm.
    tol : float, default=1e-5
        Relative duality gap to reach; 0 is the limit of rounding.
    max_iter : int or None, default=None
        Largest number of iterations; None is the solver's default.
    time_limit : float or None, default=None
        Seconds after which the best model so far is kept.
    warm_start : bool, default=False
        Whether to start from the last solution, also after a time limit or Ctrl-C.
    random_state : int, RandomState or None, default=None
        Seed of the order of updates; None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; one row for two classes, otherwise one-vs-rest. A loss of all classes together has
        a row for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_gap_, objective_, n_iter_ : float, float and int, or arrays of one for each class
        Certificate, value of the objective and number of iterations.
    status_ : Status
        Why the solver stopped; the worst of several problems.
    solver_ : str
        The algorithm that was used, see :class:`resolvent.Solution`.
    history_ : list of Record
        Course of the fit.
    fit_time_ : float
        Seconds.

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

    @fit_method
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> LinearClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        LinearClassifier
        """
        return self._fit_data(self._read(X, y, sample_weight, offset))

    def _fit_data(self, data: Data) -> LinearClassifier:
        self._fit_weights(data, *self._columns(data, data.weight), **self._settings())
        return self


class LinearRegressor(AnyLossRegressor, LinearMachine):
    """Linear regressor with any convex loss, solved to a certified optimum.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``; the intercept b is not penalised. The
    kernel matrix is never formed: memory and time grow with the number of nonzeros of X.

    Parameters
    ----------
    loss : str or loss, default="squared"
        A name in :data:`resolvent.losses.LOSSES`, or an instance such as ``Huber(delta=0.5)``.
    C : float, default=1.0
        Weight of the loss against the penalty, 1 / lambda.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    normalize_y : bool, default=True
        Whether C and the parameters of the loss are in units of the target's spread, so that a
        model of ``a y + b`` is that of y times a plus b; False is in those of the data.
    solver : {"auto", "coordinate_descent", "fixed_point", "newton"}, default="auto"
        The algorithm.
    tol : float, default=1e-5
        Relative duality gap to reach; 0 is the limit of rounding.
    max_iter : int or None, default=None
        Largest number of iterations; None is the solver's default.
    time_limit : float or None, default=None
        Seconds after which the best model so far is kept.
    warm_start : bool, default=False
        Whether to start from the last solution, also after a time limit or Ctrl-C.
    random_state : int, RandomState or None, default=None
        Seed of the order of updates; None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".

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
    solver_ : str
        The algorithm that was used, see :class:`resolvent.Solution`.
    history_ : list of Record
        Course of the fit.
    fit_time_ : float
        Seconds.
    target_unit_ : float or ndarray of shape (n_targets,)
        The unit that C and the parameters of the loss were taken in, 1 if that of the data.

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

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> LinearRegressor:
        """Fit the regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        LinearRegressor
        """
        return self._fit_data(self._read(X, y, sample_weight, offset))

    def _fit_data(self, data: Data) -> LinearRegressor:
        fit = self._fit_weights(data, *self._columns(data, data.weight), **self._settings())
        self._take(Linear(), self._give())
        self._examine(data, Linear(), fit)
        return self

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        super()._take(kernel, arrays)
        if self._vector:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0].item()
