"""The search over errors of more than two classes: what a set of errors costs, and which one is taken."""

import math

import numpy as np
import pytest

from many_classes import prepared, simulate
from unperplexed.calibration.diagnosis.class_fit import BIAS_SD, SMALL_SD, Fitter
from unperplexed.calibration.diagnosis.class_search import Search, _bias_cost, _identifiable, forward
from unperplexed.calibration.diagnosis.class_statistics import statistics_of
from unperplexed.calibration.diagnosis.class_tests import gate


@pytest.fixture(scope="module")
def search():
    """Overconfident forecasts, of which one class is predicted too rarely; weights have a design effect."""
    rng = np.random.default_rng(3)
    p, y = simulate(rng, 900, 4, confidence=-0.25, biases=np.array([0.6, 0, 0, 0]))
    rows = prepared(p, y, weights=rng.uniform(0.5, 1.5, 900))
    statistics = statistics_of(rows)
    tested = gate(statistics)
    found = Search(Fitter(rows, statistics, tested.effect), statistics, tested, 0.05)
    found.best = found.run()
    return found


def test_each_set_of_errors_costs_what_it_should(search):
    """The larger of 3.84 and the logarithm of the information for each, 2 more but for confidence, and the biases."""
    effect = search.gate.effect
    assert effect > 1.05
    variance = search.statistics.information / effect
    unit = max(3.8415, math.log(2 * variance.sum()))
    base = search.fitter.none.slopes.loglik
    assert len(search.found) > 6
    for errors, each in search.found.items():
        assert each.ratio == pytest.approx(2 * (each.fit.slopes.loglik - base) / effect, abs=1e-9)
        scalars = [name for name in errors if name != "bias"]
        cost = sum(unit + 2 * (name != "confidence") for name in scalars)
        rest = each.ratio - 2 * each.fit.penalty / effect - each.criterion - cost
        if "bias" not in errors:
            assert rest == pytest.approx(0, abs=1e-4)
            assert each.parameters == len(scalars)
        else:
            assert rest > 0
            assert len(scalars) < each.parameters < len(scalars) + 4
        more = (each.ratio - 2 * each.parameters) * effect / (2 * 900)
        assert each.gain(effect, 900) == pytest.approx(max(more, 0), rel=1e-12)


def test_the_best_set_has_the_largest_criterion_and_is_what_was_planted(search):
    assert max(search.found.values(), key=lambda each: each.criterion) is search.found[search.best]
    assert set(search.best) == {"confidence", "bias"}
    assert search.named(("confidence",)).tolist() == [0]
    assert set(search.singles()) == {("confidence",), ("tail",), ("noise",)}


def test_biases_of_a_class_cost_its_precision_and_the_choice_of_it(search):
    few = search.few(("confidence",), np.array([0]))
    assert few.fit.mapping.biases[0] > 0.2
    np.testing.assert_allclose(few.fit.mapping.biases[1:], 0, atol=1e-6)
    assert 1 < few.parameters < 2


@pytest.mark.parametrize("sd", [BIAS_SD, SMALL_SD])
def test_the_cost_of_biases(sd):
    """The logarithm of each gain in precision; but as much as calibrated classes reach in one case of a hundred."""
    variance = np.array([2.0, 30.0, 8.0, 100.0, 0.1])
    each = np.log(1 + variance * sd**2)
    kept = variance * sd**2 / (1 + variance * sd**2) * 0.8
    expected = max(each.sum() * 0.8, kept.sum() + 3 * np.sqrt(2 * (kept**2).sum()))
    assert _bias_cost(variance, None, sd) == pytest.approx(expected, rel=1e-12)
    ways = math.log(math.comb(5, 2))
    assert _bias_cost(variance, np.array([1, 3]), sd) == pytest.approx(each[[1, 3]].sum() + 2 * (1 + ways), rel=1e-12)


def test_the_cost_of_biases_that_many_rows_tell():
    variance = np.full(6, 1e9)
    assert _bias_cost(variance, None, BIAS_SD) == pytest.approx(5 * np.log(1e9 / 4), rel=1e-6)


@pytest.mark.parametrize(("new", "both"), [(0.031, True), (0.029, False)])
def test_the_tail_is_told_from_confidence_if_three_in_a_hundred_of_it_are_new(new, both):
    across = np.sqrt(4 * 9 * (1 - new**2))
    shape = np.array([[4.0, across], [across, 9.0]])
    assert _identifiable(("confidence", "tail"), shape) == both
    assert all(_identifiable(errors, shape) for errors in [(), ("confidence",), ("tail",), ("confidence", "noise")])
    assert not any(_identifiable(errors, 0 * shape) for errors in [("confidence",), ("tail",), ("noise",)])
    assert _identifiable((), 0 * shape)


def test_one_class_at_least_is_not_named():
    """Its bias is that of the others turned round."""
    score, variance = np.array([30.0, -40.0, 50.0, -45.0]), np.full(4, 9.0)
    named = forward(score, np.diag(variance), np.zeros(4), np.ones(4), 0.0, 0.05)
    assert named.tolist() == [2, 3, 1]
    assert forward(score / 30, np.diag(variance), np.zeros(4), np.ones(4), 0.0, 0.05).size == 0
