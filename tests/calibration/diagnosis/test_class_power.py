"""The temperature of several classes, fitted alone to all rows: its optimum, its error, and where it is said."""

import math
import re
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax
from scipy.stats import t as student

from unperplexed import Tally, assess, diagnose
from unperplexed.calibration.diagnosis.class_rows import PreparedRows, RowBlock, count
from unperplexed.calibration.diagnosis.class_search import power_of_rows
from unperplexed.maps.classes import ClassMap


def forecasts(rng, n, classes, temperature, spread=3.0):
    z = rng.normal(0, spread, (n, classes))
    y = (softmax(z / temperature, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, classes - 1)
    return y, softmax(z, axis=1)


def best(y, p, w=None):
    def loss(t):
        return -(log_softmax(np.log(p) / t, axis=1)[np.arange(y.size), y] * (1 if w is None else w)).sum()

    return minimize_scalar(loss, (1, 2), tol=1e-12).x


@pytest.mark.parametrize(
    ("classes", "temperature"), [(3, 1.5), (10, 0.7), pytest.param(100, 1.4, marks=pytest.mark.slow)]
)
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
    p[:5] = np.eye(4)[y[:5]]
    found = diagnose(y, p, labels=range(4))
    assert "certain and wrong" in found.verdict.lower()
    zero = min(0.01 / (1500 * 4), p[p > 0].min())  # what a recalibrator takes it for
    raised = np.where(p == 0, zero, p)
    assert found.temperature.value == pytest.approx(best(y, raised), rel=1e-5)
    assert assess(y, p, labels=range(4), resamples=0).diagnosis.temperature == found.temperature


def test_its_error_is_that_of_rows_or_of_clusters(rng):
    y, p = forecasts(rng, 1200, 5, 1.6)
    cluster = np.arange(1200) % 40
    z, one = np.log(p), np.arange(1200)
    for groups in (None, cluster):
        found = diagnose(y, p, clusters=groups, labels=range(5))
        b = 1 / found.temperature.value
        q = softmax(b * z, axis=1)
        mean = (q * z).sum(axis=1)
        v = (q * z * z).sum(axis=1) - mean**2
        u = z[one, y] - mean
        leverage = v / v.sum()
        of_clusters = np.bincount(cluster, u) / (1 - np.bincount(cluster, leverage))
        own = (u**2 / (1 - leverage)).sum() if groups is None else (of_clusters**2).sum()
        error = math.sqrt(max(own, v.sum())) / v.sum()
        assert found.power.standard_error == pytest.approx(error, rel=1e-5)
        reach = 1.959964 if groups is None else student.ppf(0.975, 39)
        assert found.temperature.interval == pytest.approx((1 / (b + reach * error), 1 / (b - reach * error)), rel=1e-4)


def in_clusters(rng, q, clusters):
    """Outcomes of rows that share a uniform number with half of the others of their cluster."""
    cluster = np.arange(len(q)) % clusters
    u = np.where(rng.random(len(q)) < 0.5, rng.random(clusters)[cluster], rng.random(len(q)))
    return (q.cumsum(axis=1) < u[:, None]).sum(axis=1).clip(max=q.shape[1] - 1), cluster


def test_other_errors_have_the_standard_errors_of_clusters_too(rng):
    """The interval of a tail is that of scores of rows from finite differences, each cluster left out of its own."""
    p, map_of = softmax(rng.normal(0, 2, (1500, 3)), axis=1), lambda k: ClassMap(shared={"slope": 0.0, "tail": k})
    y, cluster = in_clusters(rng, map_of(-0.4).probabilities(np.log(p)), 50)
    [found] = diagnose(y, p, clusters=cluster, labels=range(3)).findings
    low, k, high = (map_of(found.parameter + step).probabilities(np.log(p)) for step in (-1e-5, 0, 1e-5))
    score = (np.log(high) - np.log(low)) / 2e-5
    u, v = score[np.arange(1500), y], (k * score**2).sum(axis=1)
    sums, shares = np.bincount(cluster, u), np.bincount(cluster, v) / v.sum()
    error = math.sqrt(max(v.sum(), ((sums / (1 - shares)) ** 2).sum())) / v.sum()
    assert error > 1.1 / math.sqrt(v.sum())
    assert found.error == "tail"
    assert np.diff(found.interval) / 2 == pytest.approx(student.ppf(0.975, 49) * error, rel=1e-3)


def test_no_prior_draws_the_bias_of_a_single_class_to_0(rng):
    """Beside clusters a prior would count for as much as many rows: at the maximum means and frequencies are equal."""
    p = softmax(rng.normal(0, 2, (2000, 10)), axis=1)
    bias = np.eye(10)[0]
    y, cluster = in_clusters(rng, softmax(np.log(p) + bias, axis=1), 100)
    [found] = diagnose(y, p, clusters=cluster, labels=range(10)).findings
    assert (found.error, found.label) == ("bias", 0)
    mended = softmax(np.log(p) + found.parameter * bias, axis=1)
    assert mended[:, 0].mean() == pytest.approx(np.mean(y == 0), rel=1e-4)
    assert found.interval[0] < 1 < found.interval[1]


def test_a_class_that_never_occurs_has_a_bias_without_bounds(rng):
    p = softmax(rng.normal(0, 1, (1000, 6)), axis=1)
    others = np.where(np.arange(6) == 2, 0, p)
    y = (others.cumsum(axis=1) < rng.random((1000, 1)) * others.sum(axis=1, keepdims=True)).sum(axis=1)
    [found] = [each for each in diagnose(y, p, labels=range(6)).findings if each.error == "bias"]
    assert (found.label, found.parameter < -1) == (2, True)
    assert np.isnan(found.interval).all()


@pytest.mark.slow
def test_the_interval_holds_the_truth(rng):
    held = []
    for _ in range(150):
        y, p = forecasts(rng, 400, 4, 1.5)
        rows = partial(iter, [RowBlock(p, y)])
        low, high = power_of_rows(PreparedRows(rows, count(rows))).slope.metric().interval
        held.append(low < 1 / 1.5 < high)
    assert np.mean(held) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 150)


def with_lapse(rng, n, classes, temperature, lapse, spread=3.0):
    z = rng.normal(0, spread, (n, classes))
    q = (1 - lapse) * softmax(z / temperature, axis=1) + lapse / classes
    return (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, classes - 1), softmax(z, axis=1)


@pytest.mark.parametrize(("temperature", "lapse"), [(0.4, 0.015), (1.6, 0.03)])
def test_a_lapse_that_pays_is_fitted_with_it(rng, temperature, lapse):
    y, p = with_lapse(rng, 4000, 10, temperature, lapse)
    found = diagnose(y, p, labels=range(10))

    def loss(theta):
        b, e = theta[0], expit(theta[1])
        return -np.log((1 - e) * softmax(b * np.log(p), axis=1)[np.arange(y.size), y] + e / 10).sum()

    least = minimize(
        loss, (1 / temperature, logit(lapse)), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}
    )
    power, odds = least.x
    assert found.temperature.value == pytest.approx(1 / power, rel=1e-5)
    assert found.lapse == pytest.approx(expit(odds), rel=1e-4)
    low, high = found.temperature.interval
    assert low < temperature < high
    assert found.temperature_label == found.to_dict()["temperature_label"] == "with a lapse"
    fitted = f"with {100 * expit(odds):.2g}% of the outcomes as if random"
    words = f"(temperature {1 / power:.2f} {fitted}, 95% CI {low:.2f} to {high:.2f})"
    assert words in found.verdict
    remedies = " ".join(finding.remedy for finding in found.findings)
    assert f"Divide the log-probabilities by {1 / power:.2f} (temperature scaling, fitted {fitted})" in remedies
    assert re.search(f"[Mm]ix the predictions with a {expit(odds):.2g} share", remedies)
    for finding in found.findings:
        if finding.error == "noise":
            assert finding.parameter == found.lapse
            assert finding.interval[0] < lapse < finding.interval[1]


def test_the_remedy_of_a_lapse_that_only_rows_predicted_as_certain_show(rng):
    y, p = forecasts(rng, 3000, 10, 1.6)
    p[:30] = softmax(np.eye(10)[(y[:30] + 1) % 10] * 40, axis=1)
    found = diagnose(y, p, labels=range(10))
    assert "noise" not in found.errors
    [confidence] = [finding for finding in found.findings if finding.error == "confidence"]
    scaling = f"Divide the log-probabilities by {found.temperature.value:.2f} (temperature scaling, fitted with"
    share = f"{100 * found.lapse:.2g}% of the outcomes as if random), and mix the predictions with a {found.lapse:.2g}"
    assert confidence.remedy.startswith(f"{scaling} {share} share of a uniform forecast.")


def test_the_error_of_temperature_and_lapse_is_that_of_both_scores(rng):
    y, p = with_lapse(rng, 3000, 5, 1.5, 0.05)
    found = diagnose(y, p, labels=range(5))
    b, e, z, one = 1 / found.temperature.value, found.lapse, np.log(p), np.arange(y.size)
    q = softmax(b * z, axis=1)
    mixed = (1 - e) * q + e / 5
    scores = np.array(
        [(1 - e) * q * (z - (q * z).sum(axis=1)[:, None]) / mixed, e * (1 - e) * (1 / 5 - q) / mixed]
    )  # by the power and by the log-odds of the lapse, of each class
    each = np.einsum("nc,inc,jnc->nij", mixed, scores, scores)
    direction = np.linalg.inv(each.sum(axis=0))[0]
    u = direction @ scores[:, one, y]
    v = np.einsum("i,nij,j->n", direction, each, direction)
    error = math.sqrt(max(v.sum(), (u**2 / (1 - v / v.sum())).sum()))
    assert found.power.standard_error == pytest.approx(error, rel=1e-4)


@pytest.mark.slow
def test_the_interval_beside_a_lapse_holds_the_truth(rng):
    held = []
    for _ in range(150):
        y, p = with_lapse(rng, 1000, 4, 0.6, 0.05)
        rows = partial(iter, [RowBlock(p, y)])
        power = power_of_rows(PreparedRows(rows, count(rows)), lapse_cost=0.0)
        ends = (power.slope.metric().interval, power.lapse_odds.metric().interval)
        held.append([low < truth < high for (low, high), truth in zip(ends, (1 / 0.6, logit(0.05)), strict=True)])
    assert np.mean(held, axis=0).min() >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 150)


@pytest.mark.slow
def test_a_lapse_seldom_pays_without_one(rng):
    labels = [diagnose(*forecasts(rng, 600, 4, 1.7), labels=range(4)).temperature_label for _ in range(60)]
    assert labels.count("alone") >= 59


def test_counts_say_alone_only_where_nothing_is_beside(rng):
    y, p = forecasts(rng, 2000, 4, 1.6)
    found, counted = diagnose(y, p, labels=range(4)), diagnose(Tally.of(y, p, parts=["diagnosis"]))
    assert counted.temperature is None
    assert counted.temperature_label == ""
    assert counted.to_dict()["temperature"] is None
    assert f"(temperature {found.temperature.value:.2f} alone," in counted.verdict
    p[:5] = softmax(np.eye(4)[(y[:5] + 1) % 4] * 40, axis=1)
    counted = diagnose(Tally.of(y, p, parts=["diagnosis"]))
    assert set(counted.errors) == {"confidence", "certainty"}
    assert re.search(r"\(temperature \d\.\d\d beside the other errors, 95% CI", counted.verdict)
    assert " alone" not in counted.verdict
