"""The tables: which problems, which solvers."""

from dataclasses import asdict, dataclass, replace

from benchmarks.objective import MARGIN_LOSSES

KERNEL_PEERS = (
    "scikit-learn-intelex",
    "scikit-learn-intelex[cache_size=200]",  # its default cache is sometimes the faster one
    "scikit-learn",
    "ThunderSVM",
)


@dataclass(frozen=True)
class Cell:
    """One problem: a row of a table."""

    dataset: str
    n: int | None  # None is all rows
    loss: str
    C: float
    kernel: str = "rbf"
    fit_intercept: bool = True
    dtype: str = "float32"
    memory: int = 2000  # megabytes for rows of the kernel matrix, the same for every solver
    epsilon: float = 0.1

    def objective(self):
        """Arguments of `Objective`."""
        names = "loss", "C", "kernel", "fit_intercept", "epsilon"
        return {name: getattr(self, name) for name in names}

    def key(self):
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())

    def label(self, cells=()):
        """Name of a row; what all the cells of a table share goes without saying."""
        shown = [self.dataset]
        for name in ("kernel", "loss", "n", "C"):
            value = getattr(self, name)
            if len({getattr(cell, name) for cell in cells}) != 1:
                text = "all" if value is None else f"{value:g}" if name in "nC" else value
                shown.append(text if name in ("kernel", "loss") else f"{name} = {text}")
        return ", ".join(shown)


@dataclass(frozen=True)
class Table:
    """Problems and solvers; `compare` are the peers whose objective our time is matched to."""

    title: str
    cells: tuple
    peers: tuple = ()
    compare: tuple = ("scikit-learn-intelex", "scikit-learn-intelex[cache_size=200]")
    ours: tuple = ("resolvent",)
    curves: bool = False  # peers at several tolerances, and a picture
    kind: str = "ratios"  # how it is reported

    def capped(self, n):
        """Make the same table at no more than n rows."""
        small = tuple(replace(cell, n=min(cell.n or n, n)) for cell in self.cells)
        return replace(self, cells=tuple(dict.fromkeys(small)))


def cells(datasets, n, losses, Cs, **settings):
    return tuple(
        Cell(dataset, n, loss, C, **settings) for dataset in datasets for loss in losses for C in Cs
    )


CHOICES = "auto", "coordinate_descent", "fixed_point", "newton"
LINEAR = {"kernel": "linear", "fit_intercept": False}
SVM = cells(("ijcnn1", "covtype", "a9a", "mnist_halves"), 20000, ("hinge",), (1.0, 32.0))
SVR = cells(("cal_housing", "kin40k", "casp"), 15000, ("epsilon_insensitive",), (1.0, 10.0))
RIDGE = cells(("kin40k",), 15000, ("squared",), (1.0, 10.0), fit_intercept=False, dtype="float64")

TABLES = {
    "svm": Table("RBF support vector machines", SVM, KERNEL_PEERS, curves=True),
    "svr": Table("RBF support vector regression", SVR, KERNEL_PEERS, curves=True),
    "multiclass": Table(
        "RBF support vector machines, one against one",
        cells(("letter",), 15000, ("hinge",), (10.0,))
        + cells(("mnist",), 20000, ("hinge",), (10.0,)),
        KERNEL_PEERS,
        compare=("scikit-learn", *KERNEL_PEERS[:2]),
    ),
    "ridge": Table("Kernel ridge", RIDGE, ("scikit-learn",), compare=("scikit-learn",)),
    "linear": Table(
        "Linear classifiers without offset, C = 1",
        cells(("a9a", "w8a", "imdb", "news20"), None, MARGIN_LOSSES, (1.0,), **LINEAR)
        + cells(("covtype",), 500_000, MARGIN_LOSSES, (1.0,), **LINEAR),
        ("LIBLINEAR", "scikit-learn"),
        compare=("LIBLINEAR", "scikit-learn"),
        curves=True,
    ),
    "growth": Table(
        "Growth of the time to fit",
        tuple(
            Cell("covtype", n, "hinge", 1.0, memory=8000)
            for n in (2500, 5000, 10_000, 20_000, 40_000)
        ),
        ("scikit-learn-intelex", "scikit-learn"),
        compare=("scikit-learn-intelex",),
        kind="growth",
    ),
    "large": Table(
        "100,000 rows within 4 GB",
        cells(("covtype",), 100_000, ("hinge",), (1.0,), memory=4000),
        ("scikit-learn-intelex", "scikit-learn"),
        compare=("scikit-learn-intelex",),
    ),
    "losses": Table(
        "One loss beside another",
        cells(
            ("kin40k", "cal_housing"),
            15000,
            (*MARGIN_LOSSES, "epsilon_insensitive", "absolute", "pinball", "huber", "squared"),
            (1.0,),
        ),
        kind="losses",
    ),
    "solvers": Table(
        "The choice of solver=auto",
        tuple(replace(cell, n=10_000) for cell in SVM + SVR)
        + cells(("a9a", "w8a"), None, MARGIN_LOSSES, (1.0,), **LINEAR),
        ours=tuple(f"resolvent[solver={s}]" for s in CHOICES),
        kind="solvers",
    ),
}
SLOW = ("large", "scale", "certificate", "dask", "limit")  # by name only
