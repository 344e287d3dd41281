"""Comparisons group by group, beside a baseline, and from files: what the rows alone give."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from unperplexed import compare, skill
from unperplexed.cli.parser import main

N = 240


@pytest.fixture
def data(rng):
    y = rng.integers(2, size=N)
    p = np.clip(0.3 + 0.4 * y + 0.2 * rng.normal(size=N), 0.05, 0.95)
    q = np.clip(p + 0.1 * rng.normal(size=N), 0.05, 0.95)
    lead = np.array(["24 h", "48 h", "120 h"])[np.arange(N) % 3]
    frame = {
        "y": y,
        "p": p,
        "q": q,
        "r": np.full(N, 0.4),
        "lead": lead,
        "wet": np.arange(N) % 4 > 0,
        "id": np.arange(N) // 2,
    }
    return pl.DataFrame(frame).with_columns(id=np.arange(N) // 2, day=np.arange(N) % 40)


@pytest.mark.slow
def test_a_group_is_its_rows_alone_and_p_values_are_adjusted_for_all(data):
    named = {name: data[name] for name in "pqr"}
    found = compare(data["y"], named, by={"lead": data["lead"]}, clusters=data["id"])
    assert [group.key for group in found.groups] == [("24 h",), ("48 h",), ("120 h",)]
    some = data.filter(pl.col("lead") == "48 h")
    alone = compare(some["y"], {name: some[name] for name in "pqr"}, clusters=some["id"])
    for pair in found.groups[1].pairs:
        own = alone.between(pair.first, pair.second).differences["brier_score"]
        mine = pair.differences["brier_score"]
        assert (mine.difference, mine.p_value) == pytest.approx((own.difference, own.p_value))
        (low, high), (own_low, own_high) = mine.interval, own.interval
        t = [stats.t.ppf(1 - 0.025 / tests, alone.independent_rows - 1) for tests in (9, 3)]
        assert (high - low) / (own_high - own_low) == pytest.approx(t[0] / t[1])
    found_p = [pair.differences["log_loss"] for group in found.groups for pair in group.pairs]
    p, adjusted = (np.sort([getattr(each, name) for each in found_p]) for name in ("p_value", "adjusted_p_value"))
    assert adjusted == pytest.approx(np.minimum(9 * p, 1))
    frame = found.frame("groups")
    assert frame.height == 9 * len(found.pairs[0].differences)
    assert frame.columns[:3] == ["lead", "rows", "row_share"]
    assert found.to_dict()["groups"][0]["key"] == ["24 h"]
    assert "Differences by lead" in found.to_html()


def test_a_column_of_time_in_the_place_of_the_series_is_asked_about(data):
    named, y, n = {name: data[name] for name in "pq"}, data["y"], data.height
    for found in (compare, skill):
        said = found(y, named, lag=7, within=np.arange(n) // 5).warnings[0]
        assert f"none of the {-(-n // 5)} series has more rows than the lag of 7: the longest has 5" in said
        assert "not the time" in said
        assert "series" not in " ".join(found(y, named, lag=7, within=np.arange(n) // 8).warnings)
        assert "series" not in " ".join(found(y, named, lag=7).warnings)


@pytest.mark.slow
def test_a_reference_is_that_of_skill(data):
    named, y, by = {name: data[name] for name in "pq"}, data["y"], {"lead": data["lead"]}
    for reference in ("base-rate", "q", {"climatology": by}):
        assert compare(y, named, by=by, reference=reference).skill == skill(y, named, by=by, reference=reference)
    assert compare(y, named).skill is None


def run(capsys, *arguments):
    code = main(["compare", *map(str, arguments), "--json", "-"])
    out, err = capsys.readouterr()
    return json.loads(out) if not code else err


@pytest.mark.slow
def test_files_give_what_arrays_give(data, tmp_path, capsys):
    for name, write in (("f.csv", data.write_csv), ("f.parquet", data.write_parquet)):
        write(tmp_path / name)
        columns = (tmp_path / name, "--truth", "y", "--forecaster", "p=p", "q=q")
        found = run(capsys, *columns, "--by", "lead", "--where", "wet = true", "--reference", "climatology:lead",
                    "--clusters", "id", "day")  # fmt: skip
        some = data.filter("wet")
        by = {"lead": some["lead"]}
        own = compare(some["y"], {name: some[name] for name in "pq"}, by=by, reference={"climatology": by},
                      clusters=[some["id"], some["day"]]).to_dict()  # fmt: skip
        assert found["groups"] == json.loads(json.dumps(own["groups"], default=list))
        assert found["skill"]["whole"] == json.loads(json.dumps(own["skill"]["whole"], default=list))
        assert (found["n_clusters"], found["n_crossed_clusters"]) == (some["id"].n_unique(), some["day"].n_unique())


def test_what_does_not_go_together_is_refused(data, tmp_path, capsys):
    data.write_csv(tmp_path / "f.csv")
    columns = (tmp_path / "f.csv", "--truth", "y", "--forecaster", "p=p", "q=q")
    assert "is none of the forecasters 'p', 'q'; expected" in run(capsys, *columns, "--reference", "none")
    assert "--by does not go with --anytime" in run(capsys, *columns, "--anytime", "--by", "lead")
    assert "expected places, such as 14" in run(capsys, *columns, "--lag", ":id")
    assert "one column or two" in run(capsys, *columns, "--clusters", "id", "lead", "day")
