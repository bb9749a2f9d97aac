"""Kernel regressors that choose gamma and C by cross-validation on shared kernel matrices."""

from __future__ import annotations

from typing import Any

from resolvent.estimators.descriptions import SEARCHES, described
from resolvent.estimators.regressor import KernelRegressor
from resolvent.model_selection.base import CrossValidatedRegressor
from resolvent.model_selection.landmarks import OfRank


@described(SEARCHES)
class KernelRegressorCV(OfRank, CrossValidatedRegressor):
    """Kernel regressor with any loss whose gamma and C are chosen by cross-validation.

    All folds, targets and values of C share one kernel matrix for each gamma. The squared loss has
    its folds, leave-one-out among them, in closed form. The winner is fitted on all samples to the
    full tolerance, with its certificate.

    Parameters
    ----------
    loss : str or loss
        As in :class:`resolvent.KernelRegressor`; the squared loss has its folds in closed form up
        to 3,000 samples, leave-one-out at any number.
    kernel : str, Kernel or callable
        As in :class:`resolvent.KernelRegressor`.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; a number means folds of consecutive samples.
    scoring : str, callable or None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is R2.
    conformal : bool
        Whether to fit the chosen pair without each fold as well, for `predict_interval`.

    Attributes
    ----------
    best_params_
    best_score_
    best_index_
    best_estimator_ : KernelRegressor
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_
    edges_
    n_splits_
    dual_gap_, n_iter_, solver_
    rank_, landmarks_, certificate_, optimization_gap_, approximation_gap_
    search_status_
    status_
    search_time_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import LeaveOneOut
    >>> from resolvent import KernelRegressorCV
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelRegressorCV(cv=LeaveOneOut(), scoring="neg_mean_squared_error").fit(X, y)
    >>> bool(model.best_score_ > -1e-4)
    True
    """

    _tuned = KernelRegressor

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
        Cs: Any = 10,
        gammas: Any = 10,
        degree: int = 3,
        coef0: float = 0.0,
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
        memory_limit: Any = "auto",
        rank: Any = None,
        landmarks: Any = "rpcholesky",
        certificate: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.Cs = Cs
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
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
        self.memory_limit = memory_limit
        self.rank = rank
        self.landmarks = landmarks
        self.certificate = certificate
        self.random_state = random_state
        self.verbose = verbose
