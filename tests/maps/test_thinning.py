"""Points that describe a curve."""

import numpy as np
import pytest

from unperplexed.maps.families import bend_points


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3])
def test_lines_between_the_kept_points_come_within_the_tolerance(tolerance):
    x = np.sort(np.random.default_rng(0).normal(size=2000))
    y = np.maximum.accumulate(np.round(np.sin(x) + x, 1)) + x**2 / 100
    at = bend_points(x, y, tolerance)
    assert np.abs(np.interp(x, x[at], y[at]) - y).max() <= tolerance
    assert at[0] == 0
    assert at[-1] == 1999
    assert at.size < 1000


def test_a_line_has_two_points_and_one_point_is_itself():
    x = np.arange(100.0)
    assert bend_points(x, 3 * x, 1e-9).tolist() == [0, 99]
    assert bend_points(x[:1], x[:1], 1e-9).tolist() == [0]
