"""What all estimators share: from validated data to a fitted kernel expansion."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from numbers import Real
from threading import Event, Lock
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from resolvent._solve import solve
from resolvent._threads import run
from resolvent.estimators._compat import CallbackSupportMixin, FitProgress
from resolvent.estimators._expansion import Expansion, take_rows
from resolvent.grams import Gram, gram
from resolvent.kernels import FunctionKernel, Kernel, make_kernel
from resolvent.problem import Record, Solution, Status, relative_gaps
from resolvent.solvers.coordinate_descent import as_generator

logger = logging.getLogger("resolvent")

# Rows from which problems are solved several at a time: the work on smaller ones is mostly that of
# the interpreter, which threads do not share.
LARGE = 1000


@dataclass
class Data:
    """Rows that take part in a fit: those whose weight is not zero."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    kept: np.ndarray  # their indices in what was given to fit
    codes: np.ndarray | None = None  # of the classes, for classifiers

    def __len__(self) -> int:
        return len(self.kept)


class Machine(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators.

    A subclass turns its targets into columns and weights, calls `_solve`, and keeps what its users
    expect to find. Those that model selection knows do this by `_read`, which validates the
    arguments of fit, and `_columns`, which gives the losses, targets and weights of the problems to
    solve, the weights of the samples being those given or, in a fold, some of them zero.
    """

    # ---- data -----------------------------------------------------------------------------

    def _is_precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)  # linear estimators have none
        return isinstance(kernel, str) and kernel == "precomputed"

    def _takes_objects(self) -> bool:
        kernel = getattr(self, "kernel", None)
        function = callable(kernel) and not isinstance(kernel, Kernel | type)
        return function or isinstance(kernel, FunctionKernel)

    def _read_data(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Data:
        """Validate the arguments of fit and drop the rows of weight zero."""
        if self._takes_objects():
            y = validate_data(self, y=y, **checks)
            X = X if hasattr(X, "shape") else list(X)
            n = X.shape[0] if hasattr(X, "shape") else len(X)
            if n != len(y):
                raise ValueError(f"X has {n} samples, but y has {len(y)}.")
        else:
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
            weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
            if (weight < 0).any():
                raise ValueError(
                    f"sample_weight has a negative value ({weight.min():g}); weights must be >= 0."
                )
            if not weight.any():
                raise ValueError("sample_weight is all zero: no sample is left to fit.")
        self._n_given = n
        kept = np.flatnonzero(weight)
        if len(kept) < n:
            X = X[np.ix_(kept, kept)] if self._is_precomputed() else take_rows(X, kept)
            y, weight = y[kept], weight[kept]
        return Data(X, y, weight, kept)

    def _read_new(self, X: Any) -> Any:
        """Validate the argument of predict."""
        check_is_fitted(self)
        if self._takes_objects():
            return X if hasattr(X, "shape") else list(X)
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
            gamma="auto" if self.gamma is None else self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            X=data.X,
            sample_weight=data.weight,
        )

    def _solve(
        self,
        K: Gram,
        losses: Any,
        targets: np.ndarray,
        weights: np.ndarray,
        *,
        C: float = 1.0,
        start: np.ndarray | None = None,
        random_state: Any = None,
        **settings: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve for all columns of `targets`, with weights of the same shape, C times those given.

        For a loss that couples the columns the weights are a vector.

        `losses` is one loss for all columns, or a list of one for each. Columns that leave out most
        rows, as one-vs-one problems do, are solved on the kernel matrix of their own rows, some at
        a time if they are large. So are those of a kernel matrix that gives no rows, since there is
        nothing of it that they could share. Sets the attributes that describe the fit, and returns
        coefficients (n, m) and offsets (m,).
        """
        began = time.perf_counter()
        limit = settings.pop("time_limit", None)
        progress, one_at_a_time, stopped = FitProgress(self), Lock(), Event()

        def report(record: Record) -> bool:
            with one_at_a_time:
                self._log(record)
                return progress.report() or stopped.is_set()

        if start is not None and start.shape != targets.shape:
            start = None
        several = weights.ndim == 2 and weights.shape[1] > 1
        apart = several and _leave_out_most(weights)
        alone = several and not apart and not K.scores_at_hand and K.n > LARGE
        each = isinstance(losses, list) or apart or alone
        jobs = [[j] for j in range(targets.shape[1])] if each else [list(range(targets.shape[1]))]
        solutions: list[Any] = [None] * len(jobs)
        coef = np.zeros(targets.shape, order="F")
        if random_state is not None and len(jobs) > 1:  # drawn here: threads have no order
            random_state = as_generator(random_state).integers(2**31, size=len(jobs))

        def work(k: int) -> None:
            rows = np.flatnonzero(weights[:, k]) if apart else np.arange(len(targets))
            part = np.ix_(rows, np.array(jobs[k]))
            left = limit and min(limit, max(0.0, limit + began - time.perf_counter()))
            solution = solve(
                losses[k] if isinstance(losses, list) else losses,
                K.restricted(rows) if apart else K,
                targets[part],
                C * (weights if weights.ndim == 1 else weights[part]),
                start=None if start is None else start[part],
                callback=report,
                on_interrupt="return",
                time_limit=0.0 if stopped.is_set() else left,  # then it stays where it starts
                random_state=random_state[k] if np.ndim(random_state) else random_state,
                **settings,
            )
            if solution.status == Status.INTERRUPTED:
                stopped.set()
            solutions[k] = solution
            coef[part] = solution.coef

        parallel = alone or (apart and int(np.count_nonzero(weights)) > LARGE * len(jobs))
        run(work, [(k,) for k in range(len(jobs))], parallel)
        progress.end()
        self._describe(solutions, time.perf_counter() - began)
        return coef, np.concatenate([s.intercept for s in solutions])

    @staticmethod
    def _gram(data: Data, kernel: Kernel | None, memory_limit: Any = "auto") -> Gram:
        """Kernel matrix of the samples."""
        return gram(data.X, "precomputed" if kernel is None else kernel, memory_limit=memory_limit)

    def _describe(self, solutions: list[Solution], seconds: float) -> None:
        """Set the attributes that say how a fit went; numbers if it was of one problem."""
        for name, field in (("dual_gap_", "gap"), ("objective_", "primal"), ("n_iter_", "n_iter")):
            values = np.concatenate([np.atleast_1d(getattr(s, field)) for s in solutions])
            setattr(self, name, values[0].item() if len(values) == 1 else values)
        self.status_ = max(s.status for s in solutions)
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

    def _log(self, record: Record) -> None:
        if not getattr(self, "verbose", 0):
            return
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)
        logger.info(
            "%s: iteration %d, %.1f s, objective %.6g, relative gap %.2e",
            type(self).__name__,
            record.iteration,
            record.seconds,
            np.sum(record.primal),
            relative_gaps(record.gap, record.primal, record.dual).max(),
            extra={"certificate": record},  # for handlers that draw instead of print
        )

    def _expand(
        self, data: Data, kernel: Kernel | None, coef: np.ndarray, offset: np.ndarray
    ) -> None:
        """Keep the support vectors and their coefficients (n, m) for prediction."""
        inside = np.flatnonzero(coef.any(axis=1))
        if data.codes is not None and coef.shape[1] > 1:  # class by class, as SVC and LIBSVM do
            inside = inside[np.argsort(data.codes[inside], kind="stable")]
        self.support_ = data.kept[inside]
        rows = self.support_ if kernel is None else take_rows(data.X, inside)
        self._expansion = Expansion(kernel, rows, coef[inside], offset)

    def _scores(self, X: Any) -> np.ndarray:
        """Scores of new samples, one column for each problem."""
        X = self._read_new(X)
        return self._expansion(X)

    def _conclude(self) -> Any:
        """End a fit: the model is there, but an interrupt is still an interrupt."""
        if self.status_ == Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self

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
        C, K = checked_C(self.C), self._gram(data, kernel, self.memory_limit)
        coef, offset = self._solve(K, losses, targets, weight, C=C, **self._settings())
        self.kernel_ = kernel
        self._coef = coef  # for a warm start
        self._expand(data, kernel, coef, offset)
        self.dual_coef_ = self._expansion.coef.T
        self.intercept_ = self._expansion.intercept
        return self._conclude()


def _leave_out_most(weights: np.ndarray) -> bool:
    """Whether every column has weights on less than half of the rows."""
    return bool((np.count_nonzero(weights, axis=0) < 0.5 * len(weights)).all())


def checked_C(C: Any) -> float:
    """Return C as a float, or say what is wrong with it."""
    if isinstance(C, bool) or not isinstance(C, Real) or not 0 < float(C) < np.inf:
        raise ValueError(f"C={C!r} must be a positive finite number (C = 1 / lambda).")
    return float(C)
