"""Maps of normal scores: derivatives, laws, and what their likelihood recovers."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from unperplexed.maps.fit import fitted
from unperplexed.maps.pit import BOUNDS, PRIOR, PitCells, PitGains, PitMap, log_mass

THETA = np.array([0.2, 0.1, 0.3, -0.2, 0.1, 0.4])


def cells(rng, n=200):
    """Half of the outcomes are known by one of ten cells."""
    z, level, spread = 0.3 + 1.3 * rng.normal(size=n), rng.normal(size=n), 0.5 * rng.normal(size=n)
    edges = ndtri(np.arange(11) / 10)
    at, known = np.searchsorted(edges, z), rng.random(n) < 0.5
    low, high = np.where(known, z, edges[at - 1]), np.where(known, z, edges[at])
    return PitCells(low, high, level, spread, np.ones(n))


def test_derivatives_are_those_of_the_gains(rng):
    of = PitGains(cells(rng), tuple(BOUNDS))
    scores = of.each(THETA)[1]
    for at, step in enumerate(1e-5 * np.eye(len(THETA))):
        numeric = (of.each(THETA + step)[0] - of.each(THETA - step)[0]) / 2e-5
        assert scores[at] == pytest.approx(numeric, abs=1e-6)
    assert of.ascent(np.zeros(6))[0] == pytest.approx(0, abs=1e-9)


def test_gains_are_ratios_of_densities_and_probabilities(rng):
    of = PitGains(cells(rng), ("bias", "spread"))
    gains, sd = of.each(np.array([0.3, 0.2]))[0], np.exp(0.2)
    point = of.cells.low == of.cells.high
    z, low, high = of.cells.low[point], of.cells.low[~point], of.cells.high[~point]
    assert gains[point] == pytest.approx(norm.logpdf(z, 0.3, sd) - norm.logpdf(z))
    mass = norm.cdf(high, 0.3, sd) - norm.cdf(low, 0.3, sd)
    assert gains[~point] == pytest.approx(np.log(mass / 0.1))


def test_maps_rise_and_leave_fixed_points_where_they_are():
    z = np.linspace(-6, 6, 200)
    for skew in (-0.8, 0.8):
        assert (np.diff(PitMap({"skew": skew, "tail": -skew}).scores(z)) > 0).all()
        assert PitMap({"skew": skew}).scores([-0.9136485679, 0.9136485679]) == pytest.approx([-0.9136486, 0.9136486])
        assert PitMap({"tail": skew}).scores([-1.568952925, 1.568952925]) == pytest.approx([-1.568953, 1.568953])
    assert PitMap({"spread": 1.0}).scores([-np.inf, np.inf]).tolist() == [-np.inf, np.inf]


def test_a_fit_finds_what_was_planted(rng):
    z = np.sinh(np.arcsinh(0.4 + 1.5 * rng.normal(size=20_000)))
    of = PitGains(PitCells(z, z, np.zeros(z.size), np.zeros(z.size), np.ones(z.size)), ("bias", "spread"))
    assert fitted(of, PRIOR).theta == pytest.approx([0.4, np.log(1.5)], abs=0.03)


def test_the_mass_of_cells_has_all_its_digits_in_both_tails():
    low, high = np.array([-40.0, 39.0, -1.0, 8.0]), np.array([-39.0, 40.0, np.inf, 8.5])
    found = log_mass(low, high)
    assert found[0] == found[1] == pytest.approx(norm.logcdf(-39))
    assert found[2] == pytest.approx(norm.logsf(-1))
    assert found[3] == pytest.approx(np.log(norm.sf(8) - norm.sf(8.5)), abs=1e-9)
