"""Pages and pictures of what was measured, from benchmarks/results."""

import json
import re
from pathlib import Path

import matplotlib

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PAGES = Path(__file__).parents[1] / "benchmarks"
MEASURED = re.compile(r"^Measured with .*$", re.MULTILINE)
COMMANDS = {
    "attempts": "",
    "model_selection": "python -m benchmarks.model_selection",
}
OPENING = """# Benchmarks

What was measured, by which command, on which machine. A picture shows seconds to fit, a group of
bars for each problem; the tables below it say more. Each page says at its top with which versions
it was measured: a table is measured again where it may have changed, not at every release. Peers
and data are described in `benchmarks/README.md` of the repository.

```{toctree}
:maxdepth: 1

"""


def write_pages(app):
    """Write a page for each result, before Sphinx looks for pages."""
    PAGES.mkdir(exist_ok=True)
    names = sorted(path.stem for path in RESULTS.glob("*.md"))
    for name in names:
        title, _, text = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition("\n")
        command = COMMANDS.get(name, f"make bench TABLES={name}")
        said = f"```sh\n{command}\n```\n" if command else ""
        about = MEASURED.search(text)
        measured = f"{about[0]}\n" if about else ""
        text = MEASURED.sub("", text)
        picture = f"![Seconds to fit]({name}.svg)\n" if draw(name) else ""
        text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
        text = re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
        page = "\n".join([title, "", said, measured, picture, text])
        (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
    listed = "\n".join(names)
    (PAGES / "index.md").write_text(f"{OPENING}{listed}\n```\n", encoding="utf-8")


def draw(name):
    """Draw seconds to fit of every run; False where there are none."""
    path = RESULTS / f"{name}.json"
    runs = json.loads(path.read_text(encoding="utf-8")).get("runs", {}) if path.exists() else {}
    seconds = {}
    for key, run in runs.items():
        if not isinstance(run, dict) or "fit" not in run:
            continue
        words = dict(word.split("=", 1) for word in key.split() if "=" in word)
        if words.get("tol", "None") not in ("None", "1e-05"):
            continue
        parts = [words.get("dataset", "?")]
        parts += [f"{k}={words[k]}" for k in ("n", "loss", "C") if varies(runs, k)]
        problem = " ".join(parts)
        seconds.setdefault(problem, {})[words.get("solver", "?")] = run["fit"]
    if not seconds:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    solvers = sorted({solver for group in seconds.values() for solver in group})
    height = 0.8 / len(solvers)
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.16 * len(seconds) * (len(solvers) + 1)))
    for k, solver in enumerate(solvers):
        at = [i + k * height for i, group in enumerate(seconds.values()) if solver in group]
        values = [group[solver] for group in seconds.values() if solver in group]
        axes.barh(at, values, height, label=solver)
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(seconds))], list(seconds))
    axes.set_xscale("log")
    axes.set_xlabel("seconds to fit (logarithmic)")
    axes.invert_yaxis()
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(PAGES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return True


def varies(runs, field):
    """Whether a setting is not the same in all runs."""
    found = re.compile(rf"\b{field}=(\S+)")
    return len({m[1] for m in map(found.search, runs) if m}) > 1


def setup(app):
    """Connect."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
