"""Descriptions of parameters and attributes, each written once, and how a docstring gets them.

A class describes what is its own. `described` adds the other parameters of its signature, in that
order and with their defaults, and the text of attributes that are only named. What a family of
estimators does not describe is as in `MODELS`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

__all__ = ["CLUSTER", "DROP_INS", "MODELS", "SEARCHES", "described"]

Class = TypeVar("Class", bound=type)

MODELS = """
Parameters
----------
kernel : str, Kernel or callable
    "rbf", "laplacian", "matern", "poly", "cosine", "linear", "sigmoid", "chi2", "tanimoto",
    "precomputed", a kernel of :mod:`resolvent.kernels`, also one of columns of a data frame by
    name, or a function ``(A, B) -> matrix`` of any objects.
C : float
    Weight of the loss against the penalty, 1 / lambda.
degree : int
    Degree of the polynomial kernel.
coef0 : float
    Independent term of the polynomial kernel.
fit_intercept : bool
    Whether to add an intercept, which is not penalised.
class_weight : dict, "balanced" or None
    Factors of C for the classes.
solver : {"auto", "coordinate_descent", "fixed_point", "newton"}
    The algorithm.
tol : float
    Relative duality gap to reach; 0 is the limit of rounding.
max_iter : int or None
    Largest number of iterations; None is the solver's default.
time_limit : float or None
    Seconds after which the best model so far is kept.
memory_limit : int or str
    Bytes, or a string like "2GB", for rows of the kernel matrix, or features; "auto" is a
    quarter of what is free.
rank : int, "auto" or None
    Number of landmarks of a low-rank fit: the function is sought among those that they span,
    and `dual_gap_` says how far it is from the optimum over all functions. "auto" takes as many
    as `tol` of that gap needs, or all samples, by the exact solver, where that is estimated to
    cost less. None fits exactly.
landmarks : {"rpcholesky", "uniform"}, indices or rows
    How landmarks are chosen (see :func:`resolvent.gram`), or themselves; then `rank` is their
    number.
certificate : {"auto", "exact", "sampled", "subspace"}
    How `dual_gap_` of a low-rank fit is found: from all pairs of support vectors, from a
    sample of them (then it holds with probability 0.999), or "subspace": not at all, and
    `dual_gap_` is that of the low-rank problem. "auto" samples where all pairs would take
    several times as long as the features.
warm_start : bool
    Whether to start from the last solution, also after a time limit or Ctrl-C.
random_state : int, RandomState or None
    Seed of the order of updates; None is a fixed seed.
verbose : int
    Whether to report progress through the logger "resolvent".
normalize_y : bool
    Whether C and the parameters of the loss are in units of the target's spread, so that a
    model of ``a y + b`` is that of y times a plus b; False is in those of the data.

Attributes
----------
classes_ : ndarray of shape (n_classes,)
    The labels.
kernel_ : Kernel or None
    The kernel with its parameters; None if precomputed.
status_ : Status
    Why the solver stopped; the worst of several problems.
solver_ : str
    The algorithm that was used, see :class:`resolvent.Solution`.
history_ : list of Record
    Course of the fit.
fit_time_ : float
    Seconds.
rank_ : int or None
    Landmarks that the model is of; None of an exact fit, also where rank="auto" ended in one.
landmarks_ : ndarray of shape (rank_,) or None
    Their indices, -1 of those given as rows. They are the model: `support_` is the same, and
    `dual_coef_` are their coefficients.
optimization_gap_, approximation_gap_ : float or ndarray
    The parts of `dual_gap_`: that of the low-rank problem, and what the rank may cost, NaN
    where it was not computed. Each score, offset aside, is within ``sqrt(2 dual_gap_ k(x, x))``
    of that of the exact machine.
certificate_ : str
    How the gap was found: "exact", "sampled", "subspace", or "incomplete" where a time limit or
    Ctrl-C ended it.
target_unit_ : float or ndarray of shape (n_targets,)
    The unit that C and the parameters of the loss were taken in, 1 if that of the data.
"""

SEARCHES = """
Parameters
----------
Cs : int or array-like
    Values of C; a number is so many of them from 0.01 to 1000.
gammas : int or array-like
    Values of gamma, for the kernels that are given by name and have it; a number is so many of
    them around the inverse of the median squared distance. Or a list of kernels, in the place
    of `kernel`, or with ``kernel="precomputed"`` a list of kernel matrices of all samples,
    where `fit` gets any one of them as X; what is chosen is then "kernel", or "matrix", its
    number in the list.
class_weight : dict, "balanced" or None
    Factors of C for the classes; "balanced" is by the samples of each fold.
rule : {"best", "one_standard_error"}
    The pair with the best mean score, or the one with the smallest C whose mean is within one
    standard error of it.
extend : bool
    Whether to go on beyond the grid where the best C or gamma is its smallest or largest, until
    it is not, or scores gain less than 1e-4 of themselves; by up to 30 values for each.
refit : bool
    Whether to fit the chosen pair on all samples.
weighted_scores : bool
    Whether `sample_weight` counts in the scores too, where the scorer takes weights.
search_tol : float or None
    Gap of the problems of the search, relative to the objective, or to the loss of the samples
    held out if that is more; pairs that are nearly the best are solved again to a tenth of it.
    None is `tol`, each problem certified from scratch.
n_jobs : int or None
    Number of threads that work on folds at a time; None and -1 are all that BLAS would use.
tol : float
    Relative duality gap of the last fit.
max_iter : int or None
    Largest number of iterations of each problem; None is the solver's default.
time_limit : float or None
    Seconds for everything; the best of what was reached is fitted.
memory_limit : int or str
    Bytes, or a string like "2GB", for kernel matrices; "auto" is a quarter of what is free.
rank : int, "auto" or None
    Number of landmarks of low-rank fits, in the search and after it: for each gamma the kernel
    is computed between all samples and landmarks once, and each fold uses those that it learns
    from. "auto" searches with 512 of them and fits the winner to `tol`; None is exact.
landmarks : {"rpcholesky", "uniform"}, indices or rows
    Landmarks of the last fit, see :func:`resolvent.gram`; the folds of the search choose theirs
    at random. Those that are given are the search's too, but for indices of samples that a fold
    holds out.
certificate : {"auto", "exact", "sampled", "subspace"}
    How `dual_gap_` of the last fit, of the exact problem, is found, as in
    :class:`resolvent.KernelClassifier`.
random_state : int, RandomState or None
    Seed of what is drawn at random: order of updates, landmarks. None is a fixed seed.

Attributes
----------
best_params_ : dict
    The chosen C and gamma.
best_score_ : float
    Its mean score on held-out samples.
best_index_ : int
    Its index in `cv_results_`.
cv_results_ : dict
    As GridSearchCV's: parameters, the score of each fold, their mean, standard deviation and
    rank; and "max_relative_gap", the largest duality gap among the folds.
edges_ : dict
    Which of `best_params_` are the "smallest" or "largest" of their grid; a warning says so.
n_splits_ : int
    Number of folds.
dual_gap_, n_iter_, solver_
    Those of `best_estimator_`.
rank_, landmarks_, certificate_, optimization_gap_, approximation_gap_
    Those of `best_estimator_`.
search_status_ : Status
    CONVERGED, or why the search ended early: CALLBACK, TIME_LIMIT or INTERRUPTED.
status_ : Status
    The worse of `search_status_` and the status of `best_estimator_`.
search_time_ : float
    Seconds that the search took.
"""

DROP_INS = """
Parameters
----------
C : float
    Weight of the loss.
kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, Kernel or callable
    The kernel; further names as in :class:`resolvent.KernelRegressor`.
gamma : {"scale", "auto"} or float
    Kernel coefficient.
coef0 : float
    Independent term of "poly" and "sigmoid".
shrinking : bool
    Accepted for compatibility; it does not change the solution.
tol : float
    Largest violation of the optimality conditions, as in LIBSVM; the relative duality gap is
    at most `tol`, and 1e-5, as well.
cache_size : float or None
    Memory for rows of the kernel matrix, in megabytes; None and scikit-learn's default of 200
    are a quarter of what is free.
verbose : bool
    Whether to report progress through the logger "resolvent".
max_iter : int
    Largest number of iterations, see :func:`resolvent.solve`; -1 is the solver's default.
decision_function_shape : {"ovr", "ovo"}
    One value for each class, or for each pair.
break_ties : bool
    Whether ties among the votes are decided by the decision function; needs "ovr".
random_state : int, RandomState, Generator or None
    Seed of the folds for `probability`; None is a fixed seed.
epsilon : float
    Residuals up to this size cost nothing.
dual : bool or "auto"
    Accepted for compatibility; it does not change the solution.
fit_intercept : bool
    Whether to fit an offset.
intercept_scaling : float
    Value of the constant feature.

Attributes
----------
support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
    The support vectors.
intercept_ : ndarray of shape (1,)
    Intercept.
fit_status_ : int
    0 if the tolerance was reached.
dual_gap_, objective_, status_, solver_, n_iter_, history_, fit_time_
    As in :class:`resolvent.KernelRegressor`.
support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_
    As in :class:`resolvent.svm.SVR`.
"""

CLUSTER = """
Parameters
----------
loss : str or loss
    "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", or an instance of
    a loss of one score; exact machines (``rank=None``) take "multinomial" and all others too.
kernel : str, Kernel or callable
    "rbf", "laplacian", "matern", "poly", "cosine", "linear", "sigmoid", "chi2", "tanimoto", a
    kernel of :mod:`resolvent.kernels`, or a function ``(A, B) -> matrix``.
gamma : {"scale", "auto"} or float
    Kernel coefficient; "scale" is found from all rows.
fit_intercept : bool
    Whether to add an unpenalised offset.
tol : float
    Relative duality gap to reach.
max_iter : int or None
    Largest number of passes over the blocks, or of iterations of an exact machine; None is the
    solver's default.
time_limit : float or None
    Seconds after which the best model so far is kept; landmarks and features are computed in
    any case.
rank : int or None
    Number of landmarks. None fits exactly, by products with the kernel matrix, whose tiles the
    workers hold.
landmarks : {"rpcholesky", "uniform"} or rows
    How landmarks are chosen, from a sample of rows that comes to the client, or themselves.
certificate : {"auto", "exact", "subspace"}
    How `dual_gap_` is found: from all pairs of support vectors ("auto" and "exact"), or
    "subspace": not at all, and `dual_gap_` is that of the low-rank problem.
warm_start : bool
    Whether to start where the last fit ended, be it by an error of the cluster.
random_state : int, RandomState or None
    Seed of the choice of landmarks; None is a fixed seed.
timeout : float
    Seconds without a worker, or without any progress of the cluster, after which `fit` gives
    up.
client : distributed.Client, optional
    The client; if not given Dask's current one.
normalize_y : bool
    Whether C and the parameters of the loss are in units of the target's spread; False is in
    those of the data.

Attributes
----------
fit_report_ : dict of str to Stage
    Tasks, seconds and bytes by stage.
"""


class Entry(NamedTuple):
    """Type and lines of text; of what is only named there is neither."""

    kind: str
    text: tuple[str, ...]


def described(family: str) -> Callable[[Class], Class]:
    """Complete the docstring of a class by the descriptions of its family."""
    shared = [_sections(text) for text in (family, MODELS)]

    def find(section: str, name: str, own: Entry | None) -> Entry:
        if own is not None and own.text:
            return own
        for found in shared:
            if name in found.get(section, {}):
                return found[section][name]
        raise LookupError(f"{name} has no description")

    def complete(cls: Class) -> Class:
        if cls.__doc__ is None:  # python -OO
            return cls
        doc = inspect.cleandoc(cls.__doc__)
        own = _sections(doc)
        given = own.get("Parameters", {})
        signature = list(inspect.signature(cls).parameters.values())
        lines = ["Parameters", "----------"]
        for p in signature:
            kind, text = find("Parameters", p.name, given.get(p.name))
            optional = kind.endswith("optional")
            lines += [f"{p.name} : {kind}{'' if optional else _default(p.default)}", *text]
        if "Attributes" in own:
            lines += ["", "Attributes", "----------"]
        for names, entry in own.get("Attributes", {}).items():
            kind, text = find("Attributes", names, entry)
            lines += [f"{names} : {kind}" if kind else names, *text]
        summary, *others = _HEADING.split(doc)
        rest = "".join(
            f"\n\n{name}\n{'-' * len(name)}\n{body.strip()}"
            for name, body in zip(others[::2], others[1::2], strict=True)
            if name not in ("Parameters", "Attributes")
        )
        cls.__doc__ = f"{summary.strip()}\n\n{chr(10).join(lines)}{rest}\n"
        return cls

    return complete


_HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^:\n]*?)(?: : (.*))?\n((?:(?: .*)?\n)*)", re.MULTILINE)


def _sections(doc: str) -> dict[str, dict[str, Entry]]:
    """Entries of each section of a docstring of numpydoc."""
    _, *parts = _HEADING.split(doc)
    return {
        section: {
            names: Entry(kind, tuple(text.rstrip().split("\n")) if text.strip() else ())
            for names, kind, text in _ENTRY.findall(body.strip() + "\n")
        }
        for section, body in zip(parts[::2], parts[1::2], strict=True)
    }


def _default(value: object) -> str:
    """Say what the default is; numbers as one would write them."""
    shown = f'"{value}"' if isinstance(value, str) else repr(value).replace("e-0", "e-")
    return f", default={shown}"
