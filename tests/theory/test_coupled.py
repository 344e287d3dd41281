import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import boxcox, inv_boxcox

from unperplexed import InputError
from unperplexed.scores import generalized_surprisal
from unperplexed.statistics import generalized_mean, order_from_coupling
from unperplexed.theory import coupled_exp, coupled_log, risk_exp, risk_log
from unperplexed.theory.coupled import expm1_ratio, log1p_ratio

EPS = np.finfo(float).eps
DIGITS = 400  # couplings down to the smallest float leave 50 of them
DIMENSIONS = [1, 2, 3, 10]
signed = st.sampled_from([1.0, -1.0])
magnitudes = st.one_of(st.just(0.0), st.floats(-320, 3).map(lambda e: 10.0**e), st.floats(1e-9, 30))


@st.composite
def couplings(draw, d=1):
    """Couplings of either sign and any size, down to subnormal and up to the bound."""
    size = draw(magnitudes)
    return size if draw(st.booleans()) else -min(size, 0.999 / d)


positive = st.one_of(st.floats(1e-3, 1e3), st.floats(-300, 300).map(lambda e: 10.0**e))


def random_couplings(rng, n, d):
    size = 10.0 ** np.where(rng.uniform(size=n) < 0.5, rng.uniform(-320, 3, n), rng.uniform(-9, 2, n))
    return np.where(rng.uniform(size=n) < 0.5, size, -np.minimum(size, 0.99 / d))


def random_positive(rng, n):
    wide, near_1 = 10.0 ** rng.uniform(-300, 300, n), 1 + 10.0 ** rng.uniform(-15, -1, n)
    return np.where(rng.uniform(size=n) < 0.5, wide, near_1)


def check(got, expected, condition):
    """Relative error of at most 4 units in the last place for each unit of the condition number and more."""
    with mpmath.workdps(DIGITS):
        if abs(expected) > 1.7e308:
            assert np.isinf(got)
            assert np.sign(got) == mpmath.sign(expected)
        elif abs(expected) > 1e-300:
            assert abs((mpmath.mpf(float(got)) - expected) / expected) <= 4 * EPS * (1 + condition)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_coupled_log_against_50_digits(rng, d):
    x, kappa = random_positive(rng, 300), random_couplings(rng, 300, d)
    for one, k, got in zip(x, kappa, coupled_log(x, kappa, d), strict=True):
        with mpmath.workdps(DIGITS):
            exact = mpmath.mpf(float(k))
            slope = 1 + d * exact
            expected = (mpmath.mpf(float(one)) ** (exact / slope) - 1) / exact
            z = float(abs(exact / slope * mpmath.log(mpmath.mpf(float(one)))))
            check(got, expected, (1 + z) * (1 + float(abs(d * exact / slope))))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_coupled_exp_against_50_digits(rng, d):
    kappa = random_couplings(rng, 300, d)
    x = np.where(rng.uniform(size=300) < 0.5, coupled_log(random_positive(rng, 300), kappa, d), rng.normal(0, 30, 300))
    x = np.where(np.isfinite(x), x, 1.0)
    past = 0
    for one, k, got in zip(x, kappa, coupled_exp(x, kappa, d), strict=True):
        with mpmath.workdps(DIGITS):
            exact, slope = mpmath.mpf(float(k)), 1 + d * mpmath.mpf(float(k))
            base = 1 + exact * mpmath.mpf(float(one))
            if base <= 0:
                past += 1
                assert got == (0.0 if k > 0 else np.inf)
                continue
            if base < 1e-12:
                continue  # the pole is there to within the rounding of kappa x
            expected = base ** (slope / exact)
            at_pole, at_bound = abs(slope * mpmath.mpf(float(one)) / base), 1 + abs(d * exact / slope)
            check(got, expected, float(2 * abs(mpmath.log(expected)) * at_bound + at_pole))
    assert past


def test_risk_functions_against_50_digits(rng):
    x, r = random_positive(rng, 300), random_couplings(rng, 300, 1)
    for one, k, got in zip(x, r, risk_log(x, r), strict=True):
        with mpmath.workdps(DIGITS):
            order, value = mpmath.mpf(float(k)), mpmath.mpf(float(one))
            z = float(abs(order * mpmath.log(value)))
            check(got, (1 + order) / order * (value**order - 1), (1 + z) * (1 + float(abs(order / (1 + order)))))
    y = rng.normal(0, 3, 300)
    for one, k, got in zip(y, r, risk_exp(y, r), strict=True):
        with mpmath.workdps(DIGITS):
            order, value = mpmath.mpf(float(k)), mpmath.mpf(float(one))
            base = 1 + order / (1 + order) * value
            if base <= 1e-9:
                assert got == (0.0 if order > 0 else np.inf) or base > 0
                continue
            expected = base ** (1 / order)
            at_pole = float(abs(value / (1 + order) / base)) * (1 + float(1 / (1 + order)))
            check(got, expected, float(abs(mpmath.log(expected))) + at_pole)


@given(positive, st.sampled_from([0.0, 5e-324, 1e-300, 1e-100, 1e-16, 1e-12, 1e-9]), signed, st.integers(1, 10))
def test_no_jump_at_coupling_0(x, size, sign, d):
    """To first order in kappa: ln x (1 + kappa (ln(x)/2 - d)), and exp y (1 + kappa (d y - y^2/2))."""
    kappa, log = sign * size, np.log(x)
    expected = log * (1 + kappa * (log / 2 - d))
    second = kappa**2 * (abs(log) + d) ** 3
    assert coupled_log(x, kappa, d) == pytest.approx(expected, rel=1e-15, abs=second)
    expected = x * (1 + kappa * (d * log - log**2 / 2))
    assert coupled_exp(log, kappa, d) == pytest.approx(expected, rel=4e-13 + 2 * (kappa * (abs(log) + d) ** 2) ** 2)
    assert risk_log(x, kappa) == pytest.approx(log * (1 + kappa * (1 + log / 2)), rel=1e-15, abs=second)


@given(positive)
def test_ordinary_functions_at_0(x):
    for d in DIMENSIONS:
        assert coupled_log(x, 0, d) == np.log(x)
        assert coupled_exp(np.log(x), 0, d) == np.exp(np.log(x))
    assert risk_log(x, 0.0) == np.log(x)
    assert risk_exp(np.log(x), -0.0) == np.exp(np.log(x))


@pytest.mark.slow
@given(couplings(10), st.sampled_from(DIMENSIONS))
def test_the_surprisal_averages_to_the_same(kappa, d):
    """Integral over p in (0, 1) of coupled_log(1/p, kappa, d) = 1/(1 + (d-1) kappa), which is 1 for d = 1."""
    decay = (1 + (d - 1) * kappa) / (1 + d * kappa)  # of the integrand in t = -ln p
    assume(decay > 1 / 16)  # else more than 1e-16 of the integral is where p is 0 in floats
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.array([0, 1e-3, 0.01, 0.1, 1, 5, 15, 40, 100, 250, 600])
    half, middle = np.diff(edges)[:, None] / 2, (edges[:-1] + edges[1:])[:, None] / 2
    t = middle + half * nodes
    integral = np.sum(half * weights * coupled_log(np.exp(t), kappa, d) * np.exp(-t))
    assert integral == pytest.approx(1 / (1 + (d - 1) * kappa), rel=1e-12)


@given(positive, couplings(3), st.integers(1, 3))
def test_exp_is_the_inverse_of_log(x, kappa, d):
    y = coupled_log(x, kappa, d)
    assume(np.isfinite(y))
    z = abs(kappa / (1 + d * kappa) * np.log(x))
    assume(z < 20)  # beyond, the logarithm is near its bound -1/kappa, where floats cannot tell arguments apart
    slope = 1 + d * kappa
    # What rounding y moves x by: y/x dx/dy = slope y / (1 + kappa y).
    condition = abs(np.log(x)) + abs(slope * y / (1 + kappa * y)) + abs(d * kappa / slope) * abs(np.log(x))
    assert coupled_exp(y, kappa, d) == pytest.approx(x, rel=8 * EPS * (1 + condition))


@given(st.floats(-30, 30), couplings())
def test_log_is_the_inverse_of_exp(y, kappa):
    assume(1 + kappa * y > 1e-3)
    x = coupled_exp(y, kappa)
    assume(1e-300 < x < 1e300)
    # What rounding x moves y by: dy/y = (1 + kappa y)/(slope y) dx/x, with dx/x about |ln x| units.
    moved = (1 + kappa * y) / (1 + kappa) * (1 + abs(np.log(x))) + abs(y) + abs(y * kappa / (1 + kappa))
    assert coupled_log(x, kappa) == pytest.approx(y, abs=16 * EPS * moved)


@given(positive, couplings().map(lambda k: min(k, 50.0)))
def test_risk_log_is_the_coupled_log_of_the_inverse_turned_round(x, kappa):
    assume(1e-300 < x < 1e300)
    r = order_from_coupling(kappa, alpha=1)
    expected = -coupled_log(1 / x, kappa)
    assume(np.isfinite(expected))
    condition = (1 + abs(r * np.log(x))) * (1 + 1 / (1 + kappa) + 1 / (1 + r)) + 1 / abs(np.log(x) or 1)
    assert risk_log(x, r) == pytest.approx(expected, rel=8 * EPS * condition)


@given(st.floats(1e-6, 1e3), st.floats(-0.99, 5))
def test_relative_risk_sensitivity_is_the_order(x, r):
    """1 + x f''(x)/f'(x) = r ([RP] eq. 3.3): in u = ln x it is the derivative of ln(df/du), linear in u."""
    h = 0.1
    assume(x**-r < 1e6)  # where x^r is small, floats cannot tell f from its bound
    f = risk_log(x * np.exp([-h, 0.0, h]), r)
    rounding = (1 + abs(np.log(x))) * (1 + x**-r) / h
    assert (f[2] - f[1]) / (f[1] - f[0]) == pytest.approx(np.exp(r * h), rel=16 * EPS * rounding)


@pytest.mark.slow
@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=20), st.floats(-0.95, 5))
def test_the_generalized_surprisal_maps_back_to_the_generalized_mean(p, r):
    """risk_exp(-S_r, r) = M_r ([RP] eq. 3.5), S_r being also the public scoring rule."""
    surprisal = -np.mean(risk_log(p, r))
    assert generalized_surprisal(np.ones(len(p), dtype=int), p, r, labels=[0, 1]) == pytest.approx(
        surprisal, rel=1e-12, abs=1e-14
    )
    lost = 1 / generalized_mean(p, r) ** r if r > 0 else 1  # 1 - r S/(1+r) = M^r has few digits left where it is small
    assert risk_exp(-surprisal, r) == pytest.approx(generalized_mean(p, r), rel=1e-13 * (1 + lost / (1 + r)))


@given(positive, st.floats(-0.9, 5))
def test_against_scipy_boxcox(x, r):
    assert risk_log(x, r) == pytest.approx((1 + r) * boxcox(x, r), rel=1e-12)
    kappa = -r / (1 + r)
    assert coupled_log(x, kappa) == pytest.approx(boxcox(x, kappa / (1 + kappa)) / (1 + kappa), rel=1e-12)
    if 0 < abs(r) < 1e-300:  # where SciPy's inverse, 1.17, is off by up to 1e-5
        return
    y = min(max(np.log(x), -0.9 / abs(r or 1)), 0.9 / abs(r or 1))
    assert risk_exp((1 + r) * y, r) == pytest.approx(inv_boxcox(y, r), rel=1e-12)


@pytest.mark.parametrize("kappa", [1e-300, 0.01, 0.5, 3.0])
def test_past_the_pole(kappa):
    assert coupled_exp([-1 / kappa, -1.5 / kappa, -np.inf], kappa).tolist() == [0.0, 0.0, 0.0]
    kappa = min(kappa, 0.9)
    assert coupled_exp([1 / kappa, 1.5 / kappa, np.inf], -kappa).tolist() == [np.inf, np.inf, np.inf]
    r = min(kappa, 0.5)
    pole = (1 + r) / r
    assert risk_exp([-1.0001 * pole, -np.inf], r).tolist() == [0.0, 0.0]
    assert risk_exp([1.0001 * (1 - r) / r, np.inf], -r).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("kappa", [-0.5, -1e-300, 0.0, 1e-300, 0.5, 4.0])
def test_at_0_and_infinity(kappa):
    low, high = coupled_log([0.0, np.inf], kappa)
    assert low == (-1 / kappa if kappa > 0 else -np.inf)
    assert high == (-1 / kappa if kappa < 0 else np.inf)
    assert coupled_log(1.0, kappa) == 0
    assert coupled_exp([-np.inf, 0, np.inf], kappa).tolist() == [0.0, 1.0, np.inf]
    low, high = risk_log([0.0, np.inf], kappa)
    assert low == pytest.approx(-(1 + kappa) / kappa if kappa > 0 else -np.inf, rel=1e-15)
    assert high == pytest.approx(-(1 + kappa) / kappa if kappa < 0 else np.inf, rel=1e-15)
    assert risk_exp([-np.inf, 0, np.inf], kappa).tolist() == [0.0, 1.0, np.inf]


@given(st.floats(-700, 700), magnitudes, signed)
def test_the_ratios_are_inverse_and_have_the_sign_and_limit_of_y(y, size, sign):
    k = sign * size
    with np.errstate(all="ignore"):
        z = k * y
    assume(abs(z) < 30)
    bent = expm1_ratio(k, y)
    assert np.sign(bent) == np.sign(y)
    assert log1p_ratio(k, bent) == pytest.approx(y, rel=8 * EPS * (1 + np.expm1(max(0.0, -z))))
    assert bent == pytest.approx(y, rel=abs(z) * np.exp(abs(z)) + EPS)


def test_broadcasting_and_kinds():
    x, kappa, d = np.linspace(0.1, 4, 5), np.array([[-0.2], [0.0], [0.7]]), np.array([1, 2, 3])[:, None, None]
    got = coupled_log(x, kappa, d)
    assert got.shape == (3, 3, 5)
    back = coupled_exp(got, kappa, d)
    for place in np.ndindex(got.shape):
        i, j, k = place
        assert got[place] == coupled_log(x[k], kappa[j, 0], i + 1)
        assert back[place] == coupled_exp(got[place], kappa[j, 0], i + 1)
    assert risk_log(x, kappa).shape == risk_exp(x, kappa).shape == (3, 5)
    for value in (coupled_log(2, 1), coupled_exp(np.float32(2), 1), risk_log(2, 1), risk_exp(np.array(2), 1)):
        assert type(value) is float
    assert coupled_log([], 0.5).shape == (0,)
    assert coupled_log([4, 9], 1) == pytest.approx([1.0, 2.0], rel=1e-15)


@pytest.mark.parametrize(
    ("function", "arguments", "named"),
    [
        (coupled_log, (-1, 0.5), "x: .* got -1"),
        (coupled_log, ([[1, 2], [3, -4]], 0.5), r"x: .* got -4 at index \(1, 1\)"),
        (coupled_log, ([1, np.nan], 0.5), "x: .* nan at index 1"),
        (coupled_log, (1, -1), "coupling: .* above -1/d = -1, got -1"),
        (coupled_log, (1, -0.5, 2), "above -1/d = -0.5, got -0.5"),
        (coupled_log, (1, [0.1, -0.4], [2, 3]), "above -1/d = -0.333333, got -0.4 at index 1"),
        (coupled_exp, (1, np.inf), "coupling: must be finite"),
        (coupled_exp, (1, np.nan), "coupling: .* nan"),
        (coupled_exp, (np.nan, 0.5), "x: .* nan"),
        (coupled_exp, (1, 0.5, 0), "d: expected a dimension of 1 or more, got 0"),
        (coupled_exp, (1, 0.5, np.inf), "d: expected a dimension of 1 or more, got inf"),
        (coupled_exp, ([1, 2], [1, 2, 3]), r"x \(2,\), coupling \(3,\), d \(\)"),
        (risk_log, (0.5, -1), "r: .* above -1, got -1"),
        (risk_log, (0.5, [0, np.inf]), "r: .* got inf at index 1"),
        (risk_log, (-0.5, 1), "x: .* got -0.5"),
        (risk_log, ("a", 1), "x: .* not numbers"),
        (risk_exp, (0.5, -2), "r: .* got -2"),
        (risk_exp, (np.nan, 1), "x: .* nan"),
    ],
)
def test_bad_arguments(function, arguments, named):
    with pytest.raises(InputError, match=named):
        function(*arguments)
