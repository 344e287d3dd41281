"""The search over errors of more than two classes: what a set of errors costs, and which one is taken."""

import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from many_classes import bent, prepared, simulate, statistics_of
from unperplexed.calibration.diagnosis import class_search
from unperplexed.calibration.diagnosis.class_scores import PARAMETERS, RowLikelihoods, SumLikelihoods
from unperplexed.calibration.diagnosis.class_search import (
    BIAS_SD,
    SMALL_SD,
    Search,
    _beside_biases,
    _bias_cost,
    _identifiable,
    forward,
    prior_of,
)
from unperplexed.calibration.diagnosis.class_tails import gamma_p_values
from unperplexed.calibration.diagnosis.class_tests import gate, third_moments
from unperplexed.maps.classes import ClassMap
from unperplexed.maps.fit import fitted

ALL = ["slope", "tail", "biases", "lapse"]


@pytest.fixture(scope="module")
def search():
    """Overconfident forecasts, of which one class is predicted too rarely; weights have a design effect."""
    rng = np.random.default_rng(3)
    p, y = simulate(rng, 900, 4, confidence=-0.25, biases=np.array([0.6, 0, 0, 0]))
    rows = prepared(p, y, weights=rng.uniform(0.5, 1.5, 900))
    statistics = statistics_of(rows)
    tested = gate(statistics)
    found = Search(RowLikelihoods(rows, statistics), statistics, tested, 0.05)
    found.best = found.run()
    return found


def test_each_set_of_errors_costs_what_it_should(search):
    """The larger of 3.84 and the logarithm of the information for each, 2 more but for confidence, and the biases."""
    effect = search.gate.effect
    assert effect > 1.05
    variance = search.statistics.information / effect
    unit = max(3.8415, math.log(2 * variance.sum()))
    base = search.found[()].fit.value
    assert len(search.found) > 6
    for errors, each in search.found.items():
        assert each.ratio == pytest.approx(2 * (each.fit.value - base) / effect, abs=1e-9)
        scalars = [name for name in errors if name != "bias"]
        cost = sum(unit + 2 * (name != "confidence") for name in scalars)
        rest = each.ratio - 2 * each.fit.penalty / effect - each.worth - cost
        if "bias" not in errors:
            assert rest == pytest.approx(0, abs=1e-4)
            assert each.parameters == len(scalars)
        else:
            beside = variance
            if scalars:
                beside = np.diag(bent(search.of, search.found[(*scalars,)].mapping, ALL)[1])[2:6] / effect
            assert rest == pytest.approx(_bias_cost(beside, each.classes, each.sd), rel=1e-3)
            share = beside / (beside + each.sd**-2)
            of_biases = 3 / 4 * share.sum() if each.classes is None else share[each.classes].sum()
            assert each.parameters == pytest.approx(len(scalars) + of_biases, rel=1e-9)
        assert each.beyond_chance == pytest.approx(each.ratio - 2 * each.parameters, rel=1e-12)


def test_the_best_set_is_worth_most_and_is_what_was_planted(search):
    assert max(search.found.values(), key=lambda each: each.worth) is search.found[search.best]
    assert set(search.best) == {"confidence", "bias"}
    assert search.named(("confidence",)).tolist() == [0]
    assert set(search.singles()) == {("confidence",), ("tail",), ("noise",)}


def test_biases_of_a_class_cost_its_precision_and_the_choice_of_it(search):
    few = search.few(("confidence",), np.array([0]))
    assert few.mapping.biases[0] > 0.2
    np.testing.assert_allclose(few.mapping.biases[1:], 0, atol=1e-6)
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
    assert _identifiable(("confidence", "tail"), 1e-4 * shape) == both  # few rows
    assert _identifiable(("tail",), 1e-4 * shape)


def test_one_class_at_least_is_not_named():
    """Its bias is that of the others turned round."""
    score, variance = np.array([30.0, -40.0, 50.0, -45.0]), np.full(4, 9.0)
    named = forward(score, np.diag(variance), np.zeros(4), np.ones(4), 0.0, 0.05)
    assert named.tolist() == [2, 3, 1]
    assert forward(score / 30, np.diag(variance), np.zeros(4), np.ones(4), 0.0, 0.05).size == 0


@pytest.mark.parametrize("classes", [3, 5, 8])
def test_classes_are_named_by_their_scores_given_those_already_named(classes):
    """The conditional score and covariance of the others by the inverse of the covariance of the named.

    Each is named whose p-value, times the number of those that are left, is below the level.
    """
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.ones(classes), 40)
    covariance = 30 * (np.diag(p.sum(axis=0)) - p.T @ p)
    inflation, third = rng.uniform(1, 2, classes), rng.normal(0, 2000, classes)
    score = np.linalg.cholesky(covariance + 1e-9 * np.eye(classes)) @ rng.normal(0, 2, classes)
    named, adjusted = [], []
    while len(named) < classes - 1:
        left = [at for at in range(classes) if at not in named]
        across = covariance[np.ix_(left, named)] @ np.linalg.inv(covariance[np.ix_(named, named)])
        deviation = score[left] - across @ score[named]
        variance = np.diag(covariance)[left] - np.einsum("ij,ij->i", across, covariance[np.ix_(left, named)])
        tails = gamma_p_values(deviation, variance * inflation[left], third[left] * inflation[left] ** 1.5, 1.0)
        adjusted.append(tails.min() * len(left))
        named.append(left[int(tails.argmin())])
    for level in adjusted:
        for alpha in (level * (1 - 1e-6), level * (1 + 1e-6)):
            below = [*(each < alpha for each in adjusted), False].index(False)
            assert forward(score, covariance, third, inflation, 1.0, alpha).tolist() == named[:below]


def test_of_classes_beyond_all_doubt_the_clearest_is_named_first():
    score, variance = np.array([30.0, -40.0, 50.0, -45.0]), np.array([0.04, 0.09, 0.36, 0.16])
    found = forward(score, np.diag(variance), np.zeros(4), np.array([1, 1, 1, 1.5]), 0.0, 0.05)
    assert found.tolist() == [0, 1, 3]


def test_a_class_of_which_nothing_is_known_is_not_named():
    score, variance = np.array([0.04, 0.04, 3.0]), np.array([1e-4, 1e-10, 1.0])
    assert forward(score, np.diag(variance), np.zeros(3), np.ones(3), 0.0, 0.05).tolist() == [0, 2]
    same = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 9e-7, 0.0], [0.0, 0.0, 1.0]])  # the second is the first
    assert forward(np.array([9.0, 9.9, 8.0]), same, np.zeros(3), np.ones(3), 0.0, 0.05).tolist() == [1, 2]


@pytest.mark.parametrize(("below", "both"), [(29.9, True), (30.1, False)])
def test_small_biases_and_those_of_a_few_classes_are_tried_beside_the_best_two_sets(search, below, both):
    """Of which the second may be 30 below the first."""
    other, tried = copy(search), []
    worths = {(): 5.0, ("confidence",): 70.0, ("tail",): 100.0 - below, ("confidence", "tail"): 100.0}
    other._plain = other._beside = list(worths)
    best = {**worths, ("tail",): 0.0, ("confidence",): 0.0, ("tail", "bias"): 100.0 - below}
    other.found = {errors: replace(search.found[()], cost=-each) for errors, each in best.items()}
    other._try, other._bias_cannot_pay = (lambda _: None), (lambda *_: True)
    other._try_other_biases = tried.append
    assert other.run() == ("confidence", "tail")
    assert tried == [("confidence", "tail"), ("tail",)][: 1 + both]


@pytest.mark.parametrize("errors", [("confidence",), ("tail",), ("confidence", "tail")])
def test_biases_are_told_beside_other_errors(monkeypatch, search, errors):
    """By their scores and covariance given those of the others."""
    given, other = [], copy(search)
    monkeypatch.setattr("unperplexed.calibration.diagnosis.class_search.forward", lambda *each: given.extend(each))
    other._forward(errors)
    score, covariance, third, inflation, step, alpha = given
    seen, known = bent(search.of, search.found[errors].mapping, ALL)
    here = [ALL.index(PARAMETERS[name]) for name in errors]
    across = known[2:6, here]
    expected = known[2:6, 2:6] - across @ np.linalg.inv(known[np.ix_(here, here)]) @ across.T
    np.testing.assert_allclose(covariance, expected, rtol=1e-6, atol=1e-6 * expected.max())
    np.testing.assert_allclose(score, seen, rtol=1e-9)
    np.testing.assert_array_equal(third, third_moments(search.statistics))
    np.testing.assert_array_equal(inflation, np.maximum(search.gate.class_effect, 1))
    assert (step, alpha) == (0, 0.05)  # weights differ: counts are no whole numbers


@pytest.mark.parametrize("sd", [BIAS_SD, SMALL_SD])
def test_biases_that_cannot_pay_their_cost_are_not_tried(sd):
    """In a parabola the score tells the likelihood ratio; half as much again and 10 would have to pay."""
    rng = np.random.default_rng(7)
    p, y = simulate(rng, 900, 40, biases=rng.normal(0, 0.2, 40))
    statistics = statistics_of(prepared(p, y, weights=rng.uniform(0.5, 1.5, 900)))
    tested = gate(statistics)
    likelihoods = SumLikelihoods(statistics, None, (p[np.arange(900), y], np.ones(900)))
    search = Search(likelihoods, statistics, tested, 0.05)
    of = likelihoods.of(("biases",), ClassMap())
    fit = fitted(of, prior_of(40, tested.effect, None, sd))
    ratio = 2 * (fit.value - fit.penalty) / tested.effect
    cost = _bias_cost(statistics.information / tested.effect, None, sd)
    enough = math.sqrt((cost - 10) / 1.5 / ratio)
    for size, pays in ((0.999, False), (1.001, True)):
        other = copy(search)
        other._score = lambda _, size=size: bent(likelihoods, ClassMap())[0] * enough * size
        assert other._bias_cannot_pay((), sd) != pays


@pytest.mark.parametrize(("new", "told"), [((0.029, 0.029), False), ((0.031, 0.02), True), ((0.02, 0.031), True)])
def test_confidence_and_tail_are_told_from_biases_if_three_in_a_hundred_of_either_are_new(new, told):
    rng = np.random.default_rng(9)
    root = rng.normal(size=(3, 3))
    known = root @ root.T * 50
    directions = np.linalg.solve(np.linalg.cholesky(known).T, np.eye(3)[:2].T).T  # of variance 1, uncorrelated
    across = np.array([3 * np.sqrt(1 - new[0] ** 2), 7 * np.sqrt(1 - new[1] ** 2)])[:, None] * (directions @ known)
    shape = np.array([[9.0, 0.0], [0.0, 49.0]])
    information = np.block([[shape, across], [across.T, known]])
    for unit in (1, 1e-6):  # however few the rows are
        found = _beside_biases(unit * shape, unit * information)
        np.testing.assert_array_equal(found, unit * shape if told else 0 * shape)
    np.testing.assert_array_equal(_beside_biases(shape, 0 * information), shape)


def test_where_no_set_pays_the_error_that_the_gate_saw_is_named(search, monkeypatch):
    """By the shape the error that explains most, by the classes their biases; nothing that is not significant."""

    def named(**seen):
        own = copy(search)
        own.found, own.gate = dict(search.found), replace(search.gate, **seen)
        return class_search._single(own)

    singles = search.singles()
    best = max(singles, key=lambda each: singles[each].ratio)
    by_shape, by_class = {"shape": 0.0}, {"shape": 1.0, "single": 0.0}
    assert named(**by_shape) == best
    assert named(**by_class) == ("bias",)
    monkeypatch.setattr(class_search, "LEAST", singles[best].ratio)
    monkeypatch.setattr(search, "named", lambda _: np.empty(0, np.int64))
    assert named(**by_shape) == named(**by_class) == ()
