import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from fifty_digits import multivariate_pdf, relative
from unperplexed import InputError
from unperplexed.statistics import order_from_coupling
from unperplexed.theory import CoupledGaussian, MultivariateCoupledGaussian

LOC = np.array([1.0, -2.0, 0.5])
ROOT = np.array([[1.5, 0, 0], [0.6, 0.9, 0], [-0.4, 0.3, 2.0]])
SHAPE = ROOT @ ROOT.T
POSITIVE = [1e-12, 1e-6, 1e-3, 0.162, 0.5, 1.0, 10.0]
NEGATIVE = [-1e-12, -1e-6, -1e-3, -0.095, -0.2, -0.3, -0.333333]
COUPLINGS = [0.0, *POSITIVE, *NEGATIVE]

shares = st.floats(0.001, 0.999)
couplings = st.one_of(shares.map(lambda s: -s / 3), st.floats(0, 10), st.sampled_from(COUPLINGS))


@pytest.mark.parametrize("k", COUPLINGS)
def test_density_against_50_digits(k):
    ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
    for x in ([1, -2, 0.5], [1.1, -1, 0], [1, 1, 1], [3, -4, 5]):
        expected = multivariate_pdf(x, LOC, SHAPE.tolist(), k)
        if expected > 1e-290:
            assert relative(ours.pdf(x), expected) <= 1e-12
        elif expected == 0:
            assert ours.pdf(x) == 0
            assert ours.logpdf(x) == -np.inf


@pytest.mark.parametrize("k", [0.25, 1.0])
def test_agrees_with_scipys_t(k):
    ours, theirs = MultivariateCoupledGaussian(LOC, SHAPE, k), stats.multivariate_t(LOC, SHAPE, 1 / k)
    x = theirs.rvs(200, random_state=3)
    np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-12, atol=1e-12)
    assert ours.entropy() == pytest.approx(theirs.entropy(), rel=1e-12)
    normal = MultivariateCoupledGaussian(LOC, SHAPE)
    np.testing.assert_allclose(normal.logpdf(x), stats.multivariate_normal(LOC, SHAPE).logpdf(x), rtol=1e-12)


@given(couplings, st.integers(1, 6))
def test_average_density_is_the_density_at_distance_root_d(share, d):
    k = share * 3 / d if share < 0 else share
    root = np.tril(np.ones((d, d))) + np.eye(d)
    ours = MultivariateCoupledGaussian(np.zeros(d), root @ root.T, k)
    at = ours.pdf(root @ np.ones(d))
    assert ours.generalized_average_density() == pytest.approx(at, rel=1e-10)
    assert ours.generalized_average_density(order_from_coupling(k, d=d)) == pytest.approx(at, rel=1e-10)


def test_printed_value():
    """SPEC section 4."""
    ours = MultivariateCoupledGaussian(np.zeros(3), np.eye(3), 0.162)
    assert ours.generalized_average_density() == pytest.approx(0.01152, abs=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("k", [-0.45, -0.1, -1e-5, 0, 1e-5, 0.3, 2])
def test_mass_entropy_and_average_by_quadrature_in_the_plane(k):
    shape = SHAPE[:2, :2]
    ours = MultivariateCoupledGaussian(LOC[:2], shape, k)
    root = np.linalg.cholesky(shape)

    def integral(f):
        """Over rings: x at Mahalanobis distance t has density f times the ring 2 pi t |root|."""
        ring = 2 * np.pi * np.linalg.det(root)
        at = lambda t: ours.logpdf(LOC[:2] + t * root[:, 0])  # noqa: E731
        end = 1 / np.sqrt(-k) if k < 0 else np.inf
        if end < np.inf:
            return integrate.quad(lambda t: f(at(t)) * ring * t, 0, end, epsabs=0, limit=200)[0]
        return integrate.quad(lambda s: f(at(np.expm1(s))) * ring * np.expm1(s) * np.exp(s), 0, 60, limit=400)[0]

    def xlog(value):
        return value * np.exp(value) if value > -700 else 0.0

    assert integral(np.exp) == pytest.approx(1, rel=1e-7)
    assert -integral(xlog) == pytest.approx(ours.entropy(), rel=1e-6)
    for r in (-1.5, -0.3):
        average = integral(lambda v, r=r: np.exp((1 - r) * v)) ** (-1 / r)
        assert ours.generalized_average_density(r) == pytest.approx(average, rel=1e-6)


@pytest.mark.slow
@given(couplings)
def test_one_dimension_is_the_coupled_gaussian(share):
    k = share * 3 * 0.999 if share < 0 else share
    one, x = MultivariateCoupledGaussian([2.0], [[9.0]], k), np.array([-4, 1.9, 2.0, 4.5, 100])
    np.testing.assert_allclose(one.logpdf(x[:, None]), CoupledGaussian(2, 3, k).logpdf(x), rtol=1e-11, atol=1e-12)
    assert one.entropy() == pytest.approx(CoupledGaussian(2, 3, k).entropy(), rel=1e-13)


@pytest.mark.slow
@given(couplings, st.lists(st.floats(-0.9, 0.9), min_size=3, max_size=3))
def test_density_is_marginal_times_conditional(k, point):
    ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
    x = LOC + np.array(point) @ ROOT.T
    for given_ in ([0], [2, 0]):
        known = [x[i] for i in given_]
        if not np.isfinite(ours.logpdf(x)):
            continue
        parts = ours.marginal(given_).logpdf(known)
        rest = [i for i in range(3) if i not in given_]
        parts += ours.conditional(given_, known).logpdf(x[rest])
        assert parts == pytest.approx(ours.logpdf(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("k", [-0.3, 0, 1e-9, 0.25, 2])
@pytest.mark.slow
def test_distribution_function(k):
    ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
    corner = LOC + np.array([0.5, 1.0, -0.2])
    draws = ours.rvs(50_000, random_state=3)
    share = (draws <= corner).all(axis=1).mean()
    assert ours.cdf(corner) == pytest.approx(share, abs=4 * 0.5 / np.sqrt(50_000))
    inside = ((draws <= corner) & (draws >= corner - [1, 2, 3])).all(axis=1).mean()
    assert ours.cdf(corner, corner - [1, 2, 3]) == pytest.approx(inside, abs=4 * 0.5 / np.sqrt(50_000))
    if 0 <= k < 1:  # scipy's is off by .011 at half a degree of freedom
        law = stats.multivariate_t(LOC, SHAPE, 1 / k) if k > 1e-6 else stats.multivariate_normal(LOC, SHAPE)
        seed = {"random_state": 1} if k > 1e-6 else {}
        assert ours.cdf(corner) == pytest.approx(law.cdf(corner, **seed), abs=3e-5)
    # What is open in all dimensions but one is exact, and so is an orthant of two (Sheppard 1899, for every coupling).
    line = CoupledGaussian(LOC[1], np.sqrt(SHAPE[1, 1]), k)
    assert ours.cdf([np.inf, corner[1], np.inf]) == pytest.approx(line.cdf(corner[1]), abs=1e-5)
    rho = SHAPE[0, 1] / np.sqrt(SHAPE[0, 0] * SHAPE[1, 1])
    quarter = 0.25 + np.arcsin(rho) / (2 * np.pi)
    assert ours.marginal([0, 1]).cdf(LOC[:2]) == pytest.approx(quarter, abs=1e-5)
    sd = np.sqrt(np.diag(SHAPE))  # and one of three (David 1953)
    angles = np.arcsin((SHAPE / np.outer(sd, sd))[np.triu_indices(3, 1)])
    assert ours.cdf(LOC) == pytest.approx(1 / 8 + angles.sum() / (4 * np.pi), abs=1e-4)
    assert ours.marginal(2).cdf([[1.0], [2.0]]).shape == (2,)
    assert ours.marginal(2).cdf([1.0]) == pytest.approx(CoupledGaussian(0.5, np.sqrt(SHAPE[2, 2]), k).cdf(1), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [-0.3, -0.05, 0, 0.05, 0.4, 2])
def test_draws_follow_the_distribution(k):
    ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
    x = ours.rvs(20_000, random_state=11)
    for i in range(3):
        one = CoupledGaussian(LOC[i], np.sqrt(SHAPE[i, i]), k)
        assert stats.kstest(x[:, i], one.cdf).pvalue > 0.001
    along = np.array([1.0, 2.0, -1.0])
    one = CoupledGaussian(along @ LOC, np.sqrt(along @ SHAPE @ along), k)
    assert stats.kstest(x @ along, one.cdf).pvalue > 0.001
    # Squared distances: F(d, 1/kappa), chi-squared(d) or beta.
    squared = ours.squared_distance(x)
    a = (1 / abs(k) - 3) / 2 + 1 if k < 0 else None
    law = stats.beta(1.5, a, scale=-1 / k) if k < 0 else stats.chi2(3) if k == 0 else stats.f(3, 1 / k, scale=3)
    assert stats.kstest(squared, law.cdf).pvalue > 0.001
    np.testing.assert_array_equal(x, ours.rvs((20_000,), random_state=np.random.default_rng(11)))


@pytest.mark.parametrize("k", [-0.2, 0, 0.1])
def test_moments(k):
    ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
    x = ours.rvs(200_000, random_state=2)
    np.testing.assert_allclose(x.mean(axis=0), ours.mean(), atol=0.03)
    np.testing.assert_allclose(np.cov(x.T), ours.cov(), rtol=0.05, atol=0.05)


def test_moments_that_do_not_exist():
    np.testing.assert_array_equal(np.diag(MultivariateCoupledGaussian(LOC, SHAPE, 0.5).cov()), np.inf)
    assert np.isnan(MultivariateCoupledGaussian(LOC, SHAPE, 1.0).cov()).all()
    assert np.isnan(MultivariateCoupledGaussian(LOC, SHAPE, 1.0).mean()).all()


def test_shapes():
    ours = MultivariateCoupledGaussian(LOC, SHAPE, 0.3)
    assert isinstance(ours.pdf(LOC), float)
    assert ours.pdf(np.zeros((4, 5, 3))).shape == (4, 5)
    assert ours.rvs(random_state=1).shape == (3,)
    assert ours.rvs((2, 4), random_state=1).shape == (2, 4, 3)
    assert np.isnan(ours.pdf([np.nan, 0, 0]))
    assert ours.pdf([np.inf, 0, 0]) == 0
    assert "coupling=0.3" in repr(ours)
    with pytest.raises(ValueError, match="read-only"):
        ours.loc[0] = 5
    with pytest.raises(AttributeError, match="no setter"):
        ours.coupling = -5


@pytest.mark.slow
def test_far_out():
    heavy, one = MultivariateCoupledGaussian([0.0], [[1.0]], 0.25), CoupledGaussian(coupling=0.25)
    for x in (1e60, 1e160, 1e300):
        assert heavy.logpdf([x]) == pytest.approx(one.logpdf(x), rel=1e-13)
    for k in (-0.2, 0, 0.3):
        ours = MultivariateCoupledGaussian(LOC, SHAPE, k)
        assert ours.pdf([np.inf, 0, 0]) == ours.pdf([np.inf, -np.inf, 0]) == 0
        assert np.isnan(ours.pdf([np.inf, np.nan, 0]))
    assert MultivariateCoupledGaussian([0, 0], np.eye(2), 100.0).cdf([0, 0]) == pytest.approx(0.25, abs=1e-5)
    assert np.isnan(MultivariateCoupledGaussian([0, 0], np.eye(2)).cdf([np.nan, 0]))
    assert MultivariateCoupledGaussian([0, 0], np.eye(2)).cdf([-np.inf, 0]) == 0
    heaviest = MultivariateCoupledGaussian([0, 0], np.eye(2), 50.0).rvs(1000, random_state=1)
    assert not np.isnan(heaviest).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], np.eye(3)), r"shape_matrix: expected shape \(2, 2\) for 2 dimensions, got \(3, 3\)"),
        (([0, 0], [1, 1]), r"shape_matrix: expected shape \(2, 2\)"),
        (([0, 0], [[1, 2], [2, 1]]), "shape_matrix: not positive definite: its smallest eigenvalue is -1"),
        (([0, 0], [[1, 1], [1, 1]]), "shape_matrix: not positive definite"),
        (([0, 0], [[1, 0.5], [0.4, 1]]), r"shape_matrix: not symmetric: 0.5 at \(0, 1\), 0.4 at \(1, 0\)"),
        (([0, 0], [[1, np.nan], [np.nan, 1]]), r"shape_matrix: must be finite, got nan at index \(0, 1\)"),
        (([0, 0], np.eye(2), -0.5), "coupling: must be finite and above -0.5, got -0.5"),
        (([0, 0], np.eye(2), [0.1, 0.2]), "coupling: expected one number"),
        (([[0, 0]], np.eye(2)), r"loc: expected a vector of shape \(d,\), got shape \(1, 2\)"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(InputError, match=message):
        MultivariateCoupledGaussian(*arguments)


def test_bad_arguments():
    ours = MultivariateCoupledGaussian(LOC, SHAPE, -0.2)
    with pytest.raises(InputError, match=r"x: expected points of 3 dimensions, shape \(..., 3\), got \(2,\)"):
        ours.pdf([1, 2])
    with pytest.raises(InputError, match="dimensions: expected different integers from 0 to 2"):
        ours.marginal([0, 0])
    with pytest.raises(InputError, match="dimensions: all are given"):
        ours.conditional([0, 1, 2], LOC)
    with pytest.raises(InputError, match=r"x: below lower_limit at index 0"):
        ours.cdf([0, 0, 0], [1, 0, 0])
    with pytest.raises(InputError, match="values: outside of the support"):
        ours.conditional(0, [100.0])
    assert ours.conditional(0, 1.0).d == 2
    with pytest.raises(InputError, match="values: must be finite, got nan"):
        ours.conditional(0, np.nan)
    with pytest.raises(InputError, match=r"values: expected 2, one for each of the dimensions, got shape \(1,\)"):
        ours.conditional([0, 1], 1.0)
    with pytest.raises(InputError, match="size: expected a whole number of at least 0"):
        ours.rvs(-1)
    with pytest.raises(InputError, match="values: so far out that squared distances overflow"):
        MultivariateCoupledGaussian(LOC, SHAPE, 0.3).conditional(0, 1e200)


def test_a_box_of_the_normal_in_two_dimensions_and_a_shape_of_one():
    """Independent normals: the probability of a box is a product. One dimension takes its squared scale as a number."""
    normal = MultivariateCoupledGaussian([0, 0], np.eye(2))
    sides = np.diff(stats.norm.cdf([[-1, 0.5], [0, 2]]))
    assert normal.cdf([0.5, 2], [-1, 0]) == pytest.approx(sides.prod(), abs=1e-6)
    one = MultivariateCoupledGaussian([1.0], 4.0, 0.2)
    assert one.pdf([2.0]) == pytest.approx(CoupledGaussian(1, 2, 0.2).pdf(2.0), rel=1e-12)
