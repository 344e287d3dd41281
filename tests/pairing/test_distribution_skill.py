"""Skill of predictive distributions: beside ratios of scores, climatology by season, and what assess says."""

import json

import numpy as np
import polars as pl
import pytest
import scoringrules
from scipy.stats import norm

import unperplexed as up
from unperplexed.cli.parser import main

LEVELS = np.array([0.1, 0.5, 0.9])


@pytest.fixture
def seasons(rng):
    """Outcomes that a season decides, their seasons and means."""
    season = np.repeat(["dry", "wet"], 60)
    mean = np.where(season == "wet", 30.0, 5.0) + rng.normal(size=120)
    return mean + rng.normal(size=120), season, mean


def test_it_is_one_minus_the_ratio_and_what_assess_says(seasons):
    y, _, mean = seasons
    forecast, other = (up.Distribution("normal", mean=mean, sd=np.full(120, sd)) for sd in (1.0, 5.0))
    ours, theirs = (scoringrules.crps_normal(y, mean, sd) for sd in (1.0, 5.0))
    found = up.skill(y, forecast, reference=other, clusters=None)
    assert found.value.value == pytest.approx(1 - ours.mean() / theirs.mean())
    assert found.verdict == "Better than the reference by CRPS (p < 0.001)"
    assert up.skill(y, other, reference=forecast, clusters=None).verdict.startswith("Worse than the reference")
    apart = ours - theirs
    t = apart.mean() / (apart.std(ddof=1) / np.sqrt(120))
    low, high = found.value.interval
    assert (low > 0) == (abs(t) > 1.98)
    assert up.skill(y, forecast, clusters=None) == up.assess(y, forecast, clusters=None).skill
    equal = up.skill(y, forecast, reference=forecast, clusters=None)
    assert equal.value.value == 0
    assert equal.verdict.startswith("No evidence that the forecasts differ")


def test_climatology_by_season_is_that_of_each_season(seasons):
    y, season, mean = seasons
    forecast = up.Quantiles(LEVELS, mean[:, None] + norm.ppf(LEVELS))
    found = up.skill(y, forecast, reference={"climatology": {"season": season}}, clusters=None)
    scores = np.empty(120)
    for i in range(120):
        others = y[(season == season[i]) & (np.arange(120) != i)]
        q = np.quantile(others, LEVELS, method="median_unbiased")
        scores[i] = 2 * np.mean((y[i] - q) * (LEVELS - (y[i] < q)))
    assert found.reference == "climatology by season"
    assert found.reference_score == pytest.approx(scores.mean())
    assert found.value.value < up.skill(y, forecast, clusters=None).value.value
    with pytest.raises(up.InputError, match="one row alone"):
        up.skill(y, forecast, reference={"climatology": {"row": np.arange(120)}})


def test_bad_input_is_refused(seasons):
    y, season, mean = seasons
    forecast = up.Quantiles(LEVELS, mean[:, None] + norm.ppf(LEVELS))
    with pytest.raises(up.InputError, match="compare gives the skill of several"):
        up.skill(y, {"a": forecast, "b": forecast})
    with pytest.raises(up.InputError, match="PIT values have no scores"):
        up.skill(y, up.PIT(np.full(120, 0.5)))
    with pytest.raises(up.InputError, match="by: is for class probabilities"):
        up.skill(y, forecast, by=season)
    with pytest.raises(up.InputError, match="reference: 'persist' is none. Take climatology or persistence"):
        up.skill(y, forecast, reference="persist")


@pytest.fixture
def series(rng):
    """Two series of 40 days, forecast 1 to 3 days ahead: outcomes, quantiles and what stands beside them."""
    walk = np.cumsum(rng.normal(size=(2, 44)), axis=1)
    site, issued, ahead = (each.ravel() for each in np.meshgrid([0, 1], np.arange(40), [1, 2, 3], indexing="ij"))
    y = walk[site, issued + ahead]
    values = y[:, None] + rng.normal(size=(len(y), 1)) + norm.ppf(LEVELS)
    return y, up.Quantiles(LEVELS, values), {"site": np.array(["n;1", "s"])[site]}, issued, issued + ahead


def last_known(y, site, known, target):
    """The last outcome of the same series up to a time, row by row; NaN for none."""
    found = np.full(len(y), np.nan)
    for i in range(len(y)):
        earlier = [(target[j], y[j]) for j in range(len(y)) if site[j] == site[i] and target[j] <= known[i]]
        found[i] = max(earlier)[1] if earlier else np.nan
    return found


@pytest.mark.parametrize("n", [3, 239, 241])
def test_columns_of_a_reference_have_a_value_for_each_row(series, n):
    y, forecast, _, _, _ = series
    with pytest.raises(up.InputError, match=f"reference: site: expected a value for each of 240 rows, got {n}"):
        up.skill(y, forecast, reference={"climatology": {"site": np.zeros(n)}}, clusters=None)


def test_persistence_is_the_last_outcome_of_the_series_that_was_known(series):
    y, forecast, site, issued, target = series
    last = last_known(y, site["site"], issued, target)
    there = ~np.isnan(last)
    found = up.skill(y, forecast, reference={"persistence": site}, issued=issued, target_date=target)
    assert found.left_out == np.count_nonzero(~there) == 6
    assert found.n_rows + found.left_out == len(y)
    apart = (y - last)[there, None]
    expected = 2 * np.mean(np.maximum(LEVELS * apart, (LEVELS - 1) * apart))
    assert found.reference_score == pytest.approx(expected)
    ours = up.scores.crps(y[there], forecast.subset(there))
    assert found.value.value == pytest.approx(1 - ours / expected)
    assert "Skill against persistence leaves out 6 of 240 forecasts" in " ".join(str(found).split())
    members = up.Samples(forecast.values)
    fair = up.skill(y, members, reference={"persistence": site}, issued=issued, target_date=target)
    assert fair.reference_score == pytest.approx(np.abs(apart).mean())
    whole = up.assess(y, forecast, reference={"persistence": site}, issued=issued, target_date=target)
    assert whole.skill == found
    assert found.notes[0] in whole.notes
    both = up.compare(
        y, {"a": forecast, "b": members}, reference={"persistence": site}, issued=issued, target_date=target
    )
    assert both.skill["a"].reference_score == pytest.approx(expected)


def test_outcomes_of_the_time_of_issue_are_not_known_if_it_is_forecast(series):
    y, forecast, site, issued, target = series
    found = up.skill(y, forecast, reference={"persistence": site}, issued=issued + 1, target_date=target)
    last = last_known(y, site["site"], issued, target)  # the shortest horizon is 0: known up to the day before
    assert found.reference_score == pytest.approx(
        2 * np.nanmean(np.maximum(LEVELS * (y - last)[:, None], (LEVELS - 1) * (y - last)[:, None]))
    )


def test_outcomes_of_the_hour_before_are_known_whatever_the_horizons(rng):
    hour = np.datetime64("2026-01-01T00") + np.arange(400)
    walk = np.cumsum(rng.normal(size=400))
    issued, ahead = (each.ravel() for each in np.meshgrid(np.arange(100, 370), [0, 24], indexing="ij"))
    y, times = walk[issued + ahead], {"issued": hour[issued], "target_date": hour[issued + ahead]}
    forecast = up.Samples(y[:, None] + rng.normal(size=(y.size, 2)))
    found = up.skill(y, forecast, reference="persistence", clusters=None, **times)
    assert found.left_out == 2
    assert found.reference_score == pytest.approx(np.abs(y - walk[issued - 1])[2:].mean())


def test_persistence_asks_for_times_and_series(series):
    y, forecast, site, issued, target = series
    times = {"issued": issued, "target_date": target}
    with pytest.raises(up.InputError, match=r"issued and target_date \(--reading issued=COLUMN"):
        up.skill(y, forecast, reference="persistence")
    with pytest.raises(up.InputError, match="two outcomes at 1 differ. Name the columns that tell series apart"):
        up.skill(y, forecast, reference="persistence", **times)
    with pytest.raises(up.InputError, match="hardly any row has an earlier outcome"):
        up.skill(y, forecast, reference={"persistence": np.arange(240)}, **times)
    with pytest.raises(up.InputError, match="log_score of persistence is not known by 3 quantiles. Take crps"):
        up.skill(y, forecast, reference={"persistence": site}, metrics=["log_score"], **times)
    one = np.flatnonzero(site["site"] == "s")
    alone = up.skill(y[one], forecast.subset(one), reference="persistence", issued=issued[one], target_date=target[one])
    assert alone.left_out == 3


def test_climatology_is_scored_by_the_rule_that_is_named(seasons):
    y, _, mean = seasons
    forecast = up.Quantiles(LEVELS, mean[:, None] + norm.ppf(LEVELS))
    found = up.skill(y, forecast, metrics=["quantile_loss(0.9)"], clusters=None)
    others = np.array([np.quantile(np.delete(y, i), 0.9, method="median_unbiased") for i in range(120)])
    assert found.reference_score == pytest.approx(np.mean(np.maximum(0.9 * (y - others), -0.1 * (y - others))))
    with pytest.raises(up.InputError, match="log1p_crps of climatology is not known by 2 members"):
        up.skill(y, up.Samples(np.stack([mean, mean + 1], axis=1)), metrics=["log1p_crps"], clusters=None)
    hours = np.array(["2026-01-05 13:00"] + ["2026-01-05 14:00"] * 119)
    with pytest.raises(up.InputError, match="of a time a part, such as at:hour or at:month"):
        up.skill(y, forecast, reference={"climatology": {"at": hours}}, clusters=None)


def test_the_command_says_the_same(seasons, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y, season, mean = seasons
    values = mean[:, None] + norm.ppf(LEVELS)
    columns = {f"q{level}": column for level, column in zip(LEVELS, values.T, strict=True)}
    pl.DataFrame({"y": y, "season": season, **columns}).write_csv("f.csv")
    words = ["f.csv", "--truth", "y", "--quantiles", "q*", "--clusters", "none"]
    for more, reference in ([], None), (["--reference", "climatology:season"], {"climatology": {"season": season}}):
        assert main(["skill", *words, *more, "--json", "-"]) == 0
        found = json.loads(capsys.readouterr().out)
        expected = up.skill(y, up.Quantiles(LEVELS, values), reference=reference, clusters=None)
        assert found == json.loads(expected.to_json())
        assert main(["assess", *words, *more, "--json", "-"]) == 0
        assert json.loads(capsys.readouterr().out)["skill"]["value"] == found["value"]
    assert main(["skill", *words]) == 0
    assert "Better than climatology by WIS (p < 0.001)." in capsys.readouterr().out
    assert main(["skill", *words, "--by", "season"]) == 2
    assert "--by: skill of distributions" in capsys.readouterr().err


def test_the_command_reads_series_and_times(series, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y, forecast, site, issued, target = series
    columns = {f"q{level}": column for level, column in zip(LEVELS, forecast.values.T, strict=True)}
    frame = pl.DataFrame({"y": y, **site, "made": issued, "about": target, **columns})
    frame.write_csv("f.csv")
    words = ["skill", "f.csv", "--truth", "y", "--quantiles", "q*", "--reference", "persistence:site"]
    assert main([*words, "--reading", "issued=made", "target-date=about", "--json", "-"]) == 0
    expected = up.skill(y, forecast, reference={"persistence": site}, issued=issued, target_date=target)
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert main(words) == 2
    assert "issued=COLUMN" in capsys.readouterr().err
    lines = [frame.with_columns(model=pl.lit(name)) for name in ("a", "b")]
    pl.concat(lines).write_csv("two.csv")
    words[:2] = ["compare", "two.csv", "--forecaster", "model"]
    assert main([*words, "--reading", "issued=made", "target-date=about", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["skill"]["b"]["reference"] == "persistence"
