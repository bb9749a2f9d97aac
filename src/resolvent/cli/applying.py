"""What the commands do that use a model."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer

from resolvent.cli import models
from resolvent.cli.by_blocks import is_by_blocks
from resolvent.cli.commands import iterations_text, limited, scores_text
from resolvent.cli.intervals import check_interval, interval_columns, is_calibrated
from resolvent.cli.output import Output
from resolvent.cli.outputs import check_outputs
from resolvent.cli.scores import (
    closeness,
    describe,
    evaluate,
)
from resolvent.io.atomic import write_atomically
from resolvent.io.errors import DataFileError
from resolvent.io.libsvm import looks_like_libsvm, write_libsvm
from resolvent.io.model_file import save

__all__ = ["run_convert", "run_evaluate", "run_inspect", "run_predict"]


def run_predict(
    output: Output,
    data: str,
    model: Path,
    out: Path | None,
    probabilities: bool,
    interval: float | None,
    format: str,
    threads: int | None,
    force: bool,
) -> None:
    """Write a prediction for each row."""
    check_outputs({"predictions": out}, [data, model], force)
    fitted = models.open_model(model)
    estimator = fitted.estimator
    if probabilities and not hasattr(estimator, "predict_proba"):
        raise typer.BadParameter(
            "this model has no probabilities; fit with --loss logistic.",
            param_hint="--probabilities",
        )
    check_interval(estimator, interval)
    if is_by_blocks(data, format):
        parts = models.read_parts_for(fitted, data, output.note)
    else:
        X, _, offset = models.read_for(fitted, data, format=format, note=output.note)
        parts = iter([(X, offset)])

    def text() -> Iterator[bytes]:
        """Lines of each part; the first has the header."""
        for k, (X, offset) in enumerate(parts):
            here = models.at_offset(fitted, offset).estimator
            yield _as_text(_columns_of(here, X, probabilities, interval), header=not k).encode()

    with limited(threads):
        if out is not None:
            write_atomically(out, text())
            return
        for lines in text():
            sys.stdout.write(lines.decode())
        sys.stdout.flush()


def _columns_of(
    estimator: Any, X: Any, probabilities: bool, interval: float | None
) -> dict[str, np.ndarray]:
    """Predictions, and what was asked for beside them, by their names."""
    columns: dict[str, np.ndarray] = {}
    predicted = estimator.predict(X)
    if predicted.ndim == 1:
        columns["prediction"] = predicted
    else:
        names = getattr(estimator, "quantile", range(1, predicted.shape[1] + 1))
        columns = {f"prediction {x:g}": p for x, p in zip(names, predicted.T, strict=True)}
    if probabilities:
        p = estimator.predict_proba(X)
        columns |= {f"p({label})": p[:, k] for k, label in enumerate(estimator.classes_)}
    if interval is not None:
        columns |= interval_columns(estimator, X, interval)
    return columns


def _as_text(columns: dict[str, np.ndarray], header: bool) -> str:
    """One line a row; with a header, if that is asked for, where there are several columns."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if header and len(columns) > 1:
        writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return buffer.getvalue()


def run_evaluate(
    output: Output,
    data: str,
    model: Path,
    target: str | None,
    format: str,
    interval: float | None,
    threads: int | None,
    report: Path | None,
    force: bool,
) -> None:
    """Score the model on data."""
    check_outputs({"report": report}, [data, model], force)
    fitted = models.open_model(model)
    check_interval(fitted.estimator, interval)
    if interval is None and is_calibrated(fitted.estimator):
        interval = 0.9
    X, y, offset = models.read_for(fitted, data, format=format, target=target, note=output.note)
    fitted = models.at_offset(fitted, offset)
    if y is None:
        wanted = target or fitted.target or "y"
        raise DataFileError(
            f"has no target {wanted!r} to compare with; say --target NAME, or use predict.", data
        )
    began = time.perf_counter()
    with limited(threads):
        found = evaluate(fitted, X, y, data, interval)
    seconds = time.perf_counter() - began
    output.event("scores", rows=len(y), seconds=seconds, **found.scores, constant=found.constant)
    if not output.as_json:
        # Results are not talk: --quiet shows them too.
        typer.echo(f"{len(y):,} rows: {scores_text(found)}")
    if not found.is_useful:
        output.note("on these rows the model is no better than a constant.")
    if report is not None:
        from resolvent.cli.report import write_report

        write_report(report, fitted, found, source=data, training=False, X=X)
        output.say(f"Report: {report}")


# ---- inspect, convert -----------------------------------------------------------------------


def run_inspect(output: Output, path: Path) -> None:
    """Say what a model is."""
    model = models.open_model(path)
    facts = describe(model)
    output.event("model", path=str(path), **facts)
    proof = facts.pop("certificate")
    for name, value in facts.items():
        if value is not None:
            value = _shortened(value) if isinstance(value, list) else value
            output.say(f"{name.replace('_', ' '):<16} {value}")
    if proof is None:
        output.say(f"{'certificate':<16} none: the model comes from LIBSVM")
        return
    output.say(f"{'certificate':<16} objective {proof['objective']:.7g}, {closeness(proof)}")
    output.say(
        f"{'status':<16} {proof['status']}: {proof['message']} {iterations_text(proof)} "
        f"of {proof['solver'] or 'an unknown solver'}, {proof['seconds']:.2f} s"
    )


def _shortened(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:12]))
    return shown + (f", ... ({len(values)} in all)" if len(values) > 12 else "")


def run_convert(output: Output, source: Path, target: Path, features: int, force: bool) -> None:
    """Turn one kind of model file into the other."""
    check_outputs({"model": target}, [source], force)
    from_libsvm = looks_like_libsvm(source)
    model = models.open_model(source, features)
    if from_libsvm:
        save(model, target)
        output.note(
            f"a model from LIBSVM has no certificate; it takes {model.features.width} features."
        )
    else:
        write_libsvm(model, target)
    output.say(f"{'Model' if from_libsvm else 'Model for LIBSVM'} saved: {target}")
