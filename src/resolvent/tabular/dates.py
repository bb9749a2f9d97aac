"""Dates in text, as numbers of days."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["days_of"]

ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)Z?)?")


def days_of(words: list[str]) -> np.ndarray | None:
    """Days since 1970-01-01 of ISO 8601 dates, with or without a time; None if any word is none.

    Examples
    --------
    >>> from resolvent.tabular.dates import days_of
    >>> days_of(["1970-01-02", "1970-01-02 12:00"]).tolist()
    [1.0, 1.5]
    >>> days_of(["1970-01-02", "soon"]) is None
    True
    """
    found = [ISO.fullmatch(word.strip()) for word in words]
    texts = ["T".join(filter(None, match.groups())) for match in found if match is not None]
    if not words or len(texts) < len(words):
        return None
    try:
        moments = np.array(texts, dtype="datetime64[us]")
    except ValueError:  # such as the 31st of June
        return None
    return moments.astype(np.int64) / 86_400e6
