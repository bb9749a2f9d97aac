"""When a run of `solve` stops, what it tells on the way, and the limit of rounding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import ALL, BOTH, OFFSET, N, points, rbf, scale, targets
from sklearn.exceptions import ConvergenceWarning

from resolvent import Status, gram, solve
from resolvent.problem.certificate import Best, Certificate
from resolvent.solvers import certified


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
    assert seen[:-1] == s.history[1:-1]
    # The last is certified again, as it is returned.
    assert seen[-1] == s.history[-1]._replace(dual=seen[-1].dual, gap=seen[-1].gap)
    assert s.history[-1].gap == pytest.approx(seen[-1].gap, abs=1e-12 * s.primal)
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


def test_the_last_certificate_takes_one_product(monkeypatch):
    """Sweeps leave coefficients that do not sum to zero: the scores of balanced ones will do."""
    K, y = gram(points(), "rbf", gamma=0.5), targets("logistic")
    states, state = [], K.state
    monkeypatch.setattr(K, "state", lambda c: states.append(c.any()) or state(c))
    monkeypatch.setattr(certified, "TRIFLE", 0.0)  # as where products are dear
    s = solve("logistic", K, y, 2.0, fit_intercept=True, rule="cyclic", accelerate=False)
    assert s.status == Status.CONVERGED
    assert states == [False, True]  # where it starts, and the last
    assert abs(s.coef.sum()) <= 1e-12 * np.abs(s.coef).sum()
    np.testing.assert_allclose(s.fitted - s.intercept, state(s.coef[None])[0], atol=1e-12)


def test_what_has_overflowed_is_never_the_best():
    def certificate(primal, dual):
        return Certificate(np.zeros(1), np.zeros(1), np.zeros(1), 0.0, primal, dual, 0.0)

    best = Best()
    best.see(certificate(2.0, 1.0))
    best.see(certificate(np.nan, np.nan))
    assert (best.known.primal, best.dual) == (2.0, 1.0)
    best.see(certificate(1.5, 1.2))
    assert (best.known.primal, best.dual) == (1.5, 1.2)
