"""`solve`: every loss on every kind of kernel matrix, against solvers that share no code with it.

Coefficients are never compared with another solver's: with a singular K many give the same scores.
Objectives and scores are.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference import minimum
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from resolvent import Problem, Status, gram, solve
from resolvent.kernels import RBF, Linear
from resolvent.losses import LOSSES

N = 24
SOLVERS = ("auto", "coordinate_descent", "fixed_point", "newton")  # "auto" is greedy on rows of K
ALL = pytest.mark.parametrize("loss", LOSSES)
BOTH = pytest.mark.parametrize("solver", SOLVERS)
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])


def points(n=N):
    return np.random.default_rng(7).standard_normal((n, 3))


def targets(loss, n=N, seed=8):
    rng = np.random.default_rng(seed)
    kind = getattr(LOSSES[loss], "targets", "real")
    if kind == "sign":
        return np.where(points(n)[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if kind == "nonnegative":
        return rng.poisson(np.exp(0.5 + 0.5 * points(n)[:, 0])).astype(float)
    return points(n)[:, 0] + 0.5 * rng.standard_normal(n)


def weights(n=N):
    return np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], n)


def rbf(X=None, Z=None):
    return RBF(gamma=0.4)(points() if X is None else X, Z)


def scale(solution):
    return np.maximum(np.abs(solution.primal), np.abs(solution.dual))


# Every kind of K, with a matrix of the same values in float64 to check against.


def _memmap(X, tmp_path):
    np.save(tmp_path / "K.npy", rbf(X))
    return np.load(tmp_path / "K.npy", mmap_mode="r"), rbf(X)


def _tight(X, tmp_path):
    # Room for 18 of 24 rows: some are kept, the others are computed at each visit.
    K = gram(X, kernel="rbf", gamma=0.4, memory_limit=18 * 8 * len(X))
    return K, rbf(X)


def _computed_csr(X, tmp_path):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    return gram(sparse.csr_array(thin), kernel="rbf", gamma=0.4), rbf(thin)


def _linear_csr(X, tmp_path):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    return gram(sparse.csr_array(thin), kernel="linear"), thin @ thin.T


KINDS = {
    "dense": lambda X, _: (rbf(X), rbf(X)),
    "float32": lambda X, _: (rbf(X).astype(np.float32), rbf(X).astype(np.float32).astype(float)),
    "memmap": _memmap,
    "computed_tight": _tight,
    "computed_csr": _computed_csr,
    "linear": lambda X, _: (gram(X, kernel="linear"), X @ X.T),
    "linear_csr": _linear_csr,
}


@pytest.mark.parametrize("kind", KINDS)
@ALL
def test_every_loss_on_every_gram_reaches_a_small_gap(loss, kind, tmp_path):
    K, dense = KINDS[kind](points(), tmp_path)
    y, w = targets(loss), weights()
    for fit_intercept in (False, True):
        for solver in SOLVERS:
            # A float32 matrix is a matrix like any other: its entries are exact, and all sums are
            # in float64, so the gap of the problem that it states is as small as for float64.
            s = solve(
                loss, K, y, 2.0, sample_weight=w, fit_intercept=fit_intercept, solver=solver,
                tol=1e-8,
            )  # fmt: skip
            assert s.status == Status.CONVERGED, (solver, fit_intercept)
            assert s.gap <= 1e-8 * scale(s)
            # The certificate, once more, on a plain float64 copy of K: 1e-11 is for the rounding of
            # kernel values that are computed another way.
            again = Problem(loss, dense, y, 2.0, w, fit_intercept)
            assert again.primal(s.coef, s.intercept) == pytest.approx(s.primal, rel=1e-9, abs=1e-11)
            assert again.gap(s.coef) <= 2e-8 * scale(s)
            assert np.allclose(dense @ s.coef + s.intercept, s.fitted, rtol=1e-8, atol=1e-8)
            if fit_intercept:
                assert abs(s.coef.sum()) <= 1e-12 * np.abs(s.coef).sum()
            else:
                assert s.intercept == 0.0
            assert (s.coef[w == 0] == 0).all()


@OFFSET
@ALL
def test_objective_agrees_with_an_interior_point_solver(loss, fit_intercept):
    K, y = rbf(), targets(loss)
    C = 2.0 * weights()
    best, scores = minimum(loss, K, y, C, fit_intercept)
    for solver in SOLVERS:
        s = solve(loss, K, y, C, fit_intercept=fit_intercept, solver=solver, tol=1e-9)
        # Clarabel stops at about 1e-8 on the exponential cone.
        assert s.primal == pytest.approx(best, rel=1e-6)
        assert s.dual <= best * (1 + 1e-7)
        # F is strongly convex in the scores' norm: 1e-6 in F is up to 1e-3 in the scores, but the
        # scores of rows without weight with an offset that is not unique may differ.
        free = C > 0
        assert np.allclose(s.fitted[free], scores[free], atol=2e-3)


@BOTH
def test_svc_of_libsvm(solver):
    K, y, w = rbf(), targets("hinge"), weights() + 0.1
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=w)
    s = solve("hinge", K, y, 3.0, sample_weight=w, fit_intercept=True, solver=solver, tol=0)
    # LIBSVM's tol is the violation of optimality in the scores.
    assert np.allclose(s.fitted, svc.decision_function(K), atol=1e-6)
    assert s.intercept == pytest.approx(svc.intercept_[0], abs=1e-6)


def test_offset_without_free_coordinate_is_the_midpoint_as_in_libsvm():
    # C so small that every coefficient is at its bound: the best offset is an interval.
    K, y = rbf(), np.resize([1.0, -1.0], N)
    svc = SVC(C=1e-3, kernel="precomputed", tol=1e-10).fit(K, y)
    s = solve("hinge", K, y, 1e-3, fit_intercept=True, tol=0)
    assert (np.abs(s.coef) == 1e-3).all()
    assert s.intercept == pytest.approx(svc.intercept_[0], abs=1e-7)


@BOTH
def test_svr_of_libsvm(solver):
    K, y, w = rbf(), targets("epsilon_insensitive"), weights() + 0.1
    svr = SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=w)
    s = solve(
        "epsilon_insensitive", K, y, 3.0, sample_weight=w, fit_intercept=True, solver=solver, tol=0
    )
    assert np.allclose(s.fitted, svr.predict(K), atol=1e-6)
    assert s.intercept == pytest.approx(svr.intercept_[0], abs=1e-6)


@BOTH
def test_kernel_ridge(solver):
    K, y, w = rbf(), targets("squared"), weights()
    ridge = KernelRidge(alpha=0.5, kernel="precomputed").fit(K, y, sample_weight=w)
    s = solve("squared", K, y, 2.0, sample_weight=w, solver=solver, tol=0)
    assert np.allclose(s.fitted, ridge.predict(K), atol=1e-10)  # a direct solve: to rounding


# Several problems at once, weights, starting points


@pytest.mark.parametrize("loss", ["hinge", "logistic", "pinball", "squared"])
@BOTH
@OFFSET
def test_columns_are_separate_problems(loss, solver, fit_intercept):
    K = rbf()
    Y = np.stack([targets(loss, seed=seed) for seed in range(3)], axis=1)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 1e-9, "rule": "cyclic"}
    C = np.array([0.1, 1.0, 10.0])
    together = solve(loss, K, Y, C, **options)
    assert together.coef.shape == together.fitted.shape == (N, 3)
    assert together.status == Status.CONVERGED
    full = solve(loss, K, Y, np.broadcast_to(C, (N, 3)), **options)
    assert np.array_equal(full.coef, together.coef)
    for j in range(3):
        alone = solve(loss, K, Y[:, j], C[j], **options)
        assert alone.status == Status.CONVERGED
        # Products of one column and of three are summed in another order, and one column that may
        # be done has all of them looked at, so the two are equal to within their tolerances only:
        # by the bound on predictions, k(x, x) = 1.
        assert alone.primal == pytest.approx(together.primal[j], rel=1e-9)
        if not fit_intercept:  # the bound is for the part that the penalty sees
            bound = np.sqrt(2 * alone.gap) + np.sqrt(2 * together.gap[j]) + 1e-7
            assert np.abs(alone.fitted - together.fitted[:, j]).max() <= bound
        assert together.gap[j] <= 1e-9 * abs(together.primal[j])


def test_one_column_is_not_a_vector():
    y = targets("hinge")
    s = solve("hinge", rbf(), y[:, None])
    flat = solve("hinge", rbf(), y)
    assert s.coef.shape == (N, 1)
    assert s.gap.shape == s.primal.shape == s.n_iter.shape == (1,)
    assert np.array_equal(s.coef[:, 0], flat.coef)
    assert isinstance(flat.gap, float)
    assert isinstance(flat.n_iter, int)


def test_status_of_several_is_the_worst():
    Y = np.stack([np.ones(N), targets("hinge")], axis=1)
    settings = {"tol": 1e-10, "max_iter": 2, "rule": "cyclic", "accelerate": False}
    with pytest.warns(ConvergenceWarning):
        s = solve("hinge", rbf(), Y, [1e-6, 1e4], **settings)
    assert s.status == Status.MAX_ITER
    assert s.gap[0] <= 1e-10 * s.primal[0]


def test_vector_of_C_is_C_times_weights():
    y, w = targets("huber"), weights()
    a = solve("huber", rbf(), y, 3.0 * w, tol=0)
    b = solve("huber", rbf(), y, 3.0, sample_weight=w, tol=0)
    assert np.array_equal(a.coef, b.coef)


@OFFSET
@ALL
def test_weight_two_is_the_row_twice_and_zero_its_absence(loss, fit_intercept):
    X, y = points(), targets(loss)
    w = np.resize([1, 2, 0, 3], N)
    index = np.repeat(np.arange(N), w)
    assert 0 < len(index) != N
    options = {"C": 1.5, "fit_intercept": fit_intercept, "tol": 0}
    weighted = solve(loss, rbf(X), y, sample_weight=w, **options)
    repeated = solve(loss, rbf(X[index]), y[index], **options)
    fresh = np.random.default_rng(3).standard_normal((10, 3))
    # At the limit of rounding the gap is about 1e-14 F, and sqrt(2 gap) bounds the error.
    assert np.allclose(
        rbf(fresh, X) @ weighted.coef + weighted.intercept,
        rbf(fresh, X[index]) @ repeated.coef + repeated.intercept,
        atol=1e-7,
    )
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "poisson", "epsilon_insensitive"])
@BOTH
@OFFSET
def test_warm_start(loss, solver, fit_intercept):
    K, y = rbf(), targets(loss)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 1e-9}
    cold = solve(loss, K, y, 1.0, **options)
    again = solve(loss, K, y, 1.0, start=cold, **options)
    assert again.n_iter <= 1  # one iteration to see that nothing is left to do
    near = solve(loss, K, y, 0.7, **options)  # coefficients beyond the bounds for C = 0.7
    from_other = solve(loss, K, y, 0.7, start=cold, **options)
    assert from_other.primal == pytest.approx(near.primal, rel=2e-9)
    as_array = solve(loss, K, y, 0.7, start=cold.coef, **options)
    assert np.array_equal(as_array.coef, from_other.coef)


@ALL
@BOTH
def test_start_far_outside_the_domain(loss, solver):
    K, y = rbf(), targets(loss)
    wild = 1e3 * np.random.default_rng(0).standard_normal(N)
    far = solve(loss, K, y, start=wild, solver=solver, tol=1e-9)
    near = solve(loss, K, y, solver=solver, tol=1e-9)
    assert far.status == Status.CONVERGED
    assert far.primal == pytest.approx(near.primal, rel=2e-9)
    assert (wild == 1e3 * np.random.default_rng(0).standard_normal(N)).all()  # not written to


# Stopping


@BOTH
@OFFSET
def test_stop_by_step(solver, fit_intercept):
    K, y = rbf(), targets("hinge")
    s = solve(
        "hinge", K, y, fit_intercept=fit_intercept, solver=solver, stop="step", tol=1e-9,
        accelerate=False,
    )  # fmt: skip
    assert s.status == Status.STEP
    assert s.history[-1].largest_step < 1e-9
    assert s.gap <= 1e-6 * s.primal  # small steps mean little in general, but here a solution


@OFFSET
@ALL
def test_limit_of_rounding_does_not_depend_on_the_way_there(loss, fit_intercept):
    K, y = rbf(), targets(loss)
    options = {"C": 2.0, "fit_intercept": fit_intercept, "tol": 0}
    mix = np.random.default_rng(4).permutation(N)
    back = np.argsort(mix)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is what tol=0 asks for: nothing to warn of
        runs = [
            solve(loss, K, y, **options),
            solve(loss, K, y, random_state=5, **options),
            solve(loss, K, y, rule="cyclic", **options),
            solve(loss, K, y, rule="aitken", **options),
            solve(loss, K, y, rule=mix, **options),
            solve(loss, K, y, solver="fixed_point", **options),
            solve(loss, K, y, solver="fixed_point", alpha="jacobi", **options),
        ]
        other = solve(loss, K[np.ix_(mix, mix)], y[mix], **options)
    first = runs[0]
    for s in [*runs, other]:
        assert s.status == Status.PRECISION_LIMIT
        assert s.gap <= 1e-12 * scale(s)
        assert s.primal == pytest.approx(first.primal, rel=1e-12)
    # The gap alone would allow scores to differ by sqrt(2e-14 F), about 1e-7. That they agree to
    # 1e-9 is the work of the Newton steps, which solve the optimality equations themselves.
    size = np.abs(first.fitted).max()
    for s in runs[1:]:
        assert np.allclose(s.fitted, first.fitted, rtol=0, atol=1e-9 * size)
    assert np.allclose(other.fitted[back], first.fitted, rtol=0, atol=1e-9 * size)


@BOTH
def test_same_seed_same_bits(solver):
    K, y = rbf(), targets("logistic")
    a, b, c = (solve("logistic", K, y, solver=solver, random_state=r) for r in (3, 3, None))
    assert a.coef.tobytes() == b.coef.tobytes()
    d = solve("logistic", K, y, solver=solver)
    assert c.coef.tobytes() == d.coef.tobytes()  # None is a fixed seed


@BOTH
@OFFSET
def test_history(solver, fit_intercept):
    s = solve("hinge", rbf(), targets("hinge"), 10.0, fit_intercept=fit_intercept, solver=solver)
    first, last = s.history[0], s.history[-1]
    names = "iteration", "seconds", "primal", "dual", "gap", "largest_step", "n_support"
    assert first._fields == names
    assert first.iteration == 0
    assert last.iteration == s.n_iter
    assert (last.primal, last.dual, last.gap) == (s.primal, s.dual, s.gap)
    table = np.array(s.history)
    assert (np.diff(table[:, 0]) > 0).all()
    assert (np.diff(table[:, 1]) >= 0).all()
    assert (np.diff(table[:, 3]) >= 0).all()  # best dual
    assert (np.diff(table[:, 4]) <= 1e-13 * first.primal).all()  # best gap; ties go to the newer
    assert (table[:, 4] >= 0).all()


def test_callback_sees_each_record_and_can_stop():
    seen = []
    s = solve("hinge", rbf(), targets("hinge"), 10.0, callback=seen.append)
    assert s.status == Status.CONVERGED
    assert seen == s.history[1:]
    with pytest.warns(ConvergenceWarning, match="callback"):
        s = solve(
            "hinge", rbf(), targets("hinge"), 1e3, tol=1e-10, rule="cyclic", accelerate=False,
            callback=lambda record: record.iteration >= 2,
        )  # fmt: skip
    assert s.status == Status.CALLBACK
    assert s.n_iter == 2


def test_error_in_callback_comes_through():
    def fail(record):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solve("hinge", rbf(), targets("hinge"), callback=fail)


@BOTH
def test_limits_warn_once_with_the_numbers(solver):
    K, y = rbf(points(400)), targets("hinge", 400)  # more than two greedy iterations' work
    for limit, status in (({"max_iter": 2}, "MAX_ITER"), ({"time_limit": 0.0}, "TIME_LIMIT")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            s = solve("hinge", K, y, 1e3, solver=solver, tol=1e-7, accelerate=False, **limit)
        assert s.status.name == status
        (warning,) = caught
        assert issubclass(warning.category, ConvergenceWarning)
        assert warning.filename == __file__  # it points to the caller
        text = str(warning.message)
        assert f"{s.gap / scale(s):.2e}" in text
        assert "tol=1e-07" in text
        assert next(iter(limit)) in text
        assert s.n_iter <= 2
        # The certificate of a run that was cut short is as good as any.
        best = solve("hinge", K, y, 1e3, tol=1e-9)
        assert s.primal - s.gap <= best.primal <= s.primal


def test_max_iter_of_one_is_one_sweep():
    y = targets("squared")
    with pytest.warns(ConvergenceWarning):
        s = solve("squared", rbf(), y, max_iter=1, tol=1e-12, rule="cyclic", accelerate=False)
    c, K = np.zeros(N), rbf()
    for i in range(N):
        c[i] = (y[i] - K[i] @ c + K[i, i] * c[i]) / (K[i, i] + 1.0)
    assert s.n_iter == 1
    assert np.allclose(s.coef, c, rtol=1e-13)


# What a Solution says


@OFFSET
@ALL
def test_fields_are_consistent(loss, fit_intercept):
    K, y, w = rbf(), targets(loss), weights()
    problem = Problem(loss, K, y, 2.0, w, fit_intercept)
    s = solve(loss, K, y, 2.0, sample_weight=w, fit_intercept=fit_intercept, tol=1e-4)
    assert s.gap == s.primal - s.dual
    assert problem.primal(s.coef, s.intercept) == pytest.approx(s.primal, rel=1e-12)
    assert problem.primal(s.coef) == pytest.approx(s.primal, rel=1e-12)  # s.intercept is the best
    assert problem.dual(s.coef) <= s.dual * (1 + 1e-12)  # the best dual may be another's
    assert problem.gap(s.coef, s.intercept) >= s.gap - 1e-12 * s.primal
    assert problem.gap(s.coef) == pytest.approx(
        problem.primal(s.coef) - problem.dual(s.coef), abs=1e-12 * s.primal
    )
    assert np.allclose(s.fitted, K @ s.coef + s.intercept, rtol=1e-12, atol=1e-12)
    assert s.n_iter == s.history[-1].iteration


@ALL
def test_the_gap_bounds_the_error_of_predictions(loss):
    X, y = points(), targets(loss)
    K = rbf(X)
    exact = solve(loss, K, y, 2.0, tol=0)
    fresh = np.random.default_rng(3).standard_normal((50, 3))
    rows = rbf(fresh, X)
    for tol in (1e-1, 1e-3, 1e-6):
        rough = solve(loss, K, y, 2.0, tol=tol, accelerate=False)
        error = np.abs(rows @ (rough.coef - exact.coef))
        assert error.max() <= np.sqrt(2 * rough.gap) + 1e-7  # k(x, x) = 1
        assert rough.primal - exact.primal <= rough.gap * (1 + 1e-9) + 1e-12 * exact.primal


@BOTH
def test_the_paper_s_equation_holds(solver):
    # c = -J(alpha K c - c), equation (8), for another alpha than the solvers use.
    K, y = rbf(), targets("hinge")
    c = solve("hinge", K, y, 2.0, solver=solver, tol=0).coef
    v = 0.3 * K @ c - c
    assert np.allclose(c, y * np.clip(0.3 - y * v, 0, 2.0), atol=1e-8)


def test_linear_kernel_agrees_with_the_matrix_it_stands_for():
    X, y = points(), targets("logistic")
    for X_ in (X, sparse.csr_array(X)):
        a = solve("logistic", gram(X_, kernel=Linear(bias=2.0)), y, tol=0)
        b = solve("logistic", X @ X.T + 4.0, y, tol=0)
        assert np.allclose(a.fitted, b.fitted, atol=1e-9)


@pytest.mark.parametrize("alpha", ["spectral", "trace", "jacobi", 0.1, np.full(N, 0.1)])
@pytest.mark.parametrize("accelerate", [False, True])
def test_every_alpha_reaches_the_same_optimum(alpha, accelerate):
    K, y = rbf(), targets("huber")
    s = solve("huber", K, y, solver="fixed_point", alpha=alpha, accelerate=accelerate, tol=1e-9)
    assert s.status == Status.CONVERGED
    assert s.primal == pytest.approx(solve("huber", K, y, tol=0).primal, rel=2e-9)


def test_rules_by_function_and_by_array():
    K, y = rbf(), targets("huber")
    orders = []

    def rule(sweep):
        orders.append(sweep)
        return np.roll(np.arange(N), sweep)

    s = solve("huber", K, y, rule=rule, tol=1e-9)
    assert s.status == Status.CONVERGED
    assert orders == list(range(len(orders)))
    natural = solve("huber", K, y, rule="cyclic", tol=1e-9)
    assert np.array_equal(solve("huber", K, y, rule=range(N), tol=1e-9).coef, natural.coef)


# Found by random search


def test_infinite_objective_is_no_success():
    # The fixed point overshoots to scores beyond 709, where exp overflows: F = inf there.
    rng = np.random.default_rng(0)
    X = 2.0 * rng.standard_normal((22, 3))
    y = rng.poisson(100, 22).astype(float)
    s = solve("poisson", X @ X.T, y, 10.0, solver="fixed_point", tol=1e-6)
    assert np.isfinite(s.primal)
    assert s.gap <= 1e-6 * s.primal


@BOTH
def test_coefficients_at_rest_while_the_offset_moves(solver):
    # After one sweep all coefficients are at their bounds, but their sum is not zero.
    y = np.repeat([1.0, -1.0], [15, 5])
    K = np.eye(20)
    s = solve("hinge", K, y, 1e-3, fit_intercept=True, solver=solver, tol=1e-8)
    assert s.status == Status.CONVERGED
    best, _ = minimum("hinge", K, y, 1e-3, True)
    assert s.primal == pytest.approx(best, rel=1e-6)


def test_extrapolated_step_back_to_the_same_point_proves_nothing():
    y = np.random.default_rng(43).standard_normal(13) * 1e-3
    for seed in range(20):
        y = np.random.default_rng(seed).standard_normal(13) * 1e-3
        s = solve("pinball", np.ones((13, 13)), y, 3e-3, solver="fixed_point", tol=1e-6)
        assert s.status == Status.CONVERGED, seed


@OFFSET
def test_gap_is_not_negative_far_from_zero(fit_intercept):
    # Targets near 1000: b sum(c) is not nothing even where sum(c) is 1e-15.
    y = 1e3 + targets("squared")
    for loss in ("squared_epsilon_insensitive", "absolute", "huber", "pinball"):
        s = solve(loss, rbf(), y, 0.5, fit_intercept=fit_intercept, tol=0)
        assert s.gap == s.primal - s.dual >= -1e-15 * s.primal
        best = minimum(loss, rbf(), y - 1e3, 0.5, True)[0] if fit_intercept else None
        if best is not None:
            assert s.primal == pytest.approx(best, rel=1e-6)
            assert s.dual <= s.primal


@pytest.mark.parametrize("C", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge", "absolute", "huber", "modified_huber"])
def test_low_rank_kernel_and_large_C(loss, C):
    # 20 rows of rank 2: single coordinates crawl, so the Newton steps must find the way.
    X = points(20)[:, :2]
    s = solve(loss, X @ X.T, targets(loss, 20), C, tol=1e-6)
    assert s.status == Status.CONVERGED
