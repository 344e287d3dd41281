"""Numbers as they are printed."""

import math

import pytest

from unperplexed.report.numbers import count, expected, figure, number, points, same_decimals, share, signed, told_apart


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.0, "0.000"), (-0.1234, "−0.123"), (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "–"), (-1e-9, "−1e−09")],
)
def test_minus_is_a_minus_and_zero_has_none(value, text):
    assert number(value) == text


def test_signs_and_shares():
    assert (signed(0.5), signed(-0.5), signed(0.0)) == ("+0.500", "−0.500", "0.000")
    assert (share(0.338), share(0.0355), share(1.0), share(0.99999)) == ("33.8%", "3.55%", "100%", "> 99.99%")
    assert same_decimals("0.02", "0.043") == "0.020 to 0.043"


def test_what_is_not_finite_is_a_dash_or_named():
    assert (points(math.nan), count(math.nan)) == ("–", "–")
    assert (figure(math.nan), figure(math.inf), figure(-math.inf)) == ("-", "inf", "-inf")
    assert (points(-0.0312), count(1234.5)) == ("−3.1", "1,234")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[
            (0.0, "0"),
            (3e-9, "fewer than 0.01"),
            (0.0099, "fewer than 0.01"),
            (0.0101, "about 0.01"),
            (0.1, "about 0.1"),
        ],
        *[(0.34, "about 0.3"), (0.96, "about 1"), (1.4, "about 1"), (2.6, "about 3"), (1476.2, "about 1,476")],
    ],
)
def test_an_expected_number_of_events_is_never_shown_as_none(value, text):
    assert expected(value) == text


@pytest.mark.parametrize(("a", "b"), [(0.69314, 0.69309), (0.5, 0.7), (0.3, math.inf), (0.1, 0.1 + 1e-12)])
def test_numbers_that_are_compared_differ_as_they_are_shown(a, b):
    shown = told_apart(a, b)
    assert (shown[0] != shown[1]) == (abs(a - b) > 1e-9)
    assert shown == (number(a), number(b)) or len(shown[0]) == len(shown[1]) > 5
