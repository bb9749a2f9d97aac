"""The Display of a search over gamma and C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resolvent.plotting._pyplot import pyplot


class ValidationHeatmapDisplay:
    """Mean score over gamma and C as a map, with the chosen point.

    Make one with :meth:`from_estimator`, which also draws it; all parameters are kept as
    attributes.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,)
        Values of C.
    gammas : array-like of shape (n_gammas,)
        Values of gamma.
    scores : array-like of shape (n_gammas, n_Cs)
        Mean scores; NaN where there is none.
    chosen : tuple of float, optional
        Gamma and C that were chosen.

    Attributes
    ----------
    mesh_ : matplotlib QuadMesh
        The map.
    point_ : matplotlib Line2D or None
        The mark of the chosen point.
    colorbar_ : matplotlib Colorbar
        The legend of the colours.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from resolvent import KernelClassifierCV
    >>> from resolvent.plotting import ValidationHeatmapDisplay
    >>> model = KernelClassifierCV(Cs=3, gammas=2).fit(*load_iris(return_X_y=True))
    >>> display = ValidationHeatmapDisplay.from_estimator(model)
    >>> display.scores.shape
    (2, 3)
    """

    mesh_: Any
    point_: Any
    colorbar_: Any
    ax_: Any
    figure_: Any

    def __init__(
        self, *, Cs: ArrayLike, gammas: ArrayLike, scores: ArrayLike, chosen: Any = None
    ) -> None:
        self.Cs = np.asarray(Cs, dtype=float)
        self.gammas = np.asarray(gammas, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> ValidationHeatmapDisplay:
        """Draw the scores of a search.

        Parameters
        ----------
        estimator : estimator
            Fitted, with `cv_results_` over gamma and C: one of this package's, or scikit-learn's
            GridSearchCV over all pairs.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `pcolormesh`.

        Returns
        -------
        ValidationHeatmapDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "cv_results_")
        results = estimator.cv_results_
        if not {"param_C", "param_gamma"} <= results.keys():
            raise ValueError(
                "A map needs a search over C and gamma; this one was over "
                f"{', '.join(results['params'][0])}."
            )
        Cs, column = np.unique(np.asarray(results["param_C"], float), return_inverse=True)
        gammas, row = np.unique(np.asarray(results["param_gamma"], float), return_inverse=True)
        scores = np.full((len(gammas), len(Cs)), np.nan)
        scores[row, column] = results["mean_test_score"]
        best = estimator.best_params_
        display = cls(Cs=Cs, gammas=gammas, scores=scores, chosen=(best["gamma"], best["C"]))
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ValidationHeatmapDisplay:
        """Draw the map, both axes logarithmic.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if it is not given.
        **kwargs : dict
            Passed on to Matplotlib's `pcolormesh`.

        Returns
        -------
        ValidationHeatmapDisplay
            The display itself, with `mesh_`, `point_`, `colorbar_`, `ax_` and `figure_`.
        """
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        self.mesh_ = ax.pcolormesh(_edges(self.gammas), _edges(self.Cs), self.scores.T, **kwargs)
        self.colorbar_ = ax.figure.colorbar(self.mesh_, ax=ax, label="Mean score")
        self.point_ = None
        if self.chosen is not None:
            (self.point_,) = ax.plot(*self.chosen, marker="*", ms=14, color="white", mec="black")
        ax.set(xscale="log", yscale="log", xlabel="gamma", ylabel="C")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _edges(values: np.ndarray) -> np.ndarray:
    """Borders of the cells around values on a logarithmic axis."""
    logs = np.log(values)
    if len(logs) == 1:
        return np.exp([logs[0] - 0.5, logs[0] + 0.5])
    middle = 0.5 * (logs[1:] + logs[:-1])
    return np.exp([2 * logs[0] - middle[0], *middle, 2 * logs[-1] - middle[-1]])
