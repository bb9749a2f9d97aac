"""Kernel classification on a cluster."""

from __future__ import annotations

from typing import Any

from resolvent.dask._base import LazyClassifierMixin
from resolvent.dask._machine import DaskKernelMachine
from resolvent.estimators.classifier import KernelClassifier
from resolvent.estimators.descriptions import CLUSTER, described
from resolvent.estimators.fit_method import fit_method

__all__ = ["DaskKernelClassifier"]


@described(CLUSTER)
class DaskKernelClassifier(LazyClassifierMixin, DaskKernelMachine, KernelClassifier):
    """:class:`resolvent.KernelClassifier` of landmarks, on a Dask cluster.

    The function is sought among those that `rank` landmarks span. Features of the landmarks stay
    with the workers, and `dual_gap_` says how far the model is from the optimum over all functions:
    from all pairs of support vectors, which the workers exchange.

    Attributes
    ----------
    classes_, support_, dual_coef_, intercept_, kernel_, rank_, landmarks_
        As of :class:`resolvent.KernelClassifier`.
    dual_gap_, objective_, status_, n_iter_, optimization_gap_, approximation_gap_, certificate_
        As of :class:`resolvent.KernelClassifier`.
    fit_report_

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from resolvent.dask import DaskKernelClassifier
    >>> X = da.random.default_rng(0).uniform(0, 6, (400, 1), chunks=(100, 1))
    >>> y = (X[:, 0] % 2 > 1).astype(int)
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     model = DaskKernelClassifier(C=10.0, rank=50).fit(X, y)
    >>> bool(model.dual_gap_ < 1e-3 * model.objective_)
    True
    """

    local = KernelClassifier

    def __init__(
        self,
        loss: Any = "hinge",
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
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
        self.loss = loss
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskKernelClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, path or list of paths
            Training samples, split by rows.
        y : as X, or the name of a column of Parquet files
            Labels.
        sample_weight : as y, optional
            Weights; 2 is the sample given twice, 0 the sample absent.

        Returns
        -------
        DaskKernelClassifier
        """
        self._margin_loss(self.loss)
        self._check_rank()
        self._calibration = None
        return self._fit_on_cluster(X, y, sample_weight)
