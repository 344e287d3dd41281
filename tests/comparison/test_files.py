"""unperplexed compare: rows of files paired by id, in order and within one file, and what is refused."""

import json
import re

import numpy as np
import polars as pl
import pytest

from helpers import softmax_forecasts, without_dependence
from unperplexed import InputError, assess, compare, compare_sequentially
from unperplexed.cli.parser import main
from unperplexed.comparison.files import named_files
from unperplexed.sources.row_filter import key_column

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

N = 240


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20240229)
    y, p = softmax_forecasts(rng, N, 3)
    other = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    ids = rng.permutation(N) + 10
    return {"y": y, "ours": p, "theirs": other, "id": ids, "place": ids % 40, "heft": rng.integers(1, 4, N)}


def frame(data, name):
    columns = {f"p{j}": data[name][:, j] for j in range(3)}
    return pl.DataFrame({"id": data["id"], "place": data["place"], "y": data["y"], "heft": data["heft"], **columns})


@pytest.fixture
def files(data, tmp_path):
    paths = []
    for name in ("ours", "theirs"):
        paths.append(tmp_path / f"{name}.csv")
        frame(data, name).write_csv(paths[-1])
    return paths


COLUMNS = ("--truth", "y", "--prob", "p0", "p1", "p2")


def expected(data, **settings):
    return compare(data["y"], {name: data[name] for name in ("ours", "theirs")}, **settings)


def found(capsys, *arguments):
    assert run("compare", *arguments, "--json", "-") == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def plain(comparison):
    return json.loads(comparison.to_json())


@pytest.fixture(scope="module")
def of_arrays(data):
    """JSON of the arrays' comparison with some settings, which is made once for all tests."""
    made = {}

    def of(**settings):
        key = json.dumps(settings, default=np.ndarray.tolist)
        made[key] = made.get(key) or expected(data, **settings).to_json()
        return json.loads(made[key])

    return of


def near(found, other):
    """Whether they are the same but for the last digits of numbers."""
    if isinstance(found, dict):
        return found.keys() == other.keys() and all(near(found[name], other[name]) for name in found)
    if isinstance(found, list):
        return len(found) == len(other) and all(map(near, found, other))
    return found == (pytest.approx(other, rel=1e-6, abs=1e-12) if isinstance(other, float) else other)


def assert_same(found, other):
    """Everything is the same; in the diagnoses, whose sums go by batches, but for last digits.

    Files have further columns, where arrays have none.
    """
    found, other = without_dependence(found), without_dependence(other)
    assessments = [[each["assessment"] for each in c["forecasters"].values()] for c in (found, other)]
    one, two = ([each.pop("diagnosis") for each in of] for of in assessments)
    assert near(*([each.pop("cost") for each in of] for of in assessments))  # that of the diagnosis
    assert found == other
    assert all(each["made"] for each in one)
    assert [each["verdict"] for each in one] == [each["verdict"] for each in two]
    assert near(one, two)


# The three ways rows belong together give what Python gives


@pytest.mark.parametrize(
    ("options", "settings", "small_batches"),
    [
        ([], {}, False),
        (["--floor", "0.02", "--metric", "ranked_probability_score", "power_score(2)"], {"floor": 0.02}, True),
        (["--lag", "4"], {"lag": 4}, True),
        (["--clusters", "place"], {"clusters": "place"}, True),
        (["--confidence", "0.8"], {"confidence": 0.8}, True),
    ],
)
@pytest.mark.slow
def test_files_in_order_are_arrays_in_order(
    data, of_arrays, files, capsys, monkeypatch, options, settings, small_batches
):
    if small_batches:
        monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    if "--metric" in options:
        settings = {**settings, "metrics": ["ranked_probability_score", "power_score(2)"]}
    if "clusters" in settings:
        settings = {"clusters": data["place"]}
    assert_same(found(capsys, *files, *COLUMNS, "--in-order", *options), of_arrays(**settings))


@pytest.mark.slow
def test_groups_by_several_columns(data, of_arrays, files, capsys):
    """Rows with the same values in all of them are one group: as by one column that holds both."""
    both = [f"{place} {heft}" for place, heft in zip(data["place"], data["heft"], strict=True)]
    for options in (["--in-order"], ["--on", "id"]):
        result = found(capsys, *files, *COLUMNS, *options, "--clusters", "place,heft")
        assert result["n_clusters"] == len(set(both)) > 40
        differences = of_arrays(clusters=both)["pairs"][0]["differences"]
        for name, difference in result["pairs"][0]["differences"].items():
            for figure in ("difference", "standard_error", "p_value"):
                assert difference[figure] == pytest.approx(differences[name][figure], rel=1e-9)


@pytest.mark.slow
def test_weights_are_those_of_the_rows(data, of_arrays, files, capsys):
    weighted = found(capsys, *files, *COLUMNS, "--in-order", "--weight", "heft")
    assert_same(
        weighted,
        of_arrays(sample_weight=data["heft"], columns={name: data[name] for name in ("id", "place")}),
    )


FORMATS = {
    ".csv": lambda f, path: f.write_csv(path),
    ".parquet": lambda f, path: f.write_parquet(path, row_group_size=50),
    ".arrow": lambda f, path: f.write_ipc(path),
    ".jsonl": lambda f, path: f.write_ndjson(path),
    ".npz": lambda f, path: np.savez(path, **{name: np.array(f[name].to_list()) for name in f.columns}),
}
SPELLINGS = {
    "numbers": lambda ids: ids,
    "floats": lambda ids: ids.cast(pl.Float64),
    "unsigned": lambda ids: ids.cast(pl.UInt64),
    "texts": lambda ids: ids.cast(pl.String),
    "categories": lambda ids: ids.cast(pl.String).cast(pl.Categorical),
}


@pytest.mark.parametrize(
    ("suffix", "spelling"),
    [
        (".csv", "texts"),
        (".parquet", "texts"),
        *(pytest.param(x, "numbers", marks=pytest.mark.slow) for x in (".arrow", ".jsonl", ".npz")),
    ],
)
def test_files_are_paired_by_id_whatever_their_order_and_format(
    data, of_arrays, tmp_path, rng, capsys, monkeypatch, suffix, spelling
):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 300)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    frame(data, "ours").write_csv(tmp_path / "ours.csv")
    other = frame(data, "theirs")[rng.permutation(N).tolist()]
    other = other.with_columns(SPELLINGS[spelling](other["id"]))
    FORMATS[suffix](other, tmp_path / f"theirs{suffix}")
    result = found(capsys, tmp_path / "ours.csv", tmp_path / f"theirs{suffix}", *COLUMNS, "--on", "id", "--lag", "2")
    wanted = of_arrays(lag=2, ids=data["id"].astype(str))
    assert result["pairs"] == wanted["pairs"]
    assessment = result["forecasters"]["theirs"]["assessment"]  # its rows came in another order
    assert assessment["averages_slope"] == pytest.approx(
        wanted["forecasters"]["theirs"]["assessment"]["averages_slope"], rel=1e-9
    )
    assert result["forecasters"]["ours"] == wanted["forecasters"]["ours"]


def test_whole_numbers_among_others_are_spelled_as_whole():
    found = key_column(pl.Series([1.0, 2.5, None, float("nan"), 1e300]), "id").to_list()
    assert found[:4] == ["1", "2.5", None, None]
    assert float(found[4]) == 1e300
    for numbers in (np.array([1, 2], ">i4"), np.array([1, 2], np.float16), np.array([[1], [2]]), pl.Series([1.0, 2.0])):
        assert key_column(numbers, "id").to_list() == [1, 2]
    texts = ["3.0", "-3.0", "0.0", "3.10", "v3.0", "03.0", "3.00", "3"]
    assert key_column(pl.Series(texts), "id").to_list() == ["3", "-3", "0", *texts[3:]]
    assert key_column(np.array([b"a", b"\xff"]), "id").to_list() == ["a", "\\xff"]
    assert key_column(np.array(["2020-01-02"], "M8[D]"), "id").to_list() == ["2020-01-02"]
    assert key_column(np.array([2**63], np.uint64), "id").to_list() == [str(2**63)]
    with pytest.raises(InputError, match="expected one value a row"):
        key_column(np.zeros((2, 2)), "id")
    with pytest.raises(InputError, match="not numbers or texts"):
        key_column(pl.Series([[1], [2]]), "id")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.slow
def test_ids_of_every_type_pair(data, of_arrays, tmp_path, capsys, spelling):
    ours, theirs = frame(data, "ours"), frame(data, "theirs")
    ours.write_parquet(tmp_path / "ours.parquet")
    theirs.with_columns(SPELLINGS[spelling](theirs["id"])).reverse().write_parquet(tmp_path / "theirs.parquet")
    paths = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    assert (
        found(capsys, *paths, *COLUMNS, "--on", "id")["pairs"][0]["differences"]
        == of_arrays()["pairs"][0]["differences"]
    )


@pytest.mark.slow
def test_several_columns_make_an_id(data, of_arrays, tmp_path, capsys):
    keys = pl.DataFrame({"team": [f"team {at % 7}" for at in range(N)], "day": [at // 7 for at in range(N)]})
    for name in ("ours", "theirs"):
        whole = frame(data, name).with_columns(keys)
        (whole if name == "ours" else whole.reverse()).write_csv(tmp_path / f"{name}.csv")
    result = found(capsys, tmp_path / "ours.csv", tmp_path / "theirs.csv", *COLUMNS, "--on", "team", "day")
    assert result["pairs"][0]["differences"] == of_arrays()["pairs"][0]["differences"]
    row = result["pairs"][0]["contributions"]["row"][0]
    assert result["pairs"][0]["contributions"]["id"][0] == f"team {row % 7}, {row // 7}"


@pytest.mark.slow
def test_columns_of_one_file(data, of_arrays, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    theirs = frame(data, "theirs").select(pl.col(f"p{j}").alias(f"q{j}") for j in range(3))
    one_hot = pl.DataFrame({name: (data["y"] == at).astype(int) for at, name in enumerate(("won", "drawn", "lost"))})
    pl.concat([frame(data, "ours"), theirs, one_hot], how="horizontal").write_csv(tmp_path / "both.csv")
    forecasts = ("--forecaster", "ours=p0,p1,p2", "theirs=q0,q1,q2")
    assert_same(found(capsys, tmp_path / "both.csv", "--truth", "y", *forecasts), of_arrays())
    hot = found(capsys, tmp_path / "both.csv", "--truth", "won", "drawn", "lost", *forecasts)
    assert hot["labels"] == ["won", "drawn", "lost"]
    assert hot["pairs"][0]["differences"] == of_arrays()["pairs"][0]["differences"]
    assert run("compare", tmp_path / "both.csv", "--truth", "y", *forecasts, "nobody=q0,q1,qx") == 2
    assert "both.csv: no column 'qx'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("small_batches", "mixed"), [(False, False), (True, True)])
def test_forecasters_in_the_rows_of_one_file(data, tmp_path, rng, capsys, monkeypatch, small_batches, mixed):
    if small_batches:
        monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    ours, theirs = (frame(data, name).with_columns(pl.lit(name).alias("by")) for name in ("ours", "theirs"))
    order = [*range(2 * N)]
    if mixed:
        order[1:] = (rng.permutation(2 * N - 1) + 1).tolist()
    table = pl.concat([ours, theirs])[order]
    table.write_csv(tmp_path / "long.csv")
    long = found(capsys, tmp_path / "long.csv", *COLUMNS, "--forecaster", "by", "--on", "id", "--clusters", "place")
    first = [row for row in order if row < N]
    reference = plain(
        compare(
            data["y"][first],
            {name: data[name][first] for name in ("ours", "theirs")},
            clusters=data["place"][first],
            ids=data["id"][first].astype(str),
        )
    )
    for pair, other in zip(long["pairs"], reference["pairs"], strict=True):
        assert pair["contributions"]["id"] == other["contributions"]["id"]
        assert pair["differences"].keys() == other["differences"].keys()
        for rule, difference in pair["differences"].items():
            assert difference["interval"] == pytest.approx(other["differences"][rule]["interval"], rel=1e-9)
    for name in ("ours", "theirs"):
        rows = [row % N for row in order if row // N == (name == "theirs")]
        alone = assess(data["y"][rows], data[name][rows], clusters=data["place"][rows], resamples=0)
        alone = json.loads(alone.to_json())
        for dependent in ("uncertainty", "measured_profile", "divergence_profile", "verdict", "diagnosis", "remedy"):
            del alone[dependent]  # rows of a place may depend on one another
        assert alone.pop("schema") == long["schema"]
        assessment = long["forecasters"][name]["assessment"]
        assert near(assessment.pop("remedy"), reference["forecasters"][name]["assessment"]["remedy"])
        verdict, diagnosis = assessment.pop("verdict"), assessment.pop("diagnosis")
        assert near(assessment.pop("cost"), alone.pop("cost"))
        assert assessment == alone
        assert verdict == diagnosis["verdict"] == reference["forecasters"][name]["assessment"]["verdict"]
        assert near(diagnosis, reference["forecasters"][name]["assessment"]["diagnosis"])
        begin = {
            "ours": "No evidence of miscalibration (n = 240 in 40 clusters, p = ",
            "theirs": "Underconfident (",
        }
        assert verdict.startswith(begin[name])


@pytest.mark.slow
def test_what_is_read_is_what_assess_reads(data, files, capsys):
    comparison = found(capsys, *files, *COLUMNS, "--in-order", "--weight", "heft", "--floor", "0.01")
    for path in files:
        assert (
            run("assess", path, *COLUMNS, "--weight", "heft", "--floor", "0.01", "--resamples", 0, "--json", "-") == 0
        )
        alone = json.loads(capsys.readouterr().out)
        assert alone.pop("schema") == comparison["schema"] == 2
        for sampled in ("uncertainty", "measured_profile", "divergence_profile"):
            del alone[sampled]  # which takes more than is counted here where rows have weights
        assessment = comparison["forecasters"][path.stem]["assessment"]
        assert near(assessment.pop("diagnosis"), alone.pop("diagnosis"))
        assert near(assessment.pop("remedy"), alone.pop("remedy"))
        assert assessment == alone


@pytest.mark.slow
def test_each_file_tells_its_own_columns(data, of_arrays, tmp_path, capsys):
    np.savez(tmp_path / "a.npz", truth=data["y"], scores=data["ours"])
    np.savez(tmp_path / "b.npz", labels=data["y"], probs=data["theirs"])
    assert (
        run(
            *("compare", f"ours={tmp_path / 'a.npz'}", f"theirs={tmp_path / 'b.npz'}"),
            *("--in-order", "--json", "-"),
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert json.loads(out) == of_arrays()
    assert "ours: outcomes from 'truth'" in err
    assert "theirs: probabilities from 'probs'" in err


@pytest.mark.slow
def test_a_forecaster_may_have_several_files(data, of_arrays, files, tmp_path, capsys):
    ours = frame(data, "ours")
    for at in range(3):
        ours[at * 90 : (at + 1) * 90].write_csv(tmp_path / f"part{at}.csv")
    result = found(capsys, f"ours={tmp_path}/part*.csv", files[1], *COLUMNS, "--in-order")
    result["forecasters"]["ours"]["assessment"].pop("notes")
    reference = of_arrays()
    reference["forecasters"]["ours"]["assessment"].pop("notes")
    assert without_dependence(result) == without_dependence(reference)


# Names


def test_forecasters_are_called_like_their_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.csv").touch()
    (tmp_path / "x=y.csv").touch()
    (tmp_path / "net.csv.gz").touch()
    assert named_files(["a/run.csv", "net.csv.gz"]) == {"run": ["a/run.csv"], "net": ["net.csv.gz"]}
    assert named_files(["a/run.csv", "b/run.csv"]) == {"a/run.csv": ["a/run.csv"], "b/run.csv": ["b/run.csv"]}
    assert [*named_files(["x=y.csv", "me=*/run.csv"]).items()] == [
        ("x=y", ["x=y.csv"]),
        ("me", ["a/run.csv", "b/run.csv"]),
    ]
    assert named_files(["run=a/run.csv", "b/run.csv"]) == {"run": ["a/run.csv"], "b/run.csv": ["b/run.csv"]}
    with pytest.raises(InputError, match="me: two forecasters of that name"):
        named_files(["me=a/run.csv", "me=b/run.csv"])
    with pytest.raises(InputError, match="named twice"):
        named_files(["me=a/run.csv", "a/run.csv"])
    with pytest.raises(InputError, match=r"nothing\*: no file matches"):
        named_files(["me=nothing*"])


# Rows left out


@pytest.mark.slow
def test_common_compares_what_all_have_and_counts_the_rest(data, tmp_path, capsys):
    ours, theirs = frame(data, "ours"), frame(data, "theirs")
    ours[5:].write_csv(tmp_path / "ours.csv")
    theirs[: N - 20].reverse().write_csv(tmp_path / "theirs.csv")
    paths = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    result = found(capsys, *paths, *COLUMNS, "--on", "id", "--common", "--clusters", "place")
    kept = np.arange(5, N - 20)
    reference = compare(
        data["y"][kept],
        {name: data[name][kept] for name in ("ours", "theirs")},
        clusters=data["place"][kept],
        ids=data["id"][kept].astype(str),
    )
    assert result["pairs"] == plain(reference)["pairs"]
    dropped = {name: each["assessment"]["notes"]["dropped"] for name, each in result["forecasters"].items()}
    assert dropped == {"ours": {"no valid counterpart": 20}, "theirs": {"no valid counterpart": 5}}
    assessment = reference.forecasters["ours"].assessment
    assert result["forecasters"]["ours"]["assessment"]["measured"] == vars(assessment.measured)


@pytest.mark.slow
@pytest.mark.parametrize("pairing", [["--in-order"], ["--on", "id"]])
def test_invalid_rows_of_one_file_are_dropped_for_all(data, files, capsys, monkeypatch, pairing):
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    holes = data["theirs"].copy()
    holes[[4, 100]] = np.nan
    frame({**data, "theirs": holes}, "theirs").write_csv(files[1])
    assert run("compare", *files, *COLUMNS, *pairing) == 2
    assert re.search(r"theirs.csv: probabilities: NaN in .*--invalid drop", capsys.readouterr().err)
    result = found(capsys, *files, *COLUMNS, *pairing, "--invalid", "drop")
    settings = {"ids": data["id"].astype(str)} if "--on" in pairing else {}
    forecasts = {"ours": data["ours"], "theirs": holes}
    reference = compare(data["y"], forecasts, invalid="drop", **settings)
    assert_same(result, plain(reference))


# What is refused: nothing is guessed

WRITE = {
    "shorter": lambda f: f[:-1],
    "missing ids": lambda f: f.filter(~pl.col("id").is_in([11, 12, 13])),
    "other ids": lambda f: f.with_columns(pl.col("id") + 100_000),
    "duplicate ids": lambda f: pl.concat([f, f[3:5]]),
    "padded": lambda f: f.with_columns(pl.format("0{}", "id").alias("id")),
    "an empty id": lambda f: f.with_columns(pl.when(pl.col("id") == 15).then(None).otherwise(pl.col("id")).alias("id")),
    "another outcome": lambda f: f.with_columns(((pl.col("y") + (pl.col("id") == 15)) % 3).alias("y")),
    "another weight": lambda f: f.with_columns((pl.col("heft") + (pl.col("id") == 15)).alias("heft")),
    "other classes": lambda f: f.with_columns(pl.lit(0.0).alias("p3")),
}
REFUSED = [
    ("shorter", ["--in-order"], "ours has 240 rows, theirs 239: they are not the same rows in the same order.*--on"),
    (
        "missing ids",
        ["--on", "id"],
        "theirs: has no row for 3 of the 240 ids of ours: '1[123]', '1[123]', '1[123]'. .*--common",
    ),
    (
        "other ids",
        ["--on", "id"],
        r"theirs: has no row for 240 of the 240 ids of ours: .*\. Only theirs has '100",
    ),
    ("padded", ["--on", "id"], r"Only theirs has '0\d+', "),
    ("other ids", ["--on", "id", "--common"], "no id is in all of 'ours', 'theirs'"),
    (
        "duplicate ids",
        ["--on", "id"],
        r"theirs: more than one row has the id '\d+', '\d+'; see 4 rows \(3, 4, 240, 241;",
    ),
    ("an empty id", ["--on", "id"], r"theirs.csv: column 'id' is empty in 1 row \(\d+; counted from 0\)"),
    (
        "another outcome",
        ["--in-order"],
        r"theirs: another outcome than for ours in 1 row \(\d+; .*, for example [012] and",
    ),
    ("another outcome", ["--on", "id"], r"theirs: another outcome than for ours in 1 id \('15'\), for example"),
    ("another weight", ["--on", "id", "--weight", "heft"], r"theirs: another weight than for ours in 1 id \('15'\)"),
    (None, [], "how are rows matched\\? .*--forecaster ours=p.*--on.*--in-order"),
    (None, ["--in-order", "--on", "id"], "name one"),
    (None, ["--on", "nr"], "ours.csv: no column 'nr'"),
    (None, ["--in-order", "--clusters", "plaice"], "ours.csv: no column 'plaice'; did you mean 'place'"),
    (None, ["--in-order", "--common"], "--common: .*--on"),
    (None, ["--in-order", "--lag", "2", "--clusters", "place"], "lag and clusters"),
    (None, ["--in-order", "--lag", "239"], "239 places for 240 rows"),
    (None, ["--in-order", "--floor", "2"], "floor"),
    (None, ["--in-order", "--confidence", "95"], "confidence: expected a number between 0 and 1"),
    (None, ["--in-order", "--metric", "brier"], "did you mean 'brier_score'"),
    (None, ["--in-order", "--plot", "x.gif"], "known: .png"),
    (None, ["--in-order", "--separator", ";;"], "expected one character"),
]


@pytest.mark.parametrize(("change", "options", "message"), REFUSED)
def test_refused(data, files, tmp_path, capsys, change, options, message):
    if change is not None:
        WRITE[change](frame(data, "theirs")).write_csv(files[1])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run("compare", *files, *COLUMNS, *options, "--json", tmp_path / "out.json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err), err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_refused_with_one_file(data, files, tmp_path, capsys):
    ours = frame(data, "ours").with_columns(pl.lit("me").alias("by"))
    ours.write_csv(files[0])
    for options, message in [
        (["--in-order", *COLUMNS], "takes two files, or --forecaster to tell"),
        (["--forecaster", "a=p0,p1,p2", "--truth", "y"], "at least two forecasters"),
        (["--forecaster", "a=p0,p1,p2", "a=p0,p1,p2", "--truth", "y"], "each name once"),
        (["--forecaster", "p0", "p1", "--truth", "y"], "expected NAME=COLUMN"),
        (["--forecaster", "a=p0", "b=p1", "--on", "id", "--truth", "y"], "name one"),
        (["--forecaster", "a=p0,p1,p2", "b=p0,p1,p2", *COLUMNS], "leave out --prob"),
        (["--forecaster", "a=p0,p1,p2", "b=p0,p1", "--truth", "y"], "b: its classes are|labels"),
        (["--forecaster", "by", *COLUMNS], "--forecaster: how are rows matched.*--on"),
        (["--forecaster", "by", "--in-order", *COLUMNS], "--forecaster: .*--on"),
        (["--forecaster", "by", "--on", "id", *COLUMNS], "at least two forecasters, here is 'me'"),
        (["--forecaster", "bye", "--on", "id", *COLUMNS], "no column 'bye'"),
    ]:
        assert run("compare", files[0], *options) == 2
        assert re.search(message, capsys.readouterr().err), options


def test_tallies_have_no_rows_to_pair(files, tmp_path, capsys):
    assert run("tally", files[0], *COLUMNS, "-o", tmp_path / "x.tally") == 0
    capsys.readouterr()
    assert run("compare", files[0], tmp_path / "x.tally", *COLUMNS, "--in-order") == 2
    assert "x.tally: a tally has no rows left to pair" in capsys.readouterr().err


# Outputs


@pytest.mark.slow
def test_outputs_are_written_and_inputs_are_kept(data, files, tmp_path, capsys):
    outputs = ["--json", tmp_path / "c.json", "--plot", tmp_path / "c.png"]
    assert run("compare", *files, *COLUMNS, "--in-order", *outputs) == 0
    text = expected(data).to_text(name="ours.csv, theirs.csv")
    assert without_code(capsys.readouterr().out) == without_code(text + "\n")
    written = (tmp_path / "c.json").read_text()
    assert without_dependence(written) == without_dependence(expected(data))
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    before = files[1].read_bytes()
    assert run("compare", files[0], f"them={files[1]}", *COLUMNS, "--in-order", "--json", files[1]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert files[1].read_bytes() == before


def without_code(text):
    """Leave out what recalibrates: commands from the shell, Python from Python."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(" " * 10))


# One row after another


def sequential(data, order=slice(None), **settings):
    return compare_sequentially(data["y"][order], {name: data[name][order] for name in ("ours", "theirs")}, **settings)


def long_table(data, order):
    """Forecasters in rows of their own, and which rows those of the first are."""
    both = [frame(data, name).with_columns(pl.lit(name).alias("by")) for name in ("ours", "theirs")]
    return pl.concat(both)[order], [row for row in order if row < N]


@pytest.mark.parametrize("small_batches", [False, True])
@pytest.mark.parametrize("pairing", ["--in-order", "--on", "--forecaster"])
def test_sequentially_in_the_order_of_the_first(data, tmp_path, rng, capsys, monkeypatch, pairing, small_batches):
    if small_batches:
        monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 3000)
    ours, theirs, paths, order = frame(data, "ours"), frame(data, "theirs"), [tmp_path / "ours.csv"], np.arange(N)
    if pairing in ("--in-order", "--on"):
        paths.append(tmp_path / "theirs.csv")
        (theirs if pairing == "--in-order" else theirs[rng.permutation(N).tolist()]).write_csv(paths[1])
        words = [*COLUMNS, pairing, *(["id"] if pairing == "--on" else [])]
    elif pairing == "--forecaster":
        ours = ours.with_columns(theirs[f"p{j}"].alias(f"q{j}") for j in range(3))
        words = ["--truth", "y", "--forecaster", "ours=p0,p1,p2", "theirs=q0,q1,q2"]
    else:
        ours, order = long_table(data, [0, *(rng.permutation(2 * N - 1) + 1).tolist()])
        words = [*COLUMNS, "--forecaster", "by", "--on", "id"]
    ours.write_csv(paths[0])
    assert found(capsys, *paths, *words, "--anytime") == plain(sequential(data, order))


def test_sequentially_by_another_metric_confidence_and_floor(data, files, capsys):
    words = ["--metric", "generalized_surprisal(0.5)", "--confidence", "0.8", "--floor", "0.02"]
    result = found(capsys, *files, *COLUMNS, "--in-order", "--anytime", *words)
    assert result == plain(sequential(data, metric="generalized_surprisal(0.5)", confidence=0.8, floor=0.02))
    assert result["floor"] == 0.02


def test_sequentially_without_rows_that_one_lacks(data, tmp_path, capsys):
    ours = data["ours"].copy()
    ours[50] = np.nan
    frame({**data, "ours": ours}, "ours")[5:].write_csv(tmp_path / "ours.csv")
    frame(data, "theirs")[: N - 20].reverse().write_csv(tmp_path / "theirs.csv")
    paths = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    options = ["--on", "id", "--common", "--invalid", "drop", "--anytime"]
    result = found(capsys, *paths, *COLUMNS, *options)
    kept = np.setdiff1d(np.arange(5, N - 20), 50)
    expected = plain(sequential(data, kept))
    notes = {name: each["dropped"] for name, each in result.pop("notes").items()}
    assert notes == {"ours": {"NaN": 1, "no valid counterpart": 20}, "theirs": {"no valid counterpart": 6}}
    del expected["notes"]
    assert result == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--in-order", "--lag", "2"], "--lag does not go with --anytime: its limits hold however"),
        (["--in-order", "--clusters", "place"], "--clusters does not go with --anytime: its limits hold however"),
        (["--in-order", "--weight", "heft"], "--weight does not go with --anytime: its rows have equal weight"),
        (["--in-order", "--metric", "log_loss", "brier_score"], "compares by one metric"),
        (["--in-order", "--metric", "brier"], "did you mean 'brier_score'"),
        (["--in-order", "--confidence", "5"], "confidence: expected a number between 0 and 1, such as 0.95, got 5"),
        (["--in-order", "--floor", "2"], "floor"),
        (["--on", "nr"], "ours.csv: no column 'nr'"),
        ([], "how are rows matched\\? .*--forecaster ours=p.*--on.*--in-order"),
    ],
)
def test_refused_sequentially(files, tmp_path, capsys, options, message):
    assert run("compare", *files, *COLUMNS, *options, "--anytime", "--json", tmp_path / "out.json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err), err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [case for case in REFUSED if case[0] is not None and case[0] != "another weight"],
)
def test_rows_that_do_not_pair_are_refused_sequentially_alike(data, files, capsys, change, options, message):
    WRITE[change](frame(data, "theirs")).write_csv(files[1])
    assert run("compare", *files, *COLUMNS, *options, "--anytime") == 2
    assert re.search(message, capsys.readouterr().err)


def test_sequentially_means_two(data, files, tmp_path, capsys):
    assert run("compare", *files, f"again={files[0]}", *COLUMNS, "--in-order", "--anytime") == 2
    assert "named twice" in capsys.readouterr().err
    frame(data, "ours").write_csv(tmp_path / "third.csv")
    assert run("compare", *files, tmp_path / "third.csv", *COLUMNS, "--in-order", "--anytime") == 2
    assert re.search("here are 3. Compare more of them two by two", capsys.readouterr().err)


def test_scores_that_would_be_infinite_are_refused_sequentially_by_id(data, files, capsys):
    ours = data["ours"].copy()
    ours[data["id"] == 77] = np.eye(3)[0]
    frame({**data, "ours": ours}, "ours").write_csv(files[0])
    words = [*files, *COLUMNS, "--on", "id", "--anytime", "--metric", "log_loss"]
    assert run("compare", *words, "--floor", "0") == 2
    assert re.search(r"infinite .* in 1 id \('77'\); take a floor above 0 \(--floor\)", capsys.readouterr().err)
    assert run("compare", *words) == 0


def test_sequential_outputs(data, files, tmp_path, capsys):
    outputs = ["--json", tmp_path / "s.json", "--plot", tmp_path / "s.svg"]
    assert run("compare", *files, *COLUMNS, "--in-order", "--anytime", *outputs) == 0
    assert capsys.readouterr().out == sequential(data).to_text(name="ours.csv, theirs.csv") + "\n"
    assert json.loads((tmp_path / "s.json").read_text()) == plain(sequential(data))
    assert "Mean so far, with its 95% confidence sequence" in (tmp_path / "s.svg").read_text()


def test_a_pattern_of_partitions_is_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day in "12":
        (tmp_path / f"dt={day}").mkdir()
        (tmp_path / f"dt={day}" / "part.csv").touch()
    assert named_files(["dt=1/*.csv", "dt=2/*.csv"]) == {f"dt={day}/part.csv": [f"dt={day}/part.csv"] for day in "12"}
    assert named_files(["ours=dt=1/*.csv", "dt=2"]) == {"ours": ["dt=1/part.csv"], "dt=2": ["dt=2/part.csv"]}


@pytest.fixture
def units(tmp_path, rng):
    """Percentages of one forecaster and fractions of another."""
    p = rng.uniform(size=(200, 2)).round(2)
    y = (rng.uniform(size=200) < p[:, 0]).astype(int)
    path = tmp_path / "units.csv"
    pl.DataFrame({"y": y, "PoP (%)": (100 * p[:, 0]).astype(int), "ours": p[:, 1]}).write_csv(path)
    return path


def test_units_that_differ_are_refused_or_told(units, capsys):
    read = ("--truth", "y", "--forecaster", "theirs=PoP (%)", "ours=ours")
    assert run("compare", units, *read, "--scale", "percent") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--scale percent: no percentage of 'ours' is above 1, others are. Use one scale." in message
    assert run("assess", units, "--truth", "y", "--prob", "ours", "--scale", "percent", "--resamples", "0") == 0
    assert "ours: none of 200 percentages is above 1; fractions take no --scale" in capsys.readouterr().err
    assert run("assess", units, "--truth", "y", "--prob", "PoP (%)", "--scale", "percent", "--resamples", "0") == 0
    assert "percentages" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [("compare", "--on", "row"), ("assess",)])
def test_units_that_differ_in_a_long_table_are_refused_with_the_remedy(units, tmp_path, capsys, words):
    wide = pl.read_csv(units).with_row_index("row")
    parts = [wide.select("row", "y", p=pl.col(name).cast(str), who=pl.lit(name)) for name in ("PoP (%)", "ours")]
    path = tmp_path / "long.csv"
    pl.concat(parts).write_csv(path)
    read = ("--truth", "y", "--prob", "p", "--forecaster", "who")
    assert run(words[0], path, *read, *words[1:], "--scale", "percent") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "no percentage of 'ours' is above 1, others are" in message
    assert "divide the numbers of 'PoP (%)' by 100 in the file, and leave out --scale percent" in message
    one = ("--where", "who = 'PoP (%)'", "--resamples", "0")
    if words[0] == "assess":
        assert run("assess", path, *read, "--scale", "percent", *one) == 0


def test_rows_that_a_condition_leaves_out_may_be_blank(tmp_path, rng, capsys):
    p = rng.uniform(size=(2, 90)).round(3)
    rows = pl.DataFrame({"id": range(90), "y": (rng.uniform(size=90) < p[0]) * 1, "p": p[0], "q": p[1]})
    blank = pl.col("id") % 9 == 0
    rows = rows.with_columns(valid=~blank, season=pl.when(blank).then(None).otherwise(pl.col("id") % 2))
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    rows.write_csv(path)
    rows.select("id", "y", p="q").write_csv(other)
    beside = ("--truth", "y", "--forecaster", "a=p", "b=q", "--clusters", "season")
    calls = [("skill", path, "--truth", "y", "--prob", "p", "--by", "season"), ("compare", path, *beside)]
    calls.append(("compare", path, other, "--truth", "y", "--prob", "p", "--on", "id", "--clusters", "season"))
    for words in calls:
        assert run(*words, "--where", "valid = 'true'") == 0
        assert "80 forecasts" in capsys.readouterr().out
        assert run(*words) == 2
        assert "column 'season' is empty in 10 rows (0, 9, 18, " in capsys.readouterr().err


@pytest.mark.parametrize("words", [("skill", "--prob", "q"), ("compare", "--forecaster", "a=p", "q=q")])
def test_rows_that_a_condition_leaves_out_may_have_no_forecast(tmp_path, rng, capsys, words):
    p = rng.uniform(size=(2, 90)).round(3)
    rows = pl.DataFrame({"day": range(90), "y": (rng.uniform(size=90) < p[0]) * 1, "p": p[0], "q": p[1]})
    path, command, columns = tmp_path / "a.csv", words[0], ("--truth", "y", *words[1:])
    rows.with_columns(q=pl.when(pl.col("day") > 9).then("q")).write_csv(path)
    assert run(command, path, *columns) == 2
    assert "q: NaN in 10 rows (0, 1, 2" in capsys.readouterr().err
    assert run(command, path, *columns, "--where", "day > 9") == 0
    blank, _ = capsys.readouterr(), rows.filter(pl.col("day") > 9).write_csv(path)
    assert run(command, path, *columns) == 0
    said = blank.out.replace(" where day > 9", "").replace(" --where 'day > 9'", "")
    assert said.split() == capsys.readouterr().out.split()
    rows.with_columns(q=pl.when(pl.col("day") % 20 > 0).then("q")).write_csv(path)
    assert run(command, path, *columns, "--where", "day > 9", "--invalid", "drop") == 0
    assert ": 4 rows dropped: no probability" in (out := capsys.readouterr().out)
    assert out.count(" rows dropped") == out.count(": 4 rows dropped")
    rows.with_columns(age=pl.when(pl.col("day") != 20).then("day").otherwise(pl.lit("?"))).write_csv(path)
    if command == "skill":
        assert run(command, path, *columns, "--where", "day > 9", "--by", "age:quartiles") == 2
        assert "is no number in 1 row (20;" in capsys.readouterr().err


def test_most_rows_are_not_dropped_for_a_wrong_scale(units, tmp_path, capsys):
    drop = ("--invalid", "drop", "--resamples", "0")
    assert run("assess", units, "--truth", "y", "--prob", "PoP (%)", *drop) == 2
    wrong = (pl.read_csv(units)["PoP (%)"] > 1).sum()
    assert f"PoP (%): --invalid drop would take {wrong} of 200 rows. These" in (found := capsys.readouterr().err)
    assert "look like percentages: scale" in found
    assert run("compare", units, "--truth", "y", "--forecaster", "a=PoP (%)", "b=ours", *drop[:2]) == 2
    assert "--invalid drop would take" in capsys.readouterr().err
    unknown = pl.read_csv(units).with_columns(y=pl.when(pl.int_range(200) < 50).then("y"))
    unknown.write_csv(tmp_path / "unknown.csv")  # most outcomes are missing, which is no fault of the scale
    assert run("assess", tmp_path / "unknown.csv", "--truth", "y", "--prob", "ours", *drop) == 0


def test_texts_among_probabilities_are_no_rounding(tmp_path, capsys):
    """Decimal commas: what is no number has no scale."""
    path = tmp_path / "f.csv"
    path.write_text("y;p\n" + "".join(f"{k % 2};{k % 9}{',5' * (k % 4 > 0)}\n" for k in range(100)))
    words = ["assess", str(path), "--truth", "y", "--prob", "p", "--separator", ";", "--scale", "percent"]
    assert run(*[*words, "--invalid", "drop"]) == 2
    assert "would take 75 of 100 rows. Most of these hold no number" in capsys.readouterr().err
