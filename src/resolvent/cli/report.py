"""A report: one page of HTML with everything in it, readable on a phone, by day and by night."""

from __future__ import annotations

from datetime import datetime
from html import escape
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from resolvent import __version__
from resolvent.cli.outputs import REPORT_MARK
from resolvent.cli.pictures import draw_all
from resolvent.cli.scores import Evaluation, certificate, closeness, describe, number_text
from resolvent.io.atomic import write_atomically
from resolvent.tabular import TabularModel

__all__ = ["write_report"]

MOST_CLASSES = 12  # of a confusion matrix that one can still read
STYLE = """
:root{color-scheme:light dark;--ink:#1c2128;--soft:#5b6470;--paper:#f6f7f9;--card:#fff;
--line:#dfe3e8;--accent:#2f6fb0;--good:#237a3b;--bad:#b4540a;--heat:74,143,208}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b1;--paper:#14171c;--card:#1d2128;
--line:#333a44;--accent:#7db4ea;--good:#6cc983;--bad:#f0a25c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.25rem 1rem 3rem}
h1{font-size:1.5rem;line-height:1.25;margin:.25rem 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}
.soft{color:var(--soft);font-size:.9rem}
.verdict{border-left:.3rem solid var(--good);background:var(--card);border-radius:.4rem;
padding:.7rem 1rem;margin:1rem 0}
.verdict.open{border-color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem}
.tile{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}
.tile b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile span{display:block;color:var(--soft);font-size:.85rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.8rem}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:.5rem;
padding:.7rem}
figure svg{display:block;width:100%;height:auto}
figure svg text{font-family:inherit!important}
figcaption{color:var(--soft);font-size:.9rem;margin-top:.3rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;background:var(--card);font-size:.92rem}
td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
table.wide{width:100%}
table.wide th{width:34%;font-weight:500;color:var(--soft)}
table.wide td{overflow-wrap:anywhere}
.matrix td{text-align:right;font-variant-numeric:tabular-nums}
.matrix th{font-weight:500}
"""


def write_report(
    path: Path,
    model: TabularModel,
    found: Evaluation,
    *,
    source: str,
    training: bool,
    X: Any,
    further: list[tuple[str, str]] = [],  # noqa: B006 (never changed)
) -> None:
    """Write a report.

    Parameters
    ----------
    path : Path
        Where it goes.
    model : TabularModel
        The model.
    found : Evaluation
        How it does on the data.
    source : str
        Name of the data.
    training : bool
        Whether they are what the model was fitted on.
    X : array or CSR matrix
        Their rows, as the estimator takes them.
    further : list of (str, str)
        Further pictures, as SVG with a caption.
    """
    facts = describe(model)
    data = "standard input" if source == "-" else Path(source).name
    which = "fitted on" if training else "evaluated on"
    parts = [
        f"<h1>{escape(facts['model'])} {which} {escape(data)}</h1>",
        f'<p class="soft">loss {escape(facts["loss"])}, kernel {escape(facts["kernel"])}</p>',
        _verdict(certificate(model.estimator), found),
        _tiles(found, facts),
    ]
    if training:
        parts.append(
            '<p class="soft">The scores and pictures are of the rows that the model was fitted on, '
            "and flatter it. <code>resolvent evaluate</code> shows it on others.</p>"
        )
    parts.append("<h2>Pictures</h2>" + _figures([*further, *draw_all(model, found, X)]))
    if facts["classes"] is not None and len(facts["classes"]) <= MOST_CLASSES:
        parts.append(_confusion(found, facts["classes"]))
    parts.append(_data_summary(model, found, facts))
    parts.append(_settings(model))
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    parts.append(f'<p class="soft">{REPORT_MARK} {__version__}, {when}.</p>')
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(facts['model'])}: {escape(data)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )
    write_atomically(path, page.encode())


def _verdict(proof: dict[str, Any], found: Evaluation) -> str:
    if not proof:
        return (
            '<div class="verdict open"><b>No certificate.</b> The model comes from LIBSVM, whose '
            "files do not say how close to the optimum they are.</div>"
        )
    bound = closeness(proof)
    asked = f"asked for was {proof['tol']:g}"
    if proof["solved"]:
        meaning = (
            "That is about optimisation: no function has a smaller objective, by more than that."
        )
        solved = f"The objective is {bound}; {asked}. {meaning}"
        if found.is_useful:
            return f'<div class="verdict"><b>Solved.</b> {solved}</div>'
        return (
            '<div class="verdict open"><b>Solved, but no better than a constant prediction.</b> '
            f"{solved} Raise C, or let <code>resolvent tune</code> choose C and gamma.</div>"
        )
    return (
        f'<div class="verdict open"><b>Not solved to the tolerance.</b> {escape(proof["message"])} '
        f"The objective is {bound}; {asked}.</div>"
    )


def _tiles(found: Evaluation, facts: dict[str, Any]) -> str:
    proof = facts["certificate"] or {}
    tiles = found.texts()
    tiles["rows"] = f"{len(found.y):,}"
    if facts["support_vectors"] is not None:
        tiles["support vectors"] = f"{facts['support_vectors']:,}"
    if proof:
        tiles["seconds to fit"] = number_text(proof["seconds"])
    return f'<div class="tiles">{"".join(starmap(_tile, tiles.items()))}</div>'


def _tile(name: str, text: str) -> str:
    """Show a score large, and that of a constant below its name."""
    value, _, constant = text.removesuffix(")").partition(" (")
    shown = [name, constant] if constant else [name]
    below = "".join(f"<span>{escape(words)}</span>" for words in shown)
    return f'<div class="tile"><b>{escape(value)}</b>{below}</div>'


def _figures(pictures: list[tuple[str, str]]) -> str:
    figures = (
        f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
        for svg, caption in pictures
    )
    return f'<div class="pictures">{"".join(figures)}</div>'


def _confusion(found: Evaluation, classes: list[Any]) -> str:
    rows = []
    truths = [*classes, *sorted(set(found.y.tolist()) - set(classes), key=str)]
    for truth in truths:
        counts = [int(np.sum((found.y == truth) & (found.predicted == p))) for p in classes]
        total = max(1, sum(counts))
        cells = "".join(
            f'<td style="background:rgba(var(--heat),{0.65 * n / total:.2f})">{n:,}</td>'
            for n in counts
        )
        rows.append(f"<tr><th>{escape(str(truth))}</th>{cells}</tr>")
    heads = "".join(f"<th>{escape(str(label))}</th>" for label in classes)
    return (
        '<h2>Confusion matrix</h2><div class="scroll"><table class="matrix">'
        f"<tr><th>true \\ predicted</th>{heads}</tr>{''.join(rows)}</table></div>"
    )


def _table(title: str, rows: dict[str, Any]) -> str:
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
        if value is not None
    )
    return f'<h2>{title}</h2><table class="wide">{body}</table>'


def _data_summary(model: TabularModel, found: Evaluation, facts: dict[str, Any]) -> str:
    rows: dict[str, Any] = {"rows": f"{len(found.y):,}", "features": f"{facts['features']:,}"}
    for column in (model.features.columns or ())[:40]:
        if column.categories is not None:
            rows[f"column {column.name}"] = "categories " + ", ".join(
                category or "(missing)" for category in column.categories[:12]
            )
    names = facts["columns"]
    if names is not None:
        rows["columns"] = ", ".join(names[:40]) + (" ..." if len(names) > 40 else "")
    rows["scaling"] = facts["scale"]
    rows["target"] = facts["target"]
    if facts["classes"] is not None:
        labels, counts = np.unique(found.y, return_counts=True)
        pairs = list(zip(labels.tolist(), counts.tolist(), strict=True))[:20]
        rows["rows of each class"] = ", ".join(f"{label}: {n:,}" for label, n in pairs)
    else:
        low, middle, high = np.quantile(found.y, [0, 0.5, 1])
        shown = [number_text(float(x)) for x in (low, high, middle)]
        rows["range of the target"] = "{} to {}, median {}".format(*shown)
    return _table("Data", rows)


def _settings(model: TabularModel) -> str:
    shown: dict[str, Any] = {"estimator": type(model.estimator).__name__}
    if hasattr(model.estimator, "dual_gap_"):
        shown |= model.estimator.get_params(deep=False)
    shown.pop("verbose", None)
    used = getattr(model.estimator, "solver_", "")
    if shown.get("solver") == "auto" and used:
        shown["solver"] = f"auto: {used}"
    return _table("Settings", shown)
