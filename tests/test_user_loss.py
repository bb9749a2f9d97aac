"""Losses of one's own: what is accepted, what `derivative` alone gives, and edits take effect."""

import gc
import importlib
import math
import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import resolvent
from resolvent import _jit
from resolvent._jit import compiled
from resolvent.losses import LOSSES, Hinge, Huber, Pinball, SmoothedHinge, Squared, as_loss


class LogCosh(NamedTuple):
    def value(self, y, z):
        r = abs(y - z)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)

    def derivative(self, y, z):
        return math.tanh(z - y)


class PseudoHuber(NamedTuple):
    delta: float = 1.0

    def value(self, y, z):
        r = abs(z - y) / self.delta
        return self.delta**2 * r * (r / (1.0 + math.hypot(1.0, r)))

    def derivative(self, y, z):
        r = (z - y) / self.delta
        return self.delta * r / math.hypot(1.0, r)


class PlainLogistic(NamedTuple):
    targets = "sign"

    def value(self, y, z):
        return math.log1p(math.exp(-abs(y * z))) + max(-y * z, 0.0)

    def derivative(self, y, z):
        e = math.exp(-abs(z))
        return -y * (e / (1.0 + e) if y * z > 0.0 else 1.0 / (1.0 + e))


class PlainAbsolute(NamedTuple):
    def value(self, y, z):
        return abs(z - y)

    def derivative(self, y, z):
        return 1.0 if z > y else -1.0 if z < y else 0.0


class PlainSquared(NamedTuple):
    def value(self, y, z):
        return 0.5 * (z - y) * (z - y)

    def derivative(self, y, z):
        return z - y


DERIVED = [LogCosh(), PseudoHuber(), PseudoHuber(0.2), PlainLogistic(), PlainAbsolute()]
DERIVED.append(PlainSquared())
every_loss = pytest.mark.parametrize("loss", DERIVED, ids=repr)
quick = settings(max_examples=40)

numbers = st.floats(-20.0, 20.0)
sizes = st.builds(lambda e: 10.0**e, st.floats(-250.0, 250.0))
signed = st.one_of(st.builds(lambda x, s: s * x, sizes, st.sampled_from([-1.0, 1.0])), numbers)


def exact_conjugate(loss, y, u):
    """The conjugate from its formula; None outside the domain."""
    y, u = mpf(y), mpf(u)

    def entropy(p):
        return p * mp.log(p) if p > 0 else mpf(0)

    name = type(loss).__name__
    if name == "PlainSquared":
        return u * y + u**2 / 2
    if name == "PlainAbsolute":
        return u * y if abs(u) <= 1 else None
    if name == "PlainLogistic":
        p = -y * u
        return entropy(p) + entropy(1 - p) if 0 <= p <= 1 else None
    if name == "PseudoHuber":
        d = mpf(loss.delta)
        return u * y + d**2 * (1 - mp.sqrt(1 - (u / d) ** 2)) if abs(u) <= d else None
    return u * y + (entropy(1 + u) + entropy(1 - u)) / 2 if abs(u) <= 1 else None  # LogCosh


def exact_inverse(loss, y, u):
    """The score at which u is the derivative, inside the domain."""
    name = type(loss).__name__
    y, u = mpf(y), mpf(u)
    if name == "PlainSquared":
        return y + u
    if name == "PlainAbsolute":
        return y
    if name == "PlainLogistic":
        p = -y * u
        return y * (mp.log1p(-p) - mp.log(p)) if p > 0 else y * mp.inf
    if name == "PseudoHuber":
        u /= mpf(loss.delta)
        return y + loss.delta * u / mp.sqrt(1 - u**2)
    return y + mp.atanh(u)


def borders(loss, y):
    name = type(loss).__name__
    if name == "PlainSquared":
        return -math.inf, math.inf
    if name == "PlainLogistic":
        return min(-y, 0.0), max(-y, 0.0)
    return (-loss.delta, loss.delta) if name == "PseudoHuber" else (-1.0, 1.0)


def is_resolvent(loss, y, v, a, u, ulps=32):
    """Whether u is the resolvent of arguments changed by some ulps."""
    eps = ulps * 2.0**-52
    left, right = borders(loss, y)
    with mp.workdps(100):
        room = eps * (abs(mpf(v)) + abs(mpf(a) * y)) + mpf(10) ** -300
        width = eps * abs(mpf(u)) + ulps * mpf(2) ** -1074  # an ulp of a subnormal number
        low, high = mpf(u) - width, mpf(u) + width
        not_above = low <= left or low + a * exact_inverse(loss, y, low) * 1 <= v + room + (
            eps * abs(a * exact_inverse(loss, y, low))
        )
        not_below = high >= right or high + a * exact_inverse(loss, y, high) >= v - room - (
            eps * abs(a * exact_inverse(loss, y, high))
        )
        inside = left * (1 + eps) <= u <= right * (1 + eps)
        return inside and not_above and not_below


def target(data, loss, of):
    return data.draw(st.sampled_from([-1.0, 1.0]) if hasattr(loss, "targets") else of)


@every_loss
@quick
@given(data=st.data(), v=numbers, a=st.floats(1e-3, 1e3))
def test_derivative_alone_at_ordinary_scales(loss, data, v, a):
    y = target(data, loss, numbers)
    u = _jit.resolvent(loss, y, v, a)
    assert is_resolvent(loss, y, v, a, u), (y, v, a, u)
    conj = _jit.conjugate(loss, y, u)
    z = (v - u) / a
    noise = 1e-14 * (1.0 + abs(u * z) + abs(y))  # it is a difference of u z and the value
    assert conj == pytest.approx(float(exact_conjugate(loss, y, u)), rel=1e-12, abs=noise)
    assert abs(loss.value(y, z) + conj - u * z) <= 1e-11 * (1.0 + abs(u * z) + abs(v) / a)


def test_derivative_alone_with_a_subnormal_resolvent():
    loss, y, v, a = PseudoHuber(1.0), 0.0, 6.09807764021736e-263, 1e48
    assert is_resolvent(loss, y, v, a, _jit.resolvent(loss, y, v, a))


@every_loss
@quick
@given(data=st.data(), v=signed, a=sizes)
def test_derivative_alone_at_extreme_scales(loss, data, v, a):
    y = target(data, loss, signed)
    u = _jit.resolvent(loss, y, v, a)
    assert is_resolvent(loss, y, v, a, u), (y, v, a, u)
    assert not math.isnan(_jit.conjugate(loss, y, u))
    assert 0.0 <= _jit.slope(loss, y, v, a) <= 1.0


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_numerical_conjugate_around_the_border(loss, y):
    for end, outwards in zip(borders(loss, y), (-1.0, 1.0), strict=True):
        if math.isinf(end):
            continue
        expected = pytest.approx(float(exact_conjugate(loss, y, end)), abs=1e-7)
        assert _jit.conjugate(loss, y, end) == expected
        if end:
            assert _jit.conjugate(loss, y, end * (1.0 + 4 * 2.0**-52)) == expected
        assert _jit.conjugate(loss, y, end + outwards * 1e-9) == math.inf
        assert _jit.conjugate(loss, y, outwards * 1e300) == math.inf


@compiled
def evaluate(loss, y, u, v, a, out):
    for i in range(len(y)):
        out[0, i] = _jit.value(loss, y[i], v[i])
        out[1, i] = _jit.conjugate(loss, y[i], u[i])
        out[2, i] = _jit.resolvent(loss, y[i], v[i], a[i])


@pytest.mark.parametrize("loss", [LogCosh(), PseudoHuber(0.2), PlainAbsolute()], ids=repr)
def test_compiled_equals_python(loss):
    rng = np.random.default_rng(0)
    n = 60
    y, v = rng.uniform(-5, 5, (2, n))
    a = 10.0 ** rng.uniform(-2, 2, n)
    y = np.sign(y) if hasattr(loss, "targets") else y
    u = np.array([_jit.resolvent(loss, *map(float, t)) for t in zip(y, v, a, strict=True)])
    plain, fast = np.empty((3, n)), np.empty((3, n))
    evaluate.py_func(loss, *(x.tolist() for x in (y, u, v, a)), plain)
    evaluate(loss, y, u, v, a, fast)
    np.testing.assert_allclose(fast, plain, rtol=1e-11, atol=1e-11)


class Hostile(NamedTuple):
    """A derivative that is not one: infinite, NaN, or jumping about."""

    kind: float

    def value(self, y, z):
        return abs(z)

    def derivative(self, y, z):
        if self.kind == 0.0:
            return math.nan
        if self.kind == 1.0:
            return math.inf if z > y else -math.inf
        if self.kind == 2.0:
            return math.nan if abs(z) > 1.0 else z
        return math.sin(1e3 * z) * 1e5


@pytest.mark.parametrize("kind", [0.0, 1.0, 2.0, 3.0])
def test_root_finding_always_ends(kind):
    loss = Hostile(kind)
    calls = 0
    for y in (-1e250, -1.0, 0.0, 1e-250, 3.0):
        for v in (-1e300, -1.0, 0.0, 1e-300, 5.0, 1e300, math.inf, math.nan):
            for a in (1e-300, 1e-3, 1.0, 1e300):
                _jit.resolvent(loss, y, v, a)
                calls += 1
            _jit.conjugate(loss, y, v)
    assert calls == 160


# What is taken for a loss.


@pytest.mark.parametrize("name", LOSSES)
def test_names_classes_and_instances(name):
    cls = LOSSES[name]
    for given_as in (name, cls, cls()):
        loss = as_loss(given_as)
        assert type(loss) is cls
        assert tuple(loss) == tuple(cls())


def test_parameters_become_floats():
    for given_as in (Huber(2), Huber(np.float32(2)), Huber(np.int64(2)), Huber(True + 1)):
        loss = as_loss(given_as)
        assert type(loss) is Huber
        assert type(loss.delta) is float
        assert loss.delta == 2.0


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Huber(0.0), r"Huber: delta=0 must be in \(0, inf\)"),
        (Huber(-1), "delta=-1"),
        (Huber(math.inf), "delta=inf"),
        (Huber(math.nan), "delta=nan"),
        (Pinball(0.0), r"tau=0 must be in \(0, 1\)"),
        (Pinball(1.0), "tau=1"),
        (SmoothedHinge(0), "width=0"),
        (LOSSES["epsilon_insensitive"](-0.1), r"epsilon=-0.1 must be in \[0, inf\)"),
        (LOSSES["epsilon_insensitive"](math.inf), "epsilon=inf"),
        ("huber ", "'huber ' is unknown; choose one of squared, absolute"),
        ("Hinge", "'Hinge' is unknown"),
    ],
)
def test_wrong_parameters_and_names(loss, words):
    with pytest.raises(ValueError, match=words):
        as_loss(loss)
    with pytest.raises(ValueError, match=words):
        resolvent.solve(loss, np.eye(3), [1.0, -1.0, 1.0])


class NoValue(NamedTuple):
    def conjugate(self, y, u):
        return 0.0


class OnlyValue(NamedTuple):
    def value(self, y, z):
        return 0.0


class NotATuple:
    def value(self, y, z):
        return 0.0

    def derivative(self, y, z):
        return 0.0


class NeedsScale(NamedTuple):
    scale: float

    def value(self, y, z):
        return self.scale * abs(y - z)

    def derivative(self, y, z):
        return self.scale if z > y else -self.scale


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (None, "loss=None is not a loss: it must be a name, or an instance"),
        (3, "is not a loss"),
        ((1.0, 2.0), "is not a loss"),
        (math.exp, "is not a loss"),
        (NotATuple(), "NamedTuple"),
        (NotATuple, "NamedTuple"),
        (NoValue(), "NamedTuple class with the methods value"),
        (OnlyValue(), "OnlyValue must have the methods conjugate and resolvent, or derivative"),
        (Huber("wide"), "parameters of Huber must be numbers"),
        (Huber(None), "parameters of Huber must be numbers"),
        (NeedsScale, r"NeedsScale has parameters without a default \(scale\): pass an instance"),
    ],
)
def test_what_is_not_a_loss(loss, words):
    with pytest.raises(TypeError, match=words):
        as_loss(loss)


K = np.exp(-(np.subtract.outer(np.arange(5.0), np.arange(5.0)) ** 2))
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])


def test_equal_tuples_are_not_confused():
    """Hinge() == Squared() and hash(Hinge()) == hash(Squared()): both are the empty tuple."""
    assert Hinge() == Squared() == ()
    alone = {}
    for _ in range(2):
        for cls in (Hinge, Squared, LOSSES["squared_hinge"], PlainSquared):
            problem = resolvent.Problem(cls(), K, Y)
            assert type(problem.loss) is cls
            coef = resolvent.solve(cls(), K, Y, tol=1e-9).coef
            assert np.allclose(alone.setdefault(cls, coef), coef)
    exact = np.linalg.solve(K + np.eye(5), Y)
    np.testing.assert_allclose(alone[Squared], exact, atol=1e-4)
    np.testing.assert_allclose(alone[PlainSquared], exact, atol=1e-4)
    assert len({tuple(np.round(coef, 3)) for coef in alone.values()}) == 3


# Edits take effect. The loss is scale (z - y)^2 / 2, so c solves (scale K + I) c = scale y.

SOURCE = """
from typing import NamedTuple

class Mine(NamedTuple):
    def value(self, y, z):
        return 0.5 * {scale} * (z - y) * (z - y)

    def conjugate(self, y, u):
        return u * y + 0.5 * u * u / {scale}

    def resolvent(self, y, v, a):
        return (v - a * y) / (1.0 + a / {scale})
"""


def expected(scale):
    return np.linalg.solve(scale * K + np.eye(5), scale * Y)


def test_class_defined_anew_in_one_process():
    """A notebook cell that is run again, the old class kept or gone."""
    kept = []
    for scale in (1.0, 3.0, 0.5):
        cell = {"__name__": "__main__"}
        exec(SOURCE.format(scale=scale), cell)
        loss = cell["Mine"]()
        kept.append(cell["Mine"])
        np.testing.assert_allclose(
            resolvent.solve(loss, K, Y, tol=1e-12).coef, expected(scale), atol=1e-5
        )
        if scale == 3.0:
            kept.clear()
            del cell, loss
            gc.collect()


def test_module_reloaded(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "my_losses_reloaded.py"
    module = None
    for scale in (1.0, 3.0):
        file.write_text(SOURCE.format(scale=scale))
        importlib.invalidate_caches()
        module = importlib.reload(module) if module else importlib.import_module(file.stem)
        solution = resolvent.solve(module.Mine(), K, Y, tol=1e-12)
        np.testing.assert_allclose(solution.coef, expected(scale), atol=1e-5)


def test_script_edited_between_runs(tmp_path):
    """The same disk cache, the same file, even the same time stamp."""
    script = tmp_path / "script.py"
    use = textwrap.dedent(
        f"""
        import numpy as np, resolvent
        solution = resolvent.solve(Mine(), np.array({K.tolist()}), {Y.tolist()}, tol=1e-12)
        print(*solution.coef)
        """
    )
    cache = tmp_path / "cache"
    for scale in (1.0, 3.0):
        script.write_text(SOURCE.format(scale=scale) + use)
        os.utime(script, (1e9, 1e9))
        run = subprocess.run(
            [sys.executable, str(script)],
            env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        coef = np.array(run.stdout.split(), float)
        np.testing.assert_allclose(coef, expected(scale), atol=1e-5)
