"""Kernel regression on a cluster."""

from __future__ import annotations

from typing import Any

from resolvent.dask._engine import DaskReducer
from resolvent.dask._low_rank import DaskKernelMachine
from resolvent.dask._problems import Asked, target_problems
from resolvent.dask._reading import Shape
from resolvent.estimators.fit_method import fit_method
from resolvent.estimators.regressor import KernelRegressor

__all__ = ["DaskKernelRegressor"]


class DaskKernelRegressor(DaskKernelMachine, KernelRegressor):
    """:class:`resolvent.KernelRegressor` of landmarks, on a Dask cluster.

    The function is sought among those that `rank` landmarks span. Features of the landmarks stay
    with the workers, and `dual_gap_` says how far the model is from the optimum over all functions:
    from all pairs of support vectors, which the workers exchange.

    Parameters
    ----------
    loss : str or loss, default="squared"
        A name in :data:`resolvent.losses.LOSSES`, or an instance such as ``Huber(delta=0.5)``.
    kernel : str, Kernel or callable, default="rbf"
        "rbf", "laplacian", "matern", "poly", "cosine", "linear", "sigmoid", "chi2", "tanimoto", a
        kernel of :mod:`resolvent.kernels`, or a function ``(A, B) -> matrix``.
    C : float, default=1.0
        Weight of the loss against the penalty, 1 / lambda.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient; "scale" is found from all rows.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Independent term of the polynomial kernel.
    fit_intercept : bool, default=True
        Whether to add an unpenalised offset.
    normalize_y : bool, default=True
        Whether C and the parameters of the loss are in units of the target's spread; False is in
        those of the data.
    tol : float, default=1e-5
        Relative duality gap to reach.
    max_iter : int or None, default=None
        Largest number of passes over the blocks; None is the solver's default.
    time_limit : float or None, default=None
        Seconds after which the best model so far is kept; landmarks and features are computed in
        any case.
    rank : int, default=1000
        Number of landmarks.
    landmarks : {"rpcholesky", "uniform"} or rows, default="rpcholesky"
        How landmarks are chosen, from a sample of rows that comes to the client, or themselves.
    certificate : {"auto", "exact", "subspace"}, default="auto"
        How `dual_gap_` is found: from all pairs of support vectors ("auto" and "exact"), or
        "subspace": not at all, and `dual_gap_` is that of the low-rank problem.
    warm_start : bool, default=False
        Whether to start where the last fit ended, be it by an error of the cluster.
    random_state : int, RandomState or None, default=None
        Seed of the choice of landmarks; None is a fixed seed.
    verbose : int, default=0
        Whether to report progress through the logger "resolvent".
    timeout : float, default=300.0
        Seconds without a worker, or without any progress of the cluster, after which `fit` gives
        up.
    client : distributed.Client, optional
        The client; if not given Dask's current one.

    Attributes
    ----------
    target_unit_, support_, dual_coef_, intercept_, kernel_, dual_gap_, objective_, status_,
    n_iter_, rank_, landmarks_, optimization_gap_, approximation_gap_, certificate_
        As of :class:`resolvent.KernelRegressor`.
    fit_report_ : dict of str to Stage
        Tasks, seconds and bytes by stage.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from resolvent.dask import DaskKernelRegressor
    >>> X = da.random.default_rng(0).uniform(0, 6, (400, 1), chunks=(100, 1))
    >>> y = da.sin(X[:, 0])
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     model = DaskKernelRegressor("absolute", C=10.0, rank=30).fit(X, y)
    >>> bool(abs(model.predict(X) - y).max().compute() < 0.1)
    True
    """

    local = KernelRegressor

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
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
        self.loss = loss
        self.kernel = kernel
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskKernelRegressor:
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
        DaskKernelRegressor
        """
        self._target_loss(self.loss)
        self._check_rank()
        self._calibration = None
        return self._fit_on_cluster(X, y, sample_weight)

    def _asked(self, held: list[DaskReducer], shape: Shape) -> list[Asked]:
        return target_problems(self, held, shape)
