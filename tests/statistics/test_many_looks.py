"""Evidence that stays valid at many looks: its formula, its mean under the limit, and its interval."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

from unperplexed.statistics.many_looks import Spread, log_evidence


@pytest.mark.parametrize(
    ("x", "n", "prior"), [(0.0, 50, 1000), (-90.0, 4000, 1000), (31.0, 100, 20), (250.0, 9000, 1000)]
)
def test_evidence_is_the_likelihood_ratio_of_a_half_normal_prior(x, n, prior):
    scale = prior**-0.5
    likelihood = lambda d: 2 * norm.pdf(d, scale=scale) * math.exp(d * x - n * d * d / 2)  # noqa: E731
    expected = quad(likelihood, 0, 10 * scale, points=[x / (n + prior)] if x > 0 else None, epsabs=0, limit=200)[0]
    assert float(log_evidence(x / math.sqrt(n), 1e12, n, prior)) == pytest.approx(math.log(expected), abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 10, 400])
def test_evidence_at_the_limit_has_a_mean_of_1_with_few_units_too(n):
    def weighed(t):
        return math.exp(float(log_evidence(t, n - 1, n, 20.0)) + student.logpdf(t, n - 1))

    edges = [-np.inf, -5, 0, 2, 5, 20, 1e3, 1e6, np.inf]
    mean = sum(quad(weighed, low, high, limit=200)[0] for low, high in pairwise(edges))
    assert mean == pytest.approx(1, abs=1e-3)


def test_at_most_one_stream_in_twenty_ever_fails_at_its_limit():
    """Some 2.5% are expected to; a daily t-test rejects in more than a third."""
    n = np.arange(1, 301)
    x = np.random.default_rng(0).normal(size=(600, n.size))
    total, squares = np.cumsum(x, axis=1), np.cumsum(x * x, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = total / n / np.sqrt((squares - total**2 / n) / (n - 1) / n)
        failed = (log_evidence(t, n - 1, n, 20.0) >= math.log(20)).any(axis=1).sum()
    assert 3 <= failed <= 30
    assert (student.sf(t[:, 1:], n[1:] - 1) <= 0.05).any(axis=1).sum() > 200


def test_skewed_units_fail_at_their_limit_about_as_often_as_the_level():
    """Minus an exponential variable a day: without regard to the skewness some 11% would fail."""
    n = np.arange(1, 201)
    x = 1 - np.random.default_rng(1).exponential(size=(1000, n.size))
    total, squares, cubes = (np.cumsum(x**k, axis=1) for k in (1, 2, 3))
    m = total / n
    with np.errstate(divide="ignore", invalid="ignore"):
        within = squares - n * m**2
        t = m / np.sqrt(within / (n - 1) / n)
        skewness = (cubes - 3 * m * squares + 2 * n * m**3) / within**1.5
        blind, aware = (
            (log_evidence(t, n - 1, n, 20.0, g) >= math.log(20)).any(axis=1).mean() for g in (0.0, skewness)
        )
    assert blind > 0.08
    assert 0.02 < aware < 0.065


def test_the_transformation_is_that_of_hall():
    """((1 + g z / 3)^3 - 1) / g + g / 6 in place of z, which is z where nothing is skewed."""
    for g, z in ((0.4, 1.5), (-0.7, 3.0), (-0.7, 9.0), (1e-9, 2.0)):
        expected = log_evidence(((1 + g * z / 3) ** 3 - 1) / g + g / 6, 1e12, 50, 20.0)
        assert float(log_evidence(z, 1e12, 50, 20.0, g)) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize(
    "spread",
    [
        Spread(0.1, 99, 100, 1000),
        Spread(2.0, 4, 5, 20),
        Spread(1e-4, 1e6, 1e6 + 1, 1000),
        Spread(0.1, 99, 100, 20, -0.6),
        Spread(2.0, 9, 10, 20, 0.8),
    ],
)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_limits_at_the_ends_of_the_interval_have_the_evidence_at_which_one_fails(spread, confidence):
    low, high = spread.interval(3.0, confidence)
    assert spread.log_evidence(3.0 - low) == pytest.approx(math.log(2 / (1 - confidence)), rel=1e-9)
    assert spread.mirrored().log_evidence(high - 3.0) == pytest.approx(math.log(2 / (1 - confidence)), rel=1e-9)


def test_two_rows_decide_nothing():
    assert Spread(1.0, 1, 2, 1000).interval(0.0, 0.9) == (-math.inf, math.inf)
    assert Spread(1.0, 1e3, 2, 1000).log_evidence(1e300) < math.log(20)
