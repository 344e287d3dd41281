"""Tail probabilities and quantiles against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from unperplexed.statistics import tails

FREEDOMS = [1.5, 2.0, 2.2, 2.5, 4.7, 19.3, 100.0, 299.9, 300.0, 567.2, 1999.9, 2000.0, 1e5, 1e9, math.inf]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_students_distribution(freedom):
    for share in (1e-5, 0.02, 0.5, 0.75, 0.9, 0.975, 0.995, 0.9998, 1 - 1e-7):
        expected = special.ndtri(share) if freedom >= 1e9 else special.stdtrit(freedom, share)
        assert tails.student_quantile(freedom, share) == pytest.approx(expected, rel=1e-11 if freedom < 1e9 else 1e-8)


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
