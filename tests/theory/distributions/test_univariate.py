import inspect

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fifty_digits import exponential_pdf, exponential_sf, gaussian_pdf, gaussian_sf, relative
from unperplexed import InputError
from unperplexed.statistics import order_from_coupling
from unperplexed.theory import CoupledExponential, CoupledGaussian

# From next to the bound, through 0 in ever smaller steps, to a tenth of a degree of freedom.
POSITIVE = [1e-12, 1e-6, 1e-3, 0.00999, 0.01, 0.162, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0]
NEGATIVE = [-1e-12, -1e-6, -1e-3, -0.00999, -0.01, -0.095, -1 / 3, -0.5, -0.9, -0.999999]
COUPLINGS = [0.0, *POSITIVE, *NEGATIVE]
DEAR = [1e-6, 1e-3, -1e-12, -1e-6, -1e-3]
"""Those whose references in 50 digits take long: two of them, and one still closer to 0."""
REFERENCED = [k for k in COUPLINGS if k not in DEAR or k in (1e-3, -1e-6)]
FAMILIES = [CoupledGaussian, CoupledExponential]
TINY = mp.mpf("1e-290")
LIMIT = 1e-12

couplings = st.one_of(
    st.floats(-0.999, 10), st.sampled_from(COUPLINGS), st.floats(-12, -1).map(lambda e: 10.0**e), st.just(0.0)
)
locations, scales = st.floats(-1e3, 1e3), st.floats(-6, 6).map(lambda e: 10.0**e)
levels = st.one_of(st.floats(1e-12, 1 - 1e-12), st.floats(-280, -1).map(lambda e: 10.0**e))


def gaussian_points(k):
    if k >= -1e-4:
        return [1e-8, 0.01, 0.3, 1.0, 2.0, 5.0, 8.0, 20.0, 35.0] + ([1e3, 1e8] if k >= 0.01 else [])
    return [float(u / np.sqrt(-k)) for u in (1e-8, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-9)]


def exponential_points(k):
    if k >= -1e-4:
        return [1e-8, 0.01, 0.3, 1.0, 5.0, 50.0, 600.0] + ([1e8] if k >= 0.01 else [])
    return [float(-u / k) for u in (1e-8, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-9)]


CASES = {
    "gaussian": (CoupledGaussian, gaussian_points, gaussian_pdf, gaussian_sf),
    "exponential": (CoupledExponential, exponential_points, exponential_pdf, exponential_sf),
}


@pytest.mark.slow
@pytest.mark.parametrize("k", REFERENCED)
@pytest.mark.parametrize("case", CASES)
def test_against_50_digits(case, k):
    family, points, pdf, sf = CASES[case]
    ours = family(coupling=k)
    for x in points(k):
        density, tail = pdf(x, k), sf(x, k)
        if density > TINY:
            assert relative(ours.pdf(x), density) <= LIMIT
        if tail > TINY:
            assert relative(ours.sf(x), tail) <= LIMIT
        assert relative(ours.cdf(x), 1 - tail) <= LIMIT
        if case == "gaussian" and tail > TINY:
            assert relative(ours.cdf(-x), tail) <= LIMIT
        if tail > 0:
            assert float(abs(mp.mpf(ours.logsf(x)) - mp.log(tail))) <= LIMIT * max(1, float(abs(mp.log(tail))))
            assert float(abs(mp.mpf(ours.logpdf(x)) - mp.log(density))) <= LIMIT * max(1, float(abs(mp.log(density))))


def brackets(sf, k, x, q, upper):
    """Whether the true quantile lies within a relative 1e-12 of x."""
    x, eps = mp.mpf(float(x)), mp.mpf(LIMIT)
    inner, outer = sorted([x * (1 - eps), x * (1 + eps)])
    if upper:
        return sf(inner, k) >= mp.mpf(q) >= sf(outer, k)
    return 1 - sf(inner, k) <= mp.mpf(q) <= 1 - sf(outer, k)


@pytest.mark.slow
@pytest.mark.parametrize("k", [k for k in COUPLINGS if k not in DEAR or k == -1e-6])
@pytest.mark.parametrize("case", CASES)
def test_quantiles_against_50_digits(case, k):
    """Next to 0 on either side once: they are inverse to what is held to its digits at every coupling."""
    family, _, _, sf = CASES[case]
    ours = family(coupling=k)
    slow = case == "gaussian" and 0 < abs(k) < 0.002  # the reference is a quadrature there
    for q in (0.499999, 0.39, 1e-10) if slow else (0.499999, 0.49, 0.41, 0.39, 0.3, 0.1, 1e-3, 1e-10, 1e-100):
        x = ours.isf(q)
        assert brackets(sf, k, x, q, True) if x < np.inf else sf(1.7e308, k) > q, q
    for q in (0.6,) if slow else (0.51, 0.6, 0.9, 0.99):
        assert brackets(sf, k, ours.ppf(q), q, False), q
    if case == "exponential":  # its lower end is a wall, so small quantiles have relative errors of their own
        for q in (1e-3, 1e-100):
            with mp.workdps(150):
                expected = mp.expm1(-mp.mpf(k) * mp.log1p(-mp.mpf(q))) / mp.mpf(k) if k else -mp.log1p(-mp.mpf(q))
            assert relative(ours.ppf(q), expected) <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("k", NEGATIVE[2:])
def test_the_end_of_compact_support_keeps_its_digits(k):
    """Next to the end, the rounding of (x - loc)/scale alone would leave none."""
    loc, scale = 3.1, 0.7
    for family, end, pdf, sf in (
        (CoupledGaussian, loc + scale / np.sqrt(-k), gaussian_pdf, gaussian_sf),
        (CoupledExponential, loc - scale / k, exponential_pdf, exponential_sf),
    ):
        for share in (1e-3, 1e-6, 1e-9, 1e-12):
            x = float(end - share * (end - loc))
            expected = pdf(x, k, loc, scale), sf(x, k, loc, scale)
            got = family(loc, scale, k)
            for value, reference in zip((got.pdf(x), got.sf(x)), expected, strict=True):
                if reference > TINY:
                    assert relative(value, reference) <= LIMIT


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e-10, 1e-8])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_jump_at_coupling_0(family, size, sign):
    x = np.array([1e-6, 0.1, 1, 3, 8, 20])
    q = np.array([1e-80, 1e-9, 0.02, 0.3, 0.49, 0.7])
    at, near = family(), family(coupling=sign * size)
    # The first derivative in the coupling is at most of the order of z^4.
    slack = 1e-13 + size * (1 + x**4)
    for method in ("pdf", "sf", "cdf"):
        np.testing.assert_array_less(abs(getattr(near, method)(x) / getattr(at, method)(x) - 1), slack)
    np.testing.assert_array_less(abs(near.isf(q) / at.isf(q) - 1), 1e-13 + size * 1e3 + 0 * q)
    for value in ("entropy", "var", "generalized_average_density"):
        assert getattr(near, value)() == pytest.approx(getattr(at, value)(), rel=1e-14 + 10 * size)
    # Draws differ by the square root of a gamma variable of mean 1 and variance 2 kappa.
    rtol = 1e-13 + 5 * np.sqrt(size)
    np.testing.assert_allclose(near.rvs(100, random_state=1), at.rvs(100, random_state=1), rtol=rtol)


@pytest.mark.slow
@given(couplings, locations, scales, levels)
@pytest.mark.parametrize("family", FAMILIES)
def test_quantile_and_distribution_function_are_inverse(family, k, loc, scale, q):
    ours = family(loc, scale, k)
    spread = float(ours.isf(0.25) - ours.ppf(0.25))
    for there, back in ((ours.ppf, ours.cdf), (ours.isf, ours.sf)):
        x = there(q)
        # One unit in the last place of x moves q by this much.
        rounding = 4 * np.spacing(abs(x) + abs(loc)) * ours.pdf(x)
        if np.isfinite(rounding):
            assert abs(back(x) - q) <= 1e-12 * q + 4 * rounding + 1e-15
        assert ours.ppf(0.5) == ours.median()
    assert spread > 0


@pytest.mark.slow
@given(couplings, st.lists(st.floats(-50, 50), min_size=2, max_size=8))
@pytest.mark.parametrize("family", FAMILIES)
def test_laws(family, k, points):
    ours, x = family(1.0, 2.0, k), np.sort(points)
    cdf, sf = ours.cdf(x), ours.sf(x)
    np.testing.assert_allclose(cdf + sf, 1, rtol=0, atol=1e-14)
    assert np.all(np.diff(cdf) >= -1e-15)
    assert np.all(np.diff(sf) <= 1e-15)
    np.testing.assert_allclose(np.exp(ours.logcdf(x)), cdf, rtol=1e-14)
    low, high = ours.support()
    outside = (x < low) | (x > high)
    assert np.all(ours.pdf(x)[outside] == 0)
    assert not np.isnan(np.concatenate([ours.pdf(x), cdf, sf])).any()


@pytest.mark.slow
@given(couplings)
def test_symmetry(k):
    ours, x = CoupledGaussian(2.0, 3.0, k), np.array([0.1, 1, 4, 30])
    np.testing.assert_array_equal(ours.pdf(2 - x), ours.pdf(2 + x))
    np.testing.assert_array_equal(ours.cdf(2 - x), ours.sf(2 + x))
    assert ours.cdf(2.0) == pytest.approx(0.5, rel=1e-14)
    assert ours.ppf(0.25) + ours.isf(0.25) == pytest.approx(4.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [-0.95, -0.5, -1 / 3, -0.1, -0.005, 0, 0.005, 0.1, 0.3, 0.45])
@pytest.mark.parametrize("family", FAMILIES)
def test_moments_entropy_and_mass_by_quadrature(family, k):
    ours = family(1.5, 0.7, k)

    # In the logarithm of the probability, where every tail is as long as any other. The ends of compact support are
    # reached before s = 60, as far as digits go; what is left there weighs 1e-16.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s = (np.arange(60)[:, None] + (nodes + 1) / 2).ravel()
    q, dq = np.exp(-s) / 2, np.exp(-s) / 2 * np.tile(weights / 2, 60)

    def mean_of(f):
        return ((f(ours.isf(q)) + f(ours.ppf(q))) * dq).sum()

    assert mean_of(lambda x: x) == pytest.approx(ours.mean(), rel=1e-9)
    assert -mean_of(lambda x: np.maximum(ours.logpdf(x), -50)) == pytest.approx(ours.entropy(), rel=1e-9)
    if k < 0.3:
        assert mean_of(lambda x: (x - ours.mean()) ** 2) == pytest.approx(ours.var(), rel=1e-7)
    for r in (-2, -0.5, 0.05, 0.2):
        expected = mean_of(lambda x, r=r: np.maximum(ours.pdf(x), 1e-20) ** -r) ** (-1 / r)
        assert ours.generalized_average_density(r) == pytest.approx(expected, rel=1e-7)


def test_moments_that_do_not_exist():
    for k, mean, var in ((0.4, 1, 20), (0.5, 1, np.inf), (0.9, 1, np.inf), (1, np.nan, np.nan), (3, np.nan, np.nan)):
        np.testing.assert_allclose([CoupledGaussian(1, 2, k).mean(), CoupledGaussian(1, 2, k).var()], [mean, var])
    for k, mean, var in ((0.25, 1 + 8 / 3, 128 / 9), (0.5, 5, np.inf), (1, np.inf, np.inf)):
        np.testing.assert_allclose([CoupledExponential(1, 2, k).mean(), CoupledExponential(1, 2, k).var()], [mean, var])
    np.testing.assert_allclose(CoupledGaussian([0, 1], 1, [-0.5, 0.25]).std() ** 2, [0.5, 2])


@pytest.mark.slow
@given(couplings, locations, scales)
def test_average_density_is_the_density_at_loc_plus_scale(k, loc, scale):
    """[RP] eq. 2.9, by the integral in closed form at the order that belongs to the coupling."""
    for family, alpha in ((CoupledGaussian, 2), (CoupledExponential, 1)):
        ours = family(loc, scale, k)
        r = order_from_coupling(k, alpha=alpha)
        assert ours.generalized_average_density(r) == pytest.approx(family(0, scale, k).pdf(scale), rel=1e-11)
        assert ours.generalized_average_density() == pytest.approx(family(0, scale, k).pdf(scale), rel=1e-11)


def test_printed_values():
    """SPEC section 4."""
    for k, value in ((0.5, 0.19245009), (-1 / 3, 0.28867513), (0, 0.24197072), (2, 0.11830466)):
        assert CoupledGaussian(coupling=k).generalized_average_density() == pytest.approx(value, abs=5e-9)
    assert CoupledExponential(coupling=0.5).generalized_average_density() == pytest.approx(0.2963, abs=5e-5)


@pytest.mark.slow
@given(couplings, st.floats(-20, 0.999))
def test_average_density_falls_with_the_order_and_is_continuous(k, r):
    """The order is that of the escort, so its average is the mean of order -r under the density: it falls."""
    ours = CoupledGaussian(coupling=k)
    low, high = ours.generalized_average_density(r), ours.generalized_average_density(r + 1e-3)
    assert high <= low * (1 + 1e-12)
    assert ours.generalized_average_density(1e-12) == pytest.approx(np.exp(-ours.entropy()), rel=1e-10)


@pytest.mark.parametrize("k", [-0.9, -0.3, 0, 0.3, 1, 10])
def test_average_density_at_every_order_in_closed_form(k):
    """By the textbook gamma functions: the power 1 - r of the density is a density of another coupling."""

    def log_integral(q):  # of (1 + k z^2)^(-q (1/k + 1)/2)
        if k == 0:
            return mp.log(2 * mp.pi / q) / 2
        power = q * (1 / mp.mpf(k) + 1) / 2
        first, second = (power - mp.mpf(1) / 2, power) if k > 0 else (1 - power, mp.mpf(3) / 2 - power)
        return mp.log(mp.pi / abs(mp.mpf(k))) / 2 + mp.log(mp.gamma(first)) - mp.log(mp.gamma(second))

    end = 1 / (1 + k) if k >= 0 else (1 - k) / (1 + k)  # from here on the integral diverges
    ours = CoupledGaussian(coupling=k)
    for share in (-20, -1, -0.11, -0.09, -1e-3, -1e-9, 1e-9, 1e-3, 0.09, 0.11, 0.5, 0.9, 0.99, 0.999):
        r = mp.mpf(float(share * end))
        expected = mp.exp((log_integral(1 - r) - (1 - r) * log_integral(mp.mpf(1))) / -r)
        if expected > mp.mpf("1e-200"):
            assert relative(ours.generalized_average_density(float(r)), expected) <= 1e-10
    for share in (1.0001, 1.5, 20):
        assert ours.generalized_average_density(share * end) == 0


def test_average_density_does_not_depend_on_the_location():
    for family in FAMILIES:
        assert family(1e17, 2, 0.3).generalized_average_density() == family(0, 2, 0.3).generalized_average_density()


PEERS = {
    "t": (CoupledGaussian(1, 2, 0.25), stats.t(4, 1, 2)),
    "normal": (CoupledGaussian(1, 2, 0), stats.norm(1, 2)),
    "beta": (CoupledGaussian(1, 2, -0.5), stats.beta(1.5, 1.5, 1 - 2 * np.sqrt(2), 4 * np.sqrt(2))),
    "pareto": (CoupledExponential(1, 2, 0.25), stats.genpareto(0.25, 1, 2)),
    "exponential": (CoupledExponential(1, 2, 0), stats.expon(1, 2)),
}


@pytest.mark.parametrize("name", PEERS)
def test_agrees_with_scipy(name):
    ours, theirs = PEERS[name]
    x, q = np.linspace(-1.5, 7, 23), np.linspace(0.01, 0.99, 14)  # scipy's t is off by 6e-8 next to q = 1/2
    for method, at in (
        *((m, x) for m in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")),
        *((m, q) for m in ("ppf", "isf")),
    ):
        with np.errstate(divide="ignore"):
            expected = getattr(theirs, method)(at)
        np.testing.assert_allclose(getattr(ours, method)(at), expected, rtol=1e-9, atol=1e-13)
    for method in ("mean", "var", "std", "median", "entropy", "support"):
        np.testing.assert_allclose(getattr(ours, method)(), getattr(theirs, method)(), rtol=1e-9)
    np.testing.assert_allclose(ours.interval(0.9), theirs.interval(0.9), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [-0.9, -0.3, -1e-4, 0, 1e-4, 0.2, 1, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_follow_the_distribution(family, k):
    ours = family(-1, 3, k)
    draws = ours.rvs(20_000, random_state=5)
    assert stats.kstest(draws, ours.cdf).pvalue > 0.001
    assert stats.kstest(ours.cdf(draws) ** 8, lambda u: u ** (1 / 8)).pvalue > 0.001
    tails = np.histogram(ours.sf(draws), [0, 1e-3, 1e-2, 0.1, 0.9, 0.99, 0.999, 1])[0]
    assert stats.chisquare(tails, np.diff([0, 1e-3, 1e-2, 0.1, 0.9, 0.99, 0.999, 1]) * 20_000).pvalue > 0.001


def test_draws_are_seeded_and_shaped():
    ours = CoupledGaussian([0, 10], 1, [[0.5], [-0.5], [0]])
    assert ours.rvs(random_state=1).shape == (3, 2)
    assert ours.rvs((4, 3, 2), random_state=1).shape == (4, 3, 2)
    same = [CoupledGaussian(coupling=0.5).rvs(5, random_state=s) for s in (7, 7, np.random.default_rng(7), 8)]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])
    assert not np.array_equal(same[0], same[3])
    assert isinstance(CoupledExponential().rvs(random_state=1), float)
    with pytest.raises(InputError, match="do not broadcast to"):
        ours.rvs(5)
    with pytest.raises(InputError, match="size: expected a whole number of at least 0, or a tuple of such, got 2.5"):
        ours.rvs(2.5)
    with pytest.raises(InputError, match="random_state: expected a whole number"):
        ours.rvs(random_state=-1)
    heaviest = CoupledGaussian(coupling=100.0)
    draws = heaviest.rvs(10_000, random_state=1)  # most of the infinite ones are just beyond the largest float
    assert not np.isnan(draws).any()
    assert np.isinf(draws).mean() == pytest.approx(2 * heaviest.sf(1.7e308), abs=0.003)


@pytest.mark.slow
def test_arrays_broadcast_and_scalars_are_floats():
    k = np.array(COUPLINGS)
    x = np.linspace(-2, 2, 7)[:, None]
    for family in FAMILIES:
        both = family(0.5, 1.5, k)
        for method in ("pdf", "cdf", "logsf"):
            table = getattr(both, method)(x)
            one = [[getattr(family(0.5, 1.5, c), method)(v) for c in k] for v in x[:, 0]]
            np.testing.assert_array_equal(table, one)
        assert both.entropy().shape == both.support()[0].shape == k.shape
        assert isinstance(family().pdf(0.3), float)
        assert isinstance(family().loc, float)
        assert family().pdf([]).shape == (0,)


def test_points_at_the_ends():
    for family in FAMILIES:
        for k in (-0.5, 0, 0.5):
            ours = family(coupling=k)
            np.testing.assert_array_equal(ours.cdf([-np.inf, np.inf]), [0, 1])
            np.testing.assert_array_equal(ours.sf([-np.inf, np.inf]), [1, 0])
            np.testing.assert_array_equal(ours.pdf([-np.inf, np.inf]), [0, 0])
            np.testing.assert_array_equal(ours.isf([0, 1]), ours.ppf([1, 0]))
            for method in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
                assert np.isnan(getattr(ours, method)(np.nan))
    assert CoupledGaussian(coupling=-0.25).support() == (-2, 2)
    end = CoupledGaussian(coupling=-0.5)
    assert end.ppf(0) <= end.ppf(1e-320) <= end.ppf(1e-300)
    assert end.cdf(end.ppf(0)) == 0
    assert CoupledExponential(1, 2, -0.5).support() == (1, 5)


def test_logarithms_where_values_underflow():
    assert CoupledGaussian().logsf(1e4) == pytest.approx(-5e7 - np.log(1e4 * np.sqrt(2 * np.pi)), rel=1e-14)
    with mp.workdps(50):
        k, z = mp.mpf(0.001), mp.mpf(10) ** 10  # a power of 1000 degrees of freedom
        far = mp.log(normalization_of_tail(k)) - mp.log(k * z * z) / (2 * k)
    assert CoupledGaussian(coupling=0.001).logsf(1e10) == pytest.approx(float(far), rel=1e-12)
    assert CoupledGaussian(coupling=0.5).logsf(1e200) == pytest.approx(-400 * np.log(10) - np.log(2), rel=1e-14)
    assert CoupledExponential(coupling=0.5).logsf(1e300) == pytest.approx(-2 * np.log(0.5e300), rel=1e-14)
    assert CoupledExponential().logsf(1e300) == -1e300


def normalization_of_tail(k):
    """Limit of P(X > z) (k z^2)^(1/(2k)) for large z: 1/(2 a B(a, 1/2)), a = 1/(2k)."""
    a = 1 / (2 * k)
    return 1 / (2 * a * mp.beta(a, mp.mpf(1) / 2))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0}, "scale: must be finite and above 0, got 0."),
        ({"scale": [1, -2]}, r"scale: must be finite and above 0, got -2.0 at index 1 \(counted from 0\)"),
        ({"scale": np.inf}, "scale: must be finite and above 0, got inf"),
        ({"loc": np.nan}, "loc: must be finite, got nan"),
        ({"coupling": -1}, "coupling: must be finite and above -1, got -1"),
        ({"coupling": [[0, -1.5]]}, r"coupling: must be finite and above -1, got -1.5 at index \(0, 1\)"),
        ({"coupling": "heavy"}, "coupling: holds <U5, not numbers"),
        ({"loc": [1, 2], "scale": [1, 2, 3]}, r"shapes \(2,\), \(3,\), \(\) do not broadcast"),
    ],
)
def test_bad_parameters(family, arguments, message):
    with pytest.raises(InputError, match=message):
        family(**arguments)


def test_bad_arguments():
    with pytest.raises(InputError, match=r"q: must be in \[0, 1\], got 1.5"):
        CoupledGaussian().ppf(1.5)
    with pytest.raises(InputError, match=r"confidence: must be in \[0, 1\], got -0.1"):
        CoupledGaussian().interval(-0.1)
    with pytest.raises(InputError, match=r"x: shape \(2,\) does not broadcast against parameters of shape \(3,\)"):
        CoupledGaussian([1, 2, 3]).pdf([1, 2])
    with pytest.raises(InputError, match="r: must be finite"):
        CoupledGaussian().generalized_average_density(np.inf)
    with pytest.raises(InputError, match="x: holds <U3, not numbers"):
        CoupledGaussian().pdf("one")
    with pytest.raises(InputError, match=r"r: expected one number, got an array of shape \(2,\)"):
        CoupledGaussian().generalized_average_density([0, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_public_method_is_documented(family):
    for name, method in inspect.getmembers(family, inspect.isroutine):
        if not name.startswith("_"):
            assert inspect.getdoc(method), name
