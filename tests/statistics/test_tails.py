"""Tail probabilities and quantiles against SciPy's, and quantiles of Student's t against 40 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

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
