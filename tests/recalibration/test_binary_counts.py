"""Rows of two classes counted by log-odds: the same in any order and split, exact while few, their means after."""

import numpy as np
import pytest
from scipy.special import expit

from unperplexed.recalibration import binary_rows as binary_counts
from unperplexed.recalibration.binary_rows import BinaryCounter


def counted(s, y, parts, w=None):
    counter = BinaryCounter()
    for at in parts:
        counter.add(s[at], y[at], None if w is None else w[at])
    return counter.counts()


def rows(n, rng):
    s = rng.normal(0, 12, n)
    return s, (rng.random(n) < expit(s / 2)).astype(np.int64)


@pytest.mark.parametrize("n", [500, 5000])
def test_order_and_split_do_not_matter(rng, monkeypatch, n):
    monkeypatch.setattr(binary_counts, "MOST_VALUES", 1000)
    s, y = rows(n, rng)
    s[:7] = [np.inf, -np.inf, 0.0, -0.0, 1e-300, -1e300, 1e300]
    one = counted(s, y, [np.arange(n)])
    other = counted(s, y, np.array_split(rng.permutation(n), 13))
    for name in ("s", "total", "squared"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.total.sum() == one.rows.sum() == n
    assert (np.diff(one.s) > 0).all()
    assert one.zeros == (y[0] == 0) + (y[1] == 1)
    w = rng.exponential(size=n)
    one = counted(s, y, [np.arange(n)], w)
    other = counted(s, y, np.array_split(rng.permutation(n), 13), w)
    for name in ("s", "total", "squared"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


def test_few_values_are_exact(rng):
    s = rng.integers(-30, 30, 50_000) / 7
    y = (rng.random(s.size) < expit(s)).astype(np.int64)
    found = counted(s, y, np.array_split(np.arange(s.size), 5))
    values, entry = np.unique(s, return_inverse=True)
    np.testing.assert_allclose(found.s, values, atol=1e-12)
    np.testing.assert_array_equal(found.total, [np.bincount(entry, 1 - y), np.bincount(entry, y)])


def test_last_digits_are_no_values_of_their_own():
    s = np.array([0.3, 0.1 + 0.2, np.nextafter(0.3, 0)])
    found = counted(s, np.array([0, 1, 1]), [np.arange(3)])
    assert found.total.tolist() == [[1], [2]]


def test_cells_keep_their_means_and_lose_nothing_of_a_log_likelihood(rng, monkeypatch):
    monkeypatch.setattr(binary_counts, "MOST_VALUES", 1000)
    s, y = rows(50_000, rng)
    found = counted(s, y, np.array_split(np.arange(s.size), 3))
    assert found.s.size < 10_000
    assert found.total.sum(axis=0) @ found.s == pytest.approx(s.sum(), rel=1e-7)
    for slope in (0.1, 0.5, 1):
        exact = np.logaddexp(0, np.where(y, -1, 1) * slope * s).sum()
        of_cells = (found.total * np.logaddexp(0, np.outer([1, -1], slope * found.s))).sum()
        assert of_cells == pytest.approx(exact, abs=1e-6 * s.size)
