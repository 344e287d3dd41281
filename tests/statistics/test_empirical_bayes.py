import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from unperplexed.statistics.empirical_bayes import pooled_variance, shrunk, variance_between

# Hachemeister (1975): average claims in five states over twelve quarters, and how many claims there were.
CLAIMS = """
1738 1642 1794 2051 2079 2234 2032 2035 2115 2262 2267 2517
1364 1408 1597 1444 1342 1675 1470 1448 1464 1831 1612 1471
1759 1685 1479 1763 1674 2103 1502 1622 1828 2155 2233 2059
1223 1146 1010 1257 1426 1532 1953 1123 1343 1243 1762 1306
1456 1499 1609 1741 1482 1572 1606 1735 1607 1573 1613 1690
"""
NUMBERS = """
7861 9251 8706 8575 7917 8263 9456 8003 7365 7832 7849 9077
1622 1742 1523 1515 1622 1602 1964 1515 1527 1748 1654 1861
1147 1357 1329 1204 998 1077 1277 1218 896 1003 1108 1121
407 396 348 341 315 328 352 331 287 384 321 342
2902 3172 3046 3068 2693 2910 3275 2697 2663 3017 3242 3425
"""

# Colditz et al. (1994): tuberculosis in thirteen trials of the BCG vaccine; cases and others, vaccinated and not.
BCG = """
4 119 11 128
6 300 29 274
3 228 11 209
62 13536 248 12619
33 5036 47 5761
180 1361 372 1079
8 2537 10 619
505 87886 499 87892
29 7470 45 7232
17 1699 65 1600
186 50448 141 27197
5 2493 3 2338
27 16886 29 17825
"""


def table(text):
    return np.array([line.split() for line in text.strip().splitlines()], dtype=np.float64)


def test_credibility_premiums_of_hachemeister():
    """Printed in the vignette "Credibility theory" of the R package actuar, for the model of Bühlmann and Straub."""
    claims, numbers = table(CLAIMS), table(NUMBERS)
    size = numbers.sum(axis=1)
    mean = (numbers * claims).sum(axis=1) / size
    within = (numbers * (claims - mean[:, None]) ** 2).sum() / (5 * 11)
    found = shrunk(mean, np.sqrt(within / size), size, within)
    assert within == pytest.approx(139120026, abs=0.5)
    assert found.between == pytest.approx(89639, abs=0.5)
    assert found.centre == pytest.approx(1684, abs=0.5)
    assert found.own_share == pytest.approx([0.9847, 0.9276, 0.8985, 0.7279, 0.9588], abs=5e-5)
    assert found.mean == pytest.approx([2055, 1524, 1793, 1443, 1603], abs=0.5)


def test_variance_between_the_bcg_trials():
    """tau^2 of DerSimonian and Laird and the mean log risk ratio, as the R package metafor prints them."""
    a, b, c, d = table(BCG).T
    ratio = np.log(a / (a + b) / (c / (c + d)))
    variance = 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    assert variance_between(ratio, 1 / variance, 1.0) == pytest.approx(0.3088, abs=5e-5)
    assert shrunk(ratio, np.sqrt(variance), 1 / variance, 1.0).centre == pytest.approx(-0.7141, abs=5e-5)


@pytest.mark.slow
def test_the_analysis_of_variance_agrees(rng):
    for shift in (0.0, 0.05, 0.5):
        groups = [rng.normal(shift * at, 1 + at / 3, size) for at, size in enumerate((5, 40, 11, 3, 120))]
        mean, size = np.array([x.mean() for x in groups]), np.array([float(x.size) for x in groups])
        within = pooled_variance(np.array([x.std(ddof=1) / np.sqrt(x.size) for x in groups]), size)
        assert within == pytest.approx(sum(((x - x.mean()) ** 2).sum() for x in groups) / (size.sum() - 5), rel=1e-12)
        assert (variance_between(mean, size, within) > 0) == (stats.f_oneway(*groups).statistic > 1)


def test_equal_groups_in_closed_form():
    """Of groups of one size the variance between is that of the means, less what chance makes."""
    mean = np.array([1.0, 2.0, 4.0, 9.0])
    assert variance_between(mean, np.full(4, 10.0), 3.0) == pytest.approx(mean.var(ddof=1) - 3.0 / 10, rel=1e-12)
    assert variance_between(mean, np.full(4, 10.0), 1e6) == 0


def test_groups_that_do_not_differ_are_all_at_the_mean_of_all_rows():
    mean, size = np.array([0.5, 0.501, 0.499, 0.5005]), np.array([10.0, 1000.0, 300.0, 1.0])
    found = shrunk(mean, np.sqrt(1 / size), size, 1.0)
    assert found.between == 0
    assert found.own_share.tolist() == [0, 0, 0, 0]
    assert found.mean == pytest.approx(np.full(4, np.average(mean, weights=size)), rel=1e-14)


def test_huge_groups_keep_their_own():
    mean, size = np.array([0.2, 0.4, 0.6, 0.9]), np.array([1e12, 1e12, 1e12, 4.0])
    error = np.sqrt(1 / size)
    found = shrunk(mean, error, size, 1.0)
    assert found.mean[:3] == pytest.approx(mean[:3], abs=1e-9)
    assert found.standard_error[:3] == pytest.approx(error[:3], rel=1e-4)
    assert 0.4 < found.mean[3] < 0.6


def test_rows_that_do_not_differ_within_groups_leave_nothing_to_shrink():
    mean = np.array([0.2, 0.4, 0.6, 0.9])
    for values in (mean, np.full(4, 0.3)):
        found = shrunk(values, np.zeros(4), np.array([5.0, 1.0, 2.0, 2.0]), 0.0)
        assert found.mean.tolist() == values.tolist()
        assert found.own_share.tolist() == [1, 1, 1, 1]
        assert not found.standard_error.any()


def test_one_row_each_leaves_the_variance_within_open():
    assert np.isnan(pooled_variance(np.zeros(4), np.ones(4)))


GROUPS = st.integers(4, 30).flatmap(
    lambda k: st.tuples(
        arrays.arrays(float, k, elements=st.floats(-5, 0)),
        arrays.arrays(float, k, elements=st.floats(1, 1e5)),
        st.floats(1e-3, 10),
        st.randoms(use_true_random=False),
    )
)


@pytest.mark.slow
@given(GROUPS)
def test_laws(groups):
    mean, size, within, random = groups
    error = np.sqrt(within / size)
    found = shrunk(mean, error, size, within)
    low, high = np.minimum(mean, found.centre), np.maximum(mean, found.centre)
    assert ((found.mean >= low - 1e-12) & (found.mean <= high + 1e-12)).all()
    assert ((found.own_share >= 0) & (found.own_share <= 1)).all()
    assert (np.diff(found.own_share[np.argsort(size)]) >= -1e-12).all()
    order = np.array(random.sample(range(mean.size), mean.size))
    again = shrunk(mean[order], error[order], size[order], within)
    assert again.mean == pytest.approx(found.mean[order], abs=1e-9)
    assert again.standard_error == pytest.approx(found.standard_error[order], rel=1e-6, abs=1e-9)
    other = shrunk(3 * mean - 2, 3 * error, size, 9 * within)
    assert other.mean == pytest.approx(3 * found.mean - 2, abs=1e-8)
    assert other.standard_error == pytest.approx(3 * found.standard_error, rel=1e-6, abs=1e-9)


def skewed(rng, n):
    """Values of mean 0 with a long tail to the left, as log scores have."""
    return 0.5 * (1 - rng.gamma(2.0, 0.5, n))


@pytest.mark.parametrize(("spread", "gain"), [(0.0, 0.3), (0.05, 0.75), (0.2, 0.99)])
def test_shrunken_means_lie_nearer_the_truth(rng, spread, gain):
    """Root mean squared error over that of the means themselves, fifteen groups of 10 to 300 rows."""
    before, after, covered = [], [], []
    for _ in range(400):
        size = np.exp(rng.uniform(np.log(10), np.log(300), 15)).astype(int)
        truth = spread * rng.normal(size=15)
        values = [skewed(rng, n) for n in size]
        mean = truth + np.array([x.mean() for x in values])
        error = np.array([x.std() / np.sqrt(x.size) for x in values])
        found = shrunk(mean, error, size.astype(float), pooled_variance(error, size))
        before.append((mean - truth) ** 2)
        after.append((found.mean - truth) ** 2)
        covered.append(np.abs(found.mean - truth) < 1.96 * found.standard_error)
    assert np.sqrt(np.mean(after) / np.mean(before)) < gain
    assert np.mean(covered) > 0.9
