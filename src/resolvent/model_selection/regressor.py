"""Kernel regressors that choose gamma and C by cross-validation on shared kernel matrices."""

from __future__ import annotations

from typing import Any

from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import KernelRegressor
from resolvent.model_selection.base import CrossValidatedRegressor
from resolvent.model_selection.landmarks import OfRank


class KernelRegressorCV(OfRank, CrossValidatedRegressor):
    """Kernel regressor with any loss whose gamma and C are chosen by cross-validation.

    All folds, targets and values of C share one kernel matrix for each gamma. The squared loss has
    its folds, leave-one-out among them, in closed form. The winner is fitted on all samples to the
    full tolerance, with its certificate.

    Parameters
    ----------
    loss : str or loss, default="squared"
        As in :class:`resolvent.KernelRegressor`; the squared loss has its folds in closed form up
        to 3,000 samples, leave-one-out at any number.
    kernel : str, Kernel or callable, default="rbf"
        As in :class:`resolvent.KernelRegressor`.
    Cs : int or array-like, default=10
        Values of C; a number is so many of them from 0.01 to 1000.
    gammas : int or array-like, default=10
        Values of gamma, for the kernels that are given by name and have it; a number is so many of
        them around the inverse of the median squared distance. Or a list of kernels, in the place
        of `kernel`, or with ``kernel="precomputed"`` a list of kernel matrices of all samples,
        where `fit` gets any one of them as X; what is chosen is then "kernel", or "matrix", its
        number in the list.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Independent term of the polynomial kernel.
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
    memory_limit : int or str, default="auto"
        Bytes, or a string like "2GB", for kernel matrices; "auto" is a quarter of what is free.
    rank : int, "auto" or None, default=None
        Number of landmarks of low-rank fits, in the search and after it: for each gamma the kernel
        is computed between all samples and landmarks once, and each fold uses those that it learns
        from. "auto" searches with 512 of them and fits the winner to `tol`; None is exact.
    landmarks : {"rpcholesky", "uniform"}, indices or rows, default="rpcholesky"
        Landmarks of the last fit, see :func:`resolvent.gram`; the folds of the search choose theirs
        at random. Those that are given are the search's too, but for indices of samples that a fold
        holds out.
    certificate : {"auto", "exact", "sampled", "subspace"}, default="auto"
        How `dual_gap_` of the last fit, of the exact problem, is found, as in
        :class:`resolvent.KernelClassifier`.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn at random: order of updates, landmarks. None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".

    Attributes
    ----------
    best_params_ : dict
        The chosen C and gamma.
    best_score_ : float
        Its mean score on held-out samples.
    best_index_ : int
        Its index in `cv_results_`.
    best_estimator_ : KernelRegressor
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
    rank_, landmarks_, certificate_, optimization_gap_, approximation_gap_
        Those of `best_estimator_`.
    search_status_ : Status
        CONVERGED, or why the search ended early: CALLBACK, TIME_LIMIT or INTERRUPTED.
    status_ : Status
        The worse of `search_status_` and the status of `best_estimator_`.
    search_time_ : float
        Seconds that the search took.

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

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> KernelRegressorCV:
        """Choose by cross-validation and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list of objects
            Training samples; for a precomputed kernel, its matrix.
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
        KernelRegressorCV
        """
        return self._fit(X, y, sample_weight, groups, offset)
