"""Markdown and pictures from the runs of a table.

Ratios are a peer's time divided by ours, above 1 where we are faster, at an equal or better primal
objective: ours is the fastest of our runs whose objective is no worse than those of the compared
peers (up to 1e-6 of it). In parentheses stands the ratio at our default tolerance.
"""

import math
from dataclasses import replace

import numpy as np

from benchmarks import machine

OURS, MATCHED = "resolvent", "resolvent, matched"
DEFAULT_TOL = 1e-5
EQUAL = 1e-6  # relative difference of objectives that counts as none
BLANK = ""


def in_words(run):
    """One line on a run, for the terminal."""
    if "fit" not in run:
        return run.get("error") or f"skipped: {run['skipped']}"
    return (
        f"fit {run['fit']:.3g} s (cold {run['cold']:.3g}), predict {run['predict']:.2g} s, "
        f"{run['fit_mb']:.0f} MB, objective {run['primal']:.9g}, score {run['score']:.4f}"
    )


def write(path, table, results):
    """Write `path`.md, and `path`.png where curves are wanted, of the cells that have a run."""
    results = {cell: runs for cell, runs in results.items() if finished(runs)}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(KINDS[table.kind](table, results))
    path.with_suffix(".md").write_text(f"# {table.title}\n\n{text}\n\n{measured_with()}\n")
    if table.curves and results:
        plot(path.with_suffix(".png"), table, results)


def write_page(path, title, words, head, rows):
    """Write one table under a title and a sentence."""
    lines = [f"# {title}\n", f"{words}\n", *markdown(head, rows), measured_with()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def measured_with():
    about = ", ".join(f"{name} {value}" for name, value in machine.describe().items())
    return f"Measured with {about}."


# ---- what the runs of a cell say ----------------------------------------------------------


def finished(runs):
    """Those of the runs of a cell that came to an end."""
    return {key: run for key, run in runs.items() if "fit" in run}


def columns(table, runs):
    """Runs of a cell by column: ours at its default, ours matched, and each peer's fastest."""
    found = {OURS: [runs.get((OURS, DEFAULT_TOL))], MATCHED: [matched(table, finished(runs))]}
    for peer in peers(table):
        found[peer] = [run for (name, tol), run in runs.items() if base(name) == peer and not tol]
    columns = {}
    for name, variants in found.items():
        variants = [run for run in variants if run and "skipped" not in run]
        if variants:
            columns[name] = min(variants, key=lambda run: run.get("fit", math.inf))
    return columns


def base(name):
    """Name of a solver without its parameters."""
    return name.partition("[")[0]


def peers(table):
    return list(dict.fromkeys(map(base, table.peers)))


def target(table, runs):
    """Lowest objective of the compared peers at their default tolerance; None if there is none."""
    found = [
        run["primal"] for (name, tol), run in runs.items() if name in table.compare and not tol
    ]
    return min(found, default=None)


def reaches(run, goal):
    return run["primal"] <= goal + EQUAL * abs(goal)


def matched(table, done):
    """Give the fastest of our runs that is as good as the compared peers; None if there is none."""
    goal = target(table, done)
    good = [
        r for (name, _), r in done.items() if name == OURS and goal is not None and reaches(r, goal)
    ]
    return min(good, key=lambda run: run["fit"], default=None)


def optimum(runs):
    """Our best certified lower bound, or the lowest objective seen if that is lower yet.

    (The bound is computed with a kernel in single precision, the objectives in double.)
    """
    done = finished(runs).values()
    bounds = [run["bound"] for run in done if "bound" in run]
    return min([run["primal"] for run in done] + ([max(bounds)] if bounds else []))


def distance(run, runs):
    """Relative distance of a run's objective from the optimum."""
    best = optimum(runs)
    return (run["primal"] - best) / abs(best)


# ---- Markdown -----------------------------------------------------------------------------


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def small(value):
    return "<1e-7" if value < 1e-7 else f"{value:.0e}"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio(theirs, ours):
    """Peer's time over ours as a number and as text; a peer that ran out of time gives a bound."""
    if "fit" not in ours or not ("fit" in theirs or "timeout" in theirs):
        return None, "-"
    value = theirs.get("fit", theirs.get("timeout")) / ours["fit"]
    return (value, f"{value:.2f}") if "fit" in theirs else (None, f"> {value:.0f}")


def ratio_rows(table, results):
    """Rows of peer / ours, and their geometric means (of cells that both finished)."""
    names, rows = shown_peers(table, results), []
    values = {(name, ours): [] for name in names for ours in (MATCHED, OURS)}
    for cell, runs in results.items():
        found = columns(table, runs)
        row = [cell.label(table.cells), found.get(MATCHED, {}).get("tol", "none")]
        for name in names:
            texts = []
            for ours in (MATCHED, OURS):
                value, text = ratio(found.get(name, {}), found.get(ours, {}))
                texts.append(text)
                if value is not None:
                    values[name, ours].append(value)
            row.append(f"{texts[0]} ({texts[1]})")
        rows.append(row)
    means = ["**geometric mean**", BLANK]
    for name in names:
        both = [values[name, ours] for ours in (MATCHED, OURS)]
        texts = [f"{geometric_mean(v):.2f}" if v else "-" for v in both]
        means.append(f"**{texts[0]}** ({texts[1]})")
    return [*rows, means]


def shown_peers(table, results):
    """Peers that have a run."""
    return [x for x in peers(table) if any(x in columns(table, runs) for runs in results.values())]


QUANTITIES = [
    ("Seconds to fit, warm", lambda run, runs: number(run["fit"])),
    (
        "Relative distance of the objective from the optimum",
        lambda run, runs: small(distance(run, runs)),
    ),
    ("Seconds of the first fit of a process", lambda run, runs: number(run["cold"])),
    ("Seconds to predict 5,000 rows", lambda run, runs: number(run["predict"])),
    ("Peak memory of the fit beyond the data, MB", lambda run, runs: f"{run['fit_mb']:.0f}"),
    ("Accuracy or R2 on the test rows", lambda run, runs: f"{run['score']:.4f}"),
]


def ratios(table, results):
    names = shown_peers(table, results)
    if names:
        yield "Peer's seconds / ours at an equal or better objective (at our default tolerance):\n"
        yield from markdown(["", "our tol", *names], ratio_rows(table, results))
    names = [OURS, MATCHED, *names]
    for title, show in QUANTITIES:
        rows = []
        for cell, runs in results.items():
            found = [columns(table, runs).get(name, {}) for name in names]
            texts = [show(run, runs) if "fit" in run else why(run) for run in found]
            rows.append([cell.label(table.cells), *texts])
        yield f"{title}:\n"
        yield from markdown(["", *names], rows)
    yield f"`{OURS}`: default tolerance, {DEFAULT_TOL:g}; `{MATCHED}`: the one in the first table."


def why(run):
    """Say why a run has no figures."""
    return f"> {run['timeout']:g} s" if "timeout" in run else "failed" if run else BLANK


def growth(table, results):
    """Add the exponents of time against n, by least squares on logarithms."""
    rows = []
    for name in (OURS, MATCHED, *peers(table)):
        found = {cell.n: columns(table, runs).get(name, {}) for cell, runs in results.items()}
        points = [(n, run["fit"]) for n, run in found.items() if "fit" in run]
        if len(points) > 1:
            n, seconds = np.log(points).T
            rows.append([name, f"{np.polyfit(n, seconds, 1)[0]:.2f}", len(points)])
    yield "Exponent p of seconds ~ n^p:\n"
    yield from markdown(["", "p", "sizes"], rows)
    yield from ratios(table, results)


def losses(table, results):
    """Our own times relative to the hinge's on the same features."""
    rows = []
    own = {cell: runs[OURS, DEFAULT_TOL] for cell, runs in results.items()}
    for cell, run in own.items():
        hinge = own.get(replace(cell, loss="hinge"), {})
        text = number(run["fit"]) if "fit" in run else why(run)
        rows.append([cell.label(table.cells), text, ratio(run, hinge)[1], run.get("status", BLANK)])
    yield "The labels of classification are the signs of the targets about their median.\n"
    yield from markdown(["", "seconds", "relative to the hinge", "status"], rows)


def solvers(table, results):
    """solver="auto" beside the explicit choices."""
    rows = []
    for cell, runs in results.items():
        found = [runs[name, DEFAULT_TOL] for name in table.ours]
        best = min(found[1:], key=lambda run: run.get("fit", math.inf))
        texts = [number(run["fit"]) if "fit" in run else why(run) for run in found]
        rows.append([cell.label(table.cells), *texts, ratio(found[0], best)[1]])
    names = [name.partition("=")[2].rstrip("]") for name in table.ours]
    yield "Seconds to fit; the last column is auto / the best explicit choice.\n"
    yield from markdown(["", *names, "ratio"], rows)


KINDS = {"ratios": ratios, "growth": growth, "losses": losses, "solvers": solvers}

# ---- pictures -----------------------------------------------------------------------------

COLORS = {
    OURS: "#c1121f",
    "scikit-learn-intelex": "#1f77b4",
    "scikit-learn": "#ff9f1c",
    "LIBLINEAR": "#2a9d8f",
    "ThunderSVM": "#7b2cbf",
}
FLOOR = 1e-7


def plot(path, table, results):
    """Objective gap against time, a panel for each problem."""
    from matplotlib.figure import Figure

    across = min(len(results), 3)
    down = -(-len(results) // across)
    figure = Figure(figsize=(4.2 * across, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, (cell, runs) in zip(panels, results.items(), strict=False):
        curves(panel, table, runs)
        panel.set_title(cell.label(table.cells), fontsize=10)
        panel.set(xscale="log", yscale="log", ylim=(FLOOR / 2, 2))
        panel.xaxis.set_minor_formatter("")  # they would run into each other
        panel.grid(alpha=0.3)
    for panel in panels[len(results) :]:
        panel.remove()
    handles = {}
    for panel in panels[: len(results)]:
        handles.update(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=5, frameon=False
    )
    figure.supxlabel(
        "seconds to fit (resolvent: line, course of one fit; marks, fits at tolerances)",
        fontsize=10,
    )
    figure.supylabel("relative distance from the optimum", fontsize=10)
    figure.savefig(path, dpi=110)


def curves(panel, table, runs):
    best = optimum(runs)
    done = finished(runs)
    courses = [
        run["history"] for (name, _), run in done.items() if name == OURS and run.get("history")
    ]
    if courses:
        course = min(courses, key=lambda h: h[-1][1])
        t, primal = np.array(course).T
        gap = np.maximum(np.minimum.accumulate(primal) / best - 1, FLOOR)
        panel.plot(np.maximum(t, 1e-3), gap, color=COLORS[OURS], lw=1.2, alpha=0.7)
    for name in (OURS, *peers(table)):
        points = [(run["primal"], run["fit"]) for (who, _), run in done.items() if who == name]
        if points:
            primal, t = np.array(sorted(points)).T
            gap = np.maximum(primal / best - 1, FLOOR)
            style = "none" if name == OURS else "-"
            panel.plot(t, gap, marker="o", ms=5, ls=style, lw=1, color=COLORS[name], label=name)
