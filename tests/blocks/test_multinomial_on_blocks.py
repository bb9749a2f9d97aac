"""Multinomial models on blocks of rows: the optimum of one fit in memory, with its certificate."""

import numpy as np
import pytest
from scipy import sparse

from resolvent import KernelClassifier, LinearClassifier, Status
from resolvent.blocks import ArraySource, solve_blocks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4)) * [1.0, 3.0, 0.3, 1.0] + [0.0, 2.0, 0.0, 0.0]
S = X @ [1.0, -0.5, 0.0, 0.25] + 1.0 + 0.3 * RNG.normal(size=500)
THREE = np.array([3, 5, 8])[np.digitize(S, [-0.5, 0.5])]
WEIGHT = RNG.integers(0, 3, 500).astype(float)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_optimum_is_that_of_a_fit_in_memory(C, fit_intercept):
    found = solve_blocks(
        "multinomial",
        ArraySource(X, THREE, WEIGHT, rows=60),
        C,
        classes=(3, 5, 8),
        fit_intercept=fit_intercept,
    )
    best = LinearClassifier("multinomial", C=C, fit_intercept=fit_intercept, tol=1e-9)
    best.fit(X, THREE, WEIGHT)
    assert found.status == Status.CONVERGED
    assert found.gap <= 1e-5 * found.primal
    assert found.primal - found.gap <= best.objective_
    assert best.objective_ - best.dual_gap_ <= found.primal
    assert (found.weights.shape, found.intercept.shape) == ((4, 3), (3,))
    assert (found.intercept == 0.0).all() or fit_intercept


def test_every_gap_on_the_way_holds():
    """Bounds before the end, where sums of coefficients are not zero yet."""
    source = ArraySource(X, THREE, rows=100)
    best = LinearClassifier("multinomial", C=10.0, tol=1e-9).fit(X, THREE)
    found = solve_blocks("multinomial", source, 10.0, classes=(3, 5, 8))
    assert len(found.history) > 4
    for record in found.history[1:]:
        assert record.primal[0] - record.gap[0] <= best.objective_ <= 1.0001 * record.primal[0]
    assert np.isfinite([record.gap[0] for record in found.history[1:]]).all()
    middle = found.history[len(found.history) - 3]
    assert middle.gap[0] < 0.5 * found.history[1].gap[0]


def test_the_same_bits_for_any_number_of_threads():
    from resolvent.blocks import Local

    source = ArraySource(X, THREE, rows=60)
    found = [
        solve_blocks("multinomial", Local(source, workers), classes=(3, 5, 8)) for workers in (1, 3)
    ]
    assert found[0].weights.tobytes() == found[1].weights.tobytes()
    assert found[0].gap == found[1].gap


def test_estimators_and_sparse_rows():
    rows = np.where(abs(X) > 0.7, X, 0.0)
    for labels in (THREE, np.where(S > 1.0, "up", "down")):
        source = ArraySource(sparse.csr_matrix(rows), labels, rows=90)
        ours = LinearClassifier("multinomial", class_weight="balanced").fit(source)
        theirs = LinearClassifier("multinomial", class_weight="balanced").fit(rows, labels)
        np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-2)
        assert ours.dual_gap_ <= 1e-5 * ours.objective_
        assert ours.coef_.shape == theirs.coef_.shape


def test_landmarks():
    source = ArraySource(X, THREE, rows=90)
    settings = {"rank": 60, "certificate": "subspace", "random_state": 0}
    ours = KernelClassifier("multinomial", **settings).fit(source)
    theirs = KernelClassifier("multinomial", **settings).fit(X, THREE)
    assert ours.status_ == theirs.status_ == Status.SUBSPACE
    assert np.ndim(ours.dual_gap_) == np.ndim(ours.approximation_gap_) == 0
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.97


def test_wrong_labels():
    with pytest.raises(ValueError, match="rows 0 to 83: y has a label"):
        solve_blocks("multinomial", ArraySource(X, THREE, rows=90), classes=(3, 5))
