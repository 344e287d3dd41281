"""Labels and where each row has which, by a table of integers that lie close together or by a search."""

import numpy as np
import pytest

from unperplexed.forecasts.labels import distinct_labels


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("values", [[0, 0], [1, 1], [0, 1, 1], [2, 1, 2], [2, 0, 1], [0, 3, 3], [7]])
def test_integers_are_found_where_they_are(dtype, values):
    labels, places = distinct_labels(np.array(values, dtype=dtype))
    assert labels == sorted(set(values))
    assert [labels[place] for place in places] == values


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([-(2**62), 2**62, 0], np.int64),  # far apart, though their sum is not
        ([2**63 + 5, 2**63, 2**63 + 5], np.uint64),
        ([-128, 127], np.int8),
        ([-3, -1, -3], np.int32),
    ],
)
def test_integers_of_any_size(values, dtype):
    labels, places = distinct_labels(np.array(values, dtype=dtype))
    assert labels == sorted(set(values))
    assert [labels[place] for place in places] == values
