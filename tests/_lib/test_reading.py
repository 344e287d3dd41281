"""Arrays and frames of any kind as NumPy, files of our own, and what ends a stream of work early."""

import os
import stat
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unperplexed import InputError
from unperplexed._lib import arrays, output_files
from unperplexed._lib.arrays import Columns, Unreadable, as_columns
from unperplexed._lib.json_files import made_of_file, parsed
from unperplexed._lib.output_files import PREFIX, check_output, clear, whole_file, whole_files, write_whole
from unperplexed._lib.progress import ahead, at_once, in_turn, threads_for
from unperplexed._lib.typing import ByValue, ReadOnlyArrays

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither these permissions and links nor these locks")


class Pair(ByValue):
    """Two values."""

    a: object
    b: object = None


class Closed(ReadOnlyArrays):
    """An array."""

    x: object


def test_equal_values_make_equal_instances():
    assert Pair(float("nan"), [1, (2, np.nan)]) == Pair(-float("nan"), [1, (2, float("nan"))])
    assert Pair(np.array([0.0, np.nan])) == Pair(np.array([-0.0, -np.nan]))
    assert Pair(np.array([1.0])) != Pair(np.array([[1.0]]))
    assert Pair(np.array([1.0])) != Pair(np.array([1.0], dtype=np.float32))
    assert Pair(np.array(["a", None], dtype=object)) == Pair(np.array(["a", None], dtype=object))
    assert Pair({"x": 1.0, "y": [np.nan]}) == Pair({"y": [float("nan")], "x": 1.0}) != Pair({"x": 1.0})
    assert Pair(1) != "1"
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    with pytest.raises(AttributeError, match="'Pair' object has no attribute 'aa'; it has a, b"):
        _ = Pair(1).aa
    with pytest.raises(AttributeError, match="no attribute '_x'$"):
        _ = Pair(1)._x
    with pytest.raises(ValueError, match="read-only"):
        Closed(np.zeros(2)).x[0] = 1


def test_columns_are_rows_in_their_own_precision():
    one, two = np.arange(3, dtype=np.float32), np.arange(3, 6, dtype=np.float32)
    found = Columns((one, two), ("a", "b"))
    assert (found.n_rows, found.n_columns) == (3, 2)
    assert found.rows(slice(1, 3)).tolist() == [[1, 4], [2, 5]]
    assert found.rows(slice(None)).dtype == np.float32
    assert found[np.array([2, 0])].rows(slice(None)).tolist() == [[2, 5], [0, 3]]
    assert Columns((one,), None).rows(slice(None)).shape == (3, 1)
    matrix = Columns((np.eye(3, dtype=np.int8),), None)
    assert (matrix.n_rows, matrix.n_columns, matrix.rows(slice(2)).dtype) == (3, 3, np.float64)
    halves = np.array([[0.1, 65504.0, -0.0], [np.inf, 6e-8, np.nan]], dtype=np.float16)
    np.testing.assert_array_equal(Columns((halves,), None).rows(slice(None)), halves.astype(np.float32))
    packed = np.zeros(2, dtype=[("skip", np.int8), ("p", np.float64)])["p"]
    assert Columns((packed,), None).rows(slice(None)).flags.aligned


def test_text_among_numbers_stays_with_its_rows():
    found = Unreadable(
        {"a": np.array([None, "x", None], dtype=object), "b": np.array([None, None, "y"], dtype=object)}, True
    )
    assert found.rows.tolist() == [False, True, True]
    assert found[1:].texts["a"].tolist() == ["x", None]
    assert found[:1].decimal_comma
    assert not Unreadable({}).decimal_comma
    kept = Columns((np.zeros(3),), None, found)[1:]
    assert kept.unreadable.rows.tolist() == [True, True]


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_have_names(of):
    found = as_columns(of({"a": [0.2, 0.3], "b": [0.8, 0.7]}), "p")
    assert found.names == ("a", "b")
    assert found.rows(slice(None)).tolist() == [[0.2, 0.8], [0.3, 0.7]]
    assert arrays.by_forecaster([0], of({"a": [0.5]}))["a"].tolist() == [0.5]


def test_series_and_lists():
    assert as_columns(pd.Series([0.5], name="p"), "x").names == ("p",)
    assert as_columns(pd.Series([0.5], name=3), "x").names is None
    assert as_columns(pl.Series("", [0.5]), "x").names is None
    assert as_columns(pd.DataFrame({0: [0.1], 1: [0.9]}), "x").names is None
    lists = as_columns(pl.DataFrame({"p": [[0.2, 0.8], None]}), "p")
    np.testing.assert_array_equal(lists.rows(slice(None)), [[0.2, 0.8], [np.nan, np.nan]])
    assert as_columns(pd.Series([[0.2, 0.8], [0.1, 0.9]]), "p").rows(slice(None)).shape == (2, 2)
    with pytest.raises(InputError, match="the list in row 11 .counted from 0. has 1 values, those before it have 2"):
        as_columns(pl.Series([[0.2, 0.8], [0.5]]), "p", 10)
    with pytest.raises(InputError, match="p: holds lists of String, not of numbers"):
        as_columns(pl.Series([["a"]]), "p")
    with pytest.raises(InputError, match="the frame has column 'a' 2 times; rename one"):
        as_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]), "p")
    with pytest.raises(InputError, match="y_true: got forecasts by name"):
        arrays.by_forecaster({"a": [1]}, [0.5])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (np.zeros((2, 2, 2)), r"p: expected an array of shape \(n,\) or \(n, classes\), got shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), r"got shape \(2, 0\)"),
        (None, "p: missing; outcomes come first"),
        (0.5, "got float"),
        (np.array(["0.5", "x"]), "p: not a number at row 8 .counted from 0.: 'x'"),
        ([[0.1], [0.2, 0.3]], "different lengths"),
        (np.array([["1", "2"], ["3", "1_0"]]), "at row 8 .*: '1_0'"),
        (np.array(["٣"]), "at row 7"),
        (np.array([1, "2", None, object], dtype=object), "at row 10"),
        (np.array([1j]), "p: holds complex128, not numbers"),
        (np.array(["2020"], dtype="M8[D]"), "holds datetime64"),
    ],
)
def test_what_holds_no_probabilities_is_refused(data, says):
    with pytest.raises(InputError, match=says):
        as_columns(data, "p", 7)


def test_text_that_spells_numbers_is_read():
    assert arrays.floats(np.array([" 0.5", "1e-3"]), "p").tolist() == [0.5, 0.001]
    np.testing.assert_array_equal(arrays.floats(np.array([1, None, "2"], dtype=object), "p"), [1, np.nan, 2])
    assert arrays.one_number("3") == 3
    assert np.isnan(arrays.one_number("x"))
    assert np.isnan(arrays.one_number(None))
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert np.isnan(arrays.floats(masked, "p")).tolist() == [False, True]
    assert arrays.as_array(np.ma.array([1.0, 2.0])).dtype == np.float64
    assert arrays.as_array(pd.array([True, pd.NA])).tolist()[0] == 1.0
    assert arrays.as_array(pa.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]
    assert arrays.as_array(pa.array([True, False])).tolist() == [True, False]
    assert isinstance(arrays.plain(np.float64(2)), float)
    assert arrays.plain(np.array([2.0])).tolist() == [2.0]


def test_rows_of_other_indexes_are_not_paired():
    one, two = pd.Series([1, 2], index=[0, 1]), pd.Series([1, 2], index=[1, 0])
    arrays.check_indexes(y=one, p=one.copy())
    arrays.check_indexes(y=one, p=two.to_numpy())
    arrays.check_indexes(y=one, p=pd.Series([1], index=[9]))
    with pytest.raises(InputError, match=r"y and p: their pandas indexes differ. .*p.loc\[y.index\]"):
        arrays.check_indexes(y=one, p=two)


def test_runs_of_equal_numbers():
    assert arrays.run_starts(np.array([0, 0, 1, 1, 0, 2])).tolist() == [0, 2, 4, 5]
    assert arrays.run_starts(np.array([], dtype=int)).tolist() == []


def test_what_is_still_to_be_computed_is_read():
    table = pa.table({"a": [1.0, 2.0]})
    assert arrays.at_hand(pl.LazyFrame({"a": [1]})).shape == (1, 1)
    assert arrays.at_hand(table.to_reader()).equals(table)
    assert arrays.at_hand(table) is table

    class Stream:
        def __init__(self, data):
            self.data = data

        def __arrow_c_stream__(self, requested_schema=None):
            return self.data.__arrow_c_stream__()

    assert arrays.at_hand(Stream(table)).equals(table)
    assert arrays.at_hand(Stream(pa.chunked_array([[1.0]]))).to_pylist() == [1.0]


@pytest.mark.parametrize("size", [3, 4])
def test_files_are_as_large_as_they_may_be(tmp_path, monkeypatch, size):
    monkeypatch.setattr("unperplexed._lib.json_files.LARGEST_FILE", 4)
    path = tmp_path / "m.json"
    path.write_text(" " * (size - 2) + "{}")
    assert made_of_file(path, "map", lambda found: found) == {}
    path.write_text(" " * 3 + "{}")
    with pytest.raises(InputError, match="not a map: the file is too large"):
        made_of_file(path, "map", lambda found: found)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": NaN}', "NaN is no number that a map can have"),
        (b'{"a": 1, "a": 2}', "a key occurs twice in the map"),
        (b'{"a": "\\ud800"}', "half of a character"),
        (b"{", "not a map: no valid JSON"),
        (b"\xff", "not a map: no text"),
        (b"[" * 100_000, "not a map: no valid JSON"),
        (b'{"schema": 2}', "a result in JSON .schema 2., which is not read back"),
        (b'{"verdict": 1}', "a result in JSON .schema 1."),
    ],
)
def test_files_that_are_not_ours_are_refused(tmp_path, content, says):
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(InputError, match=f"m.json: {says}"):
        made_of_file(tmp_path / "m.json", "map", dict)


def test_what_is_for_the_command_line_is_left_out(tmp_path):
    (tmp_path / "m.json").write_text('{"format": "x", "schema": 1, "reading": 3, "a": "\\u00e9"}')
    assert made_of_file(tmp_path / "m.json", "map", dict) == {"format": "x", "schema": 1, "a": "é"}
    assert made_of_file(tmp_path / "m.json", "map", dict, ("a",))["reading"] == 3
    assert parsed("[1]", "map") == [1]
    with pytest.raises(InputError, match="cannot be read: .*A map is a regular file"):
        made_of_file(tmp_path, "map", dict)


@posix
def test_several_files_are_written_together_or_none(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")
    one.chmod(0o640)
    with whole_files({one: b"new", two: b"2"}):
        assert one.read_text() == "old"
        assert not two.exists()
    assert (one.read_text(), two.read_text()) == ("new", "2")
    assert stat.S_IMODE(one.stat().st_mode) == 0o640
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(two.stat().st_mode) == 0o666 & ~mask
    with pytest.raises(ZeroDivisionError), whole_files({one: b"x", two: b"y"}):
        raise ZeroDivisionError
    assert (one.read_text(), two.read_text()) == ("new", "2")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.parametrize("links", [True, False])
@posix
def test_where_one_cannot_be_renamed_the_others_get_back_what_they_were(tmp_path, monkeypatch, links):
    one, new = tmp_path / "one", tmp_path / "new"
    one.write_text("old")
    one.chmod(0o604)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError))
    with pytest.raises(OSError, match="older"), whole_files({one: b"x", new: b"y"}):
        monkeypatch.setattr("pathlib.Path.replace", _refusing(new))
    assert one.read_text() == "old"
    assert stat.S_IMODE(one.stat().st_mode) == 0o604
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(PREFIX)]


def _refusing(where):
    replace = Path.replace

    def refusing(self, target):
        if target == where.resolve():
            raise OSError("a folder of older files")
        return replace(self, target)

    return refusing


@posix
def test_links_are_followed_and_files_get_no_other_name(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    with whole_file(tmp_path / "made") as temporary:
        temporary.write_text("x")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert (tmp_path / "made").read_text() == "x"


@pytest.mark.parametrize(("age", "stays"), [(50, True), (70, False)])
@posix
def test_temporary_files_that_nobody_holds_are_cleared_after_a_minute(tmp_path, age, stays):
    path = tmp_path / f"{PREFIX}x"
    path.touch()
    os.utime(path, (time.time() - age,) * 2)
    with path.open("rb") as held:
        output_files.hold(held.fileno())
        clear(tmp_path)
        assert path.exists()
    clear(tmp_path)
    assert path.exists() == stays


@posix
def test_outputs_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "file.html").touch()
    assert check_output(tmp_path / "a.HTML", (".html",)) == tmp_path / "a.HTML"
    assert check_output(tmp_path / "file.html") == tmp_path / "file.html"
    for path, says in (
        (tmp_path / "a.txt", r"a.txt: cannot write this format; known: .html, .htm\."),
        (tmp_path, "is a directory; name a file in it"),
        (tmp_path / "no" / "a.html", "there is no directory"),
        (tmp_path / ("x" * 300 + ".html"), r"\.\.\.: cannot be written: File name too long"),
        (tmp_path / "file.html" / "a.html", "cannot be written: Not a directory"),
    ):
        with pytest.raises(InputError, match=says):
            check_output(path, (".html", ".htm") if path.suffix else ())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: is not a regular file"):
        check_output(tmp_path / "pipe")


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 6])
def test_work_is_returned_in_the_order_of_its_items(threads, n):
    assert at_once(lambda item: item**2, range(n), threads) == [at**2 for at in range(n)]


def test_many_rows_have_two_threads():
    assert [threads_for(n) for n in (0, 49_999, 50_000, 10**9)] == [1, 1, 2, 2]


def test_few_items_are_made_ahead():
    made = []

    def stream(k):
        for at in range(10):
            made.append((k, at))
            yield k, at

    streams = in_turn([lambda k=k: stream(k) for k in range(4)], 2, 3)
    assert next(streams) == (0, 0)
    for _ in range(500):
        if {k for k, _ in made} == {0, 1}:
            break
        time.sleep(0.01)  # until the other thread has begun
    assert {k for k, _ in made} == {0, 1}
    assert max(at for k, at in made if k == 0) <= 4
    assert max(at for k, at in made if k == 1) <= 3
    assert [*streams] == [(k, at) for k in range(4) for at in range(10)][1:]
    assert [*ahead(range(5))] == [0, 1, 2, 3, 4]


def test_an_error_of_a_stream_comes_where_its_item_would():
    def failing():
        yield 1
        raise ZeroDivisionError

    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(each for each in in_turn([failing, lambda: [2]], 2, 2))
    streams = in_turn([failing], 1, 1)
    assert next(streams) == 1
    with pytest.raises(ZeroDivisionError):
        next(streams)
