"""The files around the package agree with it and with one another."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import resolvent

ROOT = Path(__file__).resolve().parent.parent

# A path that exists on somebody's machine only. Relative paths such as net/work/ are not meant.
LOCAL_PATH = re.compile(r"(?<![\w.-])/(?:work|root|home|Users)/")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def repository_files():
    """Tracked files and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [ROOT / os.fsdecode(name) for name in output.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## \[(\d[^\]]*)\]"),  # the newest comes first
        ("README.md", r"\bversion (\d+\.\d+\.\d+)"),
    ],
)
def test_version_is_the_packages(name, pattern):
    match = re.search(pattern, read(name), flags=re.MULTILINE)
    assert match is not None, f"{name} names no version"
    assert match[1] == resolvent.__version__


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_gives_the_command(command):
    assert re.search(rf"^{command}\b", read("README.md"), flags=re.MULTILINE)


def test_ci_runs_the_tests():
    assert "make test" in read(".ci/run").splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_minimum_python_is_the_same_everywhere():
    required = tomllib.loads(read("pyproject.toml"))["project"]["requires-python"]
    minimum = required.removeprefix(">=")
    assert re.search(rf"^MINIMUM := {re.escape(minimum)}$", read("Makefile"), flags=re.MULTILINE)
    assert f'python: ["{minimum}"' in read(".github/workflows/ci.yml")


def lower_bounds():
    """The oldest supported version of each package that the library or its command line needs."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["cli"], *extras["plot"]]
    return dict(re.fullmatch(r"([\w.-]+)>=([\d.]+).*", line).groups() for line in needed)


def test_oldest_versions_are_the_lower_bounds():
    pins = dict(re.findall(r"^([\w.-]+)==([\d.]+)$", read("tools/oldest.txt"), flags=re.MULTILINE))
    bounds = lower_bounds()
    assert set(bounds) - set(pins) == {"backports.zstd"}  # no older than its bound anywhere
    for name, version in pins.items():
        assert f"{version}.".startswith(f"{bounds[name]}."), name


def test_recipe_has_the_same_bounds():
    recipe = dict(re.findall(r"^    - ([\w.-]+) >=([\d.]+)$", read("conda/meta.yaml"), flags=re.M))
    assert recipe.pop("hatchling")
    assert recipe
    assert recipe.items() <= lower_bounds().items()


def test_actions_are_pinned_by_hash():
    workflows = "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
    uses = re.findall(r"uses: (\S+)(.*)", workflows)
    assert uses
    assert [name for name, _ in uses if not re.search(r"@[0-9a-f]{40}$", name)] == []
    assert all(re.match(r" # v\d", comment) for _, comment in uses)


def test_package_says_that_it_is_typed():
    assert (Path(resolvent.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("text", ["cd /{}/x", "file:///{}/x", '"/{}/x"'])
@pytest.mark.parametrize("folder", ["work", "root", "home", "Users"])
def test_local_path_is_recognised(text, folder):
    assert LOCAL_PATH.search(text.format(folder))
    assert not LOCAL_PATH.search(f"net/{folder}/x")


def test_no_file_names_a_local_path():
    files = repository_files()
    assert Path(__file__).resolve() in files
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(
            path.read_bytes().decode("utf-8", errors="replace").splitlines(), start=1
        )
        if LOCAL_PATH.search(line)
    ]
    assert not found, "\n".join(found)
