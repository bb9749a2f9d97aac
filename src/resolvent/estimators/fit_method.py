"""How every `fit` ends: with a complete model, or with the estimator as it was before."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from resolvent.estimators.compat import with_callbacks
from resolvent.problem import Status

__all__ = ["fit_method"]


def fit_method(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Make the `fit` of an estimator, with scikit-learn's callbacks.

    If it raises, be it an error or Ctrl-C before there is any model, the estimator is what it was
    before: not fitted, or fitted with its last model. An interrupted fit that has a model comes
    here with the status INTERRUPTED; the model is kept, but an interrupt is still an interrupt.
    """
    inner = with_callbacks(fit)

    @wraps(fit)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            inner(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # in one step, so that a second Ctrl-C finds no half of it
            raise
        if self.status_ == Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self

    return method
