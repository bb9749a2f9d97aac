"""Linear models with any loss on a cluster."""

from __future__ import annotations

from typing import Any

from resolvent.dask._base import DaskMachine, LazyClassifierMixin
from resolvent.estimators.descriptions import CLUSTER, described
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.linear import LinearClassifier, LinearRegressor

__all__ = ["DaskLinearClassifier", "DaskLinearRegressor"]


@described(CLUSTER)
class DaskLinearClassifier(LazyClassifierMixin, DaskMachine, LinearClassifier):
    """:class:`resolvent.LinearClassifier` on a Dask cluster, with the same certificate.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``. The rows stay with the workers; each
    step of Newton's method is a sum over blocks of rows, and its bits do not depend on the number
    of workers.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach; 0 is the limit of rounding.
    time_limit : float or None
        Seconds after which the best model so far is kept.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_gap_, objective_, n_iter_, status_, history_, fit_time_
        As of :class:`resolvent.LinearClassifier`.
    fit_report_

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from resolvent.dask import DaskLinearClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = da.from_array(scale(X), chunks=(100, -1))
    >>> y = da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     model = DaskLinearClassifier(loss="logistic").fit(X, y)
    ...     right = (model.predict(X) == y).mean().compute()
    >>> model.status_.name, bool(right > 0.98)
    ('CONVERGED', True)
    """

    local = LinearClassifier

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        timeout: float = 300.0,
        client: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.timeout = timeout
        self.client = client
        self._points = {}

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskLinearClassifier:
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
        DaskLinearClassifier
        """
        self._margin_loss(self.loss)
        self._calibration = None
        return self._fit_on_cluster(X, y, sample_weight)


@described(CLUSTER)
class DaskLinearRegressor(DaskMachine, LinearRegressor):
    """:class:`resolvent.LinearRegressor` on a Dask cluster, with the same certificate.

    Minimises ``C sum_i w_i L(y_i, x_i'w + b) + |w|^2 / 2``. The rows stay with the workers; each
    step of Newton's method is a sum over blocks of rows, and its bits do not depend on the number
    of workers.

    Parameters
    ----------
    loss : str or loss
        A name in :data:`resolvent.losses.LOSSES`, or an instance such as ``Huber(delta=0.5)``.
    tol : float
        Relative duality gap to reach; 0 is the limit of rounding.
    time_limit : float or None
        Seconds after which the best model so far is kept.

    Attributes
    ----------
    coef_, intercept_, dual_gap_, objective_, n_iter_, status_, history_, fit_time_, target_unit_
        As of :class:`resolvent.LinearRegressor`.
    fit_report_

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from resolvent.dask import DaskLinearRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = (da.from_array(a, chunks=100) for a in load_diabetes(return_X_y=True))
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     model = DaskLinearRegressor(loss="absolute", C=10.0).fit(X, y)
    >>> model.to_local()
    LinearRegressor(C=10.0, loss='absolute')
    """

    local = LinearRegressor

    def __init__(
        self,
        loss: Any = "squared",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        normalize_y: bool = True,
        tol: float = 1e-5,
        max_iter: int | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        timeout: float = 300.0,
        client: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.verbose = verbose
        self.timeout = timeout
        self.client = client
        self._points = {}

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskLinearRegressor:
        """Fit the regressor.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, path or list of paths
            Training samples, split by rows.
        y : as X, or the name of a column of Parquet files
            Targets, of which there may be several columns.
        sample_weight : as y, optional
            Weights; 2 is the sample given twice, 0 the sample absent.

        Returns
        -------
        DaskLinearRegressor
        """
        self._target_loss(self.loss)
        self._calibration = None
        return self._fit_on_cluster(X, y, sample_weight)
