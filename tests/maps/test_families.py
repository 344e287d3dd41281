"""Families of maps of two classes: SciPy's optima, scikit-learn's isotonic regression, maps that never fall."""

import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from unperplexed.maps.cells import Counts
from unperplexed.maps.families import fitted_two
from unperplexed.maps.parameters import TWO_CLASSES
from unperplexed.maps.two import columns

RNG = np.random.default_rng(0)
S = np.sort(RNG.normal(0, 2, 400))
Y = (RNG.random(400) < expit(0.3 + 0.7 * S)).astype(float)
COUNTS = Counts(S, np.ones(400), Y)


@pytest.mark.parametrize("name", ["bias", "temperature", "logistic", "beta", "tail"])
def test_penalised_maximum_likelihood(name):
    found = fitted_two([name], [COUNTS], 15, 1e-12)[0][name]
    x, coefficients = columns(found.coefficients, S).T, list(found.coefficients.values())

    def gradient(b):  # of the log-likelihood with a N(0, 1) prior on each coefficient
        return x.T @ (Y - expit(S + x @ b)) - b

    expected = root(gradient, np.zeros(x.shape[1]), tol=1e-13)
    np.testing.assert_allclose(coefficients, expected.x, atol=1e-6)
    np.testing.assert_allclose(found.probabilities(S)[:, 1], expit(S + x @ coefficients), atol=1e-14)


def test_lapse_is_the_maximum():
    rng, s = np.random.default_rng(1), np.linspace(-9, 9, 400)
    y = np.where(rng.random(400) < 0.15, rng.random(400) < 0.5, rng.random(400) < expit(s)).astype(float)
    found = fitted_two(["lapse"], [Counts(s, np.ones(400), y)], 15, 1e-12)[0]["lapse"]

    def loss(b):
        q = (1 - b[2]) * expit(s + b[0] + b[1] * s) + b[2] / 2
        return -(y @ np.log(q) + (1 - y) @ np.log1p(-q)) + (b[0] ** 2 + b[1] ** 2) / 2

    starts = [(0.3, -0.3, e) for e in (0.01, 0.1, 0.3)]
    best = min((minimize(loss, at, bounds=[(-5, 5), (-0.99, 5), (1e-6, 0.9)]) for at in starts), key=lambda r: r.fun)
    assert loss([*found.coefficients.values(), found.lapse]) == pytest.approx(best.fun, abs=1e-5)
    assert found.parameters() == pytest.approx(
        {"shift": best.x[0], "slope": 1 + best.x[1], "lapse": best.x[2]}, abs=0.01
    )
    assert 0.1 < found.lapse < 0.2


def test_isotonic_is_scikit_learns_but_for_one_row_of_the_base_rate():
    found = fitted_two(["isotonic"], [COUNTS], 15, 1e-12)[0]["isotonic"].probabilities(S)[:, 1]
    plain = IsotonicRegression().fit_transform(S, Y)
    n = np.array([(plain == value).sum() for value in plain])
    base = (Y.sum() + 0.5) / 401
    shrunk = (n * plain + base) / (n + 1)
    np.testing.assert_allclose(found, IsotonicRegression().fit_transform(S, shrunk), atol=3e-4)


def test_counts_are_rows_of_like_log_odds():
    at = np.repeat(S[::40], 40)
    rows = Counts(at, np.ones(400), Y)
    counted = Counts(S[::40], np.full(10, 40.0), Y.reshape(10, 40).sum(axis=1))
    smooth = [name for name in TWO_CLASSES if "isotonic" not in name]
    one, other = fitted_two(smooth, [rows], 15, 1e-12)[0], fitted_two(smooth, [counted], 15, 1e-12)[0]
    for name in smooth:
        atol = 1e-6 if name == "lapse" else 1e-11
        np.testing.assert_allclose(one[name].probabilities(S)[:, 1], other[name].probabilities(S)[:, 1], atol=atol)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize("name", TWO_CLASSES)
def test_one_outcome_alone_gives_no_certainty(name, outcome):
    q = fitted_two([name], [Counts(S, np.ones(400), np.full(400, outcome))], 15, 1e-12)[0][name].probabilities(S)[:, 1]
    assert (q > 0).all()
    assert (q < 1).all()
    assert (np.diff(q) >= 0).all()


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_separated_rows_have_finite_maps(name):
    found = fitted_two([name], [Counts(S, np.ones(400), (S > 0).astype(float))], 15, 1e-12)[0][name]
    q = found.probabilities(S)[:, 1]
    assert np.isfinite(logit(q)).all()
    assert (np.diff(q) >= 0).all()


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_no_rows_mean_no_change(name):
    none = Counts(S, np.zeros(400), np.zeros(400))
    np.testing.assert_allclose(
        fitted_two([name], [none], 15, 1e-12)[0][name].probabilities(S)[:, 1], expit(S), atol=1e-6
    )


def test_maps_that_would_fall_become_the_logistic_one():
    # Frequencies that fall again at large log-odds ask beta and tail for a map that falls.
    s = np.linspace(-4, 4, 81)
    y = expit(s - 0.12 * s * np.abs(s) ** 1.5)
    counted = Counts(s, np.full(81, 1000.0), 1000 * y)
    found = fitted_two(["logistic", "tail"], [counted], 20, 1e-12)[0]
    np.testing.assert_allclose(found["tail"].probabilities(s), found["logistic"].probabilities(s), atol=1e-9)


@pytest.mark.slow
def test_fits_do_not_depend_on_where_they_start():
    # Maps of all rows are the starts of those of a fold's training rows: what they know must not stay in these.
    names = [name for name in TWO_CLASSES if "isotonic" not in name]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = (rng.random(400) < 0.9 * expit(S) + 0.05 * (seed % 2)).astype(float)
        starts = fitted_two(names, [Counts(S, np.ones(400), y)], 15, 1e-12)[0]
        some = (rng.random(400) < 0.7).astype(float)
        counted = Counts(S, some, some * y)
        begun, fresh = fitted_two(names, [counted], 15, 1e-12, starts)[0], fitted_two(names, [counted], 15, 1e-12)[0]
        for name in names:
            np.testing.assert_allclose(
                begun[name].probabilities(S)[:, 1], fresh[name].probabilities(S)[:, 1], atol=1e-6
            )
