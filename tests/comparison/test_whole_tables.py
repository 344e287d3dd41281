"""Tables and charts of comparisons and of skill, of parts that are made by hand."""

import math
from types import SimpleNamespace as Of

import numpy as np
import pytest

from unperplexed.comparison.result import Difference, PairDifferences
from unperplexed.describe import comparison_tables as tables
from unperplexed.describe import skill as skills
from unperplexed.describe.comparison import costs
from unperplexed.describe.distribution_comparison import _shown
from unperplexed.statistics.intervals import Interval

NAN = math.nan


def difference(size=0.1, p=0.01, error=0.05, low=0.0, high=0.2):
    return Difference(size, error, Interval(low, high), p, p, 50.0, 0.0)


def compared(*pairs, confidence=0.75, floor=0.0):
    return Of(pairs=pairs, confidence=confidence, scored_floor=floor)


def pair(names="ab", **by):
    return PairDifferences(*names, by)


def test_conclusions_follow_the_adjusted_p_value():
    rows = [
        pair(log_loss=difference(p=0.2499), brier_score=difference(-0.1, p=0.2499), spherical_score=difference(p=0.1)),
        pair(
            "ac",
            log_loss=difference(p=0.25),
            brier_score=difference(0.0, p=1.0, error=0.0),
            spherical_score=difference(-0.1),
        ),
        pair("bc", log_loss=difference(p=NAN), brier_score=difference(0.0, p=0.1), spherical_score=difference(p=0.5)),
    ]
    table = tables.differences_table(compared(*rows, floor=0.01), headline=True)
    shown = {each.heading: list(each.values) for each in table.columns}
    assert shown["conclusion"] == [
        "b is better", "a is better", "not distinguishable", "equal in every row", "not tested", "b is better",
    ]  # fmt: skip
    assert shown["pair"] == ["a − b", "a − b", "a − c", "a − c", "b − c", "b − c"]
    assert shown["score"][:2] == ["log loss at the floor 0.01", "Brier score"]
    assert "adjusted p-value" in shown
    assert not table.folded
    others = tables.differences_table(compared(rows[0]), headline=False)
    assert list(others.columns[-1].values) == ["a is better"]
    assert others.columns[4].heading == "p-value"
    assert others.folded
    assert others.caption == "Differences by the other scores"


@pytest.mark.parametrize(
    ("x", "text"),
    [(9.99, "100%"), (10.0, "> 1000%"), (-10.0, "< −1000%"), (-0.25, "−25.0%"), (0.0, "0.00%"), (0.5, "50.0%")],
)
def test_shares_of_next_to_nothing_have_no_number(x, text):
    assert tables._share(x) == text


def test_probabilities_of_0_and_1_are_exact():
    assert [tables._probability(p) for p in (0.0, 1.0, 0.5, 0.9999)] == ["0", "1", "0.500", "1.000"]


@pytest.mark.parametrize("named", [True, False])
def test_rows_from_which_a_difference_comes(named):
    c = Of(
        row=np.array([1234, 2]), id=("x", "y") if named else (), outcome=(1, 0), first=np.array([0.5, 1.0]),
        second=np.array([0.0, 0.25]), share=np.array([1.5, -0.5]),
    )  # fmt: skip
    table = tables.contributions_table(Of(contributions=c, first="a", second="b"))
    shown = {each.heading: list(each.values) for each in table.columns}
    assert shown["id" if named else "row"] == (["x", "y"] if named else ["1,234", "2"])
    assert ("counted from 0" in table.caption) != named
    assert shown["probability by a"] == ["0.500", "1"]
    assert shown["probability by b"] == ["0", "0.250"]
    assert shown["share of the difference"] == ["100%", "−50.0%"]


def test_brackets_have_what_is_known():
    c = compared(pair(), confidence=0.95)
    assert tables.about_difference(c, difference(p=0.02), "0.1 to 0.2") == " (95% CI 0.1 to 0.2, p = 0.020)"
    assert tables.about_difference(c, difference(p=NAN), "") == ""
    assert tables.about_difference(compared(pair(), pair(), confidence=0.95), difference(p=NAN), "0 to 1") == (
        " (simultaneous 95% CI 0 to 1)"
    )


def diagnosis(cost, found=True):
    return Of(findings=(1,) if found else (), in_brief="overconfident", cost=cost)


def test_costs_are_of_forecasters_that_are_wrong():
    several = {name: diagnosis(0.1) for name in "abcdefg"}
    [action] = costs(several | {"b": diagnosis(0.0), "c": diagnosis(0.1, found=False)}, "{} nats")
    assert action.text.startswith("a: overconfident, 0.100 nats. b: overconfident. d: overconfident, 0.100 nats.")
    assert action.text.endswith("1 more are miscalibrated.")
    assert "more" not in next(costs({name: several[name] for name in "abcde"}, "{}")).text
    assert [*costs({"a": diagnosis(0.1, found=False)}, "{}")] == []


@pytest.mark.parametrize(
    ("low", "high", "size", "limits"),
    [
        (0.0, 1.0, "0.10", "0.00 to 1.00"), (0.0, 0.99, "0.100", "0.000 to 0.990"), (0.0, 100.0, "0.1", "0 to 100"),
        (0.0, 99.0, "0.1", "0.0 to 99.0"), (0.0, 1000.0, "0.1", "0 to 1000"), (0.1, 0.1, "0.100", "0.100 to 0.100"),
        (-math.inf, math.inf, "0.100", "−∞ to ∞"),
    ],
)  # fmt: skip
def test_differences_have_the_decimals_of_their_intervals(low, high, size, limits):
    assert _shown(difference(low=low, high=high)) == (size, limits)


def score(skill, p=0.01, low=-0.5, high=0.5):
    return Of(skill=skill, adjusted_p_value=p, interval=Interval(low, high))


def skill_of(names=("forecast",), groups=(), by=("month",), floor=0.0):
    return Of(
        whole=Of(key=(), scores={name: {"log_loss": score(0.2)} for name in names}),
        groups=groups,
        by=by,
        reference="the base rate",
        scored_floor=floor,
        significant=lambda each: each.adjusted_p_value < 0.05,
    )


def group(key, skill, p=0.01, name="forecast"):
    return Of(key=(key,), scores={name: {"log_loss": score(skill, p)}}, n_rows=10)


@pytest.mark.parametrize(
    ("s", "title"),
    [
        (skill_of(), "Skill score by log loss against the base rate"),
        (skill_of(floor=0.01), "Skill score by log loss at the floor 0.01 against the base rate"),
        (skill_of(names="ab", groups=[group(1, 0.2)]), "Skill score by log loss against the base rate"),
        (skill_of(groups=[group(1, 0.2), group(2, 0.1)]), "Better than the base rate in all 2 groups by month"),
        (skill_of(groups=[group(1, 0.2)]), "Better than the base rate in 1 of 1 groups by month"),
        (
            skill_of(groups=[group(1, 0.2), group(2, -0.1), group(3, 0.3, p=0.2), group(4, 0.0)]),
            "Better than the base rate in 1 of 4 groups by month, worse in 1",
        ),
        (
            skill_of(names="a", groups=[group(1, 0.2, name="a")]),
            "a is better than the base rate in 1 of 1 groups by month",
        ),
    ],
)
def test_titles_count_the_groups_that_differ(s, title):
    assert skills._title(s, "log_loss") == title


def test_lines_are_named_by_group_and_forecaster():
    s = skill_of(names="ab", groups=[Of(key=(3,), scores={"a": {}, "b": {}})])
    assert [text for text, *_ in skills._names(s)] == ["all rows: a", "all rows: b", "3: a", "3: b"]
    one = skill_of(groups=[group(3, 0.1)])
    assert [text for text, *_ in skills._names(one)] == ["all rows", "3"]
    assert skills._line_name(one, group(3, 0.1), "3") == "month 3"
    assert skills._line_name(one, group("May", 0.1), "May") == "May"
    assert skills._line_name(one, Of(key=(3, 4)), "3, 4") == "3, 4"
    assert skills._line_name(one, Of(key=()), "all rows") == "all rows"


def test_colours_tell_forecasters_apart_or_what_is_significant():
    one = skill_of()
    assert [skills._role(one, score(0.1, p), "forecast") for p in (0.049, 0.05)] == ["observed", "other"]
    many = skill_of(names="abcdefgh")
    roles = [skills._role(many, score(0.1), name) for name in "abcdefgh"]
    assert roles == ["first", "second", "third", "fourth", "fifth", "sixth", "sixth", "sixth"]
