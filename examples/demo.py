"""
The paper's five methods, by both algorithms
============================================

One problem, ``C sum_i L(y_i, f(x_i) + b) + |f|^2 / 2``, with five losses: two support vector
machines, regularized least squares (RLS), regularized least absolute deviations (RLA) and support
vector regression. Both algorithms of the library solve each of them, with a certificate: *rel. gap*
bounds how far the objective can be above its minimum. scikit-learn solves the same problems with
other programs; one plain function evaluates all the objectives.
"""

import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR

from resolvent import solve
from resolvent.kernels import RBF
from resolvent.losses import Absolute, EpsilonInsensitive, Hinge, Squared, SquaredHinge

C = 1.0
TOL = 1e-8  # relative duality gap, for the library's own solvers
PEER_TOL = 1e-8  # LIBSVM's bound on the violation of the optimality conditions
EPSILON = 0.1
OUTPUT = Path("demo-output") / "gap.png"


class Method(NamedTuple):
    name: str
    loss: tuple
    data: str
    offset: bool
    plain_loss: object  # the same loss, of arrays
    peer: object  # (K, y) -> name, coefficients and offset of an independent solver


def data_sets():
    """Kernel matrix and targets of each data set, and a line about it."""
    X, labels = load_breast_cancer(return_X_y=True)
    X = scale(X)
    tumours = RBF(gamma=1 / X.shape[1])(X), np.where(labels == 1, 1.0, -1.0)
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    diabetes = RBF(gamma=1 / X.shape[1])(X), y
    return {"breast_cancer": tumours, "diabetes": diabetes}


def expand(model, n):
    """Coefficients for all samples, and the offset, of an SVC or SVR."""
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    return coef, model.intercept_[0]


def peer_svc(K, y):
    model = SVC(C=C, kernel="precomputed", tol=PEER_TOL).fit(K, y)
    return "SVC", *expand(model, len(y))


def peer_svc_shifted(K, y):
    # C (1 - m)+^2 has the dual of a hard-margin machine whose kernel is K + I / (2 C).
    shifted = K + np.eye(len(y)) / (2 * C)
    model = SVC(C=1e6, kernel="precomputed", tol=PEER_TOL).fit(shifted, y)
    return "SVC on K + I/2C", *expand(model, len(y))


def peer_ridge(K, y):
    model = KernelRidge(alpha=1 / C, kernel="precomputed").fit(K, y)
    return "KernelRidge", model.dual_coef_, 0.0


def peer_svr(epsilon):
    def peer(K, y):
        model = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=PEER_TOL).fit(K, y)
        return f"SVR, epsilon={epsilon:g}", *expand(model, len(y))

    return peer


def hinge(y, z):
    return np.maximum(1 - y * z, 0)


def tube(epsilon):
    return lambda y, z: np.maximum(np.abs(y - z) - epsilon, 0)


METHODS = [
    Method("L1-SVM", Hinge(), "breast_cancer", True, hinge, peer_svc),
    Method(
        "L2-SVM",
        SquaredHinge(),
        "breast_cancer",
        True,
        lambda y, z: hinge(y, z) ** 2,
        peer_svc_shifted,
    ),
    Method("RLS", Squared(), "diabetes", False, lambda y, z: (y - z) ** 2 / 2, peer_ridge),
    Method("RLA", Absolute(), "diabetes", True, tube(0.0), peer_svr(0.0)),
    Method("SVR", EpsilonInsensitive(EPSILON), "diabetes", True, tube(EPSILON), peer_svr(EPSILON)),
]
ALGORITHMS = {"coordinate descent": "coordinate_descent", "fixed point": "fixed_point"}


def objective(method, K, y, coef, intercept):
    """The one function that all solutions are evaluated by: plain NumPy, no solver's own word."""
    z = K @ coef
    return C * method.plain_loss(y, z + intercept).sum() + coef @ z / 2


def run(method, K, y, algorithm, **options):
    settings = {"C": C, "fit_intercept": method.offset, "tol": TOL, **options}
    return solve(method.loss, K, y, solver=ALGORITHMS[algorithm], **settings)


def warm_up(data):
    """Solve a few rows with everything, so that all is compiled; return the seconds it took."""
    began = time.perf_counter()
    few = np.r_[:15, -15:0]
    for method in METHODS:
        K, y = data[method.data]
        for algorithm in ALGORITHMS:
            run(method, np.ascontiguousarray(K[np.ix_(few, few)]), y[few], algorithm)
    return time.perf_counter() - began


def timed(function, *args, **kwargs):
    began = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - began


def shown(gap):
    """A relative gap as text; below the rounding of the objective there is nothing to tell."""
    return f"{gap:.0e}" if gap > np.finfo(float).eps else "< 2e-16"


def print_table(data):
    """Print a line for each method and solver; return the solutions."""
    line = "{:<7} {:<32} {:>15} {:>9} {:>11} {:>8}"
    heads = "method", "solver", "objective", "rel. gap", "iterations", "seconds"
    print(line.format(*heads))
    solutions = {}
    for method in METHODS:
        K, y = data[method.data]
        print("-" * 87)
        bound = -np.inf  # on the minimum
        for algorithm in ALGORITHMS:
            found, seconds = timed(run, method, K, y, algorithm)
            solutions[method.name, algorithm] = found
            bound = max(bound, found.dual)
            value = objective(method, K, y, found.coef, found.intercept)
            gap = shown(found.gap / found.primal)
            row = f"{value:.7f}", gap, found.n_iter, f"{seconds:.3f}"
            print(line.format(method.name, algorithm, *row))
        (name, coef, intercept), seconds = timed(method.peer, K, y)
        value = objective(method, K, y, coef, intercept)
        # The bound that was certified above holds for every solver's objective.
        gap = shown((value - bound) / value)
        name = f"scikit-learn: {name}"
        print(line.format(method.name, name, f"{value:.7f}", gap, "", f"{seconds:.3f}"))
        assert value > bound * (1 - 1e-9), "a certified bound is above an objective"
    return solutions


def draw(data, solutions):
    """Draw the fall of the gap of all methods, and save it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from resolvent.plotting import GapDisplay

    figure, axes = plt.subplots(
        2, 3, figsize=(11, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    colours = {"coordinate descent": "tab:blue", "fixed point": "tab:orange"}
    for ax, method in zip(axes.flat, METHODS, strict=False):
        K, y = data[method.data]
        for algorithm, colour in colours.items():
            with warnings.catch_warnings():  # that 1000 steps of the paper's do not always suffice
                warnings.simplefilter("ignore", ConvergenceWarning)
                plain = run(method, K, y, algorithm, accelerate=False, max_iter=1000)
            GapDisplay.from_solution(
                plain, against="iterations", ax=ax, color=colour, marker="", ls="--", lw=1.2
            )
            GapDisplay.from_solution(
                solutions[method.name, algorithm],
                against="iterations",
                ax=ax,
                color=colour,
                marker="o",
                ms=3.5,
                lw=1.8,
            )
        ax.axhline(TOL, color="0.6", lw=0.8, zorder=0)
        ax.set_title(f"{method.name}: {type(method.loss).__name__}, {method.data}", fontsize=10)
        ax.set_xscale("log")
        ax.grid(alpha=0.25)
        ax.label_outer()
    axes[0, 2].tick_params(labelbottom=True)
    axes[0, 2].set_xlabel("Iterations")
    axes[0, 0].set_ylim(1e-16, 5)
    legend = axes[1, 2]
    legend.axis("off")
    for algorithm, colour in colours.items():
        legend.plot([], [], color=colour, marker="o", ms=3.5, lw=1.8, label=algorithm)
        legend.plot([], [], color=colour, ls="--", lw=1.2, label="the same, as the paper has it")
    legend.plot([], [], color="0.6", lw=0.8, label=f"tolerance asked for: {TOL:g}")
    legend.legend(loc="center", frameon=False, fontsize=10, labelspacing=0.8)
    figure.suptitle(
        "The certificate on the way: relative duality gap against iterations", fontsize=12
    )
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUTPUT, dpi=130)
    plt.close(figure)


def main():
    data = data_sets()
    for name, (K, _) in data.items():
        print(f"{name}: {len(K)} rows of scikit-learn's data, RBF kernel, C = {C:g}")
    print(f"\nCompiling, or loading what was compiled before: {warm_up(data):.1f} s\n")
    solutions = print_table(data)
    print(
        "\nThe objective of every solver is computed by one function, and rel. gap is its distance"
        "\nfrom the certified lower bound on the minimum, divided by it. scikit-learn has no gap of"
        "\nits own: that bound certifies its answers too. RLS is without offset, as KernelRidge;"
        "\nthe others have one."
    )
    draw(data, solutions)
    print(f"\nPicture of the gap falling: {OUTPUT}")


if __name__ == "__main__":
    main()
