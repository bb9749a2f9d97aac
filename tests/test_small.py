"""Small problems, which are solved and certified in one compiled call, against other solvers."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.preprocessing import scale

import resolvent
from resolvent import Status, gram
from resolvent._solve import unwatched
from resolvent.grams import as_gram
from resolvent.kernels import RBF
from resolvent.losses import LOSSES, as_loss
from resolvent.solvers.small import LARGEST
from resolvent.svm import SVC

solve = partial(resolvent.solve, callback=unwatched)  # as estimators call it

N = 30
GRAMS = {
    "kernel": lambda X: RBF(gamma=0.4)(X),
    "float32": lambda X: RBF(gamma=0.4)(X.astype(np.float32)),
    "linear": lambda X: gram(X, "linear"),
    "sparse": lambda X: gram(sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), "linear"),
}


def data(loss, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    signal = X[:, 0] + 0.7 * rng.standard_normal(n)
    kind = getattr(LOSSES[loss], "targets", "real")
    if kind == "sign":
        return X, np.where(signal > 0, 1.0, -1.0)
    if kind == "nonnegative":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(float)
    if kind == "positive":
        return X, np.exp(0.5 * signal)
    return X, signal


def is_small_path(solution):
    """Two records: that of the start, and that of the end."""
    return len(solution.history) == 2 and solution.status == Status.CONVERGED


def check(loss, K, y, C=1.0, sample_weight=1.0, **options):
    """Solve, and prove the optimum anew, by the losses in plain Python and one product with K."""
    s = solve(loss, K, y, C, sample_weight=sample_weight * np.ones(len(y)), **options)
    loss, C = as_loss(loss), C * sample_weight * np.ones(len(y))
    gram = as_gram(K)
    z = gram.product(s.coef[None])[0]
    scores = s.fitted - s.intercept
    norm = s.coef @ z if s.weights is None else s.weights @ s.weights
    used = C > 0.0
    sums = np.array([C[i] * loss.value(y[i], s.fitted[i]) for i in np.flatnonzero(used)])
    conjugates = [C[i] * loss.conjugate(y[i], -s.coef[i] / C[i]) for i in np.flatnonzero(used)]
    primal, dual = sums.sum() + norm / 2, -np.sum(conjugates) - s.coef @ z / 2
    size = np.abs(sums).sum() + np.abs(conjugates).sum() + norm + 1e-12 * C.sum()
    if s.weights is None:
        np.testing.assert_allclose(scores, z, atol=1e-9 * (1.0 + np.abs(z).max()))
    if options.get("fit_intercept"):
        assert abs(s.coef.sum()) <= 1e-9 * np.abs(s.coef).sum()
    assert s.primal == pytest.approx(primal, abs=1e-9 * size)
    assert s.dual <= dual + 1e-9 * size
    assert s.status == Status.CONVERGED
    nothing = np.finfo(float).eps * sum(C * [loss.value(t, 0.0) for t in y])  # counts as zero
    assert primal - dual <= 1e-5 * max(abs(primal), abs(dual)) + 1e-9 * size + nothing
    return s


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_with_weights(loss, fit_intercept):
    X, y = data(loss)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], N)
    for kind in GRAMS if loss == "hinge" else ("kernel", "linear"):
        for C in (0.1, 30.0):
            a = check(loss, GRAMS[kind](X), y, C, weight, fit_intercept=fit_intercept)
            assert (a.coef[weight == 0.0] == 0.0).all()


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e4, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared"])
def test_any_weight_of_the_loss(loss, C):
    X, y = data(loss)
    for kind in ("kernel", "linear"):
        for fit_intercept in (False, True):
            check(loss, GRAMS[kind](X), y, C, fit_intercept=fit_intercept)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "huber", "pinball"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_degenerate_data(loss, fit_intercept):
    X, y = data(loss)
    cases = {
        "duplicates": (np.repeat(X[:8], 4, axis=0), np.repeat(y[:8], 4)),
        "duplicates that disagree": (np.repeat(X[:8], 4, axis=0), y[:32]),
        "one sample": (X[:1], y[:1]),
        "one target": (X, np.ones(N)),
        "all samples the same": (np.ones_like(X), y),
        "zeros": (np.zeros_like(X), y),
    }
    for X, y in cases.values():
        y = np.resize(y, len(X))
        for kind in ("kernel", "linear"):
            check(loss, GRAMS[kind](X), y, 2.0, fit_intercept=fit_intercept)


def test_columns_of_different_rows_are_solved_in_one_call():
    X, _ = data("hinge", 60)
    rng = np.random.default_rng(2)
    Y = np.where(rng.standard_normal((60, 4)) > 0, 1.0, -1.0)
    C = rng.choice([0.0, 1.0, 5.0], (60, 4))
    K = RBF(gamma=0.4)(X)
    together = solve("hinge", K, Y, C, fit_intercept=True)
    assert is_small_path(together)
    for j in range(4):
        rows = C[:, j] > 0
        alone = solve("hinge", K[np.ix_(rows, rows)], Y[rows, j], C[rows, j], fit_intercept=True)
        assert together.primal[j] == pytest.approx(alone.primal, rel=1e-9)
        np.testing.assert_allclose(together.coef[rows, j], alone.coef, atol=1e-8)
        z = K @ together.coef[:, j] + together.intercept[j]  # of all rows
        np.testing.assert_allclose(together.fitted[:, j], z, atol=1e-10)


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_a_start_is_gone_on_from(kind):
    X, y = data("hinge", 80)
    K = GRAMS[kind](X)
    cold = solve("hinge", K, y, 10.0, fit_intercept=True)
    again = solve("hinge", K, y, 10.0, fit_intercept=True, start=cold)
    assert again.n_iter <= cold.n_iter
    assert again.primal == pytest.approx(cold.primal, rel=1e-9)
    other = solve("hinge", K, y, 0.1, fit_intercept=True, start=cold)
    assert other.primal == pytest.approx(
        solve("hinge", K, y, 0.1, fit_intercept=True).primal, rel=1e-5
    )


def test_an_indefinite_matrix_is_noticed():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((40, 40))
    K = A + A.T
    K[np.diag_indices(40)] = 1.0
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        s = solve("hinge", K, np.where(A[:, 0] > 0, 1.0, -1.0), 10.0, fit_intercept=True)
    assert s.status == Status.NOT_PSD
    assert s.gap == np.inf


def test_what_is_asked_for_otherwise_is_not_the_small_path():
    X, y = data("hinge", 60)
    K = RBF(gamma=0.4)(X)
    assert is_small_path(solve("hinge", K, y, 10.0))
    seen = []
    s = solve("hinge", K, y, 10.0, callback=seen.append)
    assert len(seen) == len(s.history) - 1
    assert solve("hinge", K, y, 10.0, solver="fixed_point").solver == "fixed_point"
    assert solve("hinge", K, y, 10.0, tol=0.0).gap <= 1e-12 * s.primal


def test_larger_than_small_is_no_other_problem():
    X, y = data("hinge", LARGEST + 1)
    K = gram(X, "rbf", gamma=0.4)
    large = solve("hinge", K, y, fit_intercept=True)
    less = solve("hinge", gram(X[:-1], "rbf", gamma=0.4), y[:-1], fit_intercept=True)
    assert large.primal == pytest.approx(less.primal, rel=5e-3)


def test_sums_that_are_zero_to_rounding_prove_bounds(caplog):
    """Separable data: coefficients are thousandths, their sum is off by rounding of the scores."""
    X, digit = load_digits(return_X_y=True)
    with caplog.at_level("DEBUG", "resolvent"):
        SVC(kernel="linear").fit(X[:50], digit[:50])
    assert "in one compiled call" in caplog.text


def test_machines_are_those_of_libsvm():
    X, y = load_iris(return_X_y=True)
    for C in (0.1, 1.0, 100.0):
        ours, theirs = SVC(C=C).fit(X, y), svm.SVC(C=C, tol=1e-10).fit(X, y)
        assert ours.dual_gap_.max() <= 1e-5 * ours.objective_.min()
        # A gap of g leaves scores sqrt(2 g) apart, at most.
        far = np.sqrt(2.0 * ours.dual_gap_.max()) + 1e-6
        scores = [
            m.set_params(decision_function_shape="ovo").decision_function(X) for m in (ours, theirs)
        ]
        np.testing.assert_allclose(*scores, atol=2.0 * far)


def test_cvxpy_agrees():
    cvxpy = pytest.importorskip("cvxpy")
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X[:50]), y[:50] / 100.0
    w, b = cvxpy.Variable(X.shape[1]), cvxpy.Variable()
    losses = cvxpy.pos(cvxpy.abs(y - X @ w - b) - 0.1)
    problem = cvxpy.Problem(cvxpy.Minimize(5.0 * cvxpy.sum(losses) + cvxpy.sum_squares(w) / 2))
    problem.solve(solver="CLARABEL")
    for K in (gram(X, "linear"), X @ X.T):
        s = solve("epsilon_insensitive", K, y, 5.0, fit_intercept=True, tol=1e-8)
        assert s.primal == pytest.approx(problem.value, rel=1e-6)
