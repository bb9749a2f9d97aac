"""What is wrong with data, in a sentence."""

from __future__ import annotations

__all__ = ["DataFileError"]


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
