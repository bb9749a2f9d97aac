"""Linear models that choose C by cross-validation; the kernel matrix is never formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.linear import LinearClassifier, LinearRegressor
from resolvent.model_selection.base import CrossValidatedClassifier, CrossValidatedRegressor


class Weights:
    """The weights of the best estimator."""

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features."""
        return self._best().coef_  # type: ignore[attr-defined]

    @property
    def intercept_(self) -> Any:
        """Intercept."""
        return self._best().intercept_  # type: ignore[attr-defined]


class LinearClassifierCV(Weights, CrossValidatedClassifier):
    """Linear classifier with any loss whose C is chosen by cross-validation.

    Folds and classes are followed along C, each solution started from the one before. The winner is
    fitted on all samples to the full tolerance, with its certificate.

    Parameters
    ----------
    loss : str or loss, default="hinge"
        As in :class:`resolvent.KernelClassifier`.
    Cs : int or array-like, default=10
        Values of C; a number is so many of them from 0.01 to 1000.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes; "balanced" is by the samples of each fold.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; a number means stratified folds.
    scoring : str, callable or None, default=None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is accuracy.
    rule : {"best", "one_standard_error"}, default="best"
        The pair with the best mean score, or the one with the smallest C whose mean is within one
        standard error of it.
    extend : bool, default=False
        Whether to go on beyond the grid where the best C or gamma is its smallest or largest, until
        it is not, or scores gain less than 1e-4 of themselves; by up to 30 values for each.
    refit : bool, default=True
        Whether to fit the chosen pair on all samples.
    conformal : bool, default=False
        Whether to fit the chosen pair without each fold as well, for `predict_set`.
    weighted_scores : bool, default=True
        Whether `sample_weight` counts in the scores too, where the scorer takes weights.
    search_tol : float or None, default=0.01
        Gap of the problems of the search, relative to the objective, or to the loss of the samples
        held out if that is more; pairs that are nearly the best are solved again to a tenth of it.
        None is `tol`, each problem certified from scratch.
    n_jobs : int or None, default=None
        Number of threads that work on folds at a time; None and -1 are all that BLAS would use.
    solver : {"auto", "coordinate_descent", "fixed_point", "newton"}, default="auto"
        The algorithm.
    tol : float, default=1e-5
        Relative duality gap of the last fit.
    max_iter : int or None, default=None
        Largest number of iterations of each problem; None is the solver's default.
    time_limit : float or None, default=None
        Seconds for everything; the best of what was reached is fitted.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn at random: order of updates, landmarks. None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".

    Attributes
    ----------
    best_params_ : dict
        The chosen C.
    best_score_ : float
        Its mean score on held-out samples.
    best_index_ : int
        Its index in `cv_results_`.
    best_estimator_ : LinearClassifier
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_ : dict
        As GridSearchCV's: parameters, the score of each fold, their mean, standard deviation and
        rank; and "max_relative_gap", the largest duality gap among the folds.
    edges_ : dict
        Which of `best_params_` are the "smallest" or "largest" of their grid; a warning says so.
    n_splits_ : int
        Number of folds.
    dual_gap_, n_iter_, solver_
        Those of `best_estimator_`.
    search_status_ : Status
        CONVERGED, or why the search ended early: CALLBACK, TIME_LIMIT or INTERRUPTED.
    status_ : Status
        The worse of `search_status_` and the status of `best_estimator_`.
    search_time_ : float
        Seconds that the search took.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from resolvent import LinearClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifierCV(loss="logistic", Cs=3).fit(scale(X), y)
    >>> bool(model.best_score_ > 0.96)
    True
    """

    _tuned = LinearClassifier

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        Cs: Any = 10,
        fit_intercept: bool = True,
        class_weight: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        extend: bool = False,
        refit: bool = True,
        conformal: bool = False,
        weighted_scores: bool = True,
        search_tol: float | None = 0.01,
        n_jobs: int | None = None,
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.extend = extend
        self.refit = refit
        self.conformal = conformal
        self.weighted_scores = weighted_scores
        self.search_tol = search_tol
        self.n_jobs = n_jobs
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> LinearClassifierCV:
        """Choose by cross-validation and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, for splitters that keep groups together.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        LinearClassifierCV
        """
        return self._fit(X, y, sample_weight, groups, offset)


class LinearRegressorCV(Weights, CrossValidatedRegressor):
    """Linear regressor with any loss whose C is chosen by cross-validation.

    Folds and targets are followed along C, each solution started from the one before; the squared
    loss has its folds in closed form. The winner is fitted on all samples to the full tolerance,
    with its certificate.

    Parameters
    ----------
    loss : str or loss, default="squared"
        As in :class:`resolvent.KernelRegressor`; the squared loss has its folds in closed form up
        to 3,000 samples, leave-one-out at any number.
    Cs : int or array-like, default=10
        Values of C; a number is so many of them from 0.01 to 1000.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    normalize_y : bool, default=True
        Whether C and the parameters of the loss are in units of the target's spread, so that a
        model of ``a y + b`` is that of y times a plus b; False is in those of the data.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; a number means folds of consecutive samples.
    scoring : str, callable or None, default=None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is R2.
    rule : {"best", "one_standard_error"}, default="best"
        The pair with the best mean score, or the one with the smallest C whose mean is within one
        standard error of it.
    extend : bool, default=False
        Whether to go on beyond the grid where the best C or gamma is its smallest or largest, until
        it is not, or scores gain less than 1e-4 of themselves; by up to 30 values for each.
    refit : bool, default=True
        Whether to fit the chosen pair on all samples.
    conformal : bool, default=False
        Whether to fit the chosen pair without each fold as well, for `predict_interval`.
    weighted_scores : bool, default=True
        Whether `sample_weight` counts in the scores too, where the scorer takes weights.
    search_tol : float or None, default=0.01
        Gap of the problems of the search, relative to the objective, or to the loss of the samples
        held out if that is more; pairs that are nearly the best are solved again to a tenth of it.
        None is `tol`, each problem certified from scratch.
    n_jobs : int or None, default=None
        Number of threads that work on folds at a time; None and -1 are all that BLAS would use.
    solver : {"auto", "coordinate_descent", "fixed_point", "newton"}, default="auto"
        The algorithm.
    tol : float, default=1e-5
        Relative duality gap of the last fit.
    max_iter : int or None, default=None
        Largest number of iterations of each problem; None is the solver's default.
    time_limit : float or None, default=None
        Seconds for everything; the best of what was reached is fitted.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn at random: order of updates, landmarks. None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".

    Attributes
    ----------
    best_params_ : dict
        The chosen C.
    best_score_ : float
        Its mean score on held-out samples.
    best_index_ : int
        Its index in `cv_results_`.
    best_estimator_ : LinearRegressor
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_ : dict
        As GridSearchCV's: parameters, the score of each fold, their mean, standard deviation and
        rank; and "max_relative_gap", the largest duality gap among the folds.
    edges_ : dict
        Which of `best_params_` are the "smallest" or "largest" of their grid; a warning says so.
    n_splits_ : int
        Number of folds.
    dual_gap_, n_iter_, solver_
        Those of `best_estimator_`.
    search_status_ : Status
        CONVERGED, or why the search ended early: CALLBACK, TIME_LIMIT or INTERRUPTED.
    status_ : Status
        The worse of `search_status_` and the status of `best_estimator_`.
    search_time_ : float
        Seconds that the search took.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from resolvent import LinearRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressorCV(loss="absolute", Cs=[1.0, 10.0, 100.0]).fit(X, y)
    >>> model.best_estimator_.status_.name
    'CONVERGED'
    """

    _tuned = LinearRegressor

    def __init__(
        self,
        loss: Any = "squared",
        *,
        Cs: Any = 10,
        fit_intercept: bool = True,
        normalize_y: bool = True,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        extend: bool = False,
        refit: bool = True,
        conformal: bool = False,
        weighted_scores: bool = True,
        search_tol: float | None = 0.01,
        n_jobs: int | None = None,
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.extend = extend
        self.refit = refit
        self.conformal = conformal
        self.weighted_scores = weighted_scores
        self.search_tol = search_tol
        self.n_jobs = n_jobs
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> LinearRegressorCV:
        """Choose by cross-validation and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, for splitters that keep groups together.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        LinearRegressorCV
        """
        return self._fit(X, y, sample_weight, groups, offset)
