"""Gradient and Fisher information of the linear maps, against differences of probabilities."""

import numpy as np
import pytest
from scipy.special import log_softmax

from unperplexed.recalibration import class_fit, class_matrix
from unperplexed.recalibration.class_linear import PARTS, FitRows, identity, log_odds_curves


@pytest.fixture
def rows():
    rng = np.random.default_rng(8)
    z = log_softmax(1.5 * rng.normal(size=(30, 4)), axis=1)
    return FitRows(z, rng.integers(4, size=30), rng.exponential(size=30), -25.0)


def by_differences(rows, probabilities, theta, step=1e-5):
    """Gradient of the log-likelihood, and the expected square of each row's gradient."""
    q, each = probabilities(theta), np.arange(len(rows.truth))
    slopes = np.stack(
        [(probabilities(theta + step * d) - probabilities(theta - step * d)) / (2 * step) for d in np.eye(theta.size)]
    )
    gradient = (slopes[:, each, rows.truth] * (rows.weights / q[each, rows.truth])).sum(axis=1)
    return gradient, np.einsum("jnc,knc,nc->jk", slopes, slopes, rows.weights[:, None] / q)


@pytest.mark.parametrize("name", [name for name in PARTS if name != "identity"])
def test_derivatives(name, rows):
    fit = class_fit.LinearFit(PARTS[name], rows)
    theta = 0.3 * np.random.default_rng(9).normal(size=fit.size)
    if PARTS[name].lapse:
        theta[-1] = -2.0
    gradient, information = by_differences(rows, lambda x: fit._map(name, x).probabilities(rows.z), theta)
    np.testing.assert_allclose(fit.ascent(theta).gradient, gradient, atol=1e-6)
    np.testing.assert_allclose(fit.information(theta), information, atol=1e-6)


@pytest.mark.parametrize("base", ["logistic", "tail"])
def test_derivatives_of_the_matrix(base, rows):
    start = class_fit.LinearFit(PARTS[base], rows)
    theta = 0.2 * np.random.default_rng(10).normal(size=start.size)
    if PARTS[base].lapse:
        theta[-1] = -2.0
    fit = class_matrix.MatrixFit(rows, start._map(base, theta))
    theta = 0.2 * np.random.default_rng(11).normal(size=20)
    gradient, information = by_differences(rows, lambda x: fit._map(x).probabilities(rows.z), theta)
    np.testing.assert_allclose(fit.ascent(theta).gradient, gradient, atol=1e-6)
    np.testing.assert_allclose(fit.information(theta), information, atol=1e-6)


def test_a_map_is_not_fitted_past_its_rows(rows):
    few = FitRows(rows.z[:3], rows.truth[:3], rows.weights[:3], -25.0)
    for name in PARTS:
        fitted = class_fit.fit_linear(name, few, identity(few))
        assert np.isfinite(fitted.probabilities(few.z)).all()
        assert np.abs(fitted.biases).max() < 20


def test_increasing_is_what_probabilities_show():
    rng, seen = np.random.default_rng(12), set()
    log_p = np.linspace(-15, -1e-4, 300)
    for _ in range(60):
        none = identity(FitRows(np.zeros((1, 3)), np.zeros(1, int), np.ones(1), -20.0))
        slope, curves = rng.uniform(0.1, 1.5), rng.normal(0, 0.4, 2)
        fitted = class_fit.replace(none, slope=slope, curves=curves)
        falls = False
        for share in np.append(np.logspace(-6, -0.5, 8), 0.5):
            rest = np.log(-np.expm1(log_p))
            z = np.stack([log_p, rest + np.log(share), rest + np.log1p(-share)], axis=1)
            falls |= bool((np.diff(fitted.probabilities(z)[:, 0]) < -1e-9).any())
        assert not (falls and class_fit.increasing(fitted)), (slope, curves)
        seen.add((falls, class_fit.increasing(fitted)))
    assert len(seen) > 1


def test_curves_stay_exact_near_one():
    p = np.array([[1 - 3e-14, 1e-14, 2e-14], [0.5, 0.25, 0.25]])
    z = np.log(p)
    z[0, 0] = np.log1p(-3e-14)
    rest = log_odds_curves(z)[0]
    np.testing.assert_allclose(rest, [[np.log(3e-14), -1e-14, -2e-14], np.log([0.5, 0.75, 0.75])], rtol=1e-12)
