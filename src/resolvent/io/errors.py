"""What is wrong with a file, in a sentence."""

from __future__ import annotations

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


class DataFileError(ValueError):
    """A file of data cannot be read; the message points to the first bad value.

    Examples
    --------
    >>> from resolvent.io import DataFileError
    >>> print(DataFileError("expected a number, found 'x'", "train.csv", 7, 3))
    train.csv:7:3: expected a number, found 'x'
    """

    def __init__(self, message: str, source: str = "", line: int = 0, column: int = 0) -> None:
        place = ":".join([source, *(str(x) for x in (line, column) if x)])
        super().__init__(f"{place}: {message}" if place else message)
        self.source, self.line, self.column = source, line, column
