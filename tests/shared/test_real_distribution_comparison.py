"""Teams that forecast hospital admissions, compared as one command compares them."""

import json
import os
from pathlib import Path

import pytest

from unperplexed.cli.parser import main

HUB = Path(os.environ["UNPERPLEXED_DATA"]) / "flusight_hub"
TEAMS = ("UMass-flusion", "CEPH-Rtrend_fluH", "CMU-TimeSeries")


def test_dates_do_not_tell_three_teams_apart(capsys):
    """Scores of mean and differences are those of an independent computation; so are the windows' p-values."""
    files = [str(HUB / f"{team}.parquet") for team in TEAMS]
    target = ["--target-data", str(HUB / "target-hospital-admissions.csv")]
    assert main(["compare", "--hub", *files, *target, "--common", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 11_038
    teams = found["forecasters"]
    assert [*teams] == [*TEAMS]
    wis = [each["scores"]["weighted_interval_score"][0] for each in teams.values()]
    assert wis == pytest.approx([114.2, 124.9, 143.8], abs=0.05)
    log1p = [each["scores"]["log1p_crps"][0] for each in teams.values()]
    assert log1p == pytest.approx([0.311, 0.382, 0.362], abs=0.0005)
    first, second, third = (each["differences"]["weighted_interval_score"] for each in found["pairs"])
    assert [first["difference"], second["difference"], third["difference"]] == pytest.approx(
        [-10.7, -29.6, -18.9], abs=0.05
    )
    assert second["p_value"] == pytest.approx(0.025, abs=0.001)
    assert found["verdict"].startswith("UMass-flusion is first by WIS, but not distinguishable from CEPH-Rtrend_fluH")
    eighty = [next(c for c in each["coverage"] if c["expected"] == pytest.approx(0.8)) for each in teams.values()]
    assert [each["held"][0] for each in eighty] == pytest.approx([0.754, 0.682, 0.769], abs=0.0006)
