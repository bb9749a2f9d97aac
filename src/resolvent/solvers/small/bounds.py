"""The certificate of `problem.certificate`, compiled into the solvers of small problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent._jit import inner, value
from resolvent._numeric import EPS
from resolvent.problem.certificate import UNBALANCED, dual_of, primal_of
from resolvent.problem.sums import Vector, sums

FIELDS = 6  # of a row of bounds; the last are the work, in n pairs of moves, and the last move
AT, PRIMAL, DUAL, FLOOR, WORK, STEP = range(FIELDS)


@inner
def put_bounds(
    loss: Any,
    y: Vector,
    C: Vector,
    c: Vector,
    s: Vector,
    b: float,
    paired: bool,
    squares: tuple[float, float],
    errors: Vector,
    rounding: float,
    out: Vector,
) -> None:
    """Bounds that coefficients c prove for the model of the scores s, without its offset b.

    If `paired`, the offset is not penalised, and only coefficients that sum to zero prove any.
    `squares` are |f|^2 of the model and c'Kc, `errors` those of the scores that rounding may make,
    `rounding` what it may do to c's. As in `certificate.certify` and `certificate.returned`.
    """
    losses, conjugates, _, size = sums(loss, y, C, c, s, b)
    total, magnitude, kinks = 0.0, 0.0, 0.0
    for i in range(len(y)):
        total += c[i]
        magnitude += abs(c[i])
        e = errors[i] + EPS * abs(b)
        here, above = value(loss, y[i], s[i] + b), value(loss, y[i], s[i] + b + e)
        kinks += C[i] * (0.5 * (above + value(loss, y[i], s[i] + b - e)) - here)
    out[AT] = b
    out[PRIMAL] = primal_of(losses, squares[0])
    out[DUAL] = dual_of(conjugates, squares[1], b * total)
    if paired and abs(total) > UNBALANCED * magnitude:
        out[DUAL] = -np.inf
    out[FLOOR] = EPS * (64.0 * size + abs(b) * magnitude) + rounding + max(kinks, 0.0)
