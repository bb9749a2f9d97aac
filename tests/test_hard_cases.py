"""Hard cases: each gets the right answer or a sentence that says what is wrong and what to do.

None may hang, return NaN, or warn of anything but convergence: pytest turns warnings into errors.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference import minimum
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from resolvent import Problem, Status, gram, solve
from resolvent.kernels import RBF
from resolvent.losses import LOSSES

SOLVERS = ("coordinate_descent", "fixed_point", "newton")
BOTH = pytest.mark.parametrize("solver", SOLVERS)
OFFSET = pytest.mark.parametrize("fit_intercept", [False, True])
ALL = pytest.mark.parametrize("loss", LOSSES)
SIGNS = [name for name, cls in LOSSES.items() if getattr(cls, "targets", "real") == "sign"]
REALS = [name for name, cls in LOSSES.items() if getattr(cls, "targets", "real") == "real"]

pytestmark = pytest.mark.timeout(60)


def data(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def targets(loss, n=20):
    X, y = data(n)
    kind = getattr(LOSSES[loss], "targets", "real")
    return y if kind == "sign" else np.floor(3 + X[:, 1]) if kind == "nonnegative" else X[:, 1]


def sound(solution, K=None):
    """A solution that may be trusted: finite, with bounds in order."""
    for part in (solution.coef, solution.fitted, solution.primal, solution.dual, solution.gap):
        assert np.isfinite(part).all()
    assert np.isfinite(solution.intercept).all()
    assert np.all(solution.gap >= 0)
    assert np.all(solution.dual <= solution.primal)
    return solution


def quiet(*args, **options):
    """Solve, letting only the warning that it did not converge pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return sound(solve(*args, **options))


# Data


@BOTH
def test_features_of_wildly_different_scale(solver):
    X, y = data()
    X = X * [1e-8, 1.0, 1e8]
    for kernel in ("rbf", "linear", "laplacian"):
        s = quiet("hinge", gram(X, kernel=kernel), y, solver=solver, time_limit=5)
        assert s.gap <= s.primal


@pytest.mark.parametrize("size", [1e30, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "poly", "cosine"])
def test_huge_values(kernel, size):
    # Squares overflow from 1e154 on: an answer or a refusal that says so, never NaN.
    X, y = data()
    if size >= 1e160 and kernel != "cosine":
        with pytest.raises(ValueError, match=r"scale the data|finite"):
            quiet("hinge", gram(X * size, kernel=kernel), y, time_limit=2, max_iter=200)
        return
    s = quiet("hinge", gram(X * size, kernel=kernel), y, time_limit=2, max_iter=200)
    assert s.gap <= s.primal


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["X", "X csr", "K", "y", "C", "sample_weight", "start"])
def test_not_finite(bad, where):
    X, y = data()
    K, C, w, start = RBF()(X), np.ones(20), np.ones(20), np.zeros(20)
    if where.startswith("X"):
        X[3, 1] = bad
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            solve("hinge", gram(sparse.csr_array(X) if "csr" in where else X, gamma=1.0), y)
        return
    {"K": K[3], "y": y, "C": C, "sample_weight": w, "start": start}[where][4] = bad
    K[4, 3] = K[3, 4]
    with pytest.raises(ValueError, match=rf"{where if where != 'start' else 'coef|start'}.*"):
        solve("hinge", K, y, C, sample_weight=w, start=start)


def test_constant_column_and_constant_data():
    X, y = data()
    X[:, 1] = 7.0
    assert solve("hinge", gram(X), y).status == Status.CONVERGED
    s = sound(solve("hinge", gram(np.full((20, 3), 7.0)), y, tol=1e-8))  # K is all ones
    best, _ = minimum("hinge", np.ones((20, 20)), y, 1.0)
    assert s.primal == pytest.approx(best, rel=1e-6)


@OFFSET
@BOTH
@pytest.mark.parametrize("loss", REALS)
@pytest.mark.parametrize("level", [0.0, 5.0, 1e6])
def test_constant_target(loss, level, solver, fit_intercept):
    X, _ = data()
    y = np.full(20, level)
    # With an offset (or level 0) the optimum is the constant and F = 0: no relative gap exists
    # there, and no warning is due either.
    s = sound(solve(loss, RBF()(X), y, fit_intercept=fit_intercept, solver=solver))
    assert s.status <= Status.PRECISION_LIMIT
    if fit_intercept or level == 0.0:
        assert np.allclose(s.fitted, level, atol=0.11, rtol=1e-9)  # 0.1 is the width of the tube
        assert s.primal <= 1e-12 * (1 + level)


@BOTH
@pytest.mark.parametrize("loss", SIGNS)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_only(loss, label, solver):
    X, _ = data()
    K, y = RBF()(X), np.full(20, label)
    s = sound(solve(loss, K, y, solver=solver))
    assert s.status == Status.CONVERGED
    assert (s.fitted * label > 0).all()
    if loss == "logistic":
        with pytest.raises(ValueError, match=r"no solution.*single class.*fit_intercept=False"):
            solve(loss, K, y, fit_intercept=True, solver=solver)
    else:
        s = sound(solve(loss, K, y, fit_intercept=True, solver=solver))  # without a warning
        assert np.allclose(s.fitted, label, atol=1e-6)
        assert s.primal <= 1e-10


def test_poisson_of_zeros_alone_has_no_offset():
    with pytest.raises(ValueError, match=r"no solution.*all zero.*fit_intercept=False"):
        solve("poisson", np.eye(3), np.zeros(3), fit_intercept=True)
    s = sound(solve("poisson", np.eye(3), np.zeros(3), tol=1e-8))
    z = -0.5671432904097838  # exp(z) = -z
    assert np.allclose(s.fitted, z, atol=1e-4)


@BOTH
@ALL
def test_one_row(loss, solver):
    y = np.ones(1)
    s = sound(solve(loss, [[2.0]], y, solver=solver, tol=1e-9))
    best, _ = minimum(loss, np.array([[2.0]]), y, 1.0)
    assert s.primal == pytest.approx(best, rel=1e-6, abs=1e-9)
    if loss != "logistic":
        s = sound(solve(loss, [[2.0]], y, fit_intercept=True, solver=solver))
        assert s.coef[0] == 0.0  # it sums to zero
        assert s.primal <= 1e-12


@BOTH
@OFFSET
@ALL
def test_two_rows(loss, solver, fit_intercept):
    y = {"sign": [1.0, -1.0], "nonnegative": [0.0, 4.0], "real": [-2.0, 3.0]}[
        getattr(LOSSES[loss], "targets", "real")
    ]
    K = np.array([[1.0, 0.3], [0.3, 2.0]])
    s = sound(solve(loss, K, y, fit_intercept=fit_intercept, solver=solver, tol=1e-9))
    best, _ = minimum(loss, K, np.array(y), 1.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@BOTH
@OFFSET
@pytest.mark.parametrize("loss", SIGNS)
def test_duplicated_rows_with_opposite_labels(loss, solver, fit_intercept):
    X, y = data(10)
    X, y = np.concatenate([X, X]), np.concatenate([y, -y])
    s = sound(solve(loss, RBF()(X), y, 10.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8))
    assert s.status == Status.CONVERGED
    assert np.allclose(s.fitted, 0.0, atol=1e-3)  # by symmetry
    best, _ = minimum(loss, RBF()(X), y, 10.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


# Weights and scales


@OFFSET
@BOTH
@ALL
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_C(loss, C, solver, fit_intercept):
    K, y = RBF(gamma=2.0)(data()[0]), targets(loss)
    s = sound(
        solve(loss, K, y, C, fit_intercept=fit_intercept, solver=solver, tol=1e-5, time_limit=20)
    )
    assert s.status == Status.CONVERGED


@OFFSET
@BOTH
@ALL
@pytest.mark.parametrize("gamma", [1e6, 1e-12])
def test_identity_and_all_ones(loss, gamma, solver, fit_intercept):
    X, _ = data()
    K = gram(X, gamma=gamma)
    expected = np.eye(20) if gamma > 1 else np.ones((20, 20))
    s = sound(
        solve(loss, K, targets(loss), 3.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8)
    )
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, expected, targets(loss), 3.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@BOTH
@OFFSET
def test_weights_of_zero(solver, fit_intercept):
    X, y = data()
    w = np.resize([0.0, 1.0, 1.0], 20)
    K = RBF()(X)
    options = {"fit_intercept": fit_intercept, "solver": solver, "tol": 0}
    s = sound(solve("hinge", K, y, sample_weight=w, **options))
    there = w > 0
    t = sound(solve("hinge", K[np.ix_(there, there)], y[there], **options))
    assert (s.coef[~there] == 0).all()
    assert np.allclose(s.fitted[there], t.fitted, atol=1e-7)
    # A class whose rows all have no weight is not there.
    s = sound(solve("hinge", K, y, sample_weight=(y > 0).astype(float), **options))
    assert (s.fitted[y > 0] > 0).all()
    if fit_intercept:
        with pytest.raises(ValueError, match="no solution"):
            solve("logistic", K, y, sample_weight=(y > 0).astype(float), **options)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "absolute"])
@OFFSET
def test_weights_of_every_size(loss, fit_intercept):
    w = 10.0 ** np.linspace(-12, 12, 20)
    s = quiet(
        loss, RBF(gamma=5.0)(data()[0]), targets(loss), sample_weight=w,
        fit_intercept=fit_intercept, tol=1e-6, time_limit=10,
    )  # fmt: skip
    assert s.gap <= 1e-5 * s.primal


@OFFSET
@BOTH
@ALL
def test_kernel_of_zeros(loss, solver, fit_intercept):
    K, y = np.zeros((20, 20)), targets(loss)
    s = sound(solve(loss, K, y, 2.0, fit_intercept=fit_intercept, solver=solver, tol=1e-8))
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, K, y, 2.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)
    assert np.allclose(s.fitted, s.intercept)


@OFFSET
@BOTH
@ALL
def test_zeros_on_the_diagonal(loss, solver, fit_intercept):
    X, _ = data()
    X[::3] = 0.0  # rows of zeros: k_ii = 0
    y = targets(loss)
    s = sound(
        solve(
            loss, gram(X, kernel="linear"), y, 2.0, fit_intercept=fit_intercept, solver=solver,
            tol=1e-8,
        )
    )  # fmt: skip
    assert s.status == Status.CONVERGED
    best, _ = minimum(loss, X @ X.T, y, 2.0, fit_intercept)
    assert s.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@OFFSET
def test_kernel_of_any_scale(loss, factor, fit_intercept):
    # K and C enter as K C, and c as c K: the solution is that of a problem of scale one.
    K, y = RBF()(data()[0]), targets(loss)
    plain = solve(loss, K, y, 1.0, fit_intercept=fit_intercept, tol=1e-9)
    scaled = sound(solve(loss, factor * K, y, 1.0 / factor, fit_intercept=fit_intercept, tol=1e-9))
    assert scaled.status == Status.CONVERGED
    assert factor * scaled.primal == pytest.approx(plain.primal, rel=1e-8)


# Kernels


def test_not_symmetric():
    K = RBF()(data()[0])
    K[3, 5] += 0.1
    with pytest.raises(ValueError, match=r"not symmetric: K\[5, 3\].*K\[3, 5\]|K\[3, 5\]"):
        solve("hinge", K, data()[1])


@BOTH
@OFFSET
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic", "squared_hinge"])
def test_indefinite(loss, solver, fit_intercept):
    X, _ = data()
    K = np.tanh(X @ X.T - 1.0)  # sigmoid
    np.fill_diagonal(K, np.abs(K.diagonal()))
    assert np.linalg.eigvalsh(K)[0] < -0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(
            loss, K, targets(loss), 10.0, fit_intercept=fit_intercept, solver=solver,
            max_iter=300, time_limit=5,
        )  # fmt: skip
    assert np.isfinite(s.coef).all()
    assert np.isfinite([s.primal, s.dual, s.gap]).all()
    # No bound holds here; it must not be called a certified optimum that lies below the bound.
    assert s.gap == s.primal - s.dual


def test_negative_diagonal():
    with pytest.raises(ValueError, match=r"K\[1, 1\] is -1.*not negative"):
        solve("squared", np.diag([1.0, -1.0]), [1.0, 2.0])


def test_float32_data_far_from_the_origin():
    X, y = data()
    far = (X + 1e4).astype(np.float32)
    s = sound(solve("hinge", gram(far, gamma=0.5), y, tol=1e-6))
    exact = solve("hinge", gram(far.astype(float), gamma=0.5), y, tol=1e-8)
    # Distances computed by |x|^2 + |y|^2 - 2 x'y would be off by 1e8 * 6e-8 = 6.
    assert s.status <= Status.PRECISION_LIMIT
    assert s.primal == pytest.approx(exact.primal, rel=1e-4)


@BOTH
def test_poly_on_data_that_are_not_scaled(solver):
    X, y = data()
    K = gram(1e3 * X, kernel="poly", degree=4, gamma=1.0, coef0=1.0)
    s = quiet("hinge", K, y, solver=solver, max_iter=500, time_limit=5, tol=1e-10)
    # Whatever it reached, the bounds hold the optimum, which a long run pins down.
    t = quiet("hinge", K, y, max_iter=20_000, time_limit=10, tol=1e-10)
    assert t.dual <= s.primal * (1 + 1e-12)
    assert s.dual <= t.primal * (1 + 1e-12)


# Kinds of input


@pytest.mark.parametrize("dtype", [int, bool, object, np.float16, np.int8, np.uint64])
def test_types_of_data(dtype):
    X, y = data()
    X = (X > 0).astype(dtype) if dtype in (bool, np.uint64) else np.round(2 * X).astype(dtype)
    expected = solve("hinge", gram(X.astype(float), gamma=0.5), y)
    assert solve("hinge", gram(X, gamma=0.5), y).primal == pytest.approx(expected.primal, rel=1e-9)
    K = np.diag(np.arange(1, 21)).astype(dtype)
    s = sound(solve("hinge", K, y.astype(int)))
    assert s.primal == pytest.approx(solve("hinge", K.astype(float), y).primal, rel=1e-9)


def test_read_only_and_memory_mapped(tmp_path):
    X, y = data()
    K = RBF()(X)
    expected = solve("hinge", K, y, tol=0).fitted
    for name, array in (("X", X), ("K", K), ("y", y)):
        np.save(tmp_path / name, array)
    X_, K_, y_ = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "XKy")
    w, C, start = np.ones(20), np.ones(20), np.zeros(20)
    for array in (w, C, start):
        array.flags.writeable = False
    s = solve("hinge", K_, y_, C, sample_weight=w, start=start, tol=0)
    assert np.allclose(s.fitted, expected, atol=1e-9)
    s = solve("hinge", gram(X_, kernel=RBF()), y_, tol=0)
    assert np.allclose(s.fitted, expected, atol=1e-9)


def test_inputs_are_not_written_to():
    X, y = data()
    K, C, w, start = RBF()(X), np.ones(20), np.ones(20), np.full(20, 9.0)
    copies = [a.copy() for a in (K, y, C, w, start)]
    solve("hinge", K, y, C, sample_weight=w, start=start, fit_intercept=True)
    for before, after in zip(copies, (K, y, C, w, start), strict=True):
        assert np.array_equal(before, after)


def test_layouts_of_arrays():
    X, y = data()
    K = RBF()(X)
    big = np.zeros((40, 40))
    big[::2, ::2] = K
    expected = solve("hinge", K, y, tol=0).fitted
    forms = {
        "Fortran": (np.asfortranarray(K), y),
        "strided": (big[::2, ::2], np.repeat(y, 2)[::2]),
        "lists": (K.tolist(), y.tolist()),
        "other byte order": (K.astype(">f8"), y.astype(">f8")),
    }
    for name, (K_, y_) in forms.items():
        # Not the same bits: BLAS sums in an order that depends on the alignment in memory.
        assert np.allclose(solve("hinge", K_, y_, tol=0).fitted, expected, atol=1e-9), name


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kinds_of_csr(kernel):
    X, y = data()
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    plain = sparse.csr_array(X)
    expected = solve("logistic", gram(X, kernel=kernel, gamma=0.5), y, tol=1e-10).fitted
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    zeros = sparse.csr_array((np.r_[plain.data, 0.0], np.r_[plain.indices, 0],
                              np.r_[plain.indptr[:-1], len(plain.data) + 1]), X.shape)  # fmt: skip
    mixed = sparse.csr_array(
        (
            np.concatenate([plain[[i]].data[::-1] for i in range(20)]),
            np.concatenate([plain[[i]].indices[::-1] for i in range(20)]),
            plain.indptr,
        ),
        X.shape,
    )
    assert not mixed.has_sorted_indices
    halves = sparse.csr_array(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), X.shape
    )  # each entry twice: they add up
    forms = {"int64": wide, "zeros": zeros, "unsorted": mixed, "twice": halves}
    forms |= {"csc": sparse.csc_array(X), "coo": sparse.coo_matrix(X)}
    for name, form in forms.items():
        s = solve("logistic", gram(form, kernel=kernel, gamma=0.5), y, tol=1e-10)
        assert np.allclose(s.fitted, expected, atol=1e-4), name


@pytest.mark.parametrize("loss", SIGNS)
@pytest.mark.parametrize("y", [[0, 1, 1], [1, 2, 2], [True, False, True]])
def test_labels_other_than_plus_and_minus_one(loss, y):
    with pytest.raises(ValueError, match=r"y must be -1 or \+1.*found the values"):
        solve(loss, np.eye(3), y)


def test_labels_that_are_strings():
    with pytest.raises(TypeError, match="y must be numbers; got"):
        solve("hinge", np.eye(2), ["cat", "dog"])


def test_negative_counts():
    with pytest.raises(ValueError, match=r"y must be >= 0.*Poisson.*-1"):
        solve("poisson", np.eye(2), [1.0, -1.0])


# Arguments: the message names the argument and its value, and says what would be right


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tol": -1}, r"tol=-1 must be a number, at least 0"),
        ({"tol": "a"}, r"tol='a' must be a number"),
        ({"tol": np.nan}, r"tol=nan must be a number"),
        ({"tol": np.inf}, r"tol=inf must be"),
        ({"tol": None}, r"tol=None must be a number"),
        ({"tol": 0, "stop": "step"}, r"tol=0 with stop='step'.*positive tol"),
        ({"max_iter": 0}, r"max_iter=0 must be a whole number, at least 1"),
        ({"max_iter": 1.5}, r"max_iter=1.5 must be a whole number"),
        ({"max_iter": -3}, r"max_iter=-3 must be"),
        ({"max_iter": "many"}, r"max_iter='many' must be"),
        ({"max_iter": True}, r"max_iter=True must be"),
        ({"max_iter": np.inf}, r"max_iter=inf must be"),
        ({"time_limit": -1}, r"time_limit=-1 must be"),
        ({"time_limit": np.nan}, r"time_limit=nan must be"),
        ({"C": 0}, r"C=0 must be positive"),
        ({"C": -1}, r"C=-1 must be positive"),
        ({"C": np.inf}, r"C contains NaN or infinity"),
        ({"C": np.ones(5)}, r"C has shape \(5,\).*\(20,\)"),
        ({"C": "strong"}, r"C must be numbers; got 'strong'"),
        ({"sample_weight": np.full(20, np.nan)}, r"sample_weight contains NaN"),
        ({"sample_weight": np.zeros(20)}, r"(?i)all weights.*zero"),
        ({"sample_weight": -np.ones(20)}, r"sample_weight has a negative value \(-1\)"),
        ({"sample_weight": np.ones(19)}, r"sample_weight has shape \(19,\).*\(20,\)"),
        ({"sample_weight": np.full(20, 1e300), "C": 1e300}, r"overflows; scale"),
        ({"solver": "sgd"}, r"solver='sgd' is unknown; choose one of auto, coordinate"),
        ({"solver": None}, r"solver=None is unknown"),
        ({"solver": ["auto"]}, r"solver=\['auto'\] is unknown"),
        ({"stop": "never"}, r"stop='never' is unknown; choose one of gap, step"),
        ({"on_interrupt": "ignore"}, r"on_interrupt='ignore' is unknown"),
        ({"rule": "best"}, r"rule='best' is unknown; choose one of permuted"),
        ({"rule": np.arange(19)}, r"essentially cyclic.*leaves out 1 of 20.*being 19"),
        ({"rule": np.arange(21)}, r"indices outside 0..19"),
        ({"rule": [0.5]}, r"rule must give a one-dimensional array of indices"),
        ({"rule": lambda sweep: [0, 1]}, r"leaves out 18 of 20"),
        ({"rule": None}, r"rule"),
        ({"solver": "fixed_point", "alpha": "big"}, r"alpha='big' is unknown"),
        ({"solver": "fixed_point", "alpha": 0.0}, r"alpha=0.0 must be positive"),
        ({"solver": "fixed_point", "alpha": -1.0}, r"alpha=-1.0 must be positive"),
        ({"solver": "fixed_point", "alpha": np.nan}, r"alpha=nan must be positive and finite"),
        ({"solver": "fixed_point", "alpha": 1e3}, r"alpha is too large.*alpha='spectral'"),
        ({"solver": "fixed_point", "alpha": np.ones(3)}, r"alpha=.*vector of length 20"),
        ({"start": np.zeros(3)}, r"(start|coef) has shape \(3,\).*\(20,\)"),
        ({"start": "here"}, r"(start|coef) must be numbers"),
        ({"random_state": "seed"}, r"random_state"),
        ({"callback": 3}, r"callback=3"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments(arguments, sentence):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match=sentence):
        solve("hinge", RBF()(X), y, **arguments)


def test_wrong_shapes():
    X, y = data()
    K = RBF()(X)
    with pytest.raises(ValueError, match=r"y has shape \(19,\).*20 rows"):
        solve("hinge", K, y[:19])
    with pytest.raises(ValueError, match=r"y has shape \(20, 1, 1\)"):
        solve("hinge", K, y[:, None, None])
    with pytest.raises(ValueError, match=r"K has shape \(20, 3\).*square"):
        solve("hinge", X, y)
    with pytest.raises(ValueError, match=r"K has shape \(0, 0\)"):
        solve("hinge", np.empty((0, 0)), [])
    with pytest.raises(TypeError, match=r"sparse.*toarray"):
        solve("hinge", sparse.eye(20, format="csr"), y)
    with pytest.raises(ValueError, match=r"C has shape \(20,\).*\(2,\)"):
        solve("hinge", K, np.stack([y, y], axis=1), np.ones(20))
    with pytest.raises(ValueError, match=r"y has shape|columns"):
        solve("hinge", K, np.empty((20, 0)))
    with pytest.raises(ValueError, match=r"coef has shape \(20, 1\)"):
        Problem("hinge", K, y).gap(np.zeros((20, 1)))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ("hinges", r"loss='hinges' is unknown; choose one of squared,"),
        (3, r"loss=3 is not a loss"),
        (None, r"loss=None is not a loss"),
        (len, r"is not a loss"),
    ],
)
def test_wrong_loss(loss, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        solve(loss, np.eye(2), [1.0, -1.0])
