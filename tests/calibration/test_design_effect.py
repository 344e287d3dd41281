"""Variances of sums of independent rows' influences: from cells the same as row by row."""

from dataclasses import replace

import numpy as np
import pytest

from unperplexed import Tally
from unperplexed.calibration.resampling import coarse_counts
from unperplexed.calibration.world_samples import _alone
from unperplexed.kernels.rows import COARSE


def influences(rng, counts):
    """Influences of a pair that occurred and of one that did not, of two figures, by coarse cell."""
    happened, missed = rng.normal(size=(2, 2, 256))
    return happened, missed, happened[:, counts.codes], missed[:, counts.codes]


def test_a_row_of_two_classes_adds_both_of_its_pairs(rng):
    p = np.append(rng.choice([0.1, 0.3, 0.6, 0.95], 40), [0.5, 0.5])
    y = (rng.random(42) < p).astype(int)
    tally = Tally.of(y, p)
    counts = coarse_counts(tally)
    happened, missed, *of_cells = influences(rng, counts)
    observed = np.where(y == 1, p, 1 - p)
    rows = happened[:, COARSE.places(observed)[0]] + missed[:, COARSE.places(1 - observed)[0]]
    assert _alone(tally, counts, *of_cells) == pytest.approx((rows**2).sum(axis=1))


def test_without_rows_a_tally_of_more_classes_adds_what_occurred(rng):
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    tally = replace(Tally.of(y, p), row_sample=None)  # as in files of the first versions
    counts = coarse_counts(tally)
    happened, _, *of_cells = influences(rng, counts)
    expected = (happened[:, COARSE.places(p[np.arange(50), y])[0]] ** 2).sum(axis=1)
    assert _alone(tally, counts, *of_cells) == pytest.approx(expected)
