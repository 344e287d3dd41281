"""Monitoring: what broke is found, dated, named and kept, and what has not broken is left alone."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from unperplexed import InputError, Tallies, Tally
from unperplexed.monitoring import History, monitor
from unperplexed.monitoring.event_counts import EventCounts


def day(rng, rows=300, bias=0.0, slope=1.0, shock=0.0):
    s = rng.normal(0, 2, rows)
    return Tally.of(rng.random(rows) < expit(slope * s + bias + shock * rng.normal()), expit(s))


def days(seed, periods=30, start=20, **error):
    rng = np.random.default_rng(seed)
    return {f"d{at}": day(rng, **(error if at >= start else {})) for at in range(periods)}


def test_a_bias_is_found_dated_and_named():
    found = monitor(days(1, bias=0.7))
    assert not found
    assert found.alarm.period in {"d20", "d21", "d22", "d23"}
    assert "d20" in found.alarm.probable
    assert found.alarm.diagnosis.errors[0] == "bias"
    assert found.alarm.since.observed > found.alarm.since.predicted
    assert found.alarm.before.observed == pytest.approx(found.alarm.before.predicted, abs=0.02)
    assert "nderpredicts 'True'" in str(found)


def test_calibrated_forecasts_raise_no_alarm():
    found = monitor(days(2))
    assert found
    assert found.alarm is None
    assert "No alarm in 30 periods" in str(found)
    assert "no proof of calibration" in " ".join(str(found).split())


def test_overconfidence_is_told_from_a_bias():
    assert monitor(days(3, slope=0.5)).alarm.diagnosis.errors == ("confidence",)


def test_an_error_from_the_first_period_on_is_called_so():
    found = monitor(days(4, start=0, bias=1.0))
    assert found.alarm.began == "d0"
    assert "Miscalibrated from the first period on" in str(found)


def test_evidence_of_the_first_periods_does_not_depend_on_later_ones():
    all_days = days(5, bias=0.4)
    first = dict(list(all_days.items())[:12])
    assert np.array_equal(monitor(all_days).log_evidence[:12], monitor(first).log_evidence)


def test_it_takes_no_heed_of_how_rows_are_split_into_tallies():
    rng = np.random.default_rng(6)
    s = rng.normal(0, 2, 400)
    y = (rng.random(400) < expit(s)).astype(int)
    whole = {"a": Tally.of(y, expit(s))}
    parts = {"a": Tally.of(y[:100], expit(s[:100])) + Tally.of(y[100:], expit(s[100:]))}
    assert monitor(whole).log_evidence == pytest.approx(monitor(parts).log_evidence, abs=1e-12)


def test_a_period_that_broke_and_was_repaired_is_dated_by_its_own_rows():
    rng = np.random.default_rng(7)
    found = monitor({f"d{at}": day(rng, 500, bias=0.8 if 10 <= at < 15 else 0) for at in range(60)})
    assert found.alarm.began == "d10"
    assert found.alarm.until == "d14"


def test_a_new_watch_begins_where_it_is_told_to():
    rng = np.random.default_rng(8)
    all_days = {f"d{at}": day(rng, 500, bias=0.8 if at < 15 else 0) for at in range(40)}
    assert monitor(all_days).alarm is not None
    later = monitor(all_days, since="d15")
    assert later.alarm is None
    assert later.periods[0] == "d15"
    with pytest.raises(InputError, match="no period 'd99'"):
        monitor(all_days, since="d99")


def test_the_group_that_broke_is_named_and_no_other():
    rng = np.random.default_rng(9)
    history = History()
    for at in range(30):
        history = history.after(f"d{at}", {g: day(rng, 150, bias=0.9 * (g == "b" and at >= 15)) for g in "abc"})
    found = monitor(history)
    assert found.alarm.groups == ("b",)
    assert "Group 'b': underpredicts" in str(found)


def test_the_last_of_several_alarms_is_described():
    rng = np.random.default_rng(19)
    found = monitor({f"d{at}": day(rng, 400, bias=1.2 if at < 2 or at >= 50 else 0) for at in range(53)})
    assert found.alarm.period in {"d50", "d51"}
    assert found.alarm.began in {"d50", "d51"}


def test_groups_that_come_later_take_nothing_from_what_was_found():
    rng, history = np.random.default_rng(20), History()
    for at in range(12):
        few = {"a": day(rng, 200, bias=0.8)}
        history = history.after(f"d{at}", few | ({f"new {k}": day(rng, 5) for k in range(60)} if at == 11 else {}))
    before = monitor(dict_of(history, 11))
    after = monitor(history)
    assert np.array_equal(after.log_evidence[:11], before.log_evidence)
    # What the bet is worth is shared with those that enter: by their outcomes alone does it change.
    assert after.log_evidence[11] > before.log_evidence[10] - 3


def dict_of(history, n):
    return History(history.labels, history.periods[:n])


def test_limits_over_time_need_independent_rows():
    with pytest.raises(InputError, match="limits over time are for independent rows"):
        monitor(days(21, periods=3), units="periods", require=["log_loss < 1"])


def test_groups_of_the_same_name_are_refused():
    tallies = Tallies.of([1, 0], [0.5, 0.5], by={"d": [1, 1], "a": ["x, y", "x"], "b": ["z", "y, z"]})
    with pytest.raises(InputError, match="two groups have the same name"):
        History.of(tallies)


def test_tallies_by_time_and_group_are_put_in_order():
    y, p = [1, 0, 1, 1], [0.8, 0.3, 0.6, 0.9]
    tallies = Tallies.of(y, p, by={"day": [10, 9, 9, 10], "site": ["n", "s", "n", "n"]})
    history = History.of(tallies)
    assert history.names == ("9", "10")
    assert history.groups == ("n", "s")
    assert history.n_rows == 4


def test_periods_that_share_a_shock_raise_false_alarms_only_if_rows_are_the_units():
    rng = np.random.default_rng(10)
    shaken = {f"d{at}": day(rng, 1000, shock=0.5) for at in range(40)}
    rows, periods = monitor(shaken), monitor(shaken, units="periods")
    assert rows.alarm is not None
    assert "--units periods" in str(rows)
    assert rows.dispersion[0] > 5
    assert periods.alarm is None
    assert "--units periods" not in str(periods)


def test_the_units_of_tallies_with_clusters_are_periods():
    tally = Tally.of([1, 0, 1, 0] * 5, [0.7, 0.4, 0.6, 0.2] * 5, groups=list("aabb") * 5, parts=["shards"])
    assert monitor({"d": tally}).units == "periods"
    assert monitor({"d": tally}, units="rows").units == "rows"


def test_wrong_predictions_of_exactly_0_or_1_refute_calibration_and_stay_out_of_the_evidence():
    rng = np.random.default_rng(11)
    s = rng.normal(0, 2, 200)
    y, p = (rng.random(200) < expit(s)).astype(int), expit(s)
    a, b = slice(0, 100), slice(100, 200)
    found = monitor({"a": Tally.of([*y[a], 0, 1], [*p[a], 0.0, 1.0]), "b": Tally.of([*y[b], 1, 1], [*p[b], 0.0, 1.0])})
    plain = monitor({"a": Tally.of(y[a], p[a]), "b": Tally.of(y[b], p[b])})
    assert found.impossible == ("b", 1)
    assert not found
    assert found.log_evidence == pytest.approx(plain.log_evidence)
    assert "Predictions of exactly 0 or 1 were wrong" in str(found)


def test_overconfidence_among_several_classes_is_found_by_the_most_probable_class():
    rng, periods = np.random.default_rng(12), {}
    for at in range(16):
        z = rng.normal(0, 2, (300, 4))
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        true = p ** (0.5 if at >= 8 else 1)
        true /= true.sum(axis=1, keepdims=True)
        y = (true.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
        periods[f"d{at}"] = Tally.of(y, p, parts=["classes"])
    found = monitor(periods)
    assert found.alarm.event == "most probable class"
    assert found.alarm.began in {"d7", "d8", "d9"}
    assert monitor(dict(list(periods.items())[:8])).alarm is None


def test_a_history_is_the_same_after_it_was_kept(tmp_path):
    all_days = days(13, periods=6, bias=0.3, start=3)
    history = History.of(all_days)
    history.save(tmp_path / "h.json")
    kept = History.load(tmp_path / "h.json")
    assert kept.names == history.names
    assert monitor(kept).to_json() == monitor(all_days).to_json()
    assert kept.after("d6", day(np.random.default_rng(0))).names[-1] == "d6"


def test_a_period_that_was_counted_before_must_be_the_same():
    all_days = days(14, periods=3)
    history = History.of(all_days)
    assert history.after("d1", all_days["d1"]).to_bytes() == history.to_bytes()
    with pytest.raises(InputError, match="d1: this period is in the history with other forecasts"):
        history.after("d1", all_days["d2"])


def test_periods_out_of_order_and_counted_twice_are_refused():
    rng = np.random.default_rng(22)
    history = History.of({"2026-03-02": day(rng, 100)})
    with pytest.raises(InputError, match="2026-03-01: it is before 2026-03-02"):
        history.after("2026-03-01", day(rng, 100))
    with pytest.raises(InputError, match="the order of day and month is ambiguous"):
        History.of({"01.03.2026": day(rng, 100)})
    twice = day(rng, 100)
    with pytest.raises(InputError, match="b: the same forecasts and outcomes as those of a"):
        History.of(dict.fromkeys("ab", twice))
    with pytest.raises(InputError, match="b: the same forecasts and outcomes as those of a"):
        History.of({"a": twice}).then(History.of({"b": twice}))
    alike = Tally.of([1] * 30 + [0] * 70, [0.3] * 100)  # a climatology, by chance with as many events
    assert History.of(dict.fromkeys("ab", alike)).names == ("a", "b")
    assert History.of({"a": twice}).without_outcomes().then(History.of({"b": twice}).without_outcomes()).n_rows == 200


def test_the_chance_of_equal_outcomes_is_bounded():
    for n, p in ((1, 0.5), (1, 0.01), (20, 0.3), (1000, 0.001), (1000, 0.4)):
        cell = EventCounts(np.array([p]), np.array([float(n)]), np.zeros(1))
        same = (binom.pmf(np.arange(n + 1), n, p) ** 2).sum()
        assert math.log(same) < cell.log_chance_of_same() < math.log(same) / 3


def test_weights_other_classes_and_nothing_are_refused():
    history = History.of(days(15, periods=2))
    with pytest.raises(InputError, match="rows have weights"):
        history.after("d2", Tally.of([1, 0], [0.5, 0.5], sample_weight=[1, 2]))
    with pytest.raises(InputError, match="classes"):
        history.after("d2", Tally.of([0, 1, 2], np.full((3, 3), 1 / 3)))
    with pytest.raises(InputError, match="some periods have groups"):
        history.after("d2", {"a": day(np.random.default_rng(0))})
    with pytest.raises(InputError, match="no periods"):
        monitor({})
    with pytest.raises(InputError, match="between 0 and 1"):
        monitor(history, level=5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "{", "no valid JSON"),
        (lambda text: text.replace('"version":1', '"version":9').replace('"version": 1', '"version": 9'), "version 9"),
        (lambda text: text.replace("history", "story"), "not a history"),
        (lambda text: text.replace('"certain"', '"uncertain"'), "counts cannot be right"),
        (lambda text: text.replace('"certain": 0', '"certain": -1').replace('"certain":0', '"certain":-1'), "counts"),
        (lambda text: text.replace('"d1"', '"d0"'), "names of periods"),
    ],
)
def test_a_damaged_history_is_refused_by_name(tmp_path, change, said):
    path = tmp_path / "h.json"
    History.of(days(16, periods=2)).save(path)
    changed = change(path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.raises(InputError, match=said) as error:
        History.load(path)
    assert str(error.value).startswith(str(path))


def test_the_chart_has_its_five_parts_and_json_has_all_periods():
    found = monitor(days(17, bias=0.7))
    figure = found.plot()
    assert [ax.get_title(loc="left") or ax.texts[0].get_text() for ax in figure.axes].count("") == 0
    assert len(figure.axes) == 5
    plain = found.to_dict()
    assert len(plain["log_evidence"]) == len(plain["periods"]) == 30
    assert found.frame().height == 30
    assert "Bias" in found.to_html()


def test_half_of_a_character_in_a_history_is_refused_and_a_whole_one_is_read(tmp_path):
    path = tmp_path / "history.json"
    History.of({"day": Tally.of([1, 0], [0.8, 0.3])}).save(path)
    content = path.read_text()
    path.write_text(content.replace('"day"', r'"day \ud83c\udf27"'))
    assert History.load(path).names == ("day \U0001f327",)
    path.write_text(content.replace('"day"', r'"day \ud83c"'))
    with pytest.raises(InputError, match="half of a character"):
        History.load(path)
