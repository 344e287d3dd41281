"""Samples of calibrated shards whose rows go together have the moments that the test is corrected by."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, gamma, kstest, skew, ttest_1samp

from unperplexed import Tally, calibration_test
from unperplexed.calibration.clustered_test import (
    CalibratedShardSums,
    _calibrated,
    _independent,
    _intraclass_correlation,
    _t,
    independent_rows,
    independent_share,
    score_test,
)
from unperplexed.calibration.resampling import CellCounts, Sample, coarse_counts
from unperplexed.results import CalibrationTest

LEVEL = np.array([0.2, 0.5, 0.3])
SUMS = np.array([[-1.0, 0.5, 2.0], [0.3, -2.0, 1.0]])


def several_classes():
    return CalibratedShardSums(
        LEVEL,
        SUMS,
        np.array([[4.0, 2.0, 0.0], [5.0, 3.0, 1.0]]),
        np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]),
        np.array([-3.0, -1.0, -0.5, -0.2]),
    )


def two_classes():
    return CalibratedShardSums(LEVEL, SUMS, np.zeros_like(SUMS), np.empty((2, 0)), np.empty(0))


def outcomes(sums, shard):
    """Each value a shard's sum can have, with its probability."""
    for at, p in enumerate(sums.level):
        for chance, odds in zip(sums.other[shard], sums.odds, strict=True):
            yield sums.sums[shard, at] + sums.rows[shard, at] * odds, p * chance
        if not sums.odds.size:
            yield sums.sums[shard, at], p


@pytest.mark.parametrize("sums", [several_classes(), two_classes()], ids=["several classes", "two classes"])
def test_moments_are_those_of_all_that_can_happen(sums):
    second, third = sums.moments()
    for shard in range(2):
        value, p = np.array([*outcomes(sums, shard)]).T
        assert p.sum() == pytest.approx(1)
        assert second[shard] == pytest.approx(value**2 @ p, rel=1e-12)
        assert third[shard] == pytest.approx(value**3 @ p, rel=1e-12)


@pytest.mark.parametrize("sums", [several_classes(), two_classes()], ids=["several classes", "two classes"])
def test_what_is_drawn_has_these_probabilities(sums):
    shards, samples = np.array([1, 0, 1]), 4000
    drawn = sums.drawn(shards, samples, np.random.default_rng(3))
    assert drawn.shape == (samples, 3)
    for column, shard in enumerate(shards):
        value, p = np.array([*outcomes(sums, shard)]).T
        for each in np.unique(value.round(9)):
            expected = p[value.round(9) == each].sum()
            found = (drawn[:, column].round(9) == each).mean()
            assert abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / samples), (shard, each)
        assert np.isin(drawn[:, column].round(9), value.round(9)).all()


def test_cells_are_in_the_neighbourhood_of_their_middle():
    """Sixteen of equal weight. The third cell lies across the end of the first; its middle is still in it."""
    weight = np.array([30.0, 60.0, 18.0, 92.0, *[100.0] * 14])
    more = np.where(np.arange(10) % 2, 1.5, 0.5)[:, None]
    happened = weight / 10 * np.where(np.isin(np.arange(18), [1, 2]), 2 - more, more)  # where others have more, less

    def share(*first):
        """What part is worth as much, of cells that begin at these."""
        h, w = (np.add.reduceat(x, [*first, *range(3, 18)], axis=-1) for x in (happened, weight))
        total = Sample(h, np.broadcast_to(w / 5, h.shape))
        return independent_share(CellCounts(np.linspace(0.1, 0.9, w.size), Sample(w, 2 * w), False, total))

    assert share(0, 1, 2) == pytest.approx(share(0), rel=1e-12)
    weight[0] = 100.0  # then the others are in the second
    assert abs(share(0, 1, 2) - share(0)) > 1e-4


@pytest.mark.parametrize("outcome", [0, 1])
def test_what_was_called_impossible_and_came_is_overconfidence_without_end(outcome):
    """In clusters as anywhere: no other sample of calibrated forecasts has as much."""
    y, p = np.tile([0, 1], 20), np.tile([0.3, 0.7], 20)
    p[outcome] = 1.0 - outcome
    found = calibration_test(y, p, clusters=np.arange(40) // 4, test="resampled", resamples=99)
    assert (found.statistic, found.p_value) == (-np.inf, 0.02)


def clustered(shards=7, rows=6, classes=2, seed=0, values=(0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)):
    """Rows of shards: outcomes, probabilities of each class, and the same as counted in cells."""
    rng = np.random.default_rng(seed)
    first = rng.choice(values, (shards, rows))
    rest = [1.0] if classes == 2 else [0.7, 0.3]
    p = np.stack([first, *(((1 - first) * share).round(9) for share in rest)], axis=-1)
    event = rng.random((shards, rows))[..., None] < np.cumsum(p, axis=-1)
    y = event.argmax(axis=-1)
    reported = np.unique(p)
    cell = np.searchsorted(reported, p)
    total, happened = np.zeros((2, shards, reported.size))
    for shard in range(shards):
        np.add.at(total[shard], cell[shard], 1.0)
        np.add.at(happened[shard], cell[shard][np.arange(rows), y[shard]], 1.0)
    whole = Sample(happened.sum(axis=0), total.sum(axis=0))
    return y, p, CellCounts(reported, whole, classes == 2, Sample(happened, total))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_statistic_is_the_t_of_the_scores_of_shards(classes):
    y, p, counts = clustered(classes=classes)
    scores = ((np.eye(classes)[y] - p) * logit(p)).sum(axis=(1, 2))
    statistic, p_value = score_test(counts, True, 99, np.random.default_rng(0))
    assert statistic == pytest.approx(ttest_1samp(scores, 0).statistic, rel=1e-9)
    assert 0 < p_value <= 1


@pytest.mark.parametrize(
    ("shards", "told"), [(1, (False, False)), (2, (True, False)), (5, (True, False)), (6, (True, True))]
)
def test_few_shards_have_no_p_value_and_one_has_no_t(shards, told):
    found = score_test(clustered(shards)[2], True, 99, np.random.default_rng(0))
    assert tuple(np.isfinite(found)) == told


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("grouped", [True, False])
def test_the_p_value_is_twice_the_share_of_samples_that_are_as_far_on_its_side(classes, grouped):
    """The rows of a group go together as far as their outcomes say; without groups each row is drawn by itself."""
    for seed in range(4):
        _, _, counts = clustered(classes=classes, seed=seed)
        happened, total = counts.shards
        odds, high = logit(counts.reported), counts.reported > 0.5
        correlation = _intraclass_correlation(happened[:, high], total[:, high]) if grouped else 0.0
        parts = np.full(7, 6 / (1 + 5 * correlation))
        sums = _calibrated(CalibratedShardSums.of(counts, odds), parts, 499, np.random.default_rng(seed))
        null = ttest_1samp(sums, 0, axis=1).statistic
        found, p_value = score_test(counts, grouped, 499, np.random.default_rng(seed))
        as_far = min((null <= found).sum(), (null >= found).sum())
        assert p_value == pytest.approx(min(2 * (1 + as_far) / 500, 1), abs=1e-12)


@pytest.mark.parametrize("seed", [0, 3])
def test_samples_with_the_same_statistic_are_as_far_on_either_side(seed):
    """One row a shard, all of one probability: the statistic is a function of the number of hits."""
    y, p, counts = clustered(8, 1, seed=seed, values=[0.7])
    hits = (y == p.argmax(axis=-1)).sum()
    found, p_value = score_test(counts, False, 999, np.random.default_rng(0))
    below, above = binom.cdf(hits, 8, 0.7), binom.sf(hits - 1, 8, 0.7)
    assert p_value == pytest.approx(min(2 * min(below, above), 1), abs=0.1)


@pytest.mark.parametrize("hits", [0, 6])
def test_equal_sums_are_as_far_as_samples_whose_sums_are_equal(hits):
    """The statistic is infinite, as it is of samples with all hits or none."""
    happened = np.where([True, False], hits / 6, 1 - hits / 6) * np.ones((6, 1))
    shards = Sample(happened[:, ::-1], np.ones((6, 2)))
    counts = CellCounts(np.array([0.4, 0.6]), Sample(*(x.sum(axis=0) for x in shards)), True, shards)
    found, p_value = score_test(counts, False, 1999, np.random.default_rng(0))
    assert found == (np.inf if hits else -np.inf)
    chance = 0.6**6 if hits else 0.4**6
    assert p_value == pytest.approx(2 * chance, abs=9 * np.sqrt(chance / 2000))


def test_forecasts_of_one_half_alone_say_nothing_of_confidence():
    assert score_test(clustered(values=[0.5])[2], True, 99, np.random.default_rng(0)) == (0, 1)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("values", [(0.2, 0.6, 0.8), (0.5,)])
def test_the_statistic_does_not_depend_on_the_unit_of_weights(scale, values):
    _, _, counts = clustered(values=values)
    scaled = replace(counts, shards=Sample(*(scale * x for x in counts.shards)))
    plain, found = (score_test(each, False, 99, np.random.default_rng(0))[0] for each in (counts, scaled))
    assert found == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_one_certain_class_that_was_wrong_suffices(certain):
    """Pairs of one class, so that the other class does not say it again."""
    happened, total = np.zeros((7, 2)), np.ones((7, 2))
    happened[0, 0], happened[:, 1] = 1 - certain, certain
    happened[0, 1] = 1 - certain
    shards = Sample(happened, total)
    counts = CellCounts(np.array([0.3, certain]), Sample(*(x.sum(axis=0) for x in shards)), False, shards)
    assert score_test(counts, True, 99, np.random.default_rng(0)) == (-np.inf, 0.02)


def test_log_odds_beyond_30_are_30():
    """A probability of 1e-13 and any below it say the same."""
    _, _, counts = clustered()
    happened, total = (np.insert(x, 0, [2, 0, 0, 1, 0, 0, 0], axis=1) for x in counts.shards)

    def statistic(p):
        shards = Sample(happened, 3 * total)
        whole = Sample(*(x.sum(axis=0) for x in shards))
        extended = CellCounts(np.insert(counts.reported, 0, p), whole, False, shards)
        return score_test(extended, True, 99, np.random.default_rng(0))[0]

    farthest = expit(-30.0)
    assert statistic(1e-300) == pytest.approx(statistic(farthest), rel=1e-9)
    assert statistic(10 * farthest) != pytest.approx(statistic(farthest), rel=1e-3)


def test_a_certain_class_that_came_says_nothing():
    """Not even in shards that have no such row."""
    _, _, counts = clustered()
    happened, total = counts.shards
    more = np.array([[3.0], [0.0], [1.0], [0.0], [2.0], [0.0], [0.0]])
    shards = Sample(np.hstack([0 * more, happened, more]), np.hstack([more, total, more]))
    whole = Sample(*(x.sum(axis=0) for x in shards))
    certain = CellCounts(np.hstack([0.0, counts.reported, 1.0]), whole, True, shards)
    plain, found = (score_test(each, True, 99, np.random.default_rng(0))[0] for each in (counts, certain))
    assert found == pytest.approx(plain, rel=1e-9)


def test_t_of_equal_sums_is_infinite_and_of_zeros_0():
    sums = np.array([[1.0, 2, 4, -1], [3, 3, 3, 3], [-2, -2, -2, -2], [0, 0, 0, 0], [1e-12, -2e-12, 1e-12, 0]])
    expected = [ttest_1samp(sums[0], 0).statistic, np.inf, -np.inf, 0, 0]
    np.testing.assert_allclose(_t(sums, 1e-9), expected, rtol=1e-12)


def test_rows_of_clusters_are_worth_what_kish_says():
    np.testing.assert_allclose(_independent(np.array([5.0, 1.0, 0.5]), np.full(3, 12.0), 0.5), [4, 12, 12])


def test_the_correlation_is_that_of_pairs_of_rows():
    """By every two rows with the same predicted probability: how much rarer those of a shard differ than others."""
    rng = np.random.default_rng(1)
    shard, cell = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    y = (rng.random(40) < np.array([0.2, 0.5, 0.9, 0.6])[shard]).astype(int)
    total, happened = np.zeros((2, 4, 3))
    np.add.at(total, (shard, cell), 1.0)
    np.add.at(happened, (shard, cell), y)
    differ, expected = 0, 0.0
    for c in range(3):
        pairs = [(y[i] != y[j], shard[i] == shard[j]) for i, j in combinations(np.flatnonzero(cell == c), 2)]
        between = np.mean([unlike for unlike, together in pairs if not together])
        differ += sum(unlike for unlike, together in pairs if together)
        expected += between * sum(together for _, together in pairs)
    assert 0.05 < 1 - differ / expected < 0.95
    assert _intraclass_correlation(happened, total) == pytest.approx(1 - differ / expected, rel=1e-12)


def test_the_correlation_of_weighted_counts():
    """The same sums over pairs; a cell may hold less than one row of two shards."""
    rng = np.random.default_rng(1)
    total = rng.uniform(1.5, 4, (10, 4))
    total[:, 3] = [1.4, 0.4, *[0.0] * 8]
    happened = total * np.where(np.arange(10) % 2, 0.1, 0.9)[:, None]
    others = ~np.eye(10, dtype=bool)
    differ, expected = 0.0, 0.0
    for h, t in zip(happened.T, total.T, strict=True):
        between = (h[:, None] * (t - h))[others].sum() / ((t[:, None] * t)[others].sum() / 2)
        differ += (h * (t - h)).sum()
        expected += between * (t * (t - 1)).sum() / 2
    assert 0.05 < 1 - differ / expected < 0.95
    assert _intraclass_correlation(happened, total) == pytest.approx(1 - differ / expected, rel=1e-12)


@pytest.mark.parametrize(
    ("happened", "total", "correlation"),
    [
        ([[4, 0], [0, 4]], 4, 1),  # copies
        ([[2, 2], [2, 2]], 4, 0),  # more even than chance
        ([[1], [0]], [[2], [1]], 0),
        ([[0, 0], [0, 0]], 4, 1),  # no event
        ([[2, 1]], 4, 1),  # one shard
    ],
)
def test_correlations_at_the_ends(happened, total, correlation):
    happened, total = np.broadcast_arrays(np.array(happened, float), np.array(total, float))
    assert _intraclass_correlation(happened, total) == correlation


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("copies", [1, 3])
def test_copies_of_independent_rows_are_worth_one(one_sided, copies):
    rng = np.random.default_rng(2)
    cell, y = np.arange(60) // 2 % 20, rng.integers(0, 2, 60).astype(float)
    total, happened = np.zeros((2, 60, 20))
    total[np.arange(60), cell], happened[np.arange(60), cell] = copies, copies * y
    whole = Sample(happened.sum(axis=0), total.sum(axis=0))
    counts = CellCounts(np.linspace(0.1, 0.9, 20), whole, False, Sample(happened, total), one_sided=one_sided)
    assert independent_share(counts) == pytest.approx(1 / copies, rel=1e-12)


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_share_is_that_of_sixteen_neighbourhoods(one_sided):
    """Cell by cell: of equal weight in what happened, or in the variance of what did where there is one class."""
    rng = np.random.default_rng(5)
    total = rng.integers(0, 5, (9, 400)).astype(float)
    total[0] += 1
    happened = rng.binomial(total.astype(int), rng.beta(2, 2, (9, 1)) * np.linspace(0, 1, 400)).astype(float)
    h, n = happened.sum(axis=0), total.sum(axis=0)
    often = (h + 0.5) / (n + 1)
    weight = often * (1 - often) * (n + 1) if one_sided else h
    near = [int(16 * (weight[:cell].sum() + weight[cell] / 2) / weight.sum()) for cell in range(400)]
    worth = 0.0
    groups = [np.flatnonzero(np.array(near) == each) for each in range(16)]
    both = [np.stack([x[:, here].sum(axis=1) for here in groups], axis=1) for x in (happened, total)]
    correlation = _intraclass_correlation(*both)
    for of in both[1].T:
        others = (of * (of - 1)).sum() / of.sum()  # how many a pair has beside it in its shard
        worth += of.sum() / (1 + others * correlation)
    assert 0 < correlation < 1
    counts = CellCounts(np.linspace(0, 1, 400), Sample(h, n), False, Sample(happened, total), one_sided=one_sided)
    assert independent_share(counts) == pytest.approx(worth / n.sum(), rel=1e-12)


def test_cells_of_which_shards_have_nothing_count_for_nothing():
    happened, total = np.array([[1.0, 0, 2], [2, 0, 0], [0, 0, 1]]), np.array([[3.0, 0, 4], [2, 0, 3], [1, 0, 1]])
    whole = Sample(np.array([3.0, 900, 3]), np.array([6.0, 900, 8]))
    counts = CellCounts(np.array([0.2, 0.5, 0.8]), whole, False, Sample(happened, total))
    there = replace(counts, shards=Sample(happened[:, ::2], total[:, ::2]), counted=Sample(*(x[::2] for x in whole)))
    assert independent_share(counts) == pytest.approx(independent_share(replace(there, reported=counts.reported[::2])))


def test_weights_and_copies_are_worth_fewer_rows():
    """Kish's number for weights; copies of a row that lie in one group are one row; groups of one row are none."""
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 2, 60), np.repeat(rng.uniform(0.1, 0.9, 20), 3).round(2)
    weight, copied = rng.uniform(1, 4, 60), [np.repeat(x, 4) for x in (y, p, np.arange(60))]

    def rows(y, p, **settings):
        tally = Tally.of(y, p, parts=["shards"], **settings)
        return independent_rows(tally, "all-classes") * tally.weight

    assert independent_rows(Tally.of(y, p), "all-classes") == 1
    assert rows(y, p, sample_weight=weight) == pytest.approx(weight.sum() ** 2 / (weight @ weight), rel=1e-9)
    # Rows that happen to be in one shard are no cluster, however alike.
    draw = np.random.default_rng(5)
    y, p, w = draw.integers(0, 2, 3000), np.full(3000, 0.4), draw.uniform(1, 1.1, 3000)
    assert independent_share(coarse_counts(Tally.of(y, p, sample_weight=w, parts=["shards"]))) < 0.95
    assert rows(y, p, sample_weight=w) == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-9)
    assert rows(*copied[:2], clusters=copied[2]) == pytest.approx(60, rel=0.15)


def test_the_sums_of_a_calibrated_shard_of_two_classes_by_hand():
    """All rows go together: the class above 1/2 occurs where its probability is above one level for all."""
    _, p, counts = clustered(classes=2)
    found = CalibratedShardSums.of(counts, logit(counts.reported))
    ends = np.append(np.unique(p[p > 0.5]), 1.0)
    np.testing.assert_allclose(found.level, np.diff(ends, prepend=0.0), rtol=1e-12)
    high = p.max(axis=-1)
    for at, level in enumerate(ends - 1e-6):
        score = 2 * np.where(high > level, 1 - high, -high) * logit(high)
        np.testing.assert_allclose(found.sums[:, at], score.sum(axis=1), rtol=1e-9, atol=1e-12)


def test_the_sums_of_a_calibrated_shard_of_three_classes_by_hand():
    _, p, counts = clustered(classes=3)
    odds = logit(counts.reported)
    found = CalibratedShardSums.of(counts, odds)
    ends = np.append(np.unique(p[p > 0.5]), 1.0)
    for at, level in enumerate(ends - 1e-6):
        occurs = p > max(level, 0.5)
        np.testing.assert_allclose(found.rows[:, at], 6 - occurs.sum(axis=(1, 2)))
        score = ((occurs - p) * logit(p)).sum(axis=(1, 2))
        np.testing.assert_allclose(found.sums[:, at], score, rtol=1e-9, atol=1e-12)
    low = np.where(p > 0.5, 0, p).reshape(7, -1)
    odds_of_other = (low * logit(p).reshape(7, -1)).sum(axis=1) / low.sum(axis=1)
    np.testing.assert_allclose(found.other @ found.odds, odds_of_other, rtol=1e-9)
    mean = (found.sums + found.rows * odds_of_other[:, None]) @ found.level
    np.testing.assert_allclose(mean, 0, atol=1e-12)  # as calibrated


@pytest.mark.parametrize("classes", [2, 3])
def test_means_of_independent_parts_have_their_variance_and_skewness(classes):
    """Parts are drawn one by one up to eight, and their mean from a gamma distribution beyond."""
    sums = CalibratedShardSums.of(counts := clustered(classes=classes)[2], logit(counts.reported))
    sums = replace(sums, sums=sums.sums / 10, odds=sums.odds / 10)
    second, third = sums.moments()
    parts = np.array([0.3, 1.4, 3, 8, 8.6, 20, 60])
    drawn = _calibrated(sums, parts, 40_000, np.random.default_rng(0))
    parts = np.array([1, 1, 3, 8, 9, 20, 60])
    deviation = np.sqrt(second / parts)
    np.testing.assert_allclose(drawn.mean(axis=0) / deviation, 0, atol=0.025)
    np.testing.assert_allclose(drawn.std(axis=0) / deviation, 1, atol=0.025)
    np.testing.assert_allclose(skew(drawn), third / second**1.5 / np.sqrt(parts), atol=0.08)
    if classes == 2:  # a part has few values, so eight have not very many
        values = [np.unique(column.round(9)).size for column in drawn.T]
        assert max(values[:4]) < 20_000 < min(values[4:])


def test_means_of_many_rare_parts_have_a_gamma_distribution():
    p, parts, none = 0.02, 9, np.empty((2, 0))
    rare = CalibratedShardSums(
        np.array([1 - p, p]), np.array([[-p, 1 - p], [p, p - 1]]), np.zeros((2, 2)), none, np.empty(0)
    )
    drawn = _calibrated(rare, np.full(2, parts), 20_000, np.random.default_rng(1))
    shape = 4 * parts * p * (1 - p) / (1 - 2 * p) ** 2  # of skewness 2 / sqrt(shape)
    for column, sign in zip(drawn.T, (1, -1), strict=True):
        standard = sign * column / np.sqrt(p * (1 - p) / parts)
        assert kstest(standard * np.sqrt(shape) + shape, gamma(shape).cdf).pvalue > 0.01


def test_shards_without_an_uncertain_row_have_no_sum():
    assert not _calibrated(
        replace(two_classes(), sums=0 * SUMS), np.array([3.0, 40]), 9, np.random.default_rng(0)
    ).any()


def test_without_a_p_value_it_says_that_nothing_could_be_tested():
    assert str(CalibrationTest(float("nan"), float("nan"), "rows")).startswith("No p-value: nothing could be tested.")
