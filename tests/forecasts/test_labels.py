"""Labels and where each row has which, by a table of integers that lie close together or by a search."""

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from unperplexed.forecasts.labels import Coded, distinct_labels, plain, smallest_type


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("values", [[0, 0], [1, 1], [0, 1, 1], [2, 1, 2], [2, 0, 1], [2, 0, 0], [0, 3, 3], [7]])
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


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (Decimal("2.0"), 2),
        (Decimal(2**60 + 1), 2**60 + 1),
        (Decimal("2.5"), 2.5),
        (Fraction(6, 3), 2),
        (Fraction(5, 2), 2.5),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), float("inf")),
        (np.float32(3), 3),
        (b"yes", "yes"),
        (date(2024, 1, 10), "2024-01-10"),
        (datetime(2024, 1, 10, 5, 30, 20, 500_000), "2024-01-10T05:30:20.5"),
        (time(5, 30), "05:30:00"),
        (np.datetime64("2024-01-10"), "2024-01-10"),
        (np.datetime64("2024-01-10T05"), "2024-01-10T05:00:00"),
        (np.datetime64("2024-01-10T05:30"), "2024-01-10T05:30:00"),
        (np.datetime64("2024-01-10T05:30:20.500000"), "2024-01-10T05:30:20.5"),
        (np.datetime64("NaT"), None),
    ],
    ids=str,
)
def test_a_label_is_the_same_whatever_its_type(value, label):
    found = plain(value)
    assert found == label
    assert type(found) is type(label)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float64, object, "U3", "S3", "M8[s]"])
def test_no_outcomes_have_no_labels(dtype):
    labels, places = distinct_labels(np.empty(0, dtype=dtype))
    assert labels == []
    assert places.shape == (0,)
    assert np.issubdtype(places.dtype, np.signedinteger)


def test_codes_of_labels_that_occur_twice_are_joined():
    labels, places = Coded([1, "a", 1, None], np.array([0, 1, 2, 3, 2])).distinct()
    assert [labels[place] for place in places] == [1, "a", 1, None, 1]
    assert labels == [1, "a", None]


def test_classes_take_as_few_bytes_as_hold_them():
    """With room for the negative codes of what is no class."""
    types = {n: smallest_type(n) for n in (1, 127, 128, 32767, 32768)}
    assert types == {1: np.int8, 127: np.int8, 128: np.int16, 32767: np.int16, 32768: np.int32}
