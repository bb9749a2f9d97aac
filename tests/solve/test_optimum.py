"""`solve`: every loss on every kind of kernel matrix, against solvers that share no code with it.

Coefficients are never compared with another solver's: with a singular K many give the same scores.
Objectives and scores are.
"""

from __future__ import annotations

import numpy as np
import pytest
from problems import ALL, BOTH, OFFSET, SOLVERS, N, points, rbf, scale, targets, weights
from reference import minimum
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from resolvent import Problem, Status, gram, solve
from resolvent.kernels import Linear

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
