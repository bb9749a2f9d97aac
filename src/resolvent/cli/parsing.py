"""Options of the command line: from what was typed to values, or a sentence on what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

from resolvent.losses import BY_NAME, as_loss
from resolvent.tabular.offset import OffsetColumn

__all__ = [
    "check_coverage",
    "check_scoring",
    "parse_class_weight",
    "parse_gamma",
    "parse_grid",
    "parse_loss",
    "parse_offset",
    "parse_quantiles",
]


def parse_loss(text: str | None) -> Any:
    """Turn huber, huber:0.5 or huber:delta=0.5 into a loss; None stays None."""
    if text is None:
        return None
    name, _, parameters = text.replace("-", "_").partition(":")
    if name not in BY_NAME:
        raise typer.BadParameter(
            f"{text!r} is unknown; choose one of {', '.join(BY_NAME)}.", param_hint="--loss"
        )
    cls = BY_NAME[name]
    words = [word.rpartition("=")[2] for word in text.partition(":")[2].split(",") if parameters]
    try:
        if len(words) > len(cls._fields):
            raise ValueError(f"it has the parameters ({', '.join(cls._fields)}).")
        return as_loss(cls(*map(float, words)))
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint="--loss") from None


def check_coverage(coverage: float | None, option: str) -> None:
    """Refuse what is no coverage; None asks for none."""
    if coverage is not None and not 0 < coverage < 1:
        raise typer.BadParameter(
            f"{coverage} must be strictly between 0 and 1, such as 0.9.", param_hint=option
        )


def parse_gamma(text: str) -> Any:
    """Turn a word or a number into gamma."""
    if text in ("scale", "auto"):
        return text
    try:
        gamma = float(text)
    except ValueError:
        gamma = 0.0
    if not 0 < gamma < np.inf:
        raise typer.BadParameter(
            f"{text!r} must be a positive number, scale or auto.", param_hint="--gamma"
        )
    return gamma


def parse_grid(text: str, option: str) -> Any:
    """Turn a count, or values such as 0.1,1,10, into what searches take."""
    if text.isdecimal() and 0 < int(text) <= 1000:
        return int(text)
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < x < np.inf for x in found):
        raise typer.BadParameter(
            f"{text!r} must be how many to try, or the values, such as 0.1,1,10.", param_hint=option
        )
    return found


def check_scoring(name: str | None) -> None:
    """Refuse a score that scikit-learn does not have."""
    from sklearn.metrics import get_scorer_names

    if name is not None and name not in get_scorer_names():
        raise typer.BadParameter(
            f"{name!r} is not one of scikit-learn's scores, such as accuracy, roc_auc, r2 or "
            "neg_mean_absolute_error.",
            param_hint="--scoring",
        )


def parse_quantiles(text: str | None) -> tuple[float, ...] | None:
    """Turn 0.1,0.5,0.9 into numbers."""
    if text is None:
        return None
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < tau < 1 for tau in found) or len(set(found)) < len(found):
        raise typer.BadParameter(
            f"{text!r} must be different numbers between 0 and 1, such as 0.1,0.5,0.9.",
            param_hint="--quantiles",
        )
    return found


def parse_rank(text: str | None) -> int | str | None:
    """Turn a number of landmarks, auto or exact into what estimators take."""
    if text is None or text == "exact":
        return None
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(
            f"{text!r} must be a number of landmarks, at least 1, auto or exact.",
            param_hint="--rank",
        )
    return int(text)


def parse_offset(offset: str | None, exposure: str | None) -> OffsetColumn | None:
    """Turn the names of two options, of which at most one is given, into the column."""
    if offset is not None and exposure is not None:
        raise typer.BadParameter("give either --offset or --exposure.")
    name = exposure or offset
    return None if name is None else OffsetColumn(name, exposure is not None)


def parse_class_weight(text: str | None, classes: np.ndarray) -> Any:
    """Turn balanced, or LABEL=WEIGHT,..., into a factor for each class."""
    if text is None or text == "balanced":
        return text
    names = {str(label): label for label in classes.tolist()}
    found = {}
    for part in text.split(","):
        label, _, weight = part.rpartition("=")
        try:
            found[names[label.strip()]] = float(weight)
            if not 0 < float(weight) < np.inf:
                raise ValueError
        except (KeyError, ValueError):
            raise typer.BadParameter(
                f"{part!r} must be LABEL=WEIGHT with a positive weight and one of the labels "
                f"{', '.join(names)}; or say balanced.",
                param_hint="--class-weight",
            ) from None
    return found
