"""Compile ahead of time, for images and machines whose first fit should not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["compile_all"]

ROWS, COLUMNS = 2100, 20  # enough for solvers to go through all of their steps,
FEW = 200  # and so few that the problem is solved in one compiled call


def compile_all(everything: bool = False, report: Callable[[str], Any] | None = None) -> int:
    """Fit small models, so that what they compile is kept on disk.

    Fits compile their loops at the first use of each loss and kind of data, and keep the machine
    code in Numba's cache (the environment variable ``NUMBA_CACHE_DIR`` names the directory). Call
    this while a container image is built, or once on a new machine.

    Parameters
    ----------
    everything : bool, default=False
        Whether to compile for every loss of the package, kernel and linear, dense and sparse,
        single and double precision, which takes some minutes. By default the estimators' default
        losses and the logistic loss on dense data in double precision.
    report : callable, optional
        Is told the name of each model before it is fitted.

    Returns
    -------
    int
        Number of models that were fitted.

    Examples
    --------
    >>> import resolvent
    >>> resolvent.compile_all() > 4  # doctest: +SKIP
    True
    """
    count = 0
    for name, fit in _models(everything):
        if report is not None:
            report(name)
        fit()
        count += 1
    return count


def _models(everything: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of models and what fits them and predicts once."""
    import warnings

    import numpy as np
    from scipy.sparse import csr_array
    from sklearn.exceptions import ConvergenceWarning

    import resolvent
    from resolvent.losses import COUPLED, LOSSES, is_for_labels
    from resolvent.svm import SVC, SVR

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    number = (X[:, :5] ** 2).sum(axis=1) / 5.0 - 1.0 + 0.1 * rng.standard_normal(ROWS)
    label = number > 0

    def fitting(model: Any, X: Any, y: Any) -> Callable[[], Any]:
        def fit() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                for rows in (slice(FEW), slice(None)):
                    model.fit(X[rows], y[rows]).predict(X[:2])

        return fit

    quantiles = resolvent.KernelQuantileRegressor((0.1, 0.5, 0.9))
    yield "SVC", fitting(SVC(gamma=0.05), X, label)
    yield "SVR", fitting(SVR(), X, number)
    yield "KernelClassifier, logistic", fitting(resolvent.KernelClassifier("logistic"), X, label)
    yield "KernelRegressor, squared", fitting(resolvent.KernelRegressor(), X, number)
    yield "KernelQuantileRegressor", fitting(quantiles, X, number)
    yield "KernelRidge", fitting(resolvent.KernelRidge(), X, number)
    if not everything:
        return
    kinds = {"dense": X, "dense, float32": X.astype(np.float32), "sparse": csr_array(X)}
    for name, loss in {**LOSSES, **COUPLED}.items():
        labels = is_for_labels(loss)
        y = label if labels else np.round(np.exp(np.clip(number, -1, 1)))
        kernel = resolvent.KernelClassifier if labels else resolvent.KernelRegressor
        linear = resolvent.LinearClassifier if labels else resolvent.LinearRegressor
        for kind, rows in kinds.items():
            yield f"{kernel.__name__}, {name}, {kind}", fitting(kernel(name), rows, y)
            if name not in COUPLED:
                yield f"{linear.__name__}, {name}, {kind}", fitting(linear(name), rows, y)
