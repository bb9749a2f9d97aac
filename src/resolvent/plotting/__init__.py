"""Pictures in scikit-learn's Display convention; they need Matplotlib."""

from resolvent.plotting.gap import GapDisplay
from resolvent.plotting.path import PathDisplay
from resolvent.plotting.validation import ValidationHeatmapDisplay

__all__ = ["GapDisplay", "PathDisplay", "ValidationHeatmapDisplay"]
