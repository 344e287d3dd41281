"""Fits of maps for two classes against SciPy's general optimiser and scikit-learn's isotonic regression."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from unperplexed.recalibration.binary_fit import fit_binary_maps
from unperplexed.recalibration.binary_maps import BINARY_METHODS, COLUMNS
from unperplexed.statistics.log_odds_maps import Counted

RNG = np.random.default_rng(0)
S = np.sort(RNG.normal(0, 2, 400))
Y = (RNG.random(400) < expit(0.3 + 0.7 * S)).astype(float)
COUNTED = Counted(S, np.ones(400), Y)


@pytest.mark.parametrize("name", ["bias", "temperature", "logistic", "beta", "tail"])
def test_penalised_maximum_likelihood(name):
    found = fit_binary_maps([name], COUNTED, 15)[name]
    x = np.stack([COLUMNS[column](S) for column in found.columns], axis=1)

    def loss(b):
        q = expit(S + x @ b)
        return -(Y @ np.log(q) + (1 - Y) @ np.log1p(-q)) + b @ b / 2

    expected = minimize(loss, np.zeros(x.shape[1]), tol=1e-12)
    np.testing.assert_allclose(found.coefficients, expected.x, atol=1e-4)
    np.testing.assert_allclose(found.probabilities(S), expit(S + x @ found.coefficients), atol=1e-14)


def test_lapse_is_the_maximum():
    rng, s = np.random.default_rng(1), np.linspace(-9, 9, 400)
    y = np.where(rng.random(400) < 0.15, rng.random(400) < 0.5, rng.random(400) < expit(s)).astype(float)
    found = fit_binary_maps(["lapse"], Counted(s, np.ones(400), y), 15)["lapse"]

    def loss(b):
        q = (1 - b[2]) * expit(s + b[0] + b[1] * s) + b[2] / 2
        return -(y @ np.log(q) + (1 - y) @ np.log1p(-q)) + (b[0] ** 2 + b[1] ** 2) / 2

    starts = [(0.3, -0.3, e) for e in (0.01, 0.1, 0.3)]
    best = min((minimize(loss, at, bounds=[(-5, 5), (-0.99, 5), (1e-6, 0.9)]) for at in starts), key=lambda r: r.fun)
    assert loss([*found.coefficients, found.lapse]) == pytest.approx(best.fun, abs=1e-5)
    assert found.parameters() == pytest.approx(
        {"intercept": best.x[0], "slope": 1 + best.x[1], "lapse": best.x[2]}, abs=0.01
    )
    assert 0.1 < found.lapse < 0.2


def test_isotonic_is_scikit_learns_but_for_one_row_of_the_base_rate():
    found = fit_binary_maps(["isotonic"], COUNTED, 15)["isotonic"].probabilities(S)
    plain = IsotonicRegression().fit_transform(S, Y)
    n = np.array([(plain == value).sum() for value in plain])
    base = (Y.sum() + 0.5) / 401
    shrunk = (n * plain + base) / (n + 1)
    np.testing.assert_allclose(found, IsotonicRegression().fit_transform(S, shrunk), atol=3e-4)


def test_counts_are_rows_of_like_log_odds():
    at = np.repeat(S[::40], 40)
    rows = Counted(at, np.ones(400), Y)
    counted = Counted(S[::40], np.full(10, 40.0), Y.reshape(10, 40).sum(axis=1))
    smooth = [name for name in BINARY_METHODS if "isotonic" not in name]
    one, other = fit_binary_maps(smooth, rows, 15), fit_binary_maps(smooth, counted, 15)
    for name in smooth:
        atol = 1e-6 if name == "lapse" else 1e-11
        np.testing.assert_allclose(one[name].probabilities(S), other[name].probabilities(S), atol=atol)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("name", BINARY_METHODS)
def test_one_outcome_alone_gives_no_certainty(name, outcome):
    q = fit_binary_maps([name], Counted(S, np.ones(400), np.full(400, outcome)), 15)[name].probabilities(S)
    assert (q > 0).all()
    assert (q < 1).all()
    assert (np.diff(q) >= 0).all()


@pytest.mark.parametrize("name", BINARY_METHODS)
def test_separated_rows_have_finite_maps(name):
    found = fit_binary_maps([name], Counted(S, np.ones(400), (S > 0).astype(float)), 15)[name]
    q = found.probabilities(S)
    assert np.isfinite(logit(q)).all()
    assert (np.diff(q) >= 0).all()


@pytest.mark.parametrize("name", BINARY_METHODS)
def test_no_rows_mean_no_change(name):
    none = Counted(S, np.zeros(400), np.zeros(400))
    np.testing.assert_allclose(fit_binary_maps([name], none, 15)[name].probabilities(S), expit(S), atol=1e-6)


def test_maps_that_would_fall_become_the_logistic_one():
    # Frequencies that fall again at large log-odds ask beta and tail for a map that falls.
    s = np.linspace(-4, 4, 81)
    y = expit(s - 0.12 * s * np.abs(s) ** 1.5)
    counted = Counted(s, np.full(81, 1000.0), 1000 * y)
    found = fit_binary_maps(["logistic", "tail"], counted, 20)
    np.testing.assert_allclose(found["tail"].probabilities(s), found["logistic"].probabilities(s), atol=1e-9)


def test_fits_do_not_depend_on_where_they_start():
    # Maps of all rows are the starts of those of a fold's training rows: what they know must not stay in these.
    names = [name for name in BINARY_METHODS if "isotonic" not in name]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = (rng.random(400) < 0.9 * expit(S) + 0.05 * (seed % 2)).astype(float)
        starts = fit_binary_maps(names, Counted(S, np.ones(400), y), 15)
        some = (rng.random(400) < 0.7).astype(float)
        counted = Counted(S, some, some * y)
        begun, fresh = fit_binary_maps(names, counted, 15, starts), fit_binary_maps(names, counted, 15)
        for name in names:
            np.testing.assert_allclose(begun[name].probabilities(S), fresh[name].probabilities(S), atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "lapse"])
def test_a_search_that_ends_early_never_loses(name, monkeypatch):
    """Each step climbs: however few are allowed, the penalised likelihood only grows with their number."""
    reached = []
    for steps in (0, 1, 2, 60):
        monkeypatch.setattr("unperplexed.recalibration.binary_fit._MOST_STEPS", steps)
        found = fit_binary_maps([name], COUNTED, 15)[name]
        q = found.probabilities(S)
        reached.append(Y @ np.log(q) + (1 - Y) @ np.log1p(-q) - np.square(found.coefficients).sum() / 2)
    assert (np.diff(reached) >= -1e-9).all()
    assert reached[-1] > reached[0]
