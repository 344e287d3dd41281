"""Probabilities of boxes under coupled Gaussians: those that are known in closed form."""

import numpy as np
import pytest

from unperplexed.theory.distributions import gaussian as orthant
from unperplexed.theory.distributions.gaussian import CoupledGaussian

ROOT = np.linalg.cholesky(np.array([[4.0, -1.8, 0.5], [-1.8, 9.0, 2.0], [0.5, 2.0, 1.0]]))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(orthant, "_REPLICATES", 2)
    monkeypatch.setattr(orthant, "_POINTS", 10)


def probability(low, high, coupling, d):
    root = ROOT[:d, :d]
    return orthant.box_probability(np.array(low), np.array(high), root, coupling, np.random.default_rng(1))


@pytest.mark.parametrize("coupling", [-0.2, 0.0, 0.5])
@pytest.mark.parametrize("side", [-1, 1])
def test_orthants_of_two_and_three(coupling, side):
    """The same for every coupling (Sheppard 1899, David 1953)."""
    sd = np.sqrt(np.diag(ROOT @ ROOT.T))
    angles = np.arcsin((ROOT @ ROOT.T / np.outer(sd, sd))[np.triu_indices(3, 1)])
    for d, expected in ((2, 1 / 4 + angles[0] / (2 * np.pi)), (3, 1 / 8 + angles.sum() / (4 * np.pi))):
        low, high = np.sort([np.zeros(d), side * np.full(d, np.inf)], axis=0)
        assert probability(low, high, coupling, d) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("coupling", [-0.2, 0.0, 0.5])
def test_one_dimension_is_exact_and_so_is_what_is_open_in_all_others(coupling):
    one = CoupledGaussian(0.0, 2.0, coupling)
    expected = one.cdf(3.0) - one.cdf(-1.0)
    assert probability([-1.0], [3.0], coupling, 1) == pytest.approx(expected, rel=1e-12)
    assert probability([-1.0, -np.inf], [3.0, np.inf], coupling, 2) == pytest.approx(expected, rel=1e-12)
    assert probability([-np.inf] * 3, [np.inf] * 3, coupling, 3) == pytest.approx(1, rel=1e-12)
    assert np.isnan(probability([np.nan, 0.0], [1.0, 1.0], coupling, 2))
