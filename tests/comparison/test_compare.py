"""compare(): laws of pairing, references from outside, what is refused and what is said."""

import itertools
import json
import math
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats
from scipy.special import expit

from helpers import softmax_forecasts
from unperplexed import SCORES, InputError, assess, compare, compare_sequentially, diagnose
from unperplexed.report.numbers import estimate
from unperplexed.scores import generalized_surprisal, log_loss, row_scores
from unperplexed.statistics.intervals import Interval

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

FURTHER = ["ranked_probability_score", "power_score(0.5)", "generalized_surprisal(-0.5)"]


def rivals(rng, n=300, classes=3, number=3):
    """Outcomes and forecasters of different skill: one who knows, and others with more and more noise."""
    y, p = softmax_forecasts(rng, n, classes)
    noisy = [p ** (1 + 0.3 * at) * rng.uniform(0.2, 1, p.shape) ** at for at in range(number)]
    return y, {f"f{at}": q / q.sum(axis=1, keepdims=True) for at, q in enumerate(noisy)}


@pytest.fixture
def data(rng):
    return rivals(rng)


def correct(p, y):
    return p[np.arange(len(y)), y]


def with_a_zero(p, y):
    """Forecasters of which the last assigns 0 to one observed class."""
    *_, last = p
    q = p[last].copy()
    q[0, y[0]] = 0
    return {**p, last: q / q.sum(axis=1, keepdims=True)}


def figures(difference):
    plain = vars(difference)
    return [*(value for name, value in plain.items() if name != "interval"), *plain["interval"]]


# Differences against outside references


@pytest.mark.parametrize("score", ["brier_score", "spherical_score", "penalized_brier_score", *FURTHER[:2]])
def test_differences_are_those_of_the_paired_t_test(data, score):
    y, p = data
    comparison = compare(y, p, metrics=FURTHER, confidence=0.9)
    for a, b in itertools.combinations(p, 2):
        found = comparison.between(a, b).differences[score]
        expected = stats.ttest_rel(row_scores(y, p[a], score), row_scores(y, p[b], score))
        interval = expected.confidence_interval(1 - 0.1 / 3)  # of three pairs together
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert found.difference / found.standard_error == pytest.approx(expected.statistic, rel=1e-10)
        assert found.interval == pytest.approx(tuple(interval), rel=1e-9)


@pytest.mark.parametrize(("floor", "zeros"), [("auto", False), (0.2, False), (0, False), ("auto", True), (0.2, True)])
def test_surprisals_have_a_floor_only_where_a_forecaster_assigned_0(data, floor, zeros):
    y, p = data
    p = with_a_zero(p, y) if zeros else p
    comparison = compare(y, p, metrics=FURTHER, floor=floor)
    assert comparison.floor == (0.01 / 3 if floor == "auto" else floor)
    floor = comparison.floor if zeros else 0.0
    assert comparison.scored_floor == floor
    assert {name: each.zero_rows for name, each in comparison.forecasters.items()} == {"f0": 0, "f1": 0, "f2": zeros}
    raised = {name: np.maximum(correct(q, y), floor) for name, q in p.items()}
    wrong = {name: (q.argmax(axis=1) != y) * np.log(3) for name, q in p.items()}
    rows = {
        "log_loss": lambda name: -np.log(raised[name]),
        "penalized_log_loss": lambda name: -np.log(raised[name]) + wrong[name],
        "generalized_surprisal(-0.5)": lambda name: raised[name] ** -0.5 - 1,
    }
    for rule, values in rows.items():
        found = comparison.between("f0", "f1").differences[rule]
        assert found.p_value == pytest.approx(stats.ttest_rel(values("f0"), values("f1")).pvalue, rel=1e-9)
    assert comparison.forecasters["f1"].scores["log_loss"].mean == pytest.approx(log_loss(y, p["f1"], floor=floor))
    assert comparison.forecasters["f1"].scores["generalized_surprisal(-0.5)"].mean == pytest.approx(
        generalized_surprisal(y, p["f1"], -0.5, floor=floor)
    )


def test_the_ratio_is_that_of_the_geometric_accuracies(data):
    y, p = data
    comparison = compare(y, p)
    for pair in comparison.pairs:
        a, b = (comparison.forecasters[name] for name in (pair.first, pair.second))
        assert pair.accuracy_ratio == pytest.approx(a.geometric_accuracy / b.geometric_accuracy, rel=1e-12)
        assert pair.accuracy_ratio == pytest.approx(
            stats.gmean(correct(p[pair.first], y)) / stats.gmean(correct(p[pair.second], y)), rel=1e-12
        )
        low, high = pair.differences["log_loss"].interval
        assert pair.accuracy_ratio_interval == pytest.approx((math.exp(-high), math.exp(-low)), rel=1e-12)
    for each in comparison.forecasters.values():
        unfloored = math.exp(-each.assessment.scores["log_loss"])
        assert each.geometric_accuracy == pytest.approx(unfloored, rel=1e-12)
        low, high = each.geometric_accuracy_interval
        assert low < each.geometric_accuracy < high <= 1


def test_p_values_are_adjusted_over_the_pairs_of_a_score(data):
    y, p = data
    comparison = compare(y, p)
    for score in SCORES:
        for each in (pair.differences[score] for pair in comparison.pairs):
            assert each.adjusted_p_value == pytest.approx(min(1, 3 * each.p_value), rel=1e-12)
    two = compare(y, {name: p[name] for name in ("f0", "f1")}).between("f0", "f1").differences["log_loss"]
    assert two.adjusted_p_value == two.p_value
    expected = stats.ttest_rel(*(row_scores(y, p[name], "log_loss") for name in ("f0", "f1"))).confidence_interval(0.95)
    assert two.interval == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize(
    "how", ["clusters", *(pytest.param(how, marks=pytest.mark.slow) for how in ("rows", "lag", "two ways"))]
)
def test_an_interval_excludes_0_just_where_the_adjusted_p_value_is_below_the_level(rng, how):
    """For four forecasters of nearly the same skill, whatever rows depend on, in all rows and in groups."""
    n = 240
    dependence = {
        "rows": {},
        "clusters": {"clusters": np.arange(n) // 12},
        "lag": {"lag": 3},
        "two ways": {"clusters": [np.arange(n) // 12, np.arange(n) % 12]},
    }[how]
    near = {True: 0, False: 0}
    for _ in range(8 if how == "two ways" else 4):  # where few differ
        s = rng.normal(0, 1.5, n)
        y = (rng.random(n) < expit(s)).astype(int)
        forecasts = {
            name: expit(s + rng.normal(0, sd, n)) for name, sd in zip("abcd", (0.1, 0.45, 0.6, 0.7), strict=True)
        }
        found = compare(y, forecasts, by={"half": np.arange(n) % 2}, **dependence)
        pairs = [*found.pairs, *(pair for group in found.groups for pair in group.pairs)]
        for each in (d for pair in pairs for d in pair.differences.values()):
            low, high = each.interval
            assert (low > 0 or high < 0) == (each.adjusted_p_value < 0.05)
            near[each.adjusted_p_value < 0.05] += 1
        assert "simultaneous 95% CI" in str(found)
    assert min(near.values()) > 5


@pytest.mark.slow
def test_each_assessment_is_that_of_the_forecaster_alone(data):
    y, p = data
    w = np.linspace(0.5, 2, 300)
    comparison = compare(y, p, floor=0.01, metrics=FURTHER, sample_weight=w)
    for name, each in comparison.forecasters.items():
        alone = assess(y, p[name], floor=0.01, metrics=FURTHER, sample_weight=w).to_dict()
        found = each.assessment.to_dict()
        del found["uncertainty"], alone["uncertainty"], found["remedy"], alone["remedy"]  # a remedy takes the rows
        for profile in ("measured_profile", "divergence_profile"):
            for limit in ("low", "high"):  # with weights, more is counted when one forecaster is assessed
                del found[profile][limit], alone[profile][limit]
        assert json.dumps(found, default=str) == json.dumps(alone, default=str)
    for name, each in compare(y, p, lag=0).forecasters.items():
        found, alone = (json.loads(result.to_json()) for result in (each.assessment, assess(y, p[name])))
        for asked in ("remedy", "dependence"):  # with a lag none is looked for
            del found[asked], alone[asked]
        assert found == alone


# Laws


@st.composite
def small(draw):
    """Outcomes of three classes and two forecasters, zeros and ties among their probabilities."""
    n = draw(st.integers(2, 12))
    weights = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=n, max_size=n)
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    p = [np.array(draw(weights), dtype=float) for _ in range(2)]
    return np.array(y), *(q / q.sum(axis=1, keepdims=True) for q in p)


@pytest.mark.slow
@given(small())
@example((np.array([0, 0]), np.array([[0.0, 0, 1], [0, 0, 1]]), np.array([[1.0, 0, 0], [1, 0, 0]])))
def test_differences_are_those_of_the_means_and_swapping_mirrors_them(case):
    y, a, b = case
    comparison = compare(y, {"a": a, "b": b}, floor=0.01, metrics=FURTHER)
    event("zeros" if comparison.scored_floor else "no zeros")
    there, back = comparison.between("a", "b"), comparison.between("b", "a")
    swapped = compare(y, {"b": b, "a": a}, floor=0.01, metrics=FURTHER)
    assert (there.accuracy_ratio * back.accuracy_ratio) == pytest.approx(1, rel=1e-12)
    means = {name: comparison.forecasters[name].scores for name in "ab"}
    for rule, found in there.differences.items():
        assert found.difference == pytest.approx(means["a"][rule].mean - means["b"][rule].mean, abs=1e-12)
        other = back.differences[rule]
        assert (other.difference, other.standard_error) == (-found.difference, found.standard_error)
        np.testing.assert_array_equal(other.interval, (-found.interval.high, -found.interval.low))
        again = swapped.between("a", "b").differences[rule]
        assert again.difference == found.difference
        np.testing.assert_array_equal([other.p_value, again.p_value], found.p_value)
        if found.difference and not found.standard_error:  # the same in every row: nothing can be tested
            assert np.isnan([found.p_value, found.adjusted_p_value, *found.interval]).all()
        else:
            assert 0 <= found.p_value <= found.adjusted_p_value <= 1
    assert back.contributions.first.tolist() == there.contributions.second.tolist()
    np.testing.assert_equal(
        *(
            {rule: asdict(each) for rule, each in pair.differences.items()}
            for pair in (there.mirrored().mirrored(), there)
        )
    )


@pytest.mark.parametrize("dependence", [{}, {"lag": 3}, {"clusters": np.arange(300) // 7}])
@pytest.mark.parametrize("floor", [0.005, 0.0])
def test_identical_forecasters_do_not_differ(data, dependence, floor):
    y, p = data
    pair = compare(y, {"a": p["f0"], "b": p["f0"].copy(), "c": p["f1"]}, floor=floor, **dependence).between("a", "b")
    for found in pair.differences.values():
        assert (found.difference, found.standard_error, found.p_value, found.adjusted_p_value) == (0, 0, 1, 1)
        assert found.interval == (0, 0)
    assert pair.accuracy_ratio == 1
    assert pair.accuracy_ratio_interval == (1, 1)
    assert pair.turning_rows == 0
    assert len(pair.contributions) == 0


def test_columns_in_another_order_are_no_difference(data):
    """Sums over classes then differ in their last digits, which must not be taken for a difference."""
    y, p = data
    names = np.array(["cat", "dog", "emu"])
    frame = pd.DataFrame(p["f1"], columns=names)
    pair = compare(names[y], {"a": frame, "b": frame[["emu", "cat", "dog"]]}).pairs[0]
    assert all((each.difference, each.p_value) == (0, 1) for each in pair.differences.values())
    with pytest.raises(InputError, match="b: its classes come in another order.*ranked_probability_score"):
        compare(names[y], {"a": frame, "b": frame[["emu", "cat", "dog"]]}, metrics=["ranked_probability_score"])


def test_the_order_of_rows_changes_nothing_but_last_digits(data, rng):
    y, p = data
    order = rng.permutation(300)
    groups = np.arange(300) % 40
    for dependence, permuted in (({}, {}), ({"clusters": groups}, {"clusters": groups[order]})):
        first = compare(y, p, **dependence)
        second = compare(y[order], {name: q[order] for name, q in p.items()}, **permuted)
        for pair, other in zip(first.pairs, second.pairs, strict=True):
            for rule, found in pair.differences.items():
                assert figures(other.differences[rule]) == pytest.approx(figures(found), rel=1e-9)
            assert order[other.contributions.row].tolist() == pair.contributions.row.tolist()
            assert other.turning_rows == pair.turning_rows


@pytest.mark.slow
def test_weight_two_is_the_row_twice_in_every_point_figure(data, rng):
    y, p = data
    w = rng.integers(0, 4, 300)
    weighted = compare(y, p, sample_weight=w)
    repeated = compare(np.repeat(y, w), {name: np.repeat(q, w, axis=0) for name, q in p.items()})
    for pair, other in zip(weighted.pairs, repeated.pairs, strict=True):
        assert pair.accuracy_ratio == pytest.approx(other.accuracy_ratio, rel=1e-12)
        for rule, found in pair.differences.items():
            assert found.difference == pytest.approx(other.differences[rule].difference, abs=1e-14)
    assert weighted.weighted
    present = np.flatnonzero(w)
    without = compare(y[present], {name: q[present] for name, q in p.items()}, sample_weight=w[present])
    assert without.pairs[0].differences == weighted.pairs[0].differences


def test_rows_of_one_unit_in_all_their_groups_say_no_more_than_once(data):
    y, p = data
    once = compare(y, p)
    again = compare(
        np.repeat(y, 4), {name: np.repeat(q, 4, axis=0) for name, q in p.items()}, clusters=np.arange(1200) // 4
    )
    assert again.n_clusters == 300
    for pair, other in zip(once.pairs, again.pairs, strict=True):
        for rule, found in pair.differences.items():
            assert figures(other.differences[rule]) == pytest.approx(figures(found), rel=1e-9)


def test_a_lag_of_zero_is_none(data):
    y, p = data
    assert compare(y, p, lag=0).pairs[0].differences == compare(y, p).pairs[0].differences


@pytest.mark.slow
def test_groups_are_numbers_or_texts(data):
    y, p = data
    groups = np.arange(300) % 11
    expected = compare(y, p, clusters=groups).pairs[0].differences
    texts = [f"match {group}" for group in groups]
    for given_groups in (texts, pl.Series(texts), pd.Series(texts), pl.Series(groups), groups.astype(float)):
        assert compare(y, p, clusters=given_groups).pairs[0].differences == expected


# Where differences come from


def test_contributions_are_the_largest_parts_of_the_difference(data):
    y, p = data
    names = [f"row {at}" for at in range(300)]
    labels = ["cat", "dog", "emu"]
    comparison = compare(np.array(labels)[y], p, labels=labels, ids=names)
    for pair in comparison.pairs:
        parts = np.log(correct(p[pair.second], y)) - np.log(correct(p[pair.first], y))
        c = pair.contributions
        largest = np.argsort(-np.abs(parts), kind="stable")[:10]
        assert c.row.tolist() == largest.tolist()
        np.testing.assert_allclose(c.share, parts[largest] / parts.sum(), rtol=1e-9)
        np.testing.assert_array_equal(c.first, p[pair.first][largest, y[largest]])
        np.testing.assert_array_equal(c.second, p[pair.second][largest, y[largest]])
        assert c.outcome == tuple(labels[each] for each in y[largest])
        assert c.id == tuple(names[each] for each in largest)
        with pytest.raises(ValueError, match="read-only"):
            c.share[0] = 1


@pytest.mark.slow
@given(small())
def test_the_rows_that_turn_it_are_the_fewest(case):
    y, a, b = case
    n = min(len(y), 8)
    y, a, b = y[:n], a[:n], b[:n]
    pair = compare(y, {"a": a, "b": b}, floor=0.01).pairs[0]
    zeros = not (correct(a, y).all() and correct(b, y).all())
    first, second = (a, b) if pair.first == "a" else (b, a)
    lead = np.subtract(*(np.log(np.maximum(correct(q, y), 0.01 * zeros)) for q in (first, second)))
    if abs(lead.sum()) < 1e-9:
        return
    fewest = next(
        size
        for size in range(1, n + 1)
        if any(lead.sum() - lead[list(rows)].sum() < 1e-9 for rows in itertools.combinations(range(n), size))
    )
    assert pair.turning_rows == fewest


# Rows left out


@pytest.mark.slow
def test_a_row_dropped_for_one_is_dropped_for_all_and_reported(data):
    y, p = data
    holes = {name: q.copy() for name, q in p.items()}
    holes["f1"][[3, 50]] = np.nan
    holes["f2"][[50, 60], 0] = 2
    outcomes = [None if at == 7 else int(label) for at, label in enumerate(y)]
    with pytest.raises(InputError, match='invalid="drop"'):
        compare(y, holes)
    comparison = compare(outcomes, holes, invalid="drop", clusters=np.arange(300) % 50, ids=np.arange(300))
    kept = np.setdiff1d(np.arange(300), [3, 7, 50, 60])
    expected = compare(y[kept], {name: q[kept] for name, q in p.items()}, clusters=kept % 50, ids=kept)
    assert comparison.n_rows == 296
    for pair, other in zip(comparison.pairs, expected.pairs, strict=True):
        assert pair.differences == other.differences
        assert pair.contributions.id == other.contributions.id
        assert pair.contributions.row.tolist() == kept[other.contributions.row].tolist()
    dropped = {name: each.assessment.notes.dropped for name, each in comparison.forecasters.items()}
    assert dropped == {
        "f0": {"no label": 1, "no valid counterpart": 3},
        "f1": {"NaN": 2, "no label": 1, "no valid counterpart": 1},
        "f2": {"above 1": 2, "no label": 1, "no valid counterpart": 1},
    }
    for name, each in comparison.forecasters.items():
        assert each.assessment.reported == expected.forecasters[name].assessment.reported
    assert "f1: 2 rows dropped: no probability (empty or NaN)" in str(comparison)


def test_ignored_outcomes_are_left_out_and_reported(data):
    y, p = data
    comparison = compare(np.where(np.arange(300) % 3 == 0, 9, y), p, ignore_label=9)
    assert comparison.n_rows == 200
    assert all(each.assessment.notes.ignored == 100 for each in comparison.forecasters.values())


# Infinite losses


@pytest.mark.slow
def test_with_floor_zero_infinite_differences_are_said():
    y = np.array([0, 0, 1, 1, 0])
    a = np.array([0.2, 1.0, 0.7, 0.6, 0.1])
    b = np.array([0.3, 1.0, 0.8, 0.0, 0.2])
    comparison = compare(y, {"a": a, "b": b, "c": np.full(5, 0.5)}, floor=0)
    assert next(iter(comparison.forecasters)) == "c"
    assert comparison.between("c", "a").differences["log_loss"].difference == -np.inf
    assert comparison.between("c", "a").accuracy_ratio == np.inf
    undefined = comparison.between("a", "b").differences["log_loss"]
    assert math.isnan(undefined.difference)
    assert math.isnan(undefined.p_value)
    assert comparison.between("a", "b").turning_rows == 0
    zeros = "a assigned 0 to observed outcomes in 1 row, b in 2 rows"
    assert comparison.verdict == f"c is first by log loss; {zeros}"
    assert comparison.scored_floor == 0
    both = compare(y, {"a": a, "b": b}, floor=0)
    assert both.verdict == f"no forecaster is first; {zeros}"
    three = compare(y, {"a": a, "c": np.full(5, 0.5), "d": np.full(5, 0.4)}, floor=0)
    assert three.verdict == (
        "d is first by log loss, but not distinguishable from c (log loss p = 0.849, Brier score p = 1.000);"
        " a assigned 0 to observed outcomes in 1 row"
    )
    assert "nan" not in str(both).lower()
    said = "\n".join(comparison.warnings)
    assert "the log loss of a is infinite in 1 row (1; counted from 0)" in said
    assert "the log loss of b is infinite in 2 rows (1, 3; counted from 0)" in said
    assert math.isfinite(comparison.between("a", "b").differences["brier_score"].p_value)
    assert json.loads(comparison.to_json())["pairs"][0]["accuracy_ratio"] == "Infinity"
    assert max(map(len, str(comparison).splitlines())) <= 80
    at_floor = compare(y, {"a": a, "b": b})
    assert not any("infinite" in warning for warning in at_floor.warnings)
    assert math.isfinite(at_floor.pairs[0].differences["penalized_log_loss"].p_value)


# Notes


def test_groups_by_several_columns(data):
    """Rows with the same values in all columns are one group: as by one column that holds all of them."""
    y, p = data
    season, team = np.arange(300) % 7, np.where(np.arange(300) % 2, "home", "away")
    expected = compare(y, p, clusters=[f"{s} {t}" for s, t in zip(season, team, strict=True)])
    frame = pl.DataFrame({"season": season, "team": team})
    for groups in ({"season": season, "team": team}, np.column_stack([season, team]), frame, frame.to_pandas()):
        found = compare(y, p, clusters=groups)
        assert found.n_clusters == expected.n_clusters == 14
        for name, difference in found.pairs[0].differences.items():
            error = expected.pairs[0].differences[name].standard_error
            assert difference.standard_error == pytest.approx(error, rel=1e-9)
    with pytest.raises(InputError, match="clusters: expected one for each of the 300 rows, got 2"):
        compare(y, p, clusters=[1, 2])


@pytest.mark.slow
def test_few_rows_and_few_groups_are_said(rng):
    y, p = rivals(rng, 400)
    assert compare(y, p).warnings == ()
    y, p = y[:40], {name: q[:40] for name, q in p.items()}
    assert (
        "few rows: 20 (effective sample size 20)"
        in compare(y[:20], {name: q[:20] for name, q in p.items()}).warnings[0]
    )
    assert "few clusters: 8 (effective sample size 8)" in compare(y, p, clusters=np.arange(40) % 8).warnings[0]
    assert "few rows: 40 with a lag of 3 (effective sample size 14.9)" in compare(y, p, lag=3).warnings[0]
    assert "few rows: 40 (effective sample size 5.07)" in compare(y, p, sample_weight=[30, *[1] * 39]).warnings[0]
    assert (
        compare(y, p, clusters=np.arange(40)).warnings[0] == "every cluster has one row: the same as without clusters"
    )
    only = compare(y, p, clusters=np.zeros(40))
    assert only.warnings == ("all rows are in one cluster; no confidence interval or p-value can be computed",)
    assert math.isnan(only.pairs[0].differences["log_loss"].p_value)
    assert only.verdict == "f1 is first by log loss, but no p-value can be computed"
    assert "p-value" in str(only)
    assert " to " not in str(only).partition("Paired differences")[2].partition("Largest")[0]


def test_one_row_has_differences_but_nothing_to_judge_them_by():
    comparison = compare([1], {"a": [0.5], "b": [0.6]}, pos_label=1)
    pair = comparison.between("b", "a")
    assert pair.accuracy_ratio == pytest.approx(1.2)
    intervals = [
        pair.accuracy_ratio_interval,
        *(each.geometric_accuracy_interval for each in comparison.forecasters.values()),
    ]
    assert np.isnan(intervals).all()
    assert math.isnan(pair.differences["log_loss"].p_value)
    assert comparison.warnings == ("there is only one row; no confidence interval or p-value can be computed",)


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("dependence", [{}, {"lag": 1}, {"clusters": True}])
def test_a_difference_that_is_the_same_in_every_row_is_not_judged(rows, dependence):
    """Its standard error is 0, but for rounding: of 0.1 and 1 - 0.9."""
    if rows == 3 and dependence:
        dependence = {}
    if "clusters" in dependence:
        dependence = {"clusters": np.arange(rows) // 2}
    y = np.arange(rows) % 2
    comparison = compare(y, {"a": np.where(y, 0.9, 0.1), "b": np.where(y, 0.8, 0.2)}, **dependence)
    found = comparison.between("a", "b").differences["log_loss"]
    assert found.difference == pytest.approx(math.log(0.8 / 0.9))
    assert found.standard_error == 0
    assert np.isnan([*found.interval, found.p_value, found.adjusted_p_value]).all()
    assert comparison.verdict == "a is first by log loss, but no p-value can be computed"
    assert "difference in log loss between a and b is the same in every" in comparison.warnings[0]
    assert math.isnan(comparison.forecasters["a"].geometric_accuracy_interval.low)


@pytest.mark.parametrize("dependence", [{"sample_weight": [1000, *[1] * 9]}, {"clusters": [0] * 4 + [1], "heavy": 300}])
def test_what_one_row_or_group_carries_is_not_judged(rng, dependence):
    p = rng.uniform(0.2, 0.8, 10)
    groups = None
    if "heavy" in dependence:
        p = np.concatenate([rng.uniform(0.2, 0.8, 300), p])
        groups = np.maximum(np.arange(310) - 299, 0)
    y = np.ones(p.size, dtype=int)
    comparison = compare(
        y, {"a": p + 0.1, "b": p}, pos_label=1, sample_weight=dependence.get("sample_weight"), clusters=groups
    )
    found = comparison.pairs[0].differences["log_loss"]
    assert found.standard_error > 0
    assert np.isnan([*found.interval, found.p_value]).all()
    assert comparison.verdict == "a is first by log loss, but no p-value can be computed"
    assert re.search("most of the weight is in one of the .* no confidence interval", comparison.warnings[-1])


def test_intervals_end_where_scores_do():
    """Two or three rows say next to nothing, but a mean is not beyond what any row could be."""
    y = np.array([1, 0, 1])
    comparison = compare(y, {"a": [0.99, 0.01, 0.0], "b": [0.0, 0.2, 0.9]}, metrics=FURTHER)
    found = comparison.between("a", "b").differences
    most = -math.log(0.005)
    ends = {
        "log_loss": most,
        "brier_score": 2,
        "spherical_score": 1,
        "penalized_brier_score": 2.5,
        "penalized_log_loss": most + math.log(2),
        "ranked_probability_score": 1,
        "power_score(0.5)": 3,
        "generalized_surprisal(-0.5)": 0.005**-0.5 - 1,
    }
    for rule, end in ends.items():
        assert found[rule].interval == pytest.approx((-end, end)), rule
    endless = compare(y, {"a": [0.99, 0.01, 0.01], "b": [0.01, 0.2, 0.9]}, metrics=["power_score(-0.5)"])
    without_end = endless.between("a", "b").differences
    assert without_end["power_score(-0.5)"].interval.high > 4
    assert without_end["log_loss"].interval.high > most
    assert comparison.pairs[0].accuracy_ratio_interval == pytest.approx((0.005, 200))
    for name, each in comparison.forecasters.items():
        assert each.scores["brier_score"].interval.low == 0, name
        low, high = each.geometric_accuracy_interval
        assert 0.005 <= low < high == 1


def test_few_rows_that_decide_are_said():
    """A hundred rows, ninety-eight of which are the same for both."""
    a, b = np.full((2, 100), 0.9)
    b[:2] = 0.3
    comparison = compare(np.ones(100, dtype=int), {"a": a, "b": b, "c": b}, pos_label=1)
    said = "few rows decide between a and b, and in 1 other pair; intervals and p-values are approximate"
    assert comparison.warnings == (said,)
    assert comparison.between("a", "b").differences["log_loss"].carried_by == pytest.approx(2, rel=0.1)


def test_equal_log_losses_have_no_first():
    y, p = [0, 1, 2, 0], np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]])
    turned = p.copy()
    turned[0] = [0.5, 0.25, 0.25]  # as much for what happened
    found = compare(y, {"a": p, "b": turned})
    p_value = found.pairs[0].differences["brier_score"].p_value
    assert found.verdict == (
        f"a and b have the same log loss in every row; they are not distinguishable by Brier score (p = {p_value:.3f})"
    )
    same = compare(y, {"a": p, "b": p, "c": np.full((4, 3), 1 / 3)})
    assert same.verdict.startswith("a and b are ")


def test_the_verdict_follows_the_adjusted_p_values(rng):
    y, p = rivals(rng, 2000)
    best = compare(y, p)
    assert best.verdict == f"{next(iter(best.forecasters))} is best (log loss and Brier score, p < 0.001)"
    for rule in ("log_loss", "brier_score"):
        assert all(pair.differences[rule].adjusted_p_value < 0.001 for pair in best.pairs[:2])
    close = compare(y, {**p, "copy": p["f0"]})
    assert close.verdict == "f0 and copy are best (log loss and Brier score, p < 0.001)"


# What the verdict concludes


def calibrated_and_overconfident(rng, n=3000, classes=1000, scale=3.0, temperature=1 / 1.4):
    """Outcomes drawn from the first forecaster's probabilities; the second's are sharper."""
    z = scale * rng.normal(size=(n, classes))
    p, q = (softmax(z / t) for t in (1.0, temperature))
    return (p.cumsum(axis=1) > rng.uniform(size=(n, 1))).argmax(axis=1), p, q


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_the_truth_beats_an_overconfident_forecaster_of_a_thousand_classes(rng):
    """A floor of 0.005, raised for free in hundreds of classes, would turn the verdict around."""
    y, p, q = calibrated_and_overconfident(rng)
    comparison = compare(y, {"overconfident": q, "truth": p})
    assert comparison.verdict == "truth beats overconfident by log loss (p < 0.001) and Brier score (p < 0.001)"
    pair = comparison.between("truth", "overconfident")
    assert pair.differences["log_loss"].p_value < 1e-30
    assert pair.differences["brier_score"].p_value < 1e-10
    at_floor = [np.log(np.maximum(correct(each, y), 0.005)) for each in (p, q)]
    assert stats.ttest_rel(*at_floor).statistic < -5
    for floor in (0.005, 0.2):  # no floor decides while no forecaster assigned 0
        assert compare(y, {"overconfident": q, "truth": p}, floor=floor).verdict == comparison.verdict


@pytest.mark.parametrize("option", ["resamples", "seed"])
def test_nothing_in_a_comparison_asks_for_samples(data, option):
    y, p = data
    with pytest.raises(TypeError, match=rf"compare\(\) got an unexpected keyword argument '{option}'"):
        compare(y, p, **{option: 0})


def test_the_verdict_names_the_rules_that_show_a_difference(rng):
    y = np.ones(400, dtype=int)
    jitter = rng.uniform(-0.02, 0.02, (3, 400))
    even = 0.5 + jitter[0]

    def verdict(low, rows, high):
        other = np.where(np.arange(400) < rows, low * (1 + jitter[1]), high + jitter[2])
        found = compare(y, {"even": even, "other": other}, labels=[0, 1])
        log_loss, brier = (found.pairs[0].differences[rule].p_value for rule in ("log_loss", "brier_score"))
        return found.verdict, log_loss, brier

    said, log_loss, brier = verdict(0.3, 200, 0.4)
    assert said == "even beats other by log loss (p < 0.001) and Brier score (p < 0.001)"
    said, log_loss, brier = verdict(1e-9, 6, 0.6)
    assert brier < 0.001
    assert log_loss > 0.05
    assert said == f"other is better than even by Brier score (p < 0.001), not by log loss (p = {log_loss:.3f})"
    said, log_loss, brier = verdict(1e-30, 12, 0.6)
    assert max(log_loss, brier) < 0.05
    assert said == (
        f"the scoring rules disagree: even is better by {worded('log loss', log_loss)},"
        f" other by {worded('Brier score', brier)}"
    )
    said, log_loss, brier = verdict(0.005, 14, 0.525)
    assert log_loss < 0.05 < brier
    assert said.startswith(f"even is better than other by {worded('log loss', log_loss)}, not by Brier score (p = ")
    said, log_loss, brier = verdict(0.1, 1, 0.501)
    assert min(log_loss, brier) > 0.05
    assert re.fullmatch(
        r"(even|other) is first by log loss, but not distinguishable from (even|other)"
        rf" \(log loss p = {log_loss:.3f}, Brier score p = {brier:.3f}\)",
        said,
    )


def worded(rule, p):
    return f"{rule} (p < 0.001)" if p < 0.001 else f"{rule} (p = {p:.3f})"


def test_the_verdict_on_several_names_who_is_first_by_which_rule(rng):
    y = np.ones(400, dtype=int)
    few = np.arange(400)
    jitter = iter(rng.uniform(-0.02, 0.02, (9, 400)))
    even, bad, worse = (level + next(jitter) for level in (0.5, 0.3, 0.2))
    twin = even + rng.normal(0, 0.001, 400)
    sharp = np.where(few < 6, 1e-9, 0.6 + next(jitter))
    sharper = np.where(few < 14, 1e-30, 0.6 + next(jitter))

    def verdict(**forecasts):
        return compare(y, forecasts, labels=[0, 1]).verdict

    found = verdict(even=even, bad=bad, sharp=sharp)
    assert re.fullmatch(
        r"sharp is better than even by Brier score \(p < 0\.001\), not by log loss \(p = [01]\.\d{3}\);"
        r" both beat bad by both rules",
        found,
    )
    found = verdict(even=even, bad=bad, worse=worse, sharper=sharper)
    assert found.startswith("the scoring rules disagree: even is better by log loss (p = 0.0")
    assert "not distinguishable from" not in found.split(";")[0]
    assert verdict(even=even, bad=bad, worse=worse) == "even is best (log loss and Brier score, p < 0.001)"
    close = verdict(even=even, twin=twin, bad=bad)
    assert re.fullmatch(
        r"(even|twin) is first by log loss, but not distinguishable from (even|twin)"
        r" \(log loss p = [01]\.\d{3}, Brier score p = [01]\.\d{3}\)(; both beat bad by both rules)?",
        close,
    )


@pytest.mark.slow
def test_who_assigned_0_is_named_wherever_the_floor_is(data):
    """Text, page, plot, JSON, frames and notebook have the same verdict, figures and floor."""
    y, p = data
    comparison = compare(y, with_a_zero(p, y))
    named = "at the floor 0.00333"
    assert f"log loss {named}" in comparison.verdict
    assert comparison.verdict.endswith("; f2 assigned 0 to observed outcomes in 1 row")
    plain = json.loads(comparison.to_json())
    assert (plain["scored_floor"], plain["verdict"]) == (comparison.scored_floor, comparison.verdict)
    assert [each["zero_rows"] for each in plain["forecasters"].values()] == [0, 0, 1]
    frame, differences = comparison.frame(), comparison.frame("differences")
    assert set(frame["scored_floor"]) == {comparison.scored_floor}
    assert frame["zero_rows"].to_list() == [0, 0, 1]
    np.testing.assert_allclose(frame["log_loss"], -np.log(frame["geometric_accuracy"]), rtol=1e-12)
    floors = dict(zip(differences["score"], differences["floor"], strict=True))
    assert {rule for rule, floor in floors.items() if floor} == {"log_loss", "penalized_log_loss"}
    assert floors["brier_score"] is None
    text, page = " ".join(str(comparison).split()), comparison.to_html()
    assert text.startswith(f"{comparison.verdict}. ")
    headline, assigned = re.sub(r" [(]p .*?[)]", "", comparison.verdict).split("; ")
    assert f'<h1>{headline}</h1><p class="lead">{assigned}.' in page  # p-values stand below
    for where in (text, page):
        assert not re.findall(r"[Ll]og loss [(0-9−]|, log loss(?! at the floor)", where)  # each has its floor
    for kind in ("differences", "ratios"):
        assert named in comparison.plot(Figure().subplots(), kind=kind).get_xlabel()
    assert assigned in " ".join(comparison._repr_html_().split())
    without = compare(y, p)
    assert "without a floor" in without.plot(Figure().subplots()).get_xlabel()
    for where in (str(without), without.to_html()):
        assert "without a floor" in " ".join(where.split())
        assert "assigned 0" not in where


# Calibration of each forecaster


@pytest.mark.slow
def test_the_table_says_who_is_overconfident_and_who_underconfident(rng):
    y, p = softmax_forecasts(rng, 2000, 3)
    powers = {"right": 1.0, "bold": 2.0, "timid": 0.4}
    forecasts = {name: p**power / (p**power).sum(axis=1, keepdims=True) for name, power in powers.items()}
    comparison = compare(y, forecasts, confidence=0.99)
    verdicts = {name: each.assessment.verdict.split(" (")[0] for name, each in comparison.forecasters.items()}
    assert verdicts == {"right": "No evidence of miscalibration", "bold": "Overconfident", "timid": "Underconfident"}
    for name, power in powers.items():
        if name != "right":
            [found] = comparison.forecasters[name].assessment.diagnosis.findings
            assert found.interval[0] < 1 / power - 1 < found.interval[1]
            assert assess(y, forecasts[name]).diagnosis == comparison.forecasters[name].assessment.diagnosis
    alone = assess(y, forecasts["bold"], confidence=0.99)
    assert comparison.forecasters["bold"].assessment.intervals == alone.intervals
    lines = str(comparison).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("forecaster ")) + 1
    found = {
        row.split()[0]: (row.split()[-1], words.removeprefix("  miscalibration: "))
        for row, words in zip(lines[start : start + 6 : 2], lines[start + 1 : start + 6 : 2], strict=True)
    }
    words = {"right": "none detected", "bold": "overconfident", "timid": "underconfident"}
    accuracies = dict(comparison.frame().select("forecaster", "geometric_accuracy").iter_rows())
    assert found == {name: (f"{accuracies[name]:.3f}", words[name]) for name in powers}
    rows = comparison.to_html()
    for word in words.values():
        assert f">{word}</td>" in rows


@pytest.mark.slow
@pytest.mark.parametrize("dependence", [{"clusters": np.arange(300) % 40}, {"lag": 3}])
def test_nothing_is_sampled_of_rows_that_depend_on_one_another(data, dependence):
    y, p = data
    comparison = compare(y, {**p, "bold": p["f0"] ** 5 / (p["f0"] ** 5).sum(axis=1, keepdims=True)}, **dependence)
    assert not comparison.assessed_for_sure
    text = " ".join(str(comparison).split())
    assert not any("uncertainty" in vars(each.assessment) for each in comparison.forecasters.values())
    sampled = {"uncertainty", "measured_profile", "divergence_profile"}
    assert not any(sampled & each["assessment"].keys() for each in comparison.to_dict()["forecasters"].values())
    for name, each in comparison.forecasters.items():
        if name == "bold":
            assert "confidence" in each.assessment.diagnosis.errors
            assert "overconfident (temperature " in each.assessment.verdict.lower()
        else:
            stretches = np.arange(300) // 12  # four lags
            alone = diagnose(y, p[name], clusters=dependence.get("clusters", stretches))
            assert each.assessment.verdict == alone.verdict
            assert each.assessment.diagnosis.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert "miscalibration: overconfident" in text


# Data frames


@pytest.mark.slow
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_arrow()])
def test_a_data_frame_has_a_column_for_each_forecaster(rng, frame):
    columns = {"yes": rng.uniform(size=50), "no": rng.uniform(size=50)}  # called like the outcomes
    y = np.where(rng.uniform(size=50) < 0.5, "yes", "no")
    found = compare(y, frame(columns), pos_label="yes")
    assert found.to_json() == compare(y, columns, pos_label="yes").to_json()
    sequential = compare_sequentially(y, frame(columns), pos_label="yes")
    assert sequential.to_json() == compare_sequentially(y, columns, pos_label="yes").to_json()


# What is refused

P = np.array([0.2, 0.7, 0.9])
Y = np.array([0, 1, 1])

REFUSED = {
    "one forecaster": (lambda: compare(Y, {"a": P}), "at least two"),
    "no names": (lambda: compare(Y, [P, P]), "a mapping of names to probabilities, got list"),
    "no texts": (lambda: compare(Y, {1: P, 2: P}), "name is a text"),
    "unpaired": (lambda: compare(Y, {"a": P, "theirs": P[:2]}), "y_true has 3 rows, theirs 2"),
    "an invalid row": (lambda: compare(Y, {"a": P, "theirs": P * 2}), "theirs: above 1 in 2 rows (1, 2;"),
    "other classes": (
        lambda: compare(Y, {"a": np.eye(3)[Y], "b": P}),
        "b: its classes are 0, 1, those of a 0, 1, 2. If they are the same, name them with labels (--labels)",
    ),
    "lag and clusters": (lambda: compare(Y, {"a": P, "b": P}, lag=1, clusters=Y), "leave one out"),
    "a long lag": (
        lambda: compare(Y, {"a": P, "b": P / 2}, lag=2),
        "2 places for 3 rows leave fewer than two independent ones",
    ),
    "a lag below 0": (lambda: compare(Y, {"a": P, "b": P}, lag=-1), "lag: expected a whole number of at least 0"),
    "half a lag": (lambda: compare(Y, {"a": P, "b": P}, lag=0.5), "lag: expected a whole number"),
    "no confidence": (lambda: compare(Y, {"a": P, "b": P}, confidence=95), "between 0 and 1, such as 0.95, got 95"),
    "a floor": (lambda: compare(Y, {"a": P, "b": P}, floor=2), "floor"),
    "an unknown score": (lambda: compare(Y, {"a": P, "b": P}, metrics=["brier"]), "did you mean 'brier_score'"),
    "short clusters": (lambda: compare(Y, {"a": P, "b": P}, clusters=[1]), "one for each of the 3 rows, got 1"),
    "no cluster": (lambda: compare(Y, {"a": P, "b": P}, clusters=["x", None, "y"]), "clusters: none in 1 row (1;"),
    "short ids": (lambda: compare(Y, {"a": P, "b": P}, ids=[1, 2]), "ids: expected one for each of the 3 rows"),
    "no rows": (lambda: compare(Y[:0], {"a": P[:0], "b": P[:0]}), "a: no rows to compare"),
    "no row left": (
        lambda: compare([0, 1], {"a": [np.nan, 0.5], "b": [0.5, np.nan]}, invalid="drop"),
        "of each at least one forecast is missing or invalid",
    ),
    "other indexes": (
        lambda: compare(pd.Series(Y, index=[2, 1, 0]), {"a": pd.Series(P), "b": P}),
        "their pandas indexes differ",
    ),
    "clusters of another index": (
        lambda: compare(pd.Series(Y), {"a": P, "b": P}, clusters=pd.Series(Y, index=[2, 1, 0])),
        "y_true and clusters: their pandas indexes differ",
    ),
    "a frame of another index": (
        lambda: compare(pd.Series(Y, index=[2, 1, 0]), pd.DataFrame({"a": P, "b": P})),
        "y_true and forecasts: their pandas indexes differ",
    ),
    "a frame without names": (lambda: compare(Y, pd.DataFrame([P, P]).T), "a data frame with a named column for each"),
    "an unknown pair": (lambda: compare(Y, {"a": P, "b": P}).between("a", "c"), "compared were 'a', 'b'"),
    "a pair with itself": (lambda: compare(Y, {"a": P, "b": P}).between("a", "a"), "no such pair"),
    "an unknown frame": (lambda: compare(Y, {"a": P, "b": P}).frame("pairs"), "what: expected one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_reason_and_remedy(case):
    call, message = REFUSED[case]
    with pytest.raises(InputError, match=re.escape(message)):
        call()


# Outputs


@pytest.mark.slow
def test_frames_and_json_hold_the_same_figures(data):
    y, p = data
    comparison = compare(y, p, metrics=FURTHER)
    plain = json.loads(comparison.to_json())
    alone = json.loads(comparison.forecasters["f1"].assessment.to_json())
    assert alone.pop("schema") == plain["schema"] == 2
    assert plain["forecasters"]["f1"]["assessment"] == alone
    table = comparison.frame()
    assert table["forecaster"].to_list() == list(plain["forecasters"])
    assert table["log_loss"].to_list() == [each["scores"]["log_loss"]["mean"] for each in plain["forecasters"].values()]
    assert table["log_loss"].is_sorted()
    differences = comparison.frame("differences")
    assert differences.height == 3 * (len(SCORES) + 3)
    row = differences.row(0, named=True)
    found = plain["pairs"][0]["differences"]["log_loss"]
    assert found["interval"] == [row["lower"], row["upper"]]
    assert found["adjusted_p_value"] == row["adjusted_p_value"]
    rows = comparison.frame("rows")
    assert rows.height == 30
    assert rows["share"].to_list()[:10] == plain["pairs"][0]["contributions"]["share"]
    assert "id" in compare(y, p, ids=np.arange(300)).frame("rows").columns


@pytest.mark.slow
def test_the_text_fits_and_says_it(data):
    y, p = data
    comparison = compare(y, p, metrics=FURTHER, clusters=np.arange(300) % 40)
    text = str(comparison)
    assert max(map(len, text.splitlines())) <= 80
    first, second = list(comparison.forecasters)[:2]
    words = " ".join(text.split())
    assert words.startswith(f"{comparison.verdict}. Log loss of {first} − {second}: ")
    assert " 3 forecasters, 300 forecasts of 3 classes (0, 1, 2) each, 40 clusters of dependent rows " in words
    assert "40 clusters of dependent rows; log loss and geometric accuracy without a floor" in words
    pair = comparison.pairs[0]
    d, (low, high) = pair.differences["log_loss"].difference, pair.differences["log_loss"].interval
    shown = rf"\n{first} − {second}, log loss +{d:.3f} +{low:.3f} to {high:.3f} ".replace("-", "−")
    assert re.search(shown, text)
    assert "ranked probability score" in text
    assert "penalized" not in text  # as in an assessment: in JSON
    assert "would not be ahead" not in text  # the lead may be chance
    card = compare(y, {"<b>": p["f0"], "c": p["f1"]})._repr_html_()
    assert card.startswith("<div><p><b>&lt;b&gt; ")
    assert "&lt;b&gt; − c, log loss" in card
    assert "<b> " not in card


@pytest.mark.slow
def test_long_names_and_many_forecasters_stay_apart(data):
    y, p = data
    many = {f"\x1b[31m-model-of-the-year-2024-run-{at:02}": p["f0"] ** (1 + at / 30) for at in range(25)}
    many = {name: q / q.sum(axis=1, keepdims=True) for name, q in many.items()}
    comparison = compare(y, many)
    text = str(comparison)
    diagnosed = ["diagnosis" in vars(each.assessment) for each in comparison.forecasters.values()]
    assert diagnosed == [True] * 20 + [False] * 5  # it takes time, and nobody sees the last five
    assert not any("uncertainty" in vars(each.assessment) for each in comparison.forecasters.values())
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\n... and 5 more\n" in text
    assert "\n... and 294 further pairs\n" in text
    table = text[text.index("\nforecaster ") : text.index("... and 5 more")]
    for name in list(comparison.forecasters)[:20]:
        assert name.replace("\x1b", "\\x1b") in re.sub(r"\n  |\s", "", table)
    assert len(comparison.pairs) == 300


@pytest.mark.slow
def test_columns_stay_apart_and_narrow_intervals_are_told(rng):
    """Figures of all sizes, in every form of the text."""
    p = rng.uniform(size=90)
    y = (rng.uniform(size=90) < p).astype(int)
    close = np.clip(p + 0.001 * rng.normal(size=90), 0, 1)
    small, smaller = np.linspace(2e-5, 3e-4, 90), np.full(90, 1e-5)
    cases = [
        ({"a" * 40: p, "b": close, "c": p**8}, y, {"floor": 1e-300, "metrics": ["generalized_surprisal(-0.5)"]}),
        ({"small": small, "smaller": smaller}, np.ones(90, int), {"floor": 0}),
        ({"a": p, "b": close}, y, {"clusters": np.arange(90) // 4}),
        ({"a": p, "b": np.where(p < 0.3, 0, p)}, y, {"floor": 0}),
    ]
    number = r"−?(?:\d+\.\d+|∞|\d\.\d+e[+−]\d+|\de−\d+)"
    for forecasts, happened, how in cases:
        text = str(compare(happened, forecasts, labels=[0, 1], **how))
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        tables = text.partition("\n\nOrdered by")[2].partition("\n\nsettings:")[0].splitlines()
        intervals = [
            re.search(rf"({number}) to ({number})(?: |$|;)", line) for line in tables if re.search(r"[\d∞] to ", line)
        ]
        assert intervals
        assert all(intervals), text
        assert all(low != high for low, high in (each.groups() for each in intervals)), text
        assert not re.search(r"[-−]0\.0+ ", text)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.0031, -0.0024, "−0.0031 to −0.0024"),
        (0.57, 0.611, "0.570 to 0.611"),
        (-0.00302, -0.00299, "−0.00302 to −0.00299"),
        (-3.1e-8, -2.4e-8, "−3.10e−08 to −2.40e−08"),
        (2.0, 3e200, "2.000 to 3.00e+200"),
        (0.25, math.inf, "0.250 to ∞"),
        (math.nan, math.nan, ""),
        (0.0, 0.0, "0.000 to 0.000"),
    ],
)
def test_intervals_are_told_to_as_many_digits_as_they_are_narrow(low, high, said):
    assert estimate((low + high) / 2, Interval(low, high))[1] == said


@pytest.mark.slow
def test_the_text_says_what_is_missing_and_what_is_what(data):
    y, p = data
    text = " ".join(str(compare(y[:100], {name: each[:100] for name, each in p.items()}, lag=3)).split())
    assert "No verdict: with a lag of 3 it takes 120 rows in order" in text
    assert "none detected" not in text
    text = " ".join(str(compare(y, p, lag=3)).split())
    assert "No verdict" not in text
    assert "rows dependent up to 3 apart; log loss and geometric accuracy without a floor" in text
    assert "p-values and intervals adjusted for 3 pairs" in text
    assert "1 cluster of dependent rows" in " ".join(str(compare(y, p, clusters=np.zeros(300))).split())
    all_rows = compare([1, 1, 1], {"a": [0.9, 0.7, 0.8], "b": [0.8, 0.6, 0.7]}, pos_label=1)
    assert all_rows.pairs[0].turning_rows == 3
    assert "would not be ahead" not in str(all_rows)


# Coverage


@pytest.mark.slow
def test_equals_are_said_to_be_equal(data):
    y, p = data
    comparison = compare(y, {"a": p["f0"], "b": p["f0"]})
    assert comparison.verdict == "a and b score the same in every row"
    assert str(comparison).count("a and b score the same in every row") == 2
    swapped = p["f0"].copy()
    rest = np.arange(3) != y[:, None]
    swapped[rest] = p["f0"][rest].reshape(-1, 2)[:, ::-1].ravel()
    brier = compare(y, {"a": p["f0"], "b": 0.5 * swapped + 0.5 * p["f0"]})
    assert brier.verdict == "a and b have the same log loss in every row; b is better by Brier score (p < 0.001)"
    assert str(brier).count("have the same log loss in every row") == 2
    assert "1.000" in str(comparison)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "sample_weight"])
def test_a_forecaster_has_the_intervals_of_its_assessment_alone(rng, kind):
    s = rng.normal(0, 1.5, 600)
    y, p = rng.random(600) < expit(s), {"sharp": expit(1.6 * s), "dull": expit(0.6 * s)}
    column = rng.choice([1.0, 2.0], 600) if kind == "sample_weight" else rng.integers(0, 70, 600)
    found = compare(y, p, **{kind: column})
    for name, each in found.forecasters.items():
        alone = assess(y, p[name], resamples=0, **{kind: column})
        assert each.scores["log_loss"].interval == pytest.approx(alone.intervals["log_loss"], rel=1e-12)
        assert each.assessment.score_standard_errors == alone.score_standard_errors
        assert each.assessment.slope == alone.slope
        assert each.assessment.remedy.to_dict() == alone.remedy.to_dict()
        assert each.assessment.diagnosis == alone.diagnosis
