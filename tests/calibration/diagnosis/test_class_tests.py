"""The tests of more than two classes: definitions, exact distributions, and what must not change them."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, gamma, kstest, multinomial, norm, t

from many_classes import prepared, simulate, statistics_of
from unperplexed.calibration.diagnosis.class_statistics import ClassStatistics
from unperplexed.calibration.diagnosis.class_tails import hall
from unperplexed.calibration.diagnosis.class_tests import (
    _cluster_effects,
    _orthonormal,
    _shape_test,
    _shape_test_of_clusters,
    _single,
    _spread,
    _through_t,
    combined,
    gate,
    third_moments,
)
from unperplexed.calibration.diagnosis.gate import (
    cluster_covariance,
    cluster_shares,
    degrees_of_freedom,
    squares_tested,
)
from unperplexed.maps.two import tail
from unperplexed.statistics.tails import weighted_chi2_sf


@pytest.mark.parametrize(("new", "directions"), [(0.031, 2), (0.029, 1)])
def test_confidence_and_tail_are_made_uncorrelated(new, directions):
    """The tail only if three in a hundred of it are new."""
    first, second = 4.0, 9.0
    across = np.sqrt(first * second * (1 - new**2))
    covariance = np.array([[first, across], [across, second]])
    found = _orthonormal(covariance)
    assert found.shape == (directions, 2)
    np.testing.assert_allclose(found @ covariance @ found.T, np.eye(directions), atol=1e-9)
    np.testing.assert_allclose(found[0], [0.5, 0])


def test_without_variance_there_is_no_direction():
    assert _orthonormal(np.zeros((2, 2))).shape == (0, 2)


def test_deviates_of_few_degrees_of_freedom_are_less():
    z = np.array([-3.0, -0.5, 0.5, 2.0])
    freedom = np.array([4.0, 7.0, 1e12, np.inf])
    expected = np.append(norm.isf(t.sf(np.abs(z[:3]), np.minimum(freedom[:3], 1e9))), 2)
    np.testing.assert_allclose(np.abs(_through_t(z, freedom)), expected, rtol=1e-9)
    np.testing.assert_array_equal(_through_t(z, np.full(4, np.inf)), z)


def constant(rows, counts, p):
    """The same forecast for all rows, of which so many were of each class."""
    return statistics_of(prepared(np.tile(p, (rows, 1)), np.repeat(np.arange(len(p)), counts)))


@pytest.mark.parametrize("counts", [(33, 12, 5), (25, 15, 10), (14, 22, 14)])
def test_the_most_biased_class_is_held_to_binomial_counts(counts):
    """The chance that any class has a tail as small as the smallest, were the counts independent."""
    p = np.array([0.5, 0.3, 0.2])
    s = constant(50, counts, p)
    k = np.arange(51)
    tails = [np.minimum(binom.cdf(c, 50, q), binom.sf(c - 1, 50, q)) for c, q in zip(counts, p, strict=True)]
    smallest = min(*tails, 0.5) * (1 + 1e-6)
    chance = [
        binom.pmf(k, 50, q)[(binom.cdf(k, 50, q) <= smallest) | (binom.sf(k - 1, 50, q) <= smallest)].sum() for q in p
    ]
    variance = np.diag(s.covariance)
    found = _single(s, s.observed - s.predicted, variance, np.full(3, np.inf), variance > 0)
    assert found == pytest.approx(1 - np.prod(1 - np.array(chance)), rel=0.1)


def test_no_class_no_bias():
    s = constant(9, (9, 0, 0), np.array([0.5, 0.3, 0.2]))
    assert _single(s, s.observed - s.predicted, np.zeros(3), np.zeros(3), np.zeros(3, dtype=bool)) == 1


def test_the_skewness_of_counts_by_enumeration(rng):
    p = rng.permuted(np.tile([0.6, 0.3, 0.1], (70, 1)), axis=1)
    s = statistics_of(prepared(p, np.zeros(70, dtype=int)))
    np.testing.assert_allclose(third_moments(s), (p * (1 - p) * (1 - 2 * p)).sum(axis=0), rtol=1e-5)


def test_three_p_values_are_one(rng):
    p, y = simulate(rng, 300, 5)
    found = gate(statistics_of(prepared(p, y)))
    assert found.p_value == combined(combined(found.spread, found.single), found.shape, 2 / 3)
    assert found.effect == pytest.approx(1)
    np.testing.assert_allclose(found.class_effect, 1)


@pytest.mark.parametrize("kind", ["rows", "weights", "clusters"])
def test_the_order_of_classes_does_not_matter(rng, kind):
    p, y = simulate(rng, 300, 5)
    settings = {"weights": rng.exponential(size=300)} if kind == "weights" else {}
    settings |= {"cluster": np.arange(300) // 5} if kind == "clusters" else {}
    order = rng.permutation(5)
    found, other = (
        gate(statistics_of(prepared(*rows, **settings))) for rows in ((p, y), (p[:, order], np.argsort(order)[y]))
    )
    for name in ("p_value", "spread", "single", "shape", "statistic", "effect"):
        assert getattr(other, name) == pytest.approx(getattr(found, name), rel=1e-6), name
    np.testing.assert_allclose(other.class_effect, found.class_effect[order], rtol=1e-6)


def test_weights_inflate_the_variance(rng):
    p, y = simulate(rng, 300, 5)
    w = rng.exponential(size=300)
    found = gate(statistics_of(prepared(p, y, weights=w)))
    w /= w.mean()
    v = (p * (1 - p)).sum(axis=1)
    assert found.effect == pytest.approx((w**2 @ v) / (w @ v), rel=1e-4)
    np.testing.assert_allclose(found.class_effect, found.effect, rtol=1e-4)


@pytest.mark.parametrize("rare", [False, True])
def test_effects_of_clusters_are_drawn_towards_their_mean_where_classes_are_rare(rng, rare):
    """As if twenty events more had that mean; without clusters there are none."""
    p, y = simulate(rng, 400, 4)
    if rare:  # less than one event is expected
        p = np.tile([0.9991, 0.0003, 0.0003, 0.0003], (400, 1))
    s = statistics_of(
        prepared(np.repeat(p[:200], 2, axis=0), np.repeat(y[:200], 2), cluster=np.repeat(np.arange(200), 2))
    )
    variance = np.diag(s.covariance)
    found, freedom = _cluster_effects(s, variance, variance > 1e-9)
    rows = np.eye(4)[y[:200]] - p[:200]
    between = 4 * (rows**2).sum(axis=0) - 2 * (rows**2).sum(axis=0)  # what two equal rows have beside their squares
    mean = between.sum() / variance.sum()
    shards = (s.clusters.sizes > 0).sum()
    assert shards == 200
    np.testing.assert_allclose(found, 1 + (between + 20 * mean) / (variance + 20), rtol=1e-4)
    np.testing.assert_allclose(freedom, (shards - 1) * (1 + 20 / variance) ** 2, rtol=1e-6)
    plain = statistics_of(prepared(p, y))
    effect, freedom = _cluster_effects(plain, variance, variance > 1e-9)
    assert (effect.tolist(), freedom.tolist()) == ([1.0] * 4, [np.inf] * 4)


@pytest.mark.slow
def test_p_values_of_calibrated_forecasts_are_uniform(rng):
    found = []
    for _ in range(80):
        p, y = simulate(rng, 300, 4)
        found.append(gate(statistics_of(prepared(p, y))))
    for name in ("spread", "shape"):
        assert kstest([getattr(each, name) for each in found], "uniform").pvalue > 0.003, name


def test_confidence_and_tail_of_few_clusters_have_few_degrees_of_freedom(rng):
    p, y = simulate(rng, 300, 4)
    s = statistics_of(prepared(p, y, cluster=np.arange(300) % 12))
    directions = _orthonormal(s.shape_covariance)
    some = s.clusters.sizes > 0
    assert some.sum() == 12
    sums, shares = s.clusters.shards[some, :2] @ directions.T, cluster_shares(s.clusters.sizes[some])
    covariance = cluster_covariance(sums, directions @ s.clusters.own_shape @ directions.T, shares)
    z = np.linalg.inv(np.linalg.cholesky(covariance)) @ sums.sum(axis=0)
    weights, effect = np.array([1.0, 0.5]), np.diag(covariance).mean()
    expected = squares_tested(z, weights, degrees_of_freedom(shares, effect) - 1)[1]
    assert _shape_test_of_clusters(s.clusters, directions, weights) == pytest.approx((expected, effect), rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(9, (0.5, 0.3, 0.2)), (20, (0.8, 0.12, 0.08)), (8, (0.4, 0.4, 0.15, 0.05))])
def test_the_spread_has_mean_0_and_variance_1_over_all_that_can_happen(n, p):
    """Rare classes count less; their fourth cumulants are in the variance."""
    p = np.array(p)
    found, chance = [], []
    for counts in product(range(n + 1), repeat=len(p)):
        if sum(counts) == n:
            s = constant(n, counts, p)
            by_class, none = np.ones(len(p)), np.full(len(p), np.inf)
            found.append(_spread(s, s.observed - s.predicted, np.diag(s.covariance), by_class, none)[0])
            chance.append(multinomial.pmf(counts, n, p))
    assert np.dot(chance, found) == pytest.approx(0, abs=1e-6)
    assert np.dot(chance, np.square(found)) == pytest.approx(1, rel=0.1)


def test_the_unit_of_weights_does_not_matter_and_equal_weights_are_none(rng):
    p, y = simulate(rng, 300, 5)
    w, p, y = rng.exponential(size=3000), np.tile(p, (10, 1)), np.tile(y, 10)
    for one, other in ((w, 7 * w), (None, np.full(3000, 0.1))):
        found, again = (gate(statistics_of(prepared(p, y, weights=each))) for each in (one, other))
        for name in ("p_value", "spread", "single", "shape", "statistic", "effect"):
            assert getattr(again, name) == pytest.approx(getattr(found, name), rel=1e-6), name


@pytest.mark.parametrize("times", [0, 1, 2, 4])
def test_a_class_that_is_predicted_next_to_never_is_tested_too(times):
    """0.2 were expected: the chance of so many, with as much at most at either end of the other two classes."""
    found = gate(constant(200, (100 - times, 100, times), np.array([0.499, 0.5, 0.001]))).single
    chance = binom.sf(times - 1, 200, 0.001)
    assert chance * 0.95 < found < 5.1 * chance if times > 1 else found > 0.5


def test_confidence_and_tail_by_the_rows(rng):
    """Scores and third moments of both directions are sums over rows."""
    p, y = simulate(rng, 60, 4)
    s = statistics_of(prepared(p, y))
    directions = _orthonormal(s.shape_covariance)
    f = np.stack([np.log(p), tail(np.log(p) - np.log1p(-p))])
    g = np.einsum("da,aij->dij", directions, f - np.einsum("aij,ij->ai", f, p)[:, :, None])
    z = hall(g[:, np.arange(60), y].sum(axis=1), np.einsum("ij,dij->d", p, g**3))
    expected = weighted_chi2_sf(z[0] ** 2 + z[1] ** 2 / 2, np.array([1, 0.5]))
    assert _shape_test(s) == pytest.approx((expected, 1), rel=1e-4)


def test_rows_that_say_nothing_of_shape_pass_its_test():
    assert _shape_test(constant(9, (5, 3, 1), np.full(3, 1 / 3))) == (1, 1)


def test_the_design_effect_is_that_of_weights_times_the_larger_of_clusters(rng):
    p, y = simulate(rng, 400, 4)
    p, y, cluster = np.repeat(p[:200], 2, axis=0), np.repeat(y[:200], 2), np.repeat(np.arange(200), 2)
    w = rng.exponential(size=400)
    s = statistics_of(prepared(p, y, weights=w, cluster=cluster))
    variance = np.diag(s.covariance)
    by_class, freedom = _cluster_effects(s, variance, variance > 0)
    of_weights = variance.sum() / s.information.sum()
    clustered = max(by_class @ variance / variance.sum(), _shape_test(s)[1])
    found = gate(s)
    assert found.effect == pytest.approx(of_weights * clustered, rel=1e-9)
    assert clustered > 1.5 < of_weights
    single = _single(s, s.observed - s.predicted, variance * by_class, freedom, variance > 0)
    assert found.single == pytest.approx(single, rel=1e-9)
    np.testing.assert_allclose(found.class_effect, by_class * of_weights, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.5, 2 / 3, 0.1])
@pytest.mark.parametrize(("p", "q"), [(0.02, 0.5), (0.3, 0.04), (1e-4, 1e-3), (0.9, 0.95), (1.0, 1.0)])
def test_two_p_values_are_one_by_the_weighted_mean_of_their_inverses(p, q, weight):
    """How often it is as large for two independent uniform ones."""
    mean = weight / p + (1 - weight) / q

    def chance(u):
        left = mean - weight / u
        return 1.0 if left <= 1 - weight else (1 - weight) / left

    edge = min(1.0, weight / (mean - 1 + weight))  # below it the first alone suffices
    expected = edge + quad(chance, edge, 1, epsabs=1e-12, limit=200)[0]
    assert combined(p, q, weight) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["rows", "weights", "clusters", "dependent clusters"])
def test_the_spread_of_biases_is_a_gamma_variable_of_its_moments(rng, kind):
    """Sums over pairs of classes, each weighed by its share; of clusters the larger of what theory and they say."""
    p, y = simulate(rng, 300, 4)
    cluster = np.arange(300) // (2 if kind == "clusters" else 10)
    if kind == "dependent clusters":
        p, y = p[cluster], y[cluster]
    w = rng.exponential(size=300) if kind == "weights" else None
    s = statistics_of(prepared(p, y, weights=w, cluster=cluster if "clusters" in kind else None))
    score, variance, by_class = s.observed - s.predicted, np.diag(s.covariance), rng.uniform(0.8, 2, 4)
    freedom = np.array([np.inf, np.inf, 9.0, 30.0]) if "clusters" in kind else np.full(4, np.inf)
    rows = s.weight**2 / s.squared_weight
    events = s.information * rows / s.weight
    share, sd = events / (1 + events), np.sqrt(variance * by_class)
    statistic = float(share @ _through_t(score / sd, freedom) ** 2)
    pairs = [(i, j) for i in range(4) for j in range(4)]
    squared = sum(
        share[i] * share[j] * by_class[i] * by_class[j] * s.covariance[i, j] ** 2 / (sd[i] * sd[j]) ** 2
        for i, j in pairs
    )
    if s.clusters is not None:
        sums = s.clusters.shards[:, 2:]
        of_clusters = sum(share[i] * share[j] * (sums[:, i] @ sums[:, j] / sd[i] / sd[j]) ** 2 for i, j in pairs)
        of_clusters -= share.sum() ** 2 / (cluster[-1] + 1)
        assert (of_clusters > squared) == (kind == "dependent clusters")
        squared = max(squared, of_clusters)
    once = share / events
    fourth = (
        share @ once + sum(once[i] * once[j] * s.covariance[i, j] for i, j in pairs if i != j) * rows / s.squared_weight
    )
    mean, of_squares = share.sum(), 2 * squared + fourth
    found = _spread(s, score, variance, by_class, freedom)
    assert found[0] == pytest.approx((statistic - mean) / np.sqrt(of_squares), rel=1e-9)
    assert found[1] == pytest.approx(gamma.sf(statistic, mean**2 / of_squares, scale=of_squares / mean), rel=1e-6)


def test_no_rows_are_no_evidence():
    nothing, zeros = ClassStatistics.none(3), np.zeros(3)
    assert gate(nothing).p_value == 1
    assert _spread(nothing, zeros, zeros, np.ones(3), np.full(3, np.inf)) == (0.0, 1.0)


@pytest.mark.parametrize("slope", [0.0, 0.05, 0.1, 0.5])
def test_a_level_tells_whether_the_p_value_is_below_it(rng, slope):
    s = statistics_of(prepared(*simulate(rng, 1500, 6, confidence=slope)))
    whole = gate(s).p_value
    assert whole <= gate(s, 0.05).p_value
    assert (gate(s, 0.05).p_value < 0.05) == (whole < 0.05)
