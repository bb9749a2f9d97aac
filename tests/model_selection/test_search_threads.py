"""A search finds the same with any number of threads, whatever fits into memory."""

import numpy as np
import pytest

from resolvent import KernelClassifierCV, KernelQuantileRegressorCV
from resolvent.model_selection import search

N = 300


@pytest.fixture(scope="module")
def noisy():
    """Three classes that overlap: most samples become support vectors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 5))
    return X, (X[:, :2].sum(axis=1) + rng.standard_normal(N) > [[-0.7], [0.7]]).sum(axis=0)


def scores(X, y, **settings):
    model = KernelClassifierCV(Cs=[0.1, 3.0, 100.0], gammas=2, cv=3, refit=False, **settings)
    results = model.fit(X, y).cv_results_
    return np.array([results[f"split{k}_test_score"] for k in range(3)])


@pytest.mark.parametrize("kernel", ["rbf", "matern", "laplacian"])
@pytest.mark.parametrize("rows", [60, 1.5 * N, 2.5 * N, 40 * N])
def test_threads_do_not_change_scores(rows, kernel, noisy):
    """Memory for a part of one matrix, for one, for two (of "rbf", one with distances), for all."""
    limit = int(rows * N * np.float32().itemsize)
    alone = scores(*noisy, kernel=kernel, memory_limit=limit, n_jobs=1)
    for n_jobs in (2, 3):
        together = scores(*noisy, kernel=kernel, memory_limit=limit, n_jobs=n_jobs)
        np.testing.assert_array_equal(together, alone)


def test_memory_changes_scores_within_the_tolerance_only(noisy):
    """Other blocks are chosen, but to a small gap the held-out scores are the same."""
    settings = {"kernel": "matern", "search_tol": 1e-5, "n_jobs": 2}
    tight, ample = (scores(*noisy, memory_limit=rows * N * 8, **settings) for rows in (60, 40 * N))
    np.testing.assert_allclose(tight, ample, atol=1.01 / (N / 3))  # one sample on the boundary


def test_order_of_folds_does_not_change_scores(monkeypatch):
    """Folds that are left to the splitting method come to it in the order in which they end."""
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (20, 1)).astype(float)
    y, weight = rng.poisson(2.0, 20), 10.0 ** rng.uniform(-6, 6, 20)
    together = []

    def backwards(function, tasks, **settings):
        """Within each gamma, the last fold first."""
        if len(tasks[0]) == 2:
            tasks = sorted(tasks, key=lambda task: (task[0], -task[1]))
        plain(function, tasks, **settings)

    def joined(splitting, walkers, C):
        together.append(len(walkers))
        return solved_together(splitting, walkers, C)

    plain, solved_together = search.run, search.together
    monkeypatch.setattr(search, "together", joined)
    found = []
    for run in (plain, backwards):
        monkeypatch.setattr(search, "run", run)
        model = KernelQuantileRegressorCV(
            (0.1, 0.5, 0.8), kind="expectile", Cs=[8e4, 8e5], gammas=2, cv=3, n_jobs=1,
            fit_intercept=False, refit=False,
        )  # fmt: skip
        found.append(model.fit(X, y, weight).cv_results_["mean_test_score"])
    assert max(together) > 3  # problems of more than one fold
    np.testing.assert_array_equal(*found)
