import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers import without_dependence
from unperplexed import InputError, Tally, assess
from unperplexed._lib.output_files import check_output, write_whole
from unperplexed.forecasts.labels import plain
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.readers import Options
from unperplexed.sources.readers.formats import File, open_source

Y = ["yes", "no", "yes", "yes", "no"]
P = [0.9, 0.2, 0.4, 0.7, 0.5]
EXPECTED = [0.9, 0.8, 0.4, 0.7, 0.5]


def read(path, truth=(), prob=(), pairs=(), weight=None, **settings):
    options = {key: settings.pop(key) for key in ("scale", "invalid") if key in settings}
    said = []
    reading = FileReading(**settings, options=options)
    batches = [*ForecastFiles([str(path)], Selection(truth, prob, pairs, weight), reading, say=said.append)]
    assert len(batches) == max(1, len(pairs))
    found = [forecasts for batch in batches for forecasts in batch.forecasts]
    for forecasts in found:
        list(forecasts.blocks())
    return found, said


def correct(*arguments, **settings):
    (forecasts,), _ = read(*arguments, **settings)
    return forecasts.correct_class_probabilities()[0]


def write_csv(path, y=Y, p=P):
    pl.DataFrame({"id": range(len(y)), "what": y, "chance": p}).write_csv(path)
    return path


def write_tsv(path, y=Y, p=P):
    pl.DataFrame({"id": range(len(y)), "what": y, "chance": p}).write_csv(path, separator="\t")
    return path


def write_parquet(path, y=Y, p=P):
    pl.DataFrame({"id": range(len(y)), "what": y, "chance": p}).write_parquet(path)
    return path


def write_npz(path, y=Y, p=P):
    np.savez(path, what=np.array(y), chance=np.array(p))
    return path


WRITERS = {".csv": write_csv, ".tsv": write_tsv, ".parquet": write_parquet, ".npz": write_npz}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_same(tmp_path, suffix):
    path = WRITERS[suffix](tmp_path / f"f{suffix}")
    assert correct(path, ["what"], ["chance"], pos_label="yes") == pytest.approx(EXPECTED, abs=1e-15)
    (forecasts,), _ = read(path, ["what"], ["chance"], pos_label="yes")
    assert without_dependence(assess(Tally.count(forecasts))) == without_dependence(assess(Y, P, pos_label="yes"))


@pytest.mark.parametrize("suffix", WRITERS)
def test_positive_class_from_the_label_of_the_column(tmp_path, suffix):
    path = WRITERS[suffix](tmp_path / f"f{suffix}")
    assert correct(path, ["what"], ["yes=chance"]) == pytest.approx(EXPECTED)
    assert correct(path, ["what"], ["no=chance"]) == pytest.approx(1 - np.array(EXPECTED))


@pytest.mark.parametrize("suffix", WRITERS)
def test_numeric_labels_given_as_text(tmp_path, suffix):
    path = WRITERS[suffix](tmp_path / f"f{suffix}", y=[2, 1, 2, 2, 1])
    assert correct(path, ["what"], ["chance"], pos_label="2") == pytest.approx(EXPECTED)
    assert correct(path, ["what"], ["chance"], labels=["1", "2"]) == pytest.approx(EXPECTED)
    path = WRITERS[suffix](tmp_path / f"g{suffix}", y=[1.0, 0.0, 1.0, 1.0, 0.5])
    assert correct(path, ["what"], ["chance"], ignore_label=["0.5"]) == pytest.approx(EXPECTED[:4])
    with pytest.raises(InputError, match="'many'.*numbers"):
        read(path, ["what"], ["chance"], pos_label="many")


def test_columns_named_after_classes_one_hot_and_labelled(tmp_path):
    path = tmp_path / "m.csv"
    frame = pl.DataFrame(
        {"w": ["b", "a"], "a": [0.2, 0.6], "b": [0.8, 0.4], "ya": [0, 1], "yb": [1, 0], "p=q": [0.2, 0.6]}
    )
    frame.write_csv(path)
    assert correct(path, ["w"], ["a", "b"]) == pytest.approx([0.8, 0.6])
    assert correct(path, ["w"], ["b", "a"]) == pytest.approx([0.8, 0.6])
    assert correct(path, ["ya", "yb"], ["a", "b"]) == pytest.approx([0.8, 0.6])
    assert correct(path, ["w"], ["a=p=q", "b=b"]) == pytest.approx([0.8, 0.6])
    assert correct(path, ["yb"], ["b"]) == pytest.approx([0.8, 0.6])


def test_a_pattern_stands_for_columns_and_labels_them(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("what,p_b,chance_c,p_a,p_c,p_\na,.5,1,.2,.3,9\nb,.6,1,.3,.1,9\nc,.1,1,.2,.7,9\n")
    assert correct(path, ["what"], ["p_*"]) == pytest.approx([0.2, 0.6, 0.7])
    assert correct(path, ["what"], ["p_*"], labels=["b", "a", "c"]) == pytest.approx([0.2, 0.6, 0.7])
    path.write_text("y,p_1,p_*,q_1_x\n0,.2,.3,.4\n1,.7,.6,.4\n")
    assert correct(path, ["y"], ["p_*"]) == pytest.approx([0.7, 0.6])  # a column of that name comes first
    assert correct(path, ["y"], ["q_*_x"]) == pytest.approx([0.6, 0.4])
    with pytest.raises(InputError, match=r"no column matches 'r_\*'; columns: 'y', 'p_1', 'p_\*', 'q_1_x'"):
        correct(path, ["y"], ["r_*"])


@pytest.mark.parametrize(
    ("header", "outcomes", "columns"),
    [
        ("True,False", ["True", "False"], ["True", "False"]),
        ("1.0,0.0", ["1", "0"], ["1.0", "0.0"]),
        ("b,a", ["b", "a"], ["b", "a"]),
        ("1,0", ["1.0", "0.0"], ["1", "0"]),
    ],
)
def test_columns_go_by_their_names_however_spelled(tmp_path, header, outcomes, columns):
    path = tmp_path / "f.csv"
    path.write_text(f"y,{header}\n{outcomes[0]},.9,.1\n{outcomes[1]},.2,.8\n")
    assert correct(path, ["y"], columns) == pytest.approx([0.9, 0.8])
    assert correct(path, ["y"], columns[:1]) == pytest.approx([0.9, 0.8])
    assert correct(path, ["y"], columns[1:]) == pytest.approx([0.9, 0.8])


def test_one_hot_outcomes_go_by_label(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b,pa,pb\n1,0,.9,.1\n0,1,.2,.8\n")
    assert correct(path, ["b", "a"], ["a=pa", "b=pb"]) == pytest.approx([0.9, 0.8])
    assert correct(path, ["a", "b"], ["pa", "pb"]) == pytest.approx([0.9, 0.8])


def test_labels_of_any_size_and_of_dates(tmp_path):
    path = tmp_path / "f.parquet"
    big = 2**53 + 1
    pl.DataFrame({"y": [big, big - 1], "p": [0.9, 0.2]}).write_parquet(path)
    assert correct(path, ["y"], ["p"], pos_label=str(big)) == pytest.approx([0.9, 0.8])
    pl.DataFrame({"y": ["2020-01-01", "2021-01-01"], "p": [0.9, 0.2]}).with_columns(
        pl.col("y").str.to_date()
    ).write_parquet(path)
    assert correct(path, ["y"], ["p"], pos_label="2020-01-01") == pytest.approx([0.9, 0.8])
    pl.DataFrame({"y": [[1], [0]], "p": [0.9, 0.2]}).write_parquet(path)
    with pytest.raises(InputError, match="holds List"):
        read(path, ["y"], ["p"])


def test_pairs_are_forecasts_of_their_own(tmp_path):
    path = tmp_path / "p.csv"
    pl.DataFrame({"r1": [1.0, 0.3], "o1": [1, 0], "r2": [0.6, 0.1], "o2": [0, 0], "w": [1.0, 2.0]}).write_csv(path)
    parts, _ = read(path, pairs=["r1=o1", "r2=o2"], weight="w")
    tally = sum(map(Tally.count, parts), Tally())
    assert tally.n_rows == 4
    expected = assess([1, 0, 0, 0], [1.0, 0.3, 0.6, 0.1], sample_weight=[1, 2, 1, 2])
    assert assess(tally).metrics() == pytest.approx(expected.metrics())


def test_columns_are_guessed_only_when_the_guess_is_unique(tmp_path):
    path = tmp_path / "g.npz"
    p = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    np.savez(path, scores=p, cls=np.array([0, 1, 2, 0]))
    (forecasts,), said = read(path)
    assert forecasts.n_rows == 4
    assert said == ["outcomes from 'cls'", "probabilities from 'scores'"]
    np.savez(path, scores=p, cls=np.array([0, 1, 2, 0]), other=np.array([0, 1, 2, 0]))
    with pytest.raises(InputError, match="which column holds the outcome.*'cls', 'other'"):
        read(path)
    table = tmp_path / "g.csv"
    pl.DataFrame({"Outcome": [1, 0], "Prob": [0.6, 0.2]}).write_csv(table)
    assert read(table)[1] == ["outcomes from 'Outcome'", "probabilities from 'Prob'"]
    pl.DataFrame({"a": [1, 0], "b": [0.6, 0.2]}).write_csv(table)
    with pytest.raises(InputError, match="none of them is plainly it. Columns: 'a', 'b'"):
        read(table)


def test_missing_values_in_text(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("y,p\n1,0.5\n0,NA\n1, 0.7\n,0.2\n")
    with pytest.raises(InputError, match=r"y: no label in 1 row \(3;"):
        correct(path, ["y"], ["p"])
    assert correct(path, ["y"], ["p"], invalid="drop") == pytest.approx([0.5, 0.7])
    path.write_text("y,p\n1,0.5\nNA,0.5\n0, 0.7\n")
    with pytest.raises(InputError, match=r"y: no label in 1 row \(1;"):
        correct(path, ["y"], ["p"])
    path.write_text("y,p\nNA,0.5\nBR, 0.7\n")  # among words, NA is a word
    assert correct(path, ["y"], ["p"], pos_label="NA") == pytest.approx([0.5, 0.3])


def test_quotes_crlf_and_byte_order_mark(tmp_path):
    path = tmp_path / "q.csv"
    path.write_bytes('\ufeff"y","the ""p"", in all"\r\n1,0.5\r\n0,0.25\r\n'.encode())
    assert correct(path, ["y"], ['the "p", in all']) == pytest.approx([0.5, 0.75])


def test_late_floats_among_integers(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("y,p\n" + "1,1\n" * 5000 + "1,0.25\n")
    assert correct(path, ["y"], ["p"])[-1] == 0.25


def as_file(name, content):
    def make(folder):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def truncated(writer, suffix):
    def make(folder):
        path = writer(folder / f"t{suffix}", y=Y * 500, p=P * 500)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return path

    return make


def flipped_npz(folder):
    path = write_npz(folder / "x.npz", y=Y * 50, p=P * 50)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path


def pickled(folder):
    np.savez(folder / "o.npz", what=np.array([{}, 1], dtype=object), chance=np.array([0.5, 0.5]))
    return folder / "o.npz"


def text_in_zip(folder):
    with zipfile.ZipFile(folder / "z.npz", "w") as archive:
        archive.writestr("what.npy", "not an array")
    return folder / "z.npz"


def directory(folder):
    (folder / "d.csv").mkdir()
    return folder / "d.csv"


BAD = {
    "empty file": (as_file("e.csv", ""), "the file is empty"),
    "header only": (as_file("h.csv", "what,chance\n"), None),
    "too many fields": (as_file("f.csv", "what,chance\n1,0.5\n0,0.5,9\n"), "line 3 has 3 fields, the header 2"),
    "too many after a newline in quotes": (as_file("f.csv", 'what,chance\n"a\nb",0.5\n0,0.5,9\n'), "line 4 has 3"),
    "too many past the columns read": (
        as_file("f.csv", "what,chance,z\n1,.9,q\n9,1,0,.2\n0,.7,q\n"),
        "line 3 has 4 fields",
    ),
    "too many on a last line without end": (as_file("f.csv", "what,chance\n1,.9\n0,.2,x"), "line 3 has 3 fields"),
    "quotes inside fields": (
        as_file("f.csv", 'what,chance,c\n1,.9,5" pipe\n0,.2,x\n1,.8,6" pipe\n'),
        "the quotes in it",
    ),
    "too many beside a quote": (as_file("f.csv", 'what,chance\n"a",0.5\n0,0.5,9\n'), "line 3 has 3 fields"),
    "other case": (as_file("m.csv", "WHAT,chance\n1,0.5\n"), "no column 'what'; did you mean 'WHAT'"),
    "not UTF-8": (as_file("u.csv", b"what,chance\n1,0.5\n\xe9t\xe9,0.5\n"), "line 3 is not UTF-8"),
    "not UTF-8 header": (as_file("u.csv", b"\xe9,chance\n1,0.5\n"), "line 1 is not UTF-8"),
    "not a number": (as_file("n.csv", "what,chance\n1,0.5\n0,50%\n"), "chance: not a number in 1 row .1;.*'50%'"),
    "duplicated column": (as_file("d.csv", "what,chance,chance\n1,0.5,0.5\n"), "'chance' 2 times"),
    "misspelled column": (as_file("m.csv", "what,chances\n1,0.5\n"), "no column 'chance'; did you mean 'chances'"),
    "missing column": (as_file("m.csv", "what,zzz\n1,0.5\n"), "no column 'chance'; columns: 'what', 'zzz'"),
    "other separator": (as_file("s.csv", "what;chance\n1;0.5\n"), "separated by ';'.*--separator"),
    "truncated Parquet": (truncated(write_parquet, ".parquet"), "not a readable Parquet file, perhaps truncated"),
    "text as Parquet": (as_file("p.parquet", "what,chance\n1,0.5\n"), "not a readable Parquet file"),
    "truncated NPZ": (truncated(write_npz, ".npz"), "not a readable NPZ file, perhaps truncated"),
    "flipped NPZ": (flipped_npz, "not a readable NPZ file"),
    "text as NPZ": (as_file("z.npz", "what,chance\n"), "not a readable NPZ file"),
    "text in NPZ": (text_in_zip, "not a readable NPZ file"),
    "pickled objects": (pickled, "pickled Python objects.*refused"),
    "directory": (directory, "no file in this folder"),
    "unknown format": (as_file("x.sas7bdat", "a"), "cannot tell the format from '.sas7bdat'"),
    "no suffix": (as_file("x", "a"), "cannot tell the format"),
    "no such file": (
        lambda folder: write_csv(folder / "near.csv").with_name("neer.csv"),
        "no such file. Near it: near.csv",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_why(tmp_path, case):
    make, message = BAD[case]
    path = make(tmp_path)
    if message is None:
        with pytest.raises(InputError, match="no rows to assess"):
            assess(Tally.count(read(path, ["what"], ["chance"])[0][0]))
        return
    with pytest.raises(InputError, match=message) as caught:
        read(path, ["what"], ["chance"])
    assert str(caught.value).startswith(str(path))


def test_no_permission(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "f.csv")
    if os.access("/", os.W_OK):  # root may read anything: let the system call refuse
        monkeypatch.setattr(Path, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "denied")))
    else:
        path.chmod(0)
    with pytest.raises(InputError, match="no permission"):
        read(path, ["what"], ["chance"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truth": ["what"], "prob": ["a=chance", "id"]}, "each column a label"),
        ({"truth": ["what"], "prob": ["a=chance"], "labels": ["a", "b"]}, "already named"),
        ({"truth": ["what"], "prob": ["chance", "chance"]}, "named twice"),
        ({"truth": ["what"], "pairs": ["chance=what"]}, "leave out --truth"),
        ({"pairs": ["chance"]}, "PROBABILITY=OUTCOME"),
        ({"pairs": ["chance=wat"]}, "no column 'wat'"),
        ({"truth": ["what"], "prob": ["chance"], "weight": "heft"}, "no column 'heft'"),
        ({"truth": ["what"], "prob": ["what"]}, "as outcome and as probability"),
        ({"pairs": ["chance=what", "chance=what"]}, "named twice"),
    ],
)
def test_bad_selections(tmp_path, arguments, message):
    with pytest.raises(InputError, match=message):
        read(write_csv(tmp_path / "f.csv"), **arguments)


def test_write_whole_replaces_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_run_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    code = (
        "import pathlib, time, unperplexed._lib.output_files as f\n"
        "pathlib.Path.replace = lambda *_: (print('writing', flush=True), time.sleep(60))\n"
        f"f.write_whole(pathlib.Path({str(path)!r}), b'new' * 1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"writing\n"
        time.sleep(0.05)
        process.kill()
    assert path.read_text() == "old"


def test_check_output(tmp_path):
    assert check_output(tmp_path / "a.png", (".png",)) == tmp_path / "a.png"
    for path, message in (
        (tmp_path / "a.gif", "known: .png"),
        (tmp_path / "none" / "a.png", "no directory"),
    ):
        with pytest.raises(InputError, match=message):
            check_output(path, (".png",))
    with pytest.raises(InputError, match="is a directory"):
        check_output(tmp_path)


def tally(path, prob=("p",), **settings):
    options = {"invalid": settings.pop("invalid", "refuse")}
    files = ForecastFiles([str(path)], Selection(["y"], list(prob)), FileReading(**settings, options=options))
    return sum((Tally.count(forecasts) for batch in files for forecasts in batch.forecasts), Tally())


def refusal(path, prob=("p",), **settings):
    with pytest.raises(InputError) as caught:
        tally(path, prob, **settings)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    return said.removeprefix(f"{path}: ")


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 30)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 200)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams._LONGEST_RECORD", 40)


@pytest.fixture(params=["whole", "tiny"])
def either(request):
    if request.param == "tiny":
        request.getfixturevalue("tiny")


LISTS = ("parquet", "arrow", "ipc", "ndjson")


def write_lists(path, lists):
    frame = pl.DataFrame({"y": [k % 3 for k in range(len(lists))], "p": pl.Series(lists, dtype=pl.List(pl.Float64))})
    write = {".arrow": frame.write_ipc, ".ipc": frame.write_ipc_stream}
    write.get(path.suffix, getattr(frame, f"write_{path.suffix[1:]}", None))(path)
    return path


@pytest.mark.parametrize("suffix", LISTS)
@pytest.mark.parametrize("nulls", [20, 150])
def test_rows_without_a_list_may_come_first(tmp_path, either, suffix, nulls):
    path = write_lists(tmp_path / f"f.{suffix}", [None] * nulls + [[0.2, 0.3, 0.5]] * 30)
    found = tally(path, labels=["0", "1", "2"], invalid="drop")
    assert (found.n_rows, found.notes.dropped) == (30, {"NaN": nulls})
    assert "p: NaN in " in refusal(path, labels=["0", "1", "2"])


@pytest.mark.parametrize("suffix", LISTS)
def test_rows_without_any_list(tmp_path, either, suffix):
    path = write_lists(tmp_path / f"f.{suffix}", [None] * 150)
    assert tally(path, labels=["0", "1"], ignore_label=["2"], invalid="drop").n_rows == 0
    path = write_lists(tmp_path / f"g.{suffix}", [None] * 20 + [[]] * 20)
    assert "shape (" in refusal(path, labels=["0", "1"])


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "ipc"])
def test_batches_are_no_longer_for_lists_that_come_late(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 3000)
    path = write_lists(tmp_path / f"f.{suffix}", [None] * 100 + [[0.2, 0.3, 0.5]] * 4900)
    files = ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading())
    assert max(batch.forecasts[0].n_rows for batch in files) == 600  # of five values: both columns, and three items


TEXTS = {
    "string.parquet": lambda frame, path: frame.write_parquet(path),
    "category.parquet": lambda frame, path: frame.cast({"y": pl.Categorical}).write_parquet(path),
    "enum.arrow": lambda frame, path: frame.cast({"y": pl.Enum(frame["y"].unique())}).write_ipc(path),
    "f.csv": lambda frame, path: frame.write_csv(path),
    "unicode.npz": lambda frame, path: np.savez(path, y=frame["y"].to_list(), p=frame["p"]),
    "bytes.npz": lambda frame, path: np.savez(path, y=[y.encode() for y in frame["y"]], p=frame["p"]),
    "column.npz": lambda frame, path: np.savez(path, y=[[y] for y in frame["y"]], p=frame["p"]),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    ("texts", "labels", "pos_label"),
    [
        (["0"] * 50 + ["1", "01"], (0, 1), None),
        (["0"] * 50 + ["né"], ("0", "né"), "né"),
        (["0"] * 50 + ["7" * 5000], ("0", "7" * 5000), "7" * 5000),
    ],
)
def test_text_is_read_the_same_however_encoded(tmp_path, either, name, texts, labels, pos_label):
    path = tmp_path / name
    TEXTS[name](pl.DataFrame({"y": texts, "p": [0.5] * len(texts)}), path)
    assert tally(path, pos_label=pos_label).labels == labels


def test_bytes_that_are_no_utf_8(tmp_path):
    np.savez(tmp_path / "f.npz", y=[b"\xe9", b"a"], p=[0.5, 0.5])
    assert tally(tmp_path / "f.npz", pos_label="a").labels == ("\\xe9", "a")


def test_dates_are_spelled_alike_in_memory_and_in_files(tmp_path, either):
    for kind, text in (
        ("datetime64[D]", "2020-01-02"),
        ("datetime64[h]", "2020-01-02T00:00:00"),
        ("datetime64[ns]", "2020-01-02T00:00:00"),
    ):
        days = np.array(["2020-01-01"] * 40 + ["2020-01-02"], dtype=kind)
        p = np.full(41, 0.5)
        assert assess(days, p, pos_label=days[-1]).labels[1] == text
        assert assess(days.tolist(), p, pos_label=text).labels[1] == text if kind != "datetime64[ns]" else True
        np.savez(tmp_path / "f.npz", y=days, p=p)
        assert tally(tmp_path / "f.npz", pos_label=text).labels[1] == text
        if kind == "datetime64[h]":
            continue
        pl.DataFrame({"y": days, "p": p}).write_parquet(tmp_path / "f.parquet")
        assert tally(tmp_path / "f.parquet", pos_label=text).labels[1] == text


def test_labels_are_plain_values():
    half = datetime(2020, 1, 1, 0, 0, 0, 500_000)
    for given, label in (
        (Decimal("2.00"), 2),
        (Decimal("0.5"), 0.5),
        (Fraction(3, 1), 3),
        (Fraction(1, 2), 0.5),
        (Decimal("NaN"), None),
        (Decimal("inf"), float("inf")),
        (half, "2020-01-01T00:00:00.5"),
        (np.datetime64(half), "2020-01-01T00:00:00.5"),
        (half.date(), "2020-01-01"),
        (half.time(), "00:00:00.5"),
        (np.datetime64("NaT", "s"), None),
        (b"a", "a"),
    ):
        assert (plain(given), type(plain(given))) == (label, type(label))
    assert assess(np.array([Decimal(1), Decimal(0)]), [0.9, 0.2]).labels == (0, 1)
    missing = assess(np.array(["NaT", "2020", "2021"], dtype="M8[Y]"), [0.5] * 3, pos_label="2020", invalid="drop")
    assert missing.notes.dropped == {"no label": 1}
    tuples = np.empty(2, dtype=object)
    tuples[:] = [(1, 2), (3, 4)]
    for wrong, name in ((tuples, "tuple"), ([1, {}], "dict"), ([1, 2j], "complex")):
        with pytest.raises(InputError, match=f"labels are numbers or texts, not {name}"):
            assess(np.array(wrong, dtype=object), [0.9, 0.2])


@pytest.mark.parametrize("scale", [0, 1])
def test_decimals_of_a_file(tmp_path, either, scale):
    path = tmp_path / "f.parquet"
    frame = pl.DataFrame({"y": [0] * 40 + [1], "p": [0.5] * 41})
    frame.cast({"y": pl.Decimal(10, scale), "p": pl.Decimal(10, 2)}).write_parquet(path)
    assert tally(path).labels == (0, 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('1,0.8,a\n1,"0.8,a\n' + "0,0.5,b\n" * 6 + '1,"0.8,a\n', "line 10 has other text after a closing quote, in a"),
        ('1,0.8,a\n0,0.5,"b"c\n', "line 3 has other text after a closing quote. Quote whole fields"),
        ('1,0.8,a\n0,0.5,5" pipe\n', "line 3 has a quote inside a field that is not quoted"),
        ('1,0.8,a\n0,0.5,5" pipe\n0,0.5,\n0,0.5,6" pipe\n', "as 4 rows or as 2; see line 3. Quote"),
        ('1,0.8,a\n0,0.5,"b\n', "a quote opened in the record of line 3 is never closed"),
        ('1,0.8,5" pipe\n0,0.5,"a\nb"\n', "line 2 has a quote inside"),
        ("1,0.8," + '"' + "x" * 140_000 + '"y\n', "line 2 is not readable as CSV: field larger"),
    ],
)
def test_misplaced_quotes_are_named_by_line(tmp_path, rows, message):
    path = tmp_path / "f.csv"
    path.write_text("y,p,t\n" + rows)
    assert message in refusal(path)


def test_rows_are_not_swallowed_by_quotes_of_a_column_that_is_not_read(tmp_path, either):
    path = tmp_path / "f.csv"
    lines = ["1,a,0.8\n", "0,b,0.5\n"] * 8
    lines[3] = lines[11] = '1,"nail,0.8\n'
    path.write_text("y,t,p\n" + "".join(lines))
    assert "line 13 has other text after a closing quote, in a record that begins in line 5" in refusal(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blank", [0, 1, 2, 5])
@pytest.mark.parametrize("rows", [2, 31, 32, 33, 300])
def test_blank_lines_at_the_end_are_no_rows(tmp_path, either, rows, blank, end):
    path = tmp_path / "f.csv"
    path.write_bytes(end.join(["y,p"] + ["1,0.5"] * rows + [""] * (blank + 1)).encode())
    assert tally(path).n_rows == rows
    path.write_bytes(end.join(["y,p"] + ["1,0.5"] * rows + [""] * blank + ["1,0.5"]).encode())
    if blank:
        assert f"line {rows + 2} has 1 field, the header 2" in refusal(path)
    else:
        assert tally(path).n_rows == rows + 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_that_blanks_align_are_read(tmp_path, end):
    path = tmp_path / "f.csv"
    lines = ["  what   chance  place", *['  1      0.25    "a  b"  ', " 0       0.5     c"] * 2]
    path.write_bytes(end.join(lines).encode())
    found = ForecastFiles([str(path)], Selection(["what"], ["chance"], keys=["place"]), FileReading(separator=" "))
    [batch] = found
    assert batch.keys["place"].to_list() == ["a  b", "c"] * 2
    assert batch.forecasts[0].correct_class_probabilities()[0].tolist() == [0.25, 0.5] * 2
    path.write_text("what chance place\n1  0.25\n")
    with pytest.raises(InputError, match="line 2 has 2 fields, the header 3"):
        read(path, ["what"], ["chance"], separator=" ")


def test_numbers_with_a_decimal_comma_are_shown_as_written(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y;p\n1;0,5\n0;1.000,5\n")
    said = refusal(path, separator=";", decimal_comma=True)
    assert (
        "not a number in 1 row (1; counted from 0), column 'p', for example '1.000,5'. Numbers have a decimal comma"
        in said
    )


def test_long_records_of_json_are_no_matter_of_quotes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 200)
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p": 0.5}\n{"y": 1, "p": 0.5, "t": "' + "a" * 3000 + '"}\n{"y": 1, "p": 0.5}\n')
    assert "line 2 begins a record of more than 0 MB. In CSV a quote" in refusal(path)


@pytest.mark.parametrize("column", ["y", "p"])
@pytest.mark.parametrize(
    "kind",
    [
        pa.list_view(pa.float64()),
        pa.decimal256(50, 2),
        pa.month_day_nano_interval(),
        pa.run_end_encoded("int32", "int8"),
    ],
    ids=str,
)
def test_types_that_are_not_read_are_named(tmp_path, column, kind):
    path = tmp_path / "f.arrow"
    table = pa.table({"y": pa.array([1, 0]), "p": pa.array([0.5, 0.5])} | {column: pa.nulls(2, kind)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    assert refusal(path).startswith(f"column {column!r} holds {kind}, a type that is not read. Save it as")


def test_booleans_of_eight_bits(tmp_path):
    path = tmp_path / "f.arrow"
    bits = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    table = pa.table({"y": bits, "p": [0.5, 0.5]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    assert tally(path).n_rows == 2


@pytest.mark.parametrize("names", [("y", "p", "é"), ("y", "漢", "p"), ("y", "p", "q")])
def test_fields_of_any_name(tmp_path, names):
    path = tmp_path / "f.npy"
    rows = np.array([(1, 0.9, 0.9), (0, 0.2, 0.2)], dtype=[(name, float) for name in names])
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, rows, version=None if "漢" not in names else (3, 0))
    for name in names[1:]:
        assert tally(path, [name]).n_rows == 2


@pytest.mark.parametrize("slow", ["", '{"y": 1, "p": NaN}\n'])
def test_the_first_of_values_of_one_name_counts(tmp_path, slow):
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p": 0.75, "y": 0, "p": 0.5}\n' * 3 + '{"y": 0, "p": 0.75}\n' + slow)
    assert correct(path, ["y"], ["p"], invalid="drop").tolist() == [0.75, 0.75, 0.75, 0.25]


def test_a_tally_is_not_piped(monkeypatch, tmp_path):
    tally(write_lists(tmp_path / "f.parquet", [[0.2, 0.3, 0.5]] * 3)).save(tmp_path / "f.tally")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "f.tally").read_bytes())))
    with pytest.raises(InputError, match="standard input: is a tally; name its file instead of piping it."):
        read("-")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", ["y", "p"])
def test_a_change_at_the_end_of_an_array_is_found(tmp_path, either, save, array):
    path = tmp_path / "f.npz"
    save(path, y=np.arange(60) % 2, p=np.random.default_rng(0).uniform(size=60))
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{array}.npy")
    content = bytearray(path.read_bytes())
    # The end of a stored array is its last number; of a packed one it may be a mark that zlib does not need.
    header = 30 + int.from_bytes(content[info.header_offset + 26 : info.header_offset + 28], "little")
    header += int.from_bytes(content[info.header_offset + 28 : info.header_offset + 30], "little")
    content[info.header_offset + header + info.compress_size - (8 if save is np.savez else 20)] ^= 1
    path.write_bytes(content)
    assert "not a readable NPZ file" in refusal(path)


def test_labels_are_said_in_order(tmp_path, either):
    path = tmp_path / "f.parquet"
    pl.DataFrame({"y": [7] * 40 + [3] * 40 + [5] * 40, "p": [0.5] * 120}).write_parquet(path)
    assert "from the labels 3, 5, 7." in refusal(path)


@pytest.mark.parametrize(("suffix", "share"), [("csv", 0.5), ("ndjson", 0.5), ("parquet", 0)])
def test_progress_while_outcomes_are_settled(tmp_path, tiny, suffix, share):
    path = tmp_path / f"f.{suffix}"
    silent = {"statistics": False} if suffix == "parquet" else {}  # else they would tell the outcomes
    getattr(pl.DataFrame({"y": [0, 1] * 200, "p": [0.5] * 400}), f"write_{suffix}")(path, **silent)
    size = path.stat().st_size
    calls = []
    list(ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading(), lambda *call: calls.append(call)))
    settling = [behind for rows, behind, _ in calls if not rows]
    reading = [behind for rows, behind, _ in calls if rows]
    assert len(settling) > 3
    assert settling[-1] == pytest.approx(share * size, abs=1)
    assert len(set(settling)) == (len(settling) if share else 1)
    assert reading[0] > settling[-1]
    assert reading == sorted(set(reading))
    assert reading[-1] == size


RESIDENT = """
import re, sys
from pathlib import Path
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
files = ForecastFiles(sys.argv[1:], Selection(["y"], ["p"]), FileReading(options={'invalid': 'drop'}))
n = sum(len(block) for batch in files for block in batch.forecasts[0].blocks())  # which looks at every number
print(n, 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(("suffix", "nulls"), [("parquet", 100), ("arrow", 0), ("npz", 0)])
@pytest.mark.slow
def test_what_was_read_of_a_file_leaves_memory(tmp_path, suffix, nulls):
    peaks = []
    for n_rows in (40_000, 300_000):
        p = np.full(n_rows * 100, 0.01, dtype=np.float32)
        lists = pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32) * 100, pa.array(p))
        lists = pa.concat_arrays([pa.nulls(nulls, lists.type), lists])
        (record,) = pa.table({"y": np.arange(n_rows + nulls) % 100, "p": lists}).to_batches()
        path = tmp_path / f"{n_rows}.{suffix}"
        if suffix == "parquet":
            pq.write_table(pa.table(record), path, row_group_size=1 << 14, use_dictionary=False)
        elif suffix == "npz":
            np.savez(path, y=np.arange(n_rows) % 100, p=p.reshape(n_rows, 100))
        else:
            with pa.ipc.new_file(path, record.schema) as writer:
                writer.write_table(pa.table(record), max_chunksize=1 << 14)
        done = subprocess.run([sys.executable, "-c", RESIDENT, path], capture_output=True, check=True)
        rows, peak = map(int, done.stdout.split())
        assert rows == n_rows
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 40e6  # of data that grew by 104 MB


@pytest.mark.parametrize("rows", [1, 200])
def test_numbers_of_json_with_more_digits_than_python_reads(tmp_path, rows):
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p": 0.5}\n' * rows + '{"y": ' + "7" * 5000 + ', "p": 0.5}\n')
    assert tally(path, pos_label="7" * 5000).labels == ("1", "7" * 5000)
    path.write_text('{"y": 1, "p": 0.5}\n' * rows + '{"y": 0, "p": ' + "7" * 5000 + "}\n")
    assert "p: infinite in 1 row" in refusal(path)


SHORT = {
    "one field": "y,p\n1,0.5\n0\n1,0.25\n",
    "at the end": "y,p\n1,0.5\n1,0.25\n0",
    "past the columns read": "y,p,z\n1,0.5,a\n0,0.25\n",
    "beside quotes": 'y,p,z\n"1",0.5,a\n0,0.25\n',
    "beside stray quotes": 'y,p,z\n1,0.5,5" pipe\n0,0.25\n',
    "blank": "y,p\n1,0.5\n\n1,0.25\n",
}


@pytest.mark.parametrize("case", SHORT)
def test_a_line_that_ends_too_early_is_refused(tmp_path, case):
    path = tmp_path / "f.csv"
    path.write_text(SHORT[case])
    lines = SHORT[case].splitlines()
    number, line = next((n, text) for n, text in enumerate(lines, 1) if text.count(",") < lines[0].count(","))
    fields = line.count(",") + 1
    message = refusal(path)
    assert f"line {number} has {fields} field{'s' * (fields > 1)}, the header {lines[0].count(',') + 1}." in message


def test_decimal_commas_allow_no_decimal_point(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y;p\n1;1.000\n0;0,25\n")
    assert "p: not a number in 1 row (0;" in refusal(path, separator=";", decimal_comma=True)
    path.write_text("y;p\n1;0,5\n0;0.25\n")
    assert "in 1 row (1; counted from 0), column 'p', for example '0.25'" in refusal(
        path, separator=";", decimal_comma=True
    )
    path.write_text("y;p\n1;0,5\n0;\n1;-0,0\n0;1e-3\n")
    assert tally(path, separator=";", decimal_comma=True, invalid="drop").n_rows == 3


@pytest.mark.parametrize("cut", [True, False])
def test_an_arrow_stream_cut_between_batches_is_refused(tmp_path, cut):
    path = tmp_path / "f.arrow"
    table = pa.table({"y": [1, 0] * 50, "p": [0.5, 0.25] * 50})
    with path.open("wb") as file:
        writer = pa.ipc.new_stream(file, table.schema)
        writer.write_table(table, max_chunksize=50)
        if not cut:
            writer.close()
    if cut:
        assert "an Arrow stream whose end is not marked" in refusal(path)
    else:
        assert tally(path).n_rows == 100


def test_probabilities_of_types_that_are_no_floats(tmp_path):
    path = tmp_path / "f.parquet"
    table = {"y": [1, 0], "p": [True, False], "none": pa.nulls(2), "day": pa.array([1, 2], pa.date32())}
    pq.write_table(pa.table(table), path)
    assert tally(path).to_bytes() == Tally.of([1, 0], [1.0, 0.0], source=str(path)).to_bytes()
    assert "none: NaN in 2 rows (0, 1; counted from 0)" in refusal(path, ["none"])
    assert "column 'day' holds Date, not numbers" in refusal(path, ["day"])


def test_row_groups_without_rows_are_passed(tmp_path):
    """Statistics of the others tell which outcomes there are."""
    path, table = tmp_path / "f.parquet", pa.table({"y": [1, 0, 1], "p": [0.5, 0.25, 0.75]})
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table[:0], table[:2], table[:0], table[2:]):
            writer.write_table(part)
    assert pq.ParquetFile(path).metadata.num_row_groups == 4
    assert open_source(File(str(path), path), None, Options(), print).values("y").to_list() == [0, 1]
    assert tally(path).to_bytes() == Tally.of([1, 0, 1], [0.5, 0.25, 0.75], source=str(path)).to_bytes()


def test_json_lines_of_blanks_and_of_true_among_numbers(tmp_path, tiny):
    """Blank lines fill a chunk of their own; true and false are 1 and 0 beside a value that is spelled otherwise."""
    path = tmp_path / "f.jsonl"
    path.write_text('{"y": 1, "p": 0.5}\n' * 3 + "\n" * 500 + '{"y": 0, "p": 0.25}\n')
    assert tally(path).to_bytes() == Tally.of([1, 1, 1, 0], [0.5, 0.5, 0.5, 0.25], source=str(path)).to_bytes()
    path.write_text('{"y": 1, "p": true}\n{"y": 0, "p": "0.25"}\n{"y": 0, "p": false}\n')
    assert tally(path).to_bytes() == Tally.of([1, 0, 0], [1.0, 0.25, 0.0], source=str(path)).to_bytes()
