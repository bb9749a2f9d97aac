"""Options of the commands, each declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


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


def option(panel: str, *names: str, **settings: Any) -> Any:
    """Declare an option, on a panel of the help."""
    return typer.Option(*names, rich_help_panel=panel, **settings)


DataFile = Annotated[
    str,
    typer.Argument(
        help="Data: svmlight, CSV, TSV, Parquet (a folder or '*.parquet' too), NPZ; - is stdin."
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="Model: a file of resolvent or of LIBSVM.")]
FormatOption = Annotated[
    Format, option(DATA, "--format", help="Format of the data; auto finds out.")
]
TargetOption = Annotated[
    str | None, option(DATA, "--target", help="Column of a table, or array of an NPZ file.")
]
WeightsOption = Annotated[
    str | None, option(DATA, "--weights", help="Column or array with a weight for each row.")
]
OffsetOption = Annotated[
    str | None,
    option(DATA, "--offset", help="Column or array with a known part of each row's score."),
]
ExposureOption = Annotated[
    str | None,
    option(DATA, "--exposure", help="Column or array whose logarithm is the offset: for counts."),
]
DropOption = Annotated[
    list[str], option(DATA, "--drop", help="Column to leave out; may be repeated.")
]
CategoricalOption = Annotated[
    list[str],
    option(DATA, "--categorical", help="Column whose numbers are categories; may be repeated."),
]
ScaleOption = Annotated[
    Scale | None,
    option(
        DATA,
        "--scale",
        help="Scaling of the features, kept in the model. Default: standard for tables, "
        "none for svmlight and NPZ.",
        show_default=False,
    ),
]
ScaleTargetOption = Annotated[
    bool,
    option(
        DATA,
        "--scale-target/--no-scale-target",
        help="Whether C and the parameters of the loss are in units of the target's spread.",
    ),
]
MissingOption = Annotated[
    Missing, option(DATA, "--missing", help="What to do with missing values of features.")
]
FirstIndexOption = Annotated[
    int | None,
    option(DATA, "--first-index", min=0, max=1, help="Of svmlight files; 0 if it occurs, else 1."),
]
LossOption = Annotated[
    str | None,
    option(
        MACHINE,
        "--loss",
        "-l",
        help="hinge, logistic, squared, absolute, huber:0.5, epsilon_insensitive:0.1, ... "
        "Default: hinge for labels, squared for numbers.",
        show_default=False,
    ),
]
QuantilesOption = Annotated[
    str | None, option(MACHINE, "--quantiles", help="Fit these quantiles, such as 0.1,0.5,0.9.")
]
KernelOption = Annotated[Kernel, option(MACHINE, "--kernel", "-k", help="The kernel.")]
COption = Annotated[
    float, option(MACHINE, "--C", "-c", help="Weight of the loss, 1 / lambda, as in LIBSVM.")
]
GammaOption = Annotated[
    str, option(MACHINE, "--gamma", "-g", help="Of the kernel: a number, scale or auto.")
]
DegreeOption = Annotated[int, option(MACHINE, "--degree", "-d", min=0, help="Of poly.")]
Coef0Option = Annotated[float, option(MACHINE, "--coef0", "-r", help="Of poly and sigmoid.")]
ClassWeightOption = Annotated[
    str | None, option(MACHINE, "--class-weight", help="balanced, or LABEL=WEIGHT,...")
]
RankOption = Annotated[
    str | None,
    option(
        MACHINE,
        "--rank",
        help="Landmarks of a low-rank fit: a number, auto or exact; default: exact; 1000 "
        "with --dask, or for data that are read by blocks.",
        show_default=False,
    ),
]
MulticlassOption = Annotated[
    Multiclass, option(MACHINE, "--multiclass", help="One-vs-rest, or one-vs-one as in LIBSVM.")
]
InterceptOption = Annotated[
    bool, option(MACHINE, "--intercept/--no-intercept", help="Whether to fit an offset.")
]
CsOption = Annotated[
    str, option(SEARCH, "--Cs", help="How many values of C to try, or the values: 0.1,1,10.")
]
GammasOption = Annotated[
    str, option(SEARCH, "--gammas", help="How many values of gamma to try, or the values.")
]
FoldsOption = Annotated[int, option(SEARCH, "--folds", min=2, help="Folds of cross-validation.")]
ScoringOption = Annotated[
    str | None,
    option(SEARCH, "--scoring", help="A score of scikit-learn, such as accuracy, roc_auc, r2."),
]
ExtendOption = Annotated[
    bool,
    option(
        SEARCH, "--extend", help="Go on beyond the edges of the grids until the best is inside."
    ),
]
ConformalOption = Annotated[
    float | None,
    option(
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
    option(SEARCH, "--one-standard-error", help="Smallest C within a standard error of the best."),
]
DaskOption = Annotated[
    str | None,
    option(
        LIMITS,
        "--dask",
        help="Fit on a Dask cluster: the address of its scheduler, local, or local:4 for four "
        "processes here. The data are then Parquet files that all workers can read, such as "
        "'data/*.parquet'.",
    ),
]
TolOption = Annotated[
    float, option(LIMITS, "--tol", "-e", min=0.0, help="Relative duality gap to reach.")
]
MaxIterOption = Annotated[int | None, option(LIMITS, "--max-iter", min=1, help="Most iterations.")]
TimeLimitOption = Annotated[
    float | None,
    option(LIMITS, "--time-limit", min=0.0, help="Seconds; then the best model so far is kept."),
]
MemoryOption = Annotated[
    str, option(LIMITS, "--memory", "-m", help="For the kernel matrix, such as 2GB.")
]
ThreadsOption = Annotated[
    int | None, option(LIMITS, "--threads", min=1, help="Threads to use; default all cores.")
]
SeedOption = Annotated[int | None, option(LIMITS, "--seed", min=0, help="Seed of random orders.")]
ReportOption = Annotated[
    Path | None, option(TALK, "--report", help="Write a page with pictures (HTML).")
]
ForceOption = Annotated[
    bool,
    option(TALK, "--force", help="Replace files, also an input or one of another kind."),
]
QuietOption = Annotated[bool, option(TALK, "--quiet", "-q", help="Say nothing but errors.")]
JsonOption = Annotated[bool, option(TALK, "--json", help="JSON lines for programs.")]
