import numpy as np
import pytest
from scipy import stats

from unperplexed import InputError
from unperplexed.theory import CoupledExponential, CoupledGaussian, MultivariateCoupledGaussian

FAMILIES = [CoupledGaussian, CoupledExponential]
ANYWHERE = (-1, 10)


@pytest.mark.parametrize("k", [-0.2, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.slow
def test_standard_errors_cover_the_truth(family, k):
    """Of 60 fits, the errors in standard errors must have mean 0 and spread 1, as far as 60 can tell."""
    truth, errors = family(3, 2, k), []
    fixed = {"floc": 3} if family is CoupledExponential else {}
    for seed in range(60):
        fit = family.fit(truth.rvs(1500, random_state=seed), **fixed)
        assert fit.regular
        found = fit.distribution
        errors.append([(getattr(found, n) - getattr(truth, n)) / fit.standard_errors[n] for n in fit.standard_errors])
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0)
    assert np.all(abs(mean) < 0.6)  # the bias of maximum likelihood at n = 1500 is a fraction of a standard error
    assert np.all((spread > 0.7) & (spread < 1.4))


def expected_information(family, k, names):
    """Integrals of products of the derivatives of logpdf, in the logarithm of the probability, by differences."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s = (np.arange(70)[:, None] + (nodes + 1) / 2).ravel()
    q, dq = np.exp(-s) / 2, np.exp(-s) / 2 * np.tile(weights / 2, 70)
    at = {"loc": 0.0, "scale": 1.0, "coupling": k}

    def scores(x):
        def moved(name, step):
            return family(**(at | {name: at[name] + step})).logpdf(x)

        h = 1e-4
        return [(8 * (moved(n, h) - moved(n, -h)) - (moved(n, 2 * h) - moved(n, -2 * h))) / (12 * h) for n in names]

    lower, upper = np.array(scores(family(**at).ppf(q))), np.array(scores(family(**at).isf(q)))
    return (lower * dq) @ lower.T + (upper * dq) @ upper.T


@pytest.mark.parametrize("k", [0, 1e-6, 0.01, 0.162, 0.5, 2, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_standard_errors_are_those_of_the_expected_information(family, k):
    names = ["loc", "scale", "coupling"] if family is CoupledGaussian else ["scale", "coupling"]
    x = family(0, 1, k).rvs(2000, random_state=1)
    fit = family.fit(x, **({} if family is CoupledGaussian else {"floc": 0}))
    found = fit.distribution
    expected = np.sqrt(np.diag(np.linalg.inv(expected_information(family, found.coupling, names))) / 2000)
    ours = [fit.standard_errors[name] / (1 if name == "coupling" else found.scale) for name in names]
    np.testing.assert_allclose(ours, expected, rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("k", [-0.8, -0.45, -0.1, 0, 0.3, 1, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_beats_the_fit(family, k):
    """The likelihood of the fit is not below that of the truth, nor of neighbours of the fit."""
    truth = family(-1, 0.5, k)
    x = truth.rvs(500, random_state=4)
    fit = family.fit(x, coupling_bounds=ANYWHERE)
    best = fit.distribution
    assert fit.log_likelihood == pytest.approx(best.logpdf(x).sum(), rel=1e-9)
    assert fit.log_likelihood >= truth.logpdf(x).sum()
    rng = np.random.default_rng(1)
    for size in (1e-4, 1e-2, 0.3):
        for _ in range(30):
            a, b, c = size * rng.normal(size=3)
            loc = best.loc if family is CoupledExponential else best.loc + a * best.scale
            other = family(loc, best.scale * np.exp(b), np.clip(best.coupling + c, -0.999, 10))
            assert other.logpdf(x).sum() <= fit.log_likelihood + 1e-6


def test_agrees_with_scipy():
    x = stats.t(4, 1, 2).rvs(2000, random_state=3)
    df, loc, scale = stats.t.fit(x)
    ours = CoupledGaussian.fit(x).distribution
    np.testing.assert_allclose([1 / ours.coupling, ours.loc, ours.scale], [df, loc, scale], rtol=1e-3)
    normal = CoupledGaussian.fit(x, fcoupling=0).distribution
    np.testing.assert_allclose([normal.loc, normal.scale], stats.norm.fit(x), rtol=1e-7)
    y = stats.genpareto(0.2, 0, 3).rvs(2000, random_state=3)
    shape, _, scale = stats.genpareto.fit(y, floc=0)
    ours = CoupledExponential.fit(y, floc=0).distribution
    np.testing.assert_allclose([ours.coupling, ours.scale], [shape, scale], rtol=1e-3)
    assert CoupledExponential.fit(y, floc=0, fcoupling=0).distribution.scale == pytest.approx(y.mean(), rel=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_fixed_parameters_are_kept(family):
    x = family(3, 2, 0.25).rvs(1000, random_state=8)
    for fixed in (
        {"floc": 2.9},
        {"fscale": 2.1},
        {"fcoupling": 0.3},
        {"floc": 2.9, "fscale": 2.1},
        {"fscale": 2.1, "fcoupling": -0.01} if family is CoupledExponential else {"fscale": 2.1, "fcoupling": 0.0},
        {"floc": 2.9, "fscale": 2.1, "fcoupling": 0.3},
    ):
        fit = family.fit(x, **fixed)
        for name, value in fixed.items():
            assert getattr(fit.distribution, name[1:]) == pytest.approx(value, rel=1e-14)
        assert set(fit.standard_errors) == {"loc", "scale", "coupling"} - {name[1:] for name in fixed}


@pytest.mark.parametrize("family", FAMILIES)
def test_weights(family):
    x = family(0, 1, 0.2).rvs(300, random_state=2)
    w = np.random.default_rng(1).integers(0, 3, 300)
    weighted, repeated = family.fit(x, sample_weight=w), family.fit(np.repeat(x, w))
    for name in ("loc", "scale", "coupling"):
        ours, theirs = getattr(weighted.distribution, name), getattr(repeated.distribution, name)
        assert ours == pytest.approx(theirs, abs=1e-5)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-10)
    assert weighted.n == (w > 0).sum()
    scaled = family.fit(x, sample_weight=5.0 * w)
    assert scaled.distribution.coupling == pytest.approx(weighted.distribution.coupling, abs=1e-5)
    assert scaled.standard_errors["scale"] == pytest.approx(weighted.standard_errors["scale"], rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_affine_changes_carry_over(family):
    x = family(0, 1, 0.2).rvs(300, random_state=2)
    fit, moved = family.fit(x), family.fit(1e6 + 1e-3 * x)
    assert moved.distribution.coupling == pytest.approx(fit.distribution.coupling, abs=1e-4)
    assert moved.distribution.scale == pytest.approx(1e-3 * fit.distribution.scale, rel=1e-4)
    order = np.random.default_rng(3).permutation(300)
    assert family.fit(x[order]).distribution.coupling == pytest.approx(fit.distribution.coupling, abs=1e-5)


@pytest.mark.slow
def test_bounds_on_the_coupling():
    heavy = CoupledGaussian(0, 1, 1.0).rvs(500, random_state=1)
    fit = CoupledGaussian.fit(heavy, coupling_bounds=(-0.2, 0.3))
    assert fit.at_bound
    assert fit.distribution.coupling == pytest.approx(0.3, abs=1e-3)
    assert np.isnan(fit.standard_errors["coupling"])
    assert fit.standard_errors["scale"] > 0
    even = np.linspace(-1, 1, 200)
    fit = CoupledGaussian.fit(even)  # the search ends where standard errors do
    assert fit.at_bound
    assert fit.distribution.coupling == pytest.approx(-1 / 3, abs=1e-3)
    assert CoupledGaussian.fit(even, coupling_bounds=(-1, 1)).distribution.coupling < -0.95
    assert not CoupledGaussian.fit(even, coupling_bounds=(-1, 1)).regular


@pytest.mark.slow
@pytest.mark.parametrize("n", range(2, 16))
def test_few_rows_give_no_infinite_likelihood(n):
    rng = np.random.default_rng(n)
    x = rng.exponential(size=n)
    for family in FAMILIES:
        fit = family.fit(x)
        assert fit.distribution.scale > 1e-3
        assert np.isfinite(fit.log_likelihood)
        infinite = n - 1  # from this coupling on, a scale of 0 about one value beats all
        assert fit.distribution.coupling <= infinite / 2 + 1e-9
        with pytest.raises(InputError, match="the likelihood of these data is infinite"):
            family.fit(x, fcoupling=infinite + 0.01)
    for d in (2, 3):
        if n > d:
            points = MultivariateCoupledGaussian(np.zeros(d), np.eye(d), 0.3).rvs(n, random_state=n)
            fit = MultivariateCoupledGaussian.fit(points)
            assert np.linalg.eigvalsh(fit.distribution.shape_matrix)[0] > 1e-4


def test_many_equal_values():
    counts = np.random.default_rng(1).poisson(0.5, 500).astype(float)
    share = (counts == 0).mean()
    for family in FAMILIES:
        fit = family.fit(counts)
        assert fit.distribution.coupling < 1 / share - 1
        assert fit.distribution.scale > 0.1
    pairs = np.random.default_rng(1).poisson(1, (200, 2)).astype(float)
    assert np.linalg.eigvalsh(MultivariateCoupledGaussian.fit(pairs).distribution.shape_matrix)[0] > 0.1
    rain = np.r_[np.zeros(100), np.random.default_rng(2).exponential(size=900)]
    assert CoupledExponential.fit(rain, floc=0).distribution.scale > 0.5


@pytest.mark.parametrize("share", [0.3, 0.55, 0.8, 0.97])
@pytest.mark.slow
def test_many_points_in_a_plane(share):
    """Zeros in one column, or points on a slanting line: the likelihood of heavy tails is infinite across them."""
    y = np.random.default_rng(0).normal(size=(200, 2))
    y[: int(200 * share), 0] = 0
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    for points in (y, y @ turn.T):
        fit = MultivariateCoupledGaussian.fit(points)
        assert np.linalg.eigvalsh(fit.distribution.shape_matrix)[0] > 1e-5
        assert fit.log_likelihood == pytest.approx(fit.distribution.logpdf(points).sum(), rel=1e-8)
        normal = MultivariateCoupledGaussian.fit(points, fcoupling=0).distribution
        np.testing.assert_allclose(normal.shape_matrix, np.cov(points.T, ddof=0), rtol=1e-6, atol=1e-9)
    if share > 0.75:
        for points in (y, y @ turn.T):
            with pytest.raises(InputError, match=r"the likelihood of these data is infinite|lie in a plane"):
                MultivariateCoupledGaussian.fit(points, fcoupling=5)


@pytest.mark.parametrize("outlier", [1e5, 1e12, 1e16, 1e40])
def test_the_normal_fit_is_mean_and_covariance_whatever_lies_far_out(outlier):
    x = np.append(np.random.default_rng(1).normal(size=50), outlier)
    found = CoupledGaussian.fit(x, fcoupling=0).distribution
    assert found.loc == pytest.approx(x.mean(), rel=1e-9)
    assert found.scale == pytest.approx(x.std(), rel=1e-9)
    compact = CoupledGaussian.fit(x, fcoupling=-0.2)
    best = compact.distribution
    for a, b in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        other = CoupledGaussian(best.loc + a * best.scale, best.scale * np.exp(b), -0.2)
        assert other.logpdf(x).sum() <= compact.log_likelihood + 1e-9


def test_uneven_weights_and_bounds_next_to_the_lowest_end():
    for weight in (1e14, 1e17, 1e30):
        assert CoupledExponential.fit([0, 1.0, 2.0], sample_weight=[weight, 1, 1]).distribution.scale > 0
    with pytest.raises(InputError, match="coupling_bounds: must reach above -0.999"):
        CoupledGaussian.fit([0, 1, 3.0], coupling_bounds=(-1, -0.9995))


@pytest.mark.slow
def test_standard_errors_at_the_bound_in_seven_dimensions():
    """The bound -1/9 has a rounding on either side."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 7))
    x *= (rng.random(300) ** (1 / 7) / np.linalg.norm(x, axis=1))[:, None]
    fit = MultivariateCoupledGaussian.fit(x)
    assert fit.at_bound
    assert not fit.regular
    assert np.isnan(fit.standard_errors["loc"]).all()


def test_a_weighted_location_of_the_exponential():
    """The smallest value does not heed weights, and so its standard error does not."""
    x = CoupledExponential(0, 1, 0.1).rvs(400, random_state=1)
    fit = CoupledExponential.fit(x, sample_weight=np.random.default_rng(1).lognormal(0, 1.5, 400))
    assert fit.standard_errors["loc"] == pytest.approx(fit.distribution.scale / 400, rel=1e-12)


def test_masked_and_misaligned_input():
    import pandas as pd

    masked = np.ma.masked_greater([1.0, 2.0, 300.0, 3.0], 100)
    with pytest.raises(InputError, match=r"data: NaN or infinite in 1 row \(2;"):
        CoupledGaussian.fit(masked)
    data = pd.Series([1.0, 2.0, 4.0])
    with pytest.raises(InputError, match="their pandas indexes differ"):
        CoupledGaussian.fit(data, sample_weight=pd.Series([1.0, 1.0, 2.0], index=[2, 1, 0]))


def test_units_out_of_scale():
    x = np.random.default_rng(0).normal(size=50)
    for unit in (1e-200, 1e100):
        with pytest.raises(InputError, match="its squares overflow or vanish; give it in other units"):
            CoupledGaussian.fit(unit * x)
    with pytest.raises(InputError, match="its squares overflow or vanish"):
        CoupledGaussian.fit([*x, 1e120])
    assert CoupledExponential.fit(1e-200 * abs(x), floc=0).distribution.scale < 1e-199


@pytest.mark.slow
def test_a_few_far_points_do_not_stop_it():
    x = CoupledGaussian(5, 2, 0.2).rvs(400, random_state=1)
    x[:4] = [1e6, -1e7, 1e9, 1e8]
    found = CoupledGaussian.fit(x).distribution
    assert found.loc == pytest.approx(5, abs=0.5)
    assert 1 < found.scale < 3
    outlier = CoupledGaussian.fit([*CoupledGaussian().rvs(100, random_state=0), 1e40])
    assert 0.2 < outlier.distribution.scale < 2
    plane = MultivariateCoupledGaussian([0, 0], np.eye(2)).rvs(500, random_state=0)
    assert np.all(np.diag(MultivariateCoupledGaussian.fit([*plane, [1e10, 0]]).distribution.shape_matrix) < 3)
    heaviest = CoupledGaussian(0, 1, 9.5)
    y = heaviest.rvs(500, random_state=0)
    assert CoupledGaussian.fit(y).log_likelihood >= heaviest.logpdf(y).sum()
    cauchy = CoupledGaussian(0, 1, 3).rvs(1000, random_state=1)
    assert CoupledGaussian.fit(cauchy).distribution.coupling == pytest.approx(3, abs=0.5)


@pytest.mark.parametrize("k", [-0.1, 0, 0.2, 1])
@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.slow
def test_multivariate_recovery(k, d):
    rng = np.random.default_rng(d)
    root = np.tril(rng.normal(size=(d, d))) + 2 * np.eye(d)
    truth = MultivariateCoupledGaussian(rng.normal(size=d), root @ root.T, k)
    x = truth.rvs(1500, random_state=6)
    fit = MultivariateCoupledGaussian.fit(x)
    found, errors = fit.distribution, fit.standard_errors
    assert fit.log_likelihood == pytest.approx(found.logpdf(x).sum(), rel=1e-9)
    assert fit.log_likelihood > truth.logpdf(x).sum()
    free = d + d * (d + 1) // 2 + 1  # twice the gain in likelihood is chi-squared
    assert stats.chi2(free).sf(2 * (fit.log_likelihood - truth.logpdf(x).sum())) > 1e-3
    assert abs(found.coupling - truth.coupling) < 3.5 * errors["coupling"]
    assert np.all(abs(found.loc - truth.loc) < 3.5 * errors["loc"])
    assert np.all(abs(found.shape_matrix - truth.shape_matrix) < 4 * errors["shape_matrix"])


def test_multivariate_normal_in_closed_form_and_fixed_parts():
    x = MultivariateCoupledGaussian([1, 2], [[2, 0.5], [0.5, 1]]).rvs(500, random_state=1)
    fit = MultivariateCoupledGaussian.fit(x, fcoupling=0).distribution
    np.testing.assert_allclose(fit.loc, x.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(fit.shape_matrix, np.cov(x.T, ddof=0), rtol=1e-6)
    held = MultivariateCoupledGaussian.fit(x, floc=[1, 2], fcoupling=0).distribution
    np.testing.assert_allclose(held.shape_matrix, (x - [1, 2]).T @ (x - [1, 2]) / 500, rtol=1e-6)
    np.testing.assert_array_equal(held.loc, [1, 2])
    shape = MultivariateCoupledGaussian.fit(x, fshape_matrix=np.eye(2), fcoupling=0.1)
    np.testing.assert_allclose(shape.distribution.shape_matrix, np.eye(2), rtol=1e-14, atol=1e-14)
    assert set(shape.standard_errors) == {"loc"}
    one = MultivariateCoupledGaussian.fit(x[:, :1]).distribution
    line = CoupledGaussian.fit(x[:, 0]).distribution
    assert one.coupling == pytest.approx(line.coupling, abs=1e-5)
    assert one.shape_matrix[0, 0] == pytest.approx(line.scale**2, rel=1e-6)


X = [0.3, 1.1, 2.5, 0.7, 4.0, 3.3]


@pytest.mark.parametrize(
    ("family", "arguments", "message"),
    [
        (CoupledGaussian, {"data": [1, np.nan, 2]}, r"data: NaN or infinite in 1 row \(1; counted from 0\)"),
        (CoupledGaussian, {"data": []}, r"data: expected an array of shape \(n,\) with at least one row"),
        (CoupledGaussian, {"data": [[1, 2], [3, 4]]}, r"data: expected an array of shape \(n,\)"),
        (CoupledGaussian, {"data": [2, 2, 2]}, "data: all values are equal; no scale can be fitted"),
        (CoupledGaussian, {"data": X, "fscale": -1}, "fscale: must be finite and above 0"),
        (CoupledGaussian, {"data": X, "fcoupling": -1}, "fcoupling: must be finite and above -1"),
        (CoupledGaussian, {"data": X, "fcoupling": 0.1, "coupling_bounds": (0, 1)}, "fcoupling fixes the coupling"),
        (CoupledGaussian, {"data": X, "coupling_bounds": (1, 0)}, "coupling_bounds: must rise from at least -1"),
        (CoupledGaussian, {"data": X, "coupling_bounds": 3}, "coupling_bounds: expected a pair"),
        (CoupledGaussian, {"data": X, "sample_weight": [1, 2]}, "sample_weight: expected one weight for each of 6"),
        (CoupledGaussian, {"data": X, "sample_weight": [0] * 6}, "the total weight is 0"),
        (CoupledGaussian, {"data": X, "fscale": 0.1, "fcoupling": -0.5}, "lie outside of its compact support"),
        (
            CoupledGaussian,
            {"data": [0, 0, 0, 1, 2], "fcoupling": 2},
            "from 0.6667 on, the likelihood of these data is infinite",
        ),
        (CoupledExponential, {"data": X, "floc": 1}, r"floc: 1 is above 2 rows \(0, 3; counted from 0\) of the data"),
        (CoupledExponential, {"data": [2, 2, 2]}, "data: all values are equal to the location"),
        (CoupledExponential, {"data": X, "fscale": 0.1, "fcoupling": -0.5}, "lie beyond the support"),
        (MultivariateCoupledGaussian, {"data": [[1, 2], [2, 4], [3, 6]]}, "lie in a plane of fewer dimensions"),
        (MultivariateCoupledGaussian, {"data": [[1, 2], [2, 5]], "floc": [1]}, "floc: has 1 dimensions, the data 2"),
        (MultivariateCoupledGaussian, {"data": X}, r"data: expected an array of shape \(n, d\)"),
        (CoupledGaussian, {"data": X, "fscale": [1, 2]}, r"fscale: expected one number, got an array of shape \(2,\)"),
        (CoupledGaussian, {"data": X, "fscale": 1e-80}, "fscale: 1e-80 is too small or too large to square twice"),
        (CoupledExponential, {"data": [0, 1e295], "floc": 0}, r"up to 1e\+295 beyond the location; give it in other"),
        (
            CoupledGaussian,
            {"data": [2, 2, 2], "floc": 2, "fcoupling": 0.5},
            "at couplings from 0 on, the likelihood of these data is infinite",
        ),
    ],
)
def test_bad_input(family, arguments, message):
    with pytest.raises(InputError, match=message):
        family.fit(**arguments)
