"""Folders of tables, and the columns that folders such as dt=2026-10-09 name."""

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, tally_files, tally_files_by
from unperplexed.cli.parser import main
from unperplexed.sources.readers.formats import with_folders

DAYS = ["2026-10-08", "2026-10-09", "2026-10-10"]
WRITE = {".parquet": pl.DataFrame.write_parquet, ".csv": pl.DataFrame.write_csv, ".jsonl": pl.DataFrame.write_ndjson}


@pytest.fixture
def table(rng):
    p = rng.uniform(0.02, 0.98, 300).round(3)
    day = np.repeat(DAYS, 100)
    return pl.DataFrame({"dt": day, "y": (rng.uniform(size=300) < p).astype(int), "p": p})


def as_lake(table, folder, suffix=".parquet"):
    """Write two files for each day, as Spark, Hive and polars do."""
    for (day,), rows in table.group_by("dt", maintain_order=True):
        place = folder / f"dt={day}"
        place.mkdir(parents=True)
        for at in range(2):
            WRITE[suffix](rows.drop("dt")[at * 50 : at * 50 + 50], place / f"part-{at}{suffix}")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.mark.parametrize("suffix", WRITE)
def test_partitions_are_read_as_the_column_they_name(tmp_path, table, suffix):
    lake = as_lake(table, tmp_path / "lake", suffix)
    table.write_csv(tmp_path / "one.csv")
    options = {"truth": "y", "prob": "p", "by": "dt"}
    whole, parts = (tally_files_by(path, **options) for path in (tmp_path / "one.csv", lake))
    assert [*parts] == [(day,) for day in DAYS]
    for key, tally in whole.items():
        assert parts[key].n_rows == 100
        assert parts[key].scores == tally.scores
    months = tally_files_by(lake, **options | {"by": "dt:month"}, where="dt > '2026-10-08'")
    assert {key: tally.n_rows for key, tally in months.items()} == {(10,): 200}


def test_folders_patterns_and_engines_give_the_same(tmp_path, table):
    lake = as_lake(table, tmp_path / "lake")
    wanted = {"truth": "y", "prob": "p", "where": "dt != '2026-10-09'"}
    first = tally_files(lake, **wanted)
    assert first.n_rows == 200
    for paths in (f"{lake}/dt*", f"{lake}/*/*.parquet", [lake / f"dt={day}" for day in DAYS]):
        assert tally_files(paths, **wanted, n_jobs=2).scores == first.scores


def test_values_of_folders_are_decoded_and_a_column_of_the_file_comes_first(tmp_path, table):
    for name in ("city=S%C3%A3o Paulo", "city=__HIVE_DEFAULT_PARTITION__", "p=0.5"):
        (tmp_path / name).mkdir()
        table.write_csv(tmp_path / name / "f.csv")
    cities = tally_files_by(f"{tmp_path}/city*", truth="y", prob="p", by="city")
    assert {*cities} == {("São Paulo",), (None,)}
    own = tally_files(f"{tmp_path}/p=0.5", truth="y", prob="p")
    assert own.scores == tally_files(tmp_path / "p=0.5/f.csv", truth="y", prob="p").scores
    with pytest.raises(InputError, match=r"column .city. is the name of a folder; it holds no prob"):
        tally_files(f"{tmp_path}/city*", truth="y", prob="p", weight="city")


def test_folders_that_are_no_table_are_refused(tmp_path, table):
    lake = as_lake(table, tmp_path / "lake")
    (lake / ".hidden").touch()
    assert len(with_folders([str(lake)])) == 6
    table.write_csv(lake / "dt=2026-10-08" / "more.csv")
    with pytest.raises(InputError, match=r"files of 2 kinds, such as .*more\.csv.*Name those to read: '?\S+\*\.csv"):
        with_folders([str(lake)])
    (lake / "dt=2026-10-08" / "more.csv").unlink()
    table.drop("p").write_parquet(lake / "dt=2026-10-10" / "part-2.parquet")
    with pytest.raises(InputError, match=r"part-2.parquet: no column .p.; .* The first file, .*part-0.parquet, has it"):
        tally_files(lake, truth="y", prob="p")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file in this folder"):
        tally_files(tmp_path / "empty", truth="y", prob="p")


def test_links_in_a_folder_are_followed_and_each_file_is_read_once(tmp_path, table):
    store, lake = as_lake(table, tmp_path / "store"), tmp_path / "lake"
    lake.mkdir()
    for day in DAYS[:2]:
        (lake / f"dt={day}").symlink_to(store / f"dt={day}")
    (lake / f"dt={DAYS[2]}").mkdir()
    for file in (store / f"dt={DAYS[2]}").iterdir():
        (lake / f"dt={DAYS[2]}" / file.name).symlink_to(file)
    expected = tally_files_by(store, truth="y", prob="p", by="dt")
    links = [("again", lake), ("current", lake / f"dt={DAYS[1]}"), ("self", lake / "self"), (".more", tmp_path)]
    for name, target in links:
        (lake / name).symlink_to(target)
        found = tally_files_by(lake, truth="y", prob="p", by="dt")
        assert {key: each.scores for key, each in found.items()} == {key: each.scores for key, each in expected.items()}
    (store / "dt=2026-10-07").symlink_to(store / f"dt={DAYS[2]}")  # sorts first, and is the same folder by a link
    assert {*tally_files_by(store, truth="y", prob="p", by="dt")} == {*expected}


def test_commands_take_a_folder_and_overwrite_none_of_its_files(tmp_path, table, capsys):
    lake, new = str(as_lake(table, tmp_path / "lake")), str(tmp_path / "new.csv")
    read = [lake, "--truth", "y", "--prob", "p"]
    for words in (
        ["monitor", *read, "--time", "dt"],
        ["recalibrate", *read, "--method", "temperature", "-o", f"{tmp_path}/map.json"],
        ["recalibrate", f"{lake}/dt=2026-10-08/part-0.parquet", "--apply", f"{tmp_path}/map.json", "-o", new],
    ):
        assert main(words) == 0, capsys.readouterr().err
    assert pl.read_csv(new).columns == ["y", "p"]
    assert "in 3 periods, 2026-10-08 to 2026-10-10" in capsys.readouterr().out.replace("\n", " ")
    assert main(["assess", *read, "--json", f"{lake}/dt=2026-10-08/part-0.parquet"]) == 2
    assert "would overwrite the input" in capsys.readouterr().err


def test_no_output_goes_into_a_folder_that_is_read(tmp_path, table, capsys):
    lake = as_lake(table, tmp_path / "lake")
    words = ["tally", str(lake), "--truth", "y", "--prob", "p", "-o"]
    assert main([*words, str(lake / "dt=2026-10-09" / "all.tally")]) == 2
    assert "all.tally: would be read with the folder that it lies in; name a place outside it" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main([*words, str(tmp_path / "all.tally")]) == 0
