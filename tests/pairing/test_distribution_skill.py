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
    with pytest.raises(up.InputError, match="reference"):
        up.skill(y, forecast, reference="persistence")


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
