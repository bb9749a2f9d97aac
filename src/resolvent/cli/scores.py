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
from resolvent.problem.certificate import is_solved, relative_gaps
from resolvent.tabular import TabularModel

__all__ = [
    "Evaluation",
    "certificate",
    "closeness",
    "describe",
    "evaluate",
    "loss_name",
    "number_text",
]


@dataclass
class Evaluation:
    """Predictions beside what was true, and scores.

    Attributes
    ----------
    y, predicted : ndarray
        Targets and predictions.
    scores : dict
        Scores by their names.
    constant : dict
        Those scores that the best constant prediction for these rows has.
    probabilities : ndarray, optional
        Probabilities of the classes.
    ends : ndarray of shape (n, 2), optional
        Ends of intervals.
    """

    y: np.ndarray
    predicted: np.ndarray
    scores: dict[str, float]
    constant: dict[str, float]
    probabilities: np.ndarray | None = None
    ends: np.ndarray | None = None

    @property
    def is_useful(self) -> bool:
        """Whether the first score that a constant has is better than the constant's."""
        name = next((name for name in self.scores if name in self.constant), None)
        if name is None or not np.isfinite(self.scores[name]):
            return True  # nothing speaks against it
        more, less = self.scores[name], self.constant[name]
        return more > less if name in LARGER_IS_BETTER else more < less

    def texts(self) -> dict[str, str]:
        """Scores as they are shown, each beside that of a constant."""
        shown = {name: score_text(name, value) for name, value in self.scores.items()}
        for name, value in self.constant.items():
            if not (name == "R2" and value == 0.0):  # which is known of R2
                shown[name] += f" (constant: {score_text(name, value)})"
        return shown


LARGER_IS_BETTER = ("R2", "accuracy", "balanced accuracy")


def number_text(value: float) -> str:
    """Write a number for people: 36,740 and 0.04321."""
    if isinstance(value, int) or 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def score_text(name: str, value: float) -> str:
    """Write a score; shares of rows are percentages."""
    is_share = name.startswith(("below", "in the", "inside"))
    return f"{value:.1%}" if is_share else number_text(value)


def evaluate(
    model: TabularModel, X: Any, y: np.ndarray, source: str = "data", coverage: float | None = None
) -> Evaluation:
    """Score predictions for rows X, as the estimator takes them, with targets y.

    With a coverage, the model's intervals or sets of labels are scored too.
    """
    found = _evaluate(model, X, y, source)
    if coverage is None:
        return found
    estimator = model.estimator
    if hasattr(estimator, "classes_"):
        sets = estimator.predict_set(X, coverage)
        own = found.y[:, None] == estimator.classes_
        found.scores[f"in the sets {coverage:g}"] = float(np.mean((sets & own).any(axis=1)))
        found.scores["labels in a set"] = float(np.mean(sets.sum(axis=1)))
        return found
    low, high = estimator.predict_interval(X, coverage).T
    found.ends = np.column_stack([low, high])
    inside = (low <= found.y) & (found.y <= high)
    found.scores[f"in the intervals {coverage:g}"] = float(np.mean(inside))
    found.scores["mean width"] = float(np.mean(high - low))
    return found


def _evaluate(model: TabularModel, X: Any, y: np.ndarray, source: str) -> Evaluation:
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
        return Evaluation(y, predicted, scores, _constant_labels(y, scores), probabilities)
    y = _as_numbers(y, source)
    taus = getattr(estimator, "quantile", None)
    if taus is not None:
        scores = {"pinball loss": -estimator.score(X, y)}
        columns = predicted.reshape(len(y), -1).T
        for tau, column in zip(np.atleast_1d(taus), columns, strict=True):
            scores[f"below quantile {tau:g}"] = float(np.mean(y <= column))
        if len(columns) > 1:
            inside = (columns.min(axis=0) <= y) & (y <= columns.max(axis=0))
            scores[f"in the band {min(taus):g}-{max(taus):g}"] = float(np.mean(inside))
        return Evaluation(y, predicted, scores, _constant_quantiles(y, estimator))
    scores = {
        "R2": metrics.r2_score(y, predicted) if len(y) > 1 else float("nan"),
        "mean absolute error": metrics.mean_absolute_error(y, predicted),
        "root mean squared error": float(np.sqrt(metrics.mean_squared_error(y, predicted))),
    }
    constant = {
        "R2": 0.0,
        "mean absolute error": float(np.mean(np.abs(y - np.median(y)))),
        "root mean squared error": float(np.std(y)),
    }
    return Evaluation(y, predicted, scores, constant)


def _constant_labels(y: np.ndarray, scores: dict[str, float]) -> dict[str, float]:
    """Scores of the most frequent class, and of the classes' frequencies as probabilities."""
    _, counts = np.unique(y, return_counts=True)
    share = counts / len(y)
    constant = {"accuracy": float(share.max()), "balanced accuracy": 1.0 / len(counts)}
    if "log loss" in scores:
        constant["log loss"] = float(-share @ np.log(share))
    return constant


def _constant_quantiles(y: np.ndarray, estimator: Any) -> dict[str, float]:
    """Score of the quantiles of the rows themselves, the same for each row."""
    if estimator.kind != "quantile":
        return {}
    taus = np.atleast_1d(np.asarray(estimator.quantile, dtype=float))
    residuals = y[:, None] - np.quantile(y, taus, method="inverted_cdf")
    slopes = np.where(residuals > 0, taus, taus - 1.0)
    return {"pinball loss": float(np.mean(slopes * residuals))}


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
    solved = is_solved(status, tol)
    rank = getattr(estimator, "rank_", None)
    if rank is not None:  # whoever gives a rank asks for the best model of that rank
        solved = status <= Status.RANK_LIMIT
    return {
        "status": status.name,
        "message": status.message,
        "solved": solved,
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


def _calibration_text(calibration: Any) -> str | None:
    if calibration is None:
        return None
    rows = f"{len(calibration.scores):,} rows"
    if calibration.models is None:
        return f"calibrated on {rows} held out"
    return f"calibrated by {calibration.fold.max() + 1} folds of {rows}"


def _unit_text(units: Any) -> str | None:
    return None if units is None else ", ".join(map(number_text, np.atleast_1d(units).tolist()))


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
        "target_unit": _unit_text(getattr(estimator, "target_unit_", None)),
        "samples": estimator._n_given or None,
        "features": features.width,
        "columns": None if features.columns is None else [c.name for c in features.columns],
        "target": model.target,
        "exposure" if model.offset and model.offset.is_exposure else "offset": (
            None if model.offset is None else model.offset.name
        ),
        "classes": None if classes is None else classes.tolist(),
        "scale": features.method,
        "intervals": _calibration_text(getattr(estimator, "_calibration", None)),
        "support_vectors": None if expansion is None else len(expansion.coef),
        "certificate": certificate(estimator) or None,
    }
