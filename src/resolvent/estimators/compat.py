"""What depends on the installed version of scikit-learn, such as callbacks (from 1.9 on)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import sklearn
from sklearn.utils.fixes import parse_version

__all__ = [
    "PROBABILITY_IS_DEPRECATED",
    "CallbackSupportMixin",
    "FitProgress",
    "constraints",
    "deprecated_property",
    "with_callbacks",
]

PROBABILITY_IS_DEPRECATED = parse_version(sklearn.__version__) >= parse_version("1.9")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave a method as it is."""
        return method


class FitProgress:
    """Tell an estimator's callbacks of each certification of a fit as one of its tasks.

    Does nothing for an estimator without callbacks.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=estimator)

    def report(self) -> bool:
        """Pass on that there is a new certificate; return whether a callback asks to stop."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name="certificate")
        task.call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))

    def end(self) -> None:
        """Pass on that the fit is over."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator)


def constraints(theirs: type) -> dict[str, Any]:
    """Return what scikit-learn's class of the same name says of its parameters.

    Estimators that are derived from these are validated by it, with what these take beside.
    """
    more: dict[str, list[Any]] = {
        "kernel": [str],
        "cache_size": [None],
        "max_iter": [None],
        "gamma": [str],
    }
    given: dict[str, Any] = theirs._parameter_constraints  # type: ignore[attr-defined]
    return {name: [*allowed, *more.get(name, [])] for name, allowed in given.items()}


def deprecated_property(name: str) -> Any:
    """Return a property of the private attribute that warns where scikit-learn's does."""

    def get(self: Any) -> Any:
        value = getattr(self, f"_{name.rstrip('_')}")
        if PROBABILITY_IS_DEPRECATED:
            warnings.warn(
                f"Attribute `{name}` was deprecated in scikit-learn 1.9 and will be removed in "
                "1.11, with the parameter `probability` of SVC and NuSVC.",
                FutureWarning,
                stacklevel=2,
            )
        return value

    return property(get, doc="Parameter of the sigmoids, with LIBSVM's sign.")
