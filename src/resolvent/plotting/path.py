"""The Display of a path along C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resolvent._numeric import EPS
from resolvent.model_selection.path import Path
from resolvent.plotting._pyplot import pyplot
from resolvent.problem.certificate import relative_gaps


class PathDisplay:
    """Objective, relative gap, number of support vectors and validation score along C.

    Make one with :meth:`from_path`, which also draws it; all parameters are kept as attributes.

    Parameters
    ----------
    path : Path
        What :func:`resolvent.path` returned.
    scores : ndarray of shape (n_Cs,), optional
        Score of validation data at each C; there is no picture of it if it is not given.
    score_name : str, default="Validation loss"
        What the axis of the scores says.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Three axes, four with scores.
    lines_ : list of matplotlib Line2D
        One curve in each.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import path
    >>> from resolvent.plotting import PathDisplay
    >>> result = path("absolute", np.eye(2), [1.0, 2.0], Cs=[0.5, 1.5, 2.5])
    >>> display = PathDisplay.from_path(result)
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['Objective', 'Relative duality gap', 'Support vectors']
    """

    axes_: Any
    lines_: list[Any]
    figure_: Any

    def __init__(
        self, *, path: Path, scores: ArrayLike | None = None, score_name: str = "Validation loss"
    ) -> None:
        self.path = path
        self.scores = scores
        self.score_name = score_name

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        K: ArrayLike | None = None,
        y: ArrayLike | None = None,
        score: Any = None,
        axes: Any = None,
        **kwargs: Any,
    ) -> PathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : Path
            What :func:`resolvent.path` returned.
        K : array-like of shape (n_new, n), optional
            Kernel values between validation samples and those of the path.
        y : array-like of shape (n_new,), optional
            Targets of the validation samples.
        score : callable, optional
            Function of the targets and the scores at one C; the mean loss if it is not given.
        axes : array of matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `plot`.

        Returns
        -------
        PathDisplay
        """
        if (K is None) != (y is None):
            raise ValueError("Validation data are both K and y; only one of them was given.")
        if K is None or y is None:
            return cls(path=path).plot(axes, **kwargs)
        if score is None:
            return cls(path=path, scores=path.validation_loss(K, y)).plot(axes, **kwargs)
        values = np.array([score(np.asarray(y), z) for z in path.scores(K).T])
        name = getattr(score, "__name__", "Validation score").replace("_", " ")
        return cls(path=path, scores=values, score_name=name).plot(axes, **kwargs)

    def plot(self, axes: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw the curves, C on a logarithmic axis.

        Parameters
        ----------
        axes : array of matplotlib Axes, optional
            Three of them, four with scores; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `plot`.

        Returns
        -------
        PathDisplay
            The display itself, with `axes_`, `lines_` and `figure_`.
        """
        path = self.path
        relative = relative_gaps(path.gap, path.primal, path.dual)
        # A gap of zero is one below rounding, and has no place on a logarithmic axis.
        curves: list[tuple[str, Any, str]] = [
            ("Objective", path.primal, "log"),
            ("Relative duality gap", np.maximum(relative, EPS), "log"),
            ("Support vectors", path.n_support, "linear"),
        ]
        if self.scores is not None:
            curves.append((self.score_name, self.scores, "linear"))
        if axes is None:
            _, axes = pyplot().subplots(
                1, len(curves), figsize=(3.2 * len(curves), 3), layout="constrained"
            )
        axes = np.ravel(axes)
        if len(axes) != len(curves):
            raise ValueError(f"{len(axes)} axes were given for {len(curves)} curves.")
        self.lines_ = []
        for ax, (name, values, yscale) in zip(axes, curves, strict=True):
            self.lines_ += ax.plot(path.Cs, values, **{"marker": ".", **kwargs})
            positive = yscale == "linear" or np.min(values) > 0
            ax.set(xscale="log", xlabel="C", ylabel=name, yscale=yscale if positive else "linear")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
