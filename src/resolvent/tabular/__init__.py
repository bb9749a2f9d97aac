"""From the columns of a table to features, learned once; a model together with its features."""

from __future__ import annotations

from resolvent.tabular.errors import DataFileError
from resolvent.tabular.features import Column, Features
from resolvent.tabular.model import TabularModel
from resolvent.tabular.raw import Matrix, Table, TextColumn

__all__ = ["Column", "DataFileError", "Features", "Matrix", "Table", "TabularModel", "TextColumn"]
