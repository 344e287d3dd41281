"""The remedy of predictive distributions beside an independent implementation, and on forecasts of later years."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import beta

import unperplexed as up
from unperplexed.calibration.diagnosis.row_groups import Windows
from unperplexed.calibration.distribution_rows import RowMeans
from unperplexed.cli.parser import main
from unperplexed.recalibration.recalibrator import Recalibrator
from unperplexed.scores.distributions.rules import crps_rows

DATA = Path(os.environ["UNPERPLEXED_DATA"])
HUB, TEAM = DATA / "flusight_hub", "Flusight-baseline"
LEVELS = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])
RANKS = {"identity": 0, "shift": 1, "scale": 1, "shift+scale": 2, "curved": 4, "level+spread": 4, "all": 6} | {
    "bernstein": 6
}
PARAMETERS = {
    "identity": (),
    "shift": ("bias",),
    "scale": ("spread",),
    "shift+scale": ("bias", "spread"),
    "curved": ("bias", "spread", "skew", "tail"),
    "level+spread": ("bias", "spread", "level", "follow"),
    "all": ("bias", "spread", "skew", "tail", "level", "follow"),
}
SD = {"bias": 1, "spread": 1, "follow": 1, "level": 0.5, "skew": 0.5, "tail": 0.5}


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(DATA.parent / "reference"))
    try:
        import distribution_reference
    finally:
        sys.path.pop(0)
    return distribution_reference


def held_out(reference, rows, x, s, names, here):
    """Fit to the rows outside of a fold, and return the gains of those in it."""

    def likelihood(of):
        part = reference.Rows(rows.zlo[of], rows.zhi[of], rows.info[of])
        return reference.make_rows_ll(part, x[of], s[of])

    inside, outside = likelihood(here), likelihood(~here)
    if not names:
        return np.zeros(here.sum())

    def penalised(theta):
        return outside(theta) - sum(theta[name] ** 2 / SD[name] ** 2 / 2 for name in theta) / (~here).sum()

    _, found, _, _ = reference.fit(penalised, names)
    return inside(dict(zip(names, found, strict=True)))


def mixture(low, high, here):
    """Fit the mixture of beta densities outside of a fold by many steps, and return the gains of the rows in it."""
    k = np.arange(1, 13)[:, None]
    width = high - low
    ratio = np.where(
        width > 0,
        (beta.cdf(high, k, 13 - k) - beta.cdf(low, k, 13 - k)) / np.where(width > 0, width, 1),
        beta.pdf(low, k, 13 - k),
    )
    weights = np.full(12, 1 / 12)
    for _ in range(3000):
        part = weights[:, None] * ratio[:, ~here]
        weights = (part / part.sum(axis=0)).sum(axis=1) + 1
        weights /= weights.sum()
    return np.log(weights @ ratio[:, here])


@pytest.mark.parametrize("form", ["exact", "quantiles"])
def test_weights_and_gain_are_those_of_an_independent_implementation(reference, rng, form):
    n = 150
    level, log_spread = rng.normal(0, 2, n), rng.normal(0, 0.4, n)
    z = 0.25 + 1.15 * rng.normal(size=n)
    y, spread = level + np.exp(log_spread) * z, np.exp(log_spread)
    if form == "exact":
        forecast = up.Distribution("normal", mean=level, sd=spread)
        rows = reference.rows_continuous(forecast.cdf(y), forecast.sf(y))
    else:
        forecast = up.Quantiles(LEVELS, level[:, None] + spread[:, None] * ndtri(LEVELS))
        rows = reference.rows_quantiles(y, LEVELS, forecast.values)
    made = Recalibrator().fit(y, forecast, clusters=None)
    fold = made.distributions.held_out.fold
    x, s = (level - level.mean()) / level.std(), np.log(forecast.spread()) - np.log(forecast.spread()).mean()
    low, high = ndtr(rows.zlo), ndtr(rows.zhi)
    gains = {
        name: np.concatenate([held_out(reference, rows, x, s, names, fold == k) for k in range(5)])
        for name, names in PARAMETERS.items()
    }
    gains["bernstein"] = np.concatenate([mixture(low, high, fold == k) for k in range(5)])
    worth = {
        name: each.sum() - {**RANKS, "bernstein": 6}[name] / 2 - 2 * (name != "identity")
        for name, each in gains.items()
    }
    weights = {name: np.exp(each - max(worth.values())) for name, each in worth.items()}
    total = sum(weights.values())
    for name, weight in weights.items():
        assert made.weights_[name] == pytest.approx(weight / total, abs=2e-3)
    held = {each.name: each.log_loss for each in made.distributions.candidates}
    for name, each in gains.items():
        assert held["identity"] - held[name] == pytest.approx(each.mean(), abs=1e-4)


def hospital(team, horizon):
    """Forecasts of admissions by 23 quantiles, their outcomes, and when they were issued and are about."""
    quantiles = pl.read_parquet(HUB / f"{team}.parquet").filter(
        (pl.col("output_type") == "quantile") & (pl.col("horizon") == horizon)
    )
    keys = ["reference_date", "target_end_date", "location"]
    wide = quantiles.with_columns(pl.col("output_type_id").cast(pl.Float64).round(4)).pivot(
        "output_type_id", index=keys, values="value"
    )
    truth = pl.read_csv(HUB / "target-hospital-admissions.csv", infer_schema_length=0)
    truth = truth.select(target_end_date="date", location="location", y=pl.col("value").cast(pl.Float64, strict=False))
    wide = wide.join(truth, on=keys[1:]).drop_nulls()
    times = [wide[key].str.to_date().to_numpy() for key in keys[:2]]
    return up.Quantiles(LEVELS, wide.select(map(str, LEVELS.round(4)))), wide["y"].to_numpy(), *times


@pytest.mark.parametrize(
    ("team", "horizon", "gain", "wis"),
    [("CEPH-Rtrend_fluH", 0, 0.41, 0.88), ("UMass-flusion", 1, -0.002, 1.0), ("UMass-flusion", 3, -0.011, 1.003)],
)
def test_a_map_of_one_season_mends_the_next_or_does_no_harm(team, horizon, gain, wis):
    forecast, y, issued, target = hospital(team, horizon)
    before = issued < np.datetime64("2024-08-01")
    first, later = np.flatnonzero(before), np.flatnonzero(~before)
    made = Recalibrator().fit(y[first], forecast.subset(first), issued=issued[first], target_date=target[first])
    old = forecast.subset(later)
    each = made.distributions.gains(y[later], old)
    windows = Windows(issued[later], target[later])
    found = RowMeans(np.ones(later.size), np.ones(later.size), windows).uncertain(each)
    assert found.mean == pytest.approx(gain, abs=0.01)
    assert found.mean > -0.02
    assert (found.interval(0.95).low > 0) == (team == "CEPH-Rtrend_fluH")
    ratio = crps_rows(y[later], made.transform(old)).mean() / crps_rows(y[later], old).mean()
    assert ratio == pytest.approx(wis, abs=0.01)


def test_prices_of_electricity_are_mended_in_the_next_year():
    frame = pl.read_parquet(DATA / "epf_prices" / "DE.parquet")
    members = up.Samples(frame.select(pl.col("^(DNN|LEAR) [0-9]+$")))
    y, day = frame["Real price"].to_numpy(), np.arange(len(frame)) // 24
    in_2016 = frame["hour"].str.starts_with("2016").to_numpy()
    first, later = np.flatnonzero(in_2016), np.flatnonzero(~in_2016)
    made = Recalibrator().fit(y[first], members.subset(first), clusters=day[first])
    old = members.subset(later)
    gains = made.distributions.gains(y[later], old)
    found = RowMeans(np.ones(later.size), np.ones(later.size), day[later]).uncertain(gains)
    assert [found.mean, *found.interval(0.95)] == pytest.approx([0.114, 0.096, 0.132], abs=0.003)
    new = made.transform(old)
    before, after = (crps_rows(y[later], each, fair=False).mean() for each in (old, new))
    assert [before, after] == pytest.approx([3.073, 3.016], abs=0.005)


@pytest.mark.parametrize("kind", ["quantile", "sample", "cdf"])
def test_mended_files_of_a_hub_are_what_the_hub_takes(tmp_path, kind):
    hub = DATA / "hubverse_example"
    file, made, new = hub / f"model-output/{TEAM}/2022-12-17-{TEAM}.csv", tmp_path / "m.json", tmp_path / "new.csv"
    where = ["--where", f"output_type = '{kind}'"]
    fit = ["--hub", str(hub / "model-output" / TEAM), "--target-data", str(hub / "target-data/time-series.csv")]
    if kind == "cdf":  # of rates, whose outcomes are not given
        y = np.random.default_rng(0).uniform(size=200) ** 1.5
        Recalibrator().fit(None, up.PIT(y), clusters=None).save(made)
    else:
        assert main(["recalibrate", *fit, *where, "--clusters", "none", "-q", "-o", str(made)]) == 0
    assert main(["recalibrate", "--hub", str(file), *where, "--apply", str(made), "-q", "-o", str(new)]) == 0
    old, mended = (pl.read_csv(each, infer_schema_length=0) for each in (file, new))
    assert mended.drop("value").equals(old.drop("value"))
    other = (old["output_type"] != kind).to_numpy()
    assert mended.filter(other).equals(old.filter(other))
    assert (mended["value"] != old["value"]).sum() > 0.7 * (~other).sum()
    tasks = json.loads((hub / "hub-config" / "tasks.json").read_text())["rounds"][0]["model_tasks"]
    [asked] = [each["output_type"][kind] for each in tasks if kind in each["output_type"]]
    lines = mended.filter(~other)
    value = lines["value"].cast(float)
    assert value.min() >= asked["value"]["minimum"]
    assert value.max() <= asked["value"].get("maximum", np.inf)
    assert asked["value"]["type"] == "double" or lines["value"].str.contains(r"^[0-9]+$").all()
    keys = ["location", "reference_date", "horizon", "target"]
    if kind == "sample":
        most = asked["output_type_id_params"]["max_samples_per_task"]
        assert lines.group_by(keys).len()["len"].unique().to_list() == [most]
        return
    levels = lines.with_columns(pl.col("output_type_id", "value").cast(float)).sort(*keys, "output_type_id")
    for _, each in levels.group_by(keys):
        assert each["output_type_id"].to_list() == asked["output_type_id"]["required"]
        assert each["value"].is_sorted()
