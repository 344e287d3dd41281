"""Familiar metrics from counts: against the definitions, scikit-learn, SciPy and simulation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from scipy.stats import binomtest, norm, poisson_binom
from sklearn.metrics import average_precision_score

from unperplexed import InputError, Tally, assess
from unperplexed.assessment.familiar import (
    _average_precision,
    counts_of,
    error_interval,
    expected_by_chance,
    familiar_metrics,
    independent_noise,
    precision_recall,
    probability_groups,
    quantile,
)
from unperplexed.assessment.flat import cost_interval
from unperplexed.scores import brier_score, log_loss
from unperplexed.tally.tables import Pairs


def binary(n=600, seed=0, digits=None, slope=1.4, shift=0.3):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    p = expit(slope * odds + shift)
    return (rng.random(n) < expit(odds)).astype(int), p if digits is None else np.round(p, digits).clip(0.01, 0.99)


def delong(y, p):
    """AUC and its standard error by the placements themselves (DeLong et al. 1988)."""
    above = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    of_events, of_others = above.mean(axis=1), above.mean(axis=0)
    variance = of_events.var(ddof=1) / of_events.size + of_others.var(ddof=1) / of_others.size
    return above.mean(), np.sqrt(variance)


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_auc_and_its_error_are_those_of_delong(digits):
    y, p = binary(digits=digits)
    value, error = delong(y, p)
    found = familiar_metrics(Tally.of(y, p)).auc
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.standard_error == pytest.approx(error, rel=1e-9)
    assert found.interval == pytest.approx((value - 1.959963985 * error, value + 1.959963985 * error), rel=1e-8)


def test_auc_is_that_of_scikit_learn_with_weights():
    metrics = pytest.importorskip("sklearn.metrics")
    y, p = binary(digits=2)
    w = np.random.default_rng(1).integers(1, 5, y.size).astype(float)
    found = familiar_metrics(Tally.of(y, p, sample_weight=w)).auc
    assert found.value == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=w), rel=1e-12)
    doubled = familiar_metrics(Tally.of(y, p, sample_weight=np.full(y.size, 2.0))).auc
    assert doubled[:2] == pytest.approx(familiar_metrics(Tally.of(y, p)).auc[:2], rel=1e-12)


def test_a_perfect_and_a_reversed_ranking():
    y = np.repeat([0, 1], 20)
    p = np.linspace(0.1, 0.9, 40)
    assert familiar_metrics(Tally.of(y, p)).auc.value == 1
    assert familiar_metrics(Tally.of(1 - y, p)).auc.value == 0
    assert np.isnan(familiar_metrics(Tally.of(y, p)).auc.interval).all()
    assert familiar_metrics(Tally.of(y, np.full(40, 0.4))).auc.value == 0.5


def test_slope_and_intercept_are_those_of_logistic_regression():
    y, p = binary()
    s = logit(p)

    def loss(b):
        return -(y * log_expit(b[0] + b[1] * s) + (1 - y) * log_expit(-b[0] - b[1] * s)).sum()

    fitted = minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-8}).x
    q = expit(fitted[0] + fitted[1] * s)
    x = np.stack([np.ones(y.size), s], axis=1)
    error = np.sqrt(np.linalg.inv((x * (q * (1 - q))[:, None]).T @ x)[1, 1])
    found = familiar_metrics(Tally.of(y, p))
    assert found.slope.value == pytest.approx(fitted[1], abs=1e-5)
    assert found.slope.standard_error == pytest.approx(error, rel=1e-4)
    shift = minimize(lambda a: loss([a[0], 1.0]), [0.0], method="BFGS", options={"gtol": 1e-8}).x[0]
    assert found.intercept.value == pytest.approx(shift, abs=1e-5)
    q = expit(shift + s)
    v = q * (1 - q)
    free = 1 - v / v.sum()  # the slope is not 1, so that the sandwich, divided by this (HC2), is the larger
    robust = ((y - q) ** 2 / free).sum() ** 0.5 / v.sum()
    assert robust > 1.1 * v.sum() ** -0.5
    assert found.intercept.standard_error == pytest.approx(robust, rel=1e-4)


def test_whole_weights_are_repeated_rows_but_for_how_sure_they_are():
    y, p = binary(digits=2)
    w = np.random.default_rng(2).integers(1, 4, y.size)
    weighted = familiar_metrics(Tally.of(y, p, sample_weight=w.astype(float)))
    repeated = familiar_metrics(Tally.of(np.repeat(y, w), np.repeat(p, w)))
    for name in ("auc", "slope", "intercept"):
        a, b = getattr(weighted, name), getattr(repeated, name)
        assert a.value == pytest.approx(b.value, abs=1e-6)
        assert a.standard_error > b.standard_error
    assert weighted.ece.value == pytest.approx(repeated.ece.value, rel=1e-9)


def test_clusters_of_equal_rows_are_as_good_as_one_row_each():
    y, p = binary(400, digits=2)
    alone = familiar_metrics(Tally.of(y, p))
    groups = np.repeat(np.arange(400), 6)
    found = familiar_metrics(Tally.of(np.repeat(y, 6), np.repeat(p, 6), clusters=groups, parts=["shards"]))
    for name in ("auc", "slope"):
        a, b = getattr(found, name), getattr(alone, name)
        assert a.value == pytest.approx(b.value, abs=1e-6)
        assert a.standard_error == pytest.approx(b.standard_error, rel=0.15)
    assert np.ptp(found.ece.interval) == pytest.approx(np.ptp(alone.ece.interval), rel=0.2)
    assert found.ece_by_chance == pytest.approx(alone.ece_by_chance, rel=0.15)


def test_the_error_expected_by_chance_is_that_of_calibrated_predictions():
    rng = np.random.default_rng(3)
    p = np.sort(np.round(rng.beta(0.6, 2.0, 700), 3).clip(0.001, 0.999))
    values, counts = np.unique(p, return_counts=True)
    groups = probability_groups(Pairs(values, counts * values, counts.astype(float)), 15)
    exact = 0.0
    for low, high in zip(groups.lowest, groups.highest, strict=True):
        here = p[(p >= low) & (p <= high)]
        k = np.arange(here.size + 1)
        exact += poisson_binom(here).pmf(k) @ np.abs(k - here.sum()) / p.size
    assert expected_by_chance(groups) == pytest.approx(exact, rel=0.03)


def test_by_chance_is_exact_for_equal_predictions():
    p, n = 0.3, 7
    groups = probability_groups(Pairs(np.array([p]), np.array([2.0]), np.array([float(n)])), 15)
    k = np.arange(n + 1)
    exact = poisson_binom(np.full(n, p)).pmf(k) @ np.abs(k / n - p)
    assert expected_by_chance(groups) == pytest.approx(exact, rel=1e-12)


def test_references_are_the_scores_of_a_constant_forecast():
    y, p = binary()
    found = familiar_metrics(Tally.of(y, p))
    base = np.full(y.size, y.mean())
    assert found.reference_scores["log_loss"] == pytest.approx(log_loss(y, base), rel=1e-12)
    assert found.reference_scores["brier_score"] == pytest.approx(brier_score(y, base), rel=1e-12)
    p = np.random.default_rng(4).dirichlet(np.ones(5), 50)
    uniform, y = np.full((50, 5), 0.2), np.arange(50) % 5
    found = familiar_metrics(Tally.of(y, p, labels=range(5)))
    assert found.reference_scores["log_loss"] == pytest.approx(log_loss(y, uniform, labels=range(5)), rel=1e-12)
    assert found.reference_scores["brier_score"] == pytest.approx(brier_score(y, uniform, labels=range(5)), rel=1e-12)
    assert found.reference_scores["accuracy"] == 0.2
    assert found.auc is None


def test_the_top_class_of_several_is_an_event():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(4, 0.7), 800)
    y = (p.cumsum(axis=1) < rng.random((800, 1))).sum(axis=1)
    top, hit = p.max(axis=1), (p.argmax(axis=1) == y).astype(int)
    found, as_event = (familiar_metrics(Tally.of(*rows, labels=labels)) for rows, labels in
                       (((y, p), range(4)), ((hit, top), (0, 1))))  # fmt: skip
    assert found.slope[:2] == pytest.approx(as_event.slope[:2], rel=1e-6)
    assert found.ece.value == pytest.approx(as_event.ece.value, rel=1e-9)
    low, high = found.slope.interval
    assert low < 1 < high  # drawn from the forecasts themselves


def test_certain_predictions_are_left_out_of_the_slope_and_counted():
    y, p = binary(300)
    more = np.append(y, [0, 1, 1]), np.append(p, [0.0, 1.0, 0.0])
    found, without = familiar_metrics(Tally.of(*more)), familiar_metrics(Tally.of(y, p))
    assert found.slope[:2] == pytest.approx(without.slope[:2], rel=1e-9)
    assert (found.certain_rows, without.certain_rows) == (3, 0)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="familiar_metrics: the tally has no rows with weight; count at least one"):
        familiar_metrics(Tally())


def test_of_one_row_there_is_no_interval():
    found = familiar_metrics(Tally.of([1], [0.7]))
    assert np.isnan(found.auc.value)
    assert np.isnan(found.slope.value)
    assert found.ece.value == pytest.approx(0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.7, 0.0), (1.0, -0.5)])
def test_the_interval_of_the_calibration_error_covers_the_true_one(slope, shift):
    """A bootstrap's would cover an error of 0 in a quarter to two fifths of the samples."""
    rng, covered, n = np.random.default_rng(5), 0, 400
    for _ in range(150):
        odds = np.sort(rng.normal(0, 1.5, n))
        p, true = expit(odds), expit(slope * odds + shift)
        groups = probability_groups(Pairs(p, (rng.random(n) < true).astype(float), np.ones(n)), 15)
        of_group = np.minimum(np.searchsorted(groups.highest, p), len(groups) - 1)
        gaps = np.bincount(of_group, p - true, len(groups)) if (slope, shift) != (1.0, 0.0) else np.zeros(len(groups))
        error = float(np.abs(gaps).sum()) / n
        low, high = error_interval(groups.total / n, groups.mean - groups.observed, independent_noise(groups))
        covered += low <= error <= high
    assert covered / 150 > 0.88


@pytest.mark.parametrize("n", [1, 2, 3, 800])
def test_quantiles_are_those_of_numpy_to_the_last_digit(n):
    rng = np.random.default_rng(n)
    errors = rng.normal(size=(5, n))
    for share in (0.0, 0.025, 0.5, 0.975, 1.0, *rng.random(20)):
        assert np.array_equal(quantile(np.sort(errors, axis=1), share), np.quantile(errors, share, axis=1))


def test_the_interval_of_the_calibration_error_narrows_with_rows_and_level():
    y, p = binary(500, digits=2)
    few, many = (familiar_metrics(Tally.of(np.tile(y, n), np.tile(p, n))) for n in (1, 9))
    assert many.ece.value == pytest.approx(few.ece.value, rel=1e-9)
    width, narrow = (found.ece.interval.high - found.ece.interval.low for found in (few, many))
    assert narrow == pytest.approx(width / 3, rel=0.25)
    assert few.ece.interval.low <= few.ece.value <= few.ece.interval.high
    ninety = familiar_metrics(Tally.of(y, p), 0.9).ece.interval
    assert few.ece.interval.low < ninety.low < ninety.high < few.ece.interval.high


def test_an_error_smaller_than_chance_makes_it_is_within_its_interval():
    p = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 100)
    y = np.concatenate([np.arange(100) < 100 * x for x in (0.1, 0.3, 0.5, 0.7, 0.9)]).astype(int)
    y[50] = 1  # one row off
    found = familiar_metrics(Tally.of(y, p))
    assert found.ece.value < found.ece_by_chance / 4
    assert found.ece.interval.low == 0
    assert found.ece.interval.high >= found.ece.value


@pytest.mark.slow
@pytest.mark.parametrize(("n", "error"), [(100, 0.05), (1000, 0.03)])
def test_the_interval_of_a_constant_forecast_covers_an_error_that_chance_hides(n, error):
    """The observed error may be small by chance, and says little of the true one then: 0 of 100 rows is no 0 to 0."""
    covered = 0
    for seed in range(100):
        y = np.random.default_rng(seed).random(n) < 0.3 + error
        low, high = familiar_metrics(Tally.of(y.astype(int), np.full(n, 0.3))).ece.interval
        covered += low <= error <= high
    assert covered >= 85


def test_three_classes_in_clusters_have_no_interval_of_the_calibration_error():
    p = np.random.default_rng(2).dirichlet(np.ones(3), 300)
    found = familiar_metrics(Tally.of(np.arange(300) % 3, p, clusters=np.arange(300) // 5, parts=["shards"]))
    assert np.isnan([*found.ece.interval, found.ece_by_chance]).all()


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, -0.7])
def test_in_clusters_the_interval_of_the_calibration_error_covers_the_true_one(shift):
    """Events of a cluster share a shock. Intervals for independent rows are too narrow."""
    covered = naive = 0
    clusters = np.repeat(np.arange(80), 20)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = np.sort(expit(rng.normal(0, 1.5, clusters.size)))
        true = expit(logit(p) + shift)
        of = rng.permutation(clusters)
        y = np.sqrt(0.5) * (rng.normal(size=80)[of] + rng.normal(size=p.size)) < norm.ppf(true)
        found = familiar_metrics(Tally.of(y.astype(int), p, clusters=of, parts=["shards"]))
        gaps = np.array([each.sum() for each in np.array_split(p - true, 15)])
        error = np.abs(gaps).sum() / p.size if shift else 0.0
        covered += found.ece.interval.low <= error <= found.ece.interval.high
        low, high = familiar_metrics(Tally.of(y.astype(int), p)).ece.interval
        naive += low <= error <= high
    assert covered >= 54
    assert naive <= covered - 10


def test_one_prediction_that_outweighs_all_others_leaves_no_error_of_the_slope(rng):
    p = rng.uniform(0.05, 0.95, 200)
    y = rng.random(200) < p
    p[:4], y[:4] = 0.4, [False, False, False, True]
    found = familiar_metrics(Tally.of(y, p, sample_weight=np.where(np.arange(200) < 4, 1e18, 1.0)))
    assert np.isnan(found.slope.standard_error)
    assert np.isnan(found.slope.interval).all()
    assert expit(found.intercept.value + logit(0.4)) == pytest.approx(0.25)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [None, 1])
def test_average_precision_is_that_of_scikit_learn(digits, weighted):
    y, p = binary(digits=digits)
    w = np.random.default_rng(1).random(y.size) if weighted else None
    found = familiar_metrics(Tally.of(y, p, sample_weight=w)).average_precision
    assert found.value == pytest.approx(average_precision_score(y, p, sample_weight=w), abs=1e-12)


def test_the_error_of_average_precision_is_that_of_the_jackknife():
    y, p = binary(150)
    left_out = [average_precision_score(np.delete(y, at), np.delete(p, at)) for at in range(y.size)]
    error = np.sqrt((y.size - 1) * np.var(left_out))
    assert familiar_metrics(Tally.of(y, p)).average_precision.standard_error == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize(("mean", "spread", "n"), [(-4, 1.5, 2000), (0, 1, 300), (-2, 2, 800)])
def test_intervals_of_average_precision_contain_the_true_value(mean, spread, n):
    """Binomial: with a coverage of 93% or more at most 24 of 200 miss it, but for 1 in 150 studies."""
    rng, missed = np.random.default_rng(3), 0
    p = expit(rng.normal(mean, spread, 200_000))
    true = average_precision_score(rng.random(p.size) < p, p)
    for _ in range(200):
        p = expit(rng.normal(mean, spread, n))
        low, high = _average_precision(counts_of(Tally.of((rng.random(n) < p).astype(int), p)), 0.95).interval
        missed += not low <= true <= high
    assert missed <= 24


def test_dependent_rows_widen_the_interval_of_average_precision():
    y, p = binary(300)
    copies = [np.repeat(x, 4) for x in (y, p)]
    one = familiar_metrics(Tally.of(y, p)).average_precision.interval
    four = familiar_metrics(Tally.of(*copies)).average_precision.interval
    shards = Tally.of(*copies, clusters=np.repeat(np.arange(300), 4), parts=["shards", "classes"])
    wide = familiar_metrics(shards).average_precision.interval
    assert wide.high - wide.low > 1.6 * (four.high - four.low)
    assert wide.high - wide.low == pytest.approx(one.high - one.low, rel=0.25)


def test_a_perfect_ranking_and_no_events_have_no_interval():
    assert familiar_metrics(Tally.of([0, 1], [0.2, 0.8])).average_precision.value == 1
    assert np.isnan(familiar_metrics(Tally.of([0, 0], [0.2, 0.8], labels=[0, 1])).average_precision.value)
    assert familiar_metrics(Tally.of([0, 1, 2], np.eye(3))).average_precision is None


def test_precision_and_recall_are_those_of_acting_on_the_rows_above_each_threshold():
    y, p = binary(2000, digits=2)
    curve = precision_recall(Tally.of(y, p))
    for at, threshold in enumerate(curve.threshold):
        acted = p >= threshold
        assert curve.precision[at] == pytest.approx(y[acted].mean())
        assert curve.recall[at] == pytest.approx(y[acted].sum() / y.sum())
        expected = binomtest(int(y[acted].sum()), int(acted.sum())).proportion_ci(method="wilson")
        assert (curve.low[at], curve.high[at]) == pytest.approx(tuple(expected))
    assert (np.diff(curve.recall) > 0).all()
    assert curve.recall[-1] == 1
    assert precision_recall(Tally.of([0, 1, 2], np.eye(3))) is None


def test_clusters_widen_intervals_of_precision_and_of_the_cost():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 300)
    y = (rng.uniform(size=300) < p**2).astype(int)
    copies = {"clusters": np.repeat(np.arange(300), 10)}
    once, ten = assess(y, p, resamples=0), assess(np.repeat(y, 10), np.repeat(p, 10), resamples=0, **copies)
    alone, dependent = (precision_recall(each.source.tally) for each in (once, ten))
    assert dependent.high - dependent.low == pytest.approx(alone.high - alone.low, rel=0.25)
    widths = [np.diff(cost_interval(each))[0] for each in (once, ten)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
