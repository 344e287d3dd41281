"""The likelihood of two classes in cells, and its fits: laws, and SciPy's optima of the same penalized likelihood."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime, root
from scipy.special import expit

from unperplexed.maps.cells import NO_PRIOR, Cells, Counts, fitted_cells, map_of
from unperplexed.maps.fit import Prior

PRIOR = Prior({"bias": 5.0, "slope": 5.0, "asymmetry": 5.0, "tail": 5.0, "low": 1.0, "high": 1.0, "lapse": 15.0})
SETS = [("bias",), ("slope", "asymmetry"), ("bias", "slope", "tail"), ("bias", "low", "high"), ("slope", "lapse"),
        ("lapse",), ("bias", "slope", "lapse"), ("bias", "asymmetry", "lapse")]  # fmt: skip


def sample(seed, n, centre=0.0, lapse=0.1):
    rng = np.random.default_rng(seed)
    s = np.round(rng.normal(centre, 2, n), 2)
    y = rng.random(n) < (1 - lapse) * expit(0.3 + 0.7 * s) + lapse / 2
    w = rng.exponential(size=n)
    values, at = np.unique(s, return_inverse=True)
    return Counts(values, np.bincount(at, w), np.bincount(at, w * y))


def optimum(of, prior, start):
    """SciPy's root of the gradient of the penalized likelihood."""
    precision = np.array([prior.effect * prior.sd[name] ** -2 for name in of.names])
    return root(lambda theta: of.ascent(theta)[1] - precision * theta, start, tol=1e-13).x


@pytest.mark.parametrize("names", SETS)
def test_the_gradient_is_that_of_the_value_and_the_information_its_expected_bend(names):
    counts = sample(0, 300)
    of, theta = Cells(counts, names), np.linspace(-0.6, 0.2, len(names))
    np.testing.assert_allclose(
        of.ascent(theta)[1], approx_fprime(theta, lambda x: of.ascent(x)[0], 1e-7), rtol=1e-4, atol=1e-3
    )
    # Were outcomes as often as the map says, the information would be the second derivative.
    expected = Cells(counts._replace(positive=counts.total * map_at(of, theta)), names)
    bend = -np.atleast_2d(approx_fprime(theta, lambda x: expected.ascent(x)[1], 1e-7))
    np.testing.assert_allclose(of.information(theta), bend, rtol=1e-4, atol=1e-3)


def map_at(of, theta):
    t = of.counts.s + theta[: len(of._x)] @ of._x
    e = expit(theta[-1]) if "lapse" in of.names else 0.0
    return (1 - e) * expit(t) + e / 2


@pytest.mark.parametrize("names", SETS)
@pytest.mark.parametrize("effect", [1.0, 3.0])
def test_fits_are_scipys_optima(names, effect):
    for seed, n, centre in ((1, 100, 0.0), (2, 1000, 0.0), (3, 1000, -3.0), (4, 5000, 1.0)):
        of, prior = Cells(sample(seed, n, centre), names), Prior(PRIOR.sd, effect)
        found = fitted_cells(of, prior)
        if not np.isfinite(found.theta).all():
            continue
        np.testing.assert_allclose(found.theta, optimum(of, prior, found.theta), atol=1e-5)
        assert found.value == pytest.approx(of.ascent(found.theta)[0], abs=1e-12)


@pytest.mark.parametrize("names", [("bias", "slope"), ("bias", "slope", "asymmetry")])
def test_without_a_prior_they_are_those_of_logistic_regression(names):
    counts = sample(5, 500)
    found = fitted_cells(Cells(counts, names), NO_PRIOR)
    x = np.stack([{"bias": np.ones_like, "slope": np.asarray, "asymmetry": np.abs}[name](counts.s) for name in names])
    residual = counts.positive - counts.total * expit(counts.s + found.theta @ x)
    np.testing.assert_allclose(x @ residual, 0, atol=1e-6)  # the normal equations
    q = expit(counts.s + found.theta @ x)
    np.testing.assert_allclose(
        found.covariance, np.linalg.inv((x * (counts.total * q * (1 - q))) @ x.T), rtol=1e-5, atol=1e-9
    )
    assert found.penalty == 0


@pytest.mark.slow
def test_other_starts_hardly_ever_find_a_better_lapse():
    """SciPy from fifteen: with few rows the likelihood of a lapse may have a second optimum, which must not be lost."""
    precision, missed = np.array([PRIOR.sd[name] ** -2.0 for name in ("bias", "slope", "lapse")]), []
    for seed in range(40):
        of = Cells(sample([6, seed], 100, lapse=(0.0, 0.3)[seed % 2]), ("bias", "slope", "lapse"))
        found = fitted_cells(of, PRIOR)
        others = [optimum(of, PRIOR, np.array(x)) for x in itertools.product([0], (0, 1, 4), (-6, -4, -2, -0.5, 0.5))]
        best = max(of.ascent(theta)[0] - 0.5 * precision @ theta**2 for theta in others)
        missed.append(best - (found.value - found.penalty) > 1e-6)
    assert np.mean(missed) <= 0.025


def test_a_lapse_that_does_not_help_is_none():
    """The likelihood is concave in the lapse, so that its slope at 0 tells; there the fit is that of the line."""
    s = np.linspace(-3, 3, 61)
    counts = Counts(s, np.full(61, 10.0), 10 * expit(1.5 * s))  # a line, whose ends a lapse would bend
    line = fitted_cells(Cells(counts, ("bias", "slope")), PRIOR)
    found = fitted_cells(Cells(counts, ("bias", "slope", "lapse")), PRIOR)
    assert found["lapse"] == -math.inf
    assert found.value == pytest.approx(line.value, abs=1e-9)
    assert map_of(found).lapse == 0
    assert math.isnan(found.covariance[2, 2])
    np.testing.assert_allclose(found.covariance[:2, :2], line.covariance, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("s", "positive", "names"),
    [
        (np.linspace(-3, 3, 100), lambda s: s > 0, ("slope",)),
        (np.linspace(-3, 3, 100), lambda s: s > 0.5, ("bias", "slope")),
        (np.linspace(-3, 3, 100), lambda s: s > 0, ("bias", "slope", "tail")),
        (np.linspace(-8, -2, 100), lambda s: s > 9, ("bias",)),
        (np.repeat([-2.0, 2.0], 50_000), lambda s: s > 0, ("slope",)),
    ],
)
@pytest.mark.parametrize("prior", [PRIOR, NO_PRIOR])
def test_separated_outcomes_are_told_whatever_the_prior(s, positive, names, prior):
    y = positive(s).astype(float)
    found = fitted_cells(Cells(Counts(s, np.ones_like(s), y), names), prior)
    assert found.separated
    y[[10, -10]] = 1 - y[[10, -10]]  # two errors, and they are so no more
    assert not fitted_cells(Cells(Counts(s, np.ones_like(s), y), names), prior).separated


def test_overlap_in_few_rows_is_no_separation():
    for seed in range(20):
        counts = sample([7, seed], 60)
        for names in (("bias",), ("bias", "slope"), ("bias", "slope", "asymmetry")):
            assert not fitted_cells(Cells(counts, names), PRIOR).separated


def test_a_part_that_is_separated_has_no_estimate_without_a_prior():
    """Above even odds all outcomes are positive, below they are mixed: the sizes of slope and asymmetry run away."""
    rng = np.random.default_rng(8)
    s = np.append(rng.uniform(-3, -0.5, 300), rng.uniform(2, 5, 100))
    y = np.where(s > 0, 1.0, rng.random(400) < expit(s))
    of = Cells(Counts(s, np.ones(400), y.astype(float)), ("slope", "asymmetry"))
    assert fitted_cells(of, NO_PRIOR).separated
    assert not fitted_cells(of, PRIOR).separated


def test_log_odds_of_any_size_give_finite_fits():
    s = np.array([-1000.0, -800.0, -40.0, -1.0, 1.0, 40.0, 800.0, 1000.0])
    positive = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])  # one impossible outcome and one next to it
    for names in SETS:
        found = fitted_cells(Cells(Counts(s, np.ones(8), positive), names), PRIOR)
        assert math.isfinite(found.value)
        theta = found.theta[np.isfinite(found.theta)]
        assert (np.abs(theta) < 60).all()


@pytest.mark.parametrize("start", [None, -3.0, -9.0])
def test_a_small_lapse_is_that_of_the_shares_and_one_that_does_not_help_is_none(start):
    """Where all are predicted at 10 or -10 the lapse that fits is known: (1 - e) p + e/2 is the share of wrong ones."""
    n, p = 1e6, expit(-10)
    for wrong, lapse in ((3e-4, (3e-4 - p) / (0.5 - p)), (p, 0.0), (p / 2, 0.0)):
        counts = Counts(np.array([-10.0, 10.0]), np.full(2, n), n * np.array([wrong, 1 - wrong]))
        found = fitted_cells(Cells(counts, ("lapse",)), NO_PRIOR, None if start is None else np.array([start]))
        assert expit(found["lapse"][0]) == pytest.approx(lapse, rel=1e-6, abs=0)
