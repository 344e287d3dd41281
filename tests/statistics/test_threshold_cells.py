import numpy as np
import pytest

from unperplexed.statistics.intervals import Dependence, uncertain_mean
from unperplexed.statistics.threshold_cells import threshold_cells


@pytest.mark.parametrize("clustered", [False, True])
def test_means_and_errors_are_those_of_the_rows(rng, clustered):
    n, at = 200, np.array([0.1, 0.25, 0.5, 0.75])
    p, y, w = rng.integers(0, 21, n) / 20, rng.integers(0, 2, n), rng.uniform(0.5, 2, n)
    groups = np.unique(rng.integers(0, 40, n), return_inverse=True)[1] if clustered else None
    values = rng.normal(size=(4, 4))
    cells = threshold_cells(p, y, w, at, groups)
    for t in range(4):
        rows = values[t][2 * (p >= at[t]) + y]
        expected = uncertain_mean(rows, w, Dependence(groups))
        assert cells.means(values)[t] == pytest.approx(expected.mean, rel=1e-12)
        assert cells.standard_errors(values)[t] == pytest.approx(expected.standard_error, rel=1e-10)


def test_rows_at_the_threshold_are_acted_on_in_any_precision():
    for dtype in (np.float32, np.float64):
        p = np.array([0.1, 0.3, 0.7], dtype)
        cells = threshold_cells(p, np.array([0, 1, 1]), np.ones(3), np.array([0.1, 0.3, 0.7]))
        assert (cells.shares[:, 2:].sum(axis=1) * 3).round().tolist() == [3, 2, 1]


def test_shares_have_the_number_of_their_rows(rng):
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    cells = threshold_cells(np.array([0.1, 0.8, 0.2, 0.9, 0.8, 0.7, 0.3]), y, np.ones(7), np.array([0.5]))
    assert cells.share_of([3], [1, 3]) == pytest.approx((0.75, 4))
    doubled = threshold_cells(np.array([0.1, 0.8, 0.3, 0.9]), np.array([0, 1, 1, 1]), np.full(4, 7.0), np.array([0.5]))
    assert doubled.share_of([3], [1, 3]) == pytest.approx((2 / 3, 3))
    everyone_twice = threshold_cells(
        np.repeat([0.1, 0.8, 0.3, 0.9], 2),
        np.repeat([0, 1, 1, 1], 2),
        np.ones(8),
        np.array([0.5]),
        np.repeat(np.arange(4), 2),
    )
    share, rows = everyone_twice.share_of([3], [1, 3])
    assert share == pytest.approx(2 / 3)
    assert rows == pytest.approx(3 * 3 / 4)  # clusters, with the factor for few of them


def test_limits_of_a_single_share_are_wilsons():
    y = np.r_[np.ones(12, int), np.zeros(28, int)]
    p = np.r_[np.full(9, 0.9), np.full(31, 0.1)]
    cells = threshold_cells(p, y, np.ones(40), np.array([0.5]))
    low, high = cells.limits(3, 2, np.zeros(1), 0.95)
    from scipy.special import stdtrit

    z2, share = float(stdtrit(39, 0.975)) ** 2, 9 / 40
    centre, half = share + z2 / 80, np.sqrt(z2 * share * (1 - share) / 40 + (z2 / 80) ** 2)
    assert low[0] == pytest.approx((centre - half) / (1 + z2 / 40), rel=1e-12)
    assert high[0] == pytest.approx((centre + half) / (1 + z2 / 40), rel=1e-12)
