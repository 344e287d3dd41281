"""The diagnosis of predictive distributions beside an independent implementation, and on forecasts of hospitals."""

import math
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri
from scipy.stats import norm, poisson, t

import unperplexed as up
from unperplexed.assessment.pit_shares import PitShares
from unperplexed.calibration.diagnosis.distributions import diagnose_distributions
from unperplexed.calibration.diagnosis.pit_search import PitScored
from unperplexed.calibration.diagnosis.row_groups import Windows
from unperplexed.calibration.distribution_rows import RowMeans
from unperplexed.cli.parser import main
from unperplexed.forecasts.distributions.pit_rows import PitRows
from unperplexed.monitoring.hypotheses import scores
from unperplexed.monitoring.pit_counts import PitCounts

DATA = Path(os.environ["UNPERPLEXED_DATA"])
HUB, TARGET = DATA / "flusight_hub", "target-hospital-admissions.csv"
LEVELS = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(DATA.parent / "reference"))
    try:
        import distribution_reference
    finally:
        sys.path.pop(0)
    return distribution_reference


def rows_of(r, level, log_spread):
    """Take the rows of the reference."""
    shared = r.info.strides[0] == 0
    pattern = np.zeros(len(r.zlo), int) if shared else np.arange(len(r.zlo))
    impossible = np.zeros(len(r.zlo), bool) if r.impossible is None else r.impossible
    return PitRows(r.zlo, r.zhi, r.info[:1] if shared else r.info, pattern, impossible, level, log_spread)


def forecasts(reference, form, rng, n=150):
    """Outcomes of a random error, in one form."""
    m, sd = rng.normal(0, 2, n), np.exp(rng.normal(0, 0.4, n))
    size = rng.uniform(-0.6, 0.6, 3)
    z = size[0] + size[1] * (m - m.mean()) / 2 + rng.normal(size=n) * np.exp(size[2])
    y = m + sd * z
    if form == "exact":
        found = reference.rows_continuous(norm.cdf(z), norm.sf(z))
    elif form == "quantiles":
        found = reference.rows_quantiles(y, LEVELS, m[:, None] + sd[:, None] * ndtri(LEVELS))
    elif form == "members":
        found = reference.rows_ensemble(y, m[:, None] + sd[:, None] * rng.normal(size=(n, 10)))
    elif form == "zeros":
        atom = np.clip(norm.cdf(-m / sd), 1e-12, 1 - 1e-12)
        found = reference.rows_atom(norm.cdf(z), norm.sf(z), np.zeros(n), atom, y <= 0)
    else:
        mean = np.exp(rng.normal(1, 0.7, n))
        counts = rng.poisson(mean * np.exp(size[0]))
        found, m, sd = reference.rows_discrete(poisson(mean), counts), np.log1p(mean), np.sqrt(mean)
    return found, m, np.log(sd)


GROUPS = {
    "rows": lambda n: None,
    "clusters": lambda n: np.arange(n) // 4,
    "windows": lambda n: Windows(np.arange(n) // 5, np.arange(n) // 5 + 1 + np.arange(n) % 2),
}


@pytest.mark.parametrize("form", ["exact", "quantiles", "members", "zeros", "counts"])
@pytest.mark.parametrize("groups", GROUPS)
def test_it_agrees_with_an_independent_implementation(reference, rng, form, groups):
    r, level, log_spread = forecasts(reference, form, rng)
    of = GROUPS[groups](len(level))
    found = diagnose_distributions(rows_of(r, level, log_spread), of)
    if groups == "windows":  # the names of all horizons and of the shortest are joined
        assert found.p_value == pytest.approx(reference.gate_horizons(r, level, log_spread, *of)[0], abs=1e-9)
        return
    known = reference.diagnose(r, level, log_spread, of)
    assert found.p_value == pytest.approx(known["p_value"], abs=1e-9)
    assert set(found.errors) == {each["error"] for each in known["findings"]}
    assert found.cost == pytest.approx(known.get("cost", 0), abs=1e-5)
    for each in known["findings"]:
        (finding,) = (other for other in found.findings if other.error == each["error"])
        assert finding.parameter == pytest.approx(each["parameter"], abs=1e-3)
        if groups == "clusters":  # few: its interval is the normal one there
            number = len(np.unique(of))
            few = t.ppf(0.975, number - 1) / 1.96 * math.sqrt(number / (number - len(known["findings"])))
            assert np.ptp(finding.interval) == pytest.approx(few * np.ptp(each["interval"]), abs=2e-3)
        else:
            assert finding.interval == pytest.approx(each["interval"], abs=2e-3)


def hospital(reference, team):
    """Forecasts of admissions by 23 quantiles, and when they were issued and are about."""
    quantiles = pl.read_parquet(HUB / f"{team}.parquet").filter(
        (pl.col("output_type") == "quantile") & (pl.col("horizon") >= 0)
    )
    keys = ["reference_date", "target_end_date", "location"]
    wide = quantiles.with_columns(pl.col("output_type_id").cast(pl.Float64).round(4)).pivot(
        "output_type_id", index=keys, values="value"
    )
    truth = pl.read_csv(HUB / "target-hospital-admissions.csv", infer_schema_length=0)
    truth = truth.select(target_end_date="date", location="location", y=pl.col("value").cast(pl.Float64, strict=False))
    wide = wide.join(truth, on=keys[1:]).drop_nulls()
    q = np.sort(wide.select(map(str, LEVELS.round(4))).to_numpy(), axis=1)
    spread = (q[:, 15] - q[:, 7]) / 1.349
    spread = np.where(spread > 0, spread, spread[spread > 0].min())
    rows = rows_of(reference.rows_quantiles(wide["y"].to_numpy(), LEVELS, q), np.log1p(q[:, 11]), np.log(spread))
    return rows, Windows(*(wide[key].str.to_date().to_numpy() for key in keys[:2]))


def test_forecasts_of_hospital_admissions_are_too_low_and_too_narrow(reference):
    rows, windows = hospital(reference, "CEPH-Rtrend_fluH")
    found = diagnose_distributions(rows, windows)
    assert found.n_rows == 12_058
    assert found.errors == ("bias", "spread")
    bias, spread = found.findings
    assert [bias.parameter, *bias.interval] == pytest.approx([0.58, 0.23, 0.93], abs=0.005)
    assert np.exp([spread.parameter, *spread.interval]) == pytest.approx([1.29, 1.06, 1.65], abs=0.005)
    assert bias.cost == pytest.approx(0.136, abs=0.0005)
    assert "1.53 times as wide (95% CI 1.37 to 1.76" in found.clauses[-1].words
    shares = PitShares(PitScored.of(rows), RowMeans.of(rows, windows), None, 0.95)
    held = next(each.held for each in shares.coverage() if each.name == "80% intervals")
    assert [held.value, *held.interval] == pytest.approx([0.685, 0.565, 0.784], abs=0.0005)


@pytest.mark.parametrize(
    ("team", "error", "parameter", "cost"),
    [("FluSight-baseline", "spread", np.log(1.58), 0.196), ("CMU-TimeSeries", "bias", 0.38, 0.043)],
)
def test_other_teams_have_one_error(reference, team, error, parameter, cost):
    found = diagnose_distributions(*hospital(reference, team))
    assert found.errors == (error,)
    assert found.findings[0].parameter == pytest.approx(parameter, abs=0.005)
    assert found.cost == pytest.approx(cost, abs=0.0005)


def test_scores_of_periods_are_those_of_the_reference(reference, rng):
    r, level, log_spread = forecasts(reference, "quantiles", rng)
    sums, covariance = scores(PitCounts.of(rows_of(r, level, log_spread)))
    assert sums == pytest.approx(reference.cell(r.zlo, r.zhi)[0].sum(axis=0)[:2])
    assert covariance == pytest.approx(r.info.sum(axis=0)[:2, :2])


def test_two_seasons_of_flu_forecasts_are_watched_by_horizon(capsys):
    """Of four horizons that overlap the shortest tells most: it alone is named."""
    files = ["--hub", str(HUB / "CEPH-Rtrend_fluH.parquet"), "--target-data", str(HUB / TARGET)]
    assert main(["monitor", *files, "--by", "horizon"]) == 1  # periods are the times of issue
    text = " ".join(capsys.readouterr().out.split())
    assert "Calibration broke in 1 of 4 groups: most probably on 2023-12-02" in text
    assert "Horizon 0: too narrow. When The alarm came after 2025-01-11." in text
    assert main(["check", *files, "-q", "--where", "horizon = 0", "--require", "width < 2", "width < 1.2"]) == 1


def test_german_prices_were_misjudged_from_the_first_week_on():
    prices = pl.read_parquet(DATA / "epf_prices" / "DE.parquet")
    members = [name for name in prices.columns[2:] if "Ensemble" not in name]
    week = prices["hour"].str.to_datetime().dt.strftime("%G-W%V")
    found = up.monitor(prices["Real price"].to_numpy(), up.Samples(prices.select(members).to_numpy()), time=week)
    assert (found.alarm.began, found.alarm.verdict) == ("2016-W01", "Too narrow, too low")
    assert "No period came before, and no change of the error since then is shown" in " ".join(str(found).split())
    assert found.alarm.since.width == pytest.approx(1.47, abs=0.01)
