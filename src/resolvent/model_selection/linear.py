"""Linear models that choose C by cross-validation; the kernel matrix is never formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.descriptions import SEARCHES, described
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


@described(SEARCHES)
class LinearClassifierCV(Weights, CrossValidatedClassifier):
    """Linear classifier with any loss whose C is chosen by cross-validation.

    Folds and classes are followed along C, each solution started from the one before. The winner is
    fitted on all samples to the full tolerance, with its certificate.

    Parameters
    ----------
    loss : str or loss
        As in :class:`resolvent.KernelClassifier`.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; a number means stratified folds.
    scoring : str, callable or None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is accuracy.
    conformal : bool
        Whether to fit the chosen pair without each fold as well, for `predict_set`.

    Attributes
    ----------
    best_params_ : dict
        The chosen C.
    best_score_
    best_index_
    best_estimator_ : LinearClassifier
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_
    edges_
    n_splits_
    dual_gap_, n_iter_, solver_
    search_status_
    status_
    search_time_

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


@described(SEARCHES)
class LinearRegressorCV(Weights, CrossValidatedRegressor):
    """Linear regressor with any loss whose C is chosen by cross-validation.

    Folds and targets are followed along C, each solution started from the one before; the squared
    loss has its folds in closed form. The winner is fitted on all samples to the full tolerance,
    with its certificate.

    Parameters
    ----------
    loss : str or loss
        As in :class:`resolvent.KernelRegressor`; the squared loss has its folds in closed form up
        to 3,000 samples, leave-one-out at any number.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; a number means folds of consecutive samples.
    scoring : str, callable or None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is R2.
    conformal : bool
        Whether to fit the chosen pair without each fold as well, for `predict_interval`.

    Attributes
    ----------
    best_params_ : dict
        The chosen C.
    best_score_
    best_index_
    best_estimator_ : LinearRegressor
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_
    edges_
    n_splits_
    dual_gap_, n_iter_, solver_
    search_status_
    status_
    search_time_

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
