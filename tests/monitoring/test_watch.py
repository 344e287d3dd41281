"""Monitoring: what broke is found, dated, named and kept, and what has not broken is left alone."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from helpers import without_dependence
from unperplexed import InputError, Tallies, Tally, monitor
from unperplexed._lib.dataclasses import replace
from unperplexed.monitoring.event_counts import EventCounts
from unperplexed.monitoring.monitored import dispersed
from unperplexed.results import History


def day(rng, rows=300, bias=0.0, slope=1.0, shock=0.0):
    s = rng.normal(0, 2, rows)
    return Tally.of(rng.random(rows) < expit(slope * s + bias + shock * rng.normal()), expit(s))


def days(seed, periods=30, start=20, **error):
    rng = np.random.default_rng(seed)
    return {f"d{at}": day(rng, **(error if at >= start else {})) for at in range(periods)}


@pytest.mark.slow
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


@pytest.mark.slow
def test_overconfidence_is_told_from_a_bias():
    assert monitor(days(3, slope=0.5)).alarm.diagnosis.errors == ("confidence",)


@pytest.mark.slow
def test_an_error_from_the_first_period_on_is_called_so():
    found = monitor(days(4, start=0, bias=1.0))
    assert found.alarm.began == "d0"
    assert "Miscalibrated from the first period on" in str(found)
    assert "No period came before, and no change of the error since then is shown" in " ".join(str(found).split())


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_period_that_broke_and_was_repaired_is_dated_by_its_own_rows():
    rng = np.random.default_rng(7)
    found = monitor({f"d{at}": day(rng, 500, bias=0.8 if 10 <= at < 15 else 0) for at in range(60)})
    assert found.alarm.began == "d10"
    assert found.alarm.until == "d14"


@pytest.mark.slow
def test_a_new_watch_begins_where_it_is_told_to():
    rng = np.random.default_rng(8)
    all_days = {f"d{at}": day(rng, 500, bias=0.8 if at < 15 else 0) for at in range(40)}
    assert monitor(all_days).alarm is not None
    later = monitor(all_days, restart="d15")
    assert later.alarm is None
    assert later.periods[0] == "d15"
    with pytest.raises(InputError, match="no period 'd99'"):
        monitor(all_days, restart="d99")


@pytest.mark.slow
def test_the_group_that_broke_is_named_and_no_other():
    rng = np.random.default_rng(9)
    history = History()
    for at in range(30):
        history = history.after(f"d{at}", {g: day(rng, 150, bias=0.9 * (g == "b" and at >= 15)) for g in "abc"})
    found = monitor(history)
    assert found.alarm.groups == ("b",)
    assert "Group 'b': underpredicts" in str(found)


@pytest.mark.slow
def test_the_last_of_several_alarms_is_described():
    rng = np.random.default_rng(19)
    found = monitor({f"d{at}": day(rng, 400, bias=1.2 if at < 2 or at >= 50 else 0) for at in range(53)})
    assert found.alarm.period in {"d50", "d51"}
    assert found.alarm.began in {"d50", "d51"}


@pytest.mark.slow
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
        monitor(days(21, periods=3), clusters="period", require=["log_loss < 1"])


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


@pytest.mark.slow
def test_periods_that_share_a_shock_raise_false_alarms_only_if_rows_are_the_units():
    rng = np.random.default_rng(10)
    shaken = {f"d{at}": day(rng, 1000, shock=0.5) for at in range(40)}
    rows, periods = monitor(shaken), monitor(shaken, clusters="period")
    assert rows.alarm is not None
    assert "--clusters period" in str(rows)
    assert rows.dispersion[0] > 5
    assert periods.alarm is None
    assert "--clusters period" not in str(periods)


def test_the_units_of_tallies_with_clusters_are_periods():
    tally = Tally.of([1, 0, 1, 0] * 5, [0.7, 0.4, 0.6, 0.2] * 5, clusters=list("aabb") * 5, parts=["shards"])
    assert monitor({"d": tally}).clusters == "period"
    assert monitor({"d": tally}, clusters="none").clusters == "none"


def test_wrong_predictions_of_exactly_0_or_1_refute_calibration_and_stay_out_of_the_evidence():
    rng = np.random.default_rng(11)
    s = rng.normal(0, 2, 200)
    y, p = (rng.random(200) < expit(s)).astype(int), expit(s)
    a, b = slice(0, 100), slice(100, 200)
    found = monitor({"a": Tally.of([*y[a], 0, 1], [*p[a], 0.0, 1.0]), "b": Tally.of([*y[b], 1, 1], [*p[b], 0.0, 1.0])})
    plain = monitor({"a": Tally.of(y[a], p[a]), "b": Tally.of(y[b], p[b])})
    assert found.impossible == ("b", 1, ())
    assert not found
    assert found.log_evidence == pytest.approx(plain.log_evidence)
    assert "Predictions of exactly 0 or 1 were wrong" in str(found)


@pytest.mark.slow
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


def test_clusters_of_one_period_are_those_of_a_history():
    plain, clustered = (
        Tally.of([1, 0, 0], [0.5, 0.4, 0.3], clusters=each, parts=["shards"]) for each in (None, [0, 0, 1])
    )
    later = Tally.of([1, 1], [0.7, 0.6])
    for first, second in ((clustered, plain), (plain, clustered)):
        history = History.of({"a": first}).after("b", second).after("c", later)
        assert history.clustered
        assert monitor(history, restart="c").clusters == "period"


def test_periods_of_other_data_or_models_are_refused():
    history, more = History.of({"a": Tally.of([1, 0], [0.6, 0.3]).tagged(name="hail", model="m")}), Tally.of([0], [0.2])
    with pytest.raises(InputError, match="b: its model is 'n', and in the periods before 'm'"):
        history.after("b", more.tagged(name="hail", model="n"))
    with pytest.raises(InputError, match="b: its data are 'rain', and in the periods before 'hail'"):
        history.then(History.of({"b": more.tagged(name="rain", model="m")}))
    assert history.after("b", more.tagged(name="hail", model="m")).tags == history.tags


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
        monitor(history, confidence=-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "{", "no valid JSON"),
        (lambda text: text.replace('"version":2', '"version":9').replace('"version": 2', '"version": 9'), "version 9"),
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


@pytest.mark.slow
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


def text(found):
    return " ".join(str(found).split())


@pytest.mark.slow
def test_groups_that_break_in_opposite_directions_are_dated_and_diagnosed_apart():
    rng, history = np.random.default_rng(31), History()
    for at in range(30):
        sides = {"a": 0.9 * (at >= 15), "b": -0.9 * (at >= 18), "c": 0}
        history = history.after(f"d{at}", {g: day(rng, 150, bias=bias) for g, bias in sides.items()})
    found = monitor(history)
    of = {alarm.groups: alarm for alarm in found.alarms}
    assert set(of) == {("a",), ("b",)}
    assert "d15" in of["a",].probable
    assert "d18" in of["b",].probable
    assert of["a",].verdict == "Underpredicts 'True'"
    assert of["b",].verdict == "Overpredicts 'True'"
    assert "broke in 2 of 3 groups" in text(found)
    assert "each group by itself" in text(found)
    assert set(found.named) == {"a", "b"}


@pytest.mark.slow
def test_a_group_is_not_dated_to_periods_in_which_it_had_no_rows():
    rng, history = np.random.default_rng(32), History()
    for at in range(30):
        some = {"a": day(rng, 200)} | ({"new": day(rng, 100, bias=1)} if at >= 20 else {})
        history = history.after(f"d{at}", some)
    alarm = monitor(history).alarm
    assert alarm.groups == ("new",)
    assert alarm.probable[0] == "d20"
    assert "from its first period on, d20" in text(monitor(history))


@pytest.mark.slow
def test_an_error_that_is_over_is_told_from_one_that_goes_on():
    rng = np.random.default_rng(33)
    found = monitor({f"d{at}": day(rng, 300, bias=0.8 if 10 <= at < 20 else 0) for at in range(40)})
    assert not found
    assert (found.alarm.began, found.alarm.until) == ("d10", "d19")
    assert found.alarm.over.period in {"d20", "d21", "d22"}
    assert found.alarm.over.after.first == "d20"
    assert found.alarm.over.after.bias_interval.low < 0 < found.alarm.over.after.bias_interval.high
    assert "that error is over" in text(found)
    assert "no evidence of miscalibration" in text(found)
    assert "Do not recalibrate" in text(found)
    assert "--restart d20" in text(found)
    assert monitor(days(1, bias=0.7)).alarm.over is None


@pytest.mark.slow
def test_an_error_that_turns_round_is_two_errors_and_advice_is_on_the_second():
    rng = np.random.default_rng(34)
    found = monitor({f"d{at}": day(rng, 300, bias=0.6 * (at >= 10) - 1.2 * (at >= 25)) for at in range(40)})
    assert found.alarm.number == 2
    assert "d25" in found.alarm.probable
    assert found.alarm.verdict == "Overpredicts 'True'"
    [earlier] = found.others
    assert (earlier.verdict, earlier.until) == ("Underpredicts 'True'", "d24")
    assert "Recalibrate the model on the forecasts since d25" in text(found)
    assert "Over Underpredicts 'True'" in text(found)


def test_an_error_on_one_day_is_over_the_day_after():
    rng = np.random.default_rng(35)
    found = monitor({f"2026-01-{at + 1:02}": day(rng, 300, bias=2.0 * (at == 10)) for at in range(20)})
    assert found.alarm.over.period == "2026-01-12"
    assert "most probably on 2026-01-11 only" in text(found)


@pytest.mark.slow
def test_an_error_that_grows_slowly_is_no_shared_shock():
    rng = np.random.default_rng(36)
    found = monitor({f"d{at}": day(rng, 400, bias=max(0, at - 10) / 40) for at in range(50)})
    assert found.dispersion[1] > 0.001
    assert "--clusters period" not in text(found)
    assert "the error grew" in text(found)
    assert "latest forecasts" in text(found)
    one, two = found.alarm.halves
    assert two.bias > one.bias
    assert monitor(days(1, bias=0.7)).alarm.halves is None


@pytest.mark.slow
def test_an_alarm_is_not_dated_later_than_it_came():
    rng = np.random.default_rng(37)
    sizes = {at: 0.7 if at == 12 else 0.3 if at < 25 else 1.5 for at in range(12, 32)}
    found = monitor({f"{at}": day(rng, 200, bias=sizes.get(at, 0)) for at in range(32)})
    alarm = found.alarm
    assert int(alarm.further) >= 24 > int(alarm.period)
    assert max(map(int, alarm.probable)) <= int(alarm.period)
    assert f"further change, most probably in {alarm.further}" in text(found)


@pytest.mark.slow
def test_the_numbers_shown_are_those_in_which_the_error_shows():
    assert "Calibration slope: before, from d0 to" in text(monitor(days(3, slope=0.5)))
    found = monitor(days(1, bias=0.7))
    before, since = found.alarm.before, found.alarm.since
    clauses = "; ".join(
        f"{when}, from {each.first} to {each.last}, {each.predicted:.1%} and {each.observed:.1%}"
        f" ({each.rows:,} forecasts)"
        for when, each in (("before", before), ("since", since))
    )
    assert f"Mean prediction and observed frequency: {clauses}." in text(found)
    assert found.periods.index(before.last) + 1 == found.periods.index(since.first)


@pytest.mark.slow
def test_settings_are_named_as_they_are_given_in_text_page_and_json():
    for clusters in ("none", "period"):
        found = monitor(days(1), clusters=clusters, confidence=0.9)
        for shown in (text(found), found.to_html()):
            assert f"clusters: {clusters}; confidence: 90%" in shown
        assert {"clusters": clusters, "confidence": 0.9}.items() <= found.to_dict().items()


@pytest.mark.slow
def test_periods_that_become_small_are_asked_about():
    rng = np.random.default_rng(38)
    sizes = [200] * 20 + [120, 60, 20]
    assert "Are they complete?" in text(monitor({f"d{at}": day(rng, n) for at, n in enumerate(sizes)}))
    weekly = [40 if at % 7 > 4 else 200 for at in range(21)]
    assert "complete" not in text(monitor({f"d{at}": day(rng, n) for at, n in enumerate(weekly)}))


@pytest.mark.slow
def test_groups_that_break_alike_are_one_alarm():
    rng, history = np.random.default_rng(39), History()
    for at in range(24):
        history = history.after(f"d{at}", {g: day(rng, 150, bias=0.8 * (at >= 12)) for g in "abc"})
    found = monitor(history)
    assert found.alarm.groups == ()
    assert found.others == ()
    assert "d12" in found.alarm.probable
    assert "groups do not differ beyond chance" in text(found)
    assert min(found.groups.values()) > math.log(60)


@pytest.mark.parametrize("error", [{"bias": 1.5}, pytest.param({"slope": 0.3}, marks=pytest.mark.slow)])
def test_a_break_of_whole_periods_is_dated_against_the_calibrated_ones_before_it(error):
    alarm = monitor(days(40, 60, 30, **error), clusters="period").alarm
    assert "d30" in alarm.probable
    assert len(alarm.probable) <= 4


@pytest.mark.slow
def test_periods_that_share_shocks_do_not_make_dates_surer_than_they_are():
    rng = np.random.default_rng(41)
    found = {f"d{at}": day(rng, 500, bias=1.0 * (at >= 30), shock=0.5) for at in range(60)}
    one, shared = (monitor(found, clusters=each).alarm for each in ("none", "period"))
    assert abs(int(shared.began[1:]) - 30) <= 3
    assert len(shared.probable) > len(one.probable)


@pytest.mark.slow
def test_a_slope_that_falls_slowly_is_dated_to_when_it_became_visible():
    rng = np.random.default_rng(42)
    slopes = 1 - 0.9 * np.clip(np.arange(120) - 30, 0, None) / 90
    alarm = monitor({f"{at}": day(rng, 100, slope=slope) for at, slope in enumerate(slopes)}).alarm
    assert 30 < int(alarm.began) <= int(alarm.period)
    assert min(map(int, alarm.probable)) > 0
    assert alarm.trend == "slope"
    one, two = alarm.halves
    assert two.slope < one.slope - 0.2


@pytest.mark.slow
def test_growth_is_seen_in_few_rows_a_period():
    rng = np.random.default_rng(43)
    found = monitor({f"d{at}": day(rng, 25, bias=max(0, at - 30) / 35) for at in range(100)}).alarm
    assert found.trend == "bias"
    assert found.halves[1].bias > found.halves[0].bias
    assert monitor(days(44, 100, 30, bias=1.0)).alarm.trend == ""


@pytest.mark.slow
def test_few_rows_of_one_outcome_name_no_size_that_they_do_not_determine():
    rng = np.random.default_rng(45)
    s = np.linspace(-2, 1, 28)
    history = {f"d{at}": day(rng, 60) for at in range(30)}
    nearly, all_of_them = np.arange(28) > 0, np.ones(28, dtype=bool)
    for y, determined in ((nearly, True), (all_of_them, False)):
        shock = monitor(history | {"shock": Tally.of(y, expit(s))}).alarm
        assert shock.began == shock.until == "shock"
        assert shock.diagnosis.errors == ("bias",)
        assert np.isfinite(shock.diagnosis.findings[0].parameter) == determined
        assert "underconfident" not in shock.verdict


@pytest.mark.slow
def test_rows_with_their_periods_are_the_tallies_of_these(rng):
    n = 3_000
    day, site, s = np.sort(rng.integers(1, 16, n)), rng.choice(["a", "b"], n), rng.normal(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-s - 1.0 * (day > 8)))).astype(int)
    p = 1 / (1 + np.exp(-s))
    tallies = {(f"{each}", at): Tally.of(y[rows], p[rows]) for each in range(1, 16) for at in "ab"
               if (rows := (day == each) & (site == at)).any()}  # fmt: skip
    of_rows = monitor(y, p, time=day, by=site)
    assert of_rows.alarm is not None
    assert of_rows.by == ("group",)  # which tallies do not know
    assert without_dependence(replace(of_rows, by=())) == without_dependence(monitor(tallies))
    match = np.repeat(np.arange(n // 5), 5)
    assert monitor(y, p, time=day, clusters=match).clusters == "period"
    dates = np.datetime64("2026-03-01") + day
    assert monitor(y, p, time=dates).periods[0] == "2026-03-02"


def test_periods_and_rows_are_not_mixed():
    tallies = {"d1": Tally.of([1, 0], [0.8, 0.3])}
    with pytest.raises(InputError, match="time: missing; give the period of each row"):
        monitor([1, 0], [0.8, 0.3])
    with pytest.raises(InputError, match="time: it is for rows; periods that were counted are given alone"):
        monitor(tallies, time=[1, 2])
    with pytest.raises(InputError, match="invalid: it is for rows"):
        monitor(tallies, invalid="drop")
    with pytest.raises(TypeError, match="did you mean 'sample_weight'"):
        monitor([1, 0], [0.8, 0.3], time=[1, 2], sampel_weight=None)


@pytest.mark.slow
def test_periods_whose_rows_err_alike_are_warned_of_once():
    """The variance between periods is what rows of the same period have in common."""
    rng = np.random.default_rng(49)
    match = np.repeat(np.arange(60), 20)
    p = rng.uniform(0.1, 0.9, 60)[match]
    found = monitor(rng.random(60)[match] < p, p, time=match)
    assert dispersed(found)
    text = " ".join(str(found).split())
    assert "Rows of the same 'time' (60) err alike" in text
    assert text.count("take --clusters period") == 1
    assert "take periods as the units" not in text


def test_what_is_dependent_is_said_by_clusters():
    rng = np.random.default_rng(50)
    history = History.of({f"d{at}": day(rng, 60) for at in range(3)})
    assert [monitor(history, clusters=each).clusters for each in (None, "none", "period")] == ["none", "none", "period"]
    with pytest.raises(InputError, match="clusters: expected 'none', 'period', or the cluster of each row, got 'day'"):
        monitor(history, clusters="day")
    with pytest.raises(InputError, match="clusters: it is for rows"):
        monitor(history, clusters=np.arange(180))
    with pytest.raises(TypeError, match='\'units\'; did you mean clusters="none" or "period"'):
        monitor(history, units="rows")
