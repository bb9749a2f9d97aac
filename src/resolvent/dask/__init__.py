"""Fits on a Dask cluster, with the same certificates as on one machine.

The rows are where Dask has them: in arrays and data frames split by rows, in delayed objects, or in
files that the workers read. The estimators are those without Dask in their name, fitted by sums
over blocks. Needs the packages dask and distributed: ``pip install 'resolvent[dask]'``.
"""

from __future__ import annotations

from resolvent.dask._engine import ClusterError, Stage
from resolvent.dask.classifier import DaskKernelClassifier
from resolvent.dask.linear import DaskLinearClassifier, DaskLinearRegressor
from resolvent.dask.quantile import DaskKernelQuantileRegressor
from resolvent.dask.regressor import DaskKernelRegressor

__all__ = [
    "ClusterError",
    "DaskKernelClassifier",
    "DaskKernelQuantileRegressor",
    "DaskKernelRegressor",
    "DaskLinearClassifier",
    "DaskLinearRegressor",
    "Stage",
]
