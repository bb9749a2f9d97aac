"""Every loss: its functions belong together, are accurate at any scale, and compile unchanged."""

import math

import numpy as np
import pytest
import reference_losses as reference
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from reference_losses import CASES, EPS, backward_stable, domain, well_rounded

from resolvent import _jit, losses
from resolvent._jit import compiled
from resolvent.losses import LOSSES

every_loss = pytest.mark.parametrize("loss", CASES, ids=repr)
quick = settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much])

numbers = st.floats(-30.0, 30.0)
steps = st.floats(1e-2, 1e2)
sizes = st.builds(lambda e, m: m * 10.0**e, st.floats(-300.0, 299.0), st.floats(1.0, 9.9))
signed = st.one_of(
    st.builds(lambda x, s: s * x, sizes, st.sampled_from([-1.0, 1.0])), numbers, st.just(0.0)
)


def targets(loss, of=numbers):
    kind = getattr(loss, "targets", "real")
    if kind == "sign":
        return st.sampled_from([-1.0, 1.0])
    if kind == "positive":
        return of.map(abs).filter(bool)
    return of.map(abs) if kind == "nonnegative" else of


def draw_inside(data, loss, y):
    """A subgradient: inside the domain or on its border."""
    left, right = domain(loss, y)
    return data.draw(st.floats(max(left, -40.0), min(right, 40.0)))


def minimise(function, lo, hi):
    """Golden-section search, the slow way."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(120):
        left, right = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        if function(left) <= function(right):
            hi = right
        else:
            lo = left
    return function(0.5 * (lo + hi))


def test_every_loss_is_exported():
    for cls in LOSSES.values():
        assert cls.__name__ in losses.__all__
        assert getattr(losses, cls.__name__) is cls
    assert {type(loss) for loss in CASES} == set(LOSSES.values())


@every_loss
@quick
@given(data=st.data(), z=numbers, other=numbers, t=st.floats(0.0, 1.0))
def test_value_is_convex_and_not_negative(loss, data, z, other, t):
    y = data.draw(targets(loss))
    ends = loss.value(y, z), loss.value(y, other)
    middle = loss.value(y, t * z + (1.0 - t) * other)
    assert min(*ends, middle) >= 0.0
    assert middle <= t * ends[0] + (1.0 - t) * ends[1] + 1e-13 * (1.0 + max(ends))


@every_loss
@quick
@given(data=st.data(), z=numbers, v=numbers, a=steps)
def test_fenchel_young(loss, data, z, v, a):
    y = data.draw(targets(loss))
    u = draw_inside(data, loss, y)
    conj = loss.conjugate(y, u)
    val = loss.value(y, z)
    assert val + conj - u * z >= -1e-13 * (1.0 + val + abs(conj) + abs(u * z))
    # ... with equality where u is a subgradient at z, which is what the resolvent finds.
    u = loss.resolvent(y, v, a)
    z = (v - u) / a
    val, conj = loss.value(y, z), loss.conjugate(y, u)
    noise = EPS * (abs(v) + abs(u)) / a  # of z
    assert domain(loss, y)[0] <= u <= domain(loss, y)[1]
    assert abs(val + conj - u * z) <= 64 * EPS * (1.0 + val + abs(conj) + abs(u * z)) + (
        8 * noise * (1.0 + abs(u) + noise)
    )


@every_loss
@quick
@given(data=st.data(), v=numbers, w=numbers, a=steps)
def test_resolvent_is_firmly_non_expansive(loss, data, v, w, a):
    y = data.draw(targets(loss))
    v, w = min(v, w), max(v, w)
    rise = loss.resolvent(y, w, a) - loss.resolvent(y, v, a)
    noise = 16 * EPS * (1.0 + abs(v) + abs(w) + a * abs(y))
    assert -noise <= rise <= w - v + noise


@every_loss
@quick
@given(data=st.data(), v=numbers, a=steps, C=st.floats(1e-2, 1e2))
def test_resolvent_against_brute_force_and_scaling(loss, data, v, a, C):
    """The resolvent of C L at (v, a) is C resolvent(y, v / C, a / C); C = 1 is the plain one."""
    y = data.draw(targets(loss))
    for scale in (1.0, C):
        u = scale * loss.resolvent(y, v / scale, a / scale)

        def objective(z, scale=scale):
            return scale * loss.value(y, z) + 0.5 * a * (z - v / a) ** 2

        z = (v - u) / a
        assert objective(z) <= minimise(objective, z - 3.0, z + 3.0) * (1.0 + 1e-11) + 1e-11
        assert (
            abs(scale * loss.value(y, z) + scale * loss.conjugate(y, u / scale) - u * z)
            <= 1e-10 * (1.0 + abs(v) + abs(u) + C) ** 2 / a
        )


@every_loss
@quick
@given(data=st.data())
def test_conjugate_against_maximisation(loss, data):
    y = data.draw(targets(loss))
    u = draw_inside(data, loss, y)
    lo, hi = reference.inverse(loss, y, u)
    lo, hi = (x if math.isfinite(x) else math.copysign(700.0, x) for x in (float(lo), float(hi)))
    best = -minimise(lambda z: loss.value(y, z) - u * z, lo - 1.0, hi + 1.0)
    assert loss.conjugate(y, u) == pytest.approx(best, rel=1e-9, abs=1e-9)


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0, 0.0, 7.0])
def test_conjugate_around_the_border(loss, y):
    kind = getattr(loss, "targets", "real")
    if (
        (kind == "sign" and y not in (-1.0, 1.0))
        or (kind == "nonnegative" and y < 0.0)
        or (kind == "positive" and y <= 0.0)
    ):
        pytest.skip("not a target")
    for end, outwards in zip(domain(loss, y), (-1.0, 1.0), strict=True):
        if math.isinf(end):
            assert math.isfinite(loss.conjugate(y, outwards * 1e9))
            continue
        on_border = loss.conjugate(y, end)
        assert math.isfinite(on_border)
        for ulps in range(5):
            u = end + outwards * ulps * math.ulp(end) * (end != 0.0)
            assert loss.conjugate(y, u) == pytest.approx(on_border, rel=1e-14, abs=1e-14)
        assert loss.conjugate(y, end + outwards * 1e-9) == math.inf
        assert loss.conjugate(y, outwards * 1e300) == math.inf


@compiled
def evaluate(loss, y, z, u, v, a, out):
    for i in range(len(y)):
        out[0, i] = _jit.value(loss, y[i], z[i])
        out[1, i] = _jit.conjugate(loss, y[i], u[i])
        out[2, i] = _jit.resolvent(loss, y[i], v[i], a[i])
        out[3, i] = _jit.slope(loss, y[i], v[i], a[i])
        out[4, i], out[5, i] = _jit.response(loss, y[i], v[i], a[i])


def both_ways(loss, y, z, u, v, a):
    """Value, conjugate, resolvent and slope, interpreted and compiled."""
    arguments = [np.array([float(x)]) for x in (y, z, u, v, a)]
    plain, fast = np.full((6, 1), np.nan), np.full((6, 1), np.nan)
    evaluate.py_func(loss, *(x.tolist() for x in arguments), plain)
    evaluate(loss, *arguments, fast)
    for found in (plain, fast):
        assert (found[2:4] == found[4:]).all()  # resolvent and slope at once
    return plain[:4, 0].tolist(), fast[:4, 0].tolist()


@every_loss
@settings(quick, max_examples=50)
@given(data=st.data(), z=signed, v=signed, a=sizes, extreme=st.booleans())
def test_accurate_at_any_scale_interpreted_and_compiled(loss, data, z, v, a, extreme):
    """The results are those of arguments that are a few ulps off, from 1e-300 to 1e300."""
    y = data.draw(targets(loss, signed if extreme else numbers))
    left, right = domain(loss, y)
    u = min(max(data.draw(signed), left), right)
    for val, conj, res, slope in both_ways(loss, y, z, u, v, a):
        assert well_rounded(reference.value, loss, y, z, val), (y, z, val)
        assert well_rounded(reference.conjugate, loss, y, u, conj), (y, u, conj)
        assert backward_stable(loss, y, v, a, res), (y, v, a, res)
        assert left <= res <= right
        assert 0.0 <= slope <= 1.0


@every_loss
@quick
@given(data=st.data(), z=numbers, v=numbers, a=steps)
def test_accurate_at_ordinary_scales(loss, data, z, v, a):
    y = data.draw(targets(loss))
    u = draw_inside(data, loss, y)
    for val, conj, res, _ in both_ways(loss, y, z, u, v, a):
        assert well_rounded(reference.value, loss, y, z, val), (y, z, val)
        assert well_rounded(reference.conjugate, loss, y, u, conj), (y, u, conj)
        assert backward_stable(loss, y, v, a, res), (y, v, a, res)


@every_loss
def test_compiled_equals_python(loss):
    rng = np.random.default_rng(0)
    n = 2000
    y, z, v = rng.standard_normal((3, n)) * 10.0 ** rng.uniform(-3, 3, (3, n))
    a = 10.0 ** rng.uniform(-4, 4, n)
    kind = getattr(loss, "targets", "")
    y = {"sign": np.sign, "nonnegative": np.abs, "positive": np.abs}.get(kind, np.array)(y)
    z = np.clip(z, -30, 30)
    u = np.array([loss.resolvent(*t) for t in zip(y.tolist(), v.tolist(), a.tolist(), strict=True)])
    plain, fast = np.empty((6, n)), np.empty((6, n))
    evaluate.py_func(loss, *(x.tolist() for x in (y, z, u, v, a)), plain)
    evaluate(loss, y, z, u, v, a, fast)
    # FMA rounds a sum once where Python rounds twice: the difference is relative to its terms.
    size = np.abs(y) + np.abs(z) + np.abs(u) + np.abs(v) + a * np.abs(y)
    np.testing.assert_allclose(fast[0], plain[0], rtol=1e-13, atol=1e-15 * np.max(size))
    np.testing.assert_allclose(fast[1], plain[1], rtol=1e-13, atol=1e-14 * np.max(size))
    assert (np.abs(fast[2] - plain[2]) <= 16 * EPS * size).all()
    same = np.abs(fast[3] - plain[3]) <= 1e-7 * (1.0 + size / np.maximum(np.abs(v), EPS))
    assert same.mean() > 0.99  # at a kink a difference of one ulp may choose the other side


def exact_slope(loss, y, v, a):
    """Derivative of the resolvent, 1 / (1 + a dz/du), or None near a kink."""
    slopes = []
    h = 1e-5 * max(abs(v), 1.0)
    for w in (v - h, v, v + h):
        u = mpf(loss.resolvent(y, w, a))
        lo, hi = reference.inverse(loss, y, u)
        flat = u in domain(loss, y) or lo < hi
        rate = 0 if flat else mp.diff(lambda t: reference.inverse(loss, y, t)[0], u)
        slopes.append(0.0 if flat else float(1 / (1 + a * rate)))
    return slopes[1] if max(slopes) - min(slopes) < 1e-3 else None


@every_loss
@quick
@given(data=st.data(), v=numbers, a=steps)
def test_slope_is_the_derivative(loss, data, v, a):
    y = data.draw(targets(loss))
    exact = exact_slope(loss, y, v, a)
    assume(exact is not None)
    assert _jit.slope(loss, y, v, a) == pytest.approx(exact, abs=2e-3 * exact + 1e-6)


@quick
@given(v=numbers, a=st.builds(lambda e: 10.0**e, st.floats(-12.0, 12.0)))
@example(v=-1.0, a=1e-12)
@example(v=1e-30, a=1e-12)
def test_logistic_against_its_root(v, a):
    """The equation a m - p = v of Logistic, solved by mpmath's bisection."""
    with mp.workdps(60):
        lo, hi = mpf(v) / a, (mpf(v) + 1) / a
        for _ in range(260):
            m = (lo + hi) / 2
            lo, hi = (m, hi) if a * m - 1 / (1 + mp.exp(m)) < v else (lo, m)
        p = 1 / (1 + mp.exp(lo))
        kappa = abs(lo) * (1 - p) + 1  # condition of p in m
        for y in (-1.0, 1.0):
            u = losses.Logistic().resolvent(y, y * v, a)
            slack = 8 * EPS * p * (1 + kappa) + mpf("1e-300")
            assert abs(-y * u - p) <= slack, (u, p)


@quick
@given(y=numbers.map(abs), v=numbers, a=st.builds(lambda e: 10.0**e, st.floats(-6.0, 6.0)))
@example(y=0.0, v=0.0, a=1.0)
@example(y=3.0, v=-3.0, a=1e-6)
def test_poisson_against_lambert(y, v, a):
    """exp(z) + a z = v + y is solved by exp(z) = a W(exp((v + y) / a) / a)."""
    with mp.workdps(60):
        s = mpf(v) + y
        if s / a < 1e5:
            mean = a * mp.lambertw(mp.exp(s / a) / a).real
        else:
            mean = mp.findroot(lambda t: t + a * mp.log(t) - s, s)
        u = losses.Poisson().resolvent(y, v, a)
        assert abs(u - (mean - y)) <= 16 * EPS * (abs(v) + y + mean)
