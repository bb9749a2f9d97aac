"""What all estimators share: from validated data to a fitted kernel expansion."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from resolvent._frames import ColumnEncoding, as_frame, refuse_what_is_no_number
from resolvent._solve import unwatched
from resolvent.approximation.certificate import check_certificate
from resolvent.approximation.fitting import LowRank, LowRankFit, now_and_then, solve_low_rank
from resolvent.approximation.growth import solve_to_tolerance
from resolvent.blocks.block import Source
from resolvent.estimators.compat import CallbackSupportMixin, FitProgress
from resolvent.estimators.expansion import Expansion, as_samples, take_rows
from resolvent.fitting import Fit, solve_columns
from resolvent.grams import Gram, gram
from resolvent.grams.landmarks import read_landmarks
from resolvent.grams.nystroem import checked_rank
from resolvent.grams.values import values_of
from resolvent.kernels import FunctionKernel, Kernel, make_kernel
from resolvent.kernels.base import read_columns
from resolvent.losses import as_loss
from resolvent.problem import Record, Solution
from resolvent.problem.certificate import relative_gaps
from resolvent.problem.outlook import Outlook

logger = logging.getLogger("resolvent")


@dataclass
class Data:
    """Rows that take part in a fit: those whose weight is not zero."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    kept: np.ndarray  # their indices in what was given to fit
    codes: np.ndarray | None = None  # of the classes, for classifiers
    offset: np.ndarray | None = None  # of the scores, a column for each

    def __len__(self) -> int:
        return len(self.kept)


def _is_plain(array: Any, ndim: int = 2) -> bool:
    """Whether data are an array that scikit-learn's checks, a tenth of a millisecond, would pass.

    That is one of finite floats, of features or targets, or of whole numbers if it has one
    dimension. All else is left to these checks, and what they say of it.
    """
    if type(array) is not np.ndarray or array.ndim != ndim or array.size == 0:
        return False
    if ndim == 1 and array.dtype.kind in "iu":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return array.dtype in (np.float64, np.float32) and bool(np.isfinite(array.sum()))


class Machine(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators.

    A subclass turns its targets into columns and weights, calls `_solve`, and keeps what its users
    expect to find. Those that model selection knows do this by `_read`, which validates the
    arguments of fit, and `_columns`, which gives the losses, targets and weights of the problems to
    solve, the weights of the samples being those given or, in a fold, some of them zero.
    """

    # ---- data -----------------------------------------------------------------------------

    _encoding: ColumnEncoding | None = None  # of data frames, if the kernel has columns by name
    _candidates: Sequence[Any] = ()  # kernels of a search, whose columns are read too

    def _is_precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)  # linear estimators have none
        return isinstance(kernel, str) and kernel == "precomputed"

    def _takes_objects(self) -> bool:
        kernel = getattr(self, "kernel", None)
        function = callable(kernel) and not isinstance(kernel, Kernel | type)
        return function or isinstance(kernel, FunctionKernel)

    def _read_columns(self, X: Any) -> Any:
        """Read the columns of a data frame that kernels have by name; None if they have none."""
        asked = self._candidates or [getattr(self, "kernel", None)]
        kernels = [kernel for kernel in asked if isinstance(kernel, Kernel)]
        self.__dict__.pop("_encoding", None)
        rows, encoding = read_columns(X, *kernels)
        if encoding is None:
            return None
        self._encoding = encoding
        return rows

    def _read_data(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Data:
        """Validate the arguments of fit and drop the rows of weight zero."""
        refuse_source(self, X)
        rows = self._read_columns(X)
        if rows is not None or self._takes_objects():
            y = validate_data(self, y=y, **checks)
            if self._encoding is not None:
                self._note_columns(rows)
                self.feature_names_in_ = np.array(self._encoding.names, dtype=object)
            X = as_samples(X) if rows is None else rows
            n = X.shape[0] if hasattr(X, "shape") else len(X)
            if n != len(y):
                raise ValueError(f"X has {n} samples, but y has {len(y)}.")
        elif _is_plain(X) and _is_plain(y, 1) and len(X) == len(y):
            self._note_columns(X)
            n = len(X)
        else:
            self._refuse_objects(X)
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse=False if self._is_precomputed() else "csr",
                dtype=[np.float64, np.float32],
                **checks,
            )
            n = X.shape[0]
        if self._is_precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square matrix of kernel values; X has shape "
                f"{X.shape}."
            )
        weight = np.ones(n)
        if sample_weight is not None:
            weight = self._read_weight(sample_weight, y)
        self._n_given = n
        kept = np.flatnonzero(weight)
        if len(kept) < n:
            X = X[np.ix_(kept, kept)] if self._is_precomputed() else take_rows(X, kept)
            y, weight = y[kept], weight[kept]
        return Data(X, y, weight, kept)

    def _note_columns(self, X: np.ndarray) -> None:
        """Note how many features there are, as scikit-learn's checks do; an array has no names."""
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)

    def _refuse_objects(self, X: Any) -> None:
        """Point from what is no numbers to what takes it."""
        refuse_what_is_no_number(X)
        if sparse.issparse(X) and self._is_precomputed():
            raise TypeError("Sparse precomputed kernels are not supported: pass K.toarray().")
        first = X[0] if isinstance(X, list | tuple) and X else None
        if getattr(X, "ndim", 0) == 1 and len(X):
            first = np.asarray(X)[0]
        if isinstance(first, str):
            raise ValueError(
                f"X holds strings (the first is {first[:40]!r}), where kernel="
                f"{getattr(self, 'kernel', 'linear')!r} needs numbers: give kernel=pairwise(f) of "
                "resolvent.kernels with a function f(a, b) of two of them, or encode them."
            )

    def _read_weight(self, sample_weight: Any, y: np.ndarray) -> np.ndarray:
        """Validate the weights of the samples, of which some must be above zero."""
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        if (weight < 0).any():
            raise ValueError(
                f"sample_weight has a negative value ({weight.min():g}); weights must be >= 0."
            )
        if not weight.any():
            raise ValueError("sample_weight is all zero: no sample is left to fit.")
        return weight

    def _read_new(self, X: Any) -> Any:
        """Validate the argument of predict."""
        check_is_fitted(self)
        if self._encoding is not None:
            return self._encoding(X)
        if self._takes_objects():
            return as_samples(X)
        named = hasattr(self, "feature_names_in_")
        if not named and _is_plain(X) and X.shape[1] == self.n_features_in_:
            return X
        refuse_what_is_no_number(X)
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    # ---- fit ------------------------------------------------------------------------------

    def _make_kernel(self, data: Data) -> Kernel | None:
        """Build the kernel of the parameters and the data; None if it is precomputed."""
        if self._is_precomputed():
            return None
        return make_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            X=data.X,
            sample_weight=data.weight,
            names=self._names(),
        )

    def _names(self) -> tuple[str, ...] | None:
        """Names of the columns that kernels have by name."""
        return None if self._encoding is None else self._encoding.names

    def _solve(
        self,
        K: Any,
        losses: Any,
        targets: np.ndarray,
        weights: np.ndarray,
        by: Callable[..., Any] = solve_columns,
        **settings: Any,
    ) -> Any:
        """Solve for all columns of `targets`; set the attributes that describe the fit."""
        progress = FitProgress(self)
        # Records of several problems are one after another, or beside each other.
        outlook = Outlook(settings.get("tol", 0.0) if targets.shape[1] == 1 else 0.0)

        def report(record: Record) -> bool:
            self._log(record, outlook)
            return progress.report()

        watched = getattr(self, "verbose", 0) or progress.context is not None
        settings["report"] = report if watched else unwatched
        fit = by(K, losses, targets, weights, **settings)
        progress.end()
        self._describe(fit.solutions, fit.seconds)
        return fit

    def _fit_source(self, source: Source, y: Any, sample_weight: Any, offset: Any) -> Any:
        refuse_source(self, source)

    @staticmethod
    def _gram(data: Data, kernel: Kernel | None, memory_limit: Any = "auto") -> Gram:
        """Kernel matrix of the samples."""
        return gram(data.X, "precomputed" if kernel is None else kernel, memory_limit=memory_limit)

    def _set_certificate(self, gap: np.ndarray, objective: np.ndarray, n_iter: np.ndarray) -> None:
        """Set what each problem ended with; numbers if there is one."""
        for name, values in (("dual_gap_", gap), ("objective_", objective), ("n_iter_", n_iter)):
            setattr(self, name, values[0].item() if len(values) == 1 else values)

    def _describe(self, solutions: list[Solution], seconds: float) -> None:
        """Set the attributes that say how a fit went; numbers if it was of one problem."""
        self._set_certificate(
            *(
                np.concatenate([np.atleast_1d(getattr(s, field)) for s in solutions])
                for field in ("gap", "primal", "n_iter")
            )
        )
        self.status_ = max(s.status for s in solutions)
        self.solver_ = ", ".join(sorted({s.solver for s in solutions}))
        self.history_ = [record for s in solutions for record in s.history]
        self.fit_time_ = seconds

    def _settings(self) -> dict[str, Any]:
        """Gather what estimators with this library's own parameter names pass on to `solve`."""
        return {
            "start": getattr(self, "_coef", None) if self.warm_start else None,
            "fit_intercept": self.fit_intercept,
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "time_limit": self.time_limit,
            "random_state": self.random_state,
        }

    def _speaks(self) -> bool:
        """Whether to report progress; then there is someone to hear it."""
        if getattr(self, "verbose", 0) and not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)
        return bool(getattr(self, "verbose", 0))

    def _log(self, record: Record, outlook: Outlook | None = None) -> None:
        if not self._speaks():
            return
        gap = float(relative_gaps(record.gap, record.primal, record.dual).max())
        left = ""
        if outlook is not None:
            outlook.see(record.seconds, gap)
            left = outlook.text()
        logger.info(
            "%s: iteration %d, %.1f s, objective %.6g, relative gap %.2e, %d support vectors%s",
            type(self).__name__,
            record.iteration,
            record.seconds,
            np.sum(record.primal),
            gap,
            np.max(record.n_support),
            f", {left}" if left else "",
            extra={"certificate": record, "left": left},  # for handlers that draw instead of print
        )

    def _expand(self, data: Data, kernel: Kernel | None, fit: Fit) -> None:
        """Keep the support vectors and their coefficients for prediction."""
        coef = fit.coef
        inside = np.flatnonzero(coef.any(axis=1))
        if data.codes is not None and coef.shape[1] > 1:  # class by class, as SVC and LIBSVM do
            inside = inside[np.argsort(data.codes[inside], kind="stable")]
        self.support_ = data.kept[inside]
        rows = self.support_ if kernel is None else take_rows(data.X, inside)
        self._expansion = Expansion(kernel, rows, coef[inside], fit.intercept, fit.weights)

    def _give(self) -> dict[str, np.ndarray]:
        """Give the arrays, beside the expansion's rows, that a model file keeps of a fit."""
        return {"coef": self._expansion.coef, "intercept": self._expansion.intercept}

    def _take(self, kernel: Kernel | None, arrays: dict[str, np.ndarray]) -> None:
        """Set what users find of a fit, from the expansion and what `_give` gave."""
        self.kernel_ = kernel
        self.dual_coef_, self.intercept_ = self._expansion.coef.T, self._expansion.intercept

    def _n_problems(self) -> int | None:
        """How many problems the parameters and the classes make; None if targets say it."""
        return 1

    def _couples_columns(self) -> bool:
        """Whether all columns come from one problem, as in multinomial regression."""
        loss = as_loss(getattr(self, "loss", "hinge"))
        return getattr(loss, "couples", "") == "columns"

    def _examine(self, data: Data, kernel: Kernel | None, fit: Fit) -> None:
        """Warn of a model that is solved and useless, where one can tell."""

    def _scores(self, X: Any) -> np.ndarray:
        """Scores of new samples, one column for each problem; of a source by its blocks."""
        if not isinstance(X, Source):
            return self._scores_of(X)
        check_is_fitted(self)
        return np.concatenate([self._scores_of(X.load(i).X) for i in range(X.n_blocks)])

    def _scores_of(self, X: Any) -> np.ndarray:
        """Scores of the rows of an array, or what is like one."""
        X = self._read_new(X)  # first: it says so where there is no fit
        return self._expansion(X)

    # ---- tags -----------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


class KernelMachine(Machine):
    """Base of the estimators with this library's own parameter names."""

    def _fit_data(self, data: Data) -> Any:
        """Fit all columns of targets on one kernel and keep the expansion."""
        losses, targets, weight = self._columns(data, data.weight)
        kernel = self._make_kernel(data)
        settings = {"C": checked_C(self.C), **self._settings()}
        if not self.has_landmarks():
            K = self._gram(data, kernel, self.memory_limit)
            fit = self._solve(K, losses, targets, weight, **settings)
            self._expand(data, kernel, fit)
            self._set_rank(None, None, "exact", np.zeros(np.size(self.dual_gap_)))
        else:
            what, by = self._low_rank(data, kernel), solve_low_rank
            if what.rank is None and self.rank is not None:
                by = partial(
                    solve_to_tolerance, exact=lambda: self._gram(data, kernel, self.memory_limit)
                )
            fit = self._solve(what, losses, targets, weight, by=by, **settings)
            self._expand_landmarks(data, kernel, fit)
        self._coef = fit.coef  # for a warm start
        self._take(kernel, {})
        self._examine(data, kernel, fit)
        return self

    def has_landmarks(self) -> bool:
        """Whether a rank, or landmarks, are asked for."""
        return self.rank is not None or not isinstance(self.landmarks, str)

    def _own_landmarks(self, data: Data) -> Any:
        """Landmarks as they are given; indices as positions among the samples that take part."""
        landmarks = self.landmarks
        if self._encoding is not None and as_frame(landmarks) is not None:
            return self._encoding(landmarks)
        kind, given = read_landmarks(landmarks, self._n_given)
        if kind != "indices":
            return landmarks
        position = np.searchsorted(data.kept, given)
        absent = data.kept[np.minimum(position, len(data) - 1)] != given
        if absent.any():
            raise ValueError(
                f"landmarks has sample {given[absent][0]}, whose weight is zero: it is as absent. "
                "Leave it out, or give landmarks as rows."
            )
        return position

    def _low_rank(self, data: Data, kernel: Kernel | None) -> LowRank:
        """Gather what is asked of a low-rank fit, and refuse it here where that is nothing."""
        check_certificate(self.certificate)
        return LowRank(
            values_of(data.X, kernel),
            None if self.rank is None or self.rank == "auto" else checked_rank(self.rank),
            self._own_landmarks(data),
            self.certificate,
            self.memory_limit,
            now_and_then(self._log_certificate),
            self._say,
        )

    def _expand_landmarks(self, data: Data, kernel: Kernel | None, fit: LowRankFit) -> None:
        """Keep the landmarks and their coefficients, which are the model."""
        K, bounds = fit.gram, fit.certificate
        if K is None or bounds is None:
            self._expand(data, kernel, Fit(*fit[:5]))
            return self._set_rank(None, None, "exact", np.zeros(np.size(self.dual_gap_)))
        inside = K.landmarks
        if inside[0] >= 0:
            self.support_ = data.kept[inside]
            rows = self.support_ if kernel is None else take_rows(data.X, inside)
        else:  # given as rows
            self.support_, rows = inside, K.points.values
        assert fit.weights is not None
        self._expansion = Expansion(kernel, rows, K.expansion(fit.weights.T), fit.intercept)
        self._set_rank(K.rank, self.support_, bounds.method, bounds.approximation)

    def _set_rank(
        self, rank: int | None, landmarks: Any, certificate: str, approximation: np.ndarray
    ) -> None:
        """Set the attributes that say what a rank costs; None and zeros for an exact fit."""
        self.rank_, self.landmarks_, self.certificate_ = rank, landmarks, certificate
        of_solver = np.atleast_1d(self.dual_gap_) - np.nan_to_num(approximation)
        self.optimization_gap_, self.approximation_gap_ = (
            gaps[0].item() if len(gaps) == 1 else gaps for gaps in (of_solver, approximation)
        )

    def _log_certificate(self, share: float) -> None:
        """Say now and then how far the certificate of the original problem is."""
        self._say(f"certificate of the original problem, {100 * share:.0f}%")

    def _say(self, text: str) -> None:
        if self._speaks():
            logger.info("%s: %s", type(self).__name__, text)


def refuse_source(model: Any, X: Any) -> None:
    """Refuse blocks of rows where arrays are needed."""
    if isinstance(X, Source):
        raise TypeError(
            f"X is a source of blocks, and {type(model).__name__} needs arrays: linear models and "
            "kernel machines with a rank fit blocks of rows."
        )


def checked_C(C: Any) -> float:
    """Return C as a float, or say what is wrong with it."""
    if isinstance(C, bool) or not isinstance(C, Real) or not 0 < float(C) < np.inf:
        raise ValueError(f"C={C!r} must be a positive finite number (C = 1 / lambda).")
    return float(C)
