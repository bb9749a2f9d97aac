"""Linear models by sums over blocks, beside the solver of the whole data."""

import numpy as np
import pytest
from scipy import sparse

from resolvent import Status, gram, solve
from resolvent.blocks import ArraySource, Block, Local, Source, as_source, solve_blocks
from resolvent.losses import LOSSES, Envelope, Logistic
from resolvent.problem import Problem

TOL = 1e-5


def problem_of(loss, n=600, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = 0.7 * X @ rng.normal(size=d)
    kind = getattr(LOSSES[loss], "targets", "real")
    y = z + rng.standard_t(3, size=n)
    if kind == "sign":
        y = np.where(y > -0.4, 1.0, -1.0)
    if kind == "nonnegative":
        y = rng.poisson(np.exp(0.5 * z)).astype(float)
    if kind == "positive":
        y = rng.gamma(2.0, np.exp(0.5 * z))
    return X, y, rng.integers(0, 4, size=n) / 2.0


def check(found, loss, X, y, C, weight, intercept, tol=TOL):
    """The bounds hold the optimum between them, and the primal is that of the model."""
    exact = solve(
        *(loss, gram(X, "linear"), y, C),
        sample_weight=weight,
        fit_intercept=intercept,
        tol=1e-9,
        warn=False,
    )
    slack = 1e-9 * abs(exact.primal) + exact.gap
    assert found.status == Status.CONVERGED
    assert found.gap <= tol * max(abs(found.primal), abs(found.dual))
    assert found.dual - slack <= exact.primal <= found.primal + slack
    scores = X @ found.weights + found.intercept
    C_i = C * (np.ones(len(y)) if weight is None else weight)
    losses = sum(
        c * LOSSES[loss]().value(t, s)
        for c, t, s in zip(C_i.tolist(), y.tolist(), scores.tolist(), strict=True)
    )
    primal = losses + 0.5 * found.weights @ found.weights
    assert primal == pytest.approx(found.primal, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [1e-2, 10.0])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_agrees_with_solve(loss, C, weighted, intercept):
    X, y, weight = problem_of(loss)
    weight = weight if weighted else None
    source = ArraySource(X, y, weight, rows=97)
    found = solve_blocks(loss, source, C, fit_intercept=intercept, tol=TOL)
    check(found, loss, X, y, C, weight, intercept)


@pytest.mark.parametrize("rows", [1, 10, 64, 600])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_size_of_blocks_does_not_matter(loss, rows):
    X, y, weight = problem_of(loss, n=120)
    found = solve_blocks(loss, ArraySource(X, y, weight, rows=rows), 1.0, tol=TOL)
    check(found, loss, X, y, 1.0, weight, True)


@pytest.mark.parametrize("loss", ["absolute", "logistic"])
def test_the_same_bits_whatever_the_threads(loss):
    X, y, weight = problem_of(loss, n=2000)
    runs = [
        solve_blocks(loss, Local(ArraySource(X, y, weight, rows=70), workers), 1.0, tol=TOL)
        for workers in (1, 2, 5)
    ]
    for other in runs[1:]:
        assert (other.weights == runs[0].weights).all()
        assert [r[2:] for r in map(tuple, other.history)] == [
            r[2:] for r in map(tuple, runs[0].history)
        ]


def test_weights_whose_squares_overflow_are_refused():
    source = as_source(np.eye(3), np.ones(3), np.full(3, 1e300))
    with pytest.raises(ValueError, match=r"objective overflows.*scale them down"):
        solve_blocks("squared", source)


def test_sparse_rows_and_single_precision():
    X, y, _ = problem_of("squared_hinge")
    X[np.abs(X) < 1.0] = 0.0
    X = X.astype(np.float32)
    dense = solve_blocks("squared_hinge", ArraySource(X, y, rows=50), tol=1e-8)
    csr = solve_blocks("squared_hinge", ArraySource(sparse.csr_array(X), y, rows=50), tol=1e-8)
    check(csr, "squared_hinge", X.astype(float), y, 1.0, None, True, tol=1e-8)
    assert csr.primal == pytest.approx(dense.primal, rel=1e-8)


def test_columns_of_targets_are_solved_together():
    X, y, _ = problem_of("epsilon_insensitive")
    Y = np.column_stack([y, 2.0 * y + 1.0])
    found = solve_blocks("epsilon_insensitive", ArraySource(X, Y, rows=100), tol=TOL)
    assert found.weights.shape == (7, 2)
    assert found.gap.shape == (2,)
    for j in range(2):
        one = solve_blocks("epsilon_insensitive", ArraySource(X, Y[:, j], rows=100), tol=TOL)
        assert found.primal[j] == pytest.approx(one.primal, rel=2 * TOL)


@pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
def test_labels(labels):
    X, _, _ = problem_of("hinge")
    codes = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.6][: len(labels) - 1])
    y = np.array(labels)[codes]
    found = solve_blocks("logistic", ArraySource(X, y, rows=80), classes=labels, tol=TOL)
    for j, label in enumerate(labels[len(labels) == 2 :]):
        one = solve_blocks("logistic", ArraySource(X, np.where(y == label, 1.0, -1.0)), tol=TOL)
        assert np.ravel(found.primal)[j] == pytest.approx(one.primal, rel=2 * TOL)


@pytest.mark.parametrize("seed", range(12))
def test_hard_small_problems(seed):
    """Few rows for each feature, scales that differ, equal rows, most weights zero."""
    rng = np.random.default_rng(seed)
    loss = list(LOSSES)[seed % len(LOSSES)]
    X, y, weight = problem_of(loss, n=60, d=25, seed=seed)
    X *= 10.0 ** rng.uniform(-2, 1, size=25)
    X[10:20] = X[10]
    weight[rng.random(60) < 0.3] = 0.0
    found = solve_blocks(loss, ArraySource(X, y, weight, rows=7), 1.0, tol=1e-4)
    check(found, loss, X, y, 1.0, weight, True, tol=1e-4)


def test_a_loss_of_ones_own_and_an_envelope():
    X, y, _ = problem_of("absolute")
    found = solve_blocks(Envelope(LOSSES["absolute"](), 2.0), ArraySource(X, y), tol=TOL)
    huber = solve("absolute", gram(X, "linear"), y, fit_intercept=True)
    assert found.primal < huber.primal


def test_limits_leave_the_best_so_far_with_its_gap():
    X, y, _ = problem_of("hinge")
    source = ArraySource(X, y, rows=100)
    exact = solve("hinge", gram(X, "linear"), y, fit_intercept=True)
    for settings, status in (
        ({"max_iter": 4}, Status.MAX_ITER),
        ({"time_limit": 0.0}, Status.TIME_LIMIT),
        ({"callback": lambda record: record.iteration == 3}, Status.CALLBACK),
    ):
        found = solve_blocks("hinge", source, **settings, warn=False)
        assert found.status == status
        assert found.dual <= exact.primal <= found.primal
        problem = Problem("hinge", gram(X, "linear"), y)
        scores = X @ found.weights + found.intercept
        primal = problem.risk.fenchel(0, np.zeros(600), scores, 0.0)[0]
        assert primal + 0.5 * found.weights @ found.weights == pytest.approx(found.primal)


class Interrupting(Source):
    """Ctrl-C while block 3 is loaded for the `count`-th time."""

    def __init__(self, source, count):
        self.source, self.left, self.n_blocks = source, count, source.n_blocks

    def load(self, i):
        self.left -= i == 3
        if self.left == 0:
            raise KeyboardInterrupt
        return self.source.load(i)

    def place(self, i):
        return self.source.place(i)


def test_an_interrupt_leaves_the_best_so_far():
    X, y, _ = problem_of("hinge")
    source = Interrupting(ArraySource(X, y, rows=100), 6)
    found = solve_blocks("hinge", Local(source, 1), on_interrupt="return", warn=False)
    assert found.status == Status.INTERRUPTED
    exact = solve("hinge", gram(X, "linear"), y, fit_intercept=True)
    assert found.dual <= exact.primal <= found.primal < 600.0
    source = Interrupting(ArraySource(X, y, rows=100), 6)
    with pytest.raises(KeyboardInterrupt):
        solve_blocks("hinge", Local(source, 1))


def test_tolerance_zero_goes_to_the_limit_of_rounding():
    for loss in ("squared", "logistic", "hinge"):
        X, y, _ = problem_of(loss)
        found = solve_blocks(loss, ArraySource(X, y, rows=100), tol=0.0)
        assert found.status == Status.PRECISION_LIMIT
        assert found.gap <= 1e-8 * found.primal


def set_at(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def test_what_is_wrong_is_said():
    X, y, weight = problem_of("hinge")
    wide = sparse.random_array((50, 4000), density=0.01, format="csr")
    for message, loss, data, settings in (
        ("couples several scores", "crammer_singer", (X, y), {"classes": (-1, 1)}),
        ("needs classes=", "multinomial", (X, y), {}),
        ("rows 100 to 199: y must be -1 or", "hinge", (X, set_at(y, 150, 3.0)), {}),
        ("all on one side", "logistic", (X, np.ones(600)), {}),
        ("rows 200 to 299: sample_weight", "hinge", (X, y, set_at(weight, 250, -1.0)), {}),
        ("rows 0 to 99: X contains nan", "hinge", (set_at(X, (3, 3), np.nan), y), {}),
        ("All weights", "hinge", (X, y, 0.0 * weight), {}),
        (
            "rows 100 to 199: y has the label",
            "hinge",
            (X, set_at(y, 150, 3.0)),
            {"classes": (-1, 1)},
        ),
        ("derivatives of 4000", "squared", (wide, np.ones(50)), {"memory_limit": "100MB"}),
    ):
        with pytest.raises(ValueError, match=message):
            solve_blocks(loss, ArraySource(*data, rows=100), **settings)


def test_blocks_of_other_widths_are_refused():
    class Odd(ArraySource):
        def load(self, i):
            block = super().load(i)
            return Block(block.X[:, :-1], block.y) if i == 2 else block

    X, y, _ = problem_of("hinge")
    with pytest.raises(ValueError, match="Blocks do not belong together"):
        solve_blocks("hinge", Odd(X, y, rows=100))


def test_scores_that_overflow_on_the_way():
    rng = np.random.default_rng(0)
    X = 30.0 * rng.normal(size=(500, 3))
    y = rng.poisson(np.exp(np.minimum(0.05 * X.sum(axis=1), 12.0))).astype(float)
    found = solve_blocks("poisson", ArraySource(X, y, rows=50), 100.0, tol=1e-8)
    check(found, "poisson", X, y, 100.0, None, True, tol=1e-8)


def test_constant_targets():
    X, _, _ = problem_of("squared")
    for loss in ("squared", "absolute", "hinge"):
        found = solve_blocks(loss, ArraySource(X, np.ones(600), rows=100))
        assert found.status <= Status.PRECISION_LIMIT
        assert found.primal <= 1e-9


def test_logistic_loss_needs_few_passes():
    X, y, _ = problem_of("logistic", n=4000)
    assert solve_blocks(Logistic(), as_source(X, y), 1.0).n_iter <= 12
