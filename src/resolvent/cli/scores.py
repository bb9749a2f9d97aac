"""How well a model does on data whose target is known, and what there is to say about a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from resolvent._numeric import EPS
from resolvent.io.errors import DataFileError
from resolvent.losses import BY_NAME
from resolvent.problem import Status
from resolvent.problem.certificate import relative_gaps
from resolvent.tabular import TabularModel

__all__ = ["Evaluation", "certificate", "closeness", "describe", "evaluate", "loss_name"]


@dataclass
class Evaluation:
    """Predictions beside what was true, and scores."""

    y: np.ndarray
    predicted: np.ndarray
    scores: dict[str, float]
    probabilities: np.ndarray | None = None


def evaluate(model: TabularModel, X: Any, y: np.ndarray, source: str = "data") -> Evaluation:
    """Score predictions for rows X, as the estimator takes them, with targets y."""
    from sklearn import metrics

    estimator = model.estimator
    predicted = estimator.predict(X)
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        y = _as_labels(y, classes, source)
        probabilities = None
        scores = {
            "accuracy": metrics.accuracy_score(y, predicted),
            "balanced accuracy": _balanced_accuracy(y, predicted),
            "errors": int(np.sum(y != predicted)),
        }
        if hasattr(estimator, "predict_proba"):
            probabilities = estimator.predict_proba(X)
            known = np.isin(y, classes)
            if known.all():
                scores["log loss"] = metrics.log_loss(y, probabilities, labels=classes)
        return Evaluation(y, predicted, scores, probabilities)
    y = _as_numbers(y, source)
    taus = getattr(estimator, "quantile", None)
    if taus is not None:
        scores = {"pinball loss": -estimator.score(X, y)}
        columns = predicted.reshape(len(y), -1).T
        for tau, column in zip(np.atleast_1d(taus), columns, strict=True):
            scores[f"below quantile {tau:g}"] = float(np.mean(y <= column))
        return Evaluation(y, predicted, scores)
    scores = {
        "R2": metrics.r2_score(y, predicted) if len(y) > 1 else float("nan"),
        "mean absolute error": metrics.mean_absolute_error(y, predicted),
        "root mean squared error": float(np.sqrt(metrics.mean_squared_error(y, predicted))),
    }
    return Evaluation(y, predicted, scores)


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Average the fractions that are right over the classes that occur."""
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


def _as_labels(y: np.ndarray, classes: np.ndarray, source: str) -> np.ndarray:
    """Return labels in the type of the model's."""
    numeric = classes.dtype.kind in "iufb"
    if numeric != (y.dtype.kind in "iufb"):
        raise DataFileError(
            f"the labels are {'words' if numeric else 'numbers'} such as {y[0]!r}, the model's are "
            f"{classes.tolist()[:4]}.",
            source,
        )
    whole = classes.dtype.kind in "iu" and bool((y == np.round(y)).all())
    return y.astype(np.int64) if whole else y


def _as_numbers(y: np.ndarray, source: str) -> np.ndarray:
    if y.dtype.kind not in "iufb":
        raise DataFileError(f"the target has words such as {y[0]!r}; expected numbers.", source)
    return y.astype(float)


# ---- description ------------------------------------------------------------------------------


def certificate(estimator: Any) -> dict[str, Any]:
    """Numbers of a fit's certificate; empty for a model that has none."""
    if not hasattr(estimator, "dual_gap_"):
        return {}
    gap, objective = np.atleast_1d(estimator.dual_gap_), np.atleast_1d(estimator.objective_)
    relative = relative_gaps(gap, objective, objective - gap)
    status = estimator.status_
    tol = estimator.tol
    solved = status <= Status.STEP or (status == Status.PRECISION_LIMIT and tol == 0)
    rank = getattr(estimator, "rank_", None)
    if rank is not None:  # whoever gives a rank asks for the best model of that rank
        solved = status <= Status.RANK_LIMIT
    return {
        "status": status.name,
        "message": status.message,
        "solved": bool(solved),
        "objective": float(objective.sum()),
        "gap": float(gap.max()),
        "relative_gap": float(relative.max()),
        "tol": tol,
        "solver": estimator.solver_,
        "iterations": int(np.max(estimator.n_iter_)),
        "seconds": estimator.fit_time_,
        "rank": rank,
        "method": getattr(estimator, "certificate_", "exact"),
    }


def closeness(proof: dict[str, Any]) -> str:
    """Say what a relative gap proves, and of which problem."""
    relative_gap, rank = proof["relative_gap"], proof["rank"]
    if rank is not None:
        return _closeness_at(rank, relative_gap, proof["method"])
    if relative_gap <= 10 * EPS:
        return "proved to be the optimum up to rounding"
    if not np.isfinite(relative_gap):
        return "with no bound known on how far it is from the optimum"
    return f"proved to be within {relative_gap:.1e} of the optimum (relative)"


def _closeness_at(rank: int, relative_gap: float, method: str) -> str:
    """Say what the gap of a low-rank fit proves."""
    if method == "subspace":
        return (
            f"proved to be within {relative_gap:.1e} of the optimum of rank {rank} (relative); how "
            "far that is from the optimum of the exact machine was not computed"
        )
    chance = " with probability 0.999" if method == "sampled" else ""
    return (
        f"of rank {rank}, proved{chance} to be within {relative_gap:.1e} of the optimum of the "
        "exact machine (relative)"
    )


def loss_name(loss: Any) -> str:
    """Name a loss, with its parameters if it has some."""
    name = next((name for name, cls in BY_NAME.items() if isinstance(loss, cls)), str(loss))
    if isinstance(loss, str) or not loss._fields:
        return name
    values = zip(loss._fields, loss, strict=True)
    return f"{name}({', '.join(f'{field}={value:g}' for field, value in values)})"


def _rounded(text: str) -> str:
    """Shorten the numbers in a text to six digits."""
    return re.sub(r"\d+\.\d+(e[+-]\d+)?", lambda number: f"{float(number[0]):.6g}", text)


def describe(model: TabularModel) -> dict[str, Any]:
    """Describe a model in words and numbers; None where something does not apply."""
    estimator, features = model.estimator, model.features
    expansion = getattr(estimator, "_expansion", None)
    loss = getattr(estimator, "_loss", getattr(estimator, "loss", None))
    if hasattr(estimator, "quantile"):
        taus = ", ".join(f"{tau:g}" for tau in np.atleast_1d(estimator.quantile))
        loss = f"{estimator.kind}s {taus}"
    if type(estimator).__name__ == "SVC":
        loss = "hinge"
    classes = getattr(estimator, "classes_", None)
    kernel = "linear" if expansion is None else _rounded(repr(expansion.kernel))
    imported = not hasattr(estimator, "dual_gap_")
    return {
        "model": type(estimator).__name__,
        "loss": loss_name(loss),
        "kernel": kernel,
        "C": None if imported else getattr(estimator, "C", None),
        "target_unit": getattr(estimator, "target_unit_", None),
        "samples": estimator._n_given or None,
        "features": features.width,
        "columns": None if features.columns is None else [c.name for c in features.columns],
        "target": model.target,
        "classes": None if classes is None else classes.tolist(),
        "scale": features.method,
        "support_vectors": None if expansion is None else len(expansion.coef),
        "certificate": certificate(estimator) or None,
    }
