"""Intervals from two worlds: what is drawn, how it is measured, and what the intervals hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr

from helpers import softmax_forecasts
from unperplexed import ESTIMATORS, Tally, assess, calibration_test
from unperplexed.assessment.intervals import SAMPLED
from unperplexed.calibration.null_samples import calibrated
from unperplexed.calibration.resampling import coarse_counts, shown_counts
from unperplexed.calibration.world_samples import MOST, ClassRows, influences, world_cells
from unperplexed.calibration.worlds import (
    Counts,
    Deviation,
    bias_beyond_chance,
    deviation,
    drawn_rows,
    hull,
    log_means,
    two_curves,
)
from unperplexed.statistics.means import means_of_points


def test_the_first_world_lets_unanimous_certainties_go_wrong():
    reported = np.array([0.0, 0.2, 0.7, 1.0])
    happened, total = np.array([0.0, 20, 75, 50]), np.array([99.0, 100, 100, 50])
    trend, steps = two_curves(reported, happened, total)
    np.testing.assert_allclose(steps, [0, 0.2, 0.75, 1])
    np.testing.assert_allclose(trend[[0, 3]], [0.5 / 100, 50.5 / 51])
    assert (np.diff(trend) >= 0).all()


def test_a_certainty_that_went_wrong_stays_as_it_is():
    trend, steps = two_curves(np.array([0.0, 0.5]), np.array([3.0, 5]), np.array([100.0, 10]))
    assert trend[0] == steps[0] == 0.03


def test_rows_are_drawn_with_the_means_and_variances_of_a_multinomial(rng):
    expected = Counts(np.array([10.0, 30, 0]), np.array([90.0, 20, 50]))
    for independent in (200.0, 50.0):
        drawn = np.concatenate(drawn_rows(expected, independent, 20_000, rng), axis=1)
        share = np.concatenate(expected) / 200
        np.testing.assert_allclose(drawn.sum(axis=1), 200, rtol=1e-12)
        np.testing.assert_allclose(drawn.mean(axis=0), 200 * share, atol=0.5)
        np.testing.assert_allclose(drawn.var(axis=0), 200**2 / independent * share * (1 - share), rtol=0.05, atol=0.01)


def test_logarithms_of_means_are_those_of_generalized_means(rng):
    weight, value = rng.random((3, 50)), rng.random((3, 50))
    weight[:, ::7] = 0.0
    value[:, 0] = 0.0  # without weight
    weight /= weight.sum(axis=1, keepdims=True)
    orders = np.concatenate([np.linspace(-3, 3, 121), [0.3, 1e-9, -1e-13, 50, -math.inf, math.inf]])
    found = log_means(orders, weight, value)
    for w, f, logs in zip(weight, value, found, strict=True):
        np.testing.assert_allclose(np.exp(logs), means_of_points(f[w > 0], w[w > 0], orders), rtol=1e-12)


def test_a_deviation_counts_what_is_lost(rng):
    logs = rng.normal(2.0, 0.5, (1000, 2))
    logs[:100, 1] = -math.inf
    found = deviation(logs, np.array([[1.9, 1.9]]))
    np.testing.assert_allclose(found.lost, [0, 0.1])
    assert found.bias == pytest.approx(logs[100:].mean(axis=0) - 1.9, abs=0.05)
    assert found.spread == pytest.approx([0.5, 0.5], rel=0.1)


def test_the_hull_holds_what_either_world_needs():
    one, two = (Deviation(np.array([b]), np.array([s]), np.zeros(1)) for b, s in ((0.1, 0.2), (-0.3, 0.1)))
    low, high = hull(np.array([1.0]), [one, two], 2.0, np.ones(1))
    unsure = math.hypot(0.1, (0.3 - 0.1) * math.sqrt(0.5))  # the second bias is more than a standard deviation
    assert (low[0], high[0]) == pytest.approx((1 - 0.1 - 0.4, 1 + 0.3 + 2 * unsure))
    wider = hull(np.array([1.0]), [one, two], 2.0, np.full(1, 1.5))
    assert wider[0] < low < high < wider[1]
    lost = one._replace(lost=np.array([0.3]))
    assert hull(np.array([1.0]), [lost, two], 2.0, np.ones(1))[0] == -math.inf


def test_a_figure_lies_inside_its_interval_however_large_the_bias():
    for size in (0, 0.5, 1, 2, 3, 5, 30):
        world = Deviation(np.array([size, -size]), np.ones(2), np.zeros(2))
        low, high = hull(np.zeros(2), [world, world], 1.96, np.ones(2))
        assert (np.minimum(-low, high) > 0.05 * (high - low)).all()
        assert (bias_beyond_chance([world, world], 1.96, np.ones(2)) == (world.bias if size > 1.96 else 0)).all()
        other = Deviation(-world.bias, world.spread, world.lost)  # worlds that disagree tell no bias
        assert not bias_beyond_chance([world, other], 1.96, np.ones(2)).any()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 10])
def test_rows_of_classes_are_drawn_as_row_by_row(rng, classes):
    """Counts by cell have the means and standard deviations of rows drawn one by one, one class a row."""
    y, p = softmax_forecasts(rng, 600, classes, temperature=1.5)
    tally = Tally.of(y, p)
    cells = world_cells(tally, "all-classes", 0.001, "floor")
    curve = two_curves(cells.reported, cells.counted.happened, cells.total)[0]
    world = ClassRows.of(tally, cells.codes).world(curve, cells.total)
    assert world.expected.happened.sum() == pytest.approx(600)
    runs = 1500
    drawn = world.drawn(runs, rng)
    n, size = 600, world.company.shape[0]
    level = np.bincount(world.fine, cells.total * curve, size) / np.bincount(world.fine, cells.total, size)
    rows = np.repeat(tally.row_sample.cells, tally.row_sample.count.astype(int), axis=0)
    coarse = np.searchsorted(np.unique(cells.codes), rows)
    q = level[coarse]
    up_to = np.cumsum(q / q.sum(axis=1, keepdims=True), axis=1)
    exact = np.zeros((2, runs, size))
    for at in range(runs):
        some = rng.integers(0, n, n)
        observed = np.count_nonzero(up_to[some][:, :-1] <= rng.random((n, 1)), axis=1)
        exact[0, at] = np.bincount(coarse[some, observed], minlength=size)
        exact[1, at] = np.bincount(coarse[some].reshape(-1), minlength=size) - exact[0, at]
    for found, wanted in zip(drawn, exact, strict=True):
        by_cell = np.array([np.bincount(world.fine, row, size) for row in found])
        deviation = wanted.std(axis=0)
        assert (np.abs(by_cell.mean(axis=0) - wanted.mean(axis=0)) < 0.15 * deviation + 0.15).all()
        np.testing.assert_allclose(by_cell.std(axis=0), deviation, rtol=0.3, atol=0.3)
        assert by_cell.std(axis=0).mean() == pytest.approx(deviation.mean(), rel=0.15)


@pytest.mark.parametrize("view", ["each-class", "all-classes"])
def test_figures_lie_within_their_intervals(rng, view):
    odds = rng.normal(0, 2, 400)
    result = assess(rng.random(400) < expit(odds), expit(1.3 * odds), view=view, resamples=100)
    for name in SAMPLED:
        low, high = result.intervals[name]
        assert low < result.metrics()[name] < high, name


@pytest.mark.slow
def test_the_mirror_image_has_the_same_intervals(rng):
    """Whether a class or its opposite is the positive one, in either view."""
    odds = rng.normal(0.5, 2, 600)
    y, p = rng.random(600) < expit(odds), expit(1.3 * odds)
    for view in ("each-class", "all-classes"):
        one, other = (assess(*each, view=view, resamples=100) for each in ((y, p), (~y, 1 - p)))
        for name in SAMPLED:
            (a, b), (c, d) = one.intervals[name], other.intervals[name]
            assert (c, d) == pytest.approx((a, b), abs=0.25 * (b - a)), name


def test_a_bias_shows_in_the_positive_class_alone():
    """Said are .3 and .7, observed .1 and .5: the two classes together are calibrated, the positive one is not."""
    rng = np.random.default_rng(3)
    p = np.repeat([0.3, 0.7], 5000)
    y = rng.random(10_000) < p - 0.2
    one, both = (assess(y, p, view=view) for view in ("each-class", "all-classes"))
    assert one.intervals["divergence_probability"].high < 1 < both.intervals["divergence_probability"].high
    assert calibration_test(y, p, test="resampled").p_value > 0.01  # which compares the curve of both classes
    assert calibration_test(y, p).p_value < 1e-9
    for result in (one, both):
        assert result.diagnosis.errors[0] == "bias"
        assert result.verdict.startswith("Overpredicts 'True' (mean prediction 50.0%, observed frequency 30.9%)")


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_figures_of_every_estimator_lie_inside_with_and_without_their_bias(rng, name):
    odds = rng.normal(0, 2, 500)
    result = assess(rng.random(500) < expit(odds), expit(odds), measured=name, resamples=60, view="each-class")
    debiased = result.uncertainty.debiased
    for figure in SAMPLED:
        low, high = result.intervals[figure]
        assert low < result.metrics()[figure] < high, figure
        assert low < debiased.get(figure, (low + high) / 2) < high, figure
    assert assess([1, 0] * 50, [0.8, 0.3] * 50, resamples=40).uncertainty.debiased == {}


def test_a_bias_beyond_chance_is_named_and_shown_nowhere_else(rng):
    """The isotonic curve follows chance, so that calibrated forecasts seem to lose by miscalibration."""
    odds = rng.normal(0, 2, 2000)
    result = assess(rng.random(2000) < expit(odds), expit(odds), measured="isotonic", resamples=60)
    without = result.uncertainty.debiased["divergence_probability"]
    assert result.divergence_probability < without
    assert abs(without - 1) < abs(result.divergence_probability - 1)
    remark = "the estimator isotonic is biased on such data; without the estimated bias:"
    assert f"{remark} divergence probability {without:.3f}" in " ".join(str(result).split())


def test_what_was_not_seen_among_the_extremes_is_warned_about():
    odds = np.random.default_rng(5).normal(0, 6, 2000)
    y = np.random.default_rng(1).random(2000) < expit(odds)
    found = assess(y, expit(0.7 * odds), floor=1e-6, resamples=100, view="each-class").uncertainty.warnings
    assert any("no errors were seen among the most extreme predictions" in each for each in found)


def test_an_outcome_predicted_with_0_leaves_no_interval_of_what_is_0():
    result = assess([1, 0, 1, 0] * 30, [0.0, 0.3, 0.8, 0.1] * 30, floor=0, resamples=60)
    assert result.divergence_probability == 0
    assert math.isnan(result.intervals["divergence_probability"].low)
    assert any("an outcome predicted with probability 0 occurred" in each for each in result.uncertainty.warnings)


@pytest.mark.slow
def test_other_seeds_give_nearly_the_same_interval(rng):
    """With the default number of draws the Monte Carlo standard deviation of an end is at most 5 % of the width."""
    odds = rng.normal(0, 2, 400)
    for y, p in ((rng.random(400) < expit(odds), expit(odds)), softmax_forecasts(rng, 400, 5, temperature=1.5)):
        results = [assess(y, p, seed=seed) for seed in range(8)]
        ends = np.array([[result.intervals[name] for name in SAMPLED] for result in results])
        width = (ends[..., 1] - ends[..., 0]).mean(axis=0)[:, None]
        assert (ends.std(axis=0, ddof=1) / width).max() < 0.05 * 1.5  # of eight: by chance 1.5 times as far off


def in_clusters(rng, bias, clusters=100, size=20):
    """Outcomes, biased forecasts and clusters, in which predictions and outcomes are alike."""
    cluster = np.repeat(np.arange(clusters), size)

    def normal(share):
        common, own = rng.normal(size=clusters)[cluster], rng.normal(size=cluster.size)
        return math.sqrt(share) * common + math.sqrt(1 - share) * own

    odds = -2 + 1.5 * normal(0.5)
    return (ndtr(normal(0.1)) < expit(odds)).astype(int), expit(odds + bias), cluster


def test_a_bias_widens_no_interval_of_clusters(rng):
    """A monotone map of the predictions, as a bias is, leaves what the one curve measures, and how sure it is."""
    y, p, cluster = in_clusters(rng, 0.0)
    widths = []
    for bias in (0.0, 2.0):
        result = assess(y, expit(np.log(p) - np.log1p(-p) + bias), clusters=cluster, resamples=100, floor=1e-3)
        widths.append([np.diff(result.intervals[name])[0] for name in list(SAMPLED)[:2]])
    assert widths[1] == pytest.approx(widths[0], rel=0.2)


@pytest.mark.slow
def test_intervals_of_biased_clusters_hold_the_truth_and_are_as_wide_as_it_varies():
    odds = -2 + 1.5 * np.random.default_rng(1).normal(size=200_000)
    q = expit(odds)
    truth = {"measured_decisiveness": (q**2 + (1 - q) ** 2).mean()}
    truth["measured_geometric_accuracy"] = np.exp((q * np.log(q) + (1 - q) * np.log1p(-q)).mean())
    ends, found = {name: [] for name in truth}, {name: [] for name in truth}
    for run in range(50):
        y, p, cluster = in_clusters(np.random.default_rng([7, run]), 2.0)
        result = assess(y, p, clusters=cluster, resamples=60, seed=run)
        for name in truth:
            ends[name].append(result.intervals[name])
            found[name].append(result.metrics()[name])
    for name, value in truth.items():
        low, high = np.transpose(ends[name])
        assert ((low < value) & (value < high)).mean() >= 0.86  # 50 samples: standard error 0.03
        assert 0.75 < np.median(high - low) / (3.92 * np.std(found[name])) < 1.35


def test_influences_on_reported_means_are_those_of_both_classes_together():
    """A row's influence is the sum over its two pairs, and no mean moves with all rows."""
    y, p = np.tile([1, 0, 1], 40), np.tile([0.2, 0.4, 0.7], 40)
    tally = Tally.of(np.concatenate([y, 1 - y]), np.concatenate([p, 1 - p]), labels=(0, 1), parts=["shards"])
    one, both = (shown_counts(tally, view) for view in ("each-class", "all-classes"))
    mine, pairs = (influences(x, np.array([1.0, 0.0, -2 / 3]), 0.005, "floor") for x in (one, both))
    np.testing.assert_allclose(mine.logs.reported, pairs.logs.reported, rtol=1e-9)
    np.testing.assert_allclose(mine.reported[0], pairs.reported[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine.reported[1], pairs.reported[0][:, ::-1], rtol=1e-9, atol=1e-12)
    happened, total = one.counted
    np.testing.assert_allclose(mine.reported[0] @ happened + mine.reported[1] @ (total - happened), 0, atol=1e-9)


def test_a_share_of_the_rows_is_worth_as_many():
    y, p = np.array([1, 0, 1, 0]), np.array([0.6, 0.6, 0.8, 0.3])
    whole, half = (world_cells(Tally.of(y, p), "each-class", 0.001, "floor", share) for share in (1.0, 0.5))
    assert whole.total.sum() == pytest.approx(4)
    assert half.total == pytest.approx(whole.total / 2)
    assert half.counted.happened == pytest.approx(whole.counted.happened / 2)


def test_many_values_are_in_as_fine_cells_as_there_is_room_for():
    """Their relative width is then far below 1/8, that of the coarse ones."""
    p = np.linspace(0.05, 0.45, 3000)
    cells = world_cells(Tally.of(np.arange(3000) % 2, p), "each-class", 0.001, "floor")
    assert MOST / 4 < cells.reported.size <= MOST
    widths = [np.ptp(p[cells.cell == at]) / p[cells.cell == at].min() for at in range(cells.reported.size)]
    assert max(widths) < 0.01


def test_of_rows_that_are_kept_one_class_occurs_in_each(rng):
    y, p = softmax_forecasts(rng, 60, 3)
    tally = Tally.of(y, p)
    counts = coarse_counts(tally)
    drawn, by_row = calibrated(tally, counts, 50, rng)
    assert by_row
    assert (drawn.happened.sum(axis=1) == 60).all()
    apart, by_row = calibrated(tally, replace(counts, codes=None), 50, rng)
    assert not by_row
    assert np.ptp(apart.happened.sum(axis=1)) > 0
