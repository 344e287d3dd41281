"""Rows that a tally keeps, and the calibrated samples that are drawn by them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from unperplexed import InputError, Tally, calibration_test
from unperplexed.calibration.null_samples import calibrated
from unperplexed.calibration.resampling import coarse_counts
from unperplexed.kernels.rows import COARSE
from unperplexed.tally.counter import ROOM, _nth_distinct


def forecasts(rng, n, classes):
    p = rng.dirichlet(np.ones(classes), n)
    return drawn(rng, p), p


def resampled(*data, **settings):
    """The test that draws samples, by the rows that are kept."""
    return calibration_test(*data, test="resampled", **settings)


def drawn(rng, p):
    return (p.cumsum(axis=1)[:, :-1] < rng.random((len(p), 1))).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, ROOM // 4 + 5000])
def test_the_same_in_any_split_and_order_of_rows(rng, n):
    y, p = forecasts(rng, n, 4)
    whole = Tally.of(y, p)
    parts = [Tally.of(y[i], p[i], labels=range(4)) for i in np.array_split(rng.permutation(n), 7)]
    assert whole.row_sample.cells.shape == (min(n, ROOM // 4), 4)
    for other in (sum(parts, Tally()), Tally.from_bytes(whole.to_bytes())):
        for name, column in vars(whole.row_sample).items():
            assert (getattr(other.row_sample, name) == column).all()
        assert resampled(other) == resampled(whole)
    assert resampled(y, p) == resampled(whole)


def test_equal_rows_are_kept_once_with_their_number(rng):
    y, p = forecasts(rng, 100, 3)
    once, often = Tally.of(y, p), Tally.of(np.repeat(y, 5), np.repeat(p, 5, axis=0))
    assert (often.row_sample.cells == once.row_sample.cells).all()
    assert (often.row_sample.count == 5).all()
    twice = Tally.of(y, p, sample_weight=np.full(100, 2.0))
    assert (twice.row_sample.count == 1).all()


def test_rows_without_weight_are_not_there(rng):
    y, p = forecasts(rng, 200, 3)
    weights = np.repeat([1.0, 0.0], [150, 50])
    some, all_ = Tally.of(y[:150], p[:150], labels=range(3)), Tally.of(y, p, sample_weight=weights)
    assert (some.row_sample.key == all_.row_sample.key).all()
    assert not all_.uneven
    assert resampled(all_).p_value == resampled(some).p_value


def test_what_the_samples_keep_to(rng):
    y, p = forecasts(rng, 300, 3)
    tally = Tally.of(y, p)
    assert resampled(tally).by == "rows"
    assert resampled(replace(tally, row_sample=None)).by == "pairs"
    assert resampled(y, p, sample_weight=rng.random(300)).by == "shards"
    assert Tally.of([0, 1, 1], [0.2, 0.7, 0.6]).row_sample is None
    assert resampled([0, 1, 1], [0.2, 0.7, 0.6]).by == "rows"


def test_the_score_test_needs_more_than_the_rows_that_are_kept(rng):
    y, p = forecasts(rng, 300, 3)
    with pytest.raises(InputError, match="test: with more than two classes a tally needs .* test='resampled'"):
        calibration_test(replace(Tally.of(y, p), diagnosis=None))
    score, sums = calibration_test(y, p), calibration_test(Tally.of(y, p))
    assert (sums.by, sums.p_value) == ("sums", pytest.approx(score.p_value, abs=2e-3))
    assert (score.by, resampled(y, p).by) == ("rows", "rows")
    assert score.statistic != resampled(y, p).statistic


def test_only_ratios_of_weights_matter(rng):
    y, p = forecasts(rng, 200, 3)
    plain, weighted = resampled(y, p), resampled(y, p, sample_weight=np.full(200, 3.0))
    assert (weighted.p_value, weighted.by) == (plain.p_value, "rows")
    assert weighted.statistic == pytest.approx(plain.statistic, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, ROOM])
def test_one_class_happens_in_each_row(n):
    """Of rows that all say .5, .3, .2 what happens is multinomial, drawn row by row or together."""
    p = np.array([0.5, 0.3, 0.2])
    tally = Tally.of(np.zeros(n, dtype=int), np.tile(p, (n, 1)), labels=range(3))
    (happened, total), by_row = calibrated(tally, coarse_counts(tally), 20_000, np.random.default_rng(1))
    assert by_row
    assert happened.sum(axis=1) == pytest.approx(np.full(20_000, n), abs=1e-4 * n)
    assert (total == n).all()
    assert happened.mean(axis=0) == pytest.approx(n * p[::-1], abs=5 * np.sqrt(n / 4 / 20_000))
    expected = n * (np.diag(p) - np.outer(p, p))[::-1, ::-1]
    assert np.cov(happened.T) == pytest.approx(expected, abs=5 * n / 4 * np.sqrt(2 / 20_000))


@pytest.mark.slow
def test_counts_drawn_together_are_those_drawn_row_by_row(rng):
    """Twice the rows that there is room for: means, variances, correlations and skewness of the cells."""
    n = 2 * (ROOM // 5)
    y, p = forecasts(rng, n, 5)
    tally = Tally.of(y, p)
    counts = coarse_counts(tally)
    together = calibrated(tally, counts, 1000, rng)[0].happened
    cell = np.searchsorted(counts.codes, np.sort(_codes(p), axis=1))
    rows = np.zeros((1000, counts.reported.size))
    q = np.take(counts.reported, cell)
    q /= q.sum(axis=1, keepdims=True)
    for at in range(1000):
        rows[at] = np.bincount(cell[np.arange(n), drawn(rng, q)], minlength=counts.reported.size)
    some = rows.mean(axis=0) > 5
    deviation = rows.std(axis=0)[some]
    assert (np.abs(together.mean(axis=0) - rows.mean(axis=0))[some] < 0.25 * deviation).all()
    assert together.std(axis=0)[some] == pytest.approx(deviation, rel=0.15)
    assert np.corrcoef(together[:, some].T) == pytest.approx(np.corrcoef(rows[:, some].T), abs=0.16)
    skewness = [stats.skew(x[:, some], axis=0) for x in (together, rows)]
    assert skewness[0] == pytest.approx(skewness[1], abs=0.45)


def _codes(p):
    return COARSE.places(p.reshape(-1))[0].reshape(p.shape)


@pytest.mark.slow
def test_two_plausible_classes_a_row():
    """Pairs drawn each by itself reject nearly twice as often as they may where probability is on two classes."""
    rejected = 0
    for run in range(100):
        rng = np.random.default_rng([60, run])
        likely = rng.uniform(size=8000) * 0.98
        p = np.full((8000, 10), 0.02 / 8)
        first = rng.integers(0, 10, 8000)
        p[np.arange(8000), first], p[np.arange(8000), (first + 3) % 10] = likely, 0.98 - likely
        rejected += resampled(drawn(rng, p), p, resamples=99, seed=run).p_value <= 0.05
    assert rejected <= stats.binom.ppf(0.9999, 100, 0.05)


@pytest.mark.parametrize("n", [1, 3, 7])
def test_the_lowest_keys_are_found_among_many_equal_ones(rng, n):
    for key in (
        rng.integers(0, 1000, 200),
        np.repeat(rng.permutation(9), [90, 1, 1, 1, 50, 2, 30, 1, 60]),
        np.arange(2),
    ):
        assert _nth_distinct(key, n) == np.unique(key)[:n][-1]
