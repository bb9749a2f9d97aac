"""The commands. What they need is imported when they run, so that --help is quick."""

from __future__ import annotations

from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

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


class Format(StrEnum):
    """Formats of data."""

    auto = "auto"
    svmlight = "svmlight"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    npz = "npz"


class Kernel(StrEnum):
    """Kernels."""

    rbf = "rbf"
    laplacian = "laplacian"
    matern = "matern"
    poly = "poly"
    cosine = "cosine"
    linear = "linear"
    sigmoid = "sigmoid"


class Scale(StrEnum):
    """Ways to scale features."""

    standard = "standard"
    minmax = "minmax"
    none = "none"


class Missing(StrEnum):
    """What to do with missing values."""

    error = "error"
    impute = "impute"


class Multiclass(StrEnum):
    """Ways to tell several classes apart."""

    ovr = "ovr"
    ovo = "ovo"


DATA, MACHINE, SEARCH, LIMITS, TALK = "Data", "Machine", "Search", "Limits", "Output"


def _option(panel: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **settings)


DataFile = Annotated[
    str, typer.Argument(help="Data: svmlight, CSV, TSV, Parquet, NPZ; - is stdin.")
]
ModelFile = Annotated[Path, typer.Argument(help="Model: a file of resolvent or of LIBSVM.")]
FormatOption = Annotated[
    Format, _option(DATA, "--format", help="Format of the data; auto finds out.")
]
TargetOption = Annotated[
    str | None, _option(DATA, "--target", help="Column of a table, or array of an NPZ file.")
]
WeightsOption = Annotated[
    str | None, _option(DATA, "--weights", help="Column or array with a weight for each row.")
]
DropOption = Annotated[
    list[str], _option(DATA, "--drop", help="Column to leave out; may be repeated.")
]
CategoricalOption = Annotated[
    list[str],
    _option(DATA, "--categorical", help="Column whose numbers are categories; may be repeated."),
]
ScaleOption = Annotated[
    Scale | None,
    _option(
        DATA,
        "--scale",
        help="Scaling of the features, kept in the model. Default: standard for tables, "
        "none for svmlight and NPZ.",
        show_default=False,
    ),
]
ScaleTargetOption = Annotated[
    bool,
    _option(
        DATA,
        "--scale-target/--no-scale-target",
        help="Whether C and the parameters of the loss are in units of the target's spread.",
    ),
]
MissingOption = Annotated[
    Missing, _option(DATA, "--missing", help="What to do with missing values of features.")
]
FirstIndexOption = Annotated[
    int | None,
    _option(DATA, "--first-index", min=0, max=1, help="Of svmlight files; 0 if it occurs, else 1."),
]
LossOption = Annotated[
    str | None,
    _option(
        MACHINE,
        "--loss",
        "-l",
        help="hinge, logistic, squared, absolute, huber:0.5, epsilon_insensitive:0.1, ... "
        "Default: hinge for labels, squared for numbers.",
        show_default=False,
    ),
]
QuantilesOption = Annotated[
    str | None, _option(MACHINE, "--quantiles", help="Fit these quantiles, such as 0.1,0.5,0.9.")
]
KernelOption = Annotated[Kernel, _option(MACHINE, "--kernel", "-k", help="The kernel.")]
COption = Annotated[
    float, _option(MACHINE, "--C", "-c", help="Weight of the loss, 1 / lambda, as in LIBSVM.")
]
GammaOption = Annotated[
    str, _option(MACHINE, "--gamma", "-g", help="Of the kernel: a number, scale or auto.")
]
DegreeOption = Annotated[int, _option(MACHINE, "--degree", "-d", min=0, help="Of poly.")]
Coef0Option = Annotated[float, _option(MACHINE, "--coef0", "-r", help="Of poly and sigmoid.")]
ClassWeightOption = Annotated[
    str | None, _option(MACHINE, "--class-weight", help="balanced, or LABEL=WEIGHT,...")
]
RankOption = Annotated[
    str | None,
    _option(
        MACHINE, "--rank", help="Landmarks of a low-rank fit: a number or auto; default: exact."
    ),
]
MulticlassOption = Annotated[
    Multiclass, _option(MACHINE, "--multiclass", help="One-vs-rest, or one-vs-one as in LIBSVM.")
]
InterceptOption = Annotated[
    bool, _option(MACHINE, "--intercept/--no-intercept", help="Whether to fit an offset.")
]
CsOption = Annotated[
    str, _option(SEARCH, "--Cs", help="How many values of C to try, or the values: 0.1,1,10.")
]
GammasOption = Annotated[
    str, _option(SEARCH, "--gammas", help="How many values of gamma to try, or the values.")
]
FoldsOption = Annotated[int, _option(SEARCH, "--folds", min=2, help="Folds of cross-validation.")]
ScoringOption = Annotated[
    str | None,
    _option(SEARCH, "--scoring", help="A score of scikit-learn, such as accuracy, roc_auc, r2."),
]
ConformalOption = Annotated[
    float | None,
    _option(
        SEARCH,
        "--conformal",
        help="Keep what `predict --interval` needs, by the folds; the report shows intervals of "
        "this coverage, such as 0.9.",
    ),
]
IntervalOption = Annotated[
    float | None,
    typer.Option(
        "--interval",
        help="Coverage of intervals, or of sets of labels, such as 0.9; for models of tune "
        "--conformal.",
    ),
]
RuleOption = Annotated[
    bool,
    _option(SEARCH, "--one-standard-error", help="Smallest C within a standard error of the best."),
]
TolOption = Annotated[
    float, _option(LIMITS, "--tol", "-e", min=0.0, help="Relative duality gap to reach.")
]
MaxIterOption = Annotated[int | None, _option(LIMITS, "--max-iter", min=1, help="Most iterations.")]
TimeLimitOption = Annotated[
    float | None,
    _option(LIMITS, "--time-limit", min=0.0, help="Seconds; then the best model so far is kept."),
]
MemoryOption = Annotated[
    str, _option(LIMITS, "--memory", "-m", help="For the kernel matrix, such as 2GB.")
]
ThreadsOption = Annotated[
    int | None, _option(LIMITS, "--threads", min=1, help="Threads to use; default all cores.")
]
SeedOption = Annotated[int | None, _option(LIMITS, "--seed", min=0, help="Seed of random orders.")]
ReportOption = Annotated[
    Path | None, _option(TALK, "--report", help="Write a page with pictures (HTML).")
]
ForceOption = Annotated[
    bool,
    _option(TALK, "--force", help="Replace files, also an input or one of another kind."),
]
QuietOption = Annotated[bool, _option(TALK, "--quiet", "-q", help="Say nothing but errors.")]
JsonOption = Annotated[bool, _option(TALK, "--json", help="JSON lines for programs.")]


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
    conformal: ConformalOption = None,
    degree: DegreeOption = 3,
    coef0: Coef0Option = 0.0,
    class_weight: ClassWeightOption = None,
    multiclass: MulticlassOption = Multiclass.ovr,
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
    from resolvent.cli.commands import run_predict

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
    from resolvent.cli.commands import run_evaluate

    run_evaluate(Output(quiet, json), **_given(locals()))


@app.command(epilog="Example: resolvent inspect wine.model")
@guarded
def inspect(model: ModelFile, json: JsonOption = False) -> None:
    """Say what a model file holds: machine, data, certificate."""
    from resolvent.cli.commands import run_inspect

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
    from resolvent.cli.commands import run_convert

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
