"""Dependence that nobody declared: laws of the search, and forecasts of which it is known."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import pearson3

from unperplexed import Distribution
from unperplexed.calibration import dependence
from unperplexed.calibration.dependence import (
    ALL_ROWS,
    Sample,
    _Groups,
    _Pairs,
    _Scores,
    copied_rows,
    events_of_classes,
    find_dependence,
    largest,
)
from unperplexed.calibration.distribution_rows import _beyond


def repeated(seed, count=100, each=10):
    """Events that are predicted several times, in any order, beside columns that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    event = rng.permutation(np.repeat(np.arange(count), each))
    s = rng.normal(0, 1, event.size)
    happened = rng.random(count)[event] < expit(s)
    return happened, s, {"other": rng.integers(0, 30, event.size), "event": event}


def test_repeated_events_are_found():
    happened, s, columns = repeated(0)
    found = find_dependence(happened, s, None, columns)
    assert (found.columns, found.taken, found.n_clusters, found.n_rows) == (("event",), True, 100, 1000)
    assert 5 < found.design_effect <= 10  # 10 rows that are nearly one
    assert found.effective_clusters == pytest.approx(100, rel=0.05)
    assert (found.looked_at, found.order, found.sampled, found.block) == (("other", "event"), True, 1.0, None)


def test_a_crossing_is_found():
    happened, s, columns = repeated(1)
    event = columns.pop("event")
    found = find_dependence(happened, s, None, columns | {"team": event % 10, "season": event // 10})
    assert {*found.columns} == {"team", "season"}
    assert found.n_clusters == 100


def test_the_order_is_found_and_blocks_are_longer():
    happened, s, columns = repeated(2, count=200)
    at = np.argsort(columns.pop("event"), kind="stable")
    found = find_dependence(happened[at], s[at], None, columns)
    assert (found.columns, found.taken, found.looked_at) == ((), True, ("other",))
    assert found.block == 100  # a twentieth of the rows at most
    assert found.n_clusters == 20
    assert find_dependence(happened[at], s[at], None, columns, order=False) is None


def test_an_order_by_outcome_says_nothing():
    happened, s, _ = repeated(3)
    at = np.argsort(happened, kind="stable")
    assert find_dependence(happened[at], s[at], None, {}) is None


@pytest.mark.parametrize("error", [lambda s: s + 1, lambda s: 2 * s, lambda s: np.sin(2 * s)])
def test_errors_of_all_forecasts_are_not_dependence(error):
    rng = np.random.default_rng(4)
    s = rng.normal(0, 1.5, 3000)
    columns = {"decile": np.argsort(np.argsort(s)) // 300, "other": rng.integers(0, 50, 3000)}
    assert find_dependence(rng.random(3000) < expit(error(s)), s, None, columns) is None


@pytest.mark.parametrize("copies", [0.2, 4.0])
def test_copies_of_rows_are_counted(copies):
    rng = np.random.default_rng(14)
    s = rng.normal(size=600)
    happened = rng.random(600) < expit(s)
    at = np.append(np.arange(600), rng.choice(600, 120, False) if copies < 1 else np.tile(np.arange(600), 4))
    at = rng.permutation(at)
    counted = copied_rows(happened[at], s[at], happened[at].astype(int), s[at].view(np.int64))
    assert counted == (240 if copies < 1 else 3000)
    assert not copied_rows(happened, s, happened.astype(int), s.view(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two digits", "three digits", "leaves", "leaves with biases"])
def test_predictions_that_many_rows_share_are_no_copies(kind):
    """Of 120 samples each, over- and underconfident ones too, in less than 1%."""
    counted = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([200, 1000, 5000]))
        leaf = rng.integers(0, n // rng.choice([2, 3, 20]), n)
        s = rng.normal(rng.choice([0, -2]), 1.5, n)
        if "digits" in kind:
            p = np.clip(np.round(expit(s), 2 if kind == "two digits" else 3), 0.001, 0.999)
            s = np.log(p) - np.log1p(-p)
            true = s
        else:
            true = s[leaf] + rng.normal(0, 1, n)[leaf] * (kind == "leaves with biases")
            s = s[leaf]
        happened = rng.random(n) < expit(rng.choice([0.5, 1, 3]) * true)
        counted += copied_rows(happened, s, happened.astype(int), s.view(np.int64)) > 0
    assert counted < 2


def test_rows_that_mirror_each_other_are_found():
    """Two sides of a game: their residuals cancel, but not times the log-odds."""
    rng = np.random.default_rng(5)
    s = rng.normal(0, 1.5, 500)
    won = rng.random(500) < expit(s)
    found = find_dependence(np.append(won, ~won), np.append(s, -s), None, {"game": np.tile(np.arange(500), 2)})
    assert found.columns == ("game",)
    assert found.design_effect == pytest.approx(2, abs=0.05)


def test_neither_names_of_values_nor_the_scale_of_weights_matter():
    happened, s, columns = repeated(6)
    rng = np.random.default_rng(6)
    renamed = {name: 10**12 + 10**6 * rng.permutation(code.max() + 1)[code] for name, code in columns.items()}
    first, second = (find_dependence(happened, s, None, each) for each in (columns, renamed))
    weighted = find_dependence(happened, s, np.full(s.size, 7.0), columns)
    for other in (second, weighted):
        assert other.columns == first.columns
        assert other.design_effect == pytest.approx(first.design_effect, rel=1e-9)


def test_a_class_and_its_complement_are_alike():
    happened, s, columns = repeated(7)
    first, second = find_dependence(happened, s, None, columns), find_dependence(~happened, -s, None, columns)
    assert first.columns == second.columns
    assert first.design_effect == pytest.approx(second.design_effect, rel=1e-3)


def test_rows_of_no_weight_and_certain_rows_stay_out():
    happened, s, columns = repeated(8)
    found = find_dependence(happened, s, None, columns)
    more = {name: np.append(code, [0] * 40) for name, code in columns.items()}
    outcomes, weight = np.append(happened, [True] * 40), np.append(np.ones(s.size), np.zeros(40))
    without = find_dependence(outcomes, np.append(s, np.zeros(40)), weight, more)
    certain = find_dependence(outcomes, np.append(s, [-np.inf] * 40), None, more)
    assert without.design_effect == pytest.approx(found.design_effect, rel=1e-9)
    assert certain.design_effect == pytest.approx(found.design_effect, rel=1e-9)


def test_columns_that_cannot_be_clusters_are_not_looked_at():
    happened, s, columns = repeated(9)
    n = s.size
    more = {"outcome": happened.astype(int), "identifier": np.arange(n), "constant": np.zeros(n, int)}
    assert find_dependence(happened, s, None, columns | more).looked_at == ("other", "event")


@pytest.mark.parametrize("rows", [0, 1, 5, 30])
def test_few_rows(rows):
    happened, s, columns = repeated(10)
    few = {name: code[:rows] for name, code in columns.items()}
    assert find_dependence(happened[:rows], s[:rows], None, few) is None


def test_one_probability_for_all():
    rng = np.random.default_rng(15)
    event = rng.permutation(np.repeat(np.arange(100), 10))
    happened, columns = (rng.random(100) < 0.4)[event], {"event": event}
    for s in (np.zeros(1000), np.full(1000, -0.3)):
        found = find_dependence(happened, s, None, columns)
        assert (found.columns, found.correlation) == (("event",), pytest.approx(1, abs=0.02))
        assert find_dependence(happened, s, None, {"event": rng.permutation(event)}, order=False) is None


@pytest.mark.parametrize("happened", [np.ones(200, bool), np.arange(200) >= 100])
def test_outcomes_that_are_all_the_same_or_separated(happened):
    columns = {"ten": np.arange(200) % 10, "twenty": np.arange(200) // 10}
    assert find_dependence(happened, np.arange(200) / 20 - 4.975, None, columns) is None


@pytest.mark.parametrize("near", [False, True], ids=["anywhere", "side by side"])
@pytest.mark.parametrize(("count", "each"), [(4000, 10), (200, 200)])
def test_stretches_of_rows_tell_the_same_as_all(count, each, near):
    """Of rows of an event that are side by side the sample has all or none, of others only a part."""
    happened, s, columns = repeated(11, count, each)
    at = np.argsort(columns["event"], kind="stable") if near else np.arange(s.size)
    happened, s, columns = happened[at], s[at], {name: code[at] for name, code in columns.items()}
    stretch, some = np.arange(s.size) // 2000, np.flatnonzero(np.arange(s.size) % 2000 < 400)
    drawn = happened[some], s[some], None, {name: code[some] for name, code in columns.items()}
    whole = find_dependence(happened, s, None, columns, order=False)
    found = find_dependence(*drawn, order=False, sample=Sample(stretch[some], 0.2))
    assert (found.sampled, found.columns, found.taken) == (0.2, ("event",), True)
    assert found.design_effect == pytest.approx(whole.design_effect, rel=0.15)
    assert found.correlation == pytest.approx(whole.correlation, rel=0.15)
    assert found.effective_clusters == pytest.approx(whole.effective_clusters, rel=0.15)
    assert found.n_rows == whole.n_rows


def test_blocks_of_a_sample_lie_within_its_stretches():
    """Rows that are far apart, but neighbours in the sample, have nothing in common."""
    happened, s, columns = repeated(2, count=4000)
    at = np.argsort(columns.pop("event"), kind="stable")
    happened, s = happened[at], s[at]
    stretch, some = np.arange(s.size) // 200, np.flatnonzero(np.arange(s.size) % 200 < 40)
    whole = find_dependence(happened, s, None, {})
    found = find_dependence(happened[some], s[some], None, {}, sample=Sample(stretch[some], 0.2))
    assert (found.block, found.taken) == (whole.block, True)
    assert found.design_effect == pytest.approx(whole.design_effect, rel=0.15)


def test_pairs_of_a_sample_are_those_of_all_on_average():
    """The mean of all samples, each as likely as if every stretch were in it with probability 1/4."""
    rng = np.random.default_rng(17)
    code, x, part = rng.integers(0, 40, 800), rng.normal(size=800), np.arange(800) // 100
    mean = 0.0
    for chosen in list(product([False, True], repeat=8))[1:]:
        some = np.flatnonzero(np.array(chosen)[part])
        groups = dependence._Groups.of(code[some], Sample(part[some], 0.25))
        mean += 0.25 ** sum(chosen) * 0.75 ** (8 - sum(chosen)) * groups.pairs_of_all(x[some]) / 0.25
    assert mean == pytest.approx(dependence._Groups.of(code, dependence.ALL_ROWS).pairs(x), rel=1e-9)


def test_one_design_for_several_forecasters():
    happened, s, columns = repeated(12)
    found = find_dependence(happened, s, None, columns)
    weaker = replace(found, design_effect=2.0)
    assert largest([None, weaker, found]) is found
    assert largest([weaker, replace(found, taken=False)]) is weaker  # the other would leave rows independent
    assert largest([None, None]) is None


def test_events_of_classes():
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.3, 0.0, 0.0]])
    (likely, of_likely), (upper, of_upper) = events_of_classes(np.array([2, 0]), p)
    assert (likely.tolist(), upper.tolist()) == ([False, True], [True, False])
    np.testing.assert_allclose(of_likely, np.log([0.4 / 0.6, 0.7 / 0.3]))
    np.testing.assert_allclose(of_upper, [np.log(0.7 / 0.3), -np.inf])


def test_outcomes_of_many_classes_that_rows_share_are_found():
    """Each row is predicted by the posterior of a signal of its own, so that most probable classes differ."""
    rng = np.random.default_rng(14)
    event = rng.permutation(np.repeat(np.arange(200), 10))
    truth = rng.integers(0, 10, 200)[event]
    p = np.exp((np.arange(10) == truth[:, None]) + rng.normal(size=(2000, 10)))
    columns = {"event": event}
    first, second = (find_dependence(y, s, None, columns) for y, s in events_of_classes(truth, p))
    assert largest([first, second]) == second
    assert second.taken


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_independent_rows_are_seldom_flagged(weighted):
    """At 1 % for all columns together: of 250 samples at most 8, with a probability of .999 if it is 1 %."""
    rng, flagged = np.random.default_rng(13), 0
    for _ in range(250):
        s = rng.normal(0, 1.5, 1000)
        columns = {str(size): rng.integers(0, size, 1000) for size in (3, 10, 50, 100, 500)}
        weight = rng.exponential(size=1000) if weighted else None
        flagged += find_dependence(rng.random(1000) < expit(s), s, weight, columns) is not None
    assert flagged <= 8


@pytest.mark.parametrize("each", [2, 3, 5])
def test_pairs_have_the_third_moment_of_their_sum(each):
    """Of symmetric residuals of variance v: triples alone add to it, 6 v**3 each, and pairs to the variance, v**2."""
    number, v = np.repeat(np.arange(30), each), 0.25
    score = np.where(np.arange(number.size) % (3 * each) < 2 * each - 1, 0.5, -0.5)
    groups = _Groups.of(number, ALL_ROWS)
    found = _Pairs(groups, _Scores.of(score, np.full(number.size, v), np.zeros(number.size)))
    variance = 30 * math.comb(each, 2) * v**2
    z = (groups.pairs(score) + variance / (v * number.size)) / math.sqrt(variance)
    skewness = 30 * math.comb(each, 3) * 6 * v**3 / variance**1.5
    assert z > 0
    assert found.p_value == pytest.approx(pearson3.sf(z, skewness), rel=3e-4)


@pytest.mark.parametrize(("named", "warned"), [("day", True), ("month", False), ("half", False)])
def test_rows_that_err_alike_within_named_clusters_are_not_warned_of(named, warned):
    """Months share a shock; halves of the rows hold whole months."""
    rng = np.random.default_rng(3)
    clusters = {"day": np.arange(400).repeat(2), "month": np.arange(20).repeat(40), "half": np.arange(2).repeat(400)}
    z = 0.8 * rng.normal(size=20)[clusters["month"]] + 0.6 * rng.normal(size=800)
    rows = Distribution("normal", mean=np.zeros(800), sd=np.ones(800)).rows_of(z, None, None)
    assert bool([*_beyond(rows, {"month": clusters["month"]}, clusters[named])]) == warned
