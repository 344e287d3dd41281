"""What is said of an alarm, from periods whose outcomes are exactly those expected: dates, halves, and its end."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from unperplexed import monitor
from unperplexed.describe.alarm import ended_text
from unperplexed.monitoring.breaks import _trend
from unperplexed.monitoring.event_counts import EventCounts
from unperplexed.monitoring.history import Period
from unperplexed.results import History
from unperplexed.tally.tables import Pairs

LOG_ODDS = np.arange(-2.0, 3.0)


def counted(bias=0.0, rows=8.0, s=LOG_ODDS):
    total = np.full(s.size, float(rows))
    return EventCounts.of(Pairs(expit(s), total * expit(s + bias), total))


def watched(biases, rows=8, groups=("",), **settings):
    """Watch periods in which each group has a bias; a number is that of all rows."""
    rows = [dict(zip(groups, map(counted, np.atleast_1d(each), [rows] * len(groups)), strict=True)) for each in biases]
    periods = (Period(f"d{at}", {group: (each,) for group, each in of.items()}) for at, of in enumerate(rows))
    return monitor(History((0, 1), tuple(periods)), **settings)


def trend(biases, limits=True, **options):
    return _trend([""] * len(biases), [counted(bias, **options) for bias in biases], limits=limits)[0]


def test_an_error_may_begin_between_the_end_of_another_and_the_day_this_is_known():
    found = watched([0] * 10 + [1.2] * 8 + [0] * 4 + [-1.2] * 10)
    [earlier], second = found.others, found.alarm
    assert (earlier.began, earlier.until, earlier.over.period) == ("d10", "d17", "d20")
    assert (second.began, second.period) == ("d22", "d24")
    # What lies between them is after the one and before the other.
    assert (earlier.over.after.first, earlier.over.after.last) == ("d18", "d21")
    assert (second.before.first, second.before.last) == ("d18", "d21")


def test_an_error_that_grew_before_its_alarm_alone_does_not_grow():
    found = watched([0] * 10 + [0.8] * 6 + [1.6] * 12, 40, clusters="period").alarm
    assert (found.began, found.period, found.until) == ("d10", "d22", "d27")
    assert found.trend == ""
    assert trend([0.8] * 6 + [1.6] * 6, rows=40) == "bias"  # since it began


def test_groups_that_err_alike_have_one_alarm_and_those_that_do_not_one_each():
    """Each by itself has enough evidence for a name, and all rows have more."""
    alike, apart = (watched([each] * 10, groups=["a", "b"]) for each in ((1.1, 0.9), (1.3, 0.7)))
    assert min(*alike.groups.values(), *apart.groups.values()) > np.log(40)
    assert [each.groups for each in alike.alarms] == [()]
    assert [each.groups for each in apart.alarms] == [("a",), ("b",)]


def test_growth_takes_six_periods():
    assert trend([-1] * 3 + [1] * 3, rows=40) == "bias"
    assert trend([-1] * 2 + [1] * 3, rows=40) == ""


@pytest.mark.parametrize(("errors", "says"), [(3.40, ""), (3.55, "bias")])
def test_a_trend_has_a_p_value_of_a_thousandth_as_two_sides_of_two_differences(errors, says):
    assert (4 * norm.sf(errors) < 0.001) == (says == "bias")

    def apart(bias):
        """Standard errors between -bias and bias: the intercept is the mean of two log-odds, of 400 rows each."""
        p = expit(np.array([-1, 1]) + bias)
        return 2 * bias / np.sqrt(2 * (1 / (400 * p * (1 - p))).sum() / 4)

    bias = errors * 0.01 / apart(0.01)
    for _ in range(9):
        bias *= errors / apart(bias)
    assert trend([-bias] * 4 + [bias] * 4, rows=100, s=np.array([-1.0, 1.0])) == says


@pytest.mark.parametrize("limits", [True, False])
def test_a_trend_is_measured_by_how_successive_periods_vary(limits):
    def shocks(step, size, **options):
        both = [side * step + size * (-1) ** k for side in (-1, 1) for k in range(8)]
        return trend(both, limits, **options)

    assert shocks(0.25, 0, rows=40) == "bias"
    assert shocks(0.25, 0.4, rows=40) == ""
    # Rows that are counted several times tell no more than once, and no less.
    for times in (1, 4):
        assert shocks(0.5, 0.4, rows=40 * times) == "bias"
        assert shocks(0.3, 0.4, rows=40 * times) == ""


def test_words_of_errors_that_are_over():
    found = watched([0] * 10 + [1.5] * 5 + [0] * 6, 40)
    text = " ".join(str(found).split())
    assert "Since then, from d15 to d20, there is no evidence of miscalibration" in text
    assert "those since need no remedy for it" in text
    assert "earlier error" not in ended_text(found, [found.alarm] * 3)
    assert ended_text(found, [found.alarm] * 4).endswith(" 1 earlier error too.")


@pytest.mark.parametrize(("before", "which"), [(0, "each group"), (-1.5, "'a'")])
def test_what_to_do_is_about_all_groups_or_those_that_are_named(before, which):
    """Of group b the error begins with that of group a, or with the first period."""
    found = watched([(0, before)] * 10 + [(1.5, -1.5)] * 8, 20, groups=["a", "b"])
    assert {each.groups for each in found.alarms} == {("a",), ("b",)}
    text = " ".join(str(found).split())
    assert f"Look for what changed in {which}. Recalibrate each group by itself" in text
