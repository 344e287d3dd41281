"""Samples of calibrated shards whose rows go together have the moments that the test is corrected by."""

import numpy as np
import pytest

from unperplexed import calibration_test
from unperplexed.calibration.clustered_test import CalibratedShardSums, independent_share
from unperplexed.calibration.resampling import CellCounts, Sample

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
    found = calibration_test(y, p, groups=np.arange(40) // 4, test="resampled", resamples=99)
    assert (found.statistic, found.p_value) == (-np.inf, 0.02)
