"""The compiled loops: everything that is done to one coefficient at a time, for every loss.

Throughout, ``y`` are targets, ``C`` weights C_i = w_i C (a coordinate with C_i = 0 takes no part),
``c`` coefficients, ``s`` scores with the offset included. The resolvent of C_i L at (v, alpha) is
C_i times the resolvent of L at (v / C_i, alpha / C_i): weights are applied here and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from resolvent._jit import (
    axpy,
    borrowed,
    compiled,
    conjugate,
    dot,
    inverse_link,
    plain,
    resolvent,
    response,
    unowned,
    value,
)

Vector = NDArray[np.float64]

# alpha / C_i at which a resolvent is a subgradient at the score itself: z = (v - u) / a.
SHARP = 1e200
EPS = float(np.finfo(float).eps)
FAR = 1e99  # offsets beyond which there is none
PATIENCE = 3  # turns of regula falsi before a bisection
AGAIN = 4  # visits to a few coordinates, for each visit of a sweep
CALM = 0.5  # to which share of it the force of a sweep is brought down before the next
EDGE = 0.3  # of the force: how far from its next move a coordinate may rest
FARTHER = 30.0  # times that, and it may rest longer
QUIET = 0.01  # of the force: who was off by less is not among the few


@register_jitable
def answer(loss: Any, y: float, C: float, c: float, s: float, alpha: float) -> float:
    """Equation (8) of the paper: -J_alpha(alpha s - c) for the loss C L."""
    a = min(alpha / C, SHARP)
    return -C * resolvent(loss, y, a * s - c / C, a)


@numba.njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def total(loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float, alpha: Vector) -> float:
    """Sum of the fixed-point step at offset b; in any order, so that it is vectorised."""
    result = 0.0
    for i in range(len(y)):
        if C[i] > 0.0:
            result += answer(loss, y[i], C[i], c[i], z[i] + b, alpha[i])
    return result


@plain
def wake(
    running: NDArray[np.intp],
    used: NDArray[np.bool_],
    rests: NDArray[np.uint8],
    some_rest: NDArray[np.bool_],
    awake: NDArray[np.int64],
) -> int:
    """Begin a sweep: put those that it visits in `awake`, and return how many they are.

    `used` and `rests` have a row for each problem, of which some are `running`; who is awake in one
    of them is visited. Whoever rests is one sweep nearer to being awake.
    """
    asleep = np.ones(len(awake), np.bool_)
    for j in running:
        its_rests, its_used, some = rests[j], used[j], False
        for i in range(len(awake)):
            rest = its_rests[i] > 0
            asleep[i] &= rest | (not its_used[i])
            some |= rest
            its_rests[i] -= np.uint8(rest)
        some_rest[j] = some
    count = 0
    for i in range(len(awake)):
        awake[count] = i
        count += not asleep[i]
    return count


@register_jitable(inline="always")  # a call, with all these arrays, would cost more than it does
def update(
    loss: Any,
    panel: Any,
    state: Vector,
    y: Vector,
    C: Vector,
    c: Vector,
    diagonal: Vector,
    offset: Vector,
    i: int,
    margin: float,
) -> tuple[float, int]:
    """Equation (13) of the paper for one coordinate; return by how much it moved.

    And whether it rests: it would not have moved either had its score been `margin` more or less;
    2 if FARTHER margins would not have moved it.
    """
    k = diagonal[i] + offset[2]
    s = dot(panel, state, i) + offset[0] + offset[2] * offset[1]
    a = min(1.0 / (k * C[i]), SHARP)
    v = a * s - c[i] / C[i]
    u = resolvent(loss, y[i], v, a)
    new = -C[i] * u
    h = new - c[i]
    rests = 0
    if h == 0.0 and margin < np.inf:
        beside = a * margin
        while rests < 2 and (
            resolvent(loss, y[i], v - beside, a) == u == resolvent(loss, y[i], v + beside, a)
        ):
            rests += 1
            beside *= FARTHER
    elif h != 0.0:
        axpy(panel, state, i, h)
        c[i] = new  # c[i] + h might miss a bound by rounding
        offset[1] += h
    return h, rests


@compiled
def sweep(
    loss: Any,
    panel: Any,
    state: Vector,
    y: Vector,
    C: Vector,
    c: Vector,
    diagonal: Vector,
    offset: Vector,
    order: NDArray[np.int64],
    rests: NDArray[np.uint8],
    longest: int,
    most: int,
    force: Vector,
    forces: Vector,
) -> float:
    """Algorithms 1 and 2 of the paper: update the coordinates in `order`, return max |h_i|.

    `state` is z = Kc or w = X'c, as `panel` has it. ``offset = (b, sum of c, rho)`` adds
    b + rho sum(c) to each score, which is the kernel K + rho 11' and a shift by b.

    Shrinking: the force on a coordinate, `forces`, is the score by which it was off when it was
    visited last in a sweep, k_ii |h_i|. As a rule some hundreds of them have nearly all of it, so
    that those with more than QUIET times the largest are visited first, fewer and fewer of them, by
    AGAIN visits for each of the sweep and `most` in all, until the force is CALM times what it was.
    Then all are. One that is EDGE times the largest force away from its next move, at a bound of
    the dual as a rule, is left out of the next `longest` sweeps, or four times as many if it is
    FARTHER times that away; `rests` counts them.

    ``force`` is the largest force in the sweep before, that in this sweep so far, and the number of
    visits.
    """
    panel, state, y, C = borrowed(panel), unowned(state), unowned(y), unowned(C)
    c, diagonal, offset = unowned(c), unowned(diagonal), unowned(offset)
    all_of_them, loud = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    count, some, last = 0, 0, force[0]
    for i in order:
        if rests[i] == 0 and C[i] > 0.0:
            all_of_them[count] = i
            count += 1
            if forces[i] > QUIET * last:
                loud[some] = i
                some += 1
    largest, made, is_last = 0.0, 0, False
    visits = min(AGAIN * count, most) if longest > 0 else 0
    while not is_last:
        is_last = not (0 < some <= visits - made and last > CALM * force[0])
        which, some = (all_of_them, count) if is_last else (loud, some)
        made += some
        margin = EDGE * last if longest > 0 else np.inf
        quiet, last, left = QUIET * last, 0.0, 0
        for p in range(some):
            i = which[p]
            h, calm = update(loss, panel, state, y, C, c, diagonal, offset, i, margin)
            off = abs(h) * diagonal[i]
            largest, last = max(largest, abs(h)), max(last, off)
            if is_last:
                forces[i], rests[i] = off, calm * calm * longest
            elif off > quiet:
                loud[left] = i
                left += 1
        some = left
    force[1], force[2] = max(force[1], last), made
    return largest


@compiled
def step(
    loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float, alpha: Vector, out: Vector
) -> tuple[float, float]:
    """Do steps 2 and 3 of the fixed-point iteration; return the sum and the largest change."""
    total, largest = 0.0, 0.0
    for i in range(len(y)):
        out[i] = answer(loss, y[i], C[i], c[i], z[i] + b, alpha[i]) if C[i] > 0.0 else 0.0
        total += out[i]
        largest = max(largest, abs(out[i] - c[i]))
    return total, largest


@register_jitable
def find_offset(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    z: Vector,
    alpha: Vector,
    aim: float,
    b: float,
    slack: float,
    width: float,
    rough: float,
) -> float:
    """Find the offset at which the fixed-point step sums to `aim`, starting the search from `b`.

    `width` is how far from there it is expected; 0 if that is not known.

    The sum falls as the offset grows: bracket, then regula falsi in Illinois' way, with a bisection
    wherever that does not halve the bracket in PATIENCE turns, down to two neighbouring numbers, to
    a sum within `slack` of the aim, or to where what the sum is the slope of can change by no more
    than `rough`. Where no offset reaches the aim the search ends at +-1e100.
    """
    lo, hi = b, b
    first = f_lo = f_hi = total(loss, y, C, c, z, b, alpha) - aim
    side = 1.0 if f_lo > 0.0 else -1.0
    if width == 0.0:
        width = 1e-3 * max(abs(b), 1e-3)
    while abs(first) > slack:  # outward, a little farther than where a line would be at the aim
        trial = b + side * width
        f = total(loss, y, C, c, z, trial, alpha) - aim
        width *= min(max(4.0, 1.5 * first / (first - f)), 64.0) if f != first else 64.0
        if f > 0.0:
            lo, f_lo = trial, f
        else:
            hi, f_hi = trial, f
        if side * f <= slack:
            break
        if abs(trial) >= 1e100:
            return trial
    w_lo, w_hi, last = f_lo, f_hi, 0.0
    turns, width = 0, hi - lo
    while f_lo > slack and f_hi < -slack and min(f_lo, -f_hi) * (hi - lo) > rough:
        trial = lo + w_lo * ((hi - lo) / (w_lo - w_hi))
        if turns == PATIENCE or not lo < trial < hi:
            trial = lo + 0.5 * (hi - lo)
            if not lo < trial < hi:
                break
        f = total(loss, y, C, c, z, trial, alpha) - aim
        if f > 0.0:
            lo, f_lo, w_lo, w_hi = trial, f, f, 0.5 * w_hi if last > 0.0 else w_hi
        else:
            hi, f_hi, w_hi, w_lo = trial, f, f, 0.5 * w_lo if last < 0.0 else w_lo
        last = f
        turns += 1
        if turns > PATIENCE or hi - lo <= 0.5 * width:
            turns, width = 0, hi - lo
    return lo if abs(f_lo) <= abs(f_hi) else hi


balance = compiled(find_offset)


@compiled
def best_offset(loss: Any, y: Vector, C: Vector, z: Vector, b: float, rough: float) -> float:
    """Argmin of the sum of C L(y, z + b), from b on; the midpoint where that is an interval.

    To within a change of that sum by `rough`, where it is above zero.
    """
    none, sharp = np.zeros(len(y)), np.full(len(y), np.inf)
    size = 0.0
    for i in range(len(y)):
        if C[i] > 0.0:
            size += abs(answer(loss, y[i], C[i], 0.0, z[i], np.inf))
    slack = 1e-12 * (size if size > 0.0 else C.sum())
    ends, width = np.empty(2), 0.0
    for k in range(2):
        aim = slack if k == 0 else -slack
        ends[k] = find_offset(loss, y, C, none, z, sharp, aim, b, 0.1 * slack, width, rough)
        # As a rule the other end is the same number, or one of the next.
        b, width = (
            (ends[k], 4.0 * EPS * abs(ends[k]) + 1e-100) if abs(ends[k]) < FAR else (0.0, 0.0)
        )
        if rough > 0.0 and abs(ends[k]) < FAR:
            return b
    lo, hi = ends
    if abs(lo) >= FAR:
        return hi if abs(hi) < FAR else 0.0
    if abs(hi) >= FAR:
        return lo
    return 0.5 * (lo + hi) if abs(lo + hi) > 1e-9 * (hi - lo) else 0.0  # to rounding they cancel


@register_jitable
def sums(
    loss: Any, y: Vector, C: Vector, c: Vector, z: Vector, b: float
) -> tuple[float, float, float, float]:
    """Sum C L, C L*, c z, of which primal and dual are made, and all their magnitudes."""
    losses, conjugates, products, size = 0.0, 0.0, 0.0, 0.0
    for i in range(len(y)):
        if C[i] > 0.0:
            at_score = C[i] * value(loss, y[i], z[i] + b)
            at_coef = C[i] * conjugate(loss, y[i], -c[i] / C[i])
            losses += at_score
            conjugates += at_coef
            products += c[i] * z[i]
            size += abs(at_score) + abs(at_coef) + abs(c[i] * z[i])
    return losses, conjugates, products, size


fenchel = compiled(sums)


@plain
def bends_down(c: Vector, z: Vector, diagonal: Vector, of_kernel: float, of_scores: float) -> bool:
    """Whether c'Kc = c'z < 0 beyond errors of K, relative to its diagonal, and of the scores z."""
    size = 0.0
    for i in range(len(c)):
        size = max(size, abs(c[i]))  # out of the squares, which might overflow
    product, slack = 0.0, 0.0
    for i in range(len(c) if size > 0.0 else 0):
        u = c[i] / size
        product += u * (z[i] / size)
        slack += of_kernel * u * u * diagonal[i] + abs(u) * (of_scores / size)
    return product < -slack


@compiled
def proximal(
    loss: Any,
    y: Vector,
    C: Vector,
    centre: Vector,
    s: Vector,
    sigma: float,
    c: Vector,
    slopes: Vector,
) -> None:
    """Fixed-point step around `centre`, equation (8), and the slopes of the resolvents."""
    for i in range(len(y)):
        c[i], slopes[i] = 0.0, 0.0
        if C[i] > 0.0:
            a = min(sigma / C[i], SHARP)
            v = a * s[i] - centre[i] / C[i]
            u, slopes[i] = response(loss, y[i], v, a)
            c[i] = -C[i] * u


@compiled
def _apply_link(loss: Any, scores: Vector) -> None:
    for i in range(len(scores)):
        scores[i] = inverse_link(loss, scores[i])


def apply_link(loss: Any, scores: Vector) -> Vector:
    """Predictions of a loss whose scores are transformed ones, such as probabilities."""
    result = np.array(scores, dtype=float, order="C")
    _apply_link(loss, result.reshape(-1))
    return result
