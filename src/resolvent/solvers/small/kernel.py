"""Small problems on a kernel matrix at hand: from the data to a certified solution in one call.

Problem: minimise Q(c) = sum_i C_i L*(y_i, -c_i / C_i) + c'Kc / 2, the dual of F, for several
columns of targets and weights on one K.
Iteration: greedy pairs on all coordinates (see `blocks.solve_block`), one problem after the other.
Stopping: the duality gap, or a budget of work. What has not reached the tolerance is handed on, as
a start, to the loop of `iterate`, which serves problems of any size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import compiled, inner, resolvent, response, slope
from resolvent._numeric import EPS
from resolvent.problem.sums import SHARP, Vector, find_best_offset, find_offset, sums
from resolvent.solvers.blocks import OFFSET_EVERY, STUCK, largest
from resolvent.solvers.choice import OFFSET
from resolvent.solvers.pairs import pair_along, pair_apart
from resolvent.solvers.small.bounds import STEP, WORK, put_bounds
from resolvent.solvers.small.vectors import (
    add_times,
    factorise,
    fill,
    largest_of,
    put,
    solve_in_place,
    total_of,
)

Index = NDArray[np.int64]
Matrix = NDArray[np.float64]

INDEFINITE = 8.0  # times n and the relative error of K: curvatures below minus this are negative
ROUNDING = 1e-13  # relative gaps that no Newton step makes smaller
FLAT = 1e-12  # slopes of resolvents that are none


class Limits(NamedTuple):
    """When the pairs of a problem end."""

    tol: float  # relative duality gap
    visits: float  # coordinates visited, in all problems together
    noise: float  # relative error of K


class Part(NamedTuple):
    """The coordinates of one problem that have a weight.

    Of few arrays: whatever is handed a part is compiled in proportion to their number squared.
    """

    place: Index  # in K
    data: Matrix  # vectors, in the order of DATA
    rows: Matrix  # of K at these coordinates: of K itself if they are all,
    room: Matrix  # the same memory, to write to, if not


TARGET, WEIGHT, COEF, SCORE, CURVED, ALPHA, HERE = range(7)  # rows of data: y, C, c, z, diagonal of
DATA = 7  # K, its inverse, and whether a row of K is there


@inner
def take_part(
    K: Matrix, alpha: Vector, y: Vector, C: Vector, c: Vector, space: Vector, rows: Vector
) -> Part:
    """Gather the coordinates of positive weight; their scores are yet to be computed.

    `space` is memory for rows of K, and `rows` the same memory, that cannot be written to, as K.
    """
    n = 0
    for i in range(len(C)):
        n += C[i] > 0.0
    place, data = np.empty(n, np.int64), np.empty((DATA, n))
    whole, p = n == len(K), 0
    m = 0 if whole else n
    room, own = space[: m * m].reshape((m, m)), rows[: m * m].reshape((m, m))
    if whole:
        own = K
    for i in range(len(C)):
        if C[i] > 0.0:
            place[p], data[TARGET, p], data[WEIGHT, p], data[COEF, p] = i, y[i], C[i], c[i]
            data[ALPHA, p], data[CURVED, p] = alpha[i], 1.0 / alpha[i]
            data[HERE, p] = 1.0 if whole else 0.0
            p += 1
    return Part(place, data, own, room)


@inner
def rows_of(part: Part) -> tuple[Vector, ...]:
    """Vectors y, C, c, z, the diagonal of K and its inverse."""
    data = part.data
    return data[TARGET], data[WEIGHT], data[COEF], data[SCORE], data[CURVED], data[ALPHA]


@inner
def row_of(K: Matrix, part: Part, p: int) -> Vector:
    """Row p of the kernel matrix of a part, copied when first asked for."""
    if part.data[HERE, p] == 0.0:
        row, source, place = part.room[p], K[part.place[p]], part.place
        for q in range(row.size):
            row[q] = source[place[q]]
        part.data[HERE, p] = 1.0
    return part.rows[p]


@inner
def refresh(K: Matrix, part: Part) -> None:
    """Compute the scores from the coefficients."""
    c, z = part.data[COEF], part.data[SCORE]
    fill(z, 0.0)
    for p in range(len(c)):
        if c[p] != 0.0:
            add_times(z, c[p], row_of(K, part, p))


@inner
def newton_step(
    loss: Any,
    K: Matrix,
    part: Part,
    b: float,
    paired: bool,
    gap: float,
    most: float,
) -> tuple[float, float, float]:
    """Newton step on the optimality conditions, taken if the gap falls.

    With d_i the slopes of the resolvents at alpha_i = 1 / k_ii and h_i the residuals of equation
    (13), a change x of the coefficients and t of the offset removes these to first order if

        (1 - d_i) x_i + alpha_i d_i ((K x)_i + t) = h_i,

    so that x_i = h_i where d_i = 0, at a bound of the dual, and the free others share a positive
    definite system. If `paired`, t is such that the coefficients sum to zero.

    Returns the offset, the gap, and the work in visits; it is not done where that is above `most`,
    unless all are free and the loss is smooth, where pairs have nothing to find out before.
    """
    y, C, c, z, k, alpha = rows_of(part)
    n, f, is_smooth = len(y), 0, True
    new_c, new_z, right, ridge = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    free = np.empty(n, np.int64)
    put(c, new_c)
    put(z, new_z)
    for p in range(n):
        a = min(alpha[p] / C[p], SHARP)
        u, d = response(loss, y[p], a * (z[p] + b) - c[p] / C[p], a)
        if d > FLAT:
            free[f], ridge[f], right[f] = p, k[p] * (1.0 - d) / d, k[p] * (-C[p] * u - c[p]) / d
            is_smooth &= d < 1.0
            f += 1
        else:
            new_c[p] = -C[p] * u
    work = n + f * f + 0.01 * f * f * float(f) + 0.25 * f * n
    if f == 0 or (work > most and not (is_smooth and f == n)):
        return b, gap, 0.0
    add_moves(K, part, c, new_c, new_z)
    A = np.empty((f, f))
    for r in range(f):
        row = row_of(K, part, free[r])
        for q in range(r):
            A[r, q] = row[free[q]]
        A[r, r] = row[free[r]] + ridge[r]
        right[r] -= new_z[free[r]] - z[free[r]]
    factorise(A)
    x = right[:f]
    solve_in_place(A, x)
    t = 0.0
    if paired:
        ones = ridge[:f]
        fill(ones, 1.0)
        solve_in_place(A, ones)
        t = (total_of(x) + total_of(new_c)) / total_of(ones)
        add_times(x, -t, ones)
    for r in range(f):
        add_times(new_z, x[r], row_of(K, part, free[r]))
        new_c[free[r]] += x[r]
    new_gap, _ = gap_at(loss, y, C, new_c, new_z, b + t)
    if not new_gap < gap:
        return b, gap, work
    put(new_c, c)
    put(new_z, z)
    return b + t, new_gap, work


@inner
def add_moves(K: Matrix, part: Part, old: Vector, new: Vector, z: Vector) -> None:
    """Bring scores up to date with coefficients that moved."""
    for p in range(len(old)):
        if new[p] != old[p]:
            add_times(z, new[p] - old[p], row_of(K, part, p))


@inner
def gap_at(loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float) -> tuple[float, float]:
    """Gap of coefficients that sum to zero with the offset b, and what it is relative to."""
    losses, conjugates, products, _ = sums(loss, y, C, c, z, b)
    gap = losses + conjugates + products + b * total_of(c)
    return gap, max(losses + 0.5 * products, abs(conjugates + 0.5 * products))


@inner
def descend(
    loss: Any, K: Matrix, part: Part, b: float, paired: bool, limits: Limits
) -> tuple[float, float, float]:
    """Greedy pairs and Newton steps until the gap is within the tolerance.

    Newton steps may cost as much as the pairs before them. Returns the offset, the coordinates
    visited, minus that where K is not positive semidefinite, and the last move.
    """
    y, C, c, z, k, alpha = rows_of(part)
    n = len(y)
    h, gain, a, u = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for p in range(n):
        a[p] = min(alpha[p] / C[p], SHARP)
    negative = -INDEFINITE * n * limits.noise
    visits, spent, last, fresh, found = 0.0, 0.0, largest_of(C), 0, False
    while visits + spent < limits.visits:
        if fresh == 0:
            fresh, found = OFFSET_EVERY, True
            if paired:
                b = find_offset(loss, y, C, c, z, alpha, 0.0, b, OFFSET * last, 0.0, 0.0)
            gap, scale = gap_at(loss, y, C, c, z, b)
            before, done = np.inf, gap <= limits.tol * scale
            while ROUNDING * scale < gap < 0.5 * before and (spent <= visits or done):
                most = visits - spent if not done else visits  # what is good enough is finished
                before = gap
                b, gap, work = newton_step(loss, K, part, b, paired, gap, most)
                spent += work
                found &= gap == before
            if gap <= limits.tol * scale:
                break
            for p in range(n):
                u[p] = c[p] / C[p]
        for p in range(n):
            h[p] = -C[p] * (resolvent(loss, y[p], a[p] * (z[p] + b) - u[p], a[p]) + u[p])
            gain[p] = k[p] * h[p] * h[p]
        i = largest(gain)
        h_i, k_i, row_i = h[i], k[i], row_of(K, part, i)
        last = abs(h_i)
        visits += 3 * n
        if h_i == 0.0 and found:
            break
        if paired:
            for p in range(n):
                pull = k_i * h_i - k[p] * h[p]
                curvature = max(k_i + k[p] - 2.0 * row_i[p], limits.noise * k_i)
                gain[p] = (h[p] * h_i < -STUCK * h_i * h_i) * (pull * pull / curvature)
            j = largest(gain)
            if gain[j] <= 0.0:
                if found:
                    break
                fresh = 0  # with an offset of before there may seem to be nothing left
                continue
            curvature = k_i + k[j] - 2.0 * row_i[j]
            if curvature < negative * (k_i + k[j]):
                return b, -visits, last
            curvature = max(curvature, limits.noise * k_i)
            new_i, new_j = pair_along(loss, y, C, c, z, i, j, curvature, b)
        else:
            answers = slope(loss, y[i], a[i] * z[i] - u[i], a[i]) / k_i
            for p in range(n):
                v = a[p] * (z[p] + h_i * row_i[p]) - u[p]
                h[p] = C[p] * (resolvent(loss, y[p], v, a[p]) + u[p])
                apart = max(k[p] - answers * row_i[p] * row_i[p], limits.noise * k[p])
                gain[p] = k[p] * h[p] * h[p] * (k[p] / apart)
            gain[i] = 0.0
            j = largest(gain)
            new_i, new_j = c[i] + h_i, c[j]
            if row_i[j] * row_i[j] > (1.0 - negative) * k_i * k[j]:
                return b, -visits, last
            if gain[j] > 0.0:
                new_i, new_j = pair_apart(loss, y, C, c, z, i, j, k_i, k[j], row_i[j])
        row_j = row_of(K, part, j)
        step_i, step_j = new_i - c[i], new_j - c[j]
        c[i], c[j], u[i], u[j] = new_i, new_j, new_i / C[i], new_j / C[j]
        for p in range(n):
            z[p] += step_i * row_i[p] + step_j * row_j[p]
        fresh, found = fresh - 1, False
    return b, visits + spent, last


@inner
def certify(loss: Any, part: Part, b: float, paired: bool, noise: float, out: Vector) -> None:
    """Bounds that the coefficients of a part prove, with scores just computed.

    The work is -1 where c'Kc < 0, so that they prove nothing.
    """
    y, C, c, z, k, _ = rows_of(part)
    square, terms, errors = 0.0, 0.0, np.empty(len(c))
    for p in range(len(c)):
        square += c[p] * z[p]
        terms += c[p] * c[p] * k[p]
    for p in range(len(c)):
        errors[p] = 0.5 * EPS * np.sqrt(terms * k[p])
    rounding = (0.5 * EPS + noise) * terms
    put_bounds(loss, y, C, c, z, b, paired, (square, square), errors, rounding, out)
    out[WORK] = -1.0 if square < -INDEFINITE * len(c) * noise * terms else 0.0


@compiled
def solve_columns(
    loss: Any,
    K: Matrix,
    alpha: Vector,
    y: Matrix,
    C: Matrix,
    memory: tuple[Vector, Vector],
    paired: bool,
    limits: Limits,
    coef: Matrix,
    scores: Matrix,
    bounds: NDArray[np.float64],
) -> None:
    """Solve each row of `y` from the coefficients in `coef` on, and certify where it ends.

    In `bounds[0]` are then the bounds at the start, with offset zero, in `bounds[1]` those at the
    end; the work there is negative where K was found to be indefinite.
    """
    left, (space, rows) = limits.visits, memory
    for j in range(len(y)):
        part = take_part(K, alpha, y[j], C[j], coef[j], space, rows)
        refresh(K, part)
        certify(loss, part, 0.0, paired, limits.noise, bounds[0, j])
        own = Limits(limits.tol, left, limits.noise)
        b, work, last = descend(loss, K, part, 0.0, paired, own)
        left -= abs(work)
        refresh(K, part)
        place, size = part.place, len(part.place)
        data = part.data
        c, z = data[COEF], data[SCORE]
        if paired:
            b = find_best_offset(loss, data[TARGET], data[WEIGHT], z, b, 0.0)
        certify(loss, part, b, paired, limits.noise, bounds[1, j])
        bounds[1, j, STEP] = last
        if bounds[1, j, WORK] == 0.0:
            bounds[1, j, WORK] = work / (3.0 * size * size)
        for p in range(size):
            coef[j, place[p]] = c[p]
            if size < len(K) and c[p] != 0.0:
                add_times(scores[j], c[p], K[place[p]])
        for p in range(size):
            scores[j, place[p]] = z[p]
