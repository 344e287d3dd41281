"""The fitter against SciPy, on regressions of outcomes of two classes and on normal means."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, root
from scipy.special import expit

from unperplexed.maps.fit import ESTIMATED, Prior, fitted


class Regression:
    """P(y = 1) = (1 - e) expit(x @ theta) + e / 2; the log-odds of e come last where there is a lapse."""

    def __init__(self, x, y, places, *, lapse=False, least=-math.inf):
        self.x, self.y, self.k, self.least = x, y, x.shape[1], least
        self.places = places | ({"lapse": slice(self.k, self.k + 1)} if lapse else {})
        self.asked = self.climbed = 0

    def _mixed(self, theta):
        q, e = expit(self.x @ theta[: self.k]), expit(theta[self.k]) if "lapse" in self.places else 0.0
        p = (1 - e) * q + e / 2
        moved = ((1 - e) * q * (1 - q))[:, None] * self.x
        if "lapse" in self.places:
            moved = np.column_stack([moved, e * (1 - e) * (0.5 - q)])
        return p, moved

    def ascent(self, theta):
        self.climbed += 1
        p, moved = self._mixed(theta)
        value = np.log(np.where(self.y, p, 1 - p)).sum()
        return float(value), ((self.y - p) / (p * (1 - p))) @ moved

    def information(self, theta):
        self.asked += 1
        p, moved = self._mixed(theta)
        return (moved / (p * (1 - p))[:, None]).T @ moved

    def within(self, theta):
        return np.maximum(theta, self.least)

    def begun(self, theta):
        starts = [np.append(theta[: self.k], at) for at in np.linspace(-9, 0.5, 20)]
        best = max(starts, key=lambda at: self.ascent(at)[0])
        return best if self.ascent(best)[0] > self.ascent(theta)[0] else None


def regression(k, n=600, *, lapse=0.0, sd=0.5, seed=0, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k)) @ (np.eye(k) + 0.3 * rng.normal(size=(k, k)))
    truth = rng.normal(0, sd, k)
    truth[0] = 1.5
    y = np.where(rng.random(n) < lapse, rng.random(n) < 0.5, rng.random(n) < expit(x @ truth))
    return Regression(x, y, {"slope": slice(0, 1), "biases": slice(1, k)}, lapse=lapse > 0, **more)


def optimum(of, precision, start):
    """Where SciPy finds the gradient of the penalized likelihood to vanish."""
    found = root(lambda theta: of.ascent(theta)[1] - precision * theta, start, tol=1e-13)
    assert np.abs(of.ascent(found.x)[1] - precision * found.x).max() < 1e-8
    return found.x


@pytest.mark.parametrize("k", [2, 6, 40])
@pytest.mark.parametrize("effect", [1.0, 3.0])
@pytest.mark.parametrize("sd", [0.2, 5.0])
def test_the_maximum_under_a_fixed_prior_is_that_of_scipy(k, effect, sd):
    of = regression(k)
    found = fitted(of, Prior({"slope": 2.0, "biases": sd}, effect))
    precision = effect * np.r_[2.0**-2, np.full(k - 1, sd**-2.0)]
    np.testing.assert_allclose(found.precision, precision)
    np.testing.assert_allclose(found.theta, optimum(of, precision, found.theta), atol=1e-8)
    assert found.value == pytest.approx(of.ascent(found.theta)[0])
    assert found.penalty == pytest.approx(0.5 * precision @ found.theta**2)
    np.testing.assert_array_equal(found["biases"], found.theta[1:])


def test_without_a_prior_it_is_the_maximum_of_the_likelihood_and_no_coefficient_is_undetermined():
    of = regression(5)
    found = fitted(of, Prior({"slope": math.inf, "biases": math.inf}))
    np.testing.assert_allclose(found.theta, optimum(of, np.zeros(5), found.theta), atol=1e-8)
    assert not found.separated
    np.testing.assert_allclose(found.covariance, np.linalg.inv(of.information(found.theta)), rtol=1e-4)


def test_the_scale_of_coefficients_does_not_matter():
    """Coefficients that are a million times as large as others, under no prior."""
    of, size = regression(20), np.r_[1e6, np.ones(18), 1e-6]
    less = Regression(of.x / size, of.y, of.places)
    none = Prior({"slope": math.inf, "biases": math.inf})
    np.testing.assert_allclose(fitted(less, none).theta / size, fitted(of, none).theta, atol=1e-8)


@pytest.mark.parametrize(("k", "sd"), [(8, 0.5), pytest.param(40, 0.5, marks=pytest.mark.slow)])
def test_estimated_variances_are_the_fixed_point(k, sd):
    """The fixed point of MacKay (1992) by bisection, each time with the coefficients that SciPy fits."""
    of = regression(k, sd=sd, n=2000, seed=1)
    found = fitted(of, Prior({"slope": 2.0, "biases": ESTIMATED}))

    def fit_under(variance):
        precision = np.r_[0.25, np.full(k - 1, 1 / variance)]
        theta = optimum(of, precision, found.theta)
        return theta, np.linalg.inv(of.information(theta) + np.diag(precision))

    def change(log_variance):
        theta, covariance = fit_under(math.exp(log_variance))
        determined = k - 1 - np.diag(covariance)[1:].sum() / math.exp(log_variance)
        return math.log((theta[1:] ** 2).sum() / determined) - log_variance

    variance = math.exp(brentq(change, -9, 2, xtol=1e-6))
    assert 1 / found.precision[1] == pytest.approx(variance, rel=3e-3)
    np.testing.assert_allclose(found.theta, fit_under(variance)[0], atol=3e-3 * sd)


class Normal:
    """Means theta seen with unit precision times n."""

    def __init__(self, seen, n):
        self.seen, self.n, self.asked, self.places = seen, n, 0, {"means": slice(0, seen.size)}

    def ascent(self, theta):
        return -0.5 * self.n * float((self.seen - theta) @ (self.seen - theta)), self.n * (self.seen - theta)

    def information(self, theta):
        self.asked += 1
        return self.n * np.eye(theta.size)

    def within(self, theta):
        return theta

    def begun(self, theta):
        raise AssertionError("there is no lapse")


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_variances_are_those_of_empirical_bayes(spread):
    """A normal mean seen with variance 1/n: the most likely variance of the means is mean(seen^2) - 1/n, or 0."""
    n, seen = 4.0, np.random.default_rng(3).normal(0, np.hypot(spread, 0.45), 150)
    of = Normal(seen, n)
    found = fitted(of, Prior({"means": ESTIMATED}))
    variance = max(float(seen @ seen) / 150 - 1 / n, 1e-6)
    assert 1 / found.precision[0] == pytest.approx(variance, rel=1e-4)
    np.testing.assert_allclose(found.theta, seen * n / (n + 1 / variance), atol=1e-4)
    assert of.asked <= 2


@pytest.mark.parametrize("wrong", [0.05, 20.0])
def test_wrong_information_decides_how_fast_the_maximum_is_found_but_not_where(wrong):
    of, prior = Normal(np.arange(30) - 14.0, 10.0), Prior({"means": 1.0})
    found = fitted(of, prior, known=wrong * of.information(np.zeros(30)))
    np.testing.assert_allclose(found.theta, of.seen * 10 / 11, atol=1e-7)
    np.testing.assert_allclose(found.information, 10 * np.eye(30))


def test_information_of_a_similar_likelihood_serves_instead():
    of, prior = regression(40, seed=2), Prior({"slope": 2.0, "biases": 0.5})
    known, of.asked = of.information(np.zeros(40)) * 1.2, 0
    found = fitted(of, prior, start=optimum(of, np.full(40, 4.0), np.zeros(40)), known=known)
    np.testing.assert_allclose(found.theta, optimum(of, found.precision, found.theta), atol=1e-5)
    assert of.asked <= 1


@pytest.mark.parametrize("k", [3, 30])
def test_a_lapse_is_begun_and_fitted_with_the_rest(k):
    of = regression(k, 3000, lapse=0.15, sd=1.0)
    found = fitted(of, Prior({"slope": 2.0, "biases": 1.0, "lapse": 15.0}))
    exact = minimize(
        lambda theta: -of.ascent(theta)[0] + 0.5 * found.precision @ theta**2,
        found.theta,
        jac=lambda theta: -of.ascent(theta)[1] + found.precision * theta,
        options={"gtol": 1e-7},
    )
    np.testing.assert_allclose(found.theta, exact.x, atol=1e-6)
    assert expit(found["lapse"][0]) == pytest.approx(0.15, abs=0.05)
    from_there = fitted(of, Prior({"slope": 2.0, "biases": 1.0, "lapse": 15.0}), start=found.theta)
    np.testing.assert_allclose(from_there.theta, found.theta, atol=1e-6)


def test_a_lapse_that_does_not_help_is_none():
    x = np.repeat([-1.0, 1.0], 100)[:, None]
    y = np.r_[np.arange(100) < 20, np.arange(100) < 80]
    prior = Prior({"slope": 2.0, "lapse": 15.0})
    of = Regression(x, y, {"slope": slice(0, 1)}, lapse=True)
    of.begun = lambda theta: None
    found, alone = fitted(of, prior), fitted(Regression(x, y, {"slope": slice(0, 1)}), prior)
    assert np.isneginf(found["lapse"]).all()
    assert found["slope"] == pytest.approx(alone.theta)
    assert (found.value, found.penalty) == pytest.approx((alone.value, alone.penalty))
    assert found.covariance[0, 0] == pytest.approx(alone.covariance[0, 0])
    assert np.isnan(found.covariance[1]).all()


@pytest.mark.parametrize("k", [4, 20])
def test_coefficients_stay_within_their_bounds_and_the_others_are_the_best_beside_them(k):
    of = regression(k, least=-0.2)
    found = fitted(of, Prior({"slope": 2.0, "biases": 1.0}))
    pull = of.ascent(found.theta)[1] - found.precision * found.theta
    held = found.theta == -0.2
    assert held.any()
    assert not held.all()
    assert (pull[held] <= 0).all()
    np.testing.assert_allclose(pull[~held], 0, atol=1e-4)


def test_separated_outcomes_are_bounded_by_the_prior_alone_and_said_to_be():
    x = np.linspace(-3, 3, 40)[:, None]
    of = Regression(x, x[:, 0] > 0, {"slope": slice(0, 1)})
    found = fitted(of, Prior({"slope": 5.0}))
    assert found.separated
    assert found.theta == pytest.approx(optimum(of, found.precision, found.theta), abs=1e-6)


def test_nothing_to_fit_is_a_fit():
    of = Regression(np.zeros((4, 0)), np.array([0, 1, 1, 0]), {})
    found = fitted(of, Prior({}))
    assert (found.theta.size, found.value, found.penalty) == (0, pytest.approx(4 * math.log(0.5)), 0.0)
