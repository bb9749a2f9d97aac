"""What the estimators on a cluster share: from collections to blocks, and back to predictions."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from resolvent._clock import Clock
from resolvent.blocks.reading import Shape, shape_of
from resolvent.dask._data import Parts, groups_of, is_lazy, parts_of
from resolvent.dask._engine import Course, DaskReducer, Stage, client_of, shield
from resolvent.dask._predict import lazily
from resolvent.estimators.base import Machine
from resolvent.estimators.on_blocks import OnBlocks
from resolvent.kernels.base import is_number

__all__ = ["DaskMachine"]


class DaskMachine(OnBlocks):
    """Base of the estimators on a cluster: ordinary ones whose `fit` is by sums over blocks.

    A subclass is derived from it and from the ordinary estimator, which `local` names.
    """

    local: type[Machine]
    client: Any
    timeout: float
    fit_report_: dict[str, Stage]

    def _fit_on_cluster(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Load the blocks, fit, and let go of them whatever happens."""
        if not (is_number(self.timeout) and self.timeout > 0.0):
            raise ValueError(f"timeout={self.timeout!r} must be a positive number of seconds.")
        clock = Clock(self.time_limit)
        if not self.warm_start:
            self._points.clear()
        course = Course(client_of(self.client), float(self.timeout))
        parts = parts_of(X, y, sample_weight)
        shield(course.client)
        held: list[DaskReducer] = []
        try:
            held.append(groups_of(course, parts))
            shape = shape_of(held[0])
            self._note_features(parts, shape)
            self._fit_blocks(held, shape, clock)
        finally:
            for reducer in held:
                reducer.release()
        self.fit_time_, self.fit_report_ = clock.seconds, course.stages
        return self

    def _note_features(self, parts: Parts, shape: Shape) -> None:
        self.n_features_in_, self._n_given = shape.features, shape.rows
        self.__dict__.pop("feature_names_in_", None)
        if parts.names is not None and all(isinstance(name, str) for name in parts.names):
            self.feature_names_in_ = np.asarray(parts.names, dtype=object)

    # ---- the ordinary estimator --------------------------------------------------------------

    def to_local(self) -> Any:
        """Give the ordinary estimator, fitted, which needs no cluster and can be saved.

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        names = self.local._get_param_names()
        given = self.get_params(deep=False)
        model = self.local(**{name: given[name] for name in names if name in given})
        for name, value in vars(self).items():
            if name not in given and name not in ("fit_report_", "_points"):
                setattr(model, name, value)
        return model

    def __sklearn_clone__(self) -> Any:
        """Clone the parameters; the client is the same."""
        given = self.get_params(deep=False)
        client = given.pop("client")
        return type(self)(**{k: clone(v, safe=False) for k, v in given.items()}, client=client)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    # ---- predictions -------------------------------------------------------------------------

    def _ask(self, method: str, X: Any, offset: Any) -> Any:
        """Call a method of the ordinary estimator, lazily where the rows are elsewhere."""
        check_is_fitted(self)
        model = self.to_local()
        if not is_lazy(X):
            return getattr(model, method)(X, offset)
        if offset is not None:
            raise ValueError("offset= is for rows in this process: add it to decision_function.")
        named = hasattr(model, "feature_names_in_")
        if named and not hasattr(X, "columns"):  # nor have the rows of files names
            del model.feature_names_in_
        like = getattr(_unnamed(model), method)(np.zeros((1, model.n_features_in_)))[:0]
        columns = list(getattr(self, "classes_", range(like.shape[-1])))
        return lazily(model, method, X, like, columns)

    def predict(self, X: Any, offset: Any = None) -> Any:
        """Predictions for samples, computed when they are asked for.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, paths or array-like
            Samples.
        offset : array-like, optional
            Known part of the scores, for samples in this process.

        Returns
        -------
        dask array, dask series or dataframe, list of delayed objects, or ndarray
            As X is; a dask array for blocks of files, an ndarray for what is in this process.
        """
        return self._ask("predict", X, offset)


def _unnamed(model: Any) -> Any:
    """Copy a model, to take rows without names of features."""
    copied = copy(model)
    vars(copied).pop("feature_names_in_", None)
    return copied


def _has(method: str) -> Callable[[Any], bool]:
    """Whether the ordinary estimator has a method with these parameters."""

    def check(self: Any) -> bool:
        names = self.local._get_param_names()
        given = self.get_params(deep=False)
        getattr(self.local(**{name: given[name] for name in names if name in given}), method)
        return True

    return check


class LazyClassifierMixin:
    """Decisions and probabilities, computed when they are asked for."""

    def decision_function(self, X: Any, offset: Any = None) -> Any:
        """Scores of the classes, computed when they are asked for.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, paths or array-like
            Samples.
        offset : array-like, optional
            Known part of the scores, for samples in this process.

        Returns
        -------
        collection as X is
            For two classes, one score for each sample, positive for the second.
        """
        return self._ask("decision_function", X, offset)  # type: ignore[attr-defined]

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any, offset: Any = None) -> Any:
        """Probabilities of the classes, computed when they are asked for.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, paths or array-like
            Samples.
        offset : array-like, optional
            Known part of the scores, for samples in this process.

        Returns
        -------
        collection as X is
            A column for each class.
        """
        return self._ask("predict_proba", X, offset)  # type: ignore[attr-defined]

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, offset: Any = None) -> Any:
        """Logarithms of the probabilities of the classes, computed when they are asked for.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed objects, Source, paths or array-like
            Samples.
        offset : array-like, optional
            Known part of the scores, for samples in this process.

        Returns
        -------
        collection as X is
            A column for each class.
        """
        return self._ask("predict_log_proba", X, offset)  # type: ignore[attr-defined]
