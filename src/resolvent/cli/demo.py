"""A tour of two minutes on data that comes with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import typer

from resolvent.cli.output import Output
from resolvent.io.atomic import write_atomically

__all__ = ["run_demo"]


def run_demo(folder: Path) -> None:
    """Write data into a folder, run commands on it and show them; end with the reports' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    output = Output()
    output.say(f"A tour of the command line on scikit-learn's data, in the folder {folder}/.")
    _write_data(folder)
    output.say("\n1. A CSV table with a column to predict: a kernel machine, and a page about it.")
    _show("fit", folder / "tumours.csv", folder / "tumours.model", "--target", "diagnosis",
          "--loss", "logistic", "--report", folder / "tumours.html")  # fmt: skip
    output.say("\n2. Rows that it has not seen.")
    _show("evaluate", folder / "tumours-test.csv", folder / "tumours.model", "--report",
          folder / "tumours-test.html")  # fmt: skip
    output.say("\n3. What the model file holds; it is safe to load from strangers.")
    _show("inspect", folder / "tumours.model")
    output.say("\n4. A band of quantiles: where do eight of ten patients end up in a year?")
    _show("tune", folder / "diabetes-train.csv", folder / "diabetes.model", "--target",
          "progression", "--quantiles", "0.1,0.5,0.9", "--Cs", "5", "--gammas", "5",
          "--conformal", "0.8", "--report", folder / "diabetes.html")  # fmt: skip
    output.say("\nAnd where do those end up that it has not seen?")
    _show("evaluate", folder / "diabetes-test.csv", folder / "diabetes.model", "--interval", "0.8",
          "--report", folder / "diabetes-test.html")  # fmt: skip
    output.say("\n5. LIBSVM's format of data and models.")
    _show(
        "fit", folder / "flowers.svm", folder / "flowers.model", "-c", "10", "--multiclass", "ovo"
    )
    _show("convert", folder / "flowers.model", folder / "flowers.libsvm")
    output.say("\n6. A fit that is stopped keeps the best model so far, and says how good it is.")
    _show("fit", folder / "tumours.csv", folder / "stopped.model", "--target", "diagnosis",
          "--loss", "logistic", "--tol", "1e-10", "--max-iter", "2")  # fmt: skip
    output.say(
        "\nThe models open in Python with resolvent.load(path), the reports in a browser:\n"
        f"  {folder / 'tumours.html'}\n  {folder / 'tumours-test.html'}\n"
        f"  {folder / 'diabetes.html'}\n  {folder / 'diabetes-test.html'}"
    )


def _show(*args: Any) -> None:
    """Run a command of this program, after showing it."""
    from resolvent.cli.app import app

    words = [str(arg) for arg in args]
    typer.secho(f"\n$ resolvent {shlex.join(words)}", bold=True)
    try:
        app(words, prog_name="resolvent")
    except SystemExit as done:
        if done.code:
            typer.echo(f"(exit code {done.code})")
        if done.code not in (0, None, 4):
            raise


def _write_data(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

    cancer = load_breast_cancer()
    names = [name.replace(" ", "_") for name in cancer.feature_names]
    labels = cancer.target_names[cancer.target]
    test = np.arange(len(labels)) % 3 == 0
    for name, rows in (("tumours", ~test), ("tumours-test", test)):
        _table(folder / f"{name}.csv", [*names, "diagnosis"], cancer.data[rows], labels[rows])
    diabetes = load_diabetes(scaled=False)
    test = np.arange(len(diabetes.target)) % 4 == 0
    for name, rows in (("diabetes-train", ~test), ("diabetes-test", test)):
        _table(folder / f"{name}.csv", [*diabetes.feature_names, "progression"],
               diabetes.data[rows], diabetes.target[rows])  # fmt: skip
    X, y = load_iris(return_X_y=True)
    lines = (
        f"{label} {' '.join(f'{j + 1}:{value:g}' for j, value in enumerate(row))}\n"
        for label, row in zip(y, X, strict=True)
    )
    _write(folder / "flowers.svm", "".join(lines))


def _table(path: Path, names: list[str], X: np.ndarray, y: np.ndarray) -> None:
    lines = [",".join(names)]
    lines += [
        ",".join([*(f"{value:g}" for value in row), str(target)])
        for row, target in zip(X, y, strict=True)
    ]
    _write(path, "\n".join(lines) + "\n")


def _write(path: Path, text: str) -> None:
    """Write a file of data; one that is there already must be the same."""
    if path.exists() and path.read_bytes() != text.encode():
        raise typer.BadParameter(f"{path} exists and is not the demo's; give another folder.")
    write_atomically(path, text.encode())
