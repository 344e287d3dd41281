"""Wide tables, of which a row has several forecasts with an outcome each, and long ones that name the forecaster."""

import json
import re

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, tally_files, tally_files_by
from unperplexed.cli.parser import main
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles

ROUNDS = ["r1", "r2", "r3"]


@pytest.fixture
def wide(tmp_path, rng):
    """Write three rounds of a tournament, of which a third is decided; some players are not in the last."""
    n = 200
    frame = pl.DataFrame({"player": np.arange(n), "season": rng.integers(2015, 2018, n)})
    for name in ROUNDS:
        p = rng.uniform(0.05, 0.95, n).round(3)
        won = (rng.uniform(size=n) < p).astype(int)
        p = np.where(rng.uniform(size=n) < 1 / 3, won, p)
        frame = frame.with_columns(pl.Series(name, p), pl.Series(f"{name}_outcome", won))
    absent = pl.col("player") < 20
    frame = frame.with_columns(pl.when(absent).then(None).otherwise(pl.col("r3")).alias("r3"))
    path = tmp_path / "wide.csv"
    frame.write_csv(path)
    return path, frame


def melted(frame):
    parts = [
        frame.select("player", "season", pl.lit(name).alias("pair"), p=name, y=f"{name}_outcome") for name in ROUNDS
    ]
    return pl.concat(parts)


UNDECIDED = "prob > 0 and prob < 1"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("where", [UNDECIDED, "prob < 0.9 and outcome = 1 or pair = 'r2'"])
def test_pairs_by_pattern_are_the_long_table(tmp_path, wide, suffix, where):
    path, frame = wide
    if suffix == ".parquet":
        path = tmp_path / "wide.parquet"
        frame.write_parquet(path)
    melted(frame).write_csv(tmp_path / "long.csv")
    long_where = where.replace("prob", "p").replace("outcome", "y")
    by_pair = tally_files_by(path, pairs=[("*", "*_outcome")], by=["pair", "season"], where=where)
    long = tally_files_by(tmp_path / "long.csv", truth="y", prob="p", by=["pair", "season"], where=long_where)
    assert {*by_pair} == {*long}
    for key, tally in long.items():
        assert by_pair[key].n_rows == tally.n_rows
        assert by_pair[key].scores == tally.scores


def test_dependence_of_pairs_is_that_of_the_long_table(tmp_path, wide, capsys):
    path, frame = wide
    melted(frame).drop("pair").write_csv(tmp_path / "long.csv")
    found = []
    pairs = [[str(path), "--pair", "*=*_outcome", "--where", UNDECIDED]]
    long = [[str(tmp_path / "long.csv"), "--truth", "y", "--prob", "p", "--where", "p > 0 and p < 1"]]
    for words in pairs + long:
        assert main(["check", *words, "--clusters", "player", "--require", "log_loss < 1", "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["slope"] == pytest.approx(found[1]["slope"], rel=1e-12)
    assert found[0]["slope.lower"] == pytest.approx(found[1]["slope.lower"], rel=1e-9)


def test_forecasts_of_a_row_are_a_cluster_unless_others_are_named(wide, capsys):
    path, _ = wide
    words = ["assess", str(path), "--pair", "*=*_outcome", "--where", UNDECIDED, "--json", "-"]
    found = []
    for more in ([], ["--clusters", "player"], ["--clusters", "none"]):
        assert main([*words, *more]) == 0
        printed = capsys.readouterr()
        found.append(json.loads(printed.out))
        assert ("the forecasts of a row are a cluster" in printed.err) == (not more)
    rows, players, alone = found
    assert rows["dependence"]["reason"] == "the forecasts of a row are a cluster"
    assert rows["diagnosis"]["n_clusters"] == players["diagnosis"]["n_clusters"] > 100
    assert rows["slope"][2] == pytest.approx(players["slope"][2])
    assert alone["diagnosis"]["n_clusters"] is None
    assert main(words[:-2]) == 0
    assert "clusters (the forecasts of a row are a cluster), effective" in " ".join(capsys.readouterr().out.split())


def test_skill_chooses_rows_of_each_pair(tmp_path, wide, capsys):
    path, frame = wide
    words = ["--pair", "*=*_outcome", "--by", "pair", "--where", UNDECIDED, "--json", "-", "-q"]
    assert main(["skill", str(path), *words]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    undecided = melted(frame).filter((pl.col("p") > 0) & (pl.col("p") < 1))
    for group in groups:
        rows = undecided.filter(pl.col("pair") == group["key"][0])
        y, p = rows["y"].to_numpy(), rows["p"].to_numpy()
        loss, base = (-np.log(np.where(y == 1, each, 1 - each)).mean() for each in (p, undecided["y"].mean()))
        assert group["n_rows"] == rows.height
        assert group["scores"]["wide"]["log_loss"]["skill"] == pytest.approx(1 - loss / base, rel=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pair", "*=*_out"], r"--pair \*=\*_out: matches no two columns; columns: 'player'"),
        (["--pair", "*=*_outcome", "r1=r1_outcome"], "a pair is named twice"),
        (["--pair", "*=*_outcome", "--by", "r1_outcome"], "'r1_outcome' holds the outcomes"),
        (["--pair", "*=*_outcome", "--by", "prob"], "no column 'prob'"),
        (["--pair", "*=*_outcome"], r"r3: NaN in 20 rows \(0, 1, 2"),
        (["--pair", "r1=r1_outcome", "--where", "text > 0"], "no column 'text'"),
    ],
)
def test_pairs_that_are_not_clear_are_refused(wide, capsys, words, message):
    assert main(["assess", str(wide[0]), *words]) == 2
    assert re.search(message, capsys.readouterr().err.replace("\n", " "))


def test_a_column_that_is_named_like_one_of_each_pair_is_refused(tmp_path, wide):
    path = tmp_path / "pair.csv"
    wide[1].with_columns(pair=1).write_csv(path)
    with pytest.raises(InputError, match="'pair': with --pair this names what each pair has. Rename"):
        tally_files_by(path, pairs=[("r1", "r1_outcome")], by="pair")
    path.write_text("a,a_outcome\n0.5,1\nhalf,0\n0.2,1\n")
    with pytest.raises(InputError, match="column 'a' is not a number at row 1"):
        tally_files(path, pairs=[("a", "a_outcome")], where="prob > 0")


@pytest.fixture
def long(tmp_path, rng):
    """Write forecasts of two models, one of which has ids that occur twice in rows that are not to be read."""
    p = rng.uniform(0.05, 0.95, 150).round(3)
    y = (rng.uniform(size=150) < p).astype(int)
    one = pl.DataFrame({"id": np.arange(150), "model": "A", "p": p, "y": y, "final": 1})
    both = pl.concat([one, one.with_columns(model=pl.lit("B"), p=(0.5 * pl.col("p") + 0.25).round(3))])
    path = tmp_path / "long.csv"
    pl.concat([both, both[:9].with_columns(final=pl.lit(0, pl.Int32))], how="vertical_relaxed").write_csv(path)
    return path


READ = ("--truth", "y", "--prob", "p", "--forecaster", "model")


@pytest.mark.parametrize("command", ["assess", "compare", "skill"])
def test_a_column_names_the_forecaster(long, capsys, command):
    paired = [] if command == "assess" else ["--on", "id"]
    words = [command, str(long), *READ, *paired, "-q"]
    assert main([*words, "--where", "final = 1", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["whole"]["n_rows"] == 300) if command == "assess" else (found["n_rows"] == 150)
    if command != "assess":
        assert main(words) == 2
        assert "A: more than one row has the id '0', '1'" in capsys.readouterr().err
    long.write_text(long.read_text().replace("\n3,A,", "\n3, ,", 1))
    assert main([*words, "--where", "final = 1"]) == 2
    assert "column 'model' is empty in 1 row (3; counted from 0)" in capsys.readouterr().err


def test_ids_of_rows_that_are_not_wanted_need_no_counterpart(tmp_path, long, capsys):
    rows = pl.read_csv(long).filter(pl.col("final") == 1)
    for name in "AB":
        rows.filter((pl.col("model") == name) & ((name == "A") | (pl.col("id") > 4))).write_csv(
            tmp_path / f"{name}.csv"
        )
    files = [str(tmp_path / f"{name}.csv") for name in "AB"]
    words = ["compare", *files, "--truth", "y", "--prob", "p", "--on", "id", "-q", "--json", "-"]
    assert main([*words, "--where", "id > 4"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 145
    assert main(words) == 2
    assert "B: has no row for 5 of the 150 ids of A" in capsys.readouterr().err


def test_assess_takes_no_columns_of_several_forecasters(long, capsys):
    assert main(["assess", str(long), "--truth", "y", "--forecaster", "A=p", "B=final"]) == 2
    assert "assess takes the column that names the forecaster of each row" in capsys.readouterr().err


def test_maps_of_pairs_that_nothing_could_apply_are_refused(tmp_path, wide, capsys):
    wide[1].write_csv(tmp_path / "w.csv")
    words = [str(tmp_path / "w.csv"), "--pair", "r1=r1_outcome", "r2=r2_outcome", "--by", "pair"]
    assert main(["recalibrate", *words, "-o", str(tmp_path / "map.json")]) == 2
    assert "--by pair: no file has this column. Fit one map each: --truth r1_outcome --prob r1." in " ".join(
        capsys.readouterr().err.split()
    )
    assert main(["assess", *words, "--resamples", "0"]) == 0
    assert "recalibrate --by" not in capsys.readouterr().out


def test_rows_of_two_files_keep_their_numbers_where_a_condition_leaves_some_out(tmp_path, long, capsys):
    rows = pl.read_csv(long)
    for name, part in (("a", rows[:100]), ("b", rows[100:])):
        part.write_csv(tmp_path / f"{name}.csv")
    found = []
    for files in ([long], [tmp_path / "a.csv", tmp_path / "b.csv"]):
        words = ["compare", *map(str, files), *READ, "--on", "id", "--where", "id < 90 AND final = 1"]
        assert main([*words, "-q", "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out)["pairs"])
    assert found[0] == found[1]


def test_blocks_of_rows_are_counted_from_the_first_row_of_the_file(tmp_path):
    """All pairs of a row are in one block: of five rows four are in the first."""
    path = tmp_path / "f.csv"
    path.write_text("p,q,y,z\n" + "0.5,0.4,1,0\n" * 5)
    files = ForecastFiles([str(path)], Selection(pairs=["p=y", "q=z"], block=4), FileReading())
    found = np.concatenate([forecasts._clusters for batch in files for forecasts in batch.forecasts])
    assert found.size == 10
    assert sorted(np.unique(found, return_counts=True)[1].tolist()) == [2, 8]
