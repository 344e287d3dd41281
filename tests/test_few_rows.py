"""Rows that are kept while they are few, and the calibrated samples that are drawn from them."""

import numpy as np
import pytest

from unperplexed import Tally, calibration_test
from unperplexed._few_rows import ROOM
from unperplexed._resampling import coarse_counts


def forecasts(rng, n, classes):
    p = rng.dirichlet(np.ones(classes), n)
    return (p.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), p


def test_the_same_in_any_split_and_order_of_rows_and_classes(rng):
    y, p = forecasts(rng, 300, 4)
    whole = Tally.of(y, p)
    parts = [Tally.of(y[i], p[i], labels=range(4)) for i in np.array_split(rng.permutation(300), 7)]
    turned = rng.permutation(4)
    others = [sum(parts, Tally()), Tally.of(turned.argsort()[y], p[:, turned]), Tally.from_bytes(whole.to_bytes())]
    assert whole.few_rows.shape == (300, 4)
    for other in others:
        assert (other.few_rows == whole.few_rows).all()
        assert calibration_test(other) == calibration_test(whole) == calibration_test(y, p)


def test_many_rows_and_those_of_two_classes_are_not_kept(rng):
    y, p = forecasts(rng, ROOM // 16 + 1, 16)
    assert Tally.of(y, p).few_rows is None
    half = [Tally.of(y[i], p[i], labels=range(16)) for i in (slice(1000), slice(1000, None))]
    assert (half[0].few_rows is None, sum(half, Tally()).few_rows) == (False, None)
    assert Tally.of(y[:-1], p[:-1]).few_rows.size == ROOM
    assert Tally.of([0, 1, 1], [0.2, 0.7, 0.6]).few_rows is None
    for tally, by in (
        (Tally.of(y, p), "pairs"),
        (Tally.of(y[:-1], p[:-1]), "rows"),
        (Tally.of([0, 1], [0.2, 0.7]), "rows"),
    ):
        assert calibration_test(tally, resamples=40).by == by


def test_only_ratios_of_weights_matter(rng):
    y, p = forecasts(rng, 200, 3)
    plain, weighted = calibration_test(y, p), calibration_test(y, p, sample_weight=np.full(200, 3.0))
    assert (weighted.p_value, weighted.by) == (plain.p_value, "rows")
    assert weighted.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert calibration_test(y, p, sample_weight=rng.random(200)).by == "shards"


def test_one_class_happens_in_each_row():
    """Of rows that all say .5, .3, .2 what happens is multinomial: known means and covariances."""
    p, n = np.array([0.5, 0.3, 0.2]), 400
    counts = coarse_counts(Tally.of(np.zeros(n, dtype=int), np.tile(p, (n, 1)), labels=range(3)), 0.0, "floor")
    happened, total = counts.calibrated(20_000, np.random.default_rng(1))
    assert (happened.sum(axis=1) == n).all()
    assert (total == n).all()
    assert happened.mean(axis=0) == pytest.approx(n * p[::-1], abs=5 * np.sqrt(n / 4 / 20_000))
    expected = n * (np.diag(p) - np.outer(p, p))[::-1, ::-1]
    assert np.cov(happened.T) == pytest.approx(expected, abs=5 * n / 4 * np.sqrt(2 / 20_000))
