"""The compiled loops of coupled losses: what is done to one group of coefficients at a time.

As in :mod:`resolvent.problem.sums`, with a group in the place of a coefficient: ``y``, ``c`` and
``s`` (scores, offset included) have a row for each group, ``C`` and ``alpha`` a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from resolvent._jit import compiled, conjugate, inner, inverse_link, resolvent, slope, value
from resolvent.problem.sums import SHARP

Vector = NDArray[np.float64]
Rows = NDArray[np.float64]


@inner
def answer(loss: Any, y: Vector, C: float, c: Vector, s: Vector, alpha: float) -> Vector:
    """Equation (7) of the paper for one group: -J_alpha(alpha s - c) for the loss C L."""
    a = min(alpha / C, SHARP)
    return -C * resolvent(loss, y, a * s - c / C, a)


@compiled
def step(loss: Any, y: Rows, C: Vector, c: Rows, s: Rows, alpha: Vector, out: Rows) -> None:
    """Do steps 2 and 3 of the fixed-point iteration."""
    for g in range(len(y)):
        out[g] = 0.0
        if C[g] > 0.0:
            out[g] = answer(loss, y[g], C[g], c[g], s[g], alpha[g])


@compiled
def slopes(
    loss: Any, y: Rows, C: Vector, c: Rows, s: Rows, alpha: Vector, d: Rows, e: Rows
) -> None:
    """Differentiate minus the step with respect to s: diag(d) - e e' for each group."""
    for g in range(len(y)):
        d[g], e[g] = 0.0, 0.0
        if C[g] > 0.0:
            a = min(alpha[g] / C[g], SHARP)
            rise, bend = slope(loss, y[g], a * s[g] - c[g] / C[g], a)
            d[g], e[g] = C[g] * a * rise, np.sqrt(C[g] * a) * bend


@compiled
def fenchel(
    loss: Any, y: Rows, C: Vector, c: Rows, z: Rows, s: Rows
) -> tuple[float, float, float, float]:
    """Sum C L, C L*, c z, of which primal and dual are made, and all their magnitudes."""
    losses, conjugates, products, size = 0.0, 0.0, 0.0, 0.0
    for g in range(len(y)):
        if C[g] > 0.0:
            at_score = C[g] * value(loss, y[g], s[g])
            at_coef = C[g] * conjugate(loss, y[g], -c[g] / C[g])
            losses += at_score
            conjugates += at_coef
            products += np.sum(c[g] * z[g])
            # The conjugate is a sum over the group too, of terms about as large as c s.
            size += abs(at_score) + abs(at_coef)
            size += np.sum(np.abs(c[g] * z[g])) + np.sum(np.abs(c[g] * s[g]))
    return losses, conjugates, products, size


@compiled
def apply_link(loss: Any, scores: Rows) -> None:
    """Turn the scores of each sample into its predictions, in place."""
    for i in range(len(scores)):
        scores[i] = inverse_link(loss, scores[i])
