"""The average of maps of normal scores: a linear pool, beside SciPy's beta distributions, its inverse and its gains."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import beta

from unperplexed.maps.pit import Bernstein, PitAverage, PitCells, PitCurve, PitFits, PitMap, log_mass

SHARES = {"shift+scale": 0.3, "all": 0.5, "bernstein": 0.2}


@pytest.fixture
def average(rng):
    every = {"bias": 0.2, "spread": 0.1, "skew": 0.3, "tail": -0.2, "level": 0.1, "follow": 0.4}
    mixture = Bernstein(tuple(rng.dirichlet(np.full(12, 2)).tolist()))
    maps = {"shift+scale": PitMap({"bias": 0.3, "spread": -0.2}), "all": PitMap(every), "bernstein": mixture}
    return PitAverage(maps, SHARES)


def test_a_mixture_of_beta_distributions_is_that_of_scipy(rng):
    weights = rng.dirichlet(np.full(12, 2))
    z = np.array([-9.0, -3.0, 0.0, 2.0, 6.0])
    below, above = Bernstein(tuple(weights.tolist())).tails(z, 0.0, 0.0)
    k = np.arange(1, 13)[:, None]
    assert below == pytest.approx(weights @ beta.cdf(ndtr(z), k, 13 - k), rel=1e-10)
    assert above == pytest.approx(weights @ beta.cdf(ndtr(-z), 13 - k, k), rel=1e-10)
    cells = PitCells(z[1:4], z[1:4], *np.zeros((2, 3)), np.ones(3))
    density = weights @ beta.pdf(ndtr(z[1:4]), k, 13 - k)
    assert Bernstein(tuple(weights.tolist())).gains(cells) == pytest.approx(np.log(density), rel=1e-9)


def test_the_inverse_undoes_the_average_and_rises(average, rng):
    level, log_spread = rng.normal(size=(50, 1)), 0.5 * rng.normal(size=(50, 1))
    curve = PitCurve(average, level, log_spread)
    wanted = np.linspace(-3, 3, 21)
    found = curve.inverse(wanted)
    assert curve.scores(found) == pytest.approx(np.broadcast_to(wanted, found.shape), abs=1e-9)
    assert (np.diff(found, axis=1) > 0).all()
    assert curve.subset(slice(3, 5)).inverse(wanted) == pytest.approx(found[3:5], abs=1e-9)


def test_gains_are_those_of_the_pooled_distribution(average):
    curve = PitCurve(average, 0.4, -0.3)
    low, high = np.array([-np.inf, -1.0, 0.3, 2.0]), np.array([-1.5, 0.0, 0.4, np.inf])
    mended = log_mass(curve.scores(low), curve.scores(high))
    assert curve.gains(low, high) == pytest.approx(mended - log_mass(low, high), abs=1e-9)
    z, step = np.array([-2.0, 0.1, 1.7]), 1e-5
    density = (ndtr(curve.scores(z + step)) - ndtr(curve.scores(z - step))) / (ndtr(z + step) - ndtr(z - step))
    assert curve.gains(z, z) == pytest.approx(np.log(density), abs=1e-6)


def test_a_mixture_finds_the_shape_of_pit_values_that_was_planted(rng):
    u = rng.beta(3, 3, 20_000)
    cells = PitCells(ndtri(u), ndtri(u), *np.zeros((2, u.size)), np.ones(u.size))
    found = PitFits(cells).fit("bernstein", cells.total)
    at = np.linspace(0.05, 0.95, 10)
    assert found.tails(ndtri(at), 0.0, 0.0)[0] == pytest.approx(beta.cdf(at, 3, 3), abs=0.01)


def test_families_that_cells_cannot_tell_apart_are_not_fitted(rng):
    z = rng.normal(size=100)
    names = PitFits(PitCells(z, z, *np.zeros((2, 100)), np.ones(100))).names
    assert names == ["identity", "shift", "scale", "shift+scale", "curved", "bernstein"]
