"""What must hold of every fit, whatever the case."""

from __future__ import annotations

import re
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import nu, oracles
from .build import Data, fit, make_data
from .draw import (
    CLASSES,
    FUNCTIONS,
    LINKED,
    NU,
    QUANTILES,
    Case,
    has_labels,
    is_linear,
    is_search,
)
from .evaluate import EPS, LONG, Point, objective
from .models import Fitted, describe

SLOW = 25.0  # seconds of the processor for one fit of some hundred samples, compiled before

# The only reasons for which a case may be refused, as sentences say them.
REFUSALS = (
    "C times sample_weight overflows; scale them down",
    "C times sample_weight is .* underflows; scale them up",
    "The objective overflows, where C times sample_weight is",
    r"All weights \(C times sample_weight\) are zero",
    "With fit_intercept=True this problem has no solution",
    "there is only one class",
    r"n_splits=\d+ cannot be greater than",  # scikit-learn's
    "Cannot have number of splits",  # scikit-learn's
    "gamma='scale' is ",
    "The scores are not numbers: scoring is not defined on these folds",
    "kernel.*(infinit|overflow|finite)",
    "the diagonal of a positive semidefinite matrix is not negative",
    r"cv=\d+: fold \d+ has no sample of positive weight to be scored on",
    r"Fold \d+ of cv learns from samples of one class only",
    "needs solver|is for losses of one score",
    "specified nu is infeasible",
    "nu is too small for these data",
    r"rank=.* landmarks",
)


class Failure(NamedTuple):
    """A property that does not hold, and the figures that show it."""

    property: str
    message: str


def check(case: Case) -> list[Failure]:
    """Fit the model of a case and look at everything that it promises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = make_data(case)
    try:
        model, seen = timed_fit(case, data)
    except SlowError as slow:
        return [Failure("speed", str(slow))]
    except Exception as error:
        found = judge(error)
        return [] if found is None else [found]
    failures = [*of_warnings(seen), *of_numbers(case, data, model)]
    if failures:
        return failures
    try:
        if case["estimator"] in NU:
            return [Failure(*found) for found in nu.of_machine(case, data, model)]
        fitted = describe(case, data, model)
        return [
            *of_status(case, data, fitted),
            *of_certificate(case, data, fitted),
            *of_others(case, data, model, fitted),
        ]
    except Exception as error:
        return [Failure("campaign", "".join(traceback.format_exception(error)[-4:]))]


class SlowError(Exception):
    """A fit took longer than any of its size may."""


def timed_fit(case: Case, data: Data) -> tuple[Any, list[Any]]:
    """Fit, again if it took long, since the first time may have compiled."""
    for _ in range(2):
        began = time.process_time()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model = fit(case, data)
        seconds = time.process_time() - began
        if seconds < SLOW:
            return model, seen
    raise SlowError(f"{seconds:.0f} s of the processor for {case['n']} samples")


def judge(error: Exception) -> Failure | None:
    """Accept a refusal in a sentence that names a reason of the case, and nothing else."""
    frames = traceback.extract_tb(error.__traceback__)
    where = frames[-1].filename if frames else ""
    ours = "resolvent" in where or "sklearn" in where
    known = any(re.search(pattern, str(error)) for pattern in REFUSALS)
    if type(error) in (ValueError, TypeError) and ours and known:
        return None
    return Failure("exception", "".join(traceback.format_exception(error)[-3:]))


# What a fit may say beside: scikit-learn of folds, and we of a model that is of little use.
REMARKS = (
    "The least populated class in y has only",
    "Predictions are nearly constant",
    "Each row is similar to itself only",
    r"The best \w+=.* is the \w+ of its grid",
)


def of_warnings(seen: list[Any]) -> Iterator[Failure]:
    """Only the warning of a fit that stopped early is one of ours, and remarks on the model."""
    for warning in seen:
        remark = any(re.match(pattern, str(warning.message)) for pattern in REMARKS)
        if not remark and not issubclass(warning.category, ConvergenceWarning):
            where = f"{warning.filename}:{warning.lineno}"
            yield Failure("warning", f"{warning.category.__name__}: {warning.message} ({where})")
            return


def of_numbers(case: Case, data: Data, model: Any) -> Iterator[Failure]:
    """No NaN in what a fit leaves, and none in predictions."""
    values = dict(vars(model))
    if case["estimator"] in FUNCTIONS:
        values.pop("history")
    else:
        values = {name: x for name, x in values.items() if name.endswith("_") and name[0] != "_"}
        known = {} if data.offset is None else {"offset": data.offset}
        values["predictions"] = model.predict(data.given, **known)
        if hasattr(model, "decision_function"):
            values["decisions"] = model.decision_function(data.given, **known)
        if hasattr(model, "predict_proba"):
            values["probabilities"] = model.predict_proba(data.given, **known)
        if case["conformal"]:
            yield from of_intervals(case, data, model, known)
        if is_search(case):
            values["scores"] = model.cv_results_["mean_test_score"]
    unbounded = {
        "dual",
        "gap",
        "dual_gap_",
        "optimization_gap_",
    }  # for a matrix that is not positive semidefinite
    if case["certificate"] == "subspace":  # asks for none
        values.pop("approximation_gap_", None)
    for name, x in values.items():
        if not isinstance(x, float | np.ndarray) or np.asarray(x).dtype.kind != "f":
            continue
        if np.isnan(x).any() or (name not in unbounded and not np.isfinite(x).all()):
            yield Failure("numbers", f"{name} = {x!r} has NaN or infinity"[:300])


def of_intervals(case: Case, data: Data, model: Any, known: dict[str, Any]) -> Iterator[Failure]:
    """Intervals and sets of labels hold the prediction, at any coverage, and grow with it."""
    predicted = model.predict(data.given, **known)
    if has_labels(case):
        few, many = (model.predict_set(data.given, p, **known) for p in (0.5, 0.9))
        own = predicted[:, None] == model.classes_
        if not (few[own].all() and (many | ~few).all()):
            yield Failure("intervals", "a set does not hold the prediction, or a smaller set")
        return
    few, many = (model.predict_interval(data.given, p, **known) for p in (0.5, 0.9))
    inside = np.ones(1, bool)
    if case["estimator"] not in QUANTILES:
        inside = (few[:, 0] <= predicted) & (predicted <= few[:, 1])
    grow = (many[:, 0] <= few[:, 0]) & (few[:, 0] <= few[:, 1]) & (few[:, 1] <= many[:, 1])
    if not (grow.all() and inside.all()):
        yield Failure("intervals", "an interval does not hold the prediction, or a smaller one")


def is_psd(fitted: Fitted) -> bool:
    """Whether the kernel matrix is positive semidefinite up to rounding."""
    return fitted.entries is None or fitted.entries.is_psd()


def has_negative(fitted: Fitted) -> bool:
    """Whether the kernel matrix, by its formula, has a negative eigenvalue beyond rounding."""
    if fitted.entries is None:
        return False
    values = np.linalg.eigvalsh(fitted.entries.K.astype(float))
    return bool(values[0] < -4 * EPS * len(values) * np.abs(values).max())


def empty_objective(fitted: Fitted) -> np.ndarray:
    """Objective of scores that are all zero."""
    zero = np.zeros_like(fitted.point.scores)
    none = np.zeros_like(fitted.point.squares)
    return objective(fitted.task, Point(zero, none, zero, none)).primal


def is_well_scaled(case: Case, data: Data, fitted: Fitted) -> bool:
    """Whether C k_ii leaves some digits, if samples stay where they are.

    Coefficients have the size of C and scores that of 1: z = Kc is lost where the first times k_ii
    is 1 / EPS. So it is with a linear model, where k_ii = |x|^2 and its weights are w = X'c. With
    an offset that is not penalised its samples are centred, and scaled.
    """
    penalised = case["estimator"] in ("LinearSVC", "LinearSVR")
    largest = float(fitted.task.weights.max())
    if fitted.entries is not None:
        return bool(largest * float(np.diag(fitted.entries.K).max()) <= 1 / EPS)
    if case["intercept"] and not penalised:
        return True
    return largest * float((data.X**2).sum(axis=1).max()) <= 1e-2 / EPS


def of_status(case: Case, data: Data, fitted: Fitted) -> Iterator[Failure]:
    """A status says what was reached, and solvers left to choose reach the tolerance."""
    status, tol = fitted.status, case["tol"]
    if status == "NOT_PSD":
        if not has_negative(fitted):
            yield Failure("status", "NOT_PSD of a matrix that is positive semidefinite")
        return
    scale = np.maximum(np.abs(fitted.claimed), np.abs(fitted.claimed - fitted.gap))
    nothing = 4 * EPS * empty_objective(fitted) + 1e-199 * fitted.task.weights.sum()
    done = (fitted.gap <= tol * scale * (1 + 1e-9)) | (fitted.claimed <= nothing)
    if status == "CONVERGED" and not done.all():
        yield Failure("status", f"CONVERGED with gaps {fitted.gap} at objectives {fitted.claimed}")
    value = objective(fitted.task, fitted.point)
    weights = fitted.task.weights[fitted.task.weights > 0]
    # Otherwise some are rounding of others, or squares of coefficients overflow.
    comparable = weights.max() * EPS <= weights.min() and weights.max() <= 1e100
    left = case["solver"] == "auto" and case["rule"] == "permuted" and case["rank"] is None
    reached = done | (fitted.gap <= 16 * value.slack)
    if not left:  # plain steps may be too small to move anything before that
        reached |= fitted.gap <= 1e-6 * scale
    if status == "PRECISION_LIMIT" and comparable and not reached.all():
        yield Failure(
            "precision",
            f"PRECISION_LIMIT with gaps {fitted.gap} at objectives {fitted.claimed}, "
            f"where rounding is {value.slack.astype(float)}",
        )
    possible = comparable and is_psd(fitted) and is_well_scaled(case, data, fitted)
    if left and possible and status not in ("CONVERGED", "PRECISION_LIMIT"):
        yield Failure("convergence", f"{status} with gaps {fitted.gap} at {fitted.claimed}")


def of_certificate(case: Case, data: Data, fitted: Fitted) -> Iterator[Failure]:
    """The objective claimed is the model's own; no other model is better by more than the gap."""
    own = objective(fitted.task, fitted.point)
    off = np.abs(own.primal - fitted.claimed)
    if not (off <= own.slack).all():
        yield Failure(
            "objective",
            f"claimed {fitted.claimed}, own {own.primal}, off by {off.astype(float)}, rounding "
            f"{own.slack.astype(float)}, gap {fitted.gap}",
        )
    if fitted.status == "NOT_PSD" or not is_psd(fitted):
        return
    if case["certificate"] == "subspace":  # of the low-rank problem alone
        return
    for name, point in oracles.points(case, data, fitted).items():
        other = objective(fitted.task, point)
        better = own.primal - other.primal
        allowed = fitted.gap + own.slack + other.slack
        if not (better <= allowed).all():
            yield Failure(
                "certificate",
                f"{name} is better by {better.astype(float)}, where the gap is {fitted.gap} and "
                f"rounding {(own.slack + other.slack).astype(float)}; objectives {own.primal}",
            )
            return


def of_others(case: Case, data: Data, model: Any, fitted: Fitted) -> Iterator[Failure]:
    """Predictions are those of the model; fits agree over threads, memory and tolerances."""
    yield from of_predictions(case, data, fitted)
    turn = case["data"] % 3
    if is_search(case):
        if case["n_jobs"] > 1:
            yield from same_search(case, data, model)
    elif turn == 0 and not is_linear(case) and case["memory"] == "auto":
        again = describe(case, data, quiet(case, data, memory=16))
        for found in of_agreement(fitted, again):
            yield Failure("memory", found)
    elif turn == 1 and fitted.status == "CONVERGED" and case["tol"] <= 1e-5:
        loose = describe(case, data, quiet(case, data, tol=1e-2))
        for found in of_agreement(fitted, loose):
            yield Failure("tolerance", found)
        rough = loose.gap / np.maximum(np.abs(loose.claimed), 1e-300)
        sharp = fitted.gap / np.maximum(np.abs(fitted.claimed), 1e-300)
        if loose.status == "CONVERGED" and (sharp > np.maximum(rough, case["tol"]) * 1.01).any():
            yield Failure("tolerance", f"gap {fitted.gap} at {case['tol']}, {loose.gap} at 1e-2")


def quiet(case: Case, data: Data, **changes: Any) -> Any:
    """Fit with changes, without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(case, data, **changes)


def of_agreement(one: Fitted, other: Fitted) -> Iterator[str]:
    """Objectives of two fits of one problem differ by their gaps at most."""
    if "NOT_PSD" in (one.status, other.status) or not is_psd(one):
        return
    a, b = objective(one.task, one.point), objective(other.task, other.point)
    gap = np.where(a.primal > b.primal, one.gap, other.gap)
    if not (np.abs(a.primal - b.primal) <= gap + a.slack + b.slack).all():
        yield f"objectives {a.primal} and {b.primal}, gaps {one.gap} and {other.gap}"


def of_predictions(case: Case, data: Data, fitted: Fitted) -> Iterator[Failure]:
    """Scores that a model gives for its own samples are those of its coefficients."""
    scores, model = fitted.point.scores, fitted.model
    known = {} if data.offset is None else {"offset": data.offset}
    if case["estimator"] == "solve":
        given = model.fitted.reshape(scores.shape)
        if known:
            given = given + data.offset[:, None]
    elif case["estimator"] in (*QUANTILES, "solve_blocks") or case["loss"] in LINKED:
        return
    elif hasattr(model, "decision_function"):
        given = model.decision_function(data.given, **known)
        if (case["loss"] in CLASSES and given.ndim == 1) or np.size(given) != scores.size:
            return
    else:
        given = model.predict(data.given, **known)
    if case["estimator"] == "SVC" and scores.shape[1] > 1:
        return
    if case["multi_class"] == "ovo" and scores.shape[1] > 1:
        return
    used = np.asarray(fitted.task.weights[:, 0] > 0)
    off = np.abs(given.reshape(scores.shape) - scores)[used]
    allowed = fitted.point.score_error[used] + LONG(1e-300)
    if not (off <= 2 * allowed).all():
        worst = np.unravel_index((off / allowed).argmax(), off.shape)
        yield Failure(
            "predictions", f"off by {float(off[worst])}, rounding {float(allowed[worst])}"
        )


def same_search(case: Case, data: Data, model: Any) -> Iterator[Failure]:
    """A search gives the same scores with one thread."""
    other = quiet(case, data, n_jobs=1)
    a, b = model.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    size = max(np.abs(a).max(), np.abs(b).max())
    if not np.abs(a - b).max() <= 1e-9 * size:
        yield Failure("threads", f"scores {a} and with one thread {b}")
