"""Reports: one page without a network, looked at in a browser."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from resolvent import KernelClassifier, KernelQuantileRegressor, KernelRegressor, LinearClassifier
from resolvent.cli.report import write_report
from resolvent.cli.scores import evaluate
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Column, Features

X, SPECIES = load_iris(return_X_y=True)
NASTY = ("<script>alert(1)</script>", "a & b", '"quoted"', "$x_^$")
TWO = SPECIES < 2
CASES = {
    "three classes": (KernelClassifier("logistic"), X, np.array(["<b>", "$y", "z&"])[SPECIES], 4),
    "two classes": (KernelClassifier(), X[TWO], SPECIES[TWO], 3),
    "linear": (LinearClassifier(), X, SPECIES, 3),
    "regression": (KernelRegressor("huber"), X, X[:, 0] + X[:, 1], 4),
    "quantiles": (KernelQuantileRegressor((0.2, 0.8), C=0.1), X, X[:, 0], 4),
    "quantile": (KernelQuantileRegressor(0.5, C=0.1), X, X[:, 0], 4),
}


def page(name, path, **options):
    estimator, rows, y, _ = CASES[name]
    model = TabularModel(
        estimator.fit(rows, y), Features(4, tuple(map(Column, NASTY))), "the <target>"
    )
    write_report(
        path, model, evaluate(model, rows, y), source="data.csv", training=True, X=rows, **options
    )
    return path.read_text()


class Checker(HTMLParser):
    """Collects what a page consists of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[key] for key in ("src", "href", "xlink:href") if key in attrs]

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", CASES)
def test_page(name, tmp_path):
    text = page(name, tmp_path / "r.html")
    found = Checker(text)
    assert found.tags.count("svg") == found.tags.count("figcaption") == CASES[name][3]
    assert "script" not in found.tags  # names of columns stay text
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert len(set(found.ids)) == len(found.ids)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org)", text)
    assert "Solved." in found.text
    assert NASTY[0] in found.text
    assert "mathdefault" not in text
    assert ("Confusion matrix" in text) == ("class" in name or name == "linear")


def test_pictures_write_numbers_out_and_name_quantiles(tmp_path):
    X = np.random.default_rng(0).uniform(size=(60, 2))
    price = 9e5 * X[:, 0] + 5e4
    estimator = KernelQuantileRegressor((0.1, 0.5, 0.9)).fit(X, price)
    model = TabularModel(estimator, Features(2, tuple(map(Column, "ab"))), "price")
    path = tmp_path / "report.html"
    found = evaluate(model, X, price)
    write_report(path, model, found, source="houses.csv", training=True, X=X)
    text = Checker(path.read_text()).text
    assert "800,000" in text
    assert "1e6" not in text
    assert re.search(r"Quantile\s+0\.1\s+0\.5\s+0\.9|0\.1\s+0\.5\s+0\.9\s+Quantile", text)


def test_unsolved_is_said(tmp_path):
    with pytest.warns(UserWarning, match="max_iter"):
        model = KernelClassifier(C=1e3, solver="coordinate_descent", max_iter=1).fit(X, SPECIES)
    model = TabularModel(model, Features(4))
    found = evaluate(model, X, SPECIES)
    write_report(tmp_path / "r", model, found, source="-", training=False, X=X)
    text = (tmp_path / "r").read_text()
    assert "Not solved to the tolerance." in text
    assert "standard input" in text


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
MEASURE = """<!DOCTYPE html><meta charset="utf-8"><iframe id="f" width="360" height="800"></iframe>
<pre id="out"></pre><script>
addEventListener("error", e => out.textContent = "error " + e.message);
f.onload = () => {
  const page = f.contentDocument, box = x => x.getBoundingClientRect();
  out.textContent = JSON.stringify({
    width: page.documentElement.scrollWidth,
    pictures: [...page.querySelectorAll("svg")].map(x => [box(x).width, box(x).height]),
    letters: [...page.querySelectorAll("svg text")].map(x => box(x).height),
    ink: getComputedStyle(page.querySelector("svg text")).fill,
  });
};
f.srcdoc = SOURCE;
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here (Debian's package is chromium)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_a_browser_at_the_width_of_a_phone(dark, tmp_path):
    source = json.dumps(page("three classes", tmp_path / "r.html")).replace("</", "<\\/")
    (tmp_path / "measure.html").write_text(MEASURE.replace("SOURCE", source))
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
        "--virtual-time-budget=5000", *(["--blink-settings=preferredColorScheme=0"] * dark),
        "--dump-dom", (tmp_path / "measure.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert "CONSOLE" not in done.stderr
    found = json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', done.stdout)[1]))
    assert found["width"] <= 360
    assert len(found["pictures"]) == 4
    for width, height in found["pictures"]:
        assert width > 280
        assert height > 150
    assert min(found["letters"]) > 7  # of pixels: still readable
    bright = max(map(int, re.findall(r"\d+", found["ink"])[:3])) > 128
    assert bright == dark


def test_report_is_written_as_a_whole(tmp_path):
    assert page("linear", tmp_path / "r.html").endswith("</html>\n")
    assert [path.name for path in Path(tmp_path).iterdir()] == ["r.html"]
