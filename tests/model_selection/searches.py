"""Searches to compare with: scikit-learn's own, with cold fits and a kernel each."""

import numpy as np
from samples import losses_for
from sklearn.model_selection import GridSearchCV

from resolvent.losses import LOSSES

CS, GAMMAS = [0.3, 3.0], [0.1, 1.0]
SIGNS = losses_for("sign")
REALS = losses_for("real", "nonnegative", "positive")


def naive(plain, X, y, cv, **grid):
    """Scores by scikit-learn's own search: cold fits, a kernel each."""
    search = GridSearchCV(plain, grid, cv=cv, refit=False).fit(X, y)
    return {tuple(sorted(p.items())): s for p, s in cells(search.cv_results_)}


def cells(results):
    return zip(results["params"], results["mean_test_score"], strict=True)


def allowed(loss, y):
    """Targets that a loss takes."""
    kind = getattr(LOSSES[loss], "targets", "real")
    amounts = {"nonnegative": np.maximum(np.round(y), 0.0), "positive": np.maximum(y, 0.1)}
    return amounts.get(kind, y)


def assert_same_scores(model, expected, **tolerance):
    found = {tuple(sorted(p.items())): s for p, s in cells(model.cv_results_)}
    assert found.keys() == expected.keys()
    for cell, score in expected.items():
        np.testing.assert_allclose(found[cell], score, **tolerance)
