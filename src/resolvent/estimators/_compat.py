"""scikit-learn's callbacks, where the installed version has them (from 1.9 on)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]

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
