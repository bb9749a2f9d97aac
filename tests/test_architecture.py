"""Who imports whom: read from the sources, lazy imports included."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import resolvent

ROOT = Path(resolvent.__file__).parent


def module_of(path):
    parts = ["resolvent", *path.relative_to(ROOT).with_suffix("").parts]
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports():
    """Pairs of modules of the package, importing and imported, as lists of names."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} has a relative import"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                first, *rest = name.split(".")
                if first == "resolvent" and rest:
                    home = resolvent._HOMES.get(rest[0])  # of a public name
                    yield module_of(path), [first, *(home.split(".") if home else ()), *rest]


def units():
    """Packages and single modules below `resolvent`."""
    return {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()} - {
        "__init__",
        "__pycache__",
    }


def across():
    """Imports from one unit to another; `resolvent` itself, which has them all, is none."""
    known = units()
    for source, target in imports():
        if len(source) > 1 and target[1] in known and source[1] != target[1]:
            yield source, target


def test_no_cycle_among_packages():
    graph = {}
    for source, target in across():
        graph.setdefault(source[1], set()).add(target[1])
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


def test_nothing_private_is_imported_across_packages():
    """Modules such as `resolvent._jit` are private to the library, not to a package of it."""
    private = [
        f"{'.'.join(source)} imports {'.'.join(target)}"
        for source, target in across()
        if any(name.startswith("_") and not name.endswith("__") for name in target[2:])
    ]
    assert not private


def test_the_picture_in_the_contributors_page_is_true():
    page = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = page.partition("Who may import whom")[2].partition("```text\n")[2].partition("```")[0]
    level = {
        unit.strip(): height
        for height, line in enumerate(reversed(picture.splitlines()))
        for unit in line.split(",")
    }
    assert level.keys() == units(), "add the package or the module to the picture"
    upwards = {
        f"{source[1]} imports {target[1]}"
        for source, target in across()
        if level[source[1]] <= level[target[1]]
    }
    assert not upwards
