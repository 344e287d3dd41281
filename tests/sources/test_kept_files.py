"""What is read of files of all kinds, and all that is refused, beside what is kept; the same in batches of few rows."""

import gzip
import json
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

from kept import same_as_kept
from unperplexed import PIT, InputError, Tallies, Tally
from unperplexed.sources.columns import Selection
from unperplexed.sources.dependence import search_files
from unperplexed.sources.derived_columns import derived
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.hub import hub_files
from unperplexed.sources.map_reduce import rows_of_frame
from unperplexed.sources.mended_files import write_mended
from unperplexed.sources.predictive import read_distributions
from unperplexed.sources.predictive_columns import PredictiveSelection
from unperplexed.sources.readers import Options, Wanted, text_streams
from unperplexed.sources.readers.formats import File, formats, found_files, open_source
from unperplexed.sources.rewriting import forecast_file
from unperplexed.sources.row_filter import RowFilter, condition_of, key_column

KEPT = Path(__file__).with_name("files.json")


def outcome(folder, of, *given, **named):
    """What a call gives, or what it is refused with, without the name of the folder."""
    try:
        return of(*given, **named)
    except InputError as error:
        return f"refused: {error}".replace(f"{folder or None}/", "").replace(str(folder or None), "folder")


def joined(parts):
    parts = [each for each in parts if each is not None]
    return np.concatenate(parts) if parts else None


def rows_of(paths, selection, reading):
    """All that is read of files, put together again."""
    said, steps = [], []
    files = ForecastFiles(paths, selection, reading, progress=lambda *step: steps.append(step[0]), say=said.append)
    batches = [*files]
    found = []
    for at in range(max(len(batch.forecasts) for batch in batches)):
        forecasts = [batch.forecasts[at] for batch in batches]
        blocks = [block for each in forecasts for block in each.blocks()]
        found.append(
            {
                "labels": forecasts[-1].labels,
                "p": joined([np.asarray(block.probabilities, np.float64).ravel() for block in blocks]),
                "truth": joined([block.truth.astype(np.int64) for block in blocks]),
                "weights": joined([block.weights for block in blocks]),
                "index": joined([block.index for block in blocks]),
                "left out": [
                    sum(block.notes.ignored for block in blocks),
                    sum(sum(block.notes.dropped.values()) for block in blocks),
                ],
                "clusters": joined([each.clusters(each.index) for each in forecasts]),
            }
        )
    keys = {
        name: [str(x) for b in batches for x in pl.Series(key_column(b.keys[name], name)).to_list()]
        for name in batches[0].keys
    }
    return (
        found,
        keys,
        said,
        files.further,
        files.n_rows,
        max(steps, default=0),
        sum(b.forecasts[0].n_rows for b in batches),
    )


LINES = [
    "id,day,site,y,p,q,w",
    "1,2024-01-01,a,1,0.9,0.1,1",
    "2,2024-01-02,b,0,0.25,0.75,2",
    "3,2024-02-01,a,1,0.5,0.5,1",
    "4,2024-02-03,b,0,0.125,0.875,3",
    "5,2024-05-04,c,1,1,0,1",
    "6,2024-05-05,a,0,0,1,1",
]
CSV = "\n".join(LINES) + "\n"


def with_line(at, line):
    return "\n".join([*LINES[:at], line, *LINES[at + 1 :]]) + "\n"


PLAIN = {"truth": ["y"], "prob": ["p"]}
FILES = {
    "plain": (CSV, PLAIN, {}),
    "guessed": (CSV, {}, {}),
    "two columns": (CSV, {"truth": ["y"], "prob": ["q", "p"]}, {}),
    "labelled": (CSV, {"truth": ["y"], "prob": ["0=q", "1=p"]}, {}),
    "labelled in part": (CSV, {"truth": ["y"], "prob": ["0=q", "p"]}, {}),
    "positive": (CSV, {"truth": ["y"], "prob": ["0=q"]}, {}),
    "weights": (CSV, PLAIN | {"weight": "w"}, {}),
    "clusters": (CSV, PLAIN | {"clusters": ["site"]}, {}),
    "clusters by month": (CSV, PLAIN | {"clusters": ["day:month", "site"]}, {}),
    "blocks": (CSV, PLAIN | {"block": 2, "found": True}, {}),
    "keys": (CSV, PLAIN | {"keys": ["site", "day:year-quarter", "id:thirds", "day:weekday"]}, {}),
    "keys of all kinds": (
        CSV,
        PLAIN | {"keys": ["id:quarters", "w:tenths", "day:year", "day:year-month", "day:quarter"]},
        {},
    ),
    "hour": (CSV, PLAIN | {"keys": ["day:hour"]}, {}),
    "no number": (CSV, PLAIN | {"keys": ["site:halves"]}, {}),
    "no date": (CSV, PLAIN | {"keys": ["site:month"]}, {}),
    "meant": (CSV, PLAIN | {"keys": ["id:quarter"]}, {}),
    "how alone": (CSV, PLAIN | {"keys": ["month"]}, {}),
    "keys with commas": (CSV, PLAIN | {"keys": ["site,day"]}, {}),
    "key twice": (CSV, PLAIN | {"keys": ["site", "site"]}, {}),
    "key of numbers": (CSV, PLAIN | {"keys": ["p"]}, {}),
    "where": (CSV, PLAIN | {"where": RowFilter("id > 2 AND site = 'a'")}, {}),
    "where with keys": (CSV, PLAIN | {"where": RowFilter("site <> 'c'"), "keys": ["id:halves"], "weight": "w"}, {}),
    "where none": (CSV, PLAIN | {"where": RowFilter("id > 20")}, {}),
    "where quoted": (CSV, PLAIN | {"where": RowFilter('site = "a"')}, {}),
    "where nothing": (CSV, PLAIN | {"where": RowFilter("1 = 1")}, {}),
    "where number": (CSV, PLAIN | {"where": RowFilter("id + 1")}, {}),
    "where text": (CSV, PLAIN | {"where": RowFilter("site > 3")}, {}),
    "where wrong": (CSV, PLAIN | {"where": RowFilter("id >")}, {}),
    "pairs": (CSV, {"pairs": ["p=y", "q=y"]}, {}),
    "pairs by pattern": ("p_a,y_a,p_b,y_b\n.2,0,.7,1\n.3,1,.4,0\n", {"pairs": ["p_*=y_*"], "keys": ["pair"]}, {}),
    "pairs chosen": (
        "p_a,y_a,p_b,y_b\n.2,0,.7,1\n.3,1,.4,0\n",
        {"pairs": ["p_*=y_*"], "where": RowFilter("prob > 0.25")},
        {},
    ),
    "pairs in rows": (
        "p_a,y_a,p_b,y_b\n.2,0,.7,1\n.3,1,.4,0\n",
        {"pairs": ["p_*=y_*"], "clusters": ["row of the file"]},
        {},
    ),
    "pairs twice": (CSV, {"pairs": ["p=y", "p=y"]}, {}),
    "pairs of one": (CSV, {"pairs": ["p"]}, {}),
    "pairs of none": (CSV, {"pairs": ["x_*=y_*"]}, {}),
    "pairs and more": (CSV, {"pairs": ["p=y"], "truth": ["y"]}, {}),
    "rivals": (CSV, {"truth": ["y"], "rivals": [["p"], ["q"]]}, {}),
    "pattern": ("y,p_a,p_b,p_\na,.2,.8,1\nb,.3,.7,1\n", {"truth": ["y"], "prob": ["p_*"]}, {}),
    "pattern of none": (CSV, {"truth": ["y"], "prob": ["x_*"]}, {}),
    "one hot": ("a,b,pa,pb\n1,0,.2,.8\n0,1,.3,.7\n", {"truth": ["a", "b"], "prob": ["pa", "pb"]}, {}),
    "no column": (CSV, {"truth": ["Y"], "prob": ["pp"]}, {}),
    "twice": (CSV, {"truth": ["y"], "prob": ["p", "p"]}, {}),
    "both": (CSV, {"truth": ["p"], "prob": ["p"]}, {}),
    "not guessed": ("a,b\n1,0.5\n", {}, {}),
    "guessed of two": ("y,label,p\n1,1,0.5\n", {}, {}),
    "labels": (CSV, PLAIN, {"labels": ["1", "0"]}),
    "labels and columns": (CSV, {"truth": ["y"], "prob": ["0=q", "1=p"]}, {"labels": ["0", "1"]}),
    "positive label": (CSV, PLAIN, {"pos_label": "0"}),
    "positive text": (CSV, PLAIN, {"pos_label": "yes"}),
    "ignored": (CSV, {"truth": ["site"], "prob": ["p"]}, {"ignore_label": ["c"], "pos_label": "a"}),
    "three outcomes": (CSV, {"truth": ["site"], "prob": ["p"]}, {}),
    "missing outcome": (with_line(3, "3,2024-02-01,a,,0.5,0.5,1"), PLAIN, {}),
    "missing dropped": (with_line(3, "3,2024-02-01,a,,0.5,0.5,1"), PLAIN, {"options": {"invalid": ["drop"]}}),
    "marks": (with_line(3, "3,2024-02-01,a,NA,0.5,0.5,1"), PLAIN, {"na": [], "options": {"invalid": ["drop"]}}),
    "own marks": (
        with_line(3, "3,2024-02-01,a,xx,-9,0.5,1"),
        PLAIN,
        {"na": ["xx", "-9"], "options": {"invalid": ["drop"]}},
    ),
    "text": (with_line(4, "4,2024-02-03,b,0,none,0.875,3"), PLAIN, {}),
    "percent sign": (with_line(4, "4,2024-02-03,b,0,12%,0.875,3"), PLAIN, {}),
    "percent": ("y,p\n1,90%\n0,12 %\n1,100\n", PLAIN, {"options": {"scale": "percent"}}),
    "fractions as percent": ("y,p\n" + "1,0.5\n0,0.3\n" * 25, PLAIN, {"options": {"scale": "percent"}}),
    "above 1": (with_line(5, "5,2024-05-04,c,1,1.5,0,1"), PLAIN, {}),
    "most dropped": ("y,p\n1,90\n0,12\n1,0.5\n", PLAIN, {"options": {"invalid": ["drop"]}}),
    "weight text": (with_line(4, "4,2024-02-03,b,0,0.125,0.875,heavy"), PLAIN | {"weight": "w"}, {}),
    "negative weight": (with_line(4, "4,2024-02-03,b,0,0.125,0.875,-1"), PLAIN | {"weight": "w"}, {}),
    "empty key": (with_line(4, "4,2024-02-03,,0,0.125,0.875,1"), PLAIN | {"clusters": ["site"]}, {}),
    "empty named": (with_line(4, "4,2024-02-03, ,0,0.125,0.875,1"), PLAIN | {"keys": ["site"], "named": "site"}, {}),
    "empty number": (with_line(4, ",2024-02-03,,0,0.125,0.875,1"), PLAIN | {"keys": ["id:halves"]}, {}),
    "short row": (with_line(4, "4,2024-02-03,b"), PLAIN, {}),
    "long row": (with_line(4, LINES[4] + ",9,9"), PLAIN, {}),
    "blank lines": (CSV + "\n\n", PLAIN, {}),
    "blank line inside": (with_line(4, ""), PLAIN, {}),
    "open quote": (with_line(4, '4,2024-02-03,"b,0,0.125,0.875,3'), PLAIN, {}),
    "quotes": (with_line(4, '4,2024-02-03,"b, ""c""",0,0.125,0.875,3'), PLAIN | {"keys": ["site"]}, {}),
    "line in quotes": (with_line(4, '4,2024-02-03,"b\nc",0,0.125,0.875,3'), PLAIN | {"keys": ["site"]}, {}),
    "no lines": ("", PLAIN, {}),
    "names alone": (LINES[0] + "\n", PLAIN, {}),
    "no end": (CSV.rstrip("\n"), PLAIN, {}),
    "crlf": (CSV.replace("\n", "\r\n"), PLAIN, {}),
    "semicolons": (CSV.replace(",", ";").replace("0.", "0,"), PLAIN, {"decimal_comma": True}),
    "semicolons unsaid": (CSV.replace(",", ";"), PLAIN, {}),
    "separator": (CSV.replace(",", "|"), PLAIN, {"separator": "|"}),
    "tabs": (CSV.replace(",", "\t"), PLAIN, {"separator": "tab"}),
    "two characters": (CSV, PLAIN, {"separator": "||"}),
    "names twice": ("y,p,p\n1,.5,.5\n", PLAIN, {}),
    "empty name": ("y,,p\n1,.5,.5\n0,.1,.2\n", PLAIN, {}),
    "mark of bytes": ("\ufeff" + CSV, PLAIN, {}),
    "latin": (CSV.replace("c,1", "é,1"), PLAIN | {"keys": ["site"]}, {"encoding": "latin-1"}),
    "encoding": (CSV, PLAIN, {"encoding": "utf-17"}),
    "predictions": (CSV, {"prob": ["p"], "outcomes": False}, {}),
    "part": (CSV.replace(",1,", ",yes,").replace(",0,", ",no,"), PLAIN, {"whole": False}),
}


@pytest.mark.parametrize("name", FILES)
def test_text_files(name, tmp_path):
    text, chosen, settings = FILES[name]
    path = tmp_path / "f.csv"
    path.write_bytes(text.encode("latin-1" if name == "latin" else "utf-8"))
    found = outcome(tmp_path, lambda: rows_of([str(path)], Selection(**chosen), FileReading(**settings)))
    same_as_kept(KEPT, f"file {name}", found)


IN_BATCHES = [
    "plain",
    "guessed",
    "labelled",
    "weights",
    "clusters",
    "clusters by month",
    "blocks",
    "keys",
    "where with keys",
    "rivals",
    "one hot",
    "pattern",
    "positive label",
    "ignored",
    "missing dropped",
    "marks",
    "own marks",
    "quotes",
    "crlf",
    "no end",
    "semicolons",
    "predictions",
]


@pytest.mark.parametrize("name", IN_BATCHES)
def test_in_batches_of_a_few_rows_the_same_is_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 8)
    monkeypatch.setattr(text_streams, "CHUNK_BYTES", 60)
    test_text_files(name, tmp_path)


FRAME = pl.DataFrame(
    {
        "y": ["b", "a", "b", "a", "b"],
        "p": [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0], [0.9, 0.1], [0.4, 0.6]],
        "s": [
            {"q": 0.75, "of": {"w": 1}},
            {"q": 0.5, "of": {"w": 2}},
            {"q": 1.0, "of": {"w": 1}},
            {"q": 0.1, "of": {"w": 1}},
            {"q": 0.6, "of": {"w": 4}},
        ],
        "at": [datetime(2024, 1, day, 6, 30) for day in range(1, 6)],
        "day": [date(2024, 1, day) for day in range(1, 6)],
        "ok": [True, False, None, True, False],
        "n": [1, 2, None, 4, 5],
    }
)


def write(form, folder, frame=FRAME):
    path = folder / f"f.{form}"
    if form == "parquet":
        frame.write_parquet(path)
    elif form == "arrow":
        frame.write_ipc(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    elif form == "jsonl.gz":
        path.write_bytes(gzip.compress(write("jsonl", folder, frame).read_bytes()))
    elif form == "npz":
        plain = {
            "y": frame["y"].to_numpy(),
            "p": np.array(frame["p"].to_list()),
            "q": np.array([x["q"] for x in frame["s"]]),
        }
        np.savez(path, **plain, w=np.arange(1.0, 6), table=np.zeros((2, 3)))
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl", "jsonl.gz", "npz"])
def test_other_formats(form, tmp_path):
    path, asked = (
        write(form, tmp_path),
        {
            "lists": {"truth": ["y"], "prob": ["p"]},
            "guessed": {},
            "inside": {
                "truth": ["y"],
                "prob": ["b=q" if form == "npz" else "b=s.q"],
                "weight": "w" if form == "npz" else "s.of.w",
            },
            "keys": {"truth": ["y"], "prob": ["p"], "keys": ["at", "day:weekday", "ok", "n"]},
            "hours": {"truth": ["y"], "prob": ["p"], "keys": ["at:hour"]},
            "where": {"truth": ["y"], "prob": ["p"], "where": RowFilter("n > 1")},
            "where true": {"truth": ["y"], "prob": ["p"], "where": RowFilter("ok")},
            "lists as outcomes": {"truth": ["p"], "prob": ["p"]},
            "struct": {"truth": ["y"], "prob": ["s"]},
            "no column": {"truth": ["y"], "prob": ["s.r"]},
            "weight of lists": {"truth": ["y"], "prob": ["p"], "weight": "p"},
            "key of lists": {"truth": ["y"], "prob": ["b=q" if form == "npz" else "b=s.q"], "keys": ["p"]},
        },
    )
    found = {
        name: outcome(tmp_path, lambda each=each: rows_of([str(path)], Selection(**each), FileReading()))
        for name, each in asked.items()
    }
    same_as_kept(KEPT, f"format {form}", found)


ODD = {
    "not lists": [{"y": 1, "p": 0.5}, {"y": 0, "p": [0.5]}],
    "lengths": [{"y": 1, "p": [0.5, 0.5]}, {"y": 0, "p": [0.2, 0.3, 0.5]}],
    "no list": [{"y": 1, "p": None}, {"y": 0, "p": [0.2, 0.8]}],
    "text in lists": [{"y": 1, "p": [0.5, 0.5]}, {"y": 0, "p": [0.2, "x"]}],
    "late column": [{"y": 1}, {"y": 0, "p": 0.5}],
    "texts": [{"y": 1, "p": "0.5"}, {"y": 0, "p": "0,25"}],
    "truths": [{"y": True, "p": 0.5}, {"y": False, "p": 0.25}],
    "mixed": [{"y": True, "p": 0.5}, {"y": "no", "p": 0.25}],
    "objects": [{"y": {"a": 1}, "p": 0.5}, {"y": {"a": 0}, "p": 0.25}],
    "big": [{"y": 2**70, "p": 0.5}, {"y": 1, "p": 0.25}],
    "lines": ["[1, 2]"],
    "broken": ['{"y": 1, "p": 0.5}', '{"y": 1, "p": '],
    "twice": ['{"y": 1, "p": 0.5, "p": 0.75}', '{"y": 0, "p": 0.25}'],
    "half": ['{"y": "\\ud800", "p": 0.5}', '{"y": "b", "p": 0.5}'],
    "nan": ['{"y": 1, "p": NaN}', '{"y": 0, "p": 0.5}'],
    "empty": [],
    "blank": ['{"y": 1, "p": 0.5}', "", '{"y": 0, "p": 0.5}'],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_lines_of_json(name, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in ODD[name]))
    selections = PLAIN, {"truth": ["y"], "prob": ["p"], "keys": ["y"]}
    found = [
        outcome(tmp_path, lambda each=each: rows_of([str(path)], Selection(**each), FileReading()))
        for each in selections
    ]
    same_as_kept(KEPT, f"json {name}", found)


def test_several_files(tmp_path):
    for name, rows in {"a.csv": LINES, "b.csv": LINES[:1] + LINES[4:], "c.csv": LINES[:1]}.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    (tmp_path / "d.csv").write_text("y,x\n1,0.5\n")
    selection = Selection(**PLAIN, keys=["site", "id:halves"])
    asked = {
        "all": ["a.csv", "b.csv", "c.csv"],
        "pattern": ["[ab].csv"],
        "other": ["a.csv", "d.csv"],
        "none": ["x*.csv"],
        "twice": ["a.csv", "a.csv"],
    }
    found = {
        name: outcome(
            tmp_path, lambda each=each: rows_of([f"{tmp_path}/{one}" for one in each], selection, FileReading())
        )
        for name, each in asked.items()
    }
    files = ForecastFiles([f"{tmp_path}/a.csv"], Selection(**PLAIN), FileReading())
    more = files.with_keys(["site"])
    sites = sorted(str(site) for batch in more for site in batch.keys["site"])
    found["again"] = sites, files.further, len(files.openers())
    found["parts"] = [
        Tally.count(
            f for b in ForecastFiles([f"{tmp_path}/{each}.csv"], Selection(**PLAIN), FileReading()) for f in b.forecasts
        ).n_rows
        for each in "ab"
    ]
    assert found["again"] == ([*"aaabbc"], ["id", "day", "site", "q", "w"], 1)
    assert found["parts"] == [6, 3]
    same_as_kept(KEPT, "several", {name: found[name] for name in asked})


# ---- parts of reading


def test_columns_as_keys():
    given = [
        np.array([1, 2]),
        np.array([1.0, 2.5, np.nan]),
        np.array([1.0, 2.0]),
        np.array([b"a", b"\xff"]),
        np.array(["a", "b"]),
        np.array([True, False]),
        np.array([[1], [2]]),
        np.array([2**63], np.uint64),
        pl.Series([1.5, None]),
        pl.Series(["3.0", "03.0", "-7.0", "x"]),
        pl.Series([datetime(2024, 1, 2, 3)]),
        pl.Series([date(2024, 1, 2)]),
        np.array([1.5], np.float32),
        pl.Series([1e300, 2.0]),
    ]
    found = [[str(key_column(each, "k").dtype), *map(str, key_column(each, "k").to_list())] for each in given]
    bad = np.zeros((2, 2)), np.zeros((2, 1, 1)), pl.Series([[1], [2]]), pl.Series([{"a": 1}])
    same_as_kept(KEPT, "keys", (found, [outcome("", key_column, each, "k") for each in bad]))


def test_conditions_and_what_is_made_of_columns():
    columns = {
        "a": pl.Series(["007", "042", "x", None]),
        "n": np.array([1, 2, 3, 4]),
        "t": pl.Series([True, False, None, True]),
    }
    asked = [
        "a = '007'",
        "n >= 2",
        "t",
        "NOT t",
        "a = 'x' OR n = 1",
        "n IS NULL",
        "a IS NULL",
        "n > 'x'",
        "n",
        "t = 1",
        "a > 5",
        "b = 1",
    ]
    chosen = {
        each: outcome(
            "",
            lambda each=each: RowFilter(each).places({k: columns[k] for k in RowFilter(each).columns if k in columns}),
        )
        for each in asked[:-1]
    }
    written = [
        condition_of(["a"], ("x",), [("x",), ("y",)]),
        condition_of(["a"], ("1",), [("1",), ("2",)]),
        condition_of(["a"], (1,), [(1,), (2.5,)]),
        condition_of(["a"], (None,), [(None,), ("y",)]),
        condition_of(["A b"], ("it's",), [("it's",)]),
        condition_of(["a", 'b"'], ("x", 2), [("x", 2)]),
        condition_of(["a"], (True,), [(True,)]),
        condition_of(["a"], ("x",), [("x",), (1,)]),
        condition_of(["a"], ("1",), [("1",), ("x",)]),
    ]
    made = {}
    texts = pl.Series(["2024-01-31 05:10", "2024-04-01T23:00:00", "2023-12-25 00:59"])
    for how in (
        "year",
        "quarter",
        "month",
        "week",
        "weekday",
        "day",
        "hour",
        "year-month",
        "year-quarter",
        "halves",
        "x",
    ):
        key = derived(f"c:{how}")
        if not key.needs_all and key.how:
            made[how] = key.name, list(map(str, key.groups(texts, np.arange(3)).to_list()))
    x = np.array([3.0, 1.0, 2.0, 2.0, 10.0, 7.5, 2.0])
    for how in ("halves", "thirds", "quarters", "fifths", "tenths"):
        key = derived(f"c:{how}")
        if key.how:
            made[how] = key.groups(pl.Series(x), np.arange(7)).to_list(), key.quantiles(np.empty(0)).texts
    refused = [
        outcome("", derived("c:halves").numbers, pl.Series(each), np.arange(10, 13))
        for each in (["1", "x", "3"], ["1", "", "3"], [1.0, None, 2.0], [1.0, np.inf, 2.0])
    ]
    refused += [
        outcome("", derived(f"c:{how}").groups, pl.Series(["2024-01-01", "01/02/2024"]), np.arange(2))
        for how in ("month", "hour")
    ]
    same_as_kept(KEPT, "made", (chosen, written, made, refused))


def test_frames_of_engines():
    asked = [
        {"truth": "y", "prob": "p"},
        {"truth": "y", "prob": ["p", "q"], "weight": "w"},
        {"pairs": [("p", "y")]},
        {"truth": "y", "prob": "p", "clusters": "c"},
        {"truth": "y", "prob": "x"},
        {"prob": "p"},
        {"truth": "y", "prob": "p", "parts": ["surprises"]},
        {"truth": "y", "prob": "p", "parts": ["shards"]},
        {"truth": "y", "prob": "p", "parts": ["shards"], "clusters": ["c"]},
        {"truth": "y", "prob": "p", "labels": ["a", "b"], "pos_label": "b"},
    ]
    names, found = ["y", "p", "q", "w", "c"], []
    for by in ("", ["c"]):
        for each in asked:
            rows = outcome("", rows_of_frame, names, ["p", "q", "w"], each, by or [])
            found.append(
                rows
                if isinstance(rows, str)
                else (rows.plans.forecasts, rows.plans.wanted, rows.plans.made, rows.reading)
            )
    found += [
        outcome("", rows_of_frame, bad, [], {"truth": "y", "prob": "p"}, []) for bad in (["y", "p", "p"], ["y", 3])
    ]
    same_as_kept(KEPT, "frames", found)


# ---- distributions and rewriting


N = np.arange(8)
WIDE = pl.DataFrame(
    {
        "y": np.round(np.sin(N), 2),
        "mean": np.round(np.cos(N), 2),
        "sd": 1 + N / 10,
        "w": N + 1.0,
        "site": list("abababab"),
        "day": [f"2024-01-0{k + 1}" for k in N],
    }
    | {f"q{level:g}": np.round(np.cos(N) + ndtri(level), 3) for level in (0.1, 0.5, 0.9)}
    | {f"m{k}": np.round(np.cos(N + k), 3) for k in range(4)}
)
LONG = WIDE.unpivot(["q0.1", "q0.5", "q0.9"], index=["day", "site", "y", "w"]).with_columns(
    pl.col("variable").str.slice(1).cast(float).alias("level")
)
SELECTED = {
    "quantiles": (WIDE, "quantiles", ["q*"], {}),
    "quantiles named": (WIDE, "quantiles", ["0.1=q0.1", "0.9=q0.9"], {}),
    "quantile twice": (WIDE, "quantiles", ["0.1=q0.1", "0.1=q0.9"], {}),
    "no level": (WIDE, "quantiles", ["mean", "sd"], {}),
    "long": (LONG, "quantiles", ["level=value"], {}),
    "samples": (WIDE, "samples", ["m0", "m1", "m2", "m3"], {}),
    "samples by pattern": (WIDE, "samples", ["m?"], {}),
    "one sample": (WIDE, "samples", ["m1"], {}),
    "normal": (WIDE, "distribution", ["normal", "mean=mean", "sd=sd"], {"weight": "w"}),
    "normal by number": (WIDE, "distribution", ["normal", "mean=mean", "sd=2"], {}),
    "family": (WIDE, "distribution", ["norml", "mean=mean", "sd=sd"], {}),
    "parameter": (WIDE, "distribution", ["normal", "mean=mean", "sigma=sd"], {}),
    "no parameter": (WIDE, "distribution", ["normal"], {}),
    "no column": (WIDE, "distribution", ["normal", "mean=men", "sd=sd"], {}),
    "clusters": (WIDE, "distribution", ["normal", "mean=mean", "sd=sd"], {"clusters": ["site"]}),
    "pit": (WIDE.with_columns(pit=pl.Series((N + 0.5) / 8)), "pit", ["pit"], {"truth": ""}),
    "text": (
        WIDE.with_columns(pl.when(pl.col("sd") > 1.5).then(pl.lit("x")).otherwise(pl.col("sd").cast(str)).alias("sd")),
        "distribution",
        ["normal", "mean=mean", "sd=sd"],
        {},
    ),
    "missing": (
        WIDE.with_columns(pl.when(pl.col("sd") > 1.5).then(None).otherwise("y").alias("y")),
        "distribution",
        ["normal", "mean=mean", "sd=sd"],
        {},
    ),
    "no outcome": (WIDE.drop("y"), "distribution", ["normal", "mean=mean", "sd=sd"], {"truth": None}),
}


@pytest.mark.parametrize("name", SELECTED)
def test_distributions_in_files(name, tmp_path):
    frame, form, words, chosen = SELECTED[name]
    found = {}
    for suffix in ("csv", "parquet"):
        path = tmp_path / f"f.{suffix}"
        getattr(frame, f"write_{suffix}")(path)
        for where in ("", "site = 'a'"):

            def taken(path=path, where=where):
                selection = PredictiveSelection(form, words, where=RowFilter(where), **{"truth": "y"} | chosen)
                read = read_distributions([str(path)], selection, FileReading())
                return repr(read.forecast), read.y, read.forecast.pit_rows(read.y)

            found[f"{suffix} {where}"] = outcome(tmp_path, taken)
    same_as_kept(KEPT, f"numbers {name}", found)


def halved(batch):
    return batch.probabilities[0].rows(slice(None)).astype(float) / 2


@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("target", ["csv", "tsv", "jsonl", "parquet"])
def test_files_written_anew(source, target, tmp_path):
    frame = pl.DataFrame(
        {
            "id": [10, 20, 30],
            "t": ['a "b"', None, "c,d"],
            "p": [0.5, 0.25, 1.0],
            "code": ["007", "1", "x"],
            "x": [1.5, None, 2.0],
        }
    )
    path, found = tmp_path / f"in.{source}", {}
    getattr(frame, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[source])(path)
    for suffix in ("", "_new"):
        out = tmp_path / f"out{suffix}.{target}"
        file = forecast_file(str(path), ["p"], FileReading())
        rows = file.write(out, halved, [name + suffix for name in file.plan.prob])
        text = pl.read_parquet(out).write_json() if target == "parquet" else out.read_text()
        found[suffix or "same"] = rows, text, file.messages
    found["taken"] = outcome(tmp_path, file.write, tmp_path / f"o.{target}", halved, ["x"])
    same_as_kept(KEPT, f"anew {source} {target}", found)


def test_names_of_files(tmp_path):
    for name in ("a.csv", "b.csv.gz", "c.txt", "d.xyz", "e.CSV", "f"):
        (tmp_path / name).write_bytes(gzip.compress(CSV.encode()) if name.endswith("gz") else CSV.encode())
    asked = [
        ["a.csv"],
        ["*.csv*"],
        ["missing.csv"],
        ["a.csv", "a.csv"],
        ["[a].csv"],
        ["."],
        ["c.txt"],
        ["d.xyz"],
        ["e.CSV"],
        ["f"],
    ]
    found = {}
    for names in asked:

        def opened(names=names):
            files = found_files([str(tmp_path / each) for each in names])
            sources = [open_source(file, None, Options(), [].append) for file in files]
            return [
                (file.name.replace(f"{tmp_path}/", ""), source.names, source.untyped)
                for file, source in zip(files, sources, strict=True)
            ]

        found[" ".join(names)] = outcome(tmp_path, opened)
    found["formats"] = {
        name: outcome(
            tmp_path,
            lambda name=name: (
                open_source(File(str(tmp_path / "a.csv"), tmp_path / "a.csv"), name, Options(), [].append).names
            ),
        )
        for name in sorted(formats())
        if name not in ("pt", "spreadsheet")  # which are refused otherwise where their readers are not installed
    }
    source = open_source(found_files([str(tmp_path / "a.csv")])[0], None, Options(), [].append)
    read = [*source.batches(Wanted([["p"]], ["w"], ["site"]))]
    found["read"] = joined([batch.numbers["w"] for batch in read]), sum(batch.n_rows for batch in read), source.rows
    same_as_kept(KEPT, "names", found)


def test_groups_of_a_file(tmp_path):
    (tmp_path / "f.csv").write_text(CSV)
    files = ForecastFiles([str(tmp_path / "f.csv")], Selection(**PLAIN, keys=["site"]), FileReading())
    found = Tallies.count((forecasts, batch.keys) for batch in files for forecasts in batch.forecasts)
    assert {key: tally.n_rows for key, tally in found.items()} == {("a",): 3, ("b",): 2, ("c",): 1}


# ---- hubs, mended files, dependence, arrays


HUB = pl.DataFrame(
    [
        {
            "location": f"0{site}",
            "target_end_date": f"2024-01-0{day}",
            "horizon": day,
            "output_type": kind,
            "output_type_id": level,
            "value": round(site + day / 2 + at, 2),
        }
        for site in (1, 2)
        for day in (1, 2, 3)
        for kind, levels in (("quantile", ("0.1", "0.5", "0.9")), ("mean", (None,)), ("sample", ("1", "2", "3")))
        for at, level in enumerate(levels)
    ]
)
SHARES = HUB.filter(pl.col("output_type") == "quantile").with_columns(
    output_type=pl.lit("cdf"),
    value=pl.col("output_type_id").cast(pl.Float64),
    output_type_id=(4 * pl.col("output_type_id").cast(pl.Float64)).cast(pl.String),
)
TRUTH = pl.DataFrame(
    {
        "location": ["1", "1", "1", "2", "2"],
        "target_end_date": [f"2024-01-0{d}" for d in (1, 2, 3, 1, 2)],
        "observation": [1.5, 2.5, 1.0, 3.0, 9.0],
    }
)
CATEGORIES = pl.DataFrame(
    [
        {"location": "a", "day": str(day), "output_type": "pmf", "output_type_id": name, "value": p}
        for day in range(3)
        for name, p in zip(
            ("low", "mid", "high"), ((0.2, 0.3, 0.5), (0.5, 0.5, 0.0), (0.1, 0.1, 0.8))[day], strict=True
        )
    ]
)
LEVELS_OF = pl.DataFrame({"location": ["a"] * 3, "day": ["0", "1", "2"], "value": ["low", "high", "mid"]})
ASKED = {
    "quantiles": (HUB, TRUTH, {}, {}),
    "samples": (HUB, TRUTH, {"where": RowFilter("output_type = 'sample'")}, {}),
    "means": (HUB, TRUTH, {"where": RowFilter("output_type = 'mean'")}, {}),
    "on": (HUB, TRUTH, {"on": ["location", "target_end_date"]}, {}),
    "other date": (HUB, TRUTH.rename({"target_end_date": "date"}), {"target_date": "target_end_date"}, {}),
    "on one": (HUB, TRUTH, {"on": ["location"]}, {}),
    "no key": (HUB, TRUTH.rename({"location": "place", "target_end_date": "day"}), {}, {}),
    "no value": (HUB, TRUTH.rename({"observation": "seen"}), {}, {}),
    "named value": (HUB, TRUTH.rename({"observation": "seen"}), {"truth": "seen"}, {}),
    "twice": (HUB, pl.concat([TRUTH, TRUTH[:1]]), {}, {}),
    "versions": (
        HUB,
        pl.concat([TRUTH, TRUTH[:2].with_columns(observation=7.0)]).with_columns(as_of=pl.Series([*"1111122"])),
        {},
        {},
    ),
    "missing": (
        HUB,
        TRUTH.with_columns(observation=pl.when(pl.col("observation") > 2).then(None).otherwise("observation")),
        {},
        {},
    ),
    "targets": (HUB.with_columns(target=pl.Series(["a", "b"] * 21)), TRUTH, {}, {}),
    "cdf": (SHARES, TRUTH, {}, {}),
    "categories": (CATEGORIES, LEVELS_OF, {"ordered": True}, {"labels": ["low", "mid", "high", "top"]}),
    "categories unnamed": (CATEGORIES, LEVELS_OF, {"ordered": True}, {}),
    "other category": (
        CATEGORIES,
        LEVELS_OF.with_columns(value=pl.lit("none")),
        {"ordered": True},
        {"labels": ["low", "mid", "high"]},
    ),
    "categories by line": (
        CATEGORIES,
        CATEGORIES.select("location", "day", "output_type_id", value=pl.Series([1, 0, 0, 0, 0, 1, 0, 1, 0])),
        {"ordered": True},
        {"labels": ["low", "mid", "high"]},
    ),
    "quantiles as categories": (HUB, TRUTH, {"ordered": True}, {}),
}


@pytest.mark.parametrize("name", ASKED)
def test_files_of_hubs(name, tmp_path):
    forecasts, truth, chosen, settings = ASKED[name]
    folder = tmp_path / "hub/model-output/team-model"
    folder.mkdir(parents=True)
    forecasts.write_csv(folder / "f.csv")
    truth.write_csv(tmp_path / "truth.csv")

    def taken():
        selection = PredictiveSelection("hub", (), target_data=str(tmp_path / "truth.csv"), **chosen)
        read = read_distributions(hub_files([str(tmp_path / "hub")]), selection, FileReading(**settings))
        return repr(read.forecast), read.y, read.forecast.pit_rows(read.y) if len(read.y) else (), read.notes

    same_as_kept(KEPT, f"hub {name}", outcome(tmp_path, taken))


class Raised:
    """A map that raises all numbers by one."""

    def __call__(self, forecast):
        return forecast if isinstance(forecast, PIT) else forecast.at(forecast.numbers + 1)


MENDED = {
    "wide": (WIDE, "quantiles", ["q*"]),
    "named in another order": (WIDE, "quantiles", ["0.9=q0.9", "0.1=q0.1"]),
    "long": (LONG, "quantiles", ["level=value"]),
    "samples": (WIDE, "samples", ["m0", "m1", "m2", "m3"]),
    "whole samples": (WIDE.with_columns(pl.col("^m[0-9]$").round(0)), "samples", ["m0", "m1", "m2", "m3"]),
    "missing": (WIDE.with_columns(pl.when(pl.col("sd") > 1.5).then(pl.col("q0.1")).alias("q0.1")), "quantiles", ["q*"]),
    "family": (WIDE, "distribution", ["normal", "mean=mean", "sd=sd"]),
    "hub": (HUB, "hub", []),
    "hub of samples": (HUB.filter(pl.col("output_type") == "sample"), "hub", []),
    "hub twice": (pl.concat([HUB, HUB[:1]]), "hub", []),
}


@pytest.mark.parametrize("name", MENDED)
def test_files_with_mended_forecasts(name, tmp_path):
    frame, form, words = MENDED[name]
    path = tmp_path / "f.csv"
    frame.write_csv(path)
    found = {}
    for target, named in (("csv", "*"), ("csv", "new_*"), ("jsonl", "*")):

        def taken(target=target, named=named):
            said = []
            counts = write_mended(
                str(path),
                tmp_path / f"o.{target}",
                PredictiveSelection(form, words),
                FileReading(),
                Raised(),
                said.append,
                named,
            )
            return counts, said, (tmp_path / f"o.{target}").read_text().splitlines()

        found[f"{target} {named}"] = outcome(tmp_path, taken)
    found["of several"] = outcome(
        tmp_path,
        lambda: write_mended(
            str(tmp_path / "*.*"), tmp_path / "x.csv", PredictiveSelection(form, words), FileReading(), Raised()
        ),
    )
    same_as_kept(KEPT, f"mended {name}", found)


@pytest.mark.parametrize("kept", ["all", "half", "stretches"])
def test_dependence_in_files(kept, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    question = rng.permutation(np.arange(400) // 8)
    y = rng.random(50)[question] < 0.5 + 0.4 * np.sin(np.arange(400) / 9)
    frame = pl.DataFrame(
        {
            "y": y.astype(int),
            "p": 0.5 + 0.4 * np.sin(np.arange(400) / 9),
            "q": rng.random(400).round(2),
            "question": question,
            "group": question % 7,
        }
    )
    frame.write_csv(tmp_path / "a.csv")
    frame[:120].write_csv(tmp_path / "b.csv")
    monkeypatch.setattr("unperplexed.sources.dependence.STRETCH", 40)
    if kept != "all":
        monkeypatch.setattr("unperplexed.sources.dependence.MOST_CODES", 500 if kept == "half" else 300)
    found = {}
    for name, chosen in {
        "plain": PLAIN,
        "keys": PLAIN | {"keys": ["group"]},
        "pairs": {"pairs": ["p=y", "q=y"]},
        "none": PLAIN | {"where": RowFilter("p > 2")},
    }.items():
        files = found_files([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
        found[name] = outcome(
            tmp_path, lambda chosen=chosen, files=files: search_files(files, Selection(**chosen), FileReading())[0]
        )
    same_as_kept(KEPT, f"dependence {kept}", found)


def test_files_of_arrays(tmp_path):
    y, p = np.array([1, 0, 1]), np.array([[0.2, 0.8], [0.5, 0.5], [0.3, 0.7]])
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "p.npy", p)
    np.savez(tmp_path / "both.npz", y=y, p=p)
    np.savez(tmp_path / "more.npz", y=y, one=p[:, 1], other=p[:, 0], label=y, scores=p.astype(np.float32))
    np.savez_compressed(
        tmp_path / "deep.npz", y=y, p=np.asfortranarray(p), cube=np.zeros((3, 2, 2)), text=np.array(["a", "b", "c"])
    )
    np.save(tmp_path / "object.npy", np.array([None, 1], dtype=object))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "p.npy").read_bytes()[:-8])
    (tmp_path / "not.npy").write_text("no array")
    asked = [
        ("p.npy", {"truth": [str(tmp_path / "y.npy")]}),
        ("p.npy", {}),
        ("both.npz", {}),
        ("more.npz", {"truth": ["y"]}),
        ("more.npz", {"truth": ["y"], "prob": ["other", "one"]}),
        ("deep.npz", {"truth": ["y"], "prob": ["p"], "keys": ["text"]}),
        ("deep.npz", {"truth": ["y"], "prob": ["cube"]}),
        ("deep.npz", {"truth": ["text"], "prob": ["p"]}),
        ("object.npy", {}),
        ("cut.npy", {"truth": [str(tmp_path / "y.npy")]}),
        ("not.npy", {}),
        ("p.npy", {"truth": [str(tmp_path / "both.npz")]}),
        ("deep.npz", {"truth": ["y"], "prob": ["p"], "keys": ["cube"]}),
        ("more.npz", {"truth": ["y"], "prob": ["one", "scores"]}),
    ]
    found = {
        f"{at} {name}": outcome(
            tmp_path,
            lambda name=name, chosen=chosen: rows_of([str(tmp_path / name)], Selection(**chosen), FileReading()),
        )
        for at, (name, chosen) in enumerate(asked)
    }
    same_as_kept(KEPT, "arrays", found)


@pytest.mark.parametrize("share", [0.1, 0.37, 1.0])
def test_samples_of_parquet_files(share, tmp_path):
    pl.DataFrame({"y": np.arange(3000) % 2, "p": np.arange(3000) / 3000, "k": np.arange(3000)}).write_parquet(
        tmp_path / "f.parquet", row_group_size=700
    )
    files = ForecastFiles([str(tmp_path / "f.parquet")], Selection(**PLAIN), FileReading()).with_keys(["k"], share)
    found = [(np.asarray(batch.keys["k"]), batch.stretch, batch.first_row, batch.before) for batch in files]
    same_as_kept(KEPT, f"sample {share}", found)


def test_truths_among_numbers(tmp_path):
    found = {}
    for name, rows in {
        "all": "true,false,true",
        "late": "1,0,true",
        "early": "true,1,0",
        "empty": ",true,false",
        "case": "TRUE,False,tRue",
    }.items():
        (tmp_path / "f.csv").write_text(
            "y,p,a,b\n" + "".join(f"{each},0.5,{each},{at % 2}\n" for at, each in enumerate(rows.split(",")))
        )
        for key, chosen in {
            "outcome": PLAIN,
            "weight": PLAIN | {"weight": "a"},
            "one hot": {"truth": ["a", "b"], "prob": ["p", "p"]},
        }.items():
            found[f"{name} {key}"] = outcome(
                tmp_path,
                lambda chosen=chosen: rows_of(
                    [str(tmp_path / "f.csv")], Selection(**chosen), FileReading(options={"invalid": ["drop"]})
                ),
            )
    same_as_kept(KEPT, "truths", found)
