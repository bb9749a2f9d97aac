"""Quantile regressors that choose gamma and C by cross-validation on shared kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.base import Data
from resolvent.estimators.descriptions import SEARCHES, described
from resolvent.estimators.quantile import KernelQuantileRegressor
from resolvent.model_selection.base import CrossValidatedRegressor
from resolvent.model_selection.landmarks import OfRank


@described(SEARCHES)
class KernelQuantileRegressorCV(OfRank, CrossValidatedRegressor):
    """Quantiles by kernel regression whose gamma and C are chosen by cross-validation.

    All quantiles, folds and values of C share one kernel matrix for each gamma. The default score
    is minus the mean pinball loss, averaged over the quantiles; how often held-out targets were
    below each quantile, and inside the band from the lowest to the highest, is reported.

    Parameters
    ----------
    quantile : float or sequence of float
        Strictly between 0 and 1. A number gives a vector of predictions, a sequence a column each.
    kind : {"quantile", "expectile"}
        Quantiles (pinball loss), or expectiles (asymmetric squared loss).
    kernel : str, Kernel or callable
        As in :class:`resolvent.KernelQuantileRegressor`.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; a number means folds of consecutive samples.
    scoring : str, callable or None
        Score of a fold, by any of scikit-learn's names or a function of an estimator, samples and
        targets; None is minus the mean loss.
    conformal : bool
        Whether to fit the chosen pair without each fold as well, for `predict_interval`.

    Attributes
    ----------
    best_params_
    best_score_
    best_index_
    best_estimator_ : KernelQuantileRegressor
        The model, fitted with them on all samples, with its certificate; none if not `refit`.
    cv_results_
    edges_
    n_splits_
    dual_gap_, n_iter_, solver_
    rank_, landmarks_, certificate_, optimization_gap_, approximation_gap_
    search_status_
    status_
    search_time_
    coverage_ : ndarray of shape (n_quantiles,)
        Share of held-out targets at or below each quantile, for the chosen parameters.
    band_coverage_ : float
        Share of held-out targets from the lowest to the highest quantile; NaN for one quantile.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelQuantileRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 5, (150, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(150)
    >>> model = KernelQuantileRegressorCV((0.1, 0.9), Cs=3, gammas=3).fit(X, y)
    >>> bool(0.6 < model.band_coverage_ < 0.95)
    True
    """

    _tuned = KernelQuantileRegressor

    def __init__(
        self,
        quantile: Any = 0.5,
        *,
        kind: str = "quantile",
        kernel: Any = "rbf",
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
        self.quantile = quantile
        self.kind = kind
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

    def _see(self, data: Data, folds: Any, shape: tuple[int, int]) -> Any:
        """Note how many held-out targets are below each quantile, and inside the band."""
        taus = np.atleast_1d(np.asarray(self.quantile, dtype=float))
        ranks = np.argsort(np.argsort(taus, kind="stable"))
        seen = self._seen = np.full((*shape, len(folds), len(taus) + 2), np.nan)

        def note(g: int, i: int, k: int, scores: np.ndarray) -> None:
            weight, y = data.weight[folds[k].test], data.y[folds[k].test]
            curves = np.sort(scores, axis=1)
            inside = (curves[:, :1] <= y) & (y <= curves[:, -1:])
            seen[g, i, k] = [
                *(weight @ (y <= curves[:, ranks])),
                *(weight @ inside),
                weight.sum(),
            ]

        return note

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> KernelQuantileRegressorCV:
        super()._fit(X, y, sample_weight, groups, offset)
        sums = self._seen.reshape(-1, *self._seen.shape[2:]).sum(axis=1)
        shares = sums[:, :-1] / sums[:, -1:]
        for q, tau in enumerate(np.atleast_1d(self.quantile)):
            self.cv_results_[f"coverage_{tau:g}"] = shares[:, q]
        self.cv_results_["band_coverage"] = shares[:, -1]
        self.coverage_ = shares[self.best_index_, :-1]
        self.band_coverage_ = (
            float(shares[self.best_index_, -1]) if len(self.coverage_) > 1 else np.nan
        )
        del self._seen
        return self
