"""Losses that couple scores: functions, solutions, estimators, and what is refused."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from resolvent import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    Problem,
    Status,
    check_loss,
    gram,
    reformulate,
    solve,
)
from resolvent.losses import COUPLED, CrammerSinger, Multinomial, as_loss, envelope

N, CLASSES = 24, 3
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 2))
K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
REAL = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(N)
LABELS = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(N), [-0.6, 0.4])
ONE_HOT = np.eye(CLASSES)[LABELS]

every_loss = pytest.mark.parametrize("name", COUPLED)
ROWS = [name for name, cls in COUPLED.items() if cls.couples == "columns"]
ALL = [name for name in COUPLED if name not in ROWS]


def targets(name):
    return ONE_HOT if name in ROWS else REAL


vectors = arrays(float, 5, elements=st.floats(-20.0, 20.0))


def draw_target(data, loss):
    if loss.couples == "samples":
        return data.draw(vectors)
    return np.eye(5)[data.draw(st.integers(0, 4))]


@every_loss
@settings(max_examples=60)
@given(data=st.data(), v=vectors, w=vectors, z=vectors, a=st.floats(1e-2, 1e2))
def test_functions_belong_together(name, data, v, w, z, a):
    loss = as_loss(name)
    y = draw_target(data, loss)
    u, other = loss.resolvent(y, v, a), loss.resolvent(y, w, a)
    conj = loss.conjugate(y, u)
    size = 1.0 + abs(conj) + np.abs(u * z).sum() + np.abs(z).max() + np.abs(y).max()
    # Fenchel and Young, with equality at x = (v - u) / a, where u is a subgradient: this is what
    # the resolvent is, and Moreau's identity v = u + a x holds by that.
    assert loss.value(y, z) + conj - u @ z >= -1e-12 * size
    x = (v - u) / a
    noise = 1e-13 * (1.0 + np.abs(v).max() + a * np.abs(y).max()) / a
    scale = 1.0 + np.abs(u).sum()
    assert abs(loss.value(y, x) + conj - u @ x) <= 1e-12 * size + 20 * noise * scale
    # Firmly non-expansive.
    assert (u - other) @ (u - other) <= (u - other) @ (v - w) + 1e-11 * (
        1.0 + np.abs(v).max() + np.abs(w).max()
    ) ** 2 * (1.0 + a)
    # Outside the domain there is no bound.
    assert loss.conjugate(y, u + 3.0) == np.inf


@every_loss
@settings(max_examples=40)
@given(data=st.data(), v=vectors, direction=vectors, a=st.floats(1e-2, 1e2))
def test_slope_is_the_derivative(name, data, v, direction, a):
    loss = as_loss(name)
    y = draw_target(data, loss)
    h = 1e-6
    d, e = loss.slope(y, v, a)
    middle, left, right = (loss.resolvent(y, v + t * h * direction, a) for t in (0, -1, 1))
    ours = d * direction - e * (e @ direction)
    sides = np.array([middle - left, right - middle]) / h
    # At a kink it is between the two one-sided derivatives; elsewhere they agree.
    slack = 1e-3 * (1.0 + np.abs(direction).max())
    assert (ours >= sides.min(axis=0) - slack).all() or np.ptp(sides, axis=0).max() > slack
    assert (ours <= sides.max(axis=0) + slack).all() or np.ptp(sides, axis=0).max() > slack


# The problem a second time, for an interior-point solver.
TERMS = {
    "chebyshev": lambda y, z, w: w.max() * cp.max(cp.abs((y - z)[w > 0])),
    "root_squared": lambda y, z, w: w.max() * cp.norm((y - z)[w > 0], 2),
    "multinomial": lambda y, z, w: (
        w @ (cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(y, z), axis=1))
    ),
    "crammer_singer": lambda y, z, w: (
        w @ (cp.max(z + 1 - y, axis=1) - cp.sum(cp.multiply(y, z), axis=1))
    ),
}


def minimum(name, y, weights, fit_intercept, K=K):
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    a = cp.Variable(y.shape)
    z = root @ a
    if fit_intercept:
        columns = (1, y.shape[-1])
        z = z + (np.ones((len(y), 1)) @ cp.Variable(columns) if y.ndim == 2 else cp.Variable())
    objective = TERMS[name](y, z, weights) + cp.sum_squares(a) / 2
    problem = cp.Problem(cp.Minimize(objective))
    with warnings.catch_warnings():
        # "May be inaccurate": it stopped a little short of that, at 1e-8 or so.
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return problem.value


SOLVERS = [(name, solver) for name in COUPLED for solver in ("fixed_point", "newton")] + [
    (name, "coordinate_descent") for name in ROWS
]


@pytest.mark.parametrize(("name", "solver"), SOLVERS)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_against_an_interior_point_solver(name, solver, fit_intercept, C):
    y, weight = targets(name), np.ones(N)
    weight[::5] = 0.0
    if name in ROWS:
        weight[1::5] = 2.5
    best = minimum(name, y, C * weight, fit_intercept)
    tol = 1e-5 if solver == "fixed_point" else 1e-7
    solution = solve(
        name, K, y, C, sample_weight=weight, fit_intercept=fit_intercept, solver=solver, tol=tol,
        max_iter=5000,
    )  # fmt: skip
    assert solution.status == Status.CONVERGED
    assert solution.gap <= tol * solution.primal
    # Bounds on both sides, as far as the interior-point solver is exact.
    assert solution.dual - 1e-6 * best <= best <= solution.primal + 1e-6 * best
    assert solution.coef.shape == solution.fitted.shape == y.shape
    assert not solution.coef[::5].any()
    offset = solution.intercept if fit_intercept else 0.0
    np.testing.assert_allclose(K @ solution.coef + offset, solution.fitted, atol=1e-10 * C)
    if fit_intercept:
        np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-11 * C * N)
    problem = Problem(name, K, y, C, weight, fit_intercept)
    assert problem.primal(solution.coef, offset) == pytest.approx(solution.primal, rel=1e-12)


def random_problem(name, seed):
    """A small problem of any kernel, C and units; duplicate rows and zero rows are likely."""
    rng = np.random.default_rng(seed)
    n, C = int(rng.integers(2, 40)), 10.0 ** rng.uniform(-2, 4)
    X = rng.standard_normal((n, int(rng.integers(1, 5))))
    X = np.round(X) if seed % 4 == 0 else X
    kernel = ("rbf", "linear", "poly")[seed % 3]
    f = X[:, 0] + 0.5 * rng.standard_normal(n)
    k = min(n, int(rng.integers(2, 6)))
    labels = np.digitize(f, np.linspace(-1, 1, k - 1))
    labels[:k] = np.arange(k)  # none is missing
    scale = 10.0 ** rng.uniform(-3, 3)
    y = np.eye(k)[labels] if name in ROWS else scale * (f + (10.0 if seed % 5 == 0 else 0.0))
    return gram(X, kernel=kernel), y, C, bool(seed % 2)


# Among them are all seeds below 40 that first-order steps alone do not solve.
SEEDS = {
    "chebyshev": [1, 5, 7, 12, 13, 19, 28, 32, 39],
    "root_squared": [19, 28],
    "multinomial": [1, 7, 8, 12, 13, 15, 19, 28],
    "crammer_singer": [1, 7, 8, 12, 13, 19, 28, 29],
}


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name in SEEDS for seed in SEEDS[name]])
def test_small_problems_are_solved_whatever_their_scale(name, seed):
    K, y, C, fit_intercept = random_problem(name, seed)
    with warnings.catch_warnings(action="error"):
        solution = solve(name, K, y, C, fit_intercept=fit_intercept)
        exact = solve(name, K, y, C, fit_intercept=fit_intercept, tol=0)
    assert solution.status == Status.CONVERGED
    assert exact.status == Status.PRECISION_LIMIT
    assert exact.gap <= 1e-9 * exact.primal
    assert exact.dual <= solution.primal * (1 + 1e-12)
    assert solution.primal <= exact.primal * (1 + 1.1e-5)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_proximal_steps_that_are_too_hard_get_shorter(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((35, 2))
    y = 5e-4 * (np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(35))
    solution = solve("chebyshev", gram(X, gamma=0.5), y, 4e3, fit_intercept=True)
    assert solution.status == Status.CONVERGED


@pytest.mark.parametrize("design", ["collinear", "sparse"])
@pytest.mark.parametrize("name", ALL)
def test_features_in_large_units(name, design):
    """A change of coefficients of the size of C leaves no digits for that of the weights."""
    rng = np.random.default_rng(3)
    if design == "collinear":
        x = rng.standard_normal(150)
        X, y = np.outer(100.0 * x, 1.0 + np.arange(30)), 1e-3 * np.sin(x)
    else:
        X = 1e5 * rng.standard_normal((51, 30)) * (rng.random((51, 30)) < 0.2)
        y = 3e4 * rng.standard_normal(51)
    C = 10.0 if design == "collinear" else 1e6
    K = gram(X, kernel="linear")
    solution = solve(name, K, y, C, fit_intercept=True, tol=1e-3, max_iter=100)
    assert solution.status == Status.CONVERGED


@every_loss
def test_small_problems_against_an_interior_point_solver(name):
    for seed in (1, 3, 9):
        K, y, C, fit_intercept = random_problem(name, seed)
        dense = K.block(np.arange(K.n), np.arange(K.n))
        best = minimum(name, y, np.full(K.n, C), fit_intercept, dense)
        solution = solve(name, K, y, C, fit_intercept=fit_intercept)
        assert solution.dual - 1e-6 * best <= best <= solution.primal + 1e-6 * best


@every_loss
def test_auto_and_warm_start(name):
    first = solve(name, K, targets(name), 5.0, fit_intercept=True)
    again = solve(name, K, targets(name), 5.0, fit_intercept=True, start=first)
    assert first.status == again.status == Status.CONVERGED
    assert again.n_iter <= first.n_iter
    assert again.primal == pytest.approx(first.primal, rel=2e-5)


@pytest.mark.parametrize("name", ALL)
def test_columns_are_problems_of_their_own(name):
    y = np.column_stack([REAL, REAL[::-1]])
    both = solve(name, K, y, [2.0, 5.0], fit_intercept=True, tol=1e-6)
    for j, C in enumerate([2.0, 5.0]):
        one = solve(name, K, y[:, j], C, fit_intercept=True, tol=1e-6)
        assert both.primal[j] == pytest.approx(one.primal, rel=2e-6)


@every_loss
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_theorem_5_holds(name, alpha):
    """A solution is a stationary point of the reformulated problem, and other points are not."""
    c = solve(name, K, targets(name), 2.0, tol=1e-8).coef
    smooth = reformulate(Problem(name, K, targets(name), 2.0), alpha)
    away = c + 0.1 * np.resize(K[0], c.T.shape).T
    direction = np.random.default_rng(1).standard_normal(c.shape)
    # The gap says that c is off by no more than 1e-4 of its size.
    assert np.abs(smooth.gradient(c)).max() < 1e-2 * np.abs(smooth.gradient(away)).max()
    h = 1e-5
    rise = (smooth.value(away + h * direction) - smooth.value(away - h * direction)) / (2 * h)
    assert rise == pytest.approx((smooth.gradient(away) * direction).sum(), rel=1e-3, abs=1e-3)


def test_two_classes_are_the_logistic_loss():
    sign = np.where(LABELS == 0, 1.0, -1.0)
    y = np.column_stack([sign > 0, sign < 0]).astype(float)
    two = solve("multinomial", K, y, 3.0, fit_intercept=True, tol=1e-9)
    # z_1 = -z_2 = g / 2 at the optimum, so that the penalty is g'K^-1 g / 4: the kernel is 2 K.
    one = solve("logistic", 2.0 * K, sign, 3.0, fit_intercept=True, tol=1e-9)
    assert two.primal == pytest.approx(one.primal, rel=1e-8)
    np.testing.assert_allclose(two.fitted[:, 0] - two.fitted[:, 1], one.fitted, atol=1e-3)


class TestEstimators:
    X, y = load_iris(return_X_y=True)
    X = scale(X)

    def test_multinomial(self):
        names = np.array(["setosa", "versicolor", "virginica"])[self.y]
        model = KernelClassifier("multinomial", C=5.0).fit(self.X, names)
        assert model.status_ == Status.CONVERGED
        assert model.dual_gap_ <= 1e-5 * model.objective_
        assert model.dual_coef_.shape[0] == len(model.intercept_) == 3
        decision = model.decision_function(self.X)
        p = model.predict_proba(self.X)
        odds = np.exp(decision - decision.max(axis=1, keepdims=True))
        np.testing.assert_allclose(p, odds / odds.sum(axis=1, keepdims=True), rtol=1e-10)
        assert (model.classes_[p.argmax(axis=1)] == model.predict(self.X)).all()
        assert model.score(self.X, names) > 0.95

    def test_linear_multinomial_is_logistic_regression(self):
        ours = LinearClassifier("multinomial", C=2.0, tol=1e-8).fit(self.X, self.y)
        theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(self.X, self.y)
        np.testing.assert_allclose(
            ours.predict_proba(self.X), theirs.predict_proba(self.X), atol=1e-4
        )

    def test_two_classes(self):
        model = KernelClassifier("multinomial").fit(self.X[50:], self.y[50:])
        decision = model.decision_function(self.X[50:])
        assert decision.shape == (100,)
        p = model.predict_proba(self.X[50:])
        np.testing.assert_allclose(p[:, 1], 1.0 / (1.0 + np.exp(-decision)), rtol=1e-10)
        assert (model.predict(self.X[50:]) == np.where(decision > 0, 2, 1)).all()

    def test_crammer_singer(self):
        model = KernelClassifier("crammer_singer", class_weight="balanced").fit(self.X, self.y)
        assert model.status_ == Status.CONVERGED
        assert model.decision_function(self.X).shape == (150, 3)
        assert model.score(self.X, self.y) > 0.95
        assert not hasattr(model, "predict_proba")
        with pytest.raises(ValueError, match="multi_class='ovo' has no meaning"):
            KernelClassifier("crammer_singer", multi_class="ovo").fit(self.X, self.y)

    @pytest.mark.parametrize("name", ALL)
    def test_regressors(self, name):
        model = KernelRegressor(name, C=5.0, normalize_y=False).fit(X, REAL)
        exact = solve(name, model.kernel_(X, X), REAL, 5.0, fit_intercept=True)
        np.testing.assert_allclose(model.predict(X), exact.fitted, atol=0.02)
        weight = np.r_[0.0, np.ones(N - 1)]
        without = KernelRegressor(name, gamma=0.5).fit(X[1:], REAL[1:])
        np.testing.assert_allclose(
            KernelRegressor(name, gamma=0.5).fit(X, REAL, weight).predict(X),
            without.predict(X),
            atol=1e-6,
        )
        with pytest.raises(ValueError, match="only weights of 0 and 1"):
            KernelRegressor(name).fit(X, REAL, 1.0 + weight)
        with pytest.raises(ValueError, match="only weights of 0 and 1"):  # not even all the same
            KernelRegressor(name).fit(X, REAL, np.full(N, 2.0))
        with pytest.raises(ValueError, match="only weights of 0 and 1"):
            solve(name, model.kernel_(X, X), REAL, 5.0, sample_weight=np.full(N, 0.5))


class TestRefused:
    @pytest.mark.parametrize("name", ALL)
    def test_coordinate_descent(self, name):
        with pytest.raises(ValueError, match=r"couples all samples.*solver='fixed_point'"):
            solve(name, K, REAL, solver="coordinate_descent")

    def test_own_steps(self):
        for alpha in ("jacobi", np.ones(N)):
            with pytest.raises(ValueError, match="own step"):
                solve("chebyshev", K, REAL, alpha=alpha)

    def test_greedy(self):
        with pytest.raises(ValueError, match="rule='greedy' is for losses of one score"):
            solve("multinomial", K, ONE_HOT, rule="greedy")

    @pytest.mark.parametrize("y", [LABELS, ONE_HOT[:, :1], 2 * ONE_HOT, np.zeros((N, 3))])
    def test_targets(self, y):
        with pytest.raises(ValueError, match="a column for each class"):
            solve("crammer_singer", K, y)

    def test_a_class_without_samples(self):
        y = np.column_stack([ONE_HOT, np.zeros(N)])
        with pytest.raises(ValueError, match="no solution"):
            solve("multinomial", K, y, fit_intercept=True)
        assert solve("multinomial", K, y).status == Status.CONVERGED
        assert solve("crammer_singer", K, y, fit_intercept=True).status == Status.CONVERGED

    def test_in_the_wrong_place(self):
        with pytest.raises(ValueError, match="not a loss for classification"):
            KernelClassifier("chebyshev").fit(X, LABELS)
        with pytest.raises(ValueError, match="is a loss for classification"):
            KernelRegressor("multinomial").fit(X, REAL)
        with pytest.raises(ValueError, match="couples several scores"):
            check_loss(Multinomial())
        with pytest.raises(ValueError, match="couples several scores"):
            envelope(CrammerSinger(), 1.0)
