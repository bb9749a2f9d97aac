"""Newton as a solver, the linear systems it asks of the grams, shrinking, and threads."""

from __future__ import annotations

import numpy as np
import pytest
from reference import minimum
from samples import as_targets
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from resolvent import Problem, Status, gram, solve
from resolvent.grams import as_gram
from resolvent.grams.stacked import StackedGram
from resolvent.grams.systems import Curvature, bordered, inverse
from resolvent.kernels import RBF
from resolvent.losses import LOSSES
from resolvent.solvers import newton, sweeps
from resolvent.solvers.coordinate_descent import REST, coordinate_descent
from resolvent.solvers.iterate import Point

N = 40
KINKED = {"hinge", "absolute", "epsilon_insensitive", "pinball"}
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])


def points(columns, n=N):
    return np.random.default_rng(5).standard_normal((n, columns))


def targets(loss, n=N):
    rng = np.random.default_rng(6)
    f = points(3, n)[:, 0] + 0.5 * rng.standard_normal(n)
    return as_targets(loss, f)


GRAMS = {
    "rows": lambda: as_gram(RBF(0.3)(points(3))),
    "few columns": lambda: gram(points(3), kernel="linear"),
    "few columns, CSR": lambda: gram(sparse.csr_array(points(3) * (points(3) > -0.5)), "linear"),
    "many columns": lambda: gram(points(N + 5), kernel="linear"),
    "float32": lambda: gram(points(3).astype(np.float32), kernel="linear"),
}


def matrix(K):
    return K.block(np.arange(K.n), np.arange(K.n))


@OFFSET
@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_reaches_a_gap_that_first_order_steps_hardly_do(loss, kind, fit_intercept):
    K, y = GRAMS[kind](), targets(loss)
    C = 3.0 * np.random.default_rng(7).choice([0.0, 0.5, 2.0], N)
    s = solve(loss, K, y, C, fit_intercept=fit_intercept, solver="newton", tol=1e-10)
    assert s.status == Status.CONVERGED
    assert s.gap <= 1e-10 * max(abs(s.primal), abs(s.dual))
    other = solve(loss, K, y, C, fit_intercept=fit_intercept, solver="coordinate_descent", tol=1e-8)
    assert s.primal <= other.primal * (1 + 1e-12) + 1e-12
    assert other.primal <= s.primal * (1 + 2e-8)


@OFFSET
@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_insensitive", "squared"])
def test_agrees_with_an_interior_point_solver(loss, fit_intercept):
    K, y = GRAMS["few columns"](), targets(loss)
    best, _ = minimum(loss, matrix(K), y, 2.0, fit_intercept)
    s = solve(loss, K, y, 2.0, fit_intercept=fit_intercept, solver="newton", tol=1e-9)
    assert s.primal == pytest.approx(best, rel=1e-6)


@OFFSET
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute", "logistic"])
def test_ill_conditioned(loss, linear, fit_intercept):
    # C = 1e6, and every row twice but for the seventh digit.
    X = points(3)
    X[1::2] = X[::2] * (1 + 1e-7)
    K = gram(X, kernel="linear") if linear else RBF(0.3)(X)
    s = solve(loss, K, targets(loss), 1e6, fit_intercept=fit_intercept, solver="newton", tol=1e-9)
    assert s.gap <= 1e-9 * max(abs(s.primal), abs(s.dual))


@pytest.mark.parametrize("kind", GRAMS)
def test_squared_loss_is_one_step(kind):
    problem = Problem("squared", GRAMS[kind](), targets("squared"), 5.0)
    s = solve("squared", problem.gram, targets("squared"), 5.0, solver="newton", tol=1e-9)
    assert s.n_iter == newton.sweeps_before(problem) + 1
    assert max(record.gap for record in s.history[:-1]) > 1e-9 * s.primal


def test_the_primal_is_low_long_before_the_end():
    # Newton's method ends near the minimum of F; the point that it proves the bound by does not.
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 20)) < 0.3).astype(float)
    y = np.sign(X @ rng.standard_normal(20) + rng.standard_normal(2000))
    K = gram(X, kernel="linear")
    best = solve("hinge", K, y, tol=1e-8).primal
    with pytest.warns(ConvergenceWarning):
        s = solve("hinge", K, y, solver="newton", tol=1e-8, max_iter=2)
    assert s.primal == pytest.approx(Problem("hinge", K, y).primal(s.coef), rel=1e-14)
    assert s.dual <= best <= s.primal <= 1.002 * best


def test_coefficients_are_within_bounds_where_they_are_kept():
    y = targets("hinge")
    with pytest.warns(ConvergenceWarning):
        s = solve("hinge", GRAMS["rows"](), y, 3.0, solver="newton", tol=1e-9, max_iter=4)
    assert (s.coef * y >= 0.0).all()
    assert (s.coef * y <= 3.0).all()


def test_several_problems_have_the_certificates_of_each_alone():
    K = GRAMS["few columns"]()
    y = np.column_stack([targets("hinge"), np.roll(targets("hinge"), 7)])
    s = solve("hinge", K, y, 3.0, solver="newton", tol=1e-6)
    np.testing.assert_allclose(s.primal, Problem("hinge", K, y, 3.0).primal(s.coef), rtol=1e-12)
    alone = [solve("hinge", K, column, 3.0, solver="newton", tol=1e-6).primal for column in y.T]
    np.testing.assert_allclose(s.primal, alone, rtol=2e-6)


def test_ends_faster_than_linearly():
    K, y = GRAMS["rows"](), targets("hinge")
    s = solve("hinge", K, y, 100.0, solver="newton", accelerate=False, tol=1e-9)
    gaps = np.array([record.gap / s.primal for record in s.history])
    falls = gaps[1:] / gaps[:-1]
    assert (np.diff(falls[-5:]) < 0).all()
    assert falls[-1] < 0.02


# The system of a Newton step, against the equation itself


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("free", [0, 2, N // 2, N])
def test_linearised_equation(kind, free, balanced):
    K, rng = GRAMS[kind](), np.random.default_rng(8)
    coef, aim = rng.standard_normal((2, N))
    weight = np.zeros(N)
    weight[rng.permutation(N)[:free]] = rng.uniform(0.1, 10.0, free)
    ahead = K.state((aim - coef)[None])[0]
    move = K.linearised(coef, aim, ahead, Curvature(weight, 10.0), balanced)
    dense = matrix(K)
    left = move.coef + weight * (dense @ move.coef + move.intercept)
    assert np.allclose(left, aim - coef, rtol=0, atol=1e-8)
    assert np.allclose(move.scores, dense @ move.coef, rtol=0, atol=1e-8)
    assert np.allclose(K.scores(move.state[None])[0], move.scores, rtol=0, atol=1e-8)
    assert K.inner(move.coef, move.state, move.state) == pytest.approx(
        move.coef @ dense @ move.coef, rel=1e-8
    )
    if balanced and free:
        assert (coef + move.coef).sum() == pytest.approx(0.0, abs=1e-8)
    else:
        assert move.intercept == 0.0


def coupled_curvature(rng, n, size, free):
    """Projections on simplices, scaled, where `free` coordinates of each group take part."""
    weight, bend = np.zeros((2, n // size, size))
    for d, e in zip(weight, bend, strict=True):
        some = rng.permutation(size)[:free]
        d[some] = rng.uniform(0.1, 10.0, free)
        e[some] = d[some] / np.sqrt(max(d.sum(), 1e-100))
    bend[0] *= 0.5  # this one is regular
    return Curvature(weight.ravel(), 10.0, bend.ravel(), size)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("kind", ["rows", "few columns", "few columns, CSR", "many columns"])
@pytest.mark.parametrize(("size", "free"), [(N, 0), (N, 1), (N, N), (4, 1), (4, 3), (4, 4)])
def test_linearised_equation_of_coupled_losses(kind, size, free, balanced):
    one, rng = GRAMS[kind](), np.random.default_rng(8)
    K, k = (one, 1) if size == N else (StackedGram(one, size), size)
    coef, aim = rng.standard_normal((2, K.n))
    curvature = coupled_curvature(rng, K.n, size, free)
    move = K.linearised(coef, aim, K.state((aim - coef)[None])[0], curvature, balanced)
    dense, offsets = matrix(K), np.tile(np.eye(k), (N, 1))
    W = np.diag(curvature.weight)
    for part in range(0, K.n, size):
        e = np.zeros(K.n)
        e[part : part + size] = curvature.bend[part : part + size]
        W -= np.outer(e, e)
    np.testing.assert_allclose(curvature.times(dense), W @ dense, atol=1e-10)
    shifted = dense @ move.coef + offsets @ np.broadcast_to(move.intercept, k)
    np.testing.assert_allclose(move.coef + W @ shifted, aim - coef, rtol=0, atol=1e-8)
    np.testing.assert_allclose(move.scores, dense @ move.coef, rtol=0, atol=1e-8)
    assert K.inner(move.coef, move.state, move.state) == pytest.approx(
        move.coef @ dense @ move.coef, rel=1e-8
    )
    totals = offsets.T @ (coef + move.coef)
    # As far as offsets move coefficients at all: not where all projections are points.
    reach = np.linalg.pinv(offsets.T @ W @ offsets, rcond=1e-10) @ (offsets.T @ W @ offsets)
    if balanced:
        np.testing.assert_allclose(reach @ totals, 0.0, atol=1e-7)
    else:
        assert np.all(move.intercept == 0.0)


@pytest.mark.parametrize("k", [2, 3])
def test_classes_that_are_nearly_certain(k):
    """d - e^2 is rounding of d here, and must not make the system of large rows indefinite."""
    rng = np.random.default_rng(0)
    K = StackedGram(gram(6e4 * rng.standard_normal((100, 4)), "linear"), k)
    d = 1e12 * rng.uniform(1.0, 10.0, (100, 1)) * 10.0 ** -np.linspace(0.0, 30.0, k)
    e = d / np.sqrt(d.sum(axis=1))[:, None]
    system = K._normal_matrix(K.factor, Curvature(d.ravel(), 1e13, e.ravel(), k))
    assert np.linalg.eigvalsh(system)[0] > 0.5


def test_system_that_cannot_be_factorised_gives_nan_of_the_right_shape():
    solve = inverse(np.array([[-1.0, 0.0], [0.0, 1.0]]))
    for right in (np.ones(2), np.ones((2, 3))):
        assert np.isnan(solve(right)).all()
        assert solve(right).shape == right.shape


# Shrinking


@OFFSET
@pytest.mark.parametrize("loss", LOSSES)
def test_shrinking_reaches_the_same_optimum(loss, fit_intercept):
    K, y = GRAMS["many columns"](), targets(loss)
    settings = {"fit_intercept": fit_intercept, "solver": "coordinate_descent", "tol": 1e-7}
    shrunk = solve(loss, K, y, 0.5, **settings)
    plain = solve(loss, K, y, 0.5, accelerate=False, **settings)
    assert shrunk.status == plain.status == Status.CONVERGED
    assert shrunk.primal == pytest.approx(plain.primal, rel=2e-7)


def test_rests_are_bounded(monkeypatch):
    problem = Problem("hinge", GRAMS["many columns"](), targets("hinge"), 0.5)
    parts, sweep = [], sweeps.sweep

    def recorded(loss, panel, state, column, part, rests):
        parts.append(part)
        return sweep(loss, panel, state, column, part, rests)

    monkeypatch.setattr(sweeps, "sweep", recorded)
    point = Point.at(problem, np.zeros((1, problem.n)))
    steps = coordinate_descent(problem, shrink=True)(point)
    for _ in range(40):
        next(largest for largest in steps if largest is not None)
    assert len(parts) == 40  # one chunk each
    pauses = [
        pause
        for i in range(problem.n)
        for pause in np.diff([sweep for sweep, part in enumerate(parts) if i in part]) - 1
    ]
    assert set(pauses) == {0, REST, 4 * REST}


# Threads


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "CSR"])
def test_results_do_not_depend_on_the_number_of_threads(as_sparse):
    X = points(30, 20_000)
    X = sparse.csr_array(X * (np.abs(X) > 1.0)) if as_sparse else X.astype(np.float32)
    y = np.stack([np.sign(points(3, 20_000)[:, 0] + shift) for shift in (-1.0, 0.0, 1.0)], axis=1)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            for solver in ("newton", "coordinate_descent"):
                K = gram(X, kernel="linear")
                s = solve("squared_hinge", K, y, 1e-3, solver=solver, tol=1e-4)
                found.append((s.coef, s.fitted, s.gap))
    for one, two in zip(found[:2], found[2:], strict=True):
        for a, b in zip(one, two, strict=True):
            assert np.array_equal(a, b)


def test_a_system_whose_offset_is_lost_to_rounding_has_no_solution():
    # Of one column 1 and weights of 1e20 the offset is what is left of 1e20 - 1e20.
    border = np.array([1e20])
    x, b = bordered(lambda right: right / 1e20, np.array([1.0]), border, 1e20, 0.0)
    assert np.isnan(x).all()
    assert np.isnan(b)
    # Where it is not lost, it is found.
    x, b = bordered(lambda right: right / 2.0, np.array([1.0]), np.array([1.0]), 0.0, 0.0)
    assert (x, b) == (pytest.approx([0.0]), pytest.approx(1.0))


def sparse_problem():
    rng = np.random.default_rng(0)
    X = sparse.random(5000, 300, 0.04, format="csr", random_state=0)
    return X, np.sign(X @ rng.standard_normal(300) + 0.1 * rng.standard_normal(5000))


def dense_problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 40)) @ rng.standard_normal((40, 40))
    return X, np.sign(X @ rng.standard_normal(40) + 3.0 * rng.standard_normal(3000))


def test_the_choice_sweeps_on_while_that_gets_on_well():
    X, y = sparse_problem()
    sweeps, chosen, asked = (
        solve("hinge", gram(X, "linear"), y, solver=solver, tol=1e-4)
        for solver in ("coordinate_descent", "auto", "newton")
    )
    assert {s.status for s in (sweeps, chosen, asked)} == {Status.CONVERGED}
    assert chosen.n_iter == sweeps.n_iter > 2 * asked.n_iter


def test_the_choice_turns_to_newton_steps_where_sweeps_would_take_longer():
    X, y = sparse_problem()
    sweeps, chosen = (
        solve("hinge", gram(X, "linear"), y, solver=solver, tol=1e-8, accelerate=accelerate)
        for solver, accelerate in (("coordinate_descent", False), ("auto", True))
    )
    assert chosen.status == Status.CONVERGED
    assert chosen.n_iter < sweeps.n_iter // 2
    X, y = dense_problem()  # where a Newton step costs less than a sweep
    chosen, asked = (
        solve("hinge", gram(X, "linear"), y, solver=solver, tol=1e-4)
        for solver in ("auto", "newton")
    )
    assert chosen.n_iter == asked.n_iter < 20


@pytest.mark.parametrize(("gaps", "good"), [((1.0, 0.1, 1e-3), True), ((1.0, 0.9, 0.89), False)])
def test_pace_of_sweeps(gaps, good, monkeypatch):
    X, y = sparse_problem()
    problem = Problem("hinge", gram(X, "linear"), y)
    point = Point.at(problem, np.zeros((1, 5000)))
    pace = newton.Pace(problem, 0, tol=1e-5)
    known = {}
    assert pace.is_good(point, known)  # nothing has been done
    assert not known
    at = newton.certify(problem, point, 0)
    verdict = None
    for gap in gaps[1:]:
        look = at._replace(primal=1.0, dual=1.0 - gap)
        monkeypatch.setattr(newton, "certify", lambda *_, look=look: look)
        point.work += 5 * problem.gram.sweep_cost
        verdict = pace.is_good(point, known)
        assert known[0] == (look, look)
    assert verdict is good


def test_work_is_what_visits_cost():
    X, y = sparse_problem()
    for K in (gram(X, "linear"), gram(X[:600].toarray(), RBF(0.5))):
        problem = Problem("hinge", K, y[: K.n])
        point = Point.at(problem, np.zeros((1, K.n)))
        steps = coordinate_descent(problem)(point)
        while next(steps) is None:
            pass
        assert point.work[0] == K.n * K.row_cost  # each once


def test_smooth_losses_are_known():
    for loss in LOSSES:
        problem = Problem(loss, gram(points(3), "linear"), targets(loss))
        if not problem.couples:
            assert newton.is_smooth(problem) is (loss not in KINKED)
