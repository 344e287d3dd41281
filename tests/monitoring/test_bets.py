"""Bets on errors, period by period: their shares and sizes, and their factors computed one by one."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_expit, ndtr

from unperplexed.monitoring import hypotheses
from unperplexed.monitoring.control import control_points, dispersion, point_of
from unperplexed.monitoring.event_counts import EventCounts
from unperplexed.monitoring.hypotheses import Weights
from unperplexed.monitoring.measures import Shares, summaries, summary_of
from unperplexed.monitoring.naming import event_labels, event_name
from unperplexed.monitoring.nodes import Nodes
from unperplexed.monitoring.pit_counts import PitCounts
from unperplexed.monitoring.watch_predictions import _resemblance, enough_periods
from unperplexed.tally.tables import Pairs


def counts(p, total, positive):
    return EventCounts.of(Pairs(np.array(p), np.array(positive, float), np.array(total, float)))


ONE = counts([0.2, 0.7], [30, 50], [10, 30])
TWO = counts([0.1, 0.6, 0.9], [20, 40, 10], [1, 30, 9])
PIT = PitCounts(
    np.array([-1.0, 0.2]), np.array([-0.5, 0.9]), np.array([3.0, 4.0]), np.diag([7.0, 14.0, 5.0, 6.0]), 0.0, 1
)


def test_shares_of_the_bet_are_those_of_the_kinds_of_errors():
    maps, weights = hypotheses._MAPS[:, 1:], hypotheses.ROW_WEIGHTS
    bias, slope, asymmetry, tail, lapse = (maps != 0).T
    kinds = {
        "bias": (bias & ~slope, 0.30, 12),
        "slope": (slope & ~bias, 0.30, 10),
        "both": (bias & slope, 0.20, 24),
        "tail": (tail, 0.08, 8),
        "asymmetry": (asymmetry, 0.07, 6),
        "lapse": (lapse, 0.05, 4),
    }
    for here, share, number in kinds.values():
        assert weights[here].sum() == pytest.approx(share)
        assert here.sum() == number
    assert sorted(maps[bias & ~slope, 0]) == pytest.approx(
        [-1.6, -0.8, -0.4, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    )
    assert sorted(1 + maps[slope & ~bias, 1]) == pytest.approx([0.4, 0.55, 0.67, 0.8, 0.9, 1.1, 1.25, 1.5, 1.8, 2.5])
    assert sorted(maps[tail, 3]) == pytest.approx([-0.4, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4])
    assert sorted(maps[asymmetry, 2]) == pytest.approx([-0.4, -0.2, -0.1, 0.1, 0.2, 0.4])
    assert sorted(maps[lapse, 4]) == pytest.approx([0.01, 0.03, 0.1, 0.3])
    of_numbers = hypotheses._PIT_MAPS
    shifted, scaled = of_numbers[:, 1] != 0, of_numbers[:, 2] != 1
    for here, share, number in (
        (shifted & ~scaled, 0.35, 12),
        (scaled & ~shifted, 0.35, 9),
        (shifted & scaled, 0.30, 24),
    ):
        assert of_numbers[here, 0].sum() == pytest.approx(share)
        assert here.sum() == number
    for each, of in ((Weights.of(ONE), ONE), (Weights.of(PIT), PIT)):
        assert [float(x.sum()) for x in each] == pytest.approx([1, 1, 1])
        assert each.periods.size == hypotheses.period_factors([of, of]).shape[1]
        assert each.dating.size == hypotheses.dating_ratios([of, of]).shape[1]
        assert each.rows.size == hypotheses.row_factors(of).size
    assert Weights.of(ONE).periods.reshape(6, 14).sum(axis=1) == pytest.approx([0.35, 0.35, 0.10, 0.05, 0.075, 0.075])
    assert Weights.of(PIT).periods.reshape(4, 14).sum(axis=1) == pytest.approx([0.35, 0.35, 0.15, 0.15])
    assert sorted(set(np.abs(hypotheses._SIZES))) == [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
    assert max(hypotheses._EFFECTS) == 1.5
    assert min(map(abs, hypotheses._EFFECTS)) == pytest.approx(1.5 * 2**-7.5)
    assert len(hypotheses._EFFECTS) == 32


def test_factors_of_rows_are_likelihood_ratios():
    found = hypotheses.row_factors(ONE)
    s, negative = ONE.log_odds, ONE.total - ONE.positive
    for (_, bias, slope, asymmetry, tail, lapse), factor in zip(hypotheses._MAPS, found, strict=True):
        if asymmetry or tail:
            continue
        t = bias + (1 + slope) * s
        q = (1 - lapse) * expit(t) + lapse / 2
        expected = ONE.positive @ (np.log(q) - log_expit(s)) + negative @ (np.log1p(-q) - log_expit(-s))
        assert factor == pytest.approx(expected, rel=1e-9)
    assert hypotheses.row_factors(counts([0.0, 1.0], [3, 2], [0, 2])).tolist() == [0.0] * 64


def test_factors_of_distributions_are_ratios_of_probability():
    found = hypotheses.row_factors(PIT)
    for (_, shift, width), factor in zip(hypotheses._PIT_MAPS, found, strict=True):
        mass = ndtr((PIT.high - shift) / width) - ndtr((PIT.low - shift) / width)
        assert factor == pytest.approx(PIT.total @ np.log(mass / (ndtr(PIT.high) - ndtr(PIT.low))), rel=1e-9)


def test_scores_are_sums_of_residuals():
    score, covariance = hypotheses.scores(ONE)
    s, residual = ONE.log_odds, ONE.positive - ONE.total * ONE.p
    variance = ONE.total * ONE.p * (1 - ONE.p)
    assert score[:2] == pytest.approx([residual.sum(), residual @ s])
    assert covariance[0, 0] == pytest.approx(variance.sum())
    assert [covariance[0, 1], covariance[1, 0]] == pytest.approx([variance @ s] * 2)
    assert covariance[1, 1] == pytest.approx(variance @ s**2)


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 40])
def test_factors_of_periods_are_bounded_by_their_variance(n):
    rng = np.random.default_rng(n)
    z, v = rng.normal(0, 2, (n, 3)), rng.uniform(0.5, 2, (n, 3))
    found = hypotheses.standardised(z, v).reshape(n, 3, -1)
    for at in range(n):
        unit = np.sqrt(v[: at + 1].mean(axis=0))
        x = z[at] / unit
        before = np.array([(z[k] / np.sqrt(v[: k + 1].mean(axis=0))) ** 2 for k in range(at)])
        known = before.mean(axis=0) if at else np.zeros(3)
        wide = np.maximum(v[at] / unit**2, known) * (1 + 2 * math.sqrt(2 / max(at, 1)))
        for k, size in enumerate(hypotheses._SIZES):
            t = x * size
            expected = t - t**2 / 2 if at < 20 else t - t**2 / 6 - wide * size**2 / 3
            assert found[at, :, k] == pytest.approx(expected)


@pytest.mark.parametrize(("odds", "periods"), [(10, 11), (20, 13), (50, 15), (100, 16), (1000, 21)])
def test_the_earliest_alarm_is_that_of_a_gross_error(odds, periods):
    """Each of three phases has every third period, and the alarm comes with the first of a phase."""
    assert hypotheses.fewest_periods(math.log(odds), 1) == periods
    assert hypotheses.fewest_periods(math.log(odds), 3) == 3 * (periods - 1) + 1


def test_what_dates_an_error_is_scaled_by_how_periods_vary():
    series = [ONE, TWO, ONE]
    z, v = hypotheses._in_directions(series)
    by_hand = []
    for direction in hypotheses._DIRECTIONS:
        each = [hypotheses.scores(one) for one in series]
        by_hand.append([(direction @ score, direction @ covariance @ direction) for score, covariance in each])
    assert z == pytest.approx(np.array(by_hand)[:, :, 0].T)
    assert v == pytest.approx(np.array(by_hand)[:, :, 1].T)
    x = z / v
    steps = [(x[k + 1] - x[k]) ** 2 / (1 / v[k + 1] + 1 / v[k]) for k in range(2)]
    excess = np.maximum(np.mean(steps, axis=0), 1)
    assert hypotheses._excess(z, v) == pytest.approx(excess)
    assert hypotheses.spread(series) == pytest.approx((excess[0], excess[1]))
    ratios = hypotheses.dating_ratios(series).reshape(3, 6, 32)
    for k, size in enumerate(hypotheses._EFFECTS):
        assert ratios[:, :, k] == pytest.approx((z * size - v * size**2 / 2) / excess)
    assert hypotheses._excess(np.zeros((1, 2)), np.ones((1, 2))).tolist() == [1, 1]
    gap = hypotheses._excess(np.array([[1.0], [0.0], [5.0]]), np.array([[1.0], [0.0], [1.0]]))
    assert gap.tolist() == [1]


def test_events_have_names():
    assert event_labels((0, 1), 0) == (0, 1)
    assert event_labels(("a", "b", "c"), 0) == ("not", "most probable class")
    assert [event_labels(("a", "b", "c"), k)[1] for k in (1, 3)] == ["a", "c"]
    assert [event_name(labels, 1) for labels in ((), (0, 1), ("a", "b", "c"))] == ["", "", "a"]
    assert event_name(("a", "b", "c"), 2) == "b"


@pytest.mark.parametrize(("n", "kept"), [(100, 100), (101, 4)])
def test_many_log_odds_of_a_cell_become_four(n, kept):
    s = 0.5 + np.linspace(0.001, 0.002, n)
    total, positive = np.ones(n), (np.arange(n) % 3 == 0).astype(float)
    nodes = Nodes.of(s, total, positive)
    assert nodes.s.size == kept
    assert nodes.rows == pytest.approx(n)
    assert nodes.mean == pytest.approx(expit(s).mean())
    assert nodes.frequency == pytest.approx(positive.mean())
    assert nodes.total @ nodes.s**2 == pytest.approx((s**2).sum())
    twice = Nodes.of(np.array([0.5, 0.5 + 4e-10, 1.0]), np.ones(3), np.ones(3))
    assert twice.s.tolist() == [0.5, 1.0]
    assert twice.total.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("level", "by_mean", "periods"),
    [(0.1, True, 16), (0.05, True, 17), (0.01, True, 19), (0.1, False, 25), (0.05, False, 26), (0.01, False, 27)],
)
def test_a_clear_change_halfway_is_seen_after_some_periods(level, by_mean, periods):
    assert enough_periods(level, by_mean=by_mean) == periods


@pytest.mark.parametrize(
    ("n", "points", "first"), [(1, 1, "0"), (40, 40, "0"), (41, 21, "0"), (80, 40, "0"), (81, 27, "0")]
)
def test_control_charts_have_forty_points_at_most(n, points, first):
    names = [f"{at}" for at in range(n)]
    found = control_points(names, [ONE] * n, limits=True)
    assert len(found) == points
    assert (found[0].first, found[-1].last) == (first, f"{n - 1}")
    assert sum(each.rows for each in found) == 80 * n


def test_points_without_rows_know_nothing():
    empty = point_of([], [], limits=True)
    assert (empty.first, empty.last, empty.rows) == ("", "", 0)
    assert math.isnan(empty.bias)
    certain = point_of(["a", "b"], [counts([0.0], [3], [0])] * 2, limits=True)
    assert (certain.first, certain.last, certain.rows) == ("a", "b", 0)
    assert (
        point_of(["a"], [ONE], limits=False).bias_interval.low != point_of(["a"], [ONE], limits=True).bias_interval.low
    )
    assert math.isnan(point_of(["a"], [ONE], limits=False).bias_interval.low)
    few = point_of(["a"], [counts([0.5], [2], [2])], limits=True)  # no finite log-odds
    assert math.isnan(few.bias)


def test_dispersion_compares_successive_periods():
    series = [ONE, TWO, ONE, TWO]
    z, v = (np.array(x) for x in zip(*((s[0], c[0, 0]) for s, c in map(hypotheses.scores, series)), strict=True))
    x = z / v
    own = 1 / v[1:] + 1 / v[:-1]
    squares = np.diff(x) ** 2 / own
    for breaks, some in (([], [1, 1, 1]), ([1], [0, 1, 1]), ([2], [1, 0, 1]), ([3], [1, 1, 0])):
        same = np.array(some, bool)
        number = same.sum()
        shared = sum(1 / (v[k + 1] ** 2 * own[k] * own[k + 1]) for k in range(2) if same[k] and same[k + 1])
        freedom = number**2 / (number + 2 * shared)
        ratio, p = dispersion(series, breaks)
        assert ratio == pytest.approx(squares[same].mean())
        assert p == pytest.approx(stats.chi2.sf(ratio * freedom, freedom))
    assert np.isnan(dispersion([ONE, TWO], [1])).all()
    assert np.isnan(dispersion([ONE], [])).all()


def test_summaries_are_moments_of_log_odds():
    found = summary_of([ONE, TWO])
    p, n = np.concatenate([ONE.p, TWO.p]), np.concatenate([ONE.total, TWO.total])
    s = np.log(p / (1 - p))
    mean = s @ n / n.sum()
    assert found.rows == 150
    assert found.mean == pytest.approx(p @ n / 150)
    assert found.log_odds == pytest.approx(mean)
    assert found.spread == pytest.approx(math.sqrt(((s - mean) ** 2 @ n) / 149))
    nothing, some = summaries([None, counts([0.3], [1], [1])])
    assert nothing.rows == 0
    assert (some.rows, some.mean) == (1, pytest.approx(0.3))
    assert math.isnan(some.spread)


def test_bins_have_about_equal_shares():
    p = np.linspace(0.01, 0.99, 24)
    first = [counts(p, np.full(24, 5), np.zeros(24)), counts([0.5, 1.0], [10, 6], [5, 6])]
    found = Shares.of(first)
    assert found.rows == 136
    assert found.usual.sum() == pytest.approx(1)
    together = EventCounts.together(first)
    number = np.bincount(np.searchsorted(found.edges, together.p), together.total, found.edges.size + 1) + 0.5
    assert found.usual[:-1] == pytest.approx(number / (number.sum() + 6.5))
    assert found.usual[-1] == pytest.approx(6.5 / (number.sum() + 6.5))
    assert 8 <= found.edges.size <= 11
    expected = []
    for each in first:
        seen = np.append(
            np.bincount(np.searchsorted(found.edges, each.p), each.total, found.edges.size + 1), each.certain
        )
        chi = ((seen - each.rows * found.usual) ** 2 / (each.rows * found.usual)).sum()
        expected.append(chi / each.rows - (found.usual.size - 1) * (1 / each.rows - 1 / 136))
    assert found.vary == pytest.approx(max(0, np.mean(expected)))
    moved = found.moved([first[0]], [first[1]])
    assert moved.low < 0.5 <= moved.high or moved.low == moved.high == 1.0


def test_ranks_of_successive_periods_are_correlated():
    values = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 5.0])
    ratio, p = _resemblance(values, [])
    ranks = np.array([1, 2, 3, 4, 5]) - 3.0
    expected = (ranks[:-1] @ ranks[1:]) / (ranks @ ranks)
    assert ratio == pytest.approx(expected)
    assert p == pytest.approx(stats.norm.sf(expected * math.sqrt(5)))
    two, _ = _resemblance(np.array([1.0, 2, 3, 9, 7, 8, 6]), [3])
    parts = [np.array([-1.0, 0, 1]) / 3, np.array([1.5, -0.5, 0.5, -1.5]) / 4]
    assert two == pytest.approx(sum(x[:-1] @ x[1:] for x in parts) / sum(x @ x for x in parts))
    tied, _ = _resemblance(np.array([1.0, 1.0, 2.0]), [])
    assert tied == pytest.approx((0.25 - 0.5) / 1.5)
    assert np.isnan(_resemblance(np.array([1.0, 2.0]), [])).all()
