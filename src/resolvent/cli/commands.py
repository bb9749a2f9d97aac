"""What the commands do that make a model."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from resolvent.cli import models, parsing
from resolvent.cli.intervals import is_calibrated
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
from resolvent.io.errors import DataFileError
from resolvent.io.model_file import save
from resolvent.losses import is_for_labels
from resolvent.tabular import TabularModel

__all__ = ["run_fit", "run_tune"]


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
    if any(sign in name for sign in "*?["):  # a pattern: its folder has a name
        name = Path(data).resolve().parent.name or "data"
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return Path(name).stem or name


# ---- fit ------------------------------------------------------------------------------------


def run_fit(output: Output, data: str, model: Path | None, **options: Any) -> None:
    """Fit, save, report; the exit code says whether the tolerance was reached."""
    path = Path(f"{name_of(data)}.model") if model is None else model
    if options["dask"] is not None:
        from resolvent.cli.cluster import run_fit_on_cluster

        run_fit_on_cluster(output, data, path, options)
        return
    from resolvent.cli import by_blocks

    if by_blocks.is_by_blocks(data, options["format"]):
        return by_blocks.run_fit_by_blocks(output, data, path, options)
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
        extend=options["extend"],
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
        for name, edge in search.edges_.items() if not options["extend"] else ():
            output.note(
                f"the best {name} is the {edge} of its grid; better ones may lie beyond: give "
                f"--{name}s that reach further, or say --extend."
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
            given = {} if training.offset is None else {"offset": training.offset}
            estimator.fit(training.X, training.y, training.weight, **given)
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
        estimator.set_params(verbose=0)
        fitted = TabularModel(estimator, training.features, training.target, training.offset_column)
        save(fitted, path)
        fitted = models.at_offset(fitted, training.offset)
        report, conformal = options["report"], options.get("conformal")
        coverage = conformal if is_calibrated(estimator) else None
        found = evaluate(fitted, training.X, training.y, coverage=coverage)
        finish(output, fitted, found, path, interrupted, training.rows)
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
    loss, quantiles, classify = check_options([data], path, options)
    keys = ("format", "target", "weights", "drop", "categorical", "scale", "missing")
    training = models.read_training(
        data,
        first_index=options["first_index"],
        offset=parsing.parse_offset(options["offset"], options["exposure"]),
        classify=classify,
        note=output.note,
        **{key: options[key] for key in keys},
    )
    return training, loss, quantiles


def check_options(
    inputs: list[Any], path: Path, options: dict[str, Any]
) -> tuple[Any, Any, bool | None]:
    """Give loss, quantiles, and whether labels are asked for, where that is known."""
    check_outputs({"model": path, "report": options["report"]}, inputs, options["force"])
    if not 0 < options["C"] < np.inf:
        raise typer.BadParameter(f"{options['C']} must be a positive number.", param_hint="--C")
    from resolvent.grams.memory import parse_memory

    try:
        parse_memory(options["memory"])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--memory") from None
    options["gamma"] = parsing.parse_gamma(options["gamma"])
    options["rank"] = parsing.parse_rank(options["rank"])
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
    return loss, quantiles, classify


def introduction(training: models.Training, estimator: Any, options: dict[str, Any]) -> str:
    """Say what is going to be fitted, and how to choose otherwise."""
    n, d = training.shape
    rows = f"{n:,} row{'s' * (n != 1)}, {d:,} feature{'s' * (d != 1)}"
    if training.classes is not None:
        k = len(training.classes)
        task = f"{k} classes"
    else:
        task = "a numeric target"
    chosen = ""
    if options["loss"] is None and options["quantiles"] is None:
        classes = training.classes
        could_count = classes is not None and classes.dtype.kind in "iu" and len(classes) > 2
        numbers = "; squared predicts numbers" if could_count else ""
        chosen = f" (choose with --loss{numbers})"
    loss = getattr(estimator, "loss", None)
    loss = (
        f"quantiles {options['quantiles']}" if loss is None else f"{loss_name(loss)} loss{chosen}"
    )
    rank = "" if options["rank"] is None else f", rank {options['rank']}"
    return f"{rows}, {task}: {loss}, {options['kernel']} kernel{rank}"


def finish(
    output: Output,
    model: TabularModel,
    found: Evaluation,
    path: Path,
    interrupted: bool,
    rows: str,
) -> None:
    """Say how the fit went."""
    proof, facts = certificate(model.estimator), describe(model)
    output.event(
        "result", **facts["certificate"], support_vectors=facts["support_vectors"],
        scores=found.scores, constant=found.constant, model=str(path),
    )  # fmt: skip
    tol = proof["tol"]
    took = f"{iterations_text(proof)}, {proof['seconds']:.2f} s"
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
    output.say(f"On {rows}: {scores_text(found)}")
    if proof["solved"] and not found.is_useful:
        output.note(
            "the model is no better than a constant, though it is solved: the certificate is about "
            "optimisation. Raise --C, or let `resolvent tune` choose C and gamma."
        )
    kind = "Model" if proof["solved"] else "Best model so far"
    output.say(f"{kind} saved: {path}")


def scores_text(found: Evaluation) -> str:
    """Scores in a line; a colon keeps a number in a name apart from the score."""
    return ", ".join(
        f"{name}{':' if name[-1].isdigit() else ''} {text}" for name, text in found.texts().items()
    )


# ---- predict, evaluate ----------------------------------------------------------------------


def iterations_text(proof: dict[str, Any]) -> str:
    count = proof["iterations"]
    return f"{count} iteration{'' if count == 1 else 's'}"
