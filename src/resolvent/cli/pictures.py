"""The pictures of a report, as SVG that takes its text colour from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

from resolvent.cli.scores import Evaluation
from resolvent.tabular import TabularModel

__all__ = ["draw_all", "draw_search", "drawing"]

INK = "#010203"  # stands for the page's text colour until the drawing is done
BLUE, ORANGE, GREY = "#4a8fd0", "#dd8236", "#8a8f98"
SERIES = BLUE, "#3a9d6e", "#9566c4"  # where there are several of the same
LONGEST = 1e9  # numbers written out
MOST_POINTS = 2000
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "resolvent",
    "text.parse_math": False,  # names of columns may have dollars in them
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
_numbers = count(1)


@contextmanager
def drawing(pictures: list[tuple[str, str]], caption: str) -> Iterator[Any]:
    """Give axes to draw on, and add the picture with its caption to the list."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "A report needs Matplotlib, which is not installed: pip install 'resolvent[plot]'."
        ) from error
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 3.1), layout="constrained")
        figure.patch.set_alpha(0)
        ax = figure.subplots()
        ax.patch.set_alpha(0)
        yield ax
        for axes in figure.axes:
            _write_out(axes.xaxis, 4)
            _write_out(axes.yaxis, 6)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    pictures.append((_for_page(buffer.getvalue(), caption), caption))


def _write_out(axis: Any, ticks: int) -> None:
    """Label plain axes as numbers are written elsewhere: 36,740; few of them, as they are long."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    if isinstance(axis.get_major_formatter(), ScalarFormatter):
        if np.abs(axis.get_view_interval()).max() >= 1e4:
            axis.set_major_locator(MaxNLocator(ticks))
        axis.set_major_formatter(lambda x, _: f"{x:,.12g}" if abs(x) < LONGEST else f"{x:.3g}")


def _for_page(svg: str, caption: str) -> str:
    """Cut the drawing out of its file; its size, ink and names become the page's."""
    from html import escape

    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    mark = f"p{next(_numbers)}-"
    svg = re.sub(r'\bid="', f'id="{mark}', svg)
    svg = re.sub(r'href="#', f'href="#{mark}', svg).replace("url(#", f"url(#{mark}")
    head = re.sub(r' (width|height)="[^"]*"', "", svg[: svg.index(">")])
    label = escape(caption, quote=True)
    return f'{head} role="img" aria-label="{label}"' + svg[svg.index(">") :]


def draw_all(model: TabularModel, found: Evaluation, X: Any) -> list[tuple[str, str]]:
    """Draw what suits the model; pairs of SVG and caption."""
    pictures: list[tuple[str, str]] = []
    estimator = model.estimator
    if hasattr(estimator, "history_"):
        _gap(pictures, estimator)
    if hasattr(estimator, "_expansion"):
        _support(pictures, estimator)
    else:
        _weights(pictures, model)
    if hasattr(estimator, "classes_"):
        _margins(pictures, estimator, found, X)
        if found.probabilities is not None:
            _calibration(pictures, estimator, found)
    elif hasattr(estimator, "quantile"):
        _coverage(pictures, estimator, found)
        _band(pictures, found)
    else:
        _predictions(pictures, found)
        _residuals(pictures, found)
    if found.ends is not None:
        _intervals(pictures, found)
    return pictures


def _intervals(pictures: list[tuple[str, str]], found: Evaluation) -> None:
    assert found.ends is not None
    centre = np.clip(found.ends.mean(axis=1), -1e300, 1e300)
    order = np.argsort(centre, kind="stable")[_some(len(centre))]
    low, high = found.ends[order].T
    y, rank = found.y[order], np.arange(len(order))
    outside = (y < low) | (y > high)
    share = f"{1 - outside.mean():.1%} of the rows are inside"
    with drawing(pictures, f"Conformal intervals, rows ordered by their middle: {share}.") as ax:
        ax.fill_between(rank, low, high, color=BLUE, alpha=0.3, lw=0)
        ax.scatter(rank[~outside], y[~outside], s=6, color=GREY, lw=0)
        ax.scatter(rank[outside], y[outside], s=8, color=ORANGE, lw=0)
        ax.set(xlabel="Rows", ylabel="Target")


def _gap(pictures: list[tuple[str, str]], estimator: Any) -> None:
    from resolvent.plotting import GapDisplay

    caption = "The certificate on the way: how far the objective can be from its optimum."
    with drawing(pictures, caption) as ax:
        display = GapDisplay.from_estimator(estimator, against="iterations", ax=ax, color=BLUE)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}")  # without mathematics
        if estimator.tol > 0:
            ax.axhline(estimator.tol, color=ORANGE, lw=1, ls="--")
            place = ax.get_yaxis_transform()  # across the axes, up the data
            ax.text(0.01, estimator.tol, "asked for", transform=place, va="top", fontsize=9)
        ax.get_legend().remove()
        lines, taus = np.atleast_1d(display.line_), getattr(estimator, "quantile", ())
        if len(lines) > 1 and len(lines) == np.size(taus):  # solved one after the other
            for k, (line, tau) in enumerate(zip(lines, taus, strict=True)):
                line.set(color=SERIES[k % len(SERIES)], label=f"{tau:g}")
            ax.legend(handles=list(lines), title="Quantile")
        ax.grid(alpha=0.25)


def _support(pictures: list[tuple[str, str]], estimator: Any) -> None:
    size = np.sort(np.abs(estimator._expansion.coef).max(axis=1))[::-1]
    n = estimator._n_given or len(size)
    share = f"{len(size):,} of {n:,} training rows" if n > len(size) else f"{len(size):,} rows"
    with drawing(pictures, f"Support vectors: {share} carry the model.") as ax:
        rank = np.arange(1, len(size) + 1)
        ax.fill_between(rank, size, step="mid", color=BLUE, alpha=0.3)
        ax.step(rank, size, where="mid", color=BLUE)
        ax.set(
            xlabel="Support vectors, largest first", ylabel="Size of coefficient", ylim=(0, None)
        )
        ax.grid(alpha=0.25)


def _weights(pictures: list[tuple[str, str]], model: TabularModel) -> None:
    weights = np.atleast_2d(model.estimator.coef_)
    size = np.abs(weights).max(axis=0)
    top = np.argsort(size)[::-1][:10][::-1]
    names = model.features.names
    values = weights[0, top] if len(weights) == 1 else size[top]
    what = "Weights" if len(weights) == 1 else "Largest weights over the classes"
    with drawing(pictures, f"{what} of the features that matter most.") as ax:
        ax.barh([names[k][:24] for k in top], values, color=np.where(values < 0, ORANGE, BLUE))
        ax.axvline(0, color=INK, lw=0.8)
        ax.set_xlabel("Weight")
        ax.grid(alpha=0.25, axis="x")


def _margins(pictures: list[tuple[str, str]], estimator: Any, found: Evaluation, X: Any) -> None:
    scores, classes = estimator.decision_function(X), estimator.classes_
    if scores.ndim == 1:
        with drawing(pictures, "Scores of the two classes; the border is at zero.") as ax:
            edges = np.histogram_bin_edges(scores, 30)
            for label, colour in zip(classes, (ORANGE, BLUE), strict=True):
                ax.hist(
                    scores[found.y == label], edges, alpha=0.6, label=str(label)[:20], color=colour
                )
            ax.axvline(0, color=INK, lw=0.8, ls="--")
            ax.set(xlabel="Score", ylabel="Rows")
            ax.legend()
        return
    if scores.shape[1] != len(classes):
        return  # scores of pairs say little by themselves
    known = np.isin(found.y, classes)
    codes = np.searchsorted(np.sort(classes), found.y[known])
    own_column = np.argsort(classes)[codes]
    rows = scores[known]
    own = np.take_along_axis(rows, own_column[:, None], axis=1)[:, 0]
    others = rows.copy()
    np.put_along_axis(others, own_column[:, None], -np.inf, axis=1)
    margin = own - others.max(axis=1)
    with drawing(pictures, "Margins: score of the true class less the best other one.") as ax:
        edges = np.histogram_bin_edges(margin, 30)
        ax.hist(margin[margin > 0], edges, color=BLUE, alpha=0.7, label="right")
        ax.hist(margin[margin <= 0], edges, color=ORANGE, alpha=0.7, label="wrong")
        ax.axvline(0, color=INK, lw=0.8, ls="--")
        ax.set(xlabel="Margin", ylabel="Rows")
        ax.legend()


def _calibration(pictures: list[tuple[str, str]], estimator: Any, found: Evaluation) -> None:
    assert found.probabilities is not None
    said = found.probabilities.max(axis=1)
    right = found.y == found.predicted
    edges = np.quantile(said, np.linspace(0, 1, 9))
    place = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, 7)
    groups = [place == k for k in range(8) if (place == k).any()]
    with drawing(pictures, "Calibration: are probabilities true as often as they say?") as ax:
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        ax.plot(
            [said[g].mean() for g in groups], [right[g].mean() for g in groups], "o-", color=BLUE
        )
        low = max(0.0, min(float(said.min()), min(right[g].mean() for g in groups)) - 0.05)
        ax.set(
            xlabel="Probability of the class predicted", ylabel="How often it was right",
            xlim=(low, 1.02), ylim=(low, 1.02),
        )  # fmt: skip
        ax.grid(alpha=0.25)


def _some(n: int) -> np.ndarray:
    """Choose at most as many rows as a picture can show, spread evenly."""
    return np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(int)


def _predictions(pictures: list[tuple[str, str]], found: Evaluation) -> None:
    k = _some(len(found.y))
    y, p = found.y[k], found.predicted.reshape(len(found.y), -1)[k, 0]
    with drawing(pictures, "Predictions beside the truth; on the line they agree.") as ax:
        ends = [min(y.min(), p.min()), max(y.max(), p.max())]
        ax.plot(ends, ends, color=GREY, lw=1, ls="--")
        ax.scatter(p, y, s=12, color=BLUE, alpha=0.55, lw=0)
        ax.set(xlabel="Predicted", ylabel="True")
        ax.grid(alpha=0.25)


def _residuals(pictures: list[tuple[str, str]], found: Evaluation) -> None:
    residual = found.y - found.predicted.reshape(len(found.y), -1)[:, 0]
    with drawing(pictures, "Residuals: truth less prediction.") as ax:
        ax.hist(residual, 30, color=BLUE, alpha=0.7)
        ax.axvline(0, color=INK, lw=0.8, ls="--")
        ax.set(xlabel="Residual", ylabel="Rows")


def _coverage(pictures: list[tuple[str, str]], estimator: Any, found: Evaluation) -> None:
    taus = np.atleast_1d(np.asarray(estimator.quantile, dtype=float))
    below = (found.y[:, None] <= found.predicted.reshape(len(found.y), -1)).mean(axis=0)
    with drawing(pictures, "Coverage: the share of rows below each quantile.") as ax:
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        ax.plot(taus, below, "o", color=BLUE, ms=8)
        ax.set(xlabel="Quantile asked for", ylabel="Share of rows below", xlim=(0, 1), ylim=(0, 1))
        ax.grid(alpha=0.25)


def _band(pictures: list[tuple[str, str]], found: Evaluation) -> None:
    band = found.predicted.reshape(len(found.y), -1)
    order = np.argsort(band.mean(axis=1))[_some(len(band))]
    with drawing(pictures, "The quantiles and the truth, rows ordered by prediction.") as ax:
        rank = np.arange(len(order))
        ax.scatter(rank, found.y[order], s=8, color=GREY, lw=0)
        if band.shape[1] > 1:
            low, high = band.min(axis=1)[order], band.max(axis=1)[order]
            ax.fill_between(rank, low, high, color=BLUE, alpha=0.3, lw=0)
        else:
            ax.plot(rank, band[order, 0], color=BLUE)
        ax.set(xlabel="Rows", ylabel="Target")


def draw_search(pictures: list[tuple[str, str]], search: Any) -> None:
    """Draw the scores of a search over C and, where the kernel has one, gamma."""
    from resolvent.plotting import ValidationHeatmapDisplay

    results = search.cv_results_
    with drawing(pictures, "The search: mean score of the folds, and what was chosen.") as ax:
        if "param_gamma" in results:
            ValidationHeatmapDisplay.from_estimator(search, ax=ax)
        else:
            Cs, mean = np.asarray(results["param_C"], dtype=float), results["mean_test_score"]
            ax.errorbar(
                Cs, mean, results["std_test_score"], color=BLUE, marker="o", ms=4, capsize=2
            )
            ax.axvline(search.best_params_["C"], color=ORANGE, lw=1, ls="--")
            ax.set(xscale="log", xlabel="C", ylabel="Mean score")
            ax.grid(alpha=0.25)
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(lambda value, _: "")
