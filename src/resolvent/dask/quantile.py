"""Kernel quantile and expectile regression on a cluster."""

from __future__ import annotations

from typing import Any

from resolvent.dask._machine import DaskKernelMachine
from resolvent.estimators.descriptions import CLUSTER, described
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.quantile import KernelQuantileRegressor

__all__ = ["DaskKernelQuantileRegressor"]


@described(CLUSTER)
class DaskKernelQuantileRegressor(DaskKernelMachine, KernelQuantileRegressor):
    """:class:`resolvent.KernelQuantileRegressor` of landmarks, on a Dask cluster.

    The function is sought among those that `rank` landmarks span. Features of the landmarks stay
    with the workers, and `dual_gap_` says how far the model is from the optimum over all functions:
    from all pairs of support vectors, which the workers exchange.

    Parameters
    ----------
    quantile : float or sequence of float
        Which quantiles, each strictly between 0 and 1.
    kind : {"quantile", "expectile"}
        Quantiles or expectiles.

    Attributes
    ----------
    target_unit_, support_, dual_coef_, intercept_, kernel_, rank_, landmarks_
        As of :class:`resolvent.KernelQuantileRegressor`.
    dual_gap_, objective_, status_, n_iter_, optimization_gap_, approximation_gap_, certificate_
        As of :class:`resolvent.KernelQuantileRegressor`.
    fit_report_

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from resolvent.dask import DaskKernelQuantileRegressor
    >>> X = da.random.default_rng(0).uniform(0, 6, (400, 1), chunks=(100, 1))
    >>> y = da.sin(X[:, 0])
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     model = DaskKernelQuantileRegressor((0.1, 0.9), C=10.0, rank=30).fit(X, y)
    >>> model.predict(X).shape
    (400, 2)
    """

    local = KernelQuantileRegressor

    def __init__(
        self,
        quantile: Any = 0.5,
        kernel: Any = "rbf",
        *,
        kind: str = "quantile",
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        normalize_y: bool = True,
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        rank: Any = 1000,
        landmarks: Any = "rpcholesky",
        certificate: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        timeout: float = 300.0,
        client: Any = None,
    ) -> None:
        self.quantile = quantile
        self.kernel = kernel
        self.kind = kind
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.rank = rank
        self.landmarks = landmarks
        self.certificate = certificate
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.timeout = timeout
        self.client = client
        self._points = {}

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskKernelQuantileRegressor:
        """Fit the quantiles.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, path or list of paths
            Training samples, split by rows.
        y : as X, or the name of a column of Parquet files
            Targets, one for each row.
        sample_weight : as y, optional
            Weights; 2 is the sample given twice, 0 the sample absent.

        Returns
        -------
        DaskKernelQuantileRegressor
        """
        self._losses()
        self._check_rank()
        self._calibration = None
        return self._fit_on_cluster(X, y, sample_weight)
