"""Files that lie, break off, change while they are read, or are named twice: one clear error, in little memory."""

import errno
import gc
import gzip
import io
import json
import os
import re
import signal
import struct
import tempfile
import threading
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from unperplexed import InputError, Tally
from unperplexed.sources.columns import Selection
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.files import ForecastFiles
from unperplexed.sources.outcomes import Seen, Spelling
from unperplexed.sources.readers import text_streams as chunks
from unperplexed.sources.readers.formats import found_files, matching


@pytest.fixture(autouse=True)
def soon():
    """End a test that does not come to an end."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def counted(*paths, truth="y", prob="p", **options):
    files = ForecastFiles([str(path) for path in paths], Selection([truth], [prob]), FileReading(**options))
    return Tally.count(forecasts for batch in files for forecasts in batch.forecasts)


def refusal(*paths, **settings):
    with pytest.raises(InputError) as caught:
        counted(*paths, **settings)
    return str(caught.value)


def npy(shape, fortran=True, descr="'<f8'", data=bytes(80), version=1):
    """An array file whose header says what it likes."""
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(2 if version == 1 else 4, "little") + header + data


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def archive(path, compression=zipfile.ZIP_DEFLATED, **arrays):
    with zipfile.ZipFile(path, "w", compression) as zipped:
        for name, content in arrays.items():
            zipped.writestr(f"{name}.npy", content)
    return path


LIES = {
    "columns without end": (npy("(100, 10**12)".replace("10**12", str(10**12))), "rows of 8,000,000,000,000 bytes"),
    "columns past 2^63": (npy(f"(100, {2**63 - 1})"), "rows of 73,786,976"),
    "columns past 2^63, by row": (npy(f"(100, {2**63 - 1})", fortran=False), "rows of 73,786,976"),
    "rows without end": (npy(f"({10**15},)", fortran=False), "the data end 999,999,999,999,990 rows too soon"),
    "columns that are not there": (npy("(100, 1000)"), "the data end 100 rows too soon"),
    "rows of nothing": (npy(f"({10**15}, 0)"), "rows of no values"),
    "values of nothing": (npy(f"({10**15},)", descr="'|V0'"), "rows of no values"),
    "wide values": (npy("(100,)", descr="('<f8', (100000000,))"), "rows of 800,000,000 bytes"),
    "negative": (npy("(-1,)"), "an array of shape"),
    "true": (npy("(True, 2)"), "an array of shape"),
    "unclosed": (npy("(100,)").replace(b"}", b"{"), "not a readable NP[YZ] file"),
    "no type": (npy("(100,)", descr="',f8'"), "not a readable NP[YZ] file"),
    "deep": (npy("-" * 9000 + "1"), "not a readable NP[YZ] file|does not fit in memory"),
    "long header": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(99), "a header of 4,294,967,295 bytes"),
    "cut header": (npy("(100,)")[:30], "not a readable NP[YZ] file"),
}


@pytest.mark.parametrize("case", LIES)
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_header_is_held_against_the_bytes_that_are_there(tmp_path, suffix, case):
    content, message = LIES[case]
    tracemalloc.start()
    if suffix == "npz":
        with pytest.raises(InputError, match=message):
            counted(archive(tmp_path / "f.npz", y=saved(np.zeros(100)), p=content))
    else:
        (tmp_path / "p.npy").write_bytes(content)
        truth = tmp_path / "y.npy"
        truth.write_bytes(saved(np.zeros(100)))
        with pytest.raises(InputError, match=message):
            counted(tmp_path / "p.npy", truth=str(truth))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_arrays_of_python_2_are_read_without_a_warning(tmp_path):
    old = saved(np.array([0.5, 0.25])).replace(b"(2,), }  ", b"(2L,), } ")
    assert counted(archive(tmp_path / "f.npz", y=saved(np.array([1, 0])), p=old)).n_rows == 2


@pytest.mark.parametrize("column", ["y", "p"])
@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("order", "<>")
def test_text_of_no_characters_is_refused(tmp_path, column, code, order):
    texts = {"y": ["0", "1", "1"], "p": [".5", ".25", ".5"]}
    arrays = {name: np.array(values, dtype=f"{order}U3") for name, values in texts.items()}
    path = archive(tmp_path / "f.npz", **{name: saved(values) for name, values in arrays.items()})
    assert counted(path).n_rows == 3
    arrays[column].view(f"{order}u4")[4] = code
    path = archive(tmp_path / "f.npz", **{name: saved(values) for name, values in arrays.items()})
    message = f"array '{column}' holds damaged text at row 1 (counted from 0): {code:#x} is no character."
    assert message in refusal(path)


def test_arrays_of_either_order_are_still_read(tmp_path):
    p = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
    for order in "CF":
        path = archive(tmp_path / f"{order}.npz", y=saved(np.array([0, 1, 1])), p=saved(np.asarray(p, order=order)))
        assert counted(path).to_bytes() == Tally.of([0, 1, 1], p, source=str(path)).to_bytes()


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_damaged_archives(tmp_path, compression):
    array = saved(np.linspace(0, 1, 500))
    path = archive(tmp_path / "f.npz", compression, y=array, p=array)
    whole = path.read_bytes()
    at = whole.index(b"y.npy") + 5
    for start in range(at, at + 120, 7):
        path.write_bytes(whole[:start] + bytes(30) + whole[start + 30 :])
        assert "not a readable NPZ file" in refusal(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_names_that_are_not_utf_8(tmp_path, kind):
    path = tmp_path / ("f.parquet" if kind == "parquet" else "f.arrow")
    table = pa.table({"y": [1, 0], "pq": [0.5, 0.25]})
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    else:
        with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    path.write_bytes(path.read_bytes().replace(b"pq", b"p\xff"))
    assert "is not UTF-8" in refusal(path, prob="pq")


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("left", [0, 100, 50_000])
def test_an_arrow_file_cut_short_while_it_is_read(tmp_path, monkeypatch, form, read, left):
    """A mapped file would end the process there."""
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_ROWS", 1000)
    path = tmp_path / "f.arrow"
    table = pa.table({"y": [1, 0] * 10_000, "p": [0.5, 0.25] * 10_000})
    new = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with path.open("wb") as file, new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    files = iter(ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading()))
    for _ in range(read):
        next(files)
    os.truncate(path, left)
    with pytest.raises(InputError, match="changed the file while it was read"):
        list(files)


def test_lists_whose_places_take_an_odd_number_of_bytes(tmp_path):
    path, y = tmp_path / "f.arrow", [0, 1] * 20
    rows = pa.table({"y": y, "p": pa.array([[0.75, 0.25]] * 40)})
    pyarrow.feather.write_feather(rows, path, compression="uncompressed")
    whole, places = path.read_bytes(), struct.pack("<q", 4 * 41)
    assert whole.count(places) == 1
    path.write_bytes(whole.replace(places, struct.pack("<q", 4 * 41 + 2)))
    assert counted(path).to_bytes() == Tally.of(y, [[0.75, 0.25]] * 40, source=str(path)).to_bytes()
    path.write_bytes(whole.replace(places, struct.pack("<q", 102)))
    assert "not a readable Arrow file" in refusal(path)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "npz", "parquet", "arrow"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, suffix):
    path = tmp_path / f"f.{suffix}"
    table = pa.table({"y": [1, 0] * 5, "p": [0.5, 0.25] * 5})
    if suffix == "csv":
        path.write_text("y,p\n" + "1,0.5\n0,0.25\n" * 5)
    elif suffix == "jsonl":
        path.write_text('{"y": 1, "p": 0.5}\n{"y": 0, "p": 0.25}\n' * 5)
    elif suffix == "npz":
        np.savez(path, y=[1, 0] * 5, p=[0.5, 0.25] * 5)
    elif suffix == "parquet":
        pq.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    assert counted(path).n_rows == 10
    files = ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading())
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b" ")
    with pytest.raises(InputError, match=r"f\.\w+: another program changed the file while it was read"):
        list(files)
    path.write_bytes(whole)
    files = ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading())
    path.unlink()
    with pytest.raises(InputError, match="changed the file"):
        list(files)


def test_numbers_are_spelled_alike_in_all_formats(tmp_path):
    for text in ("0.7_5", "1_0e-2", "\u0660.\u0667"):
        csv, jsonl, npz = (tmp_path / f"f.{suffix}" for suffix in ("csv", "jsonl", "npz"))
        csv.write_text(f"y,p\n1,{text}\n0,0.25\n", encoding="utf-8")
        jsonl.write_text(f'{{"y": 1, "p": "{text}"}}\n{{"y": 0, "p": "0.25"}}\n', encoding="utf-8")
        np.savez(npz, y=[1, 0], p=np.array([text, "0.25"]))
        lists = tmp_path / "l.jsonl"
        lists.write_text(f'{{"y": 1, "p": [0.5, "{text}"]}}\n', encoding="utf-8")
        for path in (csv, jsonl, npz, lists):
            assert "not a number in 1 row (0;" in refusal(path)
        with pytest.raises(InputError, match="not a number"):
            Tally.of([1, 0], [text, "0.25"])
    assert Tally.of([1, 0], [" 0.5 ", "2.5e-1"]).n_rows == 2


def test_json_lines_longer_than_the_first_look(tmp_path, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.jsonl._PROBED_BYTES", 100)
    path = tmp_path / "f.jsonl"
    path.write_text('{"x": "' + "a" * 200 + '", "y": 1, "p": 0.5}\n{"y": 0, "p": 0.25}\n')
    assert counted(path).n_rows == 2
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 20)
    assert "line 1 begins a record of more than" in refusal(path)


def test_labels_are_limited_by_their_bytes(tmp_path, monkeypatch):
    path = tmp_path / "f.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("y,p\n")
        file.writelines(f"{'a' * 500}{at},0.5\n" for at in range(40_000))
    monkeypatch.setattr("unperplexed.sources.outcomes.MOST_LABEL_BYTES", 1 << 20)
    assert "different values of more than 1 MB together" in refusal(path)


def test_bytes_of_labels_are_of_different_ones():
    columns = [pa.array(["ab", "c", "ab"]), pa.array(["c", "é"])]
    import polars as pl

    one, both = Seen("y", Spelling()), Seen("y", Spelling())
    for column in columns:
        one.add(pl.from_arrow(column))
    other = Seen("y", Spelling())
    both.add(pl.from_arrow(columns[0]))
    other.add(pl.from_arrow(columns[1]))
    assert one._bytes == (both + other)._bytes == 5


def test_one_file_by_two_names_is_counted_once(tmp_path, monkeypatch):
    path, hard, soft = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"
    path.write_text("y,p\n1,0.5\n0,0.25\n")
    os.link(path, hard)
    soft.symlink_to(path)
    for other in (hard, soft, path, tmp_path / "." / "a.csv"):
        assert "is named twice" in refusal(path, other)
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        for names in ((["-", str(path)]), (["-", f"/dev/fd/{file.fileno()}"])):
            with pytest.raises(InputError, match="is named twice, as - too"):
                matching(names)
        assert matching(["-"]) == ["-"]
    copy = tmp_path / "d.csv"
    copy.write_text(path.read_text())
    assert counted(path, copy).n_rows == 4


def test_a_pipe_that_does_not_block_is_read_to_its_end(monkeypatch):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"y,p\n1,0.5\n")

    def later():
        os.write(writing, b"0,0.25\n")
        os.close(writing)

    timer = threading.Timer(0.2, later)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        timer.start()
        (file,) = found_files(["-"])
    assert file.path.read_text() == "y,p\n1,0.5\n0,0.25\n"


@pytest.mark.slow
@pytest.mark.parametrize("opened", [True, False])
def test_an_interrupt_ends_the_waiting_for_input(tmp_path, monkeypatch, opened):
    """Also where a library, such as polars, had calls of the system go on after it."""
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    handle = os.open(path, os.O_RDWR) if opened else None  # without it, it waits for a writer
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.siginterrupt(signal.SIGINT, False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / ".unperplexed-left").write_text("by a program that was killed")
    os.utime(tmp_path / ".unperplexed-left", (0, 0))
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            found_files([str(path)])
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
        if opened:
            os.close(handle)
    gc.collect()
    assert [*tmp_path.iterdir()] == [path]


def test_an_archive_of_many_arrays_is_opened_a_few_times(tmp_path, monkeypatch):
    """Each time, all names in it are read."""
    more = {f"a{at}": saved(np.zeros(2)) for at in range(50)}
    path = archive(tmp_path / "f.npz", y=saved(np.array([0, 1])), p=saved(np.array([0.25, 0.5])), **more)
    opened, init = [], zipfile.ZipFile.__init__

    def counting(*arguments, **settings):
        opened.append(arguments)
        init(*arguments, **settings)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counting)
    assert counted(path).n_rows == 2
    assert len(opened) < 10


def test_more_names_than_memory_has_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr("unperplexed.sources.readers.delimited._MOST_COLUMNS", 20)
    monkeypatch.setattr("unperplexed.sources.readers.jsonl._MOST_PATHS", 20)
    names = ",".join(f"a{at}" for at in range(19))
    (tmp_path / "f.csv").write_text(f"y,p,{names}\n0,0.5{',' * 19}\n")
    assert "the header names more than 20 columns" in refusal(tmp_path / "f.csv")
    values = [[at] * 10 for at in range(10)]
    rows = ({"y": y, "r": {"p": 0.5}, "more": values, "last": y, "far": {"p": 0.5}} for y in (0, 1))
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert counted(tmp_path / "f.jsonl", truth="last", prob="r.p").n_rows == 2
    assert counted(tmp_path / "f.jsonl", prob="far.p").n_rows == 2
    error = refusal(tmp_path / "f.jsonl", prob="far.q")
    assert "no column 'far.q'" in error
    assert "(25 in all)" in error


def test_names_by_which_nothing_can_be_read(tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    assert refusal(loop) == f"{loop!s:.80}{'...' * (len(str(loop)) > 80)}: cannot be read: {os.strerror(40)}."
    assert refusal("x" * 300).endswith("...: cannot be read: File name too long.")
    assert re.search("cannot be read: .*embedded null", refusal("a\0b.csv"))  # in words of the version of Python
    (tmp_path / "f.csv").write_text("y,p\n1,0.5\n")
    assert "no such file" in refusal(tmp_path / "f.csv" / "g.csv")


@pytest.mark.parametrize("order", "CF")
def test_an_archive_whose_directory_claims_more_than_is_there(tmp_path, order):
    """The header of the array and the directory agree on rows that the member does not have."""
    whole = saved(np.full((20, 2), 0.5, order=order))
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("y.npy", saved(np.zeros(20, int)))
        zipped.writestr("p.npy", whole[:-160])
        zipped.filelist[1].file_size = len(whole)
    assert re.search(r"not a readable NPZ file.*the data end (10 rows )?too soon", refusal(tmp_path / "f.npz"))


def test_an_array_by_columns_cut_short_while_it_is_read(tmp_path):
    np.save(tmp_path / "p.npy", np.full((20, 2), 0.5, order="F"))
    np.save(tmp_path / "y.npy", np.zeros(20, int))
    chosen = Selection([str(tmp_path / "y.npy")], ["p"])
    assert [batch.forecasts[0].n_rows for batch in ForecastFiles([str(tmp_path / "p.npy")], chosen, FileReading())] == [
        20
    ]
    files = ForecastFiles([str(tmp_path / "p.npy")], chosen, FileReading())
    with (tmp_path / "p.npy").open("r+b") as file:
        file.truncate(300)
    with pytest.raises(InputError, match=r"p\.npy: another program changed the file"):
        list(files)


def test_arrays_without_rows_have_none_to_assess(tmp_path):
    np.savez(tmp_path / "f.npz", y=np.zeros(0, int), p=np.zeros((0, 3)))
    assert counted(tmp_path / "f.npz", labels=["0", "1", "2"]).n_rows == 0


def test_arrays_side_by_side_have_one_dimension(tmp_path):
    np.savez(tmp_path / "f.npz", y=[0, 1], a=np.full((2, 2), 0.5), b=[0.5, 0.5])
    files = ForecastFiles([str(tmp_path / "f.npz")], Selection(["y"], ["a", "b"]), FileReading())
    with pytest.raises(
        InputError, match=r"arrays to be put side by side need one dimension.*'a': \(2, 2\), 'b': \(2,\)"
    ):
        list(files)


def test_one_hot_rows_of_an_array_settle_their_own_classes(tmp_path):
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    np.savez(tmp_path / "a.npz", y=np.eye(3)[[0, 2, 1]], p=p)
    np.savez(tmp_path / "b.npz", y=np.eye(3)[[1]], p=p[2:])
    found = counted(tmp_path / "a.npz", tmp_path / "b.npz")
    assert found.n_rows == 4
    assert found.prediction_accuracy == 1


def test_a_disk_that_fails_while_it_is_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "f.csv"
    path.write_text("y,p\n1,0.5\n0,0.25\n")
    files = ForecastFiles([str(path)], Selection(["y"], ["p"]), FileReading())

    @contextmanager
    def failing(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
        yield

    monkeypatch.setattr(chunks, "opened_text", failing)
    with pytest.raises(InputError, match=rf"f\.csv: cannot be read: {os.strerror(errno.EIO)}\.$"):
        list(files)


def test_standard_input_that_is_closed_or_holds_another_format(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert refusal("-") == "standard input: is closed."
    pq.write_table(pa.table({"y": [1, 0], "p": [0.5, 0.25]}), tmp_path / "f.parquet")
    content = (tmp_path / "f.parquet").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    said = []
    files = ForecastFiles(["-"], Selection(["y"], ["p"]), FileReading(), say=said.append)
    assert said == ["standard input read as parquet"]
    assert [batch.forecasts[0].n_rows for batch in files] == [2]


def test_lists_of_another_length_in_the_next_file_are_refused(tmp_path):
    for k in (3, 4):
        pq.write_table(pa.table({"y": [0, 1], "p": [[1 / k] * k] * 2}), tmp_path / f"{k}.parquet")
    said = refusal(tmp_path / "3.parquet", tmp_path / "4.parquet", labels=["0", "1", "2"])
    assert "4.parquet: p: 4 in a row, 3 in the file before" in said
