"""Rows are numbered by their values, few or many."""

import numpy as np
import pytest

from unperplexed.statistics.normal_scores import numbered

COLUMNS = {
    "few values": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "all different": lambda rng, n: rng.normal(size=n),
    "rare values": lambda rng, n: np.where(rng.random(n) < 0.001, rng.normal(size=n), 1.0),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.5, -np.inf, np.inf),
}


@pytest.mark.parametrize("n", [1, 10, 20_000])
@pytest.mark.parametrize("first", COLUMNS)
@pytest.mark.parametrize("second", COLUMNS)
def test_rows_have_one_number_if_they_are_equal(rng, n, first, second):
    table = np.stack([COLUMNS[first](rng, n), COLUMNS[second](rng, n)])
    number, row = numbered(*table)
    different, expected = np.unique(table, axis=1, return_inverse=True)
    np.testing.assert_array_equal(number, expected.ravel())
    np.testing.assert_array_equal(table[:, row], different)
