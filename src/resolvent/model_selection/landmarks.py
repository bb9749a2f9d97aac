"""Low-rank kernel matrices of a search: for each gamma values of landmarks, shared by all folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from resolvent._random import as_generator
from resolvent.grams.landmarks import LANDMARKS, read_landmarks
from resolvent.grams.memory import parse_memory
from resolvent.grams.nystroem import (
    NystroemGram,
    check_number,
    check_room,
    checked_rank,
    most_rank,
    nystroem,
    on_landmarks,
)
from resolvent.grams.values import IsOver, StoredColumns, Values, values_of
from resolvent.kernels import Kernel
from resolvent.model_selection.folds import Fold
from resolvent.model_selection.kernels import Shared

__all__ = ["OfRank", "SharedLandmarks", "Span"]

RANK_OF_SEARCH = 512  # where the last fit has rank="auto"


class Span(NamedTuple):
    """What functions are sought among: parameters of estimators, landmarks as positions in data."""

    rank: Any
    landmarks: Any
    random_state: Any


class SharedLandmarks(Shared):
    """Makes the kernel values between all samples and landmarks once for each gamma.

    A fold spans its function by landmarks among the samples that it learns from, and by no others:
    what it predicts for a sample that is held out depends on no other such sample. All folds take
    them in one random order, so that most are those of other folds too, and their values are
    computed once; the features Z = K_nS L^-T of each fold are a product with a small matrix.
    Landmarks that are given as indices are shared likewise. Those that are given as rows belong to
    no fold: all have the same features.

    Where the values do not fit the memory limit beside the features, they are computed for each
    fold again, and one fold is solved at a time.

    Parameters
    ----------
    X : array-like
        The samples; the matrix itself if the kernel is precomputed.
    make_kernel : callable
        The kernel of a gamma; None if it is precomputed.
    gammas : list
        The values, or kernels, or kernel matrices of X.
    folds : list of Fold
        The folds.
    span : Span
        The rank of each fold, of landmarks that are chosen at random by either method, or
        landmarks. With rank="auto" it is modest.
    memory_limit : int, str or None
        For values and features.
    dtype : {None, "float32", "float64"}
        Precision; None is that of X.
    workers : int
        How many threads there are.
    """

    def __init__(
        self,
        X: Any,
        make_kernel: Callable[[Any], Kernel | None],
        gammas: list[Any],
        folds: list[Fold],
        span: Span,
        memory_limit: Any,
        dtype: Any,
        workers: int,
    ) -> None:
        super().__init__(gammas, workers)
        self.X, self.make_kernel, self.dtype = X, make_kernel, dtype
        self.memory_limit, self.rows = memory_limit, None
        values = self._values(0)
        kind, order = read_landmarks(span.landmarks, values.n)
        self.rank, self.rng = values.n, as_generator(span.random_state)
        if kind in LANDMARKS:
            most = min(RANK_OF_SEARCH, max(1, most_rank(values, memory_limit)))
            self.rank = most if span.rank == "auto" else checked_rank(span.rank)
            order = self.rng.permutation(values.n)
        elif kind == "rows":
            self.rows, order = span.landmarks, None
        given = values.given(self.rows) if kind == "rows" else order
        if kind not in LANDMARKS:
            check_number(span.rank, len(given))
        inside = [] if order is None else [_inside(order, f.train, k) for k, f in enumerate(folds)]
        self.of = [index[: self.rank] for index in inside]
        self.every = np.unique(np.concatenate([*self.of, np.empty(0, np.intp)]))
        self._plan(values, max(map(len, self.of), default=len(given)))

    def _plan(self, values: Values, rank: int) -> None:
        """Decide whether values are kept, and, by what fits, how many threads work at a time."""
        check_room(values, rank, self.memory_limit)
        most = parse_memory(self.memory_limit) // (values.n * values.dtype.itemsize)
        live = min(self.workers, len(self.gammas))
        if live * len(self.every) + self.workers * rank > most:
            self.workers = 1
        self.keeps = len(self.every) + rank <= most

    def _values(self, g: int) -> Values:
        kernel, entry = self.make_kernel(self.gammas[g]), self.gammas[g]
        data = entry if isinstance(entry, np.ndarray) else self.X
        return values_of(data, kernel, None if kernel is None else self.dtype)

    def _make(self, g: int, pause: Callable[[], None]) -> Any:
        return self.made_at(g, _pausing(pause))

    def of_fold(self, shared: Any, k: int, pause: Callable[[], None]) -> NystroemGram:
        """Kernel matrix of all samples on the landmarks of fold number k."""
        return self.spanned(shared, k, _pausing(pause))

    def made_at(self, g: int, is_over: IsOver) -> Any:
        """Compute what is shared at gamma number g."""
        values = self._values(g)
        if self.rows is not None:
            return nystroem(values, None, self.rows, self.rng, self.memory_limit, is_over)
        return StoredColumns(values, self.every, is_over) if self.keeps else values

    def spanned(self, made: Any, k: int, is_over: IsOver) -> NystroemGram:
        """Compute the kernel matrix of fold number k."""
        return made if self.rows is not None else on_landmarks(made, self.of[k], is_over)


def _inside(order: np.ndarray, train: np.ndarray, k: int) -> np.ndarray:
    """Those landmarks that fold number k learns from, in their order."""
    inside = order[np.isin(order, train)]
    if not len(inside):
        raise ValueError(
            f"Fold {k} of cv holds out all {len(order)} landmarks that are given: give more of "
            "them, or rows of your own, or a rank."
        )
    return inside


def _pausing(pause: Callable[[], None]) -> IsOver:
    """Call `pause`, which raises what ends the work."""

    def is_over() -> bool:
        pause()
        return False

    return is_over


class OfRank:
    """What the best estimator says of its rank."""

    @property
    def rank_(self) -> int | None:
        """Landmarks of the last fit; None of an exact one."""
        return self._best().rank_  # type: ignore[attr-defined]

    @property
    def landmarks_(self) -> Any:
        """Their indices, -1 of those given as rows; None of an exact fit."""
        return self._best().landmarks_  # type: ignore[attr-defined]

    @property
    def certificate_(self) -> str:
        """How the gap of the last fit was found."""
        return self._best().certificate_  # type: ignore[attr-defined]

    @property
    def optimization_gap_(self) -> Any:
        """The part of `dual_gap_` that is of the low-rank problem."""
        return self._best().optimization_gap_  # type: ignore[attr-defined]

    @property
    def approximation_gap_(self) -> Any:
        """The part of `dual_gap_` that is what the rank may cost."""
        return self._best().approximation_gap_  # type: ignore[attr-defined]
