"""Drift of the predictions alone: changes are found, dated and named; what has not changed is left alone."""

import json

import numpy as np
import pytest
from scipy.special import expit

from unperplexed import InputError, Tally, drift, monitor
from unperplexed._lib.dataclasses import replace
from unperplexed.report.numbers import MISSING
from unperplexed.results import History, Predictions


def log_odds(rng, rows=300, mean=0.0, sd=2.0):
    return rng.normal(mean, sd, rows)


def days(seed, change, periods=50, start=40, rows=300):
    rng = np.random.default_rng(seed)
    drawn = [change(log_odds(rng, rows)) if at >= start else log_odds(rng, rows) for at in range(periods)]
    return {f"d{at}": Predictions.of(expit(s)) for at, s in enumerate(drawn)}


def of_defaults(s):
    return np.where(np.arange(s.size) < 0.15 * s.size, 0.0, s)


@pytest.mark.parametrize(
    ("change", "measure", "words"),
    [
        (lambda s: s - 0.5, "mean", "Mean log-odds −0."),
        (lambda s: 0.7 * s, "spread", "Standard deviation of the log-odds 1.4"),
        (of_defaults, "shares", "instead of 8."),
    ],
)
def test_a_change_is_found_dated_and_named(change, measure, words):
    found = drift(days(1, change))
    assert not found
    assert found.alarm.measure == measure
    assert "d40" in found.alarm.probable
    assert found.alarm.period in {f"d{at}" for at in range(41, 48)}
    assert words in " ".join(str(found).split())
    assert "says nothing about calibration" in " ".join(str(found).split())


@pytest.mark.slow
def test_periods_of_one_distribution_raise_no_alarm_even_if_they_share_shocks():
    rng = np.random.default_rng(2)
    found = drift({f"d{at}": Predictions.of(expit(log_odds(rng, 1000) + rng.normal(0, 0.5))) for at in range(60)})
    assert found
    assert "No change of the predictions in 60 periods" in str(found)


@pytest.mark.slow
def test_the_change_is_measured_in_log_odds():
    alarm = drift(days(3, lambda s: s + 0.6)).alarm
    assert alarm.since.log_odds - alarm.before.log_odds == pytest.approx(0.6, abs=0.1)
    assert alarm.before.spread == pytest.approx(2, abs=0.05)
    assert alarm.before.rows == 300 * int(alarm.began[1:])


def test_what_to_do_names_the_whole_range_of_the_beginning():
    found = drift(days(3, lambda s: s + 0.3))
    low, *_, high = found.alarm.probable
    assert low != high
    assert f"Look for what changed between {low} and {high}, most probably in {found.alarm.began}" in " ".join(
        str(found).split()
    )


@pytest.mark.slow
def test_outcomes_do_not_count():
    """Broken calibration is not seen, and tallies give what their predictions alone give."""
    rng = np.random.default_rng(4)
    drawn = [log_odds(rng, 400) for _ in range(40)]
    tallies = {
        f"d{at}": Tally.of((rng.random(s.size) < expit(s + 2 * (at >= 30))).astype(int), expit(s))
        for at, s in enumerate(drawn)
    }
    assert monitor(tallies).alarm is not None
    found = drift(tallies)
    assert found.alarm is None
    alone = drift({f"d{at}": Predictions.of(expit(s)) for at, s in enumerate(drawn)})
    assert np.array_equal(found.log_evidence, alone.log_evidence)


def test_predictions_without_outcomes_are_the_same_whatever_came_true():
    one, two = (Tally.of(y, [0.0, 1.0, 0.4, 0.4]) for y in ([0, 1, 0, 1], [1, 0, 1, 1]))
    kept, other = (History.of({"a": each}).without_outcomes() for each in (one, two))
    assert kept.periods[0].same(other.periods[0])
    assert kept.to_bytes() == other.to_bytes()
    assert kept.then(other).names == ("a",)


def test_parts_of_a_day_add_up():
    rng = np.random.default_rng(5)
    drawn = {f"d{at}": expit(log_odds(rng, 60)) for at in range(12)}
    parts = {name: Predictions.of(p[:20]) + Predictions.of(p[20:]) for name, p in drawn.items()}
    whole = {name: Predictions.of(p) for name, p in drawn.items()}
    assert History.of(parts).to_bytes() == History.of(whole).to_bytes()
    with pytest.raises(InputError, match="different classes"):
        Predictions.of([0.5]) + Predictions.of(np.full((1, 3), 1 / 3))


@pytest.mark.slow
def test_the_group_that_changed_is_named_and_no_other():
    rng, history = np.random.default_rng(6), History()
    for at in range(50):
        groups = {g: Predictions.of(expit(log_odds(rng, 200, mean=g == "b" and at >= 40))) for g in "abc"}
        history = history.after(f"d{at}", groups)
    found = drift(history)
    assert found.alarm.groups == ("b",)
    assert "Group 'b': mean log-odds +" in " ".join(str(found).split())


@pytest.mark.slow
def test_the_class_whose_predictions_changed_is_named():
    rng, periods = np.random.default_rng(7), {}
    for at in range(50):
        z = rng.normal(0, 2, (200, 3))
        z[:, 1] += 1.5 * (at >= 40)
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        periods[f"d{at}"] = Predictions.of(p, labels=["x", "y", "z"])
    alarm = drift(periods).alarm
    assert alarm.event == "y"
    assert "class 'y'" in str(drift(periods))


@pytest.mark.slow
def test_predictions_of_exactly_0_or_1_count_as_shares_of_their_own():
    rng, periods = np.random.default_rng(8), {}
    for at in range(50):
        p = expit(log_odds(rng, 300))
        p[: 30 * (at >= 40)] = 1.0
        periods[f"d{at}"] = Predictions.of(p)
    found = drift(periods)
    assert found.alarm.measure == "shares"
    assert found.alarm.moved.low == found.alarm.moved.high == 1
    assert "of exactly 0 or 1 are 10" in " ".join(str(found).split())
    assert drift(dict.fromkeys(["a"], Predictions.of([0.0, 1.0]))).log_evidence == [0.0]


@pytest.mark.slow
def test_days_that_resemble_the_day_before_are_warned_of():
    rng, shock, periods = np.random.default_rng(9), 0.0, {}
    for at in range(120):
        shock = 0.8 * shock + rng.normal(0, 0.6)
        periods[f"d{at}"] = Predictions.of(expit(log_odds(rng, 100, mean=shock)))
    assert "--time COLUMN:week" in str(drift(periods))


@pytest.mark.slow
@pytest.mark.parametrize(("before", "since"), [(600, 60), (60, 600)])
def test_a_change_is_found_where_the_number_of_rows_changes_too(before, since):
    rng = np.random.default_rng(10)
    sizes = [before] * 40 + [since] * 20
    found = drift({f"d{at}": Predictions.of(expit(log_odds(rng, n, at >= 40))) for at, n in enumerate(sizes)})
    assert found.alarm.measure == "mean"
    assert "d40" in found.alarm.probable


@pytest.mark.slow
def test_a_history_of_predictions_is_kept_and_not_monitored(tmp_path):
    history = History.of(days(11, lambda s: s + 1, periods=45))
    history.save(tmp_path / "h.json")
    kept = History.load(tmp_path / "h.json")
    assert not kept.outcomes
    assert drift(kept).to_json() == drift(history).to_json()
    assert kept.after("d1", days(11, None, periods=2)["d1"]).to_bytes() == kept.to_bytes()
    with pytest.raises(InputError, match="it has no outcomes"):
        monitor(kept)
    with pytest.raises(InputError, match="others have none"):
        kept.after("d50", Tally.of([1, 0], [0.5, 0.4]))
    with pytest.raises(InputError, match="others have none"):
        History.of({"a": Tally.of([1], [0.5])}).then(kept)
    broken = json.loads((tmp_path / "h.json").read_text())
    broken["periods"][0]["groups"][""][0]["positive"] = [0]
    (tmp_path / "h.json").write_text(json.dumps(broken))
    with pytest.raises(InputError, match="counts cannot be right"):
        History.load(tmp_path / "h.json")


def test_bad_input_names_the_remedy():
    with pytest.raises(InputError, match="row"):
        Predictions.of([0.5, 1.5])
    with pytest.raises(InputError, match="there are 3 classes"):
        Predictions.of(np.full((2, 3), 1 / 3), labels=["a", "b"])
    with pytest.raises(InputError, match="no periods"):
        drift({})
    with pytest.raises(InputError, match="between 0 and 1"):
        drift({"a": Predictions.of([0.5])}, confidence=1)


@pytest.mark.slow
def test_the_chart_has_its_three_parts_and_the_frame_all_periods():
    found = drift(days(12, lambda s: s + 1))
    assert len(found.plot().axes) == 3
    assert found.frame().height == 50
    assert "Mean log-odds" in found.to_html()
    assert drift(days(12, lambda s: s + 1), restart="d40").periods[0] == "d40"


def test_days_that_happen_to_be_alike_are_no_twins():
    """Predictions of three values: among so many days some have the same counts."""
    rng = np.random.default_rng(3)
    found = drift({f"d{at}": Predictions.of(rng.choice([0.2, 0.5, 0.9], 60)) for at in range(60)})
    assert len(found.periods) == 60
    assert found.alarm is None


def test_a_history_of_periods_without_rows_is_refused(tmp_path):
    history = History.of({"d0": Predictions.of([0.2, 0.4])}).to_dict()
    for events in history["periods"][0]["groups"].values():
        events[0].update(p=[], total=[])
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history))
    with pytest.raises(InputError, match="counts cannot be right"):
        History.load(path)


@pytest.mark.slow
def test_a_change_is_not_dated_later_than_its_alarm():
    rng = np.random.default_rng(13)
    means = {at: 0.8 if at < 45 else -2.0 for at in range(30, 80)}
    found = drift({f"{at}": Predictions.of(expit(log_odds(rng, mean=means.get(at, 0.0)))) for at in range(80)})
    alarm = found.alarm
    assert max(map(int, alarm.probable)) <= int(alarm.period) < 45
    assert alarm.further == "45"
    assert "further change, most probably in 45" in " ".join(str(found).split())


def test_settings_are_named_as_in_monitor_in_text_page_and_json(rng):
    found = drift({f"d{at}": Predictions.of(rng.random(50)) for at in range(9)}, confidence=0.9)
    for shown in (str(found), found.to_html()):
        assert "clusters: period; confidence: 90%" in shown
    assert found.to_dict()["confidence"] == 0.9


def test_predictions_of_exactly_0_or_1_have_no_mean_to_compare():
    periods = {f"d{at}": Predictions.of([0.0] * (50 if at >= 40 else 5 + at % 7)) for at in range(60)}
    assert MISSING not in str(drift(periods)).partition("Over time")[0]


@pytest.mark.slow
def test_rows_with_their_periods_are_the_predictions_of_these(rng):
    day = np.repeat(np.arange(1, 31), 200)
    p = 1 / (1 + np.exp(-rng.normal(1.0 * (day > 20), 2)))
    counted = {str(each): Predictions.of(p[day == each]) for each in range(1, 31)}
    found = drift(p, time=day)
    assert found.alarm is not None
    assert found.to_json() == drift(counted).to_json()
    with pytest.raises(InputError, match="labels: it is for rows"):
        drift(counted, labels=["no", "yes"])


def test_a_resemblance_is_told_in_two_digits():
    found = drift({f"d{at}": Predictions.of([0.2, 0.4]) for at in range(3)})
    text = " ".join(str(replace(found, resemblance=(0.61234, 1e-6))).split())
    assert "successive periods resemble each other (correlation of their means 0.61, p < 0.001)" in text
