"""Files in batches: every format says the same however its rows fall into batches."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from unperplexed import InputError, Tally, assess
from unperplexed._lib.progress import ahead, in_turn
from unperplexed._lib.serialize import json_text
from unperplexed.calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of
from unperplexed.forecasts.group_keys import hashes_of_clusters, shard_of
from unperplexed.sources import records as arrow_records
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.readers import Options, Wanted, parquet
from unperplexed.sources.readers import text_streams as chunks
from unperplexed.sources.readers.formats import File, formats, open_source

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

N = 211
CLASSES = ("apple", "pear", "plum", "quince")
WIDE = tuple(f"{label}=p_{label}" for label in CLASSES)


@pytest.fixture
def tiny(monkeypatch):
    """Batches of a few rows."""
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 60)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 400)


@pytest.fixture(params=["whole", "tiny"])
def either(request):
    if request.param == "tiny":
        request.getfixturevalue("tiny")
    return request.param


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(len(CLASSES)), N)
    y = np.array(CLASSES)[(p.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1)]
    return y, p, rng.integers(1, 4, N)


def wide_frame(y, p, w):
    return pl.DataFrame(
        {"y": y, "note": ["a, b"] * len(y), **{f"p_{c}": p[:, j] for j, c in enumerate(CLASSES)}, "w": w}
    )


def list_frame(y, p, w):
    return pl.DataFrame({"y": y, "note": ["a, b"] * len(y), "p": p.tolist(), "w": w})


def array_frame(y, p, w):
    return list_frame(y, p, w).with_columns(pl.col("p").list.to_array(len(CLASSES)))


def gz(path):
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    return path.with_name(path.name + ".gz")


def windows_text(path, data):
    text = wide_frame(*data).write_csv().replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    return path


def decimal_comma(path, data):
    wide_frame(*data).write_csv(path, separator=";", decimal_comma=True)
    return path


def parquet_of_small_groups(path, data):
    list_frame(*data).write_parquet(path, row_group_size=17)
    return path


def npz(path, data, save=np.savez, order=np.ascontiguousarray):
    y, p, w = data
    save(path, y=y, p=order(p), w=w)
    return path


def npy(path, data, order=np.ascontiguousarray):
    np.save(path, order(data[1]))
    np.save(path.with_name("truth.npy"), data[0])
    np.save(path.with_name("heft.npy"), data[2])
    return path


def structured(path, data):
    y, p, w = data
    columns = [("y", y.dtype), *((f"p_{c}", float) for c in CLASSES), ("w", int)]
    rows = np.empty(len(y), dtype=columns)
    rows["y"], rows["w"] = y, w
    for j, c in enumerate(CLASSES):
        rows[f"p_{c}"] = p[:, j]
    np.save(path, rows)
    return path


def written(make, method, **settings):
    def write(path, data):
        getattr(make(*data), method)(path, **settings)
        return path

    return write


def packed_csv(pack):
    def write(path, data):
        path.write_bytes(pack(wide_frame(*data).write_csv().encode()))
        return path

    return write


FORMATS = {
    "f.csv": written(wide_frame, "write_csv"),
    "f.tsv": written(wide_frame, "write_csv", separator="\t"),
    "f.txt": windows_text,
    "f.csv.gz": lambda path, data: gz(written(wide_frame, "write_csv")(path.with_suffix(""), data)),
    "f.csv.bz2": packed_csv(bz2.compress),
    "f.csv.xz": packed_csv(lzma.compress),
    "f.csv.zst": packed_csv(lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    "quoted.csv": written(wide_frame, "write_csv", quote_style="always"),
    "comma.csv": decimal_comma,
    "wide.jsonl": written(wide_frame, "write_ndjson"),
    "list.ndjson": written(list_frame, "write_ndjson"),
    "list.jsonl.gz": lambda path, data: gz(written(list_frame, "write_ndjson")(path.with_suffix(""), data)),
    "wide.parquet": written(wide_frame, "write_parquet"),
    "list.parquet": written(list_frame, "write_parquet"),
    "array.parquet": written(array_frame, "write_parquet"),
    "groups.parquet": parquet_of_small_groups,
    "wide.arrow": written(wide_frame, "write_ipc"),
    "list.feather": written(list_frame, "write_ipc", compression="zstd"),
    "array.ipc": written(array_frame, "write_ipc_stream"),
    "f.npz": npz,
    "packed.npz": lambda path, data: npz(path, data, np.savez_compressed),
    "columns.npz": lambda path, data: npz(path, data, np.savez_compressed, np.asfortranarray),
    "p.npy": npy,
    "columns.npy": lambda path, data: npy(path, data, np.asfortranarray),
    "structured.npy": structured,
}


def selection(path, weight):
    if path.suffix == ".npy" and path.stem != "structured":
        truth, heft = (str(path.with_name(name)) for name in ("truth.npy", "heft.npy"))
        return Selection([truth], [path.stem], (), heft if weight else None)
    listed = path.name.split(".")[0] in ("list", "array", "groups") or path.suffix == ".npz"
    return Selection(["y"], ["p"] if listed else WIDE, (), "w" if weight else None)


def reading(path, **settings):
    if path.name.startswith("comma"):
        settings |= {"separator": ";", "decimal_comma": True}
    if not any("=" in text for text in selection(path, False).prob):
        settings["labels"] = CLASSES
    return FileReading(**settings)


def tally(paths, chosen, read=None, progress=None):
    files = ForecastFiles([str(path) for path in paths], chosen, read or FileReading(), progress)
    return sum((Tally.count(forecasts) for batch in files for forecasts in batch.forecasts), Tally())


def but_for_the_diagnosis(assessment):
    """All that is told of an assessment by its counts, which have no order that may tell of dependence."""
    told = assessment.to_dict()
    del told["dependence"]
    assert told.pop("diagnosis")["verdict"] == told.pop("verdict")
    return json_text(told, 2)


def diagnosed(paths, chosen, read=None):
    """What the rows of files are found to be, which are read again each time."""

    def chunks():
        for batch in ForecastFiles([str(path) for path in paths], chosen, read or FileReading()):
            yield from batch.forecasts

    return diagnosis_of_rows(rows_of(chunks, numbered=len(paths) == 1), CLASSES)


def first_error(paths, chosen, read=None):
    with pytest.raises(InputError) as caught:
        tally(paths, chosen, read)
    return str(caught.value)


@pytest.fixture(scope="module")
def of_arrays(rows):
    """What is found of the rows in memory: their diagnosis, and figures with weights."""
    y, p, w = rows
    weighted = Tally.of(y, p, labels=CLASSES, sample_weight=w)
    return assess(y, p, labels=CLASSES, resamples=0).diagnosis.to_dict(), assess(weighted, resamples=0).metrics()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same(tmp_path, either, of_arrays, rows, name):
    path = FORMATS[name](tmp_path / name, rows)
    diagnosis, weighted = of_arrays
    counts = tally([path], selection(path, False), reading(path))
    assert counts.to_bytes() == Tally.of(rows[0], rows[1], labels=CLASSES, source=str(path)).to_bytes()
    if either == "tiny" and name in ("f.csv", "wide.jsonl", "groups.parquet", "list.feather", "packed.npz", "p.npy"):
        assert diagnosed([path], selection(path, False), reading(path)).to_dict() == diagnosis
    found = assess(tally([path], selection(path, True), reading(path)), resamples=0).metrics()
    assert found == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("name", FORMATS)
def test_batches_follow_one_another_and_progress_ends_at_the_file_s_size(tmp_path, tiny, rows, name):
    path = FORMATS[name](tmp_path / name, rows)
    calls = []
    files = ForecastFiles([str(path)], selection(path, False), reading(path), lambda *progress: calls.append(progress))
    batches = list(files)
    assert len(batches) > 3
    assert [batch.first_row for batch in batches] == np.cumsum(
        [0, *(batch.forecasts[0].n_rows for batch in batches[:-1])]
    ).tolist()
    assert {batch.source for batch in batches} == {str(path)}
    size = path.stat().st_size
    done = [n_bytes for _, n_bytes, _ in calls]
    assert done == sorted(done)
    assert calls[-1][0] == N
    assert {total for *_, total in calls} == {size}
    assert done[-1] == pytest.approx(size, abs=100)  # some formats end in an index
    assert [batch.first_row for batch in files] == [batch.first_row for batch in batches]  # twice the same


@pytest.mark.slow
def test_several_files_and_patterns(tmp_path, either, rows):
    y, p, _ = rows
    whole = assess(y, p, labels=CLASSES, resamples=0)
    expected, diagnosis = but_for_the_diagnosis(whole), whole.diagnosis

    def counted(*arguments):
        return but_for_the_diagnosis(assess(tally(*arguments), resamples=0))

    for number, start in enumerate(range(0, N, 60)):
        written(wide_frame, "write_parquet")(tmp_path / f"part{number}.parquet", [x[start : start + 60] for x in rows])
    pattern = tmp_path / "part*.parquet"
    assert counted([pattern], Selection(["y"], WIDE)) == expected
    parts = sorted(tmp_path.glob("part*.parquet"))
    assert counted(parts, Selection(["y"], WIDE)) == expected
    found = diagnosed(parts, Selection(["y"], WIDE))
    assert (found.verdict, found.errors, found.p_value) == (diagnosis.verdict, diagnosis.errors, diagnosis.p_value)
    written(wide_frame, "write_csv")(tmp_path / "part0.csv", [x[:60] for x in rows])
    mixed = [tmp_path / "part0.csv", *parts[1:]]
    assert counted(mixed, Selection(["y"], WIDE)) == expected
    assert "no file matches" in first_error([tmp_path / "x*.parquet"], Selection(["y"], WIDE))
    assert "is named twice" in first_error([pattern, parts[0]], Selection(["y"], WIDE))
    pl.DataFrame({"y": ["apple"], "p_apple": [1.0]}).write_csv(tmp_path / "other.csv")
    message = first_error([*parts, tmp_path / "other.csv"], Selection(["y"], WIDE))
    assert message.startswith(f"{tmp_path / 'other.csv'}: no column 'p_pear'")


@pytest.mark.slow
def test_pairs_and_one_hot_rows(tmp_path, either):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"p": rng.uniform(size=99), "q": rng.uniform(size=99)}).with_columns(
        a=pl.col("p") > 0.4, b=(pl.col("q") > 0.5).cast(int), c=(pl.col("q") <= 0.5).cast(int), not_q=1 - pl.col("q")
    )
    both = assess(
        np.concatenate([frame["a"], frame["b"]]).astype(int), np.concatenate([frame["p"], frame["q"]])
    ).metrics()
    for suffix in ("csv", "parquet", "ndjson"):
        path = tmp_path / f"f.{suffix}"
        getattr(frame, f"write_{suffix}")(path)
        assert assess(tally([path], Selection(pairs=["p=a", "q=b"]))).metrics() == pytest.approx(both, rel=1e-12)
        one_hot = tally([path], Selection(["c", "b"], ["c=not_q", "b=q"]))
        assert assess(one_hot).metrics() == pytest.approx(assess(frame["b"], frame["q"]).metrics(), rel=1e-12)


SPELLINGS = {
    "a label seen late": (["no"] * 60 + ["yes"], ["no"] * 60 + ["yes"], {"pos_label": "yes"}),
    "numbers, then words": (["1"] * 60 + ["draw"], ["1"] * 60 + ["draw"], {"pos_label": "draw"}),
    "numbers spelled in two ways": (["1"] * 30 + ["01", "1.0", "0", ""] * 8, [1] * 30 + [1, 1, 0, None] * 8, {}),
    "true and false": (["true"] * 60 + ["False"], [True] * 60 + [False], {}),
    "true, then words": (["true"] * 60 + ["maybe"], ["true"] * 60 + ["maybe"], {"pos_label": "maybe"}),
    "missing late": (["1"] * 60 + ["NA", "0", "NaN"], [1] * 60 + [None, 0, None], {}),
    "NA among words": (["BR"] * 60 + ["NA"], ["BR"] * 60 + ["NA"], {"pos_label": "NA"}),
    "minus one late": (["1"] * 60 + ["-1"], [1] * 60 + [-1], {}),
    "only ones": (["1"] * 60, [1] * 60, {}),
}


@pytest.mark.parametrize("case", SPELLINGS)
@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_what_outcomes_are_does_not_depend_on_batches(tmp_path, either, case, suffix):
    spelled, meant, settings = SPELLINGS[case]
    p = np.random.default_rng(1).uniform(size=len(meant))
    path = tmp_path / f"f.{suffix}"
    getattr(pl.DataFrame({"y": spelled, "p": p}), f"write_{suffix}")(path)
    found = tally([path], Selection(["y"], ["p"]), FileReading(**settings, options={"invalid": "drop"}))
    expected = assess(meant, p, invalid="drop", resamples=0, **settings)
    assert assess(found, resamples=0).metrics() == expected.metrics()
    assert found.labels == expected.labels


OUTCOMES = {
    "zeros and ones": ([0, 1, 1, 0] * 20, pl.Int64, [0, 1]),
    "unsigned": ([0, 1, 1, 0] * 20, pl.UInt32, [0, 1]),
    "true and false": ([True, False] * 40, pl.Boolean, [False, True]),
    "one of them in a late row group": ([1] * 70 + [2] * 10, pl.Int8, [1, 2]),
    "three, two in each row group": ([0, 1] * 25 + [1, 2] * 15, pl.Int16, [0, 1, 2]),
    "two that are not neighbours": ([0, 2] * 40, pl.Int64, None),
    "three in a row group": ([0, 1, 2, 1] * 20, pl.Int64, None),
    "below zero": ([-1, 0] * 40, pl.Int64, None),
    "missing": ([0, 1, None, 1] * 20, pl.Int64, None),
    "a row group of missing ones": ([0, 1] * 25 + [None] * 30, pl.Int64, None),
    "beyond a signed number": ([2**63 - 1, 2**63] * 40, pl.UInt64, None),
    "not whole": ([0.0, 1.0] * 40, pl.Float64, None),
    "text": (["0", "1"] * 40, pl.String, None),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_parquet_s_statistics_tell_outcomes_only_where_reading_would_find_the_same(tmp_path, either, case):
    outcomes, dtype, known = OUTCOMES[case]
    p = np.random.default_rng(1).uniform(size=len(outcomes))
    frame = pl.DataFrame({"y": pl.Series(outcomes, dtype=dtype), "p": p, "a": p / 2, "b": p / 2, "c": 1 - p})
    told, silent = tmp_path / "told.parquet", tmp_path / "silent.parquet"
    frame.write_parquet(told, row_group_size=50)
    frame.write_parquet(silent, row_group_size=50, statistics=False)
    sources = [parquet.open_parquet(path, None) for path in (told, silent)]
    found, nothing = (source.values("y") for source in sources)
    assert nothing is None
    assert (found is None) == (known is None)
    if found is not None:
        assert found.to_list() == known
    three = len({y for y in outcomes if y is not None}) == 3
    selection = Selection(["y"], ["a", "b", "c"] if three else ["p"])

    def outcome(path):
        try:
            counted = tally([path], selection, FileReading(options={"invalid": "drop"}))
        except InputError as error:
            return str(error).replace(str(path), "")
        return counted.labels, assess(counted).metrics()

    assert outcome(told) == outcome(silent)


def test_columns_of_one_name_are_refused_with_statistics_or_without(tmp_path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}).write_parquet(one)
    table = pa.table([pa.array([0, 1]), pa.array([0, 1]), pa.array([0.2, 0.7])], names=["y", "y", "p"])
    pa.parquet.write_table(table, two)
    message = "the file has column 'y' 2 times; rename one"
    assert message in first_error([two], Selection(["y"], ["p"]))
    assert message in first_error([one, two], Selection(["y"], ["p"]))


def test_statistics_that_are_wrong_are_found_out(tmp_path, tiny, monkeypatch):
    path = tmp_path / "f.parquet"
    pl.DataFrame({"y": [0, 1] * 40 + [7], "p": 0.5}).write_parquet(path)
    monkeypatch.setattr("unperplexed.sources.readers.parquet._two_values", lambda *_: pl.Series([0, 1]))
    assert "outcomes that are no class: 1 × 7" in first_error([path], Selection(["y"], ["p"]))


def test_label_rules_see_all_batches(tmp_path, either):
    p = np.full((90, 2), 0.5)
    path = tmp_path / "f.parquet"
    pl.DataFrame({"y": ["b"] * 80 + ["a"] * 10, "p": p.tolist()}).write_parquet(path)
    assert tally([path], Selection(["y"], ["p"])).labels == ("a", "b")  # as in scikit-learn
    pl.DataFrame({"y": ["b"] * 80 + ["a"] * 10, "a": p[:, 0]}).write_parquet(path)
    assert tally([path], Selection(["y"], ["a"])).labels == ("b", "a")  # the column's name
    pl.DataFrame({"y": ["b"] * 80 + ["a"] * 10, "p": p[:, 0]}).write_parquet(path)
    message = first_error([path], Selection(["y"], ["p"]))
    assert message.startswith(f"{path}: y: the positive class does not follow from the labels 'b', 'a'")


def test_too_many_labels(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.outcomes.MOST_LABELS", 50)
    path = tmp_path / "f.parquet"
    pl.DataFrame({"y": np.arange(100) / 100, "p": 0.5}).write_parquet(path)
    assert "y: more than 50 different values. Is that the outcome?" in first_error([path], Selection(["y"], ["p"]))


def broken(path, column, row, value):
    frame = pl.DataFrame({"y": ["1", "0"] * 50, "p": ["0.5"] * 100, "w": ["1"] * 100})
    values = frame[column].to_list()
    values[row] = value
    frame = frame.with_columns(pl.Series(column, values))
    if path.suffix != ".csv":
        frame = frame.with_columns(pl.col("p", "w").cast(float), pl.col("y").cast(int))
    getattr(frame, f"write_{path.suffix[1:]}")(path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "ndjson"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("p", "1.5", r"p: above 1 in 1 row (47; counted from 0), column 'p', for example 1.5"),
        ("p", "", "p: NaN in 1 row (47; counted from 0)"),
        ("y", "", "y: no label in 1 row (47; counted from 0)"),
        ("y", "7", "y: outcomes that are no class: 1 × 7, in 1 row (47; counted from 0); the classes are 0, 1."),
        ("w", "-1", "w: a negative weight in 1 row (47; counted from 0)"),
    ],
)
def test_rows_are_named_as_in_the_file(tmp_path, either, suffix, column, value, message):
    if suffix != "csv" and value == "":
        value = None
    path = broken(tmp_path / f"f.{suffix}", column, 47, value)
    said = first_error([path], Selection(["y"], ["p"], (), "w"))
    assert said.startswith(f"{path}: {message}")
    assert ("were not checked" in said) == (either == "tiny")
    if either == "tiny":
        assert 47 < int(said.split("Rows from ")[1].split(" on were not checked.")[0]) < 100
    other = broken(tmp_path / f"a.{suffix}", "p", 0, "0.25")
    assert first_error([other, path], Selection(["y"], ["p"], (), "w")).startswith(f"{path}: {message}")


def test_numbers_spelled_otherwise_name_their_remedy(tmp_path, either):
    """The remedy, and nothing that would not help."""
    selection = Selection(["y"], ["p"])
    said = {text: first_error([broken(tmp_path / "f.csv", "p", 47, text)], selection) for text in ("37,8", "70%", "?")}
    assert "--decimal-comma" in said["37,8"]
    assert "percent" not in said["37,8"]
    assert 'Percentages are read with scale="percent" (--scale percent)' in said["70%"]
    assert "decimal" not in said["70%"]
    assert "(--na --invalid drop)" in said["?"]
    assert "decimal" not in said["?"]
    both = first_error([broken(tmp_path / "f.csv", "p", 47, "37,8 %")], selection)
    assert "--decimal-comma" in both
    assert "--scale percent" in both


def test_text_among_numbers_is_named_by_row(tmp_path, either):
    path = broken(tmp_path / "f.csv", "p", 47, "50%")
    assert "p: not a number in 1 row (47; counted from 0), column 'p', for example '50%'" in first_error(
        [path], Selection(["y"], ["p"])
    )
    path = broken(tmp_path / "f.csv", "p", 47, "true")  # true and false are numbers in a column of nothing else
    assert "p: not a number in 1 row (47; counted from 0), column 'p', for example 'true'" in first_error(
        [path], Selection(["y"], ["p"])
    )
    frame = pl.DataFrame({"y": [1, 0] * 50, "p": ["true", "false"] * 50})
    frame.write_csv(path)
    assert tally([path], Selection(["y"], ["p"])).prediction_accuracy == 1
    frame.with_columns(pl.Series("p", ["true"] * 47 + ["0.5"] * 53)).write_csv(path)
    assert "not a number in 47 rows (0, 1," in first_error([path], Selection(["y"], ["p"]))


def text(name, content):
    def make(folder, _):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path, Selection(["y"], ["p"])

    return make


def half(name):
    def make(folder, data):
        path = FORMATS[name](folder / name, [np.concatenate([x] * 20) for x in data])
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return path, selection(path, False)

    return make


def flipped(name, at=0.5):
    def make(folder, data):
        path = FORMATS[name](folder / name, data)
        content = bytearray(path.read_bytes())
        content[int(len(content) * at)] ^= 255
        path.write_bytes(content)
        return path, selection(path, False)

    return make


def flipped_page(folder, _):
    """Without the checksums, which writers leave out unless asked, a change of the values would go unseen."""
    path = folder / "f.parquet"
    table = pa.table({"y": [1, 0] * 500, "p": np.random.default_rng(0).uniform(size=1000)})
    pyarrow.parquet.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path, Selection(["y"], ["p"])


def lists(values, suffix="parquet"):
    def make(folder, _):
        path = folder / f"f.{suffix}"
        frame = pl.DataFrame(
            {"y": [0, 1] * (len(values) // 2), "p": values}, schema_overrides={"p": pl.List(pl.Float64)}
        )
        getattr(frame, f"write_{suffix}")(path)
        return path, Selection(["y"], ["p"])

    return make


def words_in_lists(folder, _):
    pl.DataFrame({"y": [0], "p": [["a", "b"]]}).write_parquet(folder / "f.parquet")
    return folder / "f.parquet", Selection(["y"], ["p"])


def pickled(folder, _):
    np.save(folder / "p.npy", np.array([{}, 1], dtype=object))
    np.save(folder / "truth.npy", np.array([1, 0]))
    return folder / "p.npy", Selection([str(folder / "truth.npy")], ["p"])


def lengths(folder, _):
    np.savez(folder / "f.npz", y=np.array([1, 0, 1]), p=np.array([0.5, 0.5]))
    return folder / "f.npz", Selection(["y"], ["p"])


def single(folder, _):
    np.savez(folder / "f.npz", y=np.array([1]), p=np.float64(0.5))
    return folder / "f.npz", Selection(["y"], ["p"])


def twice(folder, _):
    table = pa.table([pa.array([1, 0]), pa.array([0.5, 0.5]), pa.array([0.5, 0.5])], names=["y", "p", "p"])
    pyarrow.parquet.write_table(table, folder / "f.parquet")
    return folder / "f.parquet", Selection(["y"], ["p"])


ROWS = '{"y": 1, "p": 0.5}\n' * 50
BAD = {
    "JSON cut off": (text("f.jsonl", ROWS + '{"y": 1, "p": 0.\n' + ROWS), "line 51 is not JSON: "),
    "JSON that is no object": (text("f.jsonl", ROWS + "[1, 0.5]\n"), "line 51 holds a list, not an object"),
    "JSON with words for numbers": (
        text("f.jsonl", ROWS + '{"y": 1, "p": "high"}\n'),
        "p: not a number in 1 row (50; counted from 0), column 'p', for example 'high'",
    ),
    "JSON with a list for a number": (
        text("f.jsonl", ROWS + '{"y": 1, "p": [0.5]}\n' * 60),
        "column 'p' holds a number at row 0 (counted from 0), lists",
    ),
    "JSON with a list for a label": (
        text("f.jsonl", ROWS + ROWS + ROWS + '{"y": [1], "p": 0.5}\n'),
        "column 'y' holds a list at row 150 (counted from 0), not a label",
    ),
    "JSON in one list": (text("f.jsonl", '[{"y": 1, "p": 0.5}]'), "line 1 holds a list"),
    "JSON that is not UTF-8": (text("f.jsonl", ROWS.encode() + b'{"y": "\xe9"}\n'), "line 51 is not UTF-8"),
    "JSON without the column": (text("f.jsonl", '{"y": 1, "q": 0.5}\n'), "no column 'p'"),
    "NaN in JSON": (text("f.jsonl", ROWS + '{"y": 1, "p": NaN}\n'), "p: NaN in 1 row (50; counted from 0)"),
    "ragged lists": (
        lists([[0.5, 0.5]] * 61 + [[0.5]] * 3),
        "column 'p': the list in row 61 (counted from 0) has 1 values, those before it have 2",
    ),
    "ragged lists of JSON": (
        lists([[0.5, 0.5]] * 61 + [[0.5]] * 3, "ndjson"),
        "column 'p': the list in row 61 (counted from 0) has 1 values, those before it have 2",
    ),
    "nulls in lists": (lists([[0.5, 0.5]] * 61 + [[0.5, None]]), "p: NaN in 1 row (61; counted from 0)"),
    "nulls for lists": (lists([[0.5, 0.5]] * 61 + [None]), "p: NaN in 1 row (61; counted from 0)"),
    "nulls for lists of JSON": (lists([[0.5, 0.5]] * 61 + [None], "ndjson"), "p: NaN in 1 row (61; counted"),
    "words in lists": (words_in_lists, "column 'p' holds lists of "),
    "a column twice": (twice, "the file has column 'p' 2 times"),
    "pickled NPY": (pickled, "array 'p' holds pickled Python objects, which can run code when read; refused"),
    "arrays of different lengths": (lengths, "y has 3 rows, p 2; each forecast needs its outcome"),
    "a single value": (single, "array 'p' is a single value"),
    "truncated gzip": (half("f.csv.gz"), "not a readable gzip file, perhaps truncated"),
    "truncated gzip of JSON": (half("list.jsonl.gz"), "not a readable gzip file, perhaps truncated"),
    "flipped gzip": (flipped("f.csv.gz"), "not a readable gzip file, perhaps truncated"),
    "truncated Parquet": (half("list.parquet"), "not a readable Parquet file, perhaps truncated"),
    "truncated Arrow": (half("wide.arrow"), "not a readable Arrow file, perhaps truncated"),
    "truncated Arrow stream": (half("array.ipc"), "not a readable Arrow file, perhaps truncated"),
    "flipped Arrow": (flipped("list.feather", 0.98), "not a readable Arrow file"),
    "flipped Parquet": (flipped("list.parquet", 0.98), "not a readable Parquet file"),
    "flipped Parquet with checksums": (flipped_page, "not a readable Parquet file"),
    "text as Arrow": (text("f.arrow", "y,p\n1,0.5\n"), "not a readable Arrow file"),
    "truncated NPZ": (half("packed.npz"), "not a readable NPZ file, perhaps truncated"),
    "flipped NPZ": (flipped("f.npz", 0.9), "not a readable NPZ file"),
    "truncated NPY": (half("p.npy"), "not a readable NPY file, perhaps truncated"),
    "truncated NPY by column": (half("columns.npy"), "not a readable NPY file, perhaps truncated"),
    "too many fields late": (text("f.csv", "y,p\n" + "1,0.5\n" * 200 + "1,0,5\n" + "1,0.5\n" * 99), "line 202 has 3"),
    "too many fields after quotes": (
        text("f.csv", "y,p,t\n" + '1,0.5,"a\n,\nb"\n' * 200 + "1,0,5,\n"),
        "line 602 has 4 fields, the header 3",
    ),
    "not UTF-8 late": (text("f.csv", b"y,p,t\n" + b"1,0.5,\n" * 200 + b"1,0.5,\xe9\n"), "line 202 is not UTF-8"),
    "a quote never closed": (
        text("f.csv", "y,p,t\n1,0.5,a\n" + '1,0.5,"b\n' + "1,0.5,c\n" * 2000),
        "line 3",
    ),
    "old line ends": (text("f.csv", "y,p\r1,0.5\r0,0.5\r"), "carriage returns alone"),
    "decimal comma of JSON": (text("f.jsonl", ROWS), "only CSV and TSV spell numbers, this is read as jsonl"),
    "decimal comma between commas": (text("f.csv", "y,p\n1,0.5\n"), "--separator , reads those that are quoted"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_why(tmp_path, either, rows, case):
    make, message = BAD[case]
    path, chosen = make(tmp_path, rows)
    read = (
        FileReading(labels=CLASSES)
        if chosen.prob == ["p"] and path.suffix != ".jsonl" and "f." not in path.name
        else FileReading()
    )
    if case.startswith("decimal comma"):
        read = FileReading(decimal_comma=True)
    if path.suffix == ".npy":
        read = FileReading(labels=CLASSES) if "pickled" not in case else FileReading()
    said = first_error([path], chosen, read)
    assert said.startswith(f"{path}: ")
    assert message in said
    assert "\n" not in said


def test_a_quote_never_closed_is_named_before_it_takes_in_the_file(tmp_path, tiny):
    path, chosen = BAD["a quote never closed"][0](tmp_path, None)
    assert "line 3 begins a record of more than" in first_error([path], chosen)


def test_formats_by_name(tmp_path, rows):
    path = written(wide_frame, "write_csv")(tmp_path / "f.dat", rows)
    assert tally([path], Selection(["y"], WIDE), FileReading(format="csv")).n_rows == N
    assert "known are csv, tsv, jsonl, parquet, arrow, npz, npy, pt, spreadsheet" in first_error(
        [path], Selection(["y"], WIDE), FileReading(format="xml")
    )
    assert "--format" in first_error([path], Selection(["y"], WIDE))
    assert "cannot tell the format from '.gz'" in first_error([gz(path)], Selection(["y"], WIDE))


STANDARD_INPUT = [
    "f.csv",
    "f.csv.gz",
    "list.jsonl.gz",
    "wide.parquet",
    "array.ipc",
    "f.npz",
]


@pytest.mark.parametrize(
    "name",
    [name if name in ("f.csv", "array.ipc") else pytest.param(name, marks=pytest.mark.slow) for name in STANDARD_INPUT],
)
def test_standard_input(tmp_path, rows, name):
    path = FORMATS[name](tmp_path / name, rows)
    chosen = selection(path, False)
    labels = [] if "=" in chosen.prob[0] else ["--labels", *CLASSES]
    command = [sys.executable, "-m", "unperplexed", "assess", "-", "--truth", *chosen.truth, "--prob", *chosen.prob]
    with path.open("rb") as stream:
        done = subprocess.run(
            [*command, *labels, "--resamples", "0", "--json", "-"],
            stdin=stream,
            capture_output=True,
            check=False,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_rows"] == N
    form = {"csv": "csv", "txt": "csv", "jsonl": "jsonl", "ipc": "arrow"}.get(name.split(".")[1], name.split(".")[1])
    assert done.stderr.decode() == f"unperplexed: standard input read as {form}\n"
    assert list(tmp_path.glob(".unperplexed-*")) == []


def test_standard_input_of_a_named_format_and_without_any(monkeypatch, rows):
    def given(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    content = wide_frame(*rows).write_csv(separator="\t").encode()
    given(content)
    assert tally(["-"], Selection(["y"], WIDE), FileReading(format="tsv")).n_rows == N
    given(b"")
    assert first_error(["-"], Selection(["y"], WIDE)) == "standard input: is empty."
    given(content.replace(b"\t0.", b"\t9.", 1))
    assert first_error(["-"], Selection(["y"], WIDE), FileReading(separator="\t")).startswith("standard input: probab")


def test_a_named_pipe_is_read_once(tmp_path, rows):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = wide_frame(*rows).write_csv().encode()
    writer = threading.Thread(target=lambda: path.write_bytes(content))
    writer.start()
    said = []
    files = ForecastFiles([str(path)], Selection(["y"], WIDE), FileReading(), say=said.append)
    writer.join()
    assert said == [f"{path} read as csv"]
    assert sum(batch.forecasts[0].n_rows for batch in files) == N


@pytest.mark.parametrize("names", [["match"], ["half", "match"]])
def test_rows_of_a_group_are_in_one_shard(tmp_path, tiny, names):
    path = tmp_path / "f.parquet"
    columns = {"match": np.arange(100) // 7, "half": np.where(np.arange(100) % 2, "first", "second")}
    pl.DataFrame({"y": [0, 1] * 50, "p": 0.5, **columns}).write_parquet(path)
    files = ForecastFiles([str(path)], Selection(["y"], ["p"], clusters=names), FileReading())
    found = [f.shards(batch.first_row + np.arange(f.n_rows)) for batch in files for f in batch.forecasts]
    assert len(found) > 1
    hashes = hashes_of_clusters({name: columns[name] for name in names})
    assert np.concatenate(found).tolist() == shard_of(hashes).tolist()
    assert "no column 'mtch'; did you mean 'match'" in first_error([path], Selection(["y"], ["p"], clusters=["mtch"]))
    assert "column 'match' is named twice" in first_error([path], Selection(["y"], ["p"], clusters=["match"] * 2))


def test_shards_do_not_depend_on_batches(tmp_path, rows, either):
    path = written(wide_frame, "write_csv")(tmp_path / "f.csv", rows)
    files = ForecastFiles([str(path)], Selection(["y"], WIDE), FileReading())
    index = [block.index for batch in files for block in batch.forecasts[0].blocks()]
    assert np.concatenate(index).tolist() == list(range(N))


@pytest.mark.parametrize("name", ["f.csv", "wide.jsonl", "list.parquet", "list.feather", "packed.npz", "p.npy"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, rows, monkeypatch, name):
    """Python's and NumPy's memory, that is: the readers' own buffers are theirs to bound."""
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 2000)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 20_000)
    peaks = []
    for times in (40, 240):
        data = [np.concatenate([x] * times) for x in rows]
        path = FORMATS[name](tmp_path / name, data)
        del data
        files = ForecastFiles([str(path)], selection(path, False), reading(path))
        tracemalloc.start()
        assert sum(batch.forecasts[0].n_rows for batch in files) == N * times
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 100_000  # of data that grew by 1.4 MB


def test_formats_are_found():
    assert {"csv", "tsv", "jsonl", "parquet", "arrow", "npz", "npy"} <= formats().keys()
    suffixes = [suffix for each in formats().values() for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    with pytest.raises(InputError) as error:
        open_source(File("x.xlsx", Path(__file__)), None, Options(), print)
    assert all(suffix in str(error.value) for suffix in suffixes)
    with pytest.raises(InputError) as error:
        open_source(File("x.csv", Path(__file__)), "xlsx", Options(), print)
    assert str(error.value) == f"--format xlsx: known are {', '.join(formats())} (of output: --json -)."


def test_record_batches_are_joined_and_cut(monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 8)
    schema = pa.schema([("y", pa.int64())])
    records = [pa.record_batch([pa.array([k])], schema=schema) for k in range(10)]
    assert [record.num_rows for record in arrow_records.gather(records, 6)] == [3, 3, 3, 1]
    (long,) = pa.table({"y": range(20)}).to_batches()
    assert [record.num_rows for record in arrow_records.sliced([long])] == [8, 8, 4]


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("unperplexed-reader")]


def test_work_ahead_is_one_item_ahead_in_order_and_leaves_no_thread():
    made = []

    def items():
        for k in range(5):
            made.append(k)
            yield k

    seen = []
    for k in ahead(items()):
        seen.append(k)
        assert max(made) <= k + 1
        assert len(readers()) == 1
    assert seen == list(range(5))
    assert readers() == []


def test_streams_ahead_come_in_turn_and_few_items_wait():
    made = [0] * 6

    def stream(number):
        for k in range(5 if number != 3 else 0):
            made[number] += 1
            yield number, k

    taken = 0
    for number, k in in_turn((partial(stream, number) for number in range(6)), 3, 2):
        assert (number, k) == ([0, 1, 2, 4, 5][taken // 5], taken % 5)
        assert made[number] <= k + 3
        assert all(count <= 2 for count in made[number + 1 :])
        assert len(readers()) <= 3
        taken += 1
    assert taken == 25
    assert readers() == []


@pytest.mark.parametrize("error", [InputError("bad"), KeyboardInterrupt()])
def test_streams_ahead_end_with_an_error_at_its_place(error):
    closed = []

    def stream(number):
        try:
            for k in range(3):
                if number == 2:
                    raise error
                yield number, k
        finally:
            closed.append(number)

    taken = []
    with pytest.raises(type(error)):
        taken.extend(in_turn((partial(stream, number) for number in range(9)), 3, 1))
    assert taken == [(number, k) for number in (0, 1) for k in range(3)]
    loop = in_turn((partial(stream, number) for number in (0, 1, 3, 4)), 3, 1)
    assert next(loop) == (0, 0)
    with pytest.raises(type(error)):
        loop.throw(error)
    assert readers() == []
    assert sorted(closed)[:4] == [0, 0, 1, 1]


@pytest.mark.parametrize("error", [InputError("bad"), KeyboardInterrupt(), MemoryError()])
def test_work_ahead_ends_with_an_error(error):
    closed = []

    def items(wrong):
        try:
            yield 1
            if wrong:
                raise error
            yield 2
            yield 3
        finally:
            closed.append(True)

    with pytest.raises(type(error)):
        list(ahead(items(True)))
    loop = ahead(items(False))
    next(loop)
    with pytest.raises(type(error)):
        loop.throw(error)
    assert readers() == []
    assert closed == [True, True]


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(("n", "share"), [(30, 0.5), (20_000, 0.1), (20_000, 0.02)])
def test_a_sample_is_of_stretches_of_successive_rows_from_all_over(form, n, share, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 13)
    monkeypatch.setattr(parquet, "_PLACE", 500)
    monkeypatch.setattr(parquet, "_STRETCH", 20)
    text = [f'"{at}\n"' for at in range(n)]  # a line end in quotes is no row
    frame = pl.DataFrame({"row": np.arange(n), "p": np.arange(n) / n, "list": [[0.5, at] for at in range(n)]})
    path = tmp_path / f"f.{form}"
    if form == "csv":
        frame = frame.drop("list").with_columns(pl.Series("text", text))
    getattr(frame, f"write_{form}")(path)
    source = open_source(File(str(path), path), None, Options(), str)
    names = ["p"] if form == "csv" else ["list"]
    (batch,) = source.sampled(Wanted([names], ["p"], ["row"]), share)
    row = batch.raw["row"].cast(pl.Int64).to_numpy()
    assert source.rows == pytest.approx(n, rel=0.1)
    assert row.size == pytest.approx(share * n, rel=0.3)
    np.testing.assert_array_equal(np.asarray(batch.numbers["p"]), row / n)
    last = batch.probabilities[0].parts[0].reshape(row.size, -1)[:, -1]
    np.testing.assert_array_equal(last, row / n if form == "csv" else row)
    assert (np.diff(row) > 0).all()
    assert {*np.diff(row)[np.diff(batch.stretch) == 0]} == {1}
    assert row[0] < n / 4
    assert row[-1] > (0.6 if n > 100 else 0.4) * n  # few rows are one chunk
