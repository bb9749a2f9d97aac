"""The examples run, and save their picture only when they are run as scripts."""

import runpy
from pathlib import Path

import matplotlib
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert [file.name for file in tmp_path.iterdir()] == [f"{path.stem}.png"]
    assert "CONVERGED" in capsys.readouterr().out


def test_example_saves_nothing_when_imported(tmp_path):
    runpy.run_path(str(EXAMPLES / "plot_quantile_bands.py"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_header_is_the_gallerys(path):
    mark, title, rule = path.read_text(encoding="utf-8").splitlines()[:3]
    assert mark == '"""'
    assert rule == "=" * len(title)


def test_demo(tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "demo.py"), run_name="__main__")
    assert (tmp_path / "demo-output" / "gap.png").stat().st_size > 10_000
    rows = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith(("L1-SVM", "L2-SVM", "RLS", "RLA", "SVR")):
            numbers = [word for word in line.split() if word.replace(".", "").isdigit()]
            rows.setdefault(line.split()[0], []).append(float(numbers[0]))
    assert list(rows) == ["L1-SVM", "L2-SVM", "RLS", "RLA", "SVR"]
    for ours, other, peer in rows.values():  # both algorithms, then scikit-learn
        assert other == pytest.approx(ours, rel=1e-7)
        assert peer == pytest.approx(ours, rel=1e-6)
