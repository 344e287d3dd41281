"""Tail probabilities and quantiles against SciPy's, and quantiles of Student's t against 40 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from unperplexed.statistics import tails

FREEDOMS = [1.5, 2.0, 2.2, 2.5, 4.7, 19.3, 100.0, 299.9, 300.0, 567.2, 1999.9, 2000.0, 1e5]
SHARES = (1e-5, 0.02, 0.5, 0.75, 0.9, 0.975, 0.995, 0.9998, 1 - 1e-7)


def student_quantile(freedom, share, begin):
    """By Newton's method from a start close by; SciPy 1.13 is off by up to 4e-11."""
    v, share = mp.mpf(freedom), mp.mpf(share)
    t, tail = abs(mp.mpf(begin)), min(share, 1 - share)
    for _ in range(3):
        beyond = mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + t * t), regularized=True) / 2
        t += (beyond - tail) * mp.sqrt(v) * mp.beta(v / 2, mp.mpf(1) / 2) * (1 + t * t / v) ** ((v + 1) / 2)
    return float(mp.sign(share - 0.5) * t)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_students_distribution(freedom):
    for share in SHARES:
        found = tails.student_quantile(freedom, share)
        own = freedom >= 2 and (1e-4 < share < 1 - 1e-4 or freedom >= 2000)  # the others are SciPy's
        with mp.workdps(40):
            expected = student_quantile(freedom, share, found)
        assert found == pytest.approx(expected, rel=1e-11 if own else 1e-10)


@pytest.mark.parametrize("freedom", [1e9, math.inf])
def test_quantiles_of_many_degrees_of_freedom_are_normal(freedom):
    for share in SHARES:
        assert tails.student_quantile(freedom, share) == pytest.approx(special.ndtri(share), rel=1e-8)


def test_tails_of_the_normal_distribution():
    for x in np.linspace(-37, 8, 100).tolist():
        assert tails.normal_cdf(x) == pytest.approx(special.ndtr(x), rel=1e-12)
    for share in (0.0, 1e-300, 1e-9, 0.3, 0.5, 0.99, 1.0):
        assert tails.normal_quantile(share) == pytest.approx(special.ndtri(share), rel=1e-14)
    assert tails.squared_normal_isf(0.05) == pytest.approx(special.chdtri(1, 0.05), rel=1e-14)


@pytest.mark.parametrize("freedom", [0.5, 1, 2, 3, 7, 50.3, 2000, 3e4])
def test_tails_of_chi_squared(freedom):
    for x in (0.0, 1e-9, 0.5, 3.84, 30.0, 300.0, 2100.0, 31_000.0):
        assert tails.chi2_sf(freedom, x) == pytest.approx(special.chdtrc(freedom, x), rel=1e-11, abs=1e-300)


SHAPES = [0.02, 1.0, 6.5, 150.0, 250.0, 3e3, 1e6, 4e8]


@pytest.mark.parametrize("above", [True, False])
def test_both_tails_of_gamma_distributions(above):
    """Farther below the mean of large shapes SciPy loses digits."""
    shape = np.repeat(SHAPES, 7)
    x = np.maximum(shape + np.sqrt(shape) * np.tile([-4, -2, -0.3, 0, 1, 5, 25], len(SHAPES)), 0)
    assert shape.size <= tails._BY_THEMSELVES
    found = tails.gamma_tails(shape, x, np.full(shape.shape, above))
    np.testing.assert_allclose(found, (special.gammaincc if above else special.gammainc)(shape, x), rtol=2e-11)
    many = np.tile(found, 5)
    np.testing.assert_allclose(
        tails.gamma_tails(np.tile(shape, 5), np.tile(x, 5), np.full(many.shape, above)), many, rtol=2e-11
    )


@pytest.mark.parametrize("shape", [3e3, 1e6, 4e8])
def test_gamma_distributions_of_large_shape_far_below_their_means(shape):
    """In 40 digits: SciPy gives 3.4e-16 in place of 6.2e-16 for the largest."""
    sd, x = math.sqrt(shape), shape - 8 * math.sqrt(shape)
    with mp.workdps(40):
        places = [x - k * sd for k in (8, 4, 2, 1, 0.5, 0)]
        constant = mp.loggamma(shape)
        expected = mp.quad(lambda t: mp.exp((shape - 1) * mp.log(t) - t - constant), places)
    found = tails.gamma_tails(np.array([shape]), np.array([x]), np.array([False]))
    assert found[0] == pytest.approx(float(expected), rel=1e-11)


def test_tails_of_poisson_counts():
    for count in (0, 1, 7, 400):
        for expected in (1e-6, 0.8, 12.0, 390.0, 600.0):
            assert tails.poisson_sf(count, expected) == pytest.approx(special.pdtrc(count, expected), rel=1e-11)


@pytest.mark.parametrize("skewness", [-1.5, -0.3, 0.0, 1e-6, 0.4, 2.0])
def test_skewed_tails_are_those_of_a_shifted_and_mirrored_gamma_distribution(skewness):
    z = np.array([-1.0, 0.0, 0.5, 2.0, 4.0])
    least = skewness if abs(skewness) >= 1e-4 else 1e-4  # where it is smaller, it is taken as this
    found = tails.skewed_sf(z, np.full(z.size, skewness))
    np.testing.assert_allclose(found, stats.pearson3.sf(z, least), rtol=1e-7, atol=1e-12)
