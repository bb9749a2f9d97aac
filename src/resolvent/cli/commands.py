"""What the commands do."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from resolvent.cli import models, parsing
from resolvent.cli.intervals import check_interval, interval_columns, is_calibrated
from resolvent.cli.output import Code, Output, uninterrupted
from resolvent.cli.outputs import check_outputs
from resolvent.cli.progress import watched
from resolvent.cli.scores import (
    Evaluation,
    certificate,
    closeness,
    describe,
    evaluate,
    loss_name,
    number_text,
)
from resolvent.io.atomic import write_atomically
from resolvent.io.errors import DataFileError
from resolvent.io.libsvm import looks_like_libsvm, write_libsvm
from resolvent.io.model_file import save
from resolvent.losses import is_for_labels
from resolvent.tabular import TabularModel

__all__ = ["run_convert", "run_evaluate", "run_fit", "run_inspect", "run_predict", "run_tune"]


@contextlib.contextmanager
def limited(threads: int | None) -> Iterator[None]:
    """Let computations use so many threads."""
    if threads is None:
        yield
        return
    import scipy.linalg  # noqa: F401 (its BLAS is limited only once it is loaded)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        yield


def name_of(data: str) -> str:
    """Name a file of data without its endings."""
    name = "stdin" if data == "-" else Path(data).name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return Path(name).stem or name


# ---- fit ------------------------------------------------------------------------------------


def run_fit(output: Output, data: str, model: Path | None, **options: Any) -> None:
    """Fit, save, report; the exit code says whether the tolerance was reached."""
    path = Path(f"{name_of(data)}.model") if model is None else model
    training, loss, quantiles = prepare(output, data, path, options)
    estimator = models.make_estimator(training, loss, quantiles, options)
    output.say(f"{introduction(training, estimator, options)}, C = {options['C']:g}")
    with limited(options["threads"]):
        interrupted = fit_watched(output, estimator, training, options["tol"])
        if not hasattr(estimator, "status_"):
            raise KeyboardInterrupt
        settle(output, estimator, training, path, interrupted, data, options)


def run_tune(output: Output, data: str, model: Path | None, **options: Any) -> None:
    """Choose C and gamma by cross-validation, then as `run_fit`."""
    path = Path(f"{name_of(data)}.model") if model is None else model
    options |= {"C": 1.0, "gamma": "scale"}  # until they are chosen
    grids = {name: parsing.parse_grid(options[name], f"--{name}") for name in ("Cs", "gammas")}
    parsing.check_scoring(options["scoring"])
    parsing.check_coverage(options["conformal"], "--conformal")
    training, loss, quantiles = prepare(output, data, path, options)
    plain = models.make_estimator(training, loss, quantiles, options)
    search = models.make_search(
        plain,
        **grids,
        cv=options["folds"],
        scoring=options["scoring"],
        rule="one_standard_error" if options["one_standard_error"] else "best",
        n_jobs=options["threads"],
        conformal=options["conformal"] is not None,
    )
    output.say(f"{introduction(training, plain, options)}, {options['folds']} folds")
    with limited(options["threads"]):
        interrupted = fit_watched(output, search, training, options["tol"])
        if not hasattr(search, "best_estimator_"):
            raise KeyboardInterrupt
        n, scores = len(search.cv_results_["params"]), search.cv_results_["mean_test_score"]
        compared = int(np.count_nonzero(~np.isnan(scores)))
        output.event(
            "search",
            best=search.best_params_,
            score=search.best_score_,
            candidates=n,
            compared=compared,
            status=search.search_status_.name,
        )
        chosen = ", ".join(f"{name} = {x:.4g}" for name, x in search.best_params_.items())
        of = f"{n}" if compared == n else f"{compared} of {n}"
        output.say(
            f"Best of {of} candidates: {chosen}, mean score {number_text(search.best_score_)} "
            f"({search.search_time_:.1f} s)"
        )
        for name, edge in search.edges_.items():
            output.note(
                f"the best {name} is the {edge} of its grid; better ones may lie beyond: give "
                f"--{name}s that reach further."
            )
        further: list[tuple[str, str]] = []
        if options["report"] is not None:
            from resolvent.cli.pictures import draw_search

            draw_search(further, search)
        best = search.best_estimator_
        best.status_ = search.status_  # what is said and saved is of the whole search
        settle(output, best, training, path, interrupted, data, options, further)


def fit_watched(output: Output, estimator: Any, training: models.Training, tol: float) -> bool:
    """Fit, showing the progress; return whether it was interrupted."""
    with watched(output, tol), warnings.catch_warnings():
        # What warnings of convergence would say is said in the end, and errors are of the data.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # of useless models and edges of grids
        try:
            estimator.fit(training.X, training.y, training.weight)
        except ValueError as error:
            raise DataFileError(str(error)) from None
        except KeyboardInterrupt:
            return True
    return False


def settle(
    output: Output,
    estimator: Any,
    training: models.Training,
    path: Path,
    interrupted: bool,
    data: str,
    options: dict[str, Any],
    further: list[tuple[str, str]] = [],  # noqa: B006 (never changed)
) -> None:
    """Save, tell and report what was fitted; the exit code says how it went."""
    with uninterrupted():
        fitted = TabularModel(estimator.set_params(verbose=0), training.features, training.target)
        save(fitted, path)
        report, conformal = options["report"], options.get("conformal")
        coverage = conformal if is_calibrated(estimator) else None
        found = evaluate(fitted, training.X, training.y, coverage=coverage)
        finish(output, fitted, found, path, interrupted)
        if coverage is not None:
            output.say(
                f"`resolvent predict NEW {path} --interval {coverage:g}` adds intervals or sets, "
                "calibrated by the folds"
            )
        if report is not None:
            from resolvent.cli.report import write_report

            write_report(
                report, fitted, found, source=data, training=True, X=training.X, further=further
            )
            output.say(f"Report: {report}")
    if interrupted or not certificate(estimator)["solved"]:
        raise typer.Exit(Code.UNFINISHED)


def prepare(
    output: Output, data: str, path: Path, options: dict[str, Any]
) -> tuple[models.Training, Any, Any]:
    """Check options, then read the data; what is wrong is said before anything slow starts."""
    check_outputs({"model": path, "report": options["report"]}, [data], options["force"])
    if not 0 < options["C"] < np.inf:
        raise typer.BadParameter(f"{options['C']} must be a positive number.", param_hint="--C")
    from resolvent.grams.memory import parse_memory

    try:
        parse_memory(options["memory"])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--memory") from None
    options["gamma"] = parsing.parse_gamma(options["gamma"])
    options["rank"] = parsing.parse_rank(options.get("rank"))  # a search has none
    loss, quantiles = (
        parsing.parse_loss(options["loss"]),
        parsing.parse_quantiles(options["quantiles"]),
    )
    if loss is not None and quantiles is not None:
        raise typer.BadParameter("give either --loss or --quantiles.")
    classify = None
    if loss is not None or quantiles is not None:
        classify = loss is not None and is_for_labels(loss)
    if options["class_weight"] is not None and classify is False:
        raise typer.BadParameter("is for classification.", param_hint="--class-weight")
    keys = ("format", "target", "weights", "drop", "categorical", "scale", "missing")
    training = models.read_training(
        data,
        first_index=options["first_index"],
        classify=classify,
        note=output.note,
        **{key: options[key] for key in keys},
    )
    return training, loss, quantiles


def introduction(training: models.Training, estimator: Any, options: dict[str, Any]) -> str:
    """Say what is going to be fitted, and how to choose otherwise."""
    n, d = training.shape
    rows = f"{n:,} rows, {d:,} features"
    if training.classes is not None:
        k = len(training.classes)
        task = f"{k} classes"
    else:
        task = "a numeric target"
    chosen = ""
    if options["loss"] is None and options["quantiles"] is None:
        chosen = " (choose with --loss)"
    loss = getattr(estimator, "loss", None)
    loss = (
        f"quantiles {options['quantiles']}" if loss is None else f"{loss_name(loss)} loss{chosen}"
    )
    return f"{rows}, {task}: {loss}, {options['kernel']} kernel"


def finish(
    output: Output, model: TabularModel, found: Evaluation, path: Path, interrupted: bool
) -> None:
    """Say how the fit went."""
    proof, facts = certificate(model.estimator), describe(model)
    output.event(
        "result", **facts["certificate"], support_vectors=facts["support_vectors"],
        scores=found.scores, constant=found.constant, model=str(path),
    )  # fmt: skip
    tol = proof["tol"]
    took = f"{_iterations(proof)}, {proof['seconds']:.2f} s"
    if proof["solved"]:
        output.say(f"Solved in {took}: objective {proof['objective']:.7g}, {closeness(proof)}")
    else:
        why = "Interrupted" if interrupted else proof["message"].rstrip(".")
        output.say(
            f"{why}, after {took}: objective {proof['objective']:.7g}, {closeness(proof)}; "
            f"asked for was {tol:.1e}"
        )
    if facts["support_vectors"] is not None:
        output.say(f"{facts['support_vectors']:,} support vectors")
    output.say(f"On the training rows: {scores_text(found)}")
    if proof["solved"] and not found.is_useful:
        output.note(
            "the model is no better than a constant, though it is solved: the certificate is about "
            "optimisation. Raise --C, or let `resolvent tune` choose C and gamma."
        )
    kind = "Model" if proof["solved"] else "Best model so far"
    output.say(f"{kind} saved: {path}")


def scores_text(found: Evaluation) -> str:
    """Scores in a line."""
    return ", ".join(f"{name} {text}" for name, text in found.texts().items())


# ---- predict, evaluate ----------------------------------------------------------------------


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
    X, _ = models.read_for(fitted, data, format=format, note=output.note)
    with limited(threads):
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
    text = _as_text(columns)
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_atomically(out, text.encode())


def _as_text(columns: dict[str, np.ndarray]) -> str:
    """One line a row; with a header if there are several columns, as in CSV."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if len(columns) > 1:
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
    X, y = models.read_for(fitted, data, format=format, target=target, note=output.note)
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
        f"{'status':<16} {proof['status']}: {proof['message']} {_iterations(proof)} "
        f"of {proof['solver'] or 'an unknown solver'}, {proof['seconds']:.2f} s"
    )


def _iterations(proof: dict[str, Any]) -> str:
    count = proof["iterations"]
    return f"{count} iteration{'' if count == 1 else 's'}"


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
