"""What monitoring says in words and tables: all errors, their ends, what may remain, and what to do about each."""

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from unperplexed import Tally, monitor
from unperplexed.results import History


def day(rng, rows=200, bias=0.0, slope=1.0):
    s = rng.normal(0, 1.5, rows)
    return Tally.of(rng.random(rows) < expit(slope * s + bias), expit(s))


def by_day(seed, errors, rows=200, periods=40, **settings):
    """Watch groups, or all rows where errors are a function."""
    rng, history = np.random.default_rng(seed), History()
    for at in range(periods):
        here = {"": errors} if callable(errors) else errors
        found = {name: day(rng, rows, **error) for name, f in here.items() if (error := f(at)) is not None}
        history = history.after(f"d{at}", found if not callable(errors) else found[""])
    return monitor(history, **settings)


def text(found):
    return " ".join(str(found).split())


def rows_of(found, caption="Over time"):
    shown = str(found)
    table = shown[shown.index(caption) :].partition("\n\n")[0]
    return re.findall(r"^(d\d+|\.\.\.)", table, re.MULTILINE), table


def calm(at):
    return {}


@pytest.mark.slow
def test_where_the_interval_of_an_error_that_is_over_excludes_0_a_small_bias_may_remain():
    found = by_day(3, lambda at: {"bias": 0 if at < 10 else 1.5 if at < 20 else 0.1})
    [low, high] = found.alarm.over.after.bias_interval
    assert 0 < low < high
    assert "a small bias may remain" in text(found)
    assert "if it stays, recalibrate on them alone" in text(found)
    assert "no remedy" not in text(found)
    assert "no evidence" not in text(found)


@pytest.mark.slow
def test_the_end_of_a_wrong_slope_is_told_by_the_slope():
    found = by_day(2, lambda at: {"slope": 0.3 if 10 <= at < 20 else 1})
    assert found.alarm.over.after.slope_interval.low < 1 < found.alarm.over.after.slope_interval.high
    assert re.search(r"no evidence of miscalibration \([^)]*calibration slope [01]\.\d\d, 95% CI", text(found))
    assert "those since need no remedy" in text(found)


@pytest.mark.slow
def test_an_error_of_the_slope_that_grows_is_told_by_the_slope():
    found = by_day(1, lambda at: {"slope": 1 if at < 5 else 0.75 if at < 25 else 0.2, "bias": 0.25 * (at >= 25)})
    one, two = (each.slope for each in found.alarm.halves)
    assert two < one - 0.2
    assert f"The error grew: calibration slope {one:.2f} from" in text(found)
    assert "on the latest forecasts only" in text(found)


@pytest.mark.slow
def test_errors_of_several_groups_that_are_over_are_all_in_the_headline():
    sides = {
        "a": lambda at: {"bias": 1.0 * (10 <= at < 20)},
        "b": lambda at: {"bias": -1.0 * (10 <= at < 22)},
        "c": calm,
    }
    found = by_day(3, sides)
    head, _, rest = text(found).partition(" Rule ")
    assert "broke in 2 of 3 groups, and these errors are over" in head
    assert "'a': underpredicts" in head
    assert "'b': overpredicts" in head
    assert head.count("no evidence of miscalibration") == 2
    assert " Over Group" not in head
    assert "what changed in each group, and what ended it" in rest
    assert f"--restart d{max(int(each.until[1:]) for each in found.alarms) + 1})" in rest


@pytest.mark.slow
def test_advice_on_several_groups_heeds_growth_new_groups_and_those_that_left():
    sides = {
        "grows": lambda at: {"bias": 0 if at < 10 else 0.6 if at < 25 else 1.8},
        "left": lambda at: {"bias": -1.0 * (at >= 5)} if at < 20 else None,
        "new": lambda at: {"bias": 1.2} if at >= 25 else None,
        "calm": calm,
    }
    said = text(by_day(4, sides))
    assert "Group 'new': underpredicts 'True', from its first period on, d25." in said
    assert "take only the latest forecasts of 'grows'" in said
    assert "There are no more forecasts of 'left'" in said
    recalibrated = re.search("Recalibrate each of (.*?) by itself", said)[1]
    changed = re.search("Look for what changed in each of (.*?)[.]", said)[1]
    assert set(recalibrated.split(", ")) == {"'grows'", "'new'"}
    assert set(changed.split(", ")) == {"'grows'", "'left'"}


@pytest.mark.slow
def test_a_group_that_has_always_come_seldom_has_not_left():
    sides = {
        "seldom": lambda at: {"bias": 1.5 * (at >= 7)} if at % 7 == 0 else None,
        "b": lambda at: {"bias": -1.0 * (at >= 10)},
    }
    assert "no more forecasts" not in text(by_day(5, sides))


@pytest.mark.slow
def test_the_table_shows_both_ends_of_errors_and_marks_gaps():
    def error(at):
        return {"bias": 1.2 * (10 <= at < 15 or 24 <= at < 30)}

    shown, table = rows_of(by_day(6, error))
    assert "12 of 40 rows" in table
    numbers = [int(each[1:]) for each in shown if each != "..."]
    assert len(numbers) == 12
    assert {9, 10, 14, 15, 23, 24, 29, 30, 39} <= {*numbers}
    for one, two in pairwise(shown):
        assert "..." in (one, two) or int(two[1:]) == int(one[1:]) + 1


@pytest.mark.slow
@pytest.mark.parametrize(("error", "column"), [({"slope": 0.4}, "calibration"), ({"bias": 1}, "intercept")])
def test_the_table_shows_the_number_in_which_the_error_shows(error, column):
    _, table = rows_of(by_day(7, lambda at: error if at >= 20 else {}))
    assert column in table
    assert ("bias" in table) != ("calibration" in table)
    assert max(map(len, table.splitlines())) <= 80


def test_the_table_of_several_classes_says_of_which_event_it_is():
    rng, periods = np.random.default_rng(8), {}
    for at in range(8):
        p = rng.dirichlet(np.ones(3), 100)
        y = (p.cumsum(axis=1) > rng.random((100, 1))).argmax(axis=1)
        periods[f"d{at}"] = Tally.of(y, p)
    assert "Over time, most probable class\n" in str(monitor(periods))


def test_groups_with_predictions_of_exactly_0_or_1_that_were_wrong_are_named():
    rng, history = np.random.default_rng(10), History()
    for at in range(4):
        wrong = {"few": 1, "many": 3} if at == 2 else {}
        found = {name: day(rng, 50) for name in ("few", "many", "none")}
        more = {name: found[name] + Tally.of([False, *[True] * n], [0.5, *[0.0] * n]) for name, n in wrong.items()}
        history = history.after(f"day {at}", found | more)
    found = monitor(history)
    assert found.impossible == ("day 2", 4, ("many", "few"))
    assert "were wrong, first on day 2, in groups 'many', 'few'." in text(found)
