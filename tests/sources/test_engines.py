"""Every engine gives the tally of one pass over all rows, and the same errors, wherever the rows lie."""

import json
import os
import signal
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import unperplexed
from helpers import without_dependence
from unperplexed import InputError, Tallies, Tally, assess, tally_files, tally_files_by
from unperplexed.cli.parser import main
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.map_reduce import as_tally, counted

pytestmark = pytest.mark.slow

CLASSES = ["cat", "dog", "fox"]
COLUMNS = {"truth": "y", "prob": ["p0", "p1", "p2"]}
NAMED = COLUMNS | {"labels": CLASSES}


def dask():
    import dask.dataframe as dd
    from dask import config
    from distributed import Client, LocalCluster

    from unperplexed import tally_dask, tally_dask_by

    def frame(table, partitions):
        """Of a filtered frame some partitions are empty."""
        rows = pl.concat([table, table.head(40).with_columns(keep=False)]) if table.height else table
        with config.set({"dataframe.convert-string": False}):  # or lists would be text
            made = dd.from_pandas(rows.to_pandas(), npartitions=partitions, sort=False)
        return made[made["keep"]]

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")

    def numbered():
        return dd.from_pandas(pd.DataFrame([[1, 0.5]]), npartitions=1)

    with cluster, Client(cluster):
        frames = {"frame": frame, "tally": tally_dask, "tally_by": tally_dask_by, "numbered": numbered}
        yield SimpleNamespace(name="dask", deaths_borne=3, **frames)


def spark():
    from pyspark.sql import SparkSession

    from unperplexed import tally_spark, tally_spark_by

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()

    def frame(table, partitions):
        """Of a few rows in more partitions some are empty."""
        return session.createDataFrame(table.to_arrow()).repartition(partitions)

    def numbered():
        one = session.createDataFrame([(1, 0.5)], ["y", "p"])
        return one.select("y", "y", "p")

    frames = {"frame": frame, "tally": tally_spark, "tally_by": tally_spark_by, "numbered": numbered}
    yield SimpleNamespace(name="spark", deaths_borne=3, **frames)
    session.stop()


ENGINES = {"dask": ("distributed", dask), "spark": ("pyspark", spark)}


INSTALLED = [name for name, (library, _) in ENGINES.items() if find_spec(library)]
counts_frames = pytest.mark.parametrize(
    "engine", [name for name in INSTALLED if hasattr(unperplexed, f"tally_{name}")], indirect=True
)


@pytest.fixture(scope="module", params=INSTALLED)
def engine(request):
    yield from ENGINES[request.param][1]()


def table(seed, n):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n).astype(np.float32) if n else np.empty((0, 3), np.float32)
    y = (p.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=2)
    return pl.DataFrame(
        {
            "y": pl.Series(np.array(CLASSES)[y], dtype=pl.String),
            **{f"p{k}": p[:, k] for k in range(3)},
            "p": p,
            "q": p[:, 0].astype(np.float64),
            "rain": y == 0,
            "w": rng.uniform(size=n),
            "match": rng.integers(0, 30, n),
            "town": pl.Series(np.array(["Rome", "Oslo", "Bern"])[rng.integers(0, 3, n)], dtype=pl.String),
            "id": rng.integers(0, 1 << 40, n),
            "keep": np.ones(n, dtype=bool),
        }
    )


def of_groups(tallies):
    return {key: tally.to_bytes() for key, tally in tallies.items()}


SIZES = [0 if k % 8 == 5 else 1 + 7 * k % 97 * (1 + 9 * (k % 16 == 3)) for k in range(64)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """64 files of uneven sizes, eight of them empty, in three formats."""
    path = tmp_path_factory.mktemp("files")
    for k, n in enumerate(SIZES):
        rows = table(k, n)
        if k % 8 == 7:
            rows.drop("p").write_csv(path / f"{k:02}.csv")
        elif k % 8 == 6:
            rows.write_ipc(path / f"{k:02}.arrow", compat_level=pl.CompatLevel.oldest())
        else:
            rows.write_parquet(path / f"{k:02}.parquet")
    return path


def test_files_give_the_tally_of_local(engine, folder):
    settings = NAMED | {"parts": ["classes", "predictions", "shards"], "metrics": ["power_score(2)"]}
    local = tally_files(folder / "*", **settings)
    assert local.n_rows == sum(SIZES)
    assert tally_files(folder / "*", **settings, engine=engine.name).to_bytes() == local.to_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"truth": "y", "prob": ["cat=p0", "dog=p1", "fox=p2"], "exact_limit": 50},
        {"truth": "rain", "prob": "q", "parts": ["shards"], "clusters": ["match", "town"]},
        {"pairs": [("q", "rain"), ("p0", "rain")]},
    ],
)
def test_settings_of_files(engine, folder, settings):
    paths = sorted(folder.glob("0[0-5]*.parquet"))
    local = tally_files(paths, **settings)
    assert tally_files(paths, **settings, engine=engine.name).to_bytes() == local.to_bytes()


def test_a_file_by_itself(engine, folder, monkeypatch):
    """An empty file, and one whose outcomes are settled by itself, named as only this process finds them."""
    monkeypatch.chdir(folder)
    for name in ("05.parquet", "07.csv"):
        local = tally_files(name, **NAMED)
        assert tally_files(name, **NAMED, engine=engine.name).to_bytes() == local.to_bytes()


@pytest.fixture
def mortal(engine):
    """An engine whose workers may die: of Dask in a cluster of its own, which need not bring all of them back."""
    if engine.name == "dask":
        yield from dask()
    else:
        yield engine


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_worker_that_is_killed(mortal, folder, monkeypatch, tmp_path, beyond):
    """Spark tries a task four times, Dask after three killed workers once more."""
    from unperplexed.sources import map_reduce

    count, deaths, times = map_reduce._counted, tmp_path, mortal.deaths_borne + beyond

    def dies(rows, counting, settled, part):
        if part.name.endswith("12.parquet") and len(list(deaths.iterdir())) < times:
            (deaths / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return count(rows, counting, settled, part)

    local = tally_files(folder / "*", **NAMED)
    monkeypatch.setattr(map_reduce, "_counted", dies)
    if not beyond:
        assert tally_files(folder / "*", **NAMED, engine=mortal.name).to_bytes() == local.to_bytes()
    else:
        with pytest.raises(InputError, match="gave up, perhaps for want of memory"):
            tally_files(folder / "*", **NAMED, engine=mortal.name)
    assert len(list(deaths.iterdir())) == times


def test_weights_add_up_in_the_same_tree(engine, folder, monkeypatch):
    """To rounding as in one pass, and in every engine and every run the same."""
    monkeypatch.setattr(f"unperplexed.sources.engines.{engine.name}.FAN_IN", 2)
    paths = [str(path) for path in sorted(folder.glob("[01]*.parquet"))[:5]]
    files = ForecastFiles(paths, Selection(["y"], COLUMNS["prob"], weight="w"), FileReading(CLASSES))

    def here(work, _):
        opened = zip(files.files, files.openers(), strict=True)
        found = [work.done(file.name, file.name, opener) for file, opener in opened]
        while len(found) > 1:
            found = [work.merged(found[start : start + 2]) for start in range(0, len(found), 2)]
        return found

    found = tally_files(paths, **NAMED, weight="w", engine=engine.name)
    assert found.to_bytes() == counted(files.rows, as_tally(), here).to_bytes()
    local = assess(tally_files(paths, **NAMED, weight="w"), resamples=0).metrics()
    assert assess(found, resamples=0).metrics() == pytest.approx(local, rel=1e-12)


def test_groups_of_files(engine, folder, capsys):
    paths = sorted(folder.glob("2*.parquet"))[:3]
    local = tally_files_by(paths, **NAMED, by=["town", "rain"])
    found = tally_files_by(paths, **NAMED, by=["town", "rain"], engine=engine.name)
    assert len(local) == 6
    assert {key: tally.to_bytes() for key, tally in found.items()} == {
        k: tally.to_bytes() for k, tally in local.items()
    }
    with pytest.raises(InputError, match="by: more than 100 groups in id"):
        tally_files_by(paths, **NAMED, by="id", most_groups=100, engine=engine.name)
    printed = []
    for chosen in ("local", engine.name):
        words = ["assess", *map(str, paths), "--truth", "y", "--prob", "p0", "p1", "p2", "--labels", *CLASSES]
        assert main([*words, "--by", "town", "--resamples", "0", "--json", "-", "--engine", chosen]) == 0
        printed.append(without_dependence(capsys.readouterr().out))
    told = {
        "diagnosis",
        "verdict",
        "headline",
        "p_value",
        "adjusted_p_value",
        "remedy",
        "metrics",
        "cost",
        "cost_share",
    }
    for each in printed:  # engines diagnose groups by their counts, which tell less than rows
        each["groups"] = [{name: x for name, x in group.items() if name not in told} for group in each["groups"]]
        each["whole"] = {name: x for name, x in each["whole"].items() if name not in told}
    assert printed[0] == printed[1]


def test_sections(engine, folder, capsys):
    printed = []
    for chosen in ("local", engine.name):
        words = ["assess", str(folder / "3[12]*.parquet"), "--truth", "rain", "--prob", "q", "--engine", chosen]
        words += ["--clusters", "none"]  # which engines do not look for
        assert main([*words, "--resamples", "0", "--show", "profile", "scores", "calibration"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """Ensembles in wide tables of two formats, with weights; and the same as lines."""
    path = tmp_path_factory.mktemp("distributions")
    for k, n in enumerate([40, 1, 300]):
        rng = np.random.default_rng(k)
        members = {f"m{at}": rng.normal(size=n).round(2) for at in range(7)}
        rows = pl.DataFrame(
            {"case": np.arange(n), "y": rng.normal(0, 2, n).round(2), "w": rng.uniform(size=n), **members}
        )
        rows.write_csv(path / f"{k}.csv") if k else rows.write_parquet(path / "0.parquet")
        rows.unpivot([*members], index=["case", "y", "w"], variable_name="m").write_csv(
            path / f"{k}.tsv", separator="\t"
        )
    return path


@pytest.mark.parametrize("words", [["?.[cp]*", "--samples", "m?"], ["?.tsv", "--samples", "m=value"]])
def test_distributions_give_the_tally_of_local(engine, distributions, words, tmp_path, monkeypatch, capsys):
    """In any engine, and by lines as by columns; an assessment by an engine is that of this tally."""
    monkeypatch.chdir(distributions)
    words = [*words, "--truth", "y", "--weight", "w"]
    for name in ("local", engine.name):
        assert main(["tally", *words, "--engine", name, "-o", f"{tmp_path}/{name}.tally", "-q"]) == 0
    assert (tmp_path / f"{engine.name}.tally").read_bytes() == (tmp_path / "local.tally").read_bytes()
    if "tsv" in words[0]:
        return
    printed = []
    for asked in ([*words, "--engine", engine.name], [f"{tmp_path}/local.tally"]):
        capsys.readouterr()
        assert main(["assess", *asked, "--json", "-"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0] == printed[1]
    pl.DataFrame({"y": [0.0], "w": [1.0], **{f"m{k}": ["a"] for k in range(7)}}).write_csv("3.csv")
    said = []
    for name in ("local", engine.name):
        assert main(["tally", *words, "--engine", name, "-o", f"{tmp_path}/bad.tally"]) == 2
        said.append(capsys.readouterr().err)
    (distributions / "3.csv").unlink()
    assert said[0] == said[1]
    assert "3.csv: column 'm0' is not a number at row 0" in said[0]
    assert main(["tally", "--hub", ".", "--truth", "y", "--engine", engine.name, "-o", f"{tmp_path}/bad.tally"]) == 2
    assert "files of a hub are read together" in capsys.readouterr().err


def bad_probability(frame):
    return frame.with_columns(q=pl.when(pl.col("id") == pl.col("id").last()).then(1.5).otherwise("q"))


BAD = {
    "probability": (bad_probability, {"truth": "rain", "prob": "q"}, "q: above 1 in 1 row"),
    "no label": (lambda frame: frame.with_columns(y=None), COLUMNS, "does not say which of them is whose"),
    "labels": (lambda frame: frame, {"truth": "town", "prob": COLUMNS["prob"], "labels": CLASSES}, "are no class"),
    "text": (
        lambda frame: frame.with_columns(q=pl.lit("50%")),
        {"truth": "rain", "prob": "q"},
        "not a number in ",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_those_of_local(engine, tmp_path, case):
    """Of the first file in order that has any, not of the first that is done."""
    spoil, settings, message = BAD[case]
    for k in range(4):
        rows = table(k, 3000 if k == 1 else 20)
        (spoil(rows) if k in (1, 3) else rows).write_parquet(tmp_path / f"{k}.parquet")
    said = []
    for chosen in ("local", engine.name):
        with pytest.raises(InputError, match=message) as caught:
            tally_files(tmp_path / "*", **settings, engine=chosen)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_lists_of_another_length(engine, tmp_path):
    for k in range(4):
        pl.DataFrame({"y": [0, 1], "p": [[0.5, 0.5, 0.0, 0.0][: 4 if k > 1 else 3]] * 2}).write_parquet(
            tmp_path / f"{k}.parquet"
        )
    for chosen, message in (("local", "p: 4 in a row, 3 in the file before"), (engine.name, "3 classes and 4")):
        with pytest.raises(InputError, match=f"2.parquet: .*{message}"):
            tally_files(tmp_path / "*", truth="y", prob="p", engine=chosen)


def test_a_file_that_workers_do_not_have(engine, tmp_path, monkeypatch):
    for k in range(2):
        table(k, 5).write_parquet(tmp_path / f"{k}.parquet")
    openers = ForecastFiles.openers

    def gone(files):
        (tmp_path / "1.parquet").unlink()
        return openers(files)

    monkeypatch.setattr(ForecastFiles, "openers", gone)
    with pytest.raises(InputError, match=r"1.parquet: no such file on .* Workers open files by name"):
        tally_files(tmp_path / "*", **NAMED, engine=engine.name)


@counts_frames
@pytest.mark.parametrize("partitions", [1, 5])
def test_a_frame_gives_the_tally_of_its_rows(engine, partitions):
    rows = table(7, 300)
    settings = {"parts": ["classes", "shards"], "metrics": ["power_score(2)"]}
    expected = Tally.of(rows["y"], rows.select(COLUMNS["prob"]), labels=CLASSES, clusters=rows["id"], **settings)
    found = engine.tally(engine.frame(rows, partitions), **NAMED, clusters="id", **settings)
    assert found.to_bytes() == expected.to_bytes()


@counts_frames
def test_settings_of_frames(engine):
    rows = table(8, 200)
    frame = engine.frame(rows, 3)
    expected = Tally.of(rows["rain"], rows["q"])
    for labels in (None, [False, True]):
        assert engine.tally(frame, truth="rain", prob="q", labels=labels).to_bytes() == expected.to_bytes()
    expected = Tallies.of(rows["rain"], rows["q"], by=rows.select("town"))
    found = engine.tally_by(frame, truth="rain", prob="q", labels=[False, True], by="town")
    assert of_groups(found) == of_groups(expected)
    expected = assess(Tally.of(rows["rain"], rows["q"], sample_weight=rows["w"]), resamples=0).metrics()
    found = engine.tally(frame, truth="rain", prob="q", weight="w", labels=[False, True])
    assert assess(found, resamples=0).metrics() == pytest.approx(expected, rel=1e-12)


@counts_frames
def test_outcomes_are_settled_by_all_partitions(engine):
    """Text that is all numbers but for one row is text; which label is the other one all rows tell."""
    rows = pl.DataFrame({"y": ["1", "0", "1"] * 30 + ["x"], "p": [0.6] * 91, "keep": [True] * 91})
    found = engine.tally(engine.frame(rows, 5), truth="y", prob="p", pos_label="x", ignore_label="0")
    assert (found.labels, found.n_rows, found.notes.ignored) == (("1", "x"), 61, 30)


@counts_frames
def test_lists_in_a_frame(engine):
    rows = table(8, 60)
    expected = Tally.of(rows["y"], rows.select(COLUMNS["prob"]), labels=CLASSES)
    found = engine.tally(engine.frame(rows, 4), truth="y", prob="p", labels=CLASSES)
    assert found.to_bytes() == expected.to_bytes()


@counts_frames
def test_an_empty_frame(engine):
    tally = engine.tally(engine.frame(table(0, 0), 3), **NAMED, exact_limit=10)
    assert (tally.n_rows, tally.exact_limit) == (0, 10)
    with pytest.raises(InputError, match="no rows"):
        assess(tally)


@counts_frames
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truth": "rain", "prob": "w10"}, r"^partition \d: w10: above 1 in \d+ rows? \(\d"),
        ({"truth": "town", "prob": ["p0", "p1", "p2"], "labels": CLASSES}, r"^partition 0: town: outcomes that are no"),
        ({"truth": "rain", "prob": "pp"}, "^no column 'pp'; did you mean 'p'"),
        ({"truth": "rain"}, "name the columns of both"),
        ({"truth": "rain", "prob": "q", "parts": ["shards"]}, "Name columns that make their ids differ"),
        ({"truth": "rain", "prob": "q", "parts": ["rows"]}, "expected a list of some of"),
        ({"truth": "rain", "prob": "q", "exact_limit": -1}, "exact_limit must be"),
    ],
)
def test_what_cannot_be_counted_in_a_frame(engine, settings, message):
    frame = engine.frame(table(9, 200).with_columns(w10=10 * pl.col("w")), 3)
    with pytest.raises(InputError, match=message):
        engine.tally(frame, **settings)


@counts_frames
def test_settings_that_frames_do_not_have(engine):
    with pytest.raises(TypeError, match="separator"):
        engine.tally(engine.frame(table(9, 4), 1), truth="rain", prob="q", separator=";")


@counts_frames
def test_frames_of_another_kind(engine):
    """Are refused, and so are names that are none."""
    rows = table(0, 5).to_pandas()
    for frame in (rows, [1, 2], None):
        with pytest.raises(InputError, match=f"expected a {engine.name.title()} DataFrame"):
            engine.tally(frame, **NAMED)
    with pytest.raises(InputError, match="need names of their own"):
        engine.tally(engine.numbered(), truth="0", prob="1")
