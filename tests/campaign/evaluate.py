"""The objective of any model, in long double and from the definitions alone.

A model is a point of the problem

    minimise   sum_i C_i L(y_i, s_i) + |f|^2 / 2,      s_i = f(x_i) + b,

and its objective is an upper bound on the minimum whoever found it. Hence a certificate is wrong
if any model at all is better than `objective - gap`, and no oracle has to be exact.

What rounding in the working precision can make of the objective is bounded along with it
(`Value.slack`): of the kernel's entries by `Entries.error`, of sums of N terms by N + 64 units in
the last place of the sum of their magnitudes, of the dual bound in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resolvent import kernels
from resolvent.kernels.points import TOLERANCE, TOLERANCE_IN_DOUBLE

LONG = np.longdouble
EPS = float(np.finfo(float).eps)


def long(x: Any) -> np.ndarray:
    """Return x in long double."""
    return np.asarray(x, dtype=LONG)


# ---- losses ---------------------------------------------------------------------------------


def _log1pexp(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _poisson(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """y (exp(t) - 1 - t) with t = z - log(y), which cancels less than its terms."""
    t = np.minimum(z, LONG(11000)) - np.log(np.where(y > 0, y, LONG(1)))
    return np.where(y > 0, y * (np.expm1(t) - t), np.exp(t))


def _tweedie(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Of power 3/2: 2 (exp(z/2) + y exp(-z/2)) less its least value, 4 sqrt(y)."""
    root = np.exp(np.clip(z, LONG(-11000), LONG(11000)) / 4)
    return 2 * (root - np.sqrt(y) / root) ** 2


def value(name: str, y: np.ndarray, z: np.ndarray, tau: float = 0.5) -> np.ndarray:
    """Losses L(y, z) of one score, by the name in a case, with the parameters of a case."""
    y, z = long(y), long(z)
    r, m, zero = y - z, y * z, LONG(0)
    short, size, t = np.maximum(1 - m, zero), np.abs(r), LONG(tau)
    if name == "squared":
        return r * r / 2
    if name == "absolute":
        return size
    if name == "epsilon_insensitive":
        return np.maximum(size - LONG(0.1), zero)
    if name == "squared_epsilon_insensitive":
        return np.maximum(size - LONG(0.1), zero) ** 2
    if name == "huber":
        return np.where(size <= 1, r * r / 2, size - LONG(0.5))
    if name == "pinball":
        return np.where(r > 0, t * r, (t - 1) * r)
    if name == "expectile":
        return np.where(r > 0, t, 1 - t) * r * r / 2
    if name == "poisson":
        return _poisson(y, z)
    if name == "gamma":
        t = np.log(y) - np.maximum(z, LONG(-11000))
        return np.expm1(t) - t
    if name == "tweedie":
        return _tweedie(y, z)
    if name == "hinge":
        return short
    if name == "squared_hinge":
        return short**2
    if name == "smoothed_hinge":  # of width 1
        return np.where(short <= 1, short**2 / 2, short - LONG(0.5))
    if name == "logistic":
        return _log1pexp(-m)
    if name == "modified_huber":
        return np.where(m >= -1, short**2, -4 * m)
    if name == "envelope_hinge":  # of curvature 2
        return np.where(short <= 0.5, short**2, short - LONG(0.25))
    if name == "envelope_absolute":  # of curvature 1/2
        return np.where(size <= 2, r * r / 4, size - 1)
    if name == "own_log_cosh":
        return size + np.log1p(np.exp(-2 * size)) - np.log(LONG(2))
    if name == "own_margin":
        return np.where(short <= 2, short**3 / 3, 4 * short - LONG(16) / 3)
    raise KeyError(name)


def coupled_value(name: str, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Losses of several scores: one of each sample, or a single one of all."""
    y, z = long(y), long(z)
    if name == "chebyshev":
        return np.abs(y - z).max(keepdims=True)
    if name == "root_squared":
        return np.sqrt(((y - z) ** 2).sum(keepdims=True))
    own = (y * z).sum(axis=1)
    if name == "multinomial":
        high = z.max(axis=1)
        return high + np.log(np.exp(z - high[:, None]).sum(axis=1)) - own
    return (z + 1 - y).max(axis=1) - own


# ---- kernels --------------------------------------------------------------------------------


@dataclass
class Entries:
    """A kernel matrix, and by how much its entries may be off in the working precision."""

    K: np.ndarray
    error: np.ndarray

    def is_psd(self) -> bool:
        """Whether the matrix is positive semidefinite up to rounding."""
        values = np.linalg.eigvalsh(self.K.astype(float))
        rounded = np.linalg.norm(self.error) + 1e-13 * len(values) * abs(values[-1])
        return bool(values[0] >= -rounded)


def kernel_matrix(kernel: Any, X: np.ndarray, unit: float) -> Entries:
    """Kernel matrix of samples by the kernel's formula; None is that of a matrix given."""
    if kernel is None:
        return Entries(long(X), np.zeros(X.shape))
    if isinstance(kernel, kernels.Sum | kernels.Product):
        a, b = (kernel_matrix(part, X, unit) for part in kernel.parts)
        if isinstance(kernel, kernels.Sum):
            return Entries(a.K + b.K, a.error + b.error)
        error = np.abs(a.K) * b.error + np.abs(b.K) * a.error + a.error * b.error
        return Entries(a.K * b.K, error.astype(float))
    if isinstance(kernel, kernels.Scaled):
        inner = kernel_matrix(kernel.kernel, X, unit)
        return Entries(LONG(kernel.factor) * inner.K, kernel.factor * inner.error)
    if isinstance(kernel, kernels.ColumnKernel):
        scale = np.ones(len(kernel.columns)) if kernel.scale is None else kernel.scale
        return kernel_matrix(kernel.kernel, X[:, list(kernel.columns)] / scale, unit)
    if isinstance(kernel, kernels.Overlap):
        K = (X[:, None, :] == X[None, :, :]).mean(axis=2)
        return Entries(long(K), unit * np.ones(K.shape))
    if isinstance(kernel, kernels.Constant):
        shape = (len(X), len(X))
        return Entries(np.full(shape, LONG(kernel.value)), np.full(shape, unit * kernel.value))
    if isinstance(kernel, kernels.FunctionKernel):
        K = kernel.function(X, X)
        return Entries(long(K), unit * np.abs(K))
    x = long(X)
    u = (X.shape[1] + 16) * unit
    norms = (x * x).sum(axis=1)
    if isinstance(kernel, kernels.Laplacian):
        r = kernel.gamma * np.abs(x[:, None, :] - x[None, :, :]).sum(axis=2)
        return _entries(np.exp(-r), u * (1 + r) * np.exp(-r))
    if isinstance(kernel, kernels.Chi2 | kernels.AdditiveChi2):
        return _of_amounts(kernel, x, u)
    if isinstance(kernel, kernels.RBF | kernels.Matern):
        return _of_distance(kernel, x, norms, u)
    dots, sizes = x @ x.T, np.abs(x) @ np.abs(x).T
    if isinstance(kernel, kernels.Linear):
        return _entries(dots + LONG(kernel.bias) ** 2, u * (sizes + kernel.bias**2))
    if isinstance(kernel, kernels.Tanimoto):
        below = norms[:, None] + norms - dots
        K = np.where(below > 0, dots, 1) / np.where(below > 0, below, 1)
        return _entries(K, 4 * u * np.ones(K.shape))
    if isinstance(kernel, kernels.Cosine):
        length = np.sqrt(norms)
        inverse = 1 / np.where(length > 0, length, 1)
        K = dots * inverse[:, None] * inverse
        np.fill_diagonal(K, length > 0)
        return _entries(K, u * np.ones(K.shape))
    inner = LONG(kernel.gamma) * dots + LONG(kernel.coef0)
    error = u * (kernel.gamma * sizes + abs(kernel.coef0))
    if isinstance(kernel, kernels.Sigmoid):
        return _entries(np.tanh(inner), error + u)
    p = kernel.degree
    power = (np.abs(inner) + error) ** max(p - 1, 0)
    return _entries(inner**p, p * error * power + u * np.abs(inner) ** p)


def _of_amounts(kernel: Any, x: np.ndarray, u: float) -> Entries:
    """Kernels of chi-squared distances, of samples without negative elements."""
    both = x[:, None, :] + x[None, :, :]
    both = np.where(both > 0, both, LONG(1))
    if isinstance(kernel, kernels.AdditiveChi2):
        sums = x.sum(axis=1)
        K = (2 * x[:, None, :] * x[None, :, :] / both).sum(axis=2)
        return _entries(K, u * (sums[:, None] + sums))
    r = kernel.gamma * ((x[:, None, :] - x[None, :, :]) ** 2 / both).sum(axis=2)
    return _entries(np.exp(-r), u * (1 + r) * np.exp(-r))


def _entries(K: np.ndarray, error: np.ndarray) -> Entries:
    return Entries(K, error.astype(float))


def _of_distance(kernel: Any, x: np.ndarray, norms: np.ndarray, u: float) -> Entries:
    """Kernels of the Euclidean distance, whose square cancels."""
    square = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    if isinstance(kernel, kernels.RBF):
        scale = LONG(kernel.gamma)
        K = np.exp(-scale * square)
    else:
        scale = 2 * LONG(kernel.nu) / LONG(kernel.length_scale) ** 2
        r = np.sqrt(scale * square)
        factor = {0.5: 1, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[kernel.nu]
        K = factor * np.exp(-r)
    lost = u * scale * (norms[:, None] + norms)
    if getattr(kernel, "nu", 1.5) == 0.5:
        lost = np.sqrt(lost)
    # Where more would be lost the library computes in a higher precision.
    most = TOLERANCE_IN_DOUBLE if u < np.finfo(np.float32).eps else TOLERANCE
    if getattr(kernel, "nu", 1.5) == 0.5:
        most = TOLERANCE
    return _entries(K, np.minimum(lost, most) + u * (1 + scale * square) * K)


# ---- objectives -----------------------------------------------------------------------------


@dataclass
class Task:
    """The problem that a model solves, one column for each of its problems."""

    losses: list[tuple[str, float]]  # names, and parameters tau
    targets: np.ndarray  # (n, m)
    weights: np.ndarray  # (n, m), C times the weights of the samples; long double
    couples: str = ""  # "samples", "columns" or nothing
    units: Any = 1.0  # of the targets: losses count as they do where targets have spread 1
    linked: bool = False  # whether predictions are exponentials of scores

    def unit(self, j: int) -> Any:
        """Unit of the targets of a problem."""
        return LONG(np.broadcast_to(self.units, self.targets.shape[1])[j])

    def losses_of(self, j: int, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Losses of problem j at scores: u^2 L(y / u, s / u), or L(y / u, s - log(u))."""
        (name, tau), u = self.losses[j], self.unit(j)
        if self.linked:
            return value(name, y / u, s - np.log(u), tau)
        return u * u * value(name, y / u, s / u, tau)


@dataclass
class Point:
    """A model as a point of that problem, with bounds on its rounding in the working precision."""

    scores: np.ndarray  # (n, m)
    squares: np.ndarray  # (m,), |f|^2
    score_error: np.ndarray
    square_error: np.ndarray


@dataclass
class Value:
    """Objectives of a point, one for each problem, and what rounding can make of them."""

    primal: np.ndarray
    slack: np.ndarray


def objective(task: Task, point: Point) -> Value:
    """Evaluate a point; for a loss that couples the columns there is one problem."""
    if task.couples == "columns":
        return _coupled(task, point, slice(None))
    if task.couples == "samples":
        parts = [_coupled(task, point, j) for j in range(task.targets.shape[1])]
    else:
        parts = [_separable(task, point, j) for j in range(task.targets.shape[1])]
    return Value(
        np.concatenate([part.primal for part in parts]),
        np.concatenate([part.slack for part in parts]),
    )


def _total(losses: np.ndarray, C: np.ndarray, moved: np.ndarray, dual: Any, rest: Any) -> Value:
    """Sum up: C times losses, which rounding moves by `moved`, and |f|^2 with its error."""
    square, error = rest
    sum_of_losses = (C * losses).sum()
    primal = sum_of_losses + square / 2
    n = len(losses) + 64
    slack = (C * moved).sum() + error + n * EPS * (sum_of_losses + square + dual)
    return Value(np.atleast_1d(primal), np.atleast_1d(slack))


# What a loss loses by its own formula: this one subtracts log(2) from what is nearly that.
OWN_ROUNDING = {"own_log_cosh": 4 * EPS}


def _separable(task: Task, point: Point, j: int) -> Value:
    used = task.weights[:, j] > 0
    name = task.losses[j][0]
    y, C = task.targets[used, j], task.weights[used, j]
    s, eta = point.scores[used, j], point.score_error[used, j]

    def losses(z: np.ndarray) -> np.ndarray:
        return task.losses_of(j, long(y), z)

    here = losses(s)
    moved = np.maximum(np.abs(losses(s + eta) - here), np.abs(losses(s - eta) - here))
    h = LONG(1e-6) * (1 + np.abs(s))
    slope = np.maximum(np.abs(losses(s + h) - here), np.abs(losses(s - h) - here))
    dual = (C * slope / h * (np.abs(y) + np.abs(s))).sum()
    moved += OWN_ROUNDING.get(name, 0.0)
    return _total(here, C, moved, dual, (point.squares[j], point.square_error[j]))


def _coupled(task: Task, point: Point, j: Any) -> Value:
    used = task.weights[:, 0] > 0
    name, _ = task.losses[0]
    C, y = task.weights[used, 0], task.targets[used, j]
    s, eta = point.scores[used, j], point.score_error[used, j]
    u = task.unit(0)  # of losses of degree 1
    C, here = C * u, coupled_value(name, y, s)
    if name == "root_squared":
        moved = np.sqrt((eta**2).sum(keepdims=True))
    else:
        moved = eta.max(keepdims=True) if eta.ndim == 1 else 2 * eta.max(axis=1)
    C = C[: len(here)]
    dual = C.max() * (np.abs(y).sum() + np.abs(s).sum())
    rest = point.squares[j].sum(), point.square_error[j].sum()
    return _total(here, C, moved, dual, rest)


def of_weights(X: np.ndarray, w: np.ndarray, b: np.ndarray, penalised: float, unit: float) -> Point:
    """Point of weights (m, d) and offsets (m,), which may be penalised as a feature's weight."""
    x, w, b = long(X), long(w), long(b)
    squares = (w * w).sum(axis=1)
    if penalised:
        squares = squares + (b / LONG(penalised)) ** 2
    size = np.abs(x) @ np.abs(w).T + np.abs(b)
    u = (X.shape[1] + 64) * unit
    return Point(x @ w.T + b, squares, u * size, u * squares)


def of_coefficients(entries: Entries, c: np.ndarray, b: np.ndarray) -> Point:
    """Point of coefficients (n, m) and offsets (m,)."""
    c, b = long(c), long(b)
    z = entries.K @ c
    squares = (c * z).sum(axis=0)
    error = entries.error + (len(c) + 64) * EPS * np.abs(entries.K)
    spread = error @ np.abs(c)
    return Point(z + b, squares, spread + 64 * EPS * np.abs(b), (np.abs(c) * spread).sum(axis=0))
