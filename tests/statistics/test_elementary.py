"""Elementary functions against SciPy's, at the ends as well, and log-odds against mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from unperplexed._lib import elementary

LOG_ODDS = np.concatenate([np.linspace(-800, 800, 4001), [0.0, -0.0, 1e-300, np.inf, -np.inf, np.nan]])
PROBABILITIES = np.concatenate(
    [np.linspace(0, 1, 4001), 0.5 + np.logspace(-16, -1, 40), [5e-324, 1e-310, np.nan, -1, 2]]
)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expit", (LOG_ODDS,)),
        ("log_expit", (LOG_ODDS,)),
        ("xlogy", (PROBABILITIES[::50, None], PROBABILITIES)),
        ("xlog1py", (PROBABILITIES[::50, None], -PROBABILITIES)),
    ],
)
def test_values_are_those_of_scipy(name, arguments):
    np.testing.assert_allclose(
        getattr(elementary, name)(*arguments), getattr(special, name)(*arguments), rtol=4e-15, atol=0
    )


def test_log_odds_are_accurate_near_one_half_too():
    """Those of SciPy 1.13 are not: they lose digits there."""
    within = PROBABILITIES[(PROBABILITIES > 0) & (PROBABILITIES < 1)]
    with mp.workdps(40):
        expected = [float(mp.log(mp.mpf(p) / (1 - mp.mpf(p)))) for p in within.tolist()]
    np.testing.assert_allclose(elementary.logit(within), expected, rtol=4e-15, atol=0)
    np.testing.assert_array_equal(elementary.logit(np.array([0, 1, -1, 2, np.nan])), [-np.inf, np.inf, *[np.nan] * 3])


def test_log_gamma_of_a_few_numbers():
    x = np.array([0.5, 1.0, 7.0, 1e6])
    np.testing.assert_allclose(elementary.log_gamma(x), special.gammaln(x), rtol=1e-14)


@pytest.mark.parametrize("columns", [1, 3, 32, 33])
@pytest.mark.parametrize("of", [np.add, np.maximum])
def test_rows_are_reduced_as_by_numpy(columns, of, rng):
    x = rng.normal(size=(7, columns))
    np.testing.assert_allclose(elementary.of_rows(of, x), of.reduce(x, axis=1)[:, None], rtol=1e-13, atol=1e-14)
