"""Small problems of the linear kernel: Newton's method on the weights, in one compiled call.

The proximal steps of `resolvent.solvers.newton`, for K = XX' of few columns: around coefficients c0
and with a step sigma, minimise

    phi(w, b) = sum_i e_i(x_i'w + b) + |w|^2 / 2,      e_i' = -c_i(s) = J_sigma(sigma s - c0_i),

by Newton's method, whose system has a row for each column of X; then c0 is c. Where the loss is
smooth sigma is so large that phi is F itself. Stopping: the duality gap of w and c, or a budget.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import compiled, inner, response
from resolvent._numeric import EPS
from resolvent.problem.certificate import BALANCED, dual_of, primal_of
from resolvent.problem.sums import SHARP, Vector, sums
from resolvent.solvers.small.bounds import put_bounds
from resolvent.solvers.small.vectors import (
    add_times,
    dot,
    factorise,
    fill,
    largest_of,
    put,
    size_of,
    solve_in_place,
    total_of,
)

Matrix = NDArray[np.float64]

ROUNDING = 1e-16  # relative gaps that no Newton step makes smaller; scores are off by its root
UNSEEN = 32 * EPS  # of the scores: changes that are rounding
SMOOTH = 1e6  # how much longer sigma is where the curvature of the loss itself keeps steps short
FLAT = 0.01  # slopes of resolvents that only the curvature of the loss leaves
INEXACT = 0.9  # below 1 inexact proximal steps converge
GROWTH = 2.0  # of sigma, from one proximal step to the next, squared after an easy one
MAX_SEARCH = 30  # points on the line of one Newton step
EXACT = 0.1  # of the slope of phi at its beginning: what is left of it where the search ends
FINISH = 2  # steps at most to a gap of half of that before, beyond the tolerance
MAX_BALANCE = 8  # Newton steps on the offset alone


class Sums(NamedTuple):
    """What is to be minimised: data and weights of the losses."""

    X: Matrix
    y: Vector
    C: Vector


@inner
def respond(
    loss: Any, of: Sums, centre: Vector, s: Vector, sigma: float, c: Vector, D: Vector
) -> float:
    """Put c(s) and minus its derivative in `c` and `D`; return the largest slope of a resolvent."""
    steepest = 0.0
    for i in range(len(s)):
        c[i], D[i] = 0.0, 0.0
        if of.C[i] > 0.0:
            a = min(sigma / of.C[i], SHARP)
            u, d = response(loss, of.y[i], a * s[i] - centre[i] / of.C[i], a)
            c[i], D[i], steepest = -of.C[i] * u, sigma * d, max(steepest, d)
    return steepest


@inner
def scores_of(X: Matrix, w: Vector, out: Vector) -> None:
    """Put Xw in `out`."""
    for i in range(len(X)):
        out[i] = dot(X[i], w)


@inner
def weights_of(X: Matrix, c: Vector, out: Vector) -> None:
    """Put X'c in `out`."""
    fill(out, 0.0)
    for i in range(len(X)):
        if c[i] != 0.0:
            add_times(out, c[i], X[i])


@inner
def squares_of(X: Matrix, D: Vector, H: Matrix, border: Vector) -> None:
    """Put I + X'DX in the lower triangle of `H` and X'D1 in `border`, four rows at a time."""
    fill(border, 0.0)
    for k in range(len(H)):
        fill(H[k], 0.0)
    p, q, r, s, count = 0, 0, 0, 0, 0
    for i in range(len(X)):
        if D[i] > 0.0:
            p, q, r, s = (i, i, i, i) if count == 0 else (p, q, r, s)
            q, r, s = (i, i, i) if count == 1 else (q, r, s)
            r, s = (i, i) if count == 2 else (r, s)
            s = i if count == 3 else s
            count += 1
        if count == 4 or (i == len(X) - 1 and count > 0):
            a, b, c, d = X[p], X[q], X[r], X[s]
            e = D[p]
            f, g, h = D[q] * (count > 1), D[r] * (count > 2), D[s] * (count > 3)
            for k in range(len(H)):
                row, at = H[k, : k + 1], e * a[k]
                at_b, at_c, at_d = f * b[k], g * c[k], h * d[k]
                border[k] += at + at_b + at_c + at_d
                for j in range(row.size):
                    row[j] += at * a[j] + at_b * b[j] + at_c * c[j] + at_d * d[j]
            count = 0
    for k in range(len(H)):
        H[k, k] += 1.0


@inner
def direction(
    of: Sums, D: Vector, ahead: Vector, total: float, paired: bool, H: Matrix
) -> tuple[Vector, float]:
    """Newton's direction of the weights and the offset, from X'c - w and the sum of c."""
    border = np.empty(len(ahead))
    squares_of(of.X, D, H, border)
    factorise(H)
    dw, t = np.empty(len(ahead)), 0.0
    put(ahead, dw)
    solve_in_place(H, dw)
    if paired:
        v = np.empty(len(ahead))
        put(border, v)
        solve_in_place(H, v)
        pivot = total_of(D) - dot(border, v)
        if pivot > 0.0:
            t = (total - dot(border, dw)) / pivot
            add_times(dw, -t, v)
    return dw, t


@inner
def search(
    loss: Any,
    of: Sums,
    centre: Vector,
    s: Vector,
    ds: Vector,
    sigma: float,
    line: tuple[float, float],
    c: Vector,
    D: Vector,
) -> float:
    """Find the step t at which phi is about least along a direction; c and D are those there.

    `line` are w'dw and |dw|^2, of which with c(t)'ds the derivative of phi is made.
    """
    at = np.empty(len(s))
    lo, hi, t = 0.0, 0.0, 1.0
    f_lo, f_hi = line[0] - dot(c, ds), 0.0
    enough = EXACT * abs(f_lo)
    for _ in range(MAX_SEARCH):
        for i in range(len(s)):
            at[i] = s[i] + t * ds[i]
        respond(loss, of, centre, at, sigma, c, D)
        f = line[0] + t * line[1] - dot(c, ds)
        if abs(f) <= enough or (hi == 0.0 and f <= 0.0) or not f_lo < 0.0:
            break
        if f < 0.0:
            lo, f_lo, f_hi = t, f, 0.5 * f_hi
        else:
            hi, f_hi, f_lo = t, f, 0.5 * f_lo
        t = lo + (hi - lo) * f_lo / (f_lo - f_hi)
    return t


@inner
def first_sigma(loss: Any, of: Sums, c: Vector, s: Vector, square: float) -> tuple[float, bool]:
    """Sigma with which scores that change by a tenth move coefficients by their size.

    And whether the loss is smooth there, with a longer sigma. As in `newton.ProximalNewton.start`.
    """
    n = len(s)
    size = largest_of(s) + largest_of(of.y)
    sigma = max(10.0 * largest_of(c) / max(size, 1e-100), 10.0 / max(square, 1e-100))
    trial, D = np.empty(n), np.empty(n)
    steepest = respond(loss, of, c, s, SMOOTH * sigma, trial, D)
    if 0.0 < steepest < FLAT:
        return SMOOTH * sigma, True
    return sigma, False


@inner
def balance(
    loss: Any, of: Sums, centre: Vector, z: Vector, b: float, sigma: float, c: Vector, D: Vector
) -> float:
    """Offset at which c sums to zero, by Newton's method, which as a rule ends soon."""
    s = np.empty(len(z))
    for _ in range(MAX_BALANCE):
        for i in range(len(z)):
            s[i] = z[i] + b
        respond(loss, of, centre, s, sigma, c, D)
        total = total_of(c)
        if abs(total) <= BALANCED * size_of(c):
            break
        b += total / max(total_of(D), 1e-300)
    return b


@inner
def gap_of(
    loss: Any, of: Sums, w: Vector, s: Vector, c: Vector, combined: Vector, b: float
) -> tuple[float, float]:
    """Gap between the weights w, of scores s, and the coefficients c, of X'c `combined`."""
    losses, conjugates, _, _ = sums(loss, of.y, of.C, c, s, 0.0)
    primal = primal_of(losses, dot(w, w))
    dual = dual_of(conjugates, dot(combined, combined), b * total_of(c))
    return primal - dual, max(abs(primal), abs(dual))


@inner
def difference(x: Vector, y: Vector, out: Vector) -> None:
    """Put x - y in `out`."""
    for i in range(x.size):
        out[i] = x[i] - y[i]


@compiled
def descend(
    loss: Any,
    X: Matrix,
    y: Vector,
    C: Vector,
    paired: bool,
    limits: tuple[float, float],
    c: Vector,
    w: Vector,
    s: Vector,
) -> tuple[float, float, float, bool]:
    """Proximal Newton steps until the gap is within the tolerance, from the coefficients c on.

    `limits` are the relative gap and the multiply-adds. Changes the coefficients c, the weights w
    and the scores Xw in place. Returns the offset, the work in multiply-adds, the length of the
    last step, and whether the loss is smooth.
    """
    of, (n, d), (tol, most) = Sums(X, y, C), X.shape, limits
    D, centre, new = np.empty(n), np.empty(n), np.empty(n)
    away, ds, ahead, combined = np.empty(n), np.empty(n), np.empty(d), np.empty(d)
    H, b, work, t, square = np.empty((d, d)), 0.0, 0.0, 0.0, 0.0
    weights_of(of.X, c, w)
    scores_of(of.X, w, s)
    for i in range(n):
        square += dot(of.X[i], of.X[i]) / n
    sigma, smooth = first_sigma(loss, of, c, s, square)
    last, left, steps = np.inf, FINISH, 0
    put(c, centre)
    if paired and largest_of(c) > 0.0:  # a start, whose offset is not known
        b = balance(loss, of, centre, s, 0.0, sigma, new, D)
        for i in range(n):
            s[i] += b
    respond(loss, of, centre, s, sigma, new, D)
    while work < most:
        weights_of(of.X, new, combined)
        gap, scale = gap_of(loss, of, w, s, new, combined, b)
        if gap <= tol * scale:  # and finished, while steps are Newton's at their best
            if left == 0 or not ROUNDING * scale < gap < 0.5 * last:
                break
            left, last = left - 1, gap
        difference(combined, w, ahead)
        difference(new, centre, away)
        if steps > 0 and dot(ahead, ahead) <= INEXACT * dot(away, away) / sigma:
            put(new, centre)
            sigma *= GROWTH if steps > 1 else GROWTH * GROWTH
            respond(loss, of, centre, s, sigma, new, D)
            weights_of(of.X, new, combined)
            difference(combined, w, ahead)
            steps = 0
        dw, db = direction(of, D, ahead, total_of(new), paired, H)
        scores_of(of.X, dw, ds)
        for i in range(n):
            ds[i] += db
        t = search(loss, of, centre, s, ds, sigma, (dot(w, dw), dot(dw, dw)), new, D)
        add_times(w, t, dw)
        add_times(s, t, ds)
        b += t * db
        steps += 1
        work += n * (0.25 * d * d + 4.0 * d + 50.0) + d * d * d / 6.0
        if not np.isfinite(t) or t * largest_of(ds) <= UNSEEN * largest_of(s):
            break
    scores_of(of.X, w, s)
    if paired:
        b = balance(loss, of, centre, s, b, sigma, new, D)
    else:
        respond(loss, of, centre, s, sigma, new, D)
    put(new, c)
    return b, work, t, smooth


@compiled
def certify(
    loss: Any,
    X: Matrix,
    y: Vector,
    C: Vector,
    paired: bool,
    c: Vector,
    w: Vector,
    s: Vector,
    b: float,
    out: Vector,
) -> None:
    """Bounds of weights and coefficients, with the errors that `grams.LinearGram` has."""
    n, d = X.shape
    combined, errors, norms, terms = np.empty(d), np.empty(n), np.empty(d), 0.0
    fill(norms, 0.0)
    weights_of(X, c, combined)
    for i in range(n):
        row, errors[i] = X[i], 0.0
        for k in range(d):
            errors[i] += abs(row[k] * w[k])
            norms[k] += row[k] * row[k]
        errors[i] *= EPS * np.sqrt(d)
    for k in range(d):
        terms += abs(w[k]) * np.sqrt(norms[k])
    squares = dot(w, w), dot(combined, combined)
    rounding = EPS * np.sqrt(d * dot(c, c)) * terms
    put_bounds(loss, y, C, c, s, b, paired, squares, errors, rounding, out)
