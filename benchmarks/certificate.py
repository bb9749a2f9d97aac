"""The certified gap of low-rank fits beside their true excess over the exact machine's optimum.

    python -m benchmarks certificate

Both are relative to the objective. The excess is taken from the exact solver's lower bound, whose
own gap is at most `EXACT`: it may be that much too large, which is to the certificate's favour.
"""

from benchmarks import datasets, report
from resolvent import certify_original, gram, solve
from resolvent.losses import EpsilonInsensitive

RANKS = 500, 1000, 2000, 4000
TOL, EXACT = 1e-4, 1e-5  # relative, of the low-rank problem and of the exact one
SVR = EpsilonInsensitive(0.1)
CELLS = {
    "cal_housing, SVR, C = 1": ("cal_housing", 15_000, SVR, 1.0),
    "covtype, hinge, C = 1": ("covtype", 20_000, "hinge", 1.0),
    "covtype, hinge, C = 32": ("covtype", 20_000, "hinge", 32.0),
    "ijcnn1, logistic, C = 32": ("ijcnn1", 20_000, "logistic", 32.0),
    "kin40k, SVR, C = 10": ("kin40k", 15_000, SVR, 10.0),
}
HEAD = [
    "problem",
    "rows",
    "rank asked for",
    "true excess",
    "certified gap",
    "ratio",
    "of the solver",
]
WORDS = (
    "Low-rank fits with offset, RBF kernel of gamma = 1 / (d var X), all relative to the "
    "objective: how far the model is above the optimum of the exact machine, what its certificate "
    "says, and how much of that is left by the solver."
)


def rows_of(cell, most=None):
    """One line for each rank."""
    name, n, loss, C = CELLS[cell]
    data = datasets.get(name, min(n, most or n))
    X, y = data["X"], data["y"]
    exact = solve(loss, gram(X, "rbf"), y, C, fit_intercept=True, tol=EXACT)
    for rank in RANKS:
        if rank > len(X) // 2:
            return
        K = gram(X, "rbf", rank=rank, memory_limit="8GB")
        solution = solve(loss, K, y, C, fit_intercept=True, tol=TOL)
        bounds = certify_original(loss, K, y, solution, C, fit_intercept=True, certificate="exact")
        primal = bounds.primal[0]
        excess, gap = (primal - exact.dual) / primal, bounds.gap[0] / primal
        yield [cell, str(len(X)), str(rank), f"{excess:.1e}", f"{gap:.1e}",
               f"{gap / excess:.2f}", f"{bounds.optimization[0] / primal:.0e}"]  # fmt: skip


def write(path, rows=None):
    """Measure every cell; the page is written anew after each line."""
    table = []
    for cell in CELLS:
        try:
            for line in rows_of(cell, rows):
                table.append(line)
                print(" ".join(line), flush=True)
                report.write_page(path, "Certified and true gap", WORDS, HEAD, table)
        except datasets.UnavailableError as reason:
            print(f"skipped: {reason}")
