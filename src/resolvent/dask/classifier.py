"""Kernel classification on a cluster."""

from __future__ import annotations

from typing import Any

from resolvent.dask._base import LazyClassifierMixin
from resolvent.dask._engine import DaskReducer
from resolvent.dask._low_rank import DaskKernelMachine
from resolvent.dask._problems import Asked, class_problems
from resolvent.dask._reading import Shape
from resolvent.estimators.classifier import KernelClassifier
from resolvent.estimators.fit_method import fit_method

__all__ = ["DaskKernelClassifier"]


class DaskKernelClassifier(LazyClassifierMixin, DaskKernelMachine, KernelClassifier):
    """:class:`resolvent.KernelClassifier` of landmarks, on a Dask cluster.

    The function is sought among those that `rank` landmarks span. Features of the landmarks stay
    with the workers, and `dual_gap_` says how far the model is from the optimum over all functions:
    from all pairs of support vectors, which the workers exchange.

    Parameters
    ----------
    loss : str or loss, default="hinge"
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", or an instance of
        a loss of one score.
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
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes.
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
    classes_, support_, dual_coef_, intercept_, kernel_, dual_gap_, objective_, status_,
    n_iter_, rank_, landmarks_, optimization_gap_, approximation_gap_, certificate_
        As of :class:`resolvent.KernelClassifier`.
    fit_report_ : dict of str to Stage
        Tasks, seconds and bytes by stage.

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

    def _asked(self, held: list[DaskReducer], shape: Shape) -> list[Asked]:
        return class_problems(self, held)
