"""Searches at a rank: shared values of landmarks, no fold learns from what it holds out."""

import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from resolvent import (
    KernelClassifier,
    KernelClassifierCV,
    KernelQuantileRegressorCV,
    KernelRegressor,
    KernelRegressorCV,
    Status,
)
from resolvent.kernels import RBF, Laplacian, pairwise
from resolvent.model_selection import landmarks as shared
from resolvent.model_selection.search import Search, StoppedError

rng = np.random.default_rng(4)
X = rng.standard_normal((150, 3))
F = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(150)
LABELS = np.digitize(F, [-0.4, 0.4])
WEIGHT = rng.uniform(0.5, 2.0, 150) * (np.arange(150) % 7 > 0)
GRID = {"Cs": [0.5, 5.0], "gammas": [0.1, 0.5]}
TIGHT = {**GRID, "search_tol": None, "tol": 1e-9, "cv": KFold(3), "refit": False}


class Held:
    """A scorer whose scores are the predictions for one sample, told by its first column."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, machine, X, y):
        scores = machine._scores(None)
        at = np.flatnonzero(X[:, 0] == self.mark)
        return float(scores[at[0], 0]) if len(at) else 0.0


@pytest.mark.parametrize("search", [KernelRegressorCV("huber"), KernelClassifierCV("logistic")])
@pytest.mark.parametrize("landmarks", ["rpcholesky", list(range(0, 150, 5))])
def test_held_out_rows_do_not_leak(search, landmarks):
    """The prediction for a held-out row is the same whatever the other held-out rows are."""
    y = F if isinstance(search, KernelRegressorCV) else LABELS > 0
    rank = 20 if isinstance(landmarks, str) else None
    seen = 7  # in the first fold's test rows, 0 to 49
    search.set_params(**TIGHT, rank=rank, landmarks=landmarks, scoring=Held(X[seen, 0]))
    moved = X.copy()
    others = np.setdiff1d(np.arange(50), [seen])
    moved[others] = 3.0 + 2.0 * rng.standard_normal((49, 3))
    before = search.fit(X, y).cv_results_["split0_test_score"]
    after = search.fit(moved, y).cv_results_["split0_test_score"]
    np.testing.assert_allclose(after, before, rtol=1e-6)
    assert np.ptp(before) > 0.0


@pytest.mark.parametrize(
    ("search", "plain", "y"),
    [
        (KernelRegressorCV("absolute"), KernelRegressor("absolute"), F),
        (KernelRegressorCV("squared"), KernelRegressor("squared"), F),
        (KernelClassifierCV("logistic"), KernelClassifier("logistic"), LABELS),
        (KernelClassifierCV("multinomial"), KernelClassifier("multinomial"), LABELS),
        (
            KernelClassifierCV("squared_hinge", multi_class="ovo"),
            KernelClassifier("squared_hinge", multi_class="ovo"),
            LABELS,
        ),
    ],
    ids=lambda x: str(x)[:50],
)
def test_scores_are_those_of_cold_fits(search, plain, y):
    """With landmarks as rows each fold is a fit of the ordinary estimator."""
    rows = rng.standard_normal((12, 3))
    folds = KFold(3)
    grid = {"gamma": GRID["gammas"], "C": GRID["Cs"]}
    plain.set_params(landmarks=rows, certificate="subspace", tol=1e-9)
    naive = GridSearchCV(plain, grid, cv=folds, refit=False).fit(X, y).cv_results_
    found = search.set_params(**TIGHT, landmarks=rows).fit(X, y).cv_results_
    expected = {(p["gamma"], p["C"]): naive["mean_test_score"][i] for i, p in each(naive)}
    for i, p in each(found):
        score = expected[p["gamma"], p["C"]]
        assert found["mean_test_score"][i] == pytest.approx(score, rel=1e-5)


def each(results):
    return enumerate(results["params"])


def test_fold_learns_on_its_own_landmarks():
    """Indices that a fold holds out are dropped: the rest are that fold's landmarks."""
    given = np.arange(0, 150, 6)
    search = KernelRegressorCV("huber", landmarks=given, **TIGHT).fit(X, F)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        rows = X[np.intersect1d(given, train)]
        plain = KernelRegressor("huber", gamma=0.5, C=5.0, landmarks=rows, tol=1e-9)
        expected = plain.fit(X[train], F[train]).score(X[test], F[test])
        assert search.cv_results_[f"split{k}_test_score"][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_all_landmarks_are_the_exact_search(weight):
    exact = KernelClassifierCV("logistic", **TIGHT).fit(X, LABELS, sample_weight=weight)
    whole = KernelClassifierCV("logistic", rank=150, **TIGHT).fit(X, LABELS, sample_weight=weight)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(whole.cv_results_[name], exact.cv_results_[name], atol=1e-6)


@pytest.mark.parametrize("cv", [KFold(4), LeaveOneOut(), ShuffleSplit(3, test_size=0.6)])
def test_every_fold_has_the_rank(cv):
    folds = [shared.Fold(train, test) for train, test in cv.split(X)]
    span = shared.Span(20, "uniform", 0)
    found = shared.SharedLandmarks(X, lambda _: RBF(0.3), [None], folds, span, None, None, 2)
    for index, fold in zip(found.of, folds, strict=True):
        assert len(index) == 20
        assert np.isin(index, fold.train).all()
    assert len(found.every) <= 60


def test_kernel_is_computed_once_for_all_folds():
    """Between all samples and the landmarks of all folds, and among landmarks."""
    count = 0

    def kernel(A, B):
        nonlocal count
        count += len(A) * len(B)
        return RBF(0.3)(np.asarray(A), np.asarray(B))

    settings = {"Cs": [0.1, 1.0, 10.0], "search_tol": None, "refit": False, "cv": 5}
    KernelRegressorCV("huber", kernel, rank=20, **settings).fit(X, F)
    assert count <= 2 * 150 * 25  # of 25 landmarks; each fold by itself would be 5 * 150 * 20


def test_memory_that_holds_one_fold(monkeypatch):
    kept = KernelRegressorCV("huber", rank=20, **TIGHT).fit(X, F)
    tight = KernelRegressorCV("huber", rank=20, memory_limit=150 * 25 * 8, **TIGHT)
    made = []
    real = shared.StoredColumns
    monkeypatch.setattr(shared, "StoredColumns", lambda *args: made.append(1) or real(*args))
    tight.fit(X, F)
    assert not made
    expected = kept.cv_results_["mean_test_score"]
    np.testing.assert_allclose(tight.cv_results_["mean_test_score"], expected, rtol=1e-9)


def test_threads_make_no_difference():
    one, two = (KernelClassifierCV(rank=20, n_jobs=jobs, **GRID).fit(X, LABELS) for jobs in (1, 2))
    scores, gaps = "mean_test_score", "max_relative_gap"
    np.testing.assert_array_equal(one.cv_results_[scores], two.cv_results_[scores])
    np.testing.assert_allclose(one.cv_results_[gaps], two.cv_results_[gaps], rtol=1e-10)


def test_forms_of_data():
    plain = {**GRID, "cv": KFold(3), "rank": 25}
    dense = KernelClassifierCV(**plain).fit(X, LABELS)
    csr = KernelClassifierCV(**plain).fit(sparse.csr_array(X), LABELS)
    scores = dense.cv_results_["mean_test_score"]
    np.testing.assert_allclose(csr.cv_results_["mean_test_score"], scores, atol=0.02)
    kernels = [RBF(0.1), RBF(0.5) + 0.5 * Laplacian(0.2)]
    of_kernels = KernelClassifierCV(**plain | {"gammas": kernels}).fit(X, LABELS)
    assert of_kernels.best_params_["kernel"] in kernels
    matrices = [kernel(X) for kernel in kernels]
    of_matrices = KernelClassifierCV(kernel="precomputed", **plain | {"gammas": matrices})
    of_matrices.fit(matrices[0], LABELS)
    np.testing.assert_allclose(
        of_matrices.cv_results_["mean_test_score"],
        of_kernels.cv_results_["mean_test_score"],
        atol=0.02,
    )
    words = [format(i, "b") for i in range(60)]
    kernel = pairwise(lambda a, b: float(sum(a.count(x) * b.count(x) for x in "01")))
    odd = KernelClassifierCV(kernel=kernel, Cs=[1.0], rank=5, cv=3)
    assert odd.fit(words, [word.count("1") > 3 for word in words]).rank_ == 2  # that of the kernel


def test_chosen_model_and_its_certificate():
    found = KernelClassifierCV("logistic", rank=25, **GRID).fit(X, LABELS, sample_weight=WEIGHT)
    best = found.best_params_
    plain = KernelClassifier("logistic", rank=25, **best).fit(X, LABELS, sample_weight=WEIGHT)
    exact = KernelClassifier("logistic", **best).fit(X, LABELS, sample_weight=WEIGHT)
    assert found.rank_ == 25
    assert found.certificate_ == "exact"
    assert found.status_ == Status.RANK_LIMIT
    np.testing.assert_array_equal(found.landmarks_, plain.landmarks_)
    np.testing.assert_allclose(found.best_estimator_.objective_, plain.objective_, rtol=1e-4)
    assert np.all(found.dual_gap_ >= found.best_estimator_.objective_ - exact.objective_)
    np.testing.assert_allclose(found.optimization_gap_ + found.approximation_gap_, found.dual_gap_)


def test_quantiles():
    band = KernelQuantileRegressorCV((0.1, 0.9), rank=20, **GRID).fit(X, F)
    assert 0.6 < band.band_coverage_ < 0.95
    assert band.landmarks_.shape == (20,)
    assert band.dual_gap_.shape == band.approximation_gap_.shape == (2,)


def test_auto_searches_at_a_modest_rank(monkeypatch):
    from resolvent.approximation import growth
    from resolvent.model_selection import shared as sharing

    monkeypatch.setattr(growth, "SMALL", 100)
    monkeypatch.setattr(growth, "FIRST_RANK", 16)
    monkeypatch.setattr(growth, "PASSES", 1e9)
    monkeypatch.setattr(sharing, "SMALL", 100)
    monkeypatch.setattr(shared, "RANK_OF_SEARCH", 20)
    auto = KernelRegressorCV("huber", rank="auto", tol=1e-2, **GRID).fit(X, F)
    fixed = KernelRegressorCV("huber", rank=20, **GRID).fit(X, F)
    assert auto.status_ == Status.CONVERGED
    expected = fixed.cv_results_["mean_test_score"]
    scores = auto.cv_results_["mean_test_score"]  # equal but for the order of BLAS's sums
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


# ---- intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("landmarks", ["uniform", list(range(0, 150, 4)), X[:25] + 0.01])
def test_intervals_are_of_models_without_the_fold(landmarks):
    """The misses of CV+ are those of fits without the fold, on landmarks that it learns from."""
    rank = 20 if isinstance(landmarks, str) else None
    one = {"Cs": [2.0], "gammas": [0.5]}
    search = KernelRegressorCV("huber", normalize_y=False, conformal=True, cv=KFold(3), **one)
    search.set_params(landmarks=landmarks, rank=rank, tol=1e-9).fit(X, F)
    known = search.best_estimator_._calibration
    for k, (train, test) in enumerate(KFold(3).split(X)):
        if isinstance(landmarks, list):
            rows = X[np.intersect1d(landmarks, train)]
        elif isinstance(landmarks, str):
            folds = [shared.Fold(*pair) for pair in KFold(3).split(X)]
            span = shared.Span(20, landmarks, None)
            of = shared.SharedLandmarks(X, lambda _: RBF(0.5), [None], folds, span, None, None, 1)
            rows = X[of.of[k]]
        else:
            rows = landmarks
        plain = KernelRegressor("huber", gamma=0.5, C=2.0, landmarks=rows, normalize_y=False)
        missed = np.abs(
            F[test] - plain.set_params(tol=1e-9).fit(X[train], F[train]).predict(X[test])
        )
        np.testing.assert_allclose(known.scores[known.fold == k], missed, atol=1e-4)
    interval = search.predict_interval(X, 0.9)
    inside = (interval[:, 0] <= F) & (interval[:, 1] >= F)
    assert 0.85 < inside.mean() <= 1.0


def test_sets_of_labels():
    found = KernelClassifierCV("logistic", rank=25, conformal=True, **GRID).fit(X, LABELS)
    sets = found.predict_set(X, 0.8)
    assert 0.75 < sets[np.arange(150), LABELS].mean() <= 1.0


# ---- limits, interrupts and refusals ------------------------------------------------------------


def test_time_limit_keeps_the_best_so_far(monkeypatch):
    def pause(self):
        if np.isfinite(self.table.gaps[1]).all():
            raise StoppedError

    monkeypatch.setattr(Search, "pause", pause)
    search = KernelClassifierCV(Cs=3, gammas=[0.01, 0.1, 1.0], rank=20, n_jobs=1, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="6 of 9 pairs of gamma and C missing"):
        search.fit(X, LABELS)
    assert search.best_params_["gamma"] == 0.1
    assert search.rank_ == 20


def test_no_time_at_all():
    search = KernelClassifierCV(**GRID, rank=20, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning):
        search.fit(X, LABELS)
    assert search.status_ == Status.TIME_LIMIT
    best = KernelClassifier(**search.best_params_).fit(X, LABELS).objective_
    assert np.all(search.dual_gap_ >= search.best_estimator_.objective_ - best)


@pytest.mark.parametrize("stage", ["StoredColumns", "on_landmarks"])
def test_interrupt_in_the_features(monkeypatch, stage):
    """Ctrl-C while values or features of the second gamma are made: the first is kept."""
    calls, real = 0, getattr(shared, stage)

    def interrupted(*arguments):
        nonlocal calls
        calls += 1
        if calls == (2 if stage == "StoredColumns" else 5):
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(shared, stage, interrupted)
    search = KernelClassifierCV("logistic", **GRID, rank=20, cv=4, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, LABELS)
    assert search.status_ == Status.INTERRUPTED
    assert np.isfinite(search.cv_results_["mean_test_score"]).sum() == 2
    assert search.predict(X).shape == LABELS.shape


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank=0 must be"),
        ({"rank": 5, "certificate": "best"}, "certificate='best' is unknown"),
        ({"rank": 5, "landmarks": "best"}, "landmarks='best' is unknown"),
        ({"rank": 50, "memory_limit": 1000}, "memory_limit allows"),
        ({"rank": 5, "landmarks": [1, 2]}, "rank=5, but there are 2 landmarks"),
        ({"landmarks": [1, 200]}, "indices of the 150 samples"),
        ({"landmarks": [1, 2]}, "Fold 0 of cv holds out all 2 landmarks"),
        ({"landmarks": X[:4, :2]}, "2 features"),
    ],
)
def test_refusals_come_before_the_search(monkeypatch, parameters, message):
    monkeypatch.setattr(Search, "run", lambda self: pytest.fail("the search was begun"))
    with pytest.raises(ValueError, match=message):
        KernelClassifierCV(**GRID, cv=KFold(3), **parameters).fit(X, LABELS)


def test_rank_auto_refuses_before_the_search(monkeypatch):
    from resolvent.model_selection import shared as sharing

    monkeypatch.setattr(sharing, "SMALL", 100)
    monkeypatch.setattr(Search, "run", lambda self: pytest.fail("the search was begun"))
    for parameters, message in (
        ({"landmarks": [1, 70]}, "rank='auto' chooses landmarks itself"),
        ({"certificate": "subspace"}, "rank='auto' goes by the gap of the original problem"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelClassifierCV(**GRID, rank="auto", **parameters).fit(X, LABELS)


SMALL_GRID = {"Cs": [0.1, 1.0], "gammas": 2, "cv": 2, "rank": 50}


@parametrize_with_checks(
    [
        KernelClassifierCV(**SMALL_GRID),
        KernelRegressorCV(**SMALL_GRID),
        KernelQuantileRegressorCV(0.8, **SMALL_GRID),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
