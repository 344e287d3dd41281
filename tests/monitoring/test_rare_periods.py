"""Periods without rows, without names, with other parts, and with predictions of exactly 0 or 1 alone."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit

from unperplexed import InputError, Tallies, Tally, assess, check, monitor
from unperplexed.describe.monitored import control_charts
from unperplexed.monitoring.hypotheses import row_factors
from unperplexed.monitoring.naming import named_error
from unperplexed.results import History


def day(rng, rows=200, bias=0.0, **options):
    s = rng.normal(0, 2, rows)
    return Tally.of(rng.random(rows) < expit(s + bias), expit(s), **options)


CERTAIN = Tally.of([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])


def test_certain_and_right_predictions_alone_are_no_evidence_and_have_no_charts_but_this():
    found = monitor({"a": CERTAIN, "b": Tally.of([1, 1, 0], [1.0, 1.0, 0.0])})
    assert found
    assert found.log_evidence.tolist() == pytest.approx([0, 0])
    assert found.control == ()
    [evidence] = control_charts(found)
    assert evidence.title.startswith("Evidence")
    assert named_error([], (0, 1), 0, shared=False) is None


def test_a_period_of_certain_predictions_is_no_point_of_the_charts(rng):
    days = {"a": day(rng), "b": CERTAIN, "c": day(rng)}
    found = monitor(days)
    assert [each.first for each in found.control] == ["a", "c"]
    [counts] = History().after("b", CERTAIN).periods[0].events()
    assert not row_factors(counts).any()  # the bet stays what it is
    with pytest.raises(InputError, match="figure: expected a matplotlib Figure, got int"):
        found.plot(1)
    assert len(found.plot(Figure()).axes) == 5


def test_an_alarm_without_a_named_error_gives_both_means(rng):
    found = monitor({f"d{at}": day(rng, bias=1.5) for at in range(4)})
    assert found.alarm.verdict in str(found)
    unnamed = replace(found, alarm=replace(found.alarm, diagnosis=None))
    words = " ".join(str(unnamed).split())
    assert f"mean prediction {100 * found.alarm.since.predicted:.1f}%, observed frequency" in words.lower()


def test_what_broke_is_named_with_the_periods_as_clusters_where_these_are_the_units(rng):
    found = monitor({f"d{at}": day(rng, bias=1.5) for at in range(16)}, clusters="period").alarm.diagnosis
    assert (found.errors[0], found.n_clusters) == ("bias", 16)


def test_periods_need_rows_a_name_and_the_same_parts(rng):
    by = {"time": ["a", "b", None], "site": ["x", "y", "x"]}
    with pytest.raises(InputError, match="time: some rows have no period. Repair them, or leave them out with --where"):
        History.of(Tallies.of([0, 1, 1], [0.2, 0.7, 0.6], by=by))
    first = History().after("a", day(rng))
    with pytest.raises(InputError, match="b: no rows"):
        first.after("b", {"x": Tally(), "y": Tally()})
    z = rng.normal(size=(2, 60, 3))
    y, p = (z[0] + rng.gumbel(size=(60, 3))).argmax(axis=1), np.exp(z) / np.exp(z).sum(axis=2, keepdims=True)
    plain, classes = Tally.of(y, p[0]), Tally.of(y, p[1], parts=["classes"])
    for refused in (
        lambda: History().after("a", {"x": plain, "y": classes}),
        lambda: History().after("a", plain).after("b", classes),
    ):
        with pytest.raises(
            InputError, match="some tallies have the part 'classes' and others have not. Count all alike"
        ):
            refused()
    assert first.then(History()) is first
    assert History().then(first) is first


def test_requirements_of_what_there_is_not_are_refused(rng):
    p = rng.uniform(0.1, 0.9, 60)
    y = (rng.random(60) < p).astype(int)
    constant = assess(y, np.full(60, 0.5), confidence=0.9, resamples=0)
    for text, what in (("slope > 0.5", "value"), ("slope.lower > 0.5", "confidence interval")):
        with pytest.raises(InputError, match=f"slope has no {what} for these forecasts; require another"):
            check(constant, require=text)
    clusters = assess(y, p, clusters=np.arange(60) % 2, confidence=0.9, resamples=0)
    with pytest.raises(
        InputError, match="there is no verdict. No verdict: the test and some intervals take six clusters"
    ):
        check(clusters, require="verdict in (none)")
