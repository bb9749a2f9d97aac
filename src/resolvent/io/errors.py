"""What is wrong with a file, in a sentence."""

from __future__ import annotations

from resolvent.tabular.errors import DataFileError

__all__ = ["DataFileError", "ModelFileError"]


class ModelFileError(ValueError):
    """A model cannot be saved or a file is not a model; the message says why and what to do.

    Examples
    --------
    >>> import resolvent
    >>> from resolvent.io import ModelFileError
    >>> try:
    ...     resolvent.load("README.md")
    ... except ModelFileError as error:
    ...     print("no model")
    no model
    """
