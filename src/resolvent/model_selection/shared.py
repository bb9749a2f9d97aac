"""What the problems of a search have in common: kernel matrices, or values of landmarks."""

from __future__ import annotations

from typing import Any

from resolvent.approximation.certificate import check_certificate
from resolvent.approximation.growth import SMALL, check_auto
from resolvent.estimators.base import Data
from resolvent.kernels import Linear, make_kernel
from resolvent.model_selection.folds import Fold
from resolvent.model_selection.kernels import Shared, SharedGrams
from resolvent.model_selection.landmarks import SharedLandmarks, Span

__all__ = ["has_rank", "kernel_of", "share", "span_of"]


def kernel_of(plain: Any, data: Data, gamma: Any) -> Any:
    """Kernel of an estimator at a gamma, which may be None or a kernel; None if precomputed."""
    if not hasattr(plain, "kernel"):
        return Linear()
    if plain._is_precomputed():
        return None
    is_kernel = not isinstance(gamma, float | None)
    return make_kernel(
        gamma if is_kernel else plain.kernel,
        gamma=1.0 if gamma is None or is_kernel else gamma,
        degree=plain.degree,
        coef0=plain.coef0,
        X=data.X,
        sample_weight=data.weight,
        names=plain._names(),
    )


def has_rank(plain: Any, n_samples: int) -> bool:
    """Whether the folds of an estimator's search are low-rank problems.

    Where the samples are so few that rank="auto" fits exactly, so does the search.
    """
    if getattr(plain, "rank", None) == "auto":
        return n_samples > SMALL
    return plain.has_landmarks() if hasattr(plain, "kernel") else False


def span_of(plain: Any, data: Data) -> Span:
    """Give what an estimator seeks functions among, and refuse here what its fit would refuse."""
    check_certificate(plain.certificate)
    if plain.rank == "auto":
        check_auto(plain.landmarks, plain.certificate)
    return Span(plain.rank, plain._own_landmarks(data), plain.random_state)


def share(
    plain: Any, data: Data, gammas: list[Any], folds: list[Fold], dtype: Any, workers: int
) -> Shared:
    """Give what the folds of an estimator share at each gamma."""
    limit = getattr(plain, "memory_limit", None)

    def make(gamma: Any) -> Any:
        return kernel_of(plain, data, gamma)

    if has_rank(plain, len(data)):
        span = span_of(plain, data)
        return SharedLandmarks(data.X, make, gammas, folds, span, limit, dtype, workers)
    return SharedGrams(data.X, make, gammas, limit, dtype, workers)
