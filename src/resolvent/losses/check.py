"""Test of a loss of one's own: that it is convex, and that its functions belong together."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from resolvent import _jit

Array = NDArray[np.float64]

TARGETS = {
    "sign": [-1.0, 1.0],
    "nonnegative": [0.0, 0.3, 1.0, 7.0],
    "positive": [1e-3, 0.3, 1.0, 7.0],
    "real": [-3.0, -0.2, 0.0, 1.0, 12.0],
}
STEPS = [1e-3, 0.1, 1.0, 7.0, 1e3]  # values of a, the parameter of the resolvent
POINTS = (-30.0, -1.5, -0.4, 0.0, 0.3, 1.0, 20.0)  # values of v, where the resolvent is asked for
HUGE = 1e150  # values of this size count as infinite: their squares are
SLACK = 1e-7  # relative; a wrong formula is off by far more


class Trial(NamedTuple):
    """What a loss is tried on."""

    targets: list[float]
    scores: Callable[[float], Array]  # to try at a target, in order
    slack: float = SLACK
    far: tuple[float, ...] = ()  # scores to try a derivative at too, where the value is finite


def check_loss(loss: Any, targets: Any = None) -> None:
    """Check that a loss is convex and that its functions belong together.

    Tried on a grid of targets, scores and steps: that `value` is finite and convex; that
    `derivative`, if given, is its subgradient; that `conjugate` satisfies the inequality of Fenchel
    and Young, with equality at subgradients; that `resolvent` agrees with brute-force minimisation
    and is firmly non-expansive; and that all give the same results compiled as in Python.

    Parameters
    ----------
    loss : loss
        An instance of a NamedTuple class, see :mod:`resolvent.losses`.
    targets : sequence of float, optional
        Values of y to try; by default some that suit the class's ``targets`` attribute.

    Raises
    ------
    ValueError
        With a sentence that says what is wrong first: value before derivative, derivative before
        what is found from it.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from resolvent import check_loss
    >>> class Cauchy(NamedTuple):
    ...     def value(self, y, z):
    ...         return (y - z) ** 2 / (1.0 + (y - z) ** 2)
    ...
    ...     def derivative(self, y, z):
    ...         return 2.0 * (z - y) / (1.0 + (y - z) ** 2) ** 2
    >>> check_loss(Cauchy())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: Cauchy() is not a valid loss.
    - value is not convex: ...
    """
    from resolvent.losses import as_loss

    loss = as_loss(loss)
    if hasattr(loss, "couples"):
        raise ValueError(f"{loss!r} couples several scores; check_loss tries losses of one.")
    if targets is None:
        targets = TARGETS[getattr(loss, "targets", "real")]
    trial = Trial([float(y) for y in targets], _grid, far=(-3e4, -1e3, 1e3, 3e4))
    checks = (
        *(_convexity, _derivative, _resolvent, _fenchel_young),
        *(_slope, _degree, _residual, _compiled),
    )
    for check in checks:
        try:
            fault = next(check(loss, trial), None)
        except Exception as error:
            fault = _not_compiled(error) if check is _compiled else _raised(loss, error)
        if fault:  # what comes next may well follow from it
            raise ValueError(f"{loss!r} is not a valid loss.\n- {fault}")


_passed: WeakKeyDictionary[type, set[tuple[Any, ...]]] = WeakKeyDictionary()


def check_before_fit(loss: Any, y: Array) -> None:
    """Try a loss of somebody else's once, on a few scores around the data's targets.

    That takes about a millisecond, and what is wrong with a loss is said before it is compiled.

    Raises
    ------
    ValueError
        If it is not convex, or its functions do not belong together.
    """
    if _jit.is_own(loss) or hasattr(loss, "couples"):
        return
    passed = _passed.setdefault(type(loss), set())
    if tuple(loss) in passed:
        return
    spread = float(np.ptp(y)) or float(np.abs(y).max()) or 1.0
    near = np.array([-2.0, -1.0, -0.3, -0.1, 0.03, 0.2, 0.5, 1.5])

    def scores(target: float) -> Array:
        is_real = getattr(loss, "targets", "real") == "real"
        z = target + spread * near if is_real else 2.0 * near
        return z[[_is_bounded(loss, target, t) for t in z.tolist()]]

    trial = Trial(np.unique(np.quantile(y, [0.0, 0.3, 0.7, 1.0])).tolist(), scores, 1e-5)
    for check in (_convexity, _derivative, _fenchel_young):
        try:
            fault = next(check(loss, trial), None)
        except ArithmeticError:  # compiled it is infinite there, which may do
            continue
        except Exception as error:
            fault = _raised(loss, error)
        if fault:
            raise ValueError(f"{loss!r} is not a valid loss: {fault} Run check_loss(loss).")
    passed.add(tuple(loss))


def _is_bounded(loss: Any, y: float, z: float) -> bool:
    try:
        return not abs(loss.value(y, z)) >= HUGE  # NaN is another fault
    except ArithmeticError:
        return False


def _raised(loss: Any, error: Exception) -> str:
    """Say which method of the loss raised an error, and for which arguments."""
    message = f"raised {type(error).__name__}: {error}."
    methods = {getattr(f, "__code__", None): name for name, f in vars(type(loss)).items()}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code in methods:
            code = frame.f_code
            names = code.co_varnames[1 : code.co_argcount]
            arguments = ", ".join(f"{frame.f_locals[name]:g}" for name in names)
            return f"{methods[code]}({arguments}) {message}"
    return f"a function of the loss {message}"


def _not_compiled(error: Exception) -> str:
    """Pick from an error of Numba, which is long, the place and the innermost reason."""
    text = str(error)
    reasons = (
        r"Untyped global|No implementation|Unknown attribute|Use of unsupported|Cannot|Error: "
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    reason = [*lines[:1], *(line for line in lines if re.search(reasons, line))][-1]
    place = re.search(r"\n(.*)\n\s*\^", text)  # Numba marks the spot in the line above
    return (
        "it runs in Python but does not compile with Numba"
        + (f", at `{place[1].strip()}`" if place else "")
        + f" ({reason.rstrip('.:')}): use plain arithmetic, if, while and the math module only."
    )


def _grid(y: float) -> Array:
    """Scores to try: around zero, around the target, and far away, all in order."""
    near = np.linspace(-4.0, 4.0, 33)
    return np.unique(np.concatenate([near, y + near, [-50.0, -15.0, 15.0, 50.0]]))


def _close(x: float, y: float, scale: float) -> bool:
    return abs(x - y) <= SLACK * (1.0 + scale)


def _writes(loss: Any, *names: str) -> bool:
    """Whether the class itself has one of these methods."""
    return not vars(type(loss)).keys().isdisjoint(names)


def _values(loss: Any, y: float, z: Array) -> tuple[Array, float]:
    """Values at the scores, and the unit of what may be rounding: 1, or less where all are less."""
    values = np.array([loss.value(y, t) for t in z.tolist()])
    return values, min(1.0, float(np.abs(values).max(initial=0.0)))


def _convexity(loss: Any, trial: Trial) -> Iterator[str]:
    for y in trial.targets:
        z = trial.scores(y)
        values, unit = _values(loss, y, z)
        if not np.isfinite(values).all():
            t = z[~np.isfinite(values)][0]
            yield f"value is not finite: value({y:g}, {t:g}) = {loss.value(y, t)}."
            continue
        for i in range(len(z) - 2):
            mid = float(0.5 * (z[i] + z[i + 2]))
            chord = 0.5 * (values[i] + values[i + 2])
            here = loss.value(y, mid)
            if here > chord + trial.slack * (unit + abs(chord)):
                yield (
                    f"value is not convex: at y={y:g} it is {here:g} at z={mid:g}, above the mean "
                    f"{chord:g} of its values at {z[i]:g} and {z[i + 2]:g}."
                )
            if math.isnan(here):
                yield f"value is not finite: value({y:g}, {mid:g}) = {here}."


def _derivative(loss: Any, trial: Trial) -> Iterator[str]:
    if not _writes(loss, "derivative"):
        return
    for y in trial.targets:
        z = trial.scores(y)
        unit = _values(loss, y, z)[1]
        around = np.minimum(np.diff(z, prepend=-np.inf), np.diff(z, append=np.inf))
        points = list(zip(z.tolist(), np.minimum(around, 1.0).tolist(), strict=True))
        for t, width in points + [(t, 1.0) for t in trial.far if _is_bounded(loss, y, t)]:
            s = loss.derivative(y, t)
            if not math.isfinite(s):
                yield f"derivative is not finite: derivative({y:g}, {t:g}) = {s}."
            for step in (-width, -1e-3 * width, 1e-3 * width, width):
                below = loss.value(y, t) + s * step
                if loss.value(y, t + step) < below - trial.slack * (unit + abs(below)):
                    yield _not_a_subgradient(loss, y, t, width, s)


def _not_a_subgradient(loss: Any, y: float, z: float, width: float, s: float) -> str:
    """Say how a derivative s is wrong: its tangent is above the value somewhere."""
    h = 1e-4 * width
    slope = (loss.value(y, z + h) - loss.value(y, z - h)) / ((z + h) - (z - h))
    wrong = "derivative is not that of value"
    if abs(s + slope) <= 1e-3 * abs(slope):
        wrong = "derivative has the wrong sign"
    elif s * slope > 0.0:
        wrong = f"derivative is not that of value, but {s / slope:.4g} times as large"
    return f"{wrong}: at y={y:g}, z={z:g} it is {s:.6g}, differences of value give {slope:.6g}."


def _resolvent(loss: Any, trial: Trial) -> Iterator[str]:
    if not _writes(loss, "resolvent"):
        return  # what is found from value and derivative is as right as they are
    for y in trial.targets:
        for a in STEPS:
            last_v, last_u = -math.inf, 0.0
            for v in POINTS:
                u = _jit.resolvent(loss, y, v, a)
                if not math.isfinite(u):
                    yield f"resolvent is not finite: resolvent({y:g}, {v:g}, {a:g}) = {u}."

                def objective(t: float, y: float = y, v: float = v, a: float = a) -> float:
                    return float(loss.value(y, t)) + 0.5 * a * (t - v / a) ** 2

                t = (v - u) / a
                best = _minimise(objective, t)
                if objective(t) > objective(best) + SLACK * (1.0 + abs(objective(best))):
                    yield (
                        f"resolvent({y:g}, {v:g}, {a:g}) = {u:g} is wrong: by brute force it is "
                        f"{v - a * best:.6g}."
                    )
                if math.isfinite(last_v) and not (
                    -SLACK * (1.0 + abs(u)) <= u - last_u <= (v - last_v) * (1.0 + SLACK)
                ):
                    yield (
                        f"resolvent is not firmly non-expansive: at y={y:g}, a={a:g} it moves by "
                        f"{u - last_u:.6g} between v={last_v:g} and v={v:g}."
                    )
                last_v, last_u = v, u


def _fenchel_young(loss: Any, trial: Trial) -> Iterator[str]:
    if not _writes(loss, "resolvent", "conjugate"):
        return
    wrong = "conjugate or resolvent is" if _writes(loss, "resolvent") else "conjugate is"
    for y in trial.targets:
        z = trial.scores(y).tolist()
        for v, a in ((v, a) for a in STEPS for v in POINTS):
            u = _jit.resolvent(loss, y, v, a)
            if not math.isfinite(u):
                yield f"resolvent is not finite: resolvent({y:g}, {v:g}, {a:g}) = {u}."
            conj = _jit.conjugate(loss, y, u)
            if math.isinf(conj) or math.isnan(conj):
                yield (
                    f"conjugate({y:g}, {u:g}) = {conj}, though {u:g} = resolvent({y:g}, "
                    f"{v:g}, {a:g}) is a subgradient: one of the two is wrong."
                )
                continue
            for t in z:
                excess = loss.value(y, t) + conj - u * t
                if excess < -trial.slack * (1.0 + abs(conj) + abs(u * t)):
                    yield (
                        "conjugate is too small: Fenchel-Young says value + conjugate >= u z, "
                        f"but at y={y:g}, z={t:g}, u={u:g} the left side is short by "
                        f"{-excess:.3g}."
                    )
            t = (v - u) / a
            excess = loss.value(y, t) + conj - u * t
            if not math.isfinite(excess):
                yield f"value is not finite: value({y:g}, {t:g}) = {loss.value(y, t)}."
            if abs(excess) > trial.slack * (1.0 + abs(conj) + abs(u * t)):
                yield (
                    "value + conjugate = u z should hold where u is a subgradient at z, but at "
                    f"y={y:g}, z={t:g}, u={u:g} (from resolvent({y:g}, {v:g}, {a:g})) the two "
                    f"sides differ by {excess:.3g}: {wrong} wrong."
                )


def _slope(loss: Any, trial: Trial) -> Iterator[str]:
    if not _writes(loss, "slope", "response"):
        return
    for y in trial.targets:
        for a in STEPS:
            for v in POINTS:
                h = 1e-5 * (1.0 + abs(v))
                left, u, right = (_jit.resolvent(loss, y, w, a) for w in (v - h, v, v + h))
                sides = sorted([(u - left) / h, (right - u) / h])
                s = _jit.slope(loss, y, v, a)
                first, second = _jit.response(loss, y, v, a)
                if not max(abs(first - u), abs(second - s)) <= 1e-6 * (1.0 + abs(u)):
                    yield (
                        f"response is not resolvent and slope: response({y:g}, {v:g}, {a:g}) = "
                        f"({first:g}, {second:g}), but these are {u:g} and {s:g}."
                    )
                if not sides[0] - 1e-3 <= s <= sides[1] + 1e-3:
                    yield (
                        f"slope is not the derivative of resolvent in v: slope({y:g}, {v:g}, "
                        f"{a:g}) = {s:g}, by differences it is {sum(sides) / 2:.6g}."
                    )


def _residual(loss: Any, trial: Trial) -> Iterator[str]:
    if not getattr(loss, "of_residual", False):
        return
    for y in trial.targets:
        for z in (-3.0, 0.4, 5.0):
            here, moved = _jit.value(loss, y, z), _jit.value(loss, y + 2.5, z + 2.5)
            if not _close(here, moved, abs(here)):
                yield (
                    f"of_residual is wrong: the value at y={y:g}, z={z:g} is {here:g}, but "
                    f"{moved:g} where both are 2.5 more."
                )


def _degree(loss: Any, trial: Trial) -> Iterator[str]:
    from resolvent.losses.units import has_link, in_units

    degree = getattr(loss, "degree", None)
    if degree is None:
        return
    for unit in (0.1, 40.0):
        other, _ = in_units(loss, unit)
        for y in trial.targets:
            for z in (-3.0, -0.4, 0.0, 1.0, 5.0):
                moved = z + math.log(unit) if has_link(loss) else unit * z
                first = _jit.value(other, unit * y, moved)
                second = unit**degree * _jit.value(loss, y, z)
                if not _close(first, second, abs(second) + abs(unit * y)):
                    yield (
                        f"degree={degree:g} is wrong: with y and the parameters in `units` times "
                        f"{unit:g} the value at y={y:g}, z={z:g} is {first:g}, not {second:g}."
                    )


def _minimise(objective: Any, centre: float) -> float:
    """Golden-section search of a convex function around a first guess."""
    width = 1.0 + abs(centre)
    here = objective(centre)
    while width < 1e9 and min(objective(centre - width), objective(centre + width)) < here:
        width *= 2.0
    lo, hi = centre - width, centre + width
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    while hi - lo > 1e-12 * (1.0 + abs(lo) + abs(hi)):
        left, right = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        if objective(left) <= objective(right):
            hi = right
        else:
            lo = left
    return 0.5 * (lo + hi)


def _trial(loss: Any, y: float, z: float, v: float, a: float) -> tuple[float, float, float]:
    u = _jit.resolvent(loss, y, v, a)
    return _jit.value(loss, y, z), u, _jit.conjugate(loss, y, u)


_compiled_trial = _jit.compiled(_trial)


def _compiled(loss: Any, trial: Trial) -> Iterator[str]:
    names = ("value", "resolvent", "conjugate")
    for y in trial.targets:
        for v, a in ((-1.5, 0.1), (0.3, 1.0), (20.0, 7.0)):
            pairs = zip(
                names, _compiled_trial(loss, y, v, v, a), _trial(loss, y, v, v, a), strict=True
            )
            for name, fast, plain in pairs:
                same = fast == plain or (math.isnan(fast) and math.isnan(plain))
                if not (same or _close(fast, plain, abs(plain))):
                    yield (
                        f"{name} gives {fast:g} compiled and {plain:g} in Python at y={y:g}: it "
                        "must be plain arithmetic on its arguments."
                    )
