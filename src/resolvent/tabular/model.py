"""A model together with what is done to its data: what the command line fits and saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from resolvent._frames import as_frame, series_as_floats
from resolvent.tabular.errors import DataFileError
from resolvent.tabular.features import Features
from resolvent.tabular.offset import OffsetColumn
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = ["TabularModel"]


@dataclass
class TabularModel:
    """An estimator with the columns, categories and scales of the data that it was fitted on.

    Attributes
    ----------
        estimator : estimator
            The fitted estimator, whose features are those that `features` makes.
        features : Features
            What is done to data before the estimator sees it.
        target : str or None
            The name of the target, where it has one.
        offset : OffsetColumn or None
            The column with offsets or exposures; samples without it have none.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import KernelRegressor
    >>> from resolvent.tabular import Features, Matrix, TabularModel
    >>> X = np.linspace(0, 60, 50)[:, None]
    >>> features = Features.learn(Matrix("data", X, None), scale="standard")
    >>> rows = features(Matrix("data", X, None))
    >>> model = TabularModel(KernelRegressor().fit(rows, np.sin(rows[:, 0])), features)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    estimator: Any
    features: Features
    target: str | None = None
    offset: OffsetColumn | None = None

    def rows(self, X: Any) -> Any:
        """Features of samples, as the estimator takes them."""
        return self.features(as_raw(X, self.features))

    def _known(self, X: Any) -> dict[str, Any]:
        """Offsets of samples, as a keyword; none where the model or the samples have none."""
        frame = None if self.offset is None else as_frame(X)
        if frame is None or self.offset is None or self.offset.name not in frame.columns:
            return {}
        column = {self.offset.name: _column(frame[self.offset.name], False)}
        return {"offset": self.offset.read(Table("X", column))}

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for samples.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix
            Samples with the columns of the training data, before encoding and scaling.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self.estimator.predict(self.rows(X), **self._known(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, for losses that model them.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix
            Samples with the columns of the training data, before encoding and scaling.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.estimator.predict_proba(self.rows(X), **self._known(X))


def as_raw(X: Any, features: Features) -> Matrix | Table:
    """See a frame, an array or a sparse matrix as if it had been read from a file."""
    frame = as_frame(X)
    if frame is not None:
        needed = features.words | features.numbers
        columns = {
            name: _column(frame[name], name in features.words)
            for name in frame.columns
            if name in needed
        }
        return Table("X", columns)
    if issparse(X):
        return Matrix("X", csr_matrix(X), None, features.base)
    return Matrix("X", np.asarray(X, dtype=float), None, features.base)


def _column(column: Any, words: bool) -> np.ndarray | TextColumn:
    if not words:
        try:
            return series_as_floats(column)
        except ValueError as error:
            raise DataFileError(f"column {error}", "X") from None
    codes: dict[str, int] = {}
    missing = column.is_null().to_list()
    found = [
        -1 if gone or value != value else codes.setdefault(str(value), len(codes))
        for gone, value in zip(missing, column.to_list(), strict=True)
    ]
    return TextColumn(np.array(found, dtype=np.int32), list(codes))
