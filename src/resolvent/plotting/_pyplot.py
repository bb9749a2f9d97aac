"""Matplotlib, which is an extra."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Import Matplotlib, or say how to get it."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            "Drawing needs Matplotlib, which is not installed: pip install 'resolvent[plot]'."
        ) from error
    return matplotlib.pyplot
