"""Small functions of arrays."""

import numpy as np
import pytest

from unperplexed._lib.arrays import distinct


@pytest.mark.parametrize("n", [0, 1, 50])
def test_distinct_values_are_those_of_numpy(n):
    values = np.random.default_rng(n).integers(-5, 5, n)
    assert np.array_equal(distinct(values), np.unique(values))
