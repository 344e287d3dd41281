"""Predictive distributions over time: alarms, dates and names, and the file that keeps their periods."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import unperplexed as up
from unperplexed._lib.dataclasses import replace
from unperplexed.cli.parser import main
from unperplexed.monitoring.breaks import Series
from unperplexed.monitoring.distribution_history import history_of_distributions
from unperplexed.monitoring.hypotheses import Weights, row_factors, scores
from unperplexed.monitoring.monitored import monitored_warnings
from unperplexed.monitoring.pit_counts import PitCounts
from unperplexed.results import History
from unperplexed.statistics.normal_scores import information_of, probability_between

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def normals(m, s):
    return up.Distribution("normal", mean=m, sd=s)


def quantiles(m, s):
    return up.Quantiles(LEVELS, m[:, None] + np.outer(s, norm.ppf(LEVELS)))


def members(m, s):
    return up.Samples(m[:, None] + s[:, None] * np.random.default_rng(5).normal(size=(len(m), 20)))


def days(seed, periods=45, rows=50, start=30, *, low=0.0, narrow=1.0, shock=0.0):
    """Period, outcome, predicted mean and spread of rows; errors begin in a period."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(1, periods + 1), rows)
    m, s, late = rng.normal(10, 3, day.size), np.exp(0.3 * rng.normal(size=day.size)), day > start
    z = np.sqrt(1 - shock) * rng.normal(size=day.size) + np.sqrt(shock) * rng.normal(size=periods)[day - 1]
    return day, m + s * (np.where(late, narrow, 1) * z + low * late), m, s


def cells(z, rows):
    """Put so many rows into each cell between normal scores."""
    return PitCounts(z[:-1], z[1:], rows, information_of(norm.cdf([-np.inf, 0, np.inf])) * rows.sum())


@pytest.mark.parametrize("edges", [norm.ppf([0, *LEVELS, 1]), np.r_[-np.inf, np.arange(-36, 37) / 4, np.inf]])
def test_the_mean_factor_over_all_outcomes_is_one(edges):
    """Of quantiles, and of cells of equal width, in which outcomes are counted that are known exactly."""
    one = np.eye(len(edges) - 1)
    chance = probability_between(edges[:-1], edges[1:])
    mean = sum(p * np.exp(row_factors(cells(edges, row))) for p, row in zip(chance, one, strict=True))
    assert mean == pytest.approx(np.ones(45), abs=1e-9)


def test_shares_of_the_bet_add_up_to_one():
    weights = Weights.of(cells(norm.ppf([0, 0.5, 1]), np.ones(2)))
    assert [each.sum() for each in weights] == pytest.approx([1, 1, 1])
    assert [each.size for each in weights[:2]] == [45, 56]


def test_factors_are_ratios_of_probabilities_and_add_up():
    edges, rows = norm.ppf([0, *LEVELS, 1]), np.array([3.0, 1, 0, 2, 4, 1, 1, 0])
    bias, width = row_factors(cells(edges, rows))[[8, 16]]  # + 0.8 spreads, 2.5 times as wide
    before = np.log(np.diff(norm.cdf(edges)))
    assert bias == pytest.approx((np.log(np.diff(norm.cdf(edges, 0.8))) - before) @ rows)
    assert width == pytest.approx((np.log(np.diff(norm.cdf(edges, 0, 2.5))) - before) @ rows)


def test_scores_are_the_sums_of_shift_and_scale():
    z = np.random.default_rng(1).normal(size=400)
    counts = PitCounts.of(normals(np.zeros(400), np.ones(400)).pit_rows(z))
    sums, covariance = scores(counts)
    assert sums == pytest.approx([z.sum(), ((z**2 - 1) / np.sqrt(2)).sum()], abs=10)  # z is rounded up or down by 1/64
    assert covariance == pytest.approx(400 * np.eye(2))
    assert counts.total.sum() == 400


@pytest.mark.parametrize(
    ("form", "clusters", "error", "said"),
    [
        (normals, "none", {"narrow": 1.5}, "Too narrow"),
        (quantiles, "period", {"narrow": 1.5}, "Too narrow"),
        (quantiles, "none", {"low": 0.6}, "Too low"),
        (members, "period", {"low": 0.6}, "Too low"),
    ],
)
def test_an_error_is_found_dated_and_named(form, clusters, error, said):
    day, y, m, s = days(2, **error)
    found = up.monitor(y, form(m, s), time=day, clusters=clusters)
    assert found.alarm.verdict.startswith(said)
    assert int(found.alarm.began) in (30, 31, 32)
    assert 31 <= int(found.alarm.period) < 50
    before, since = found.alarm.before, found.alarm.since
    assert before.width == pytest.approx(1, abs=0.08)
    assert (since.bias, since.width) == pytest.approx((error.get("low", 0), error.get("narrow", 1)), abs=0.18)


@pytest.mark.slow
def test_calibrated_forecasts_raise_no_alarm():
    day, y, m, s = days(3)
    for clusters in ("none", "period"):
        found = up.monitor(y, quantiles(m, s), time=day, clusters=clusters)
        assert found
        assert found.clusters == clusters
        assert np.mean([each.held for each in found.control]) == pytest.approx(0.8, abs=0.02)


@pytest.mark.slow
def test_periods_are_the_units_unless_rows_are_declared_independent():
    """Shocks of a day make rows alike: rows as units refute calibrated forecasts."""
    day, y, m, s = days(4, shock=0.2)
    found = up.monitor(y, quantiles(m, s), time=day)
    assert found
    assert found.clusters == "period"
    for said in ("none", None):
        found = up.monitor(y, quantiles(m, s), time=day, clusters=said)
        assert not found
        assert found.clusters == "none"


def ahead(seed, periods=120, series=5):
    """Times of issue and target, and normal scores, of forecasts of 1 to 4 steps of random walks, issued each step."""
    shock = np.random.default_rng(seed).normal(size=(periods + 4, series))
    z = [sum(shock[k : k + periods] for k in range(h)) / np.sqrt(h) for h in range(1, 5)]
    issued, horizon, _ = np.indices((periods, 4, series))
    return issued.ravel(), (issued + horizon + 1).ravel(), np.stack(z, axis=1).ravel()


@pytest.mark.slow
def test_forecasts_of_several_steps_are_watched_in_phases():
    """Perfect forecasts of one to four steps: as if none overlapped, alarms are false in 40% of such cases."""
    alarms = 0
    for seed in (0, 1):
        issued, target, z = ahead(seed, periods=100)
        given = z, quantiles(np.zeros(z.size), np.ones(z.size))
        found = up.monitor(*given, time=issued, issued=issued, target_date=target)
        assert found
        assert found.phases == 4
        assert any("4 periods ahead" in warning for warning in monitored_warnings(found))
        alarms += up.monitor(*given, time=issued).alarm is not None
    assert alarms >= 1


def gross(ahead, periods, bias=4.0):
    """Watch forecasts with a gross bias, which overlap with those of so many periods."""
    y = np.random.default_rng(0).normal(bias, 1, periods * 40)
    issued, forecast = np.repeat(np.arange(periods), 40), quantiles(np.zeros(y.size), np.ones(y.size))
    return up.monitor(y, forecast, time=issued, issued=issued, target_date=issued + ahead)


@pytest.mark.parametrize("ahead", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_watch_says_when_even_a_gross_error_could_not_have_shown(ahead):
    found = gross(ahead, 60)
    first = int(found.alarm.period) + 1
    assert first - ahead <= found.earliest <= first
    text = " ".join(gross(ahead, first - 1).to_text(columns=200).split())
    assert f"this watch sees little: {'forecasts reach 3 periods ahead, so ' * (ahead > 1)}even a gross error" in text
    assert f"takes about {found.earliest} periods to show" in text
    assert "assess tests whether that is chance" in text
    assert ("--by horizon watches each step" in text) == (ahead > 1)


def test_groups_take_half_of_the_bet_as_if_half_as_many_false_alarms_were_allowed():
    day, y, m, s = days(4, periods=3, rows=20)
    alone, half = (up.monitor(y, normals(m, s), time=day, confidence=each).earliest for each in (0.95, 0.975))
    assert alone < half == up.monitor(y, normals(m, s), time=day, by={"g": np.arange(y.size) % 2}).earliest


def test_a_verdict_without_alarm_has_the_figures_of_assess():
    issued, target, z = ahead(0, periods=12)
    y, forecast = z + 1, quantiles(np.zeros(z.size), np.ones(z.size))
    windows = {"issued": issued, "target_date": target}
    found, assessed = up.monitor(y, forecast, time=issued, **windows), up.assess(y, forecast, **windows)
    assert found.sees_little
    assert "No evidence" not in found.to_text()
    assert (found.whole.bias, found.whole.width) == pytest.approx((assessed.bias.value, assessed.width.value))
    assert f"look {assessed.bias.value:.2f} spreads too low" in " ".join(found.to_text().split())


@pytest.mark.slow
def test_long_watches_and_single_rows_keep_the_plain_verdict():
    day, y, m, s = days(3)
    assert "No alarm in 45 periods." in up.monitor(y, quantiles(m, s), time=day).to_text()
    assert (
        "No evidence of miscalibration"
        in up.monitor(y[:90], normals(m[:90], s[:90]), time=day[:90], clusters="none").to_text()
    )


def test_thousands_of_periods_and_hours_that_come_again_are_refused(tmp_path, capsys):
    n = 4001
    with pytest.raises(up.InputError, match="4,001 periods of 1 forecast are too many"):
        up.monitor(np.zeros(n), normals(np.zeros(n), np.ones(n)), time=np.arange(n))
    path = tmp_path / "price.csv"
    path.write_text("hour,y,mu\n2026-01-01 00:00:00,1,2\n2026-01-01 01:00:00,1,2\n")
    command = ["monitor", str(path), "--truth", "y", "--distribution", "normal", "mean=mu", "sd=1", "--time"]
    for part in ("hour", "weekday"):
        assert main([*command, f"hour:{part}"]) == 2
        assert f"each {part} comes again and again" in capsys.readouterr().err


def test_groups_have_as_many_phases_as_their_forecasts_reach_ahead():
    issued, target, z = ahead(0, periods=20)
    windows = {"issued": issued, "target_date": target}
    forecast = normals(np.zeros(z.size), np.ones(z.size))
    by = {"step": target - issued}
    history = history_of_distributions(z, forecast, issued, by, windows)
    assert [history.periods[0].groups[str(step)][0].ahead for step in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert history.periods[0].events()[0].ahead == 4
    horizons = {**windows, "target_date": target - 1}  # those of hubs begin with 0
    [same, *_] = history_of_distributions(z, forecast, issued, None, horizons).periods
    assert same.events()[0].ahead == 4
    weeks = history_of_distributions(z, forecast, issued // 4, None, windows)
    assert {period.events()[0].ahead for period in weeks.periods} == {1, 2}


def test_each_phase_has_factors_of_its_own_and_an_equal_part_of_the_bet():
    rng = np.random.default_rng(7)
    rows = [normals(np.zeros(30), np.ones(30)).pit_rows(rng.normal(0.5, 1, 30)) for _ in range(2)]
    one, two = (PitCounts.of(each, ahead=2) for each in rows)
    both = Series.of("", [(one,), (two,)], shared=True)
    alone = [Series.of("", [(each._replace(ahead=1),)], shared=True).factors for each in (one, two)]
    assert both.factors == pytest.approx(np.block([[alone[0], 0 * alone[0]], [0 * alone[1], alone[1]]]))
    assert both.weights.sum() == pytest.approx(1)


@pytest.mark.slow
def test_the_group_that_broke_is_named():
    day, y, m, s = days(6, rows=80)
    site = np.array(["a", "b"])[np.arange(day.size) % 2]
    y = np.where((site == "b") & (day > 30), m + 1.7 * (y - m), y)
    found = up.monitor(y, quantiles(m, s), time=day, by={"site": site})
    assert found.alarm.groups == ("b",)
    assert "Group 'b': too narrow." in found.to_text(columns=80)
    numbered = up.monitor(y, quantiles(m, s), time=day, by={"horizon": (site == "b").astype(int)})
    assert "Horizon 1: too narrow." in numbered.to_text(columns=80)
    assert "Group '1': too narrow." in replace(numbered, by=()).to_text(columns=80)


def test_outcomes_that_were_held_impossible_refute_calibration():
    y = np.r_[np.random.default_rng(0).gamma(2, 1, 199), -1.0]
    found = up.monitor(y, up.Distribution("gamma", shape=np.full(200, 2.0), scale=1), time=np.repeat([1, 2], 100))
    assert (found.impossible.period, found.impossible.rows, found.alarm) == ("2", 1, None)
    text = found.to_text(columns=200)
    assert "Outcomes were held impossible, first in 2" in text
    assert "1 outcome was outside of all that was held possible" in text


def test_a_history_is_the_same_after_it_was_kept(tmp_path):
    day, y, m, s = days(8, periods=6)
    for form in (normals, quantiles):
        history = history_of_distributions(y, form(m, s), day, None, {})
        history.save(tmp_path / "history.json")
        assert History.load(tmp_path / "history.json") == history


def test_histories_of_classes_and_of_numbers_are_not_mixed():
    day, y, m, s = days(8, periods=2)
    numbers = history_of_distributions(y, normals(m, s), day, None, {})
    classes = History.of({"3": up.Tally.of([1, 0], [0.7, 0.4])})
    for one, other in ((numbers, classes), (classes, numbers)):
        with pytest.raises(up.InputError, match="Keep a history for each"):
            one.then(other)
    with pytest.raises(up.InputError, match="in the history with other forecasts"):
        numbers.then(history_of_distributions(y + 1, normals(m, s), day, None, {}))
    assert numbers.then(numbers) == numbers


@pytest.mark.parametrize(
    "change",
    [{"total": [0.0]}, {"high": [-9.0]}, {"information": [[1]]}, {"ahead": 0}, {"low": []}, {"certain_and_wrong": -1}],
)
def test_a_damaged_history_is_refused(tmp_path, change):
    day, y, m, s = days(8, periods=1, rows=2)
    data = history_of_distributions(y, normals(m, s), day, None, {}).to_dict()
    data["periods"][0]["groups"][""][0] |= change
    (tmp_path / "history.json").write_text(json.dumps(data))
    with pytest.raises(up.InputError, match="damaged"):
        History.load(tmp_path / "history.json")


def test_what_is_for_classes_is_refused():
    day, y, m, s = days(8, periods=3)
    given = y, normals(m, s)
    for options, said in (
        ({"require": "log_loss < 1"}, "not for predictive distributions"),
        ({"sample_weight": np.arange(1, y.size + 1)}, "weight"),
    ):
        with pytest.raises(up.InputError, match=said):
            up.monitor(*given, time=day, **options)
    with pytest.raises(up.InputError, match="time"):
        up.monitor(*given)
    with pytest.raises(up.InputError, match="drift"):
        history_of_distributions(*given, day, None, {}).without_outcomes()


@pytest.mark.slow
def test_the_command_keeps_a_history_and_says_what_broke_since_when(tmp_path, capsys):
    day, y, m, s = days(2, periods=42, rows=40, narrow=1.6)
    frame = pl.DataFrame({"day": [date(2026, 1, 1) + timedelta(int(k)) for k in day], "y": y, "mu": m, "sd": s})
    path, history = tmp_path / "load.csv", tmp_path / "history.json"
    command = ["monitor", str(path), "--truth", "y", "--distribution", "normal", "mean=mu", "sd=sd", "--time", "day"]
    for some, code in ((day <= 25, 0), (day > 25, 1)):
        frame.filter(some).write_csv(path)
        assert main([*command, "--history", str(history), "-q", "--json", "-"]) == code
        found = json.loads(capsys.readouterr().out)
    whole = up.monitor(y, normals(m, s), time=frame["day"])
    assert found["alarm"]["began"] == whole.alarm.began in ("2026-01-30", "2026-01-31", "2026-02-01")
    assert found["log_evidence"] == pytest.approx(whole.log_evidence.tolist())
    assert found["alarm"]["diagnosis"]["headline"] == "Too narrow"
    assert main(command) == 0  # the days since alone are too few
    assert main([*command, "--drift"]) == 2
    assert main([each for each in command if each not in ("--time", "day")]) == 2
    assert "--time: missing" in capsys.readouterr().err


@pytest.mark.slow
def test_table_charts_and_frame_have_coverage_bias_and_width():
    day, y, m, s = days(2, narrow=1.5)
    found = up.monitor(y, quantiles(m, s), time=day)
    assert found.frame().columns == ["first", "last", "rows", "held", "bias", "width", "log_evidence"]
    text, page = found.to_text(columns=80), found.to_html()
    assert "Calibration broke: most probably in 31" in text
    assert "width factor" in " ".join(text.split())
    for heading in ("Bias and width over time", "Coverage over time", "Held by 80% intervals"):
        assert heading in page
    for wrong in ("mean prediction", "observed frequency", "log-odds", "log loss"):
        assert wrong not in text + page
    assert len(found.plot().axes) == 4
