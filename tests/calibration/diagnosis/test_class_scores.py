"""Fits from sums alone: where no rows tell how the likelihood bends, it is a parabola, whose maximum is known."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from many_classes import prepared, simulate
from unperplexed.calibration.diagnosis.class_fit import BIAS_SD, FAR, SMALL_SD, information_of
from unperplexed.calibration.diagnosis.class_maps import ClassMap
from unperplexed.calibration.diagnosis.class_scores import ScoreFitter
from unperplexed.calibration.diagnosis.class_statistics import statistics_of

EFFECT = 1.4
AT = {"confidence": [0], "tail": [1], "bias": [2, 3, 4, 5]}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return simulate(rng, 600, 4, confidence=-0.2)


@pytest.fixture(scope="module")
def fitter(rows):
    p, y = rows
    observed = p[np.arange(len(y)), y], np.ones(len(y))
    return ScoreFitter(statistics_of(prepared(p, y)), EFFECT, None, observed)


@pytest.fixture(scope="module")
def statistics(rows):
    return statistics_of(prepared(*rows))


SETS = [
    (("confidence",), None, BIAS_SD),
    (("tail",), None, BIAS_SD),
    (("confidence", "tail"), None, BIAS_SD),
    (("bias",), None, BIAS_SD),
    (("bias",), None, SMALL_SD),
    (("confidence", "bias"), None, BIAS_SD),
    (("confidence", "tail", "bias"), None, SMALL_SD),
    (("tail", "bias"), np.array([1, 3]), BIAS_SD),
]


@pytest.mark.parametrize(("errors", "only", "sd"), SETS)
def test_a_fit_is_the_maximum_of_a_parabola(fitter, statistics, errors, only, sd):
    score = np.concatenate([statistics.shape_score, statistics.observed - statistics.predicted])
    information = information_of(statistics)
    here = [at for name in errors for at in AT[name]]
    deviations = np.full(6, 1e-6)
    deviations[:2] = FAR
    deviations[2:] = sd if only is None else np.where(np.isin(np.arange(4), only), sd, 1e-6)
    precision = deviations[here] ** -2.0
    theta = np.zeros(6)
    theta[here] = np.linalg.solve(information[np.ix_(here, here)] + EFFECT * np.diag(precision), score[here])
    found = fitter.fit(errors, ClassMap(), only, sd)
    biases = np.zeros(4) if found.mapping.biases is None else found.mapping.biases
    np.testing.assert_allclose([found.mapping.confidence, found.mapping.tail, *biases], theta, rtol=1e-5, atol=1e-9)
    assert found.errors == errors
    assert found.penalty == pytest.approx(0.5 * EFFECT * precision @ theta[here] ** 2, rel=1e-4)
    assert found.slopes.loglik == pytest.approx(score @ theta - theta @ information @ theta / 2, rel=1e-5)
    left = score - information @ theta
    np.testing.assert_allclose([found.slopes.confidence, found.slopes.tail], left[:2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.slopes.bias, left[2:], rtol=1e-4, atol=1e-4)


def test_no_errors_are_the_forecasts_as_they_are(fitter, statistics):
    assert (fitter.none.errors, fitter.none.penalty, fitter.none.slopes.loglik) == ((), 0, 0)
    np.testing.assert_allclose(fitter.none.slopes.bias, statistics.observed - statistics.predicted)


@pytest.mark.parametrize("lapse", [0.003, 0.05, 0.3])
def test_outcomes_at_random_are_fitted_to_the_observed_probabilities(lapse):
    """The likelihood of (1 - e) p + e / C, however few or many they are; and the information on the log-odds of e."""
    rng = np.random.default_rng(6)
    p, y = simulate(rng, 3000, 4)
    y = np.where(rng.random(3000) < lapse, rng.integers(0, 4, 3000), y)
    mine, weight = p[np.arange(3000), y], rng.uniform(0.5, 1.5, 3000)
    fitter = ScoreFitter(statistics_of(prepared(p, y)), EFFECT, None, (mine, weight))

    def log_likelihood(e):
        return weight @ np.log(((1 - e) * mine + e / 4) / mine)

    best = minimize_scalar(lambda e: -log_likelihood(e), bounds=(1e-5, 0.6), method="bounded", options={"xatol": 1e-9})
    found = fitter.fit(("noise",), ClassMap())
    assert found.mapping.noise == pytest.approx(best.x, rel=1e-2)
    assert found.slopes.loglik == pytest.approx(-best.fun, rel=1e-6)
    assert found.penalty == 0
    e = found.mapping.noise
    by_log_odds = e * (1 - e) * (0.25 - mine) / ((1 - e) * mine + e / 4)
    information = fitter.information(found.mapping)
    assert information[2, 2] == pytest.approx(weight @ by_log_odds**2, rel=1e-9)
    whole = information_of(statistics_of(prepared(p, y)))
    np.testing.assert_allclose(np.delete(np.delete(information, 2, 0), 2, 1), whole, rtol=1e-9)
