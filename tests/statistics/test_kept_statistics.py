"""Distributions against SciPy, linear algebra against NumPy, and figures of all others beside those that are kept."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtr

from kept import same_as_kept
from unperplexed import InputError
from unperplexed.statistics import empirical_bayes, intervals, many_looks, matrices, means, normal_scores, rank_evidence
from unperplexed.statistics.intervals import Dependence, uncertain_mean, uncertain_ratio
from unperplexed.statistics.tails import (
    chi2_sf,
    gamma_sf,
    gamma_tails,
    normal_cdf,
    normal_quantile,
    poisson_sf,
    skewed_sf,
    squared_normal_isf,
    student_quantile,
    weighted_chi2_sf,
)
from unperplexed.statistics.threshold_cells import threshold_cells

KEPT = Path(__file__).with_name("statistics.json")


# ---- distributions, against SciPy


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.5, 199.9, 200.1, 5000.0])
def test_gamma_distributions(shape):
    """Below and above the mean, where it changes from one way to another, and at both ends."""
    x = shape * np.array([0.2, 0.7, 0.97, 1.0, 1.03, 1.3, 2.5])
    x = np.concatenate([x[np.abs(x - shape) < 12 * math.sqrt(shape)], [shape + 0.999, shape + 1.001]])
    known = stats.gamma(shape)
    assert [gamma_sf(shape, each) for each in x] == pytest.approx(known.sf(x), rel=1e-9)
    for above in (True, False):
        found = gamma_tails(np.full(x.size, shape), x, np.full(x.size, above))
        assert found == pytest.approx(known.sf(x) if above else known.cdf(x), rel=1e-9)
    assert [gamma_sf(shape, each) for each in (0.0, -1.0, math.inf)] == [1, 1, 0]
    many = gamma_tails(np.full(201, shape), np.full(201, shape), np.arange(201) < 100)
    assert many[[0, 200]] == pytest.approx([known.sf(shape), known.cdf(shape)], rel=1e-9)


@pytest.mark.parametrize("freedom", [1.0, 1.999, 2.0, 2.5, 7.0, 40.0, 299.0, 301.0, 1999.0, 2000.0, 1e5])
def test_quantiles_of_students_t(freedom):
    share = np.array([5e-5, 1e-4, 2e-4, 0.01, 0.3, 0.5, 0.5001, 0.9, 0.975, 0.9995, 0.99995])
    found = [student_quantile(freedom, each) for each in share]
    assert found == pytest.approx(stats.t(freedom).ppf(share), rel=1e-9, abs=1e-12)


def test_other_tails():
    x = np.array([-8.0, -1.0, 0.0, 2.0])
    assert [normal_cdf(each) for each in x] == pytest.approx(stats.norm.cdf(x), rel=1e-12)
    assert [normal_quantile(each) for each in (0.0, 1.0, 0.3)] == [
        -math.inf,
        math.inf,
        pytest.approx(stats.norm.ppf(0.3)),
    ]
    assert [chi2_sf(k, 3.3) for k in (1, 2, 7)] == pytest.approx(stats.chi2([1, 2, 7]).sf(3.3), rel=1e-10)
    assert squared_normal_isf(0.05) == pytest.approx(stats.chi2(1).isf(0.05), rel=1e-12)
    assert [poisson_sf(k, 2.5) for k in (0, 1, 6)] == pytest.approx(stats.poisson(2.5).sf([0, 1, 6]), rel=1e-10)
    for skewness in (0.8, 0.01):
        z = np.array([-3.0, -1.0, 0.0, 0.5, 2.5])
        assert skewed_sf(z, np.full(5, skewness)) == pytest.approx(stats.pearson3(skewness).sf(z), rel=1e-6, abs=1e-12)
        assert skewed_sf(z, np.full(5, -skewness)) == pytest.approx(
            stats.pearson3(-skewness).sf(z), rel=1e-6, abs=1e-12
        )
    assert skewed_sf(z, np.zeros(5)) == pytest.approx(stats.norm.sf(z), rel=1e-3)


@pytest.mark.parametrize("freedom", [math.inf, 12.0])
def test_weighted_sums_of_squares(freedom):
    """Equal weights are an F or a chi-squared distribution; of others the saddlepoint is near what is drawn."""
    for x in (0.5, 2.0, 9.0):
        known = stats.chi2(3).sf(x / 0.7) if math.isinf(freedom) else stats.f(3, freedom).sf(x / 2.1)
        assert weighted_chi2_sf(x, np.array([0.7, 0.7, 0.0, 0.7]), freedom) == pytest.approx(known, rel=1e-9)
    rng = np.random.default_rng(0)
    w = np.array([3.0, 1.0, 0.5])
    chi = 1.0 if math.isinf(freedom) else rng.chisquare(freedom, 200_000) / freedom
    drawn = (rng.chisquare(1, (200_000, 3)) @ w) / chi
    for x in (2.0, 4.4999, 4.5, 10.0, 20.0):
        assert weighted_chi2_sf(x, w, freedom) == pytest.approx((drawn > x).mean(), rel=0.06, abs=0.004)
    assert weighted_chi2_sf(0.0, w, freedom) == weighted_chi2_sf(3.0, np.zeros(2), freedom) == 1
    same_as_kept(
        KEPT, f"weighted {freedom}", [weighted_chi2_sf(x, w, freedom) for x in (0.1, 2.0, 4.499, 4.51, 30.0, 90.0)]
    )


# ---- matrices


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((9001,), (9001,)),
        ((20_000,), (20_000,)),
        ((3, 4000), (4000,)),
        ((4000,), (4000, 3)),
        ((1, 10_000), (10_000, 1)),
        ((7, 60_000), (60_000, 2)),
        ((600, 30), (30, 700)),
        ((700, 30), (30, 600)),
        ((4001, 3), (3, 2)),
        ((2, 3), (3, 9000)),
        ((3, 0), (0, 2)),
        ((1, 500), (500, 30)),
    ],
)
def test_products_in_parts(left, right):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=left), rng.normal(size=right)
    np.testing.assert_allclose(matrices.product(a, b), a @ b, rtol=1e-9, atol=1e-9)


def test_what_is_made_of_matrices():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(4, 45_000)), rng.random(45_000)
    assert matrices.cross_products(x, w) == pytest.approx((x * w) @ x.T, rel=1e-9)
    assert matrices.cross_products(x[:, :0], w[:0]).shape == (4, 4)
    for n in (5, 96, 97, 150):
        root = rng.normal(size=(n, 2 * n))
        matrix = root @ root.T
        factored = matrices.Factored(matrix)
        assert factored.solve(np.ones(n)) == pytest.approx(np.linalg.solve(matrix, np.ones(n)), rel=1e-7)
        assert factored.diagonal_of_inverse() == pytest.approx(np.diag(np.linalg.inv(matrix)), rel=1e-7)
        assert np.array_equal(matrices.definite(matrix), matrix)
    found = matrices.in_turn(matrix[:5, :5])
    assert found @ matrix[:5, :5] @ found.T == pytest.approx(np.eye(5), abs=1e-9)
    assert np.triu(found, 1) == pytest.approx(0, abs=1e-12)  # each beside those before it
    twice = matrix[np.ix_([0, 1, 1, 2], [0, 1, 1, 2])]
    assert (matrices.in_turn(twice) != 0).any(axis=1).tolist() == [True, True, False, True]
    assert (matrices.in_turn(np.diag([1.0, 1e-3, 1e-2]), 5e-3) != 0).any(axis=1).tolist() == [True, False, True]
    for part, kept in ((0.029, False), (0.031, True)):  # of the second what is new has this standard deviation
        row = np.array([1.0, math.sqrt(1 - part**2)])
        both = np.array([[1.0, row[1]], [row[1], 1.0]])
        assert matrices.in_turn(both)[1].any() == kept
    raised = np.linalg.eigvalsh(matrices.definite(np.diag([4.0, -1.0, 0.0])))
    assert raised == pytest.approx([4e-9, 4e-9, 4.0])
    assert np.linalg.eigvalsh(matrices.definite(np.zeros((2, 2)))) == pytest.approx([1e-12] * 2)


# ---- means and their errors


ROWS = np.random.default_rng(3)
X, W = np.round(ROWS.exponential(size=48), 3), np.round(ROWS.exponential(size=48) + 0.01, 3)
WAYS = {
    "rows": Dependence(),
    "clusters": Dependence(np.arange(48) // 4),
    "two ways": Dependence(np.arange(48) // 4, crossed=np.arange(48) % 6),
    "lag": Dependence(lag=3),
    "lag within series": Dependence(lag=2, series=np.arange(48) % 3),
    "lag as long as the rows": Dependence(lag=47),
    "two clusters": Dependence(np.arange(48) // 24),
}


@pytest.mark.parametrize("way", WAYS)
def test_means_of_dependent_rows(way):
    of = WAYS[way]
    found = {
        "mean": (mean := uncertain_mean(X, W, of)),
        "judged": [mean.judged, mean.half_width(0.9), mean.p_value(), *mean.interval(0.95)],
        "equal": uncertain_mean(np.full(48, 2.0), W, of),
        "infinite": uncertain_mean(np.append(X[:-1], np.inf), W, of),
        "one": uncertain_mean(X[:1], W[:1], of.at(np.arange(1))),
        "part": uncertain_mean(X[5:30], W[5:30], of.at(np.arange(5, 30))),
        "counts": [
            of.sizes(48),
            of.independent_units(48),
            of.independent(W),
            of.two_way,
            of.n_series,
            of.pairs_apart(48),
        ],
        "stretches": None if not of.lag else of.stretches(48),
        "long stretches": None
        if not of.lag
        else of.at(np.arange(48)).stretches(48)
        if of.lag > 9
        else Dependence(lag=of.lag).stretches(400),
    }
    for name, (x, b) in {"ratio": (X, X[::-1]), "steep": (X + 3, X + 1), "equal": (X, X), "of 0": (X, 0 * X)}.items():
        ratio = uncertain_ratio(x, b, W, of)
        found[f"{name} ratio"] = ratio, ratio.ratio, ratio.p_value, ratio.interval(0.95), ratio.interval(0.5)
    same_as_kept(KEPT, f"means {way}", found)


def test_the_mean_of_independent_rows_is_that_of_the_t_test():
    found = uncertain_mean(X, np.ones(48), Dependence())
    known = stats.ttest_1samp(X, 0)
    assert found.p_value() == pytest.approx(known.pvalue, rel=1e-9)
    assert found.interval(0.9) == pytest.approx(tuple(known.confidence_interval(0.9)), rel=1e-9)
    paired = uncertain_ratio(X, X[::-1], np.ones(48), Dependence())
    assert paired.p_value == pytest.approx(stats.ttest_rel(X, X[::-1]).pvalue, rel=1e-9)


def test_wilsons_limits_are_those_of_the_score_test():
    for share in (0.0, 0.1, 0.5, 1.0):
        known = stats.binomtest(round(40 * share), 40).proportion_ci(0.9, method="wilson")
        assert intervals.wilson(share, 40, stats.norm.ppf(0.95)) == pytest.approx(tuple(known), abs=1e-12)


def test_adjusted_p_values():
    p = np.array([0.04, 0.01, np.nan, 0.03, 0.5, 0.9])
    assert intervals.holm(p) == pytest.approx([0.12, 0.05, np.nan, 0.12, 1.0, 1.0], nan_ok=True)
    adjusted, level = intervals.simultaneous(p, 0.9)
    assert adjusted == pytest.approx([0.2, 0.05, np.nan, 0.15, 1.0, 1.0], nan_ok=True)
    assert level == pytest.approx(0.98)
    assert intervals.simultaneous(np.array([np.nan]), 0.9)[1] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("confidence", "resamples", "refused"),
    [(0.95, 40, ""), (0.5, 0, ""), (0.95, 20_000, ""), (0.95, 39, "resamples"), (0.95, 20_001, "resamples"),
     (1.0, 40, "confidence"), (0.0, 40, "confidence"), (1, 40, "confidence"), (0.95, 1, "resamples")],
)  # fmt: skip
def test_settings_of_samples(confidence, resamples, refused):
    if not refused:
        assert intervals.checked_sampling(confidence, resamples, 3) == intervals.Sampling(confidence, resamples, 3)
        return
    with pytest.raises(InputError, match=f"^{refused}: expected"):
        intervals.checked_sampling(confidence, resamples, 3)


def test_generalized_means_of_any_order():
    """Beside the definition, where floats can compute it."""
    p, w = np.array([0.9, 0.4, 0.05, 0.4, 0.7]), np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    share = w / w.sum()
    orders = [-30.0, -1.5, -2 / 3, -0.3, 0.02, 0.5, 1.0, 3.0, 40.0]
    known = [float((share * p**r).sum() ** (1 / r)) for r in orders]
    assert [means.generalized_mean(p, r, w) for r in orders] == pytest.approx(known, rel=1e-12)
    near = [means.generalized_mean(p, r, w) for r in (0.0, 1e-21, 1e-9, -1e-7, 0.009)]
    log_p = np.log(p)
    second = [float(share @ log_p + r / 2 * (share @ log_p**2 - (share @ log_p) ** 2)) for r in (0, 0, 1e-9, -1e-7)]
    assert np.log(near[:4]) == pytest.approx(second, rel=1e-12)
    assert near[4] == pytest.approx(float((share * p**0.009).sum() ** (1 / 0.009)), rel=1e-10)
    assert [means.generalized_mean(p, r, w) for r in (math.inf, -math.inf)] == [0.9, 0.05]
    apart = [means.generalized_mean([1e-300, 1.0, 0.0], r, [1, 2, 1]) for r in (1.0, 2.0, 0.5)]
    assert apart == pytest.approx([0.5, math.sqrt(0.5), 0.25], rel=1e-12)
    runs = means.means_of_runs(np.concatenate([p, p[:2]]), np.concatenate([w, w[:2]]), np.array([0, 5]))
    for at, (values, weights) in enumerate([(p, w), (p[:2], w[:2])]):
        known = [means.generalized_mean(values, r, weights) for r in (1.0, 0.0, -2 / 3)]
        assert runs[:, at] == pytest.approx(known, rel=1e-12)


def test_figures_of_averages():
    a, b = means.averages(np.array([0.2, 0.9]), np.ones(2)), means.averages(np.array([0.5, 0.6]), np.ones(2))
    even = means.averages(np.array([0.5, 0.5]), np.ones(2))
    assert a.spread == pytest.approx(a.decisiveness - a.robustness)
    assert (even.spread, means.slope(a, b)) == (0, pytest.approx(b.spread / a.spread))
    assert math.isnan(means.slope(even, b))
    assert means.orientation(a, b) == pytest.approx(math.degrees(math.atan(a.spread / b.spread)))
    assert math.isnan(means.orientation(even, even))
    assert means.divergence_probability(a, b) == pytest.approx(a.geometric_accuracy / b.geometric_accuracy)
    assert means.log_spread(np.log([0.6, 0.5]), np.log([0.4, 0.5])) == pytest.approx([math.log(0.2), -math.inf])
    z = means.unskewed(np.array([1.5, -2.0, 1.0]), np.array([0.4, -0.3, 1e-7]))
    b = np.array([0.4, -0.3, 0.0])
    assert z + b * z**2 / 3 + b**2 * z**3 / 27 + b / 6 == pytest.approx([1.5, -2.0, 1.0])
    assert means.effective_number(np.array([1e-200, 2e-200, 1e-200])) == pytest.approx(16 / 6)
    assert means.effective_number(np.zeros(3)) == means.effective_number(np.zeros(0)) == 0
    many, freedom = np.arange(1.0, 41.0), [1e-4, 5.0, 1e11]
    assert means.t_quantile(0.9, many) == pytest.approx(stats.t(many).ppf(0.95), rel=1e-9)
    assert means.t_quantile(0.9, freedom)[1:] == pytest.approx([stats.t(5).ppf(0.95), stats.norm.ppf(0.95)], rel=1e-8)
    assert means.t_quantile(0.9, np.full(33, 1e11)) == pytest.approx(stats.norm.ppf(0.95))


# ---- directions of normal scores, against integrals


def test_moments_of_cells_are_integrals():
    ends = [(-np.inf, -1.0), (-0.3, 0.4), (1.0, 1.5), (2.0, np.inf)]
    low, high = np.array(ends).T
    found = normal_scores.cell_moments(low, high)
    for at, (a, b) in enumerate(np.clip(ends, -9.0, 9.0).tolist()):
        mass = quad(stats.norm.pdf, a, b)[0]

        def mean(f, a=a, b=b, mass=mass):
            return (
                quad(lambda z: stats.norm.pdf(z) * f(normal_scores.directions(np.array([z]))[0]), a, b, epsabs=1e-10)[0]
                / mass
            )

        known = [mean(lambda d, k=k: d[k]) for k in range(4)]
        assert found.mean[at] == pytest.approx(known, abs=1e-6)
        second = [mean(lambda d, k=k: d[k] * d[(k + 1) % 4]) for k in range(2)]
        cross = [found.covariance[at, k, (k + 1) % 4] + known[k] * known[(k + 1) % 4] for k in range(2)]
        assert cross == pytest.approx(second, abs=1e-6)
    edges = np.array([0, 0.2, 0.5, 0.5, 0.9, 1])
    of = normal_scores.information_of(edges[[0, 1, 2, 4, 5]])
    between = normal_scores.information_between(np.array([-np.inf, *stats.norm.ppf(edges[1:-1]), np.inf])[None])
    assert between[0] == pytest.approx(of, abs=1e-6)
    assert normal_scores.normal_scores(np.array([1e-20, 0.3, 1.0]), np.array([1.0, 0.7, 1e-20])) == pytest.approx(
        [stats.norm.ppf(1e-20), stats.norm.ppf(0.3), -stats.norm.ppf(1e-20)]
    )
    assert normal_scores.probability_between(np.array([-1.0, 9.0]), np.array([0.5, 10.0])) == pytest.approx(
        [ndtr(0.5) - ndtr(-1), ndtr(-9) - ndtr(-10)], rel=1e-9
    )
    z = np.linspace(-9, 9, 20001)
    d, w = normal_scores.directions(z), stats.norm.pdf(z) * (z[1] - z[0])
    assert (d * w[:, None]).T @ d == pytest.approx(np.eye(4), abs=1e-6)
    assert normal_scores.third_cumulants() == pytest.approx((w[:, None] * d**3).sum(axis=0), abs=1e-5)
    same_as_kept(
        KEPT, "cells", (found, normal_scores.cell_means(np.array([0.5, -np.inf, 12.0]), np.array([0.5, 0.1, 13.0])))
    )


@pytest.mark.parametrize("n", [5, 300, 9000])
def test_numbers_of_equal_rows(n):
    rng = np.random.default_rng(n)
    columns = [rng.integers(0, 4, n).astype(float), rng.normal(size=n) if n == 300 else rng.integers(0, 9, n) / 2]
    if n == 9000:
        columns[1][:7] = np.arange(7) + 0.25  # which the first look misses
    number, row = normal_scores.numbered(*columns)
    _, known = np.unique(np.stack(columns), axis=1, return_inverse=True)
    assert np.array_equal(number, known.ravel())
    assert np.array_equal(number[row], np.arange(row.size))


# ---- looking often, groups, thresholds


def test_evidence_however_often_one_looks():
    rng = np.random.default_rng(5)
    value = rng.normal(0.2, 0.6, 60).clip(-1, 1)
    logs, limits = many_looks.evidence(value, np.full(60, -1.0), np.full(60, 1.0), math.log(20))
    t, n = np.array([-2.0, 0.0, 1.0, 3.0, 60.0]), 400
    x = math.sqrt(n) * t[:4]
    known = math.log(2) - math.log1p(n / 1000) / 2 + x**2 / (2 * (n + 1000)) + np.log(ndtr(x / math.sqrt(n + 1000)))
    assert many_looks.log_evidence(t, 1e12, n, 1000.0)[:4] == pytest.approx(known, rel=1e-9)
    spreads = [many_looks.Spread(0.3, degrees, 50, 20, skew) for degrees in (4.0, 1e12) for skew in (0.0, 0.3, -0.2)]
    for each in spreads:
        low, high = each.interval(1.0, 0.9)
        assert each.log_evidence(1.0 - low) == pytest.approx(math.log(20), rel=1e-6)
        assert each.mirrored().log_evidence(high - 1.0) == pytest.approx(math.log(20), rel=1e-6)
    ranks = {
        f"{up} {n}": rank_evidence.rank_evidence(rng.normal(size=(3, n)) + (np.arange(n) > n / 2), upward_only=up)
        for up in (True, False) for n in (1, 9, 70)
    }  # fmt: skip
    holes = np.where(rng.random((4, 12)) < 0.3, np.nan, np.round(rng.normal(size=(4, 12)), 0))
    factors, weights = rng.normal(0.3, 0.5, (12, 3)), np.array([0.5, 0.3, 0.2])
    begun = [
        rank_evidence.log_evidence(factors, weights),
        rank_evidence.beginning(factors, weights),
        rank_evidence.beginning_of_changing(factors, weights, 9, 0.1),
    ]
    shares = np.exp(rank_evidence.log_begins(30))
    assert shares.sum() + np.exp(rank_evidence.log_not_begun(np.array([30])))[0] == pytest.approx(1)
    found = (
        logs,
        limits,
        ranks,
        begun,
        shares,
        rank_evidence.rank_evidence(holes),
        [each.interval(1.0, 0.95) for each in spreads],
    )
    same_as_kept(KEPT, "looks", found)


def test_the_number_of_a_period_is_in_a_gap_of_those_before():
    """The factors of a bet of one direction by enumeration: over all orders of the periods their mean is 1."""
    from itertools import permutations

    found = [rank_evidence.rank_evidence(np.array([order], float)).log_evidence[0] for order in permutations(range(5))]
    assert np.exp(found).mean(axis=0) == pytest.approx(np.ones(5), rel=1e-9)


def test_groups_are_shrunk():
    rng = np.random.default_rng(6)
    mean, error, size = rng.normal(0, 1, 7), rng.random(7) + 0.2, rng.integers(2, 40, 7).astype(float)
    within = empirical_bayes.pooled_variance(np.append(error[:6], np.nan), size)
    total = size.sum()
    centre = size @ mean / total
    between = (size @ (mean - centre) ** 2 - 6 * 2.0) / (total - size @ size / total)
    assert empirical_bayes.variance_between(mean, size, 2.0) == pytest.approx(max(between, 0))
    freedom = size[:6] - 1
    assert within == pytest.approx(freedom @ (size[:6] * error[:6] ** 2) / freedom.sum())
    effects = [
        empirical_bayes.random_effects(np.append(mean[:k], np.nan), np.append(error[:k], 1.0), 0.9)
        for k in (1, 2, 3, 7)
    ]
    shrunk = [empirical_bayes.shrunk(mean, error, size, each) for each in (0.0, 0.5, 9.0)]
    same_as_kept(KEPT, "groups", (effects, shrunk))


@pytest.mark.parametrize("kind", ["rows", "clusters", "counted"])
def test_cells_of_thresholds(kind):
    rng = np.random.default_rng(7)
    p, y, w = np.round(rng.random(80), 1), rng.integers(0, 2, 80), rng.exponential(size=80)
    groups = np.arange(80) // 5 if kind == "clusters" else None
    counted = (w**2 * 1.5, 200) if kind == "counted" else None
    cells = threshold_cells(p, y, w, np.array([0.0, 0.3, 0.5, 1.0, 1.1]), groups, counted)
    acted = p[:, None] >= np.array([0.0, 0.3, 0.5, 1.0, 1.1])
    kinds = 2 * acted + y[:, None]
    share = [[w[kinds[:, t] == k].sum() / w.sum() for k in range(4)] for t in range(5)]
    assert cells.shares == pytest.approx(np.array(share), abs=1e-12)
    values = np.tile([0.0, -2.0, -1.0, 3.0], (5, 1)) * np.arange(1.0, 6)[:, None]
    assert cells.means(values) == pytest.approx((np.array(share) * values).sum(axis=1))
    found = {
        "cells": cells,
        "errors": [cells.standard_errors(values), cells.standard_errors(np.ones((5, 4)))],
        "limits": [cells.limits(kind, other, np.linspace(0.1, 2, 5), 0.9) for kind, other in ((3, 2), (0, 1))],
        "shares": [
            cells.share_of(some, among, at) for some, among in (([3], [1, 3]), ([0, 3], range(4))) for at in (0, 2)
        ],
    }
    same_as_kept(KEPT, f"thresholds {kind}", found)
