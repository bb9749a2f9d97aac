"""The Display of the duality gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from resolvent._numeric import EPS
from resolvent.plotting._pyplot import pyplot
from resolvent.problem import Record, Solution
from resolvent.problem.certificate import relative_gaps

AXES = {"seconds": "Seconds", "iterations": "Iterations"}


class GapDisplay:
    """The relative duality gap, falling as a solver runs.

    Make one with :meth:`from_solution` or :meth:`from_estimator`, which also draw it; all
    parameters are kept as attributes.

    Parameters
    ----------
    curves : list of ndarray of shape (n_records, 3)
        Iteration, seconds and relative gap at each certification; one array for each run.
    name : str, optional
        What the legend calls it.

    Attributes
    ----------
    line_ : matplotlib Line2D or list of Line2D
        The curve; a list if there were several runs, as for several quantiles.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.

    Examples
    --------
    >>> import numpy as np
    >>> from resolvent import solve
    >>> from resolvent.plotting import GapDisplay
    >>> solution = solve("squared", np.eye(3), [1.0, 2.0, 3.0])
    >>> display = GapDisplay.from_solution(solution, name="kernel ridge")
    >>> display.ax_.get_ylabel()
    'Relative duality gap'
    """

    line_: Any
    ax_: Any
    figure_: Any

    def __init__(self, *, curves: Sequence[np.ndarray], name: str | None = None) -> None:
        self.curves = curves
        self.name = name

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        *,
        against: str = "seconds",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> GapDisplay:
        """Draw the course of :func:`resolvent.solve`.

        Parameters
        ----------
        solution : Solution
            What `solve` returned. Of several problems the largest relative gap is drawn.
        against : {"seconds", "iterations"}, default="seconds"
            The horizontal axis.
        name : str, optional
            What the legend calls it; no legend if it is not given.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `plot`.

        Returns
        -------
        GapDisplay
        """
        display = cls(curves=_curves(solution.history), name=name)
        return display.plot(ax, against=against, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        against: str = "seconds",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> GapDisplay:
        """Draw the course of the fit of an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this package.
        against : {"seconds", "iterations"}, default="seconds"
            The horizontal axis.
        name : str, optional
            What the legend calls it; the name of the estimator's class if it is not given.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `plot`.

        Returns
        -------
        GapDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "history_")
        display = cls(curves=_curves(estimator.history_), name=name or type(estimator).__name__)
        return display.plot(ax, against=against, **kwargs)

    def plot(
        self, ax: Any = None, *, against: str = "seconds", name: str | None = None, **kwargs: Any
    ) -> GapDisplay:
        """Draw the curve, with the gap on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        against : {"seconds", "iterations"}, default="seconds"
            The horizontal axis.
        name : str, optional
            What the legend calls it, in place of the display's own name.
        **kwargs : dict
            Passed on to Matplotlib's `plot`.

        Returns
        -------
        GapDisplay
            The display itself, with `line_`, `ax_` and `figure_`.
        """
        if against not in AXES:
            raise ValueError(f"against={against!r} is unknown; choose one of {', '.join(AXES)}.")
        name = self.name if name is None else name
        if ax is None:
            _, ax = pyplot().subplots()
        column = 1 if against == "seconds" else 0
        style: dict[str, Any] = {"marker": ".", **kwargs}
        lines: list[Any] = []
        for curve in self.curves:
            # All runs of one display look alike, and the legend names the first of them.
            label = {} if name is None else {"label": name if not lines else "_" + name}
            (line,) = ax.plot(curve[:, column], curve[:, 2], **{**style, **label})
            style.setdefault("color", line.get_color())
            lines.append(line)
        ax.set(yscale="log", xlabel=AXES[against], ylabel="Relative duality gap")
        if against == "iterations" and ax.get_xscale() == "linear":  # no fractions
            ax.xaxis.get_major_locator().set_params(integer=True)
        if name is not None:
            ax.legend()
        self.line_ = lines[0] if len(lines) == 1 else lines
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _curves(history: Iterable[Record]) -> list[np.ndarray]:
    """Gather iteration, seconds and largest relative gap; a new array where a new run begins."""
    runs: list[list[tuple[float, float, float]]] = []
    last = np.inf
    for record in history:
        if record.iteration < last:
            runs.append([])
        last = record.iteration
        relative = relative_gaps(record.gap, record.primal, record.dual)
        if not np.isfinite(relative).all():
            continue  # no bound was known
        # A gap of zero is one below rounding, and has no place on a logarithmic axis.
        runs[-1].append((record.iteration, record.seconds, max(float(relative.max()), EPS)))
    return [np.array(run).reshape(-1, 3) for run in runs]
