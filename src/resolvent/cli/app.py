"""The commands. What they need is imported when they run, so that --help is quick."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from resolvent.cli.options import (
    CategoricalOption,
    ClassWeightOption,
    Coef0Option,
    ConformalOption,
    COption,
    CsOption,
    DaskOption,
    DataFile,
    DegreeOption,
    DropOption,
    ExposureOption,
    ExtendOption,
    FirstIndexOption,
    FoldsOption,
    ForceOption,
    Format,
    FormatOption,
    GammaOption,
    GammasOption,
    InterceptOption,
    IntervalOption,
    JsonOption,
    Kernel,
    KernelOption,
    LossOption,
    MaxIterOption,
    MemoryOption,
    Missing,
    MissingOption,
    ModelFile,
    Multiclass,
    MulticlassOption,
    OffsetOption,
    QuantilesOption,
    QuietOption,
    RankOption,
    ReportOption,
    RuleOption,
    ScaleOption,
    ScaleTargetOption,
    ScoringOption,
    SeedOption,
    TargetOption,
    ThreadsOption,
    TimeLimitOption,
    TolOption,
    WeightsOption,
)
from resolvent.cli.output import Output, guarded

__all__ = ["app"]

app = typer.Typer(
    help="Kernel machines with any convex loss, each fit with a proof of how good it is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 solved, 2 wrong usage, 3 bad data or file, 4 stopped before the "
    "tolerance with the model saved. Try: resolvent demo",
)


def _version(asked: bool) -> None:
    if asked:
        import resolvent

        typer.echo(f"resolvent {resolvent.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: resolvent fit wine.csv --target quality --loss huber:0.5 -c 10")
@guarded
def fit(
    data: DataFile,
    model: Annotated[
        Path | None,
        typer.Argument(help="Where the model goes; default: the data's name with .model."),
    ] = None,
    target: TargetOption = None,
    format: FormatOption = Format.auto,
    weights: WeightsOption = None,
    offset: OffsetOption = None,
    exposure: ExposureOption = None,
    drop: DropOption = [],  # noqa: B006 (Typer copies it)
    categorical: CategoricalOption = [],  # noqa: B006 (as above)
    scale: ScaleOption = None,
    scale_target: ScaleTargetOption = True,
    missing: MissingOption = Missing.error,
    first_index: FirstIndexOption = None,
    loss: LossOption = None,
    quantiles: QuantilesOption = None,
    kernel: KernelOption = Kernel.rbf,
    C: COption = 1.0,
    gamma: GammaOption = "scale",
    degree: DegreeOption = 3,
    coef0: Coef0Option = 0.0,
    class_weight: ClassWeightOption = None,
    multiclass: MulticlassOption = Multiclass.ovr,
    rank: RankOption = None,
    intercept: InterceptOption = True,
    tol: TolOption = 1e-5,
    max_iter: MaxIterOption = None,
    time_limit: TimeLimitOption = None,
    memory: MemoryOption = "auto",
    threads: ThreadsOption = None,
    seed: SeedOption = None,
    dask: DaskOption = None,
    report: ReportOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Fit a model to data and save it.

    Ctrl-C, like --time-limit, stops early and saves the best model so far with its gap.
    """
    from resolvent.cli.commands import run_fit

    run_fit(Output(quiet, json), **_given(locals()))


@app.command(epilog="Example: resolvent tune wine.csv --target quality --report wine.html")
@guarded
def tune(
    data: DataFile,
    model: Annotated[
        Path | None,
        typer.Argument(help="Where the model goes; default: the data's name with .model."),
    ] = None,
    target: TargetOption = None,
    format: FormatOption = Format.auto,
    weights: WeightsOption = None,
    offset: OffsetOption = None,
    exposure: ExposureOption = None,
    drop: DropOption = [],  # noqa: B006 (Typer copies it)
    categorical: CategoricalOption = [],  # noqa: B006 (as above)
    scale: ScaleOption = None,
    scale_target: ScaleTargetOption = True,
    missing: MissingOption = Missing.error,
    first_index: FirstIndexOption = None,
    loss: LossOption = None,
    quantiles: QuantilesOption = None,
    kernel: KernelOption = Kernel.rbf,
    Cs: CsOption = "10",
    gammas: GammasOption = "10",
    folds: FoldsOption = 5,
    scoring: ScoringOption = None,
    one_standard_error: RuleOption = False,
    extend: ExtendOption = False,
    conformal: ConformalOption = None,
    degree: DegreeOption = 3,
    coef0: Coef0Option = 0.0,
    class_weight: ClassWeightOption = None,
    multiclass: MulticlassOption = Multiclass.ovr,
    rank: RankOption = None,
    intercept: InterceptOption = True,
    tol: TolOption = 1e-5,
    max_iter: MaxIterOption = None,
    time_limit: TimeLimitOption = None,
    memory: MemoryOption = "auto",
    threads: ThreadsOption = None,
    seed: SeedOption = None,
    report: ReportOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Choose C and gamma by cross-validation, fit the best to all data and save it.

    Ctrl-C, like --time-limit, stops early and fits the best so far.
    """
    from resolvent.cli.commands import run_tune

    run_tune(Output(quiet, json), **_given(locals()))


@app.command(epilog="Example: resolvent predict new.csv wine.model predictions.txt")
@guarded
def predict(
    data: DataFile,
    model: ModelFile,
    out: Annotated[
        Path | None, typer.Argument(help="Where predictions go, one a line; default stdout.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-b", help="Probabilities of the classes too.")
    ] = False,
    interval: IntervalOption = None,
    format: FormatOption = Format.auto,
    threads: ThreadsOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict for the rows of a file, one prediction a line."""
    from resolvent.cli.applying import run_predict

    run_predict(Output(quiet), **_given(locals()))


@app.command(epilog="Example: resolvent evaluate test.csv wine.model --report test.html")
@guarded
def evaluate(
    data: DataFile,
    model: ModelFile,
    target: TargetOption = None,
    format: FormatOption = Format.auto,
    interval: IntervalOption = None,
    threads: ThreadsOption = None,
    report: ReportOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Score a model on data whose target is known."""
    from resolvent.cli.applying import run_evaluate

    run_evaluate(Output(quiet, json), **_given(locals()))


@app.command(epilog="Example: resolvent inspect wine.model")
@guarded
def inspect(model: ModelFile, json: JsonOption = False) -> None:
    """Say what a model file holds: machine, data, certificate."""
    from resolvent.cli.applying import run_inspect

    run_inspect(Output(as_json=json), model)


@app.command(epilog="Example: resolvent convert svm-train.model mine.model")
@guarded
def convert(
    source: Annotated[Path, typer.Argument(help="A model of resolvent or of LIBSVM.")],
    target: Annotated[Path, typer.Argument(help="Where it goes, in the other format.")],
    features: Annotated[
        int, typer.Option("--features", min=0, help="Features, if more than a LIBSVM file shows.")
    ] = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Turn a model of LIBSVM into one of resolvent, or the other way round."""
    from resolvent.cli.applying import run_convert

    run_convert(Output(quiet), source, target, features, force)


@app.command("compile", epilog="Example: resolvent compile --all")
@guarded
def compile_ahead(
    everything: Annotated[
        bool, typer.Option("--all", help="For every loss and kind of data; takes minutes.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Compile ahead of time, for container images and new machines."""
    from resolvent import compile_all

    output = Output(quiet=quiet, as_json=False)
    count = compile_all(everything, report=output.progress)
    output.say(f"Compiled for {count} models; further fits of these kinds start at once.")


@app.command(epilog="Example: resolvent demo")
@guarded
def demo(
    folder: Annotated[Path, typer.Argument(help="Where files go.")] = Path("demo-output"),
) -> None:
    """Show a tour of two minutes, on data that is built in."""
    from resolvent.cli.demo import run_demo

    run_demo(folder)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a command for the function that does its work; enumerations as strings."""
    said = {"quiet", "json", *(name for name in arguments if name.startswith("run_"))}
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in arguments.items()
        if name not in said
    }
