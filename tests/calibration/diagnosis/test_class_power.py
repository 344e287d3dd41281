"""The temperature of several classes, fitted alone to all rows: its optimum, its error, and where it is said."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import t as student

from unperplexed import Tally, assess, diagnose
from unperplexed.calibration.diagnosis.class_power import power_of_rows
from unperplexed.calibration.diagnosis.class_rows import PreparedRows, RowBlock, count


def forecasts(rng, n, classes, temperature, spread=3.0):
    z = rng.normal(0, spread, (n, classes))
    y = (softmax(z / temperature, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, classes - 1)
    return y, softmax(z, axis=1)


def best(y, p, w=None):
    def loss(t):
        return -(log_softmax(np.log(p) / t, axis=1)[np.arange(y.size), y] * (1 if w is None else w)).sum()

    return minimize_scalar(loss, (1, 2), tol=1e-12).x


@pytest.mark.parametrize(("classes", "temperature"), [(3, 1.5), (10, 1.5), (10, 0.7), (100, 1.4)])
def test_it_is_the_optimum_of_all_rows(rng, classes, temperature):
    y, p = forecasts(rng, 1500, classes, temperature)
    w = rng.lognormal(0, 0.5, 1500)
    for weights in (None, w):
        found = diagnose(y, p, sample_weight=weights, labels=range(classes))
        assert found.temperature.value == pytest.approx(best(y, p, weights), rel=1e-6)
        low, high = found.temperature.interval
        assert low < temperature < high
        assert f"(temperature {found.temperature.value:.2f} alone, 95% CI {low:.2f} to {high:.2f})" in found.verdict


def test_rows_predicted_as_certain_are_not_left_out(rng):
    y, p = forecasts(rng, 1500, 4, 2.0, 8.0)
    assert (p.max(axis=1) > 1 - 0.01 / 1500).sum() > 100
    p[:5] = np.eye(4)[y[:5]]  # zeros count as 0.01 / (rows times classes)
    found = diagnose(y, p, labels=range(4))
    assert "certain and wrong" in found.verdict.lower()
    raised = np.where(p == 0, 0.01 / (1500 * 4), p)
    assert found.temperature.value == pytest.approx(best(y, raised), rel=1e-5)
    assert assess(y, p, labels=range(4), resamples=0).diagnosis.temperature == found.temperature


def test_its_error_is_that_of_rows_or_of_clusters(rng):
    y, p = forecasts(rng, 1200, 5, 1.6)
    cluster = np.arange(1200) % 40
    z, one = np.log(p), np.arange(1200)
    for groups in (None, cluster):
        found = diagnose(y, p, groups=groups, labels=range(5))
        b = 1 / found.temperature.value
        q = softmax(b * z, axis=1)
        mean = (q * z).sum(axis=1)
        v = (q * z * z).sum(axis=1) - mean**2
        u = z[one, y] - mean
        own = (u**2 / (1 - v / v.sum())).sum() if groups is None else 40 / 39 * (np.bincount(cluster, u) ** 2).sum()
        error = math.sqrt(max(own, v.sum())) / v.sum()
        assert found.power.standard_error == pytest.approx(error, rel=1e-5)
        reach = 1.959964 if groups is None else student.ppf(0.975, 39)
        assert found.temperature.interval == pytest.approx((1 / (b + reach * error), 1 / (b - reach * error)), rel=1e-4)


def test_the_interval_holds_the_truth(rng):
    held = []
    for _ in range(150):
        y, p = forecasts(rng, 400, 4, 1.5)
        rows = partial(iter, [RowBlock(p, y)])
        low, high = power_of_rows(PreparedRows(rows, count(rows)), 1.0).metric().interval
        held.append(low < 1 / 1.5 < high)
    assert np.mean(held) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 150)


def test_counts_do_not_know_it(rng):
    y, p = forecasts(rng, 2000, 4, 1.6)
    found = diagnose(Tally.of(y, p, parts=["diagnosis"]))
    assert found.temperature is None
    assert " alone" not in found.verdict
    assert found.to_dict()["temperature"] is None
