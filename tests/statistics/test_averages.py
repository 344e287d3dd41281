import math

import numpy as np
import pytest

from unperplexed.statistics.means import EQUAL, Averages, log_spread, orientation, slope, spread


def test_spread_is_the_difference_but_for_rounding():
    assert spread(np.array([0.7, 0.5, 0.5]), np.array([0.4, 0.5, 0.5 * (1 - 4e-15)])).tolist() == [0.7 - 0.4, 0.0, 0.0]
    assert spread(np.float64(0.5), np.float64(0.5 * (1 - 3 * EQUAL))) > 0
    assert math.isnan(spread(np.float64(math.nan), np.float64(0.2)))
    assert Averages(0.7, 0.6, 0.4).spread == 0.7 - 0.4
    assert Averages(0.5, 0.5, 0.5 * (1 - 4e-15)).spread == 0
    assert math.isnan(Averages(math.nan, math.nan, math.nan).spread)


def test_log_spread_is_its_logarithm():
    rng = np.random.default_rng(0)
    d = rng.uniform(0.1, 1, 50)
    r = d * rng.uniform(0.01, 0.99, 50)
    assert log_spread(np.log(d), np.log(r)) == pytest.approx(np.log(spread(d, r)), rel=1e-12)
    assert log_spread(np.log([0.3]), np.log([0.3])) == -math.inf
    assert log_spread(np.array([-2000.0]), np.array([-2001.0])) == pytest.approx(-2000 + math.log(1 - math.exp(-1)))


def test_slope_and_orientation_of_equal_means():
    flat, steep = Averages(0.5, 0.5, 0.5), Averages(0.8, 0.6, 0.4)
    assert math.isnan(slope(flat, steep))
    assert math.isnan(orientation(flat, flat))
    assert slope(steep, steep) == 1
    assert orientation(steep, steep) == pytest.approx(45)
