"""Markdown and pictures from the runs of a table.

Ratios are a peer's time divided by ours, above 1 where we are faster, at an equal or better primal
objective: ours is the fastest of our runs whose objective is no worse than those of the compared
peers (up to 1e-6 of it). In parentheses stands the ratio at our default tolerance.
"""

import math

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
    """Write `path`.md, and `path`.png where curves are wanted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(KINDS[table.kind](table, results))
    path.with_suffix(".md").write_text(f"# {table.title}\n\n{text}\n\n{measured_with()}\n")
    if table.curves and any(results.values()):
        plot(path.with_suffix(".png"), table, results)


def measured_with():
    about = ", ".join(f"{name} {value}" for name, value in machine.describe().items())
    return f"Measured with {about}."


# ---- what the runs of a cell say ----------------------------------------------------------


def finished(runs):
    """Those of the runs of a cell that came to an end."""
    return {key: run for key, run in runs.items() if "fit" in run}


def columns(table, runs):
    """Runs of a cell by column: ours at its default, ours matched, and each peer's fastest."""
    done = finished(runs)
    found = {OURS: runs.get((OURS, DEFAULT_TOL)), MATCHED: matched(table, done)}
    for peer in peers(table):
        variants = [runs[key] for key in runs if key[0].partition("[")[0] == peer and not key[1]]
        ends = [run for run in variants if "fit" in run]
        found[peer] = min(ends, key=lambda run: run["fit"]) if ends else (variants or [None])[0]
    return {name: run for name, run in found.items() if run is not None}


def peers(table):
    return list(dict.fromkeys(peer.partition("[")[0] for peer in table.peers))


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
    """Our best certified lower bound, or without one the lowest objective seen."""
    done = finished(runs).values()
    bounds = [run["bound"] for run in done if "bound" in run]
    return max(bounds, default=None) or min((run["primal"] for run in done), default=math.nan)


def distance(run, runs):
    """Relative distance of a run's objective from the optimum."""
    best = optimum(runs)
    return max((run["primal"] - best) / abs(best), 0.0)


# ---- Markdown -----------------------------------------------------------------------------


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def small(value):
    return "<1e-7" if value < 1e-7 else f"{value:.0e}"


def time_of(run, quantity="fit"):
    if "timeout" in run:
        return f"> {run['timeout']:g}"
    return number(run[quantity]) if quantity in run else "failed"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio_rows(table, results):
    """Rows of peer / ours, and their geometric means (of cells that both finished)."""
    names, rows = peers(table), []
    ratios = {(name, ours): [] for name in names for ours in (MATCHED, OURS)}
    for cell, runs in results.items():
        found = columns(table, runs)
        row = [cell.label(table.cells)]
        for name in names:
            texts = []
            for ours in (MATCHED, OURS):
                mine, theirs = found.get(ours, {}), found.get(name, {})
                if "fit" in mine and "fit" in theirs:
                    ratios[name, ours].append(theirs["fit"] / mine["fit"])
                    texts.append(f"{ratios[name, ours][-1]:.2f}")
                elif "fit" in mine and "timeout" in theirs:
                    texts.append(f"> {theirs['timeout'] / mine['fit']:.0f}")
                else:
                    texts.append("-")
            row.append(f"{texts[0]} ({texts[1]})" if name in found else BLANK)
        rows.append(row)
    means = ["**geometric mean**"]
    for name in names:
        both = [ratios[name, ours] for ours in (MATCHED, OURS)]
        texts = [f"{geometric_mean(r):.2f}" if r else "-" for r in both]
        means.append(f"**{texts[0]}** ({texts[1]})" if any(both) else BLANK)
    return [*rows, means]


QUANTITIES = [
    ("Seconds to fit, warm", lambda run, runs: time_of(run)),
    (
        "Relative distance of the objective from the optimum",
        lambda run, runs: small(distance(run, runs)),
    ),
    ("Seconds of the first fit of a process", lambda run, runs: time_of(run, "cold")),
    ("Seconds to predict 5,000 rows", lambda run, runs: time_of(run, "predict")),
    ("Peak memory of the fit beyond the data, MB", lambda run, runs: f"{run['fit_mb']:.0f}"),
    ("Accuracy or R2 on the test rows", lambda run, runs: f"{run['score']:.4f}"),
]


def ratios(table, results):
    names = [OURS, MATCHED, *peers(table)]
    names = [x for x in names if any(x in columns(table, runs) for runs in results.values())]
    if any(name in names for name in peers(table)):
        yield "Peer's seconds / ours at an equal or better objective (at our default tolerance):\n"
        yield from markdown(["", *peers(table)], ratio_rows(table, results))
    for title, show in QUANTITIES:
        rows = []
        for cell, runs in results.items():
            found = columns(table, runs)
            row = [cell.label(table.cells)]
            for name in names:
                run = found.get(name)
                if run is None:
                    row.append(BLANK)
                elif "fit" in run:
                    row.append(show(run, runs))
                else:
                    row.append(time_of(run) if "Seconds to fit" in title else BLANK)
            rows.append(row)
        yield f"{title}:\n"
        yield from markdown(["", *names], rows)
    yield f"resolvent is at its default tolerance, {DEFAULT_TOL:g}; matched is at that of:"
    for cell, runs in results.items():
        run = columns(table, runs).get(MATCHED)
        yield f"{cell.label(table.cells)}: {run['tol'] if run else 'none'};"


def growth(table, results):
    """Add the exponents of time against n, by least squares on logarithms."""
    names = [OURS, MATCHED, *peers(table)]
    rows = []
    for name in names:
        points = [
            (cell.n, columns(table, runs)[name]["fit"])
            for cell, runs in results.items()
            if "fit" in columns(table, runs).get(name, {})
        ]
        if len(points) > 1:
            n, t = np.log(np.array(points)).T
            rows.append([name, f"{np.polyfit(n, t, 1)[0]:.2f}", len(points)])
    yield "Exponent p of seconds ~ n^p:\n"
    yield from markdown(["", "exponent", "sizes"], rows)
    yield from ratios(table, results)


def losses(table, results):
    """Our own times relative to the hinge's on the same features."""
    rows = []
    for cell, runs in results.items():
        run = runs.get((OURS, DEFAULT_TOL), {})
        base = [
            other[OURS, DEFAULT_TOL]
            for c, other in results.items()
            if c.dataset == cell.dataset and c.loss == "hinge" and (OURS, DEFAULT_TOL) in other
        ]
        both = base and "fit" in base[0] and "fit" in run
        ratio = f"{run['fit'] / base[0]['fit']:.2f}" if both else BLANK
        cells = [time_of(run) if run else BLANK, ratio]
        rows.append([cell.label(table.cells), *cells, run.get("status", BLANK)])
    yield "The hinge has the signs of the targets about their median as its labels.\n"
    yield from markdown(["", "seconds", "relative to the hinge", "status"], rows)


def solvers(table, results):
    """solver="auto" beside the explicit choices."""
    rows = []
    for cell, runs in results.items():
        found = [runs.get((name, DEFAULT_TOL), {}) for name in table.ours]
        ends = [run["fit"] for run in found[1:] if "fit" in run]
        ratio = f"{found[0]['fit'] / min(ends):.2f}" if ends and "fit" in found[0] else BLANK
        rows.append([cell.label(table.cells), *(time_of(r) if r else BLANK for r in found), ratio])
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
FLOOR = 1e-8


def plot(path, table, results):
    """Objective gap against time, a panel for each problem."""
    from matplotlib.figure import Figure

    shown = [(cell, runs) for cell, runs in results.items() if finished(runs)]
    if not shown:
        return
    across = min(len(shown), 3)
    down = -(-len(shown) // across)
    figure = Figure(figsize=(4.2 * across, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, (cell, runs) in zip(panels, shown, strict=False):
        curves(panel, table, runs)
        panel.set_title(cell.label(table.cells), fontsize=10)
        panel.set(xscale="log", yscale="log")
        panel.grid(alpha=0.3)
    for panel in panels[len(shown) :]:
        panel.remove()
    handles = {}
    for panel in panels[: len(shown)]:
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
        run["history"] for (name, _), run in done.items() if name == OURS and "history" in run
    ]
    if courses:
        course = min(courses, key=lambda h: h[-1][1])
        t, primal = np.array(course).T
        gap = np.maximum(np.minimum.accumulate(primal) / best - 1, FLOOR)
        panel.plot(np.maximum(t, 1e-3), gap, color=COLORS[OURS], lw=1.2, alpha=0.7)
    for name in (OURS, *peers(table)):
        points = sorted(
            (run["fit"], run["primal"]) for (who, _), run in done.items() if who == name
        )
        if points:
            t, primal = np.array(points).T
            gap = np.maximum(primal / best - 1, FLOOR)
            style = "none" if name == OURS else "-"
            panel.plot(t, gap, marker="o", ms=5, ls=style, lw=1, color=COLORS[name], label=name)
