"""What the estimators with built-in cross-validation share."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, indexable

from resolvent._clock import Clock
from resolvent._threads import one_blas_thread
from resolvent.estimators.base import Data, Machine, refuse_source
from resolvent.estimators.compat import CallbackSupportMixin
from resolvent.estimators.fit_method import fit_method
from resolvent.model_selection.closed_form import has_closed_form
from resolvent.model_selection.conformal import calibrate_by_folds
from resolvent.model_selection.extend import MOST, beyond, join
from resolvent.model_selection.folds import read_folds
from resolvent.model_selection.grid import as_Cs, as_gammas, as_kernels, has_gamma
from resolvent.model_selection.report import Reporter
from resolvent.model_selection.results import at_edges, choose, tabulate
from resolvent.model_selection.scoring import HeldOutScorer
from resolvent.model_selection.search import Search
from resolvent.model_selection.shared import has_rank, share
from resolvent.problem import Status

# Of a time limit, how much the search may take; the rest is for the last fit.
SEARCH_SHARE = 0.7
# From this tolerance on the kernel matrix in single precision is exact enough.
SINGLE = 1e-4


class CrossValidated(CallbackSupportMixin, BaseEstimator):
    """An estimator that chooses gamma and C by cross-validation on shared kernel matrices.

    A subclass names the estimator that it tunes (`_tuned`); its parameters are those of that
    estimator with `Cs` and `gammas` in place of `C` and `gamma`, and those of the search. As with
    GridSearchCV the tags of that estimator, and no mixin, say whether it is a classifier.
    """

    _tuned: type[Machine]
    _seen: Any = None  # what `_see` notes of each cell

    def _plain(self) -> Any:
        """Make the estimator to tune, with all parameters that this one has in common with it."""
        common = self._tuned().get_params(deep=False).keys() & self.get_params(deep=False).keys()
        return self._tuned(**{name: getattr(self, name) for name in common})

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> Any:
        """Choose by cross-validation and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list of objects
            Training samples; for a precomputed kernel, its matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several columns for those regressors that take them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; 2 is the sample given twice, 0 the sample absent.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, for splitters that keep groups together.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores, such as the logarithm of an exposure; not the intercept,
            which is the same for all samples.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups, offset)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any) -> Any:
        """Search, choose, fit the winner on all samples."""
        clock = Clock(self.time_limit)
        refuse_source(self, X)
        self._check_parameters()
        plain = self._plain()
        kernels = self._read_kernels(plain, X)
        data = plain._read(X, y, sample_weight, offset)
        plain._candidates = ()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(plain, name):
                setattr(self, name, getattr(plain, name))
        X, y, groups = indexable(X, np.asarray(y), groups)
        folds = read_folds(self.cv, X, y, groups, data, is_classifier(self))
        self.n_splits_ = len(folds)
        gammas = self._grid(plain, data, kernels)
        Cs = as_Cs(self.Cs)
        score = HeldOutScorer(
            plain, self.scoring, data.X, y[data.kept], data.weight if self.weighted_scores else None
        )
        search, table, gammas, Cs = self._search(plain, data, folds, score, (gammas, Cs), clock)
        self.search_time_ = clock.seconds
        self.search_status_ = search.status
        if search.status == Status.INTERRUPTED and not table.complete.any():
            raise KeyboardInterrupt  # nothing was compared: there is no choice to make
        self.cv_results_ = tabulate(table, gammas, Cs)
        self.best_index_ = choose(table, gammas, Cs, self.rule)
        self._say_what_is_missing(table, search)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.edges_ = at_edges(self.best_params_, gammas, Cs)
        if not self.extend:
            self._say_what_is_at_an_edge()
        if self.refit:
            g, i = divmod(self.best_index_, len(Cs))
            if isinstance(gammas[g], np.ndarray):
                data.X = gammas[g]
            self._refit(plain, data, table.starts.get((g, i)), clock)
            if self.conformal:
                truth = data.y[:, 0] if data.codes is None else data.codes
                calibrate_by_folds(plain, data, folds, truth, clock.left)
        return self

    def _search(
        self, plain: Any, data: Data, folds: Any, score: Any, grid: tuple[Any, Any], clock: Clock
    ) -> tuple[Search, Any, Any, Any]:
        """Search a grid and, if asked for, beyond its edges until the best is inside."""
        gammas, Cs = grid
        report = Reporter(self, len(gammas) * len(Cs) * len(folds))
        arguments = plain, data, folds, score
        search = self._make_search(*arguments, (gammas, Cs), clock, report)
        table, seen = search.run(), self._seen
        room = {0: MOST, 1: MOST}
        while self.extend and not search.stopped:
            cell = divmod(choose(table, gammas, Cs, self.rule), len(Cs))
            part = beyond(cell, table.means, gammas, Cs, room)
            if part is None:
                break
            report.total = len(part.gammas) * len(part.Cs) * len(folds)
            search = self._make_search(*arguments, (part.gammas, part.Cs), clock, report)
            table = join(table, search.run(), part)
            if part.axis == 0:
                gammas = [*part.gammas, *gammas] if part.below else [*gammas, *part.gammas]
            else:
                Cs = np.concatenate([part.Cs, Cs] if part.below else [Cs, part.Cs])
            if seen is not None:
                pair = (self._seen, seen) if part.below else (seen, self._seen)
                seen = np.concatenate(pair, axis=part.axis)
        if seen is not None:
            self._seen = seen
        report.end()
        return search, table, gammas, Cs

    def _make_search(
        self,
        plain: Any,
        data: Data,
        folds: Any,
        score: Any,
        grid: tuple[Any, Any],
        clock: Clock,
        report: Reporter,
    ) -> Search:
        """Prepare the search of a grid."""
        gammas, Cs = grid
        exact = self.search_tol is None
        loss = getattr(plain, "_loss", None)
        closed = has_closed_form(loss, data.weight, len(folds), clock.left)
        closed = closed and not has_rank(plain, len(data))
        precise = exact or closed or self.search_tol < SINGLE
        with one_blas_thread() as threads:
            workers = threads if self.n_jobs in (None, -1) else self.n_jobs
        return Search(
            plain,
            data,
            folds,
            score,
            share(plain, data, gammas, folds, None if precise else "float32", workers),
            Cs,
            tol=plain.tol if self.search_tol is None else self.search_tol,
            exact=exact,
            closed=closed,
            settings={
                name: getattr(plain, name)
                for name in ("fit_intercept", "solver", "max_iter", "random_state")
            },
            time_limit=None if clock.left is None else SEARCH_SHARE * clock.left,
            watch=report,
            see=self._see(data, folds, (len(gammas), len(Cs))),
        )

    def _read_kernels(self, plain: Any, X: Any) -> list[Any] | None:
        """Kernels or matrices in the place of gammas; the first kernel says how to read X."""
        if not hasattr(plain, "kernel"):
            return None
        kernels = as_kernels(self.gammas, plain._is_precomputed(), _num_samples(X))
        if kernels is not None and not plain._is_precomputed():
            plain.kernel, plain._candidates = kernels[0], kernels
        return kernels

    def _grid(self, plain: Any, data: Data, kernels: list[Any] | None) -> list[Any]:
        """Give what takes the place of gamma: values, kernels, matrices, or None."""
        if kernels is None:
            tunes_gamma = has_gamma(getattr(plain, "kernel", None))
            if not tunes_gamma:
                return [None]
            return as_gammas(self.gammas, plain.kernel, data.X, data.weight).tolist()
        if plain._is_precomputed() and len(data) < len(kernels[0]):
            return [K[np.ix_(data.kept, data.kept)] for K in kernels]
        return kernels

    def _see(self, data: Data, folds: Any, shape: tuple[int, int]) -> Any:
        """Look at held-out scores as they come; not needed by most."""
        return None

    def _check_parameters(self) -> None:
        """Refuse what would show only after the search."""
        if self.conformal and not self.refit:
            raise ValueError("conformal=True calibrates the last fit; it needs refit=True.")
        if self.rule not in ("best", "one_standard_error"):
            raise ValueError(f"rule={self.rule!r} must be 'best' or 'one_standard_error'.")
        if self.search_tol is not None and not 0 < self.search_tol < 1:
            raise ValueError(
                f"search_tol={self.search_tol!r} must be a relative gap between 0 and 1, or None "
                "for tol itself."
            )
        jobs = self.n_jobs
        if jobs is not None and (not isinstance(jobs, int) or jobs < -1 or jobs == 0):
            raise ValueError(f"n_jobs={jobs!r} must be a number of threads, -1 or None.")

    def _say_what_is_at_an_edge(self) -> None:
        for name, edge in self.edges_.items():
            warnings.warn(
                f"The best {name}={self.best_params_[name]:.4g} is the {edge} of its grid: better "
                f"ones may lie beyond. Give {name}s that reach further, or extend=True.",
                UserWarning,
                stacklevel=5,
            )

    def _say_what_is_missing(self, table: Any, search: Search) -> None:
        missing = np.count_nonzero(~table.complete)
        short = np.count_nonzero((table.reached & ~(table.gaps <= search.tol)).any(axis=2))
        if short and not search.exact:
            cause = "Rounding" if self.max_iter is None else f"max_iter={self.max_iter}"
            warnings.warn(
                f"{cause} ended the search of {short} of {table.complete.size} "
                f"pairs before search_tol={self.search_tol:g}; the largest relative gap is "
                f"{table.gaps[table.reached].max():.2e}. Raise "
                f"{'' if self.max_iter is None else 'max_iter or '}search_tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if missing and search.status != Status.INTERRUPTED:
            by_callback = search.status == Status.CALLBACK
            cause = "A callback" if by_callback else f"time_limit={self.time_limit:g} s"
            warnings.warn(
                f"{cause} ended the search with {missing} of "
                f"{table.complete.size} pairs of gamma and C missing; the best of the others was "
                "chosen. Raise time_limit or narrow the grid.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _refit(self, plain: Any, data: Data, start: Any, clock: Clock) -> None:
        """Fit the winner on all samples, to the full tolerance."""
        chosen = {name: x for name, x in self.best_params_.items() if name != "matrix"}
        plain.set_params(**chosen)
        if clock.left is not None:
            plain.time_limit = max(clock.left, 1e-3)  # for one iteration
        if self.search_status_ == Status.INTERRUPTED:
            plain.time_limit = 1.0  # whoever presses Ctrl-C does not want to wait
        if start is not None:
            plain.warm_start, plain._coef = True, start
        plain._fit_data(data)
        plain.set_params(time_limit=self.time_limit, warm_start=False)
        self.best_estimator_ = plain

    def _best(self) -> Any:
        """Return the winner, fitted on all samples."""
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"This {type(self).__name__} has refit=False, so it has no model to predict with: "
                "fit one with best_params_, or set refit=True."
            )
        return self.best_estimator_

    @property
    def n_iter_(self) -> Any:
        """Number of iterations of the last fit."""
        return self._best().n_iter_

    @property
    def dual_gap_(self) -> Any:
        """Duality gap of the last fit."""
        return self._best().dual_gap_

    @property
    def solver_(self) -> str:
        """Algorithm of the last fit."""
        return self._best().solver_

    @property
    def status_(self) -> Status:
        """Why the search or the last fit stopped, whichever is worse."""
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            return self.search_status_
        return max(self.search_status_, self.best_estimator_.status_)

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Predictions of the best estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray
        """
        return self._best().predict(X, offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Score of the best estimator by `scoring`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        float
        """
        from sklearn.metrics import check_scoring

        args = {} if sample_weight is None else {"sample_weight": sample_weight}
        best = self._best()
        if offset is not None:
            known = best._with_offset(best._scores(X), offset)
            best = copy.copy(best)
            best._scores = lambda _: known
        return float(check_scoring(best, self.scoring)(best, X, y, **args))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self._plain().__sklearn_tags__()
        tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        return tags


def _has_probabilities(estimator: Any) -> bool:
    """Whether the estimator that is tuned has probabilities; if not, it says which does."""
    return callable(estimator._plain().predict_proba)


class CrossValidatedRegressor(CrossValidated):
    """What the regressors share."""

    def predict_interval(self, X: Any, coverage: float = 0.9, offset: Any = None) -> np.ndarray:
        """Intervals that hold the target with a probability that is asked for.

        They need ``conformal=True``, for which no row is set aside: the chosen model is fitted
        without each fold too (CV+, see :mod:`resolvent.conformal`). In theory they hold a new
        target with probability 1 - 2 (1 - coverage), less what vanishes with the number of rows; in
        practice with about `coverage`, on average over rows that are exchangeable. That C and gamma
        were chosen on the same folds is not part of the theory.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        coverage : float, default=0.9
            Strictly between 0 and 1; any, at any time.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends. They hold the prediction, widen with the coverage, and are
            infinite where there are too few rows for it.
        """
        return self._best().predict_interval(X, coverage, offset)


class CrossValidatedClassifier(CrossValidated):
    """What the classifiers share."""

    def predict_set(self, X: Any, coverage: float = 0.9, offset: Any = None) -> np.ndarray:
        """Labels, in sets that hold the true one with a probability that is asked for.

        They need ``conformal=True``; the guarantee is that of `predict_interval` of regressors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        coverage : float, default=0.9
            Strictly between 0 and 1; any, at any time.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Which of `classes_` are in the set of each sample; that of `predict` always is.
        """
        return self._best().predict_set(X, coverage, offset)

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self._best().classes_

    def decision_function(self, X: Any, offset: Any = None) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for a precomputed kernel, its values against the training samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive for the second.
        """
        return self._best().decision_function(X, offset)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Probabilities of the classes, for losses that model them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._best().predict_proba(X, offset)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), optional
            Known part of the scores of these samples; None is zero.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._best().predict_log_proba(X, offset)
